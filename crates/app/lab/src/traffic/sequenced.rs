//! UDP packets that carry numbers, of exactly known size.

use std::net::{SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};

use crate::LabError;
use crate::netns::Namespace;

/// Octets of the IPv4 and UDP headers in front of the payload.
const HEADERS: u16 = 28;

/// The smallest IP packet that has room for a number, in octets.
pub const MIN_IP_LENGTH: u16 = HEADERS + 8;

/// Sends packets numbered 0, 1, 2 and so on to one address.
pub struct Sender {
    socket: UdpSocket,
    next: u64,
}

impl Sender {
    /// Opens a socket in the namespace, towards `to`, over a certain device where the route alone does not say.
    ///
    /// # Errors
    /// [`LabError::Io`], for example when there is no route.
    pub fn open(namespace: &Namespace, device: Option<&str>, to: SocketAddrV4) -> Result<Self, LabError> {
        let connect = || {
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
            socket.bind_device(device.map(str::as_bytes))?;
            socket.connect(&to.into())?;
            Ok::<_, std::io::Error>(socket.into())
        };
        let socket = namespace.enter(|| connect().map_err(LabError::io(format!("route to {to}"))))?;
        Ok(Self { socket, next: 0 })
    }

    /// Sends `count` packets of `ip_length` octets each (IP header included, at least [`MIN_IP_LENGTH`]), one
    /// every `pace`. Returns the number of the first and of the one after the last.
    ///
    /// # Errors
    /// [`LabError::Io`] when the kernel does not take one.
    pub fn send(&mut self, count: u64, ip_length: u16, pace: Duration) -> Result<(u64, u64), LabError> {
        let first = self.next;
        let mut payload = vec![0; usize::from(ip_length.max(MIN_IP_LENGTH) - HEADERS)];
        let start = Instant::now();
        for sent in 0..count {
            // Paced against the start, so that a late wake-up does not slow down the whole run.
            let due = pace.saturating_mul(u32::try_from(sent).unwrap_or(u32::MAX));
            thread::sleep(due.saturating_sub(start.elapsed()));
            if let Some(number) = payload.first_chunk_mut() {
                *number = self.next.to_be_bytes();
            }
            self.socket.send(&payload).map_err(LabError::io("send a packet"))?;
            self.next += 1;
        }
        Ok((first, self.next))
    }

    /// How many were sent so far.
    pub fn sent(&self) -> u64 {
        self.next
    }
}

/// Receives numbered packets and remembers the numbers in order of arrival.
pub struct Sink {
    seen: Arc<Mutex<Vec<u64>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sink {
    /// Listens in the namespace on `at`.
    ///
    /// # Errors
    /// [`LabError::Io`], for example when the address is not there or in use.
    pub fn open(namespace: &Namespace, at: SocketAddrV4) -> Result<Self, LabError> {
        let socket =
            namespace.enter(|| UdpSocket::bind(at).map_err(LabError::io(format!("listen on {at}"))))?;
        socket.set_read_timeout(Some(Duration::from_millis(50))).map_err(LabError::io("socket"))?;
        let (seen, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (sink, done) = (seen.clone(), stop.clone());
        let thread = thread::spawn(move || {
            let mut buffer = [0; 2048];
            while !done.load(Ordering::Relaxed) {
                let Ok(length) = socket.recv(&mut buffer) else { continue };
                if let Some(number) = buffer.get(..length).and_then(<[u8]>::first_chunk) {
                    sink.lock().unwrap_or_else(PoisonError::into_inner).push(u64::from_be_bytes(*number));
                }
            }
        });
        Ok(Self { seen, stop, thread: Some(thread) })
    }

    /// The numbers so far, in order of arrival.
    pub fn seen(&self) -> Vec<u64> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until `count` packets have arrived, at most so long. Returns the numbers so far.
    pub fn wait_for(&self, count: u64, within: Duration) -> Vec<u64> {
        let start = Instant::now();
        loop {
            let seen = self.seen();
            if seen.len() as u64 >= count || start.elapsed() >= within {
                return seen;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has nothing to return; a panic there has been printed.
            let _ = thread.join();
        }
    }
}
