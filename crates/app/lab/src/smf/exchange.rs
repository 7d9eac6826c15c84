//! PFCP transactions over a UDP socket (TS 29.244 clause 6.4): local requests are retransmitted, those of the peer have one response each.

use std::collections::{HashMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use causeway_pfcp::Message;
use causeway_types::Seid;

use super::decode;
use super::describe::describe;
use super::responses::Server;
use crate::LabError;
use crate::netns::Namespace;
use crate::patience::Patience;
use crate::timeline::Timeline;

/// The UDP port of PFCP (TS 29.244 clause 4.2.2).
const PORT: u16 = 8805;

/// How long to wait for a response before sending again (T1), and how often a request is sent (1 + N1).
#[derive(Clone, Copy, Debug)]
pub(super) struct RetransmissionTimer {
    pub(super) t1: Duration,
    pub(super) times: u32,
}

/// Answered requests that are remembered.
const MAX_CACHED_RESPONSES: usize = 256;
/// The longest a stop takes.
const TICK: Duration = Duration::from_millis(50);

/// One end of N4.
pub(super) struct Exchange {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    socket: UdpSocket,
    waiting: Mutex<HashMap<u32, Sender<Vec<u8>>>>,
    sequence: AtomicU32,
    retransmissions: AtomicU64,
    timeline: Timeline,
    stop: AtomicBool,
}

impl Exchange {
    /// Opens the socket of `local` in the namespace; `server` answers requests of `peer`.
    pub(super) fn open(
        namespace: &Namespace,
        local: Ipv4Addr,
        peer: Ipv4Addr,
        server: Server,
        timeline: Timeline,
    ) -> Result<Self, LabError> {
        let connect = || {
            let socket = UdpSocket::bind(SocketAddrV4::new(local, PORT))?;
            socket.connect(SocketAddrV4::new(peer, PORT))?;
            socket.set_read_timeout(Some(TICK))?;
            Ok::<_, std::io::Error>(socket)
        };
        let socket = namespace.enter(|| connect().map_err(LabError::io(format!("N4 socket {local}"))))?;
        Self::with_socket(socket, server, timeline)
    }

    /// Talks over a connected socket whose reads end after a while.
    pub(super) fn with_socket(
        socket: UdpSocket,
        server: Server,
        timeline: Timeline,
    ) -> Result<Self, LabError> {
        let shared = Arc::new(Shared {
            socket,
            waiting: Mutex::default(),
            sequence: AtomicU32::new(1),
            retransmissions: AtomicU64::new(0),
            timeline,
            stop: AtomicBool::new(false),
        });
        let receiver = shared.clone();
        let thread = thread::Builder::new()
            .name("smf".into())
            .spawn(move || receiver.run(&server))
            .map_err(LabError::io("SMF thread"))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Sends a request to the UPF's session `seid` until it is answered. Returns the response.
    pub(super) fn request(
        &self,
        message: Message<'_>,
        seid: Option<Seid>,
        patience: RetransmissionTimer,
    ) -> Result<Vec<u8>, LabError> {
        let sequence = self.shared.sequence.fetch_add(1, Ordering::Relaxed) & 0x00ff_ffff;
        let name = describe(&message);
        let mut request = Vec::new();
        message
            .encode(seid, sequence, &mut request)
            .map_err(|error| LabError::Peer(format!("{name}: {error}")))?;
        let (sender, receiver) = channel();
        self.shared.waiting().insert(sequence, sender);
        let mut answer = None;
        for attempt in 0..patience.times {
            if attempt > 0 {
                self.shared.retransmissions.fetch_add(1, Ordering::Relaxed);
            }
            self.shared.timeline.message("smf", "upf", &name, format!("sequence {sequence}"));
            // A refusal of the host, as while the UPF starts, is as good as silence.
            let _ = self.shared.socket.send(&request);
            answer = within(patience.t1, |wait| receiver.recv_timeout(wait).ok());
            if answer.is_some() {
                break;
            }
        }
        self.shared.waiting().remove(&sequence);
        let within = patience.t1 * patience.times;
        answer.ok_or(LabError::Timeout { what: format!("a response to the {name}"), within })
    }

    /// Requests that had to be sent again.
    pub(super) fn retransmissions(&self) -> u64 {
        self.shared.retransmissions.load(Ordering::Relaxed)
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has nothing to return; a panic there has been printed.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, HashMap<u32, Sender<Vec<u8>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, server: &Server) {
        let mut buffer = vec![0; 65536];
        let mut answered = VecDeque::new();
        while !self.stop.load(Ordering::Relaxed) {
            let Ok(length) = self.socket.recv(&mut buffer) else { continue };
            let datagram = buffer.get(..length).unwrap_or_default();
            let Ok((header, message)) = decode::message(datagram) else { continue };
            self.timeline.message("upf", "smf", &describe(&message), format!("sequence {}", header.sequence));
            if message.message_type().is_request() {
                self.answer(header.sequence, datagram, server, &mut answered);
            } else if let Some(waiting) = self.waiting().remove(&header.sequence) {
                // Whoever waited may have given up.
                let _ = waiting.send(datagram.to_vec());
            }
        }
    }

    /// Answers a request; one that was answered before gets the same answer without being heard again.
    fn answer(&self, sequence: u32, request: &[u8], server: &Server, answered: &mut SentResponses) {
        let known = answered.iter().find(|(known, _, _)| *known == sequence).cloned();
        let fresh = known.is_none();
        let answer = known.or_else(|| {
            let (response, seid) = server.answer(request)?;
            let mut octets = Vec::new();
            response.encode(seid, sequence, &mut octets).ok()?;
            Some((sequence, describe(&response), octets))
        });
        let Some(answer) = answer else { return };
        self.timeline.message("smf", "upf", &answer.1, format!("sequence {sequence}"));
        // The UPF asks again for what is lost.
        let _ = self.socket.send(&answer.2);
        if fresh {
            answered.push_back(answer);
            if answered.len() > MAX_CACHED_RESPONSES {
                answered.pop_front();
            }
        }
    }
}

/// Receives within so much waiting time.
pub(super) fn within<T>(time: Duration, receive: impl FnMut(Duration) -> Option<T>) -> Option<T> {
    let mut patience = Patience::new(time);
    std::iter::from_fn(|| patience.next_wait()).find_map(receive)
}

/// Sequence number, name and octets of responses, oldest first.
type SentResponses = VecDeque<(u32, String, Vec<u8>)>;
