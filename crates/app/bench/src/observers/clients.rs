//! Clients of the management API.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use causeway_lab::LabError;
use causeway_types::Seid;

use crate::BenchError;
use crate::kit::pin;
use crate::upf::{Field, MANAGEMENT};

/// How long a client waits for the server before it looks whether it is over.
const TURN: Duration = Duration::from_millis(20);

/// What is asked of the UPF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Nobody,
    Trace,
    Traces,
    Capture,
    Streams,
    SlowRequests,
}

impl Kind {
    /// All of them, in the order of the rows.
    pub(super) const ALL: [Self; 6] =
        [Self::Nobody, Self::Trace, Self::Traces, Self::Capture, Self::Streams, Self::SlowRequests];

    /// The name of the row.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Nobody => "none",
            Self::Trace => "a trace of the flood",
            Self::Traces => "8 traces of the flood",
            Self::Capture => "a capture of the flood",
            Self::Streams => "1,000 event streams",
            Self::SlowRequests => "64 slow requests",
        }
    }

    /// The requests: how many, and what each asks for.
    fn requests(self, session: Seid) -> (usize, String) {
        let of_session = |what: &str| {
            format!("GET /api/v1/sessions/{:#x}/{what} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", session.0)
        };
        match self {
            Self::Nobody => (0, String::new()),
            Self::Trace => (1, of_session("trace?seconds=3600&packets=1000000")),
            Self::Traces => (8, of_session("trace?seconds=3600&packets=1000000")),
            Self::Capture => (1, of_session("capture?seconds=3600")),
            Self::Streams => (1000, "GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".to_owned()),
            Self::SlowRequests => {
                (64, "GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ".to_owned())
            }
        }
    }
}

/// Clients that ask until they end.
pub(super) struct Clients {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Clients {
    /// Connects them all; a thread on this core reads what comes.
    pub(super) fn begin(kind: Kind, field: &Field, session: Seid, core: usize) -> Result<Self, BenchError> {
        let (count, request) = kind.requests(session);
        let connect = || -> std::io::Result<TcpStream> {
            let mut stream = TcpStream::connect(MANAGEMENT)?;
            stream.write_all(request.as_bytes())?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        };
        let all = || (0..count).map(|_| connect()).collect::<std::io::Result<Vec<_>>>();
        let mut streams = field.upf.enter(|| all().map_err(LabError::io("connect to the management API")))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let run = move || {
            // On whatever core, the results are the same.
            let _ = pin(core);
            let mut octets = 0;
            loop {
                let is_last = over.load(Ordering::Relaxed);
                octets += streams.iter_mut().map(|stream| turn(kind, stream)).sum::<u64>();
                if is_last {
                    return octets;
                }
                std::thread::sleep(TURN);
            }
        };
        let thread = std::thread::Builder::new().name("clients".to_owned()).spawn(run);
        Ok(Self { is_over, thread: thread.map_err(BenchError::io("start a thread"))? })
    }

    /// Ends them. Returns the octets that they have received.
    pub(super) fn end(self) -> u64 {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Reads what is there; a slow request is one octet longer.
fn turn(kind: Kind, stream: &mut TcpStream) -> u64 {
    if kind == Kind::SlowRequests {
        // The UPF may have closed the connection.
        let _ = stream.write(b"a");
    }
    let (mut octets, mut buffer) = (0, [0; 65_536]);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return octets,
            Ok(len) => octets += len as u64,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return octets,
        }
    }
}
