//! An SMF and its UEs beside the other work of the UPF: requests and packets at intervals, and the time of each.
//!
//! They are sent when they are due, whether earlier ones have arrived or not: a pause of the UPF is in the figures of all requests
//! and packets within it.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use causeway_pfcp::Header;
use causeway_types::Seid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::BenchError;
use crate::kit::{Samples, pin, receive, send};
use crate::pfcp::requests;

/// Between two requests, and two packets.
const REQUEST_EVERY: Duration = Duration::from_micros(500);
const PACKET_EVERY: Duration = Duration::from_micros(100);

/// How long an answer or a packet may take, until it is lost.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Octets at the end of a packet: its number, and its complement, so that the checksum stays as it is.
const MARK: usize = 8;

/// What was heard since it was asked for last.
#[derive(Default)]
pub(super) struct SmfEvent {
    /// Microseconds from each request to its answer.
    pub(super) requests: Samples,
    /// Microseconds from the gNB to the server.
    pub(super) packets: Samples,
    /// Requests and packets that never arrived.
    pub(super) lost: u64,
    /// Microseconds of the longest time in which this thread itself did not run: so much too long anything may be.
    pub(super) own: f64,
}

/// The sockets, and what is sent.
pub(super) struct Others {
    /// Of the SMF, connected to the UPF.
    pub(super) smf: UdpSocket,
    /// Of the gNB, connected to the UPF.
    pub(super) gnb: UdpSocket,
    /// Of the server.
    pub(super) server: UdpSocket,
    /// Of each session: its SEID, and a packet whose last octets are overwritten.
    pub(super) sessions: Vec<(Seid, Vec<u8>)>,
}

/// What is sent all the while, by a thread of its own.
pub(super) struct Beside {
    is_over: Arc<AtomicBool>,
    heard: Receiver<SmfEvent>,
    ask: Sender<()>,
    thread: Option<JoinHandle<Result<(), BenchError>>>,
}

impl Beside {
    /// Begins to send, on a core.
    ///
    /// # Errors
    /// [`BenchError::Io`] when there is no thread to be had.
    pub(super) fn begin(others: Others, core: usize) -> Result<Self, BenchError> {
        let is_over = Arc::new(AtomicBool::new(false));
        let ((ask, asked), (tell, heard)) = (channel(), channel());
        let over = Arc::clone(&is_over);
        let run = move || {
            pin(core)?;
            let mut turn = Turn::new(others)?;
            while !over.load(Ordering::Relaxed) {
                turn.run()?;
                if asked.try_recv().is_ok() {
                    // Nobody is left to hear it when the benchmark is over.
                    let _ = tell.send(std::mem::take(&mut turn.heard));
                }
            }
            Ok(())
        };
        let thread = std::thread::Builder::new().name("beside".to_owned()).spawn(run);
        let thread = Some(thread.map_err(BenchError::io("start a thread"))?);
        Ok(Self { is_over, heard, ask, thread })
    }

    /// What was heard since the last time.
    ///
    /// # Errors
    /// What ended the thread.
    pub(super) fn heard(&mut self) -> Result<SmfEvent, BenchError> {
        let heard = self.ask.send(()).ok().and_then(|()| self.heard.recv().ok());
        match heard {
            Some(heard) => Ok(heard),
            None => Err(self.end().err().unwrap_or_else(|| {
                BenchError::io("receive the results of the requests beside")(std::io::Error::from(
                    ErrorKind::BrokenPipe,
                ))
            })),
        }
    }

    fn end(&mut self) -> Result<(), BenchError> {
        self.is_over.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // What it had to say was of no use to anybody.
            let _ = thread.join();
        }
    }
}

/// Something that was sent, by its number, and when.
type Sent = VecDeque<(u64, Instant)>;

struct Turn {
    others: Others,
    requests: u64,
    packets: u64,
    asked: Sent,
    sent: Sent,
    next_request: Instant,
    next_packet: Instant,
    last: Instant,
    heard: SmfEvent,
}

impl Turn {
    fn new(others: Others) -> Result<Self, BenchError> {
        for socket in [&others.smf, &others.gnb, &others.server] {
            socket.set_nonblocking(true).map_err(BenchError::io("set a socket up"))?;
        }
        let now = Instant::now();
        Ok(Self {
            others,
            requests: 0,
            packets: 0,
            asked: Sent::new(),
            sent: Sent::new(),
            next_request: now,
            next_packet: now,
            last: now,
            heard: SmfEvent::default(),
        })
    }

    fn run(&mut self) -> Result<(), BenchError> {
        let now = Instant::now();
        let gap = now.saturating_duration_since(self.last);
        self.heard.own = self.heard.own.max(micros(gap));
        self.last = now;
        if now >= self.next_request {
            self.request(now)?;
            // What was missed is not made up for.
            self.next_request = (self.next_request + REQUEST_EVERY).max(now);
        }
        if now >= self.next_packet {
            self.packet(now)?;
            self.next_packet = (self.next_packet + PACKET_EVERY).max(now);
        }
        let mut buffer = [0; 4096];
        if let Some(len) = receive(&self.others.smf, &mut buffer)? {
            let header = Header::decode(buffer.get(..len).unwrap_or_default());
            let sequence = header.map_or(u64::MAX, |(header, ..)| u64::from(header.sequence));
            arrived(&mut self.asked, sequence, &mut self.heard.requests);
        }
        if let Some(len) = receive(&self.others.server, &mut buffer)? {
            let mark = buffer.get(..len).and_then(|packet| packet.last_chunk());
            let mark = mark.map_or(u64::MAX, |mark: &[u8; MARK]| u64::from_be_bytes(*mark));
            arrived(&mut self.sent, mark >> 32, &mut self.heard.packets);
        }
        self.heard.lost += give_up(&mut self.asked, now) + give_up(&mut self.sent, now);
        self.sleep()
    }

    /// Until something comes, or is due: the kernel may need this core to deliver what was sent.
    fn sleep(&mut self) -> Result<(), BenchError> {
        let due = self.next_request.min(self.next_packet);
        let left = due.saturating_duration_since(Instant::now());
        let heard = [&self.others.smf, &self.others.server];
        let mut sockets = heard.map(|socket| PollFd::new(socket, PollFlags::IN));
        match poll(&mut sockets, Timespec::try_from(left).ok().as_ref()) {
            Err(Errno::INTR) | Ok(_) => Ok(()),
            Err(errno) => Err(BenchError::io("wait for packets")(errno.into())),
        }
    }

    fn request(&mut self, now: Instant) -> Result<(), BenchError> {
        // Sequence numbers have 24 bits.
        self.requests = (self.requests + 1) & 0x00ff_ffff;
        let at = self.requests as usize % self.others.sessions.len().max(1);
        let Some((seid, _)) = self.others.sessions.get(at) else { return Ok(()) };
        let request = requests::handover(*seid, at as u32, 0, self.requests as u32);
        self.asked.push_back((self.requests, now));
        send(&self.others.smf, &request)
    }

    fn packet(&mut self, now: Instant) -> Result<(), BenchError> {
        self.packets = (self.packets + 1) & u64::from(u32::MAX);
        let at = self.packets as usize % self.others.sessions.len().max(1);
        let Some((_, packet)) = self.others.sessions.get_mut(at) else { return Ok(()) };
        if let Some(mark) = packet.last_chunk_mut() {
            *mark = (self.packets << 32 | !self.packets & u64::from(u32::MAX)).to_be_bytes();
        }
        self.sent.push_back((self.packets, now));
        send(&self.others.gnb, packet)
    }
}

fn arrived(sent: &mut Sent, number: u64, samples: &mut Samples) {
    if let Some(at) = sent.iter().position(|(known, _)| *known == number)
        && let Some((_, when)) = sent.remove(at)
    {
        samples.add(micros(when.elapsed()));
    }
}

/// Forgets what does not come any more. How many those are.
fn give_up(sent: &mut Sent, now: Instant) -> u64 {
    let mut lost = 0;
    while sent.front().is_some_and(|(_, when)| now.saturating_duration_since(*when) > TIMEOUT) {
        sent.pop_front();
        lost += 1;
    }
    lost
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
