//! Requests in flight.

use std::collections::HashMap;
use std::io::{Error, ErrorKind};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::LabError;

/// How long to wait for a response before sending again (T1).
pub(super) const T1: Duration = Duration::from_secs(1);
/// How often a request is sent again (N1).
const N1: u32 = 5;

/// Requests in flight of one kind, by sequence number.
pub(super) struct RequestsInFlight<'a> {
    what: &'a str,
    window: usize,
    flights: HashMap<u32, RequestInFlight>,
}

/// A request that is not answered yet.
struct RequestInFlight {
    /// Which of all requests it is.
    number: usize,
    request: Vec<u8>,
    sent: Instant,
    repeated: u32,
}

impl<'a> RequestsInFlight<'a> {
    /// `window` of them at most, one at least.
    pub(super) fn new(what: &'a str, window: usize) -> Self {
        let window = window.max(1);
        Self { what, window, flights: HashMap::with_capacity(window) }
    }

    /// None is.
    pub(super) fn is_empty(&self) -> bool {
        self.flights.is_empty()
    }

    /// No more may be.
    pub(super) fn is_full(&self) -> bool {
        self.flights.len() >= self.window
    }

    /// Sends a request.
    pub(super) fn send(&mut self, socket: &UdpSocket, sequence: u32, number: usize, request: Vec<u8>) {
        // A refusal of the host, as while the UPF starts, is as good as silence.
        let _ = socket.send(&request);
        self.flights.insert(sequence, RequestInFlight { number, request, sent: Instant::now(), repeated: 0 });
    }

    /// Which request is answered, if it was not before.
    pub(super) fn answered(&mut self, sequence: u32) -> Option<usize> {
        self.flights.remove(&sequence).map(|flight| flight.number)
    }

    /// Sends again what has waited long enough, after an `error` of the socket. Returns how many requests those are.
    ///
    /// # Errors
    /// [`LabError::Timeout`] when one was sent often enough.
    pub(super) fn repeat(&mut self, socket: &UdpSocket, error: &Error) -> Result<u64, LabError> {
        if error.kind() == ErrorKind::ConnectionRefused {
            // The UPF is not there yet: asking at once again would only be refused again.
            std::thread::sleep(T1 / 10);
        }
        let mut repeated = 0;
        let waited = |flight: &&mut RequestInFlight| flight.sent.elapsed() >= T1;
        for flight in self.flights.values_mut().filter(waited) {
            if flight.repeated == N1 {
                let what = format!("the answer to a request for {}", self.what);
                return Err(LabError::Timeout { what, within: T1 * (N1 + 1) });
            }
            flight.repeated += 1;
            flight.sent = Instant::now();
            repeated += 1;
            let _ = socket.send(&flight.request);
        }
        Ok(repeated)
    }
}
