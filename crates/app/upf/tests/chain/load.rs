//! An SMF with many sessions, at a rate, that repeats requests without a response and knows what was acknowledged.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use causeway_pfcp::{
    ApplyAction, Cause, DestinationInterface, Message, SessionDeletionRequest, SessionModificationRequest,
    UpdateFar,
};
use causeway_types::{DualIp, FSeid, FarId, Seid, Teid};

use crate::common::smf::{Smf, decode, leading};
use crate::common::{Gnb, until};
use crate::downlink;
use crate::network::{GNB, Server};

/// Sessions at a time, unless the environment says otherwise.
const SESSIONS: u32 = 3000;
/// Requests without a response, at most.
const OPEN: usize = 400;
/// T1.
const REPEAT: Duration = Duration::from_millis(300);

/// Sessions at a time.
fn sessions() -> u32 {
    let sessions = std::env::var("CAUSEWAY_CHAIN_SESSIONS").ok().and_then(|text| text.parse().ok());
    sessions.unwrap_or(SESSIONS)
}

/// What happens to a session next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Establish,
    Forward,
    Buffer,
    Delete,
}

/// What the downlink of a session does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Downlink {
    Buffers,
    /// It forwards to this tunnel of the gNB.
    Forwards(Teid),
}

struct Place {
    cp: Seid,
    ue: Ipv4Addr,
    /// The SEID of the session that was acknowledged, and not deleted.
    up: Option<Seid>,
    /// What its downlink does since the last acknowledged modification.
    downlink: Option<Downlink>,
    next: Step,
    /// Sessions whose deletion was acknowledged.
    deleted: Vec<Seid>,
    cycles: u32,
}

impl Place {
    /// The tunnel of the next modification, which is another one each time.
    fn tunnel(&self) -> Teid {
        Teid::new(0x1_0000 + self.cycles).expect("a TEID")
    }
}

struct Open {
    place: usize,
    octets: Vec<u8>,
    sent: Instant,
    first: Instant,
}

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) answered: u64,
    pub(crate) repeated: u64,
    pub(crate) seconds: f64,
    /// The longest time between two responses.
    pub(crate) longest_pause: Duration,
    /// The sessions that must be there, and what a modification has made of their downlinks.
    pub(crate) sessions: Vec<(Seid, Ipv4Addr, Option<Downlink>)>,
    /// Of those that must not.
    deleted: Vec<Seid>,
    smf: Ipv4Addr,
    upf: SocketAddr,
}

/// The load, in a thread.
pub(crate) struct Load {
    thread: JoinHandle<Outcome>,
    ends: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
}

impl Load {
    pub(crate) fn begin(smf: Ipv4Addr, upf: Ipv4Addr, rate: u32) -> Self {
        let (ends, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (is_end, count) = (Arc::clone(&ends), Arc::clone(&answered));
        let thread = thread::spawn(move || World::new(smf, (upf, 8805).into()).run(rate, &is_end, &count));
        Self { thread, ends, answered }
    }

    /// Waits until some thousand requests more are answered.
    pub(crate) fn await_progress(&self) {
        let before = self.answered.load(Relaxed);
        until("responses", || self.answered.load(Relaxed) > before + 2000 || self.thread.is_finished());
    }

    /// Waits until so many requests for each session are answered.
    pub(crate) fn await_answers(&self, of_each: u64) {
        let wanted = of_each * u64::from(sessions());
        until("responses", || self.answered.load(Relaxed) > wanted || self.thread.is_finished());
    }

    /// Waits until each request has its response.
    pub(crate) fn end(self) -> Outcome {
        self.ends.store(true, Relaxed);
        self.thread.join().expect("no session was lost")
    }
}

struct World {
    smf: Smf,
    socket: UdpSocket,
    address: Ipv4Addr,
    upf: SocketAddr,
    places: Vec<Place>,
    /// Places without an open request.
    idle: VecDeque<usize>,
    open: HashMap<u32, Open>,
    sequence: u32,
    repeated: u64,
}

impl World {
    fn new(address: Ipv4Addr, upf: SocketAddr) -> Self {
        let socket = UdpSocket::bind((address, 0)).unwrap();
        socket.connect(upf).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let place = |n: u32| Place {
            cp: Seid(0x1_0000 + u64::from(n)),
            ue: Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 45, 1, 0)) + n),
            up: None,
            downlink: None,
            next: Step::Establish,
            deleted: Vec::new(),
            cycles: 0,
        };
        Self {
            smf: Smf::over(socket.try_clone().unwrap(), upf),
            socket,
            address,
            upf,
            places: (0..sessions()).map(place).collect(),
            idle: (0..sessions() as usize).collect(),
            open: HashMap::new(),
            sequence: 0,
            repeated: 0,
        }
    }

    fn run(mut self, rate: u32, ends: &AtomicBool, answered: &AtomicU64) -> Outcome {
        let begin = Instant::now();
        let (mut last, mut longest_pause, mut looked) = (begin, Duration::ZERO, begin);
        let (mut sent, mut buffer) = (0_u64, vec![0; 65_535]);
        loop {
            let is_end = ends.load(Relaxed);
            if is_end && self.open.is_empty() {
                break;
            }
            // Requests that could not be sent in their time are not made up for.
            let due = (begin.elapsed().as_secs_f64() * f64::from(rate)) as u64;
            let wanted = due.saturating_sub(sent).min(64);
            sent = due.max(sent);
            for _ in 0..wanted {
                if is_end || self.open.len() >= OPEN {
                    break;
                }
                let Some(place) = self.idle.pop_front() else { break };
                self.send(place);
            }
            while let Ok(len) = self.socket.recv(&mut buffer) {
                if self.receive(&buffer[..len]) {
                    let now = Instant::now();
                    longest_pause = longest_pause.max(now - last);
                    last = now;
                    answered.fetch_add(1, Relaxed);
                }
                if self.open.len() < OPEN / 2 && !is_end {
                    break;
                }
            }
            if looked.elapsed() > REPEAT / 4 {
                looked = Instant::now();
                self.repeat();
            }
        }
        let of = |place: &Place| place.deleted.iter().rev().take(3).copied().collect::<Vec<_>>();
        Outcome {
            answered: answered.load(Relaxed),
            repeated: self.repeated,
            seconds: begin.elapsed().as_secs_f64(),
            longest_pause,
            sessions: self.places.iter().filter_map(|it| Some((it.up?, it.ue, it.downlink))).collect(),
            deleted: self.places.iter().flat_map(of).collect(),
            smf: self.address,
            upf: self.upf,
        }
    }

    fn send(&mut self, at: usize) {
        self.sequence += 1;
        let place = &self.places[at];
        let mut octets = Vec::new();
        let seid = place.up.unwrap_or(Seid(0));
        let cp = FSeid { seid: place.cp, addr: DualIp::from(self.address) };
        match place.next {
            Step::Establish => {
                let message: Message<'_> = self.smf.request_for(cp, place.ue).into();
                message.encode(Some(Seid(0)), self.sequence, &mut octets)
            }
            Step::Forward => forward(place.tunnel()).encode(Some(seid), self.sequence, &mut octets),
            Step::Buffer => buffer().encode(Some(seid), self.sequence, &mut octets),
            Step::Delete => Message::from(SessionDeletionRequest::default()).encode(
                Some(seid),
                self.sequence,
                &mut octets,
            ),
        }
        .unwrap();
        let _ = self.socket.send(&octets);
        let now = Instant::now();
        self.open.insert(self.sequence, Open { place: at, octets, sent: now, first: now });
    }

    /// Takes a response. False: it is another message, or a second response.
    fn receive(&mut self, octets: &[u8]) -> bool {
        let (header, message) = decode(octets);
        if let Message::HeartbeatRequest(_) = message {
            self.smf.answer_heartbeat(header.sequence, false);
            return false;
        }
        let Some(open) = self.open.remove(&header.sequence) else { return false };
        let place = &mut self.places[open.place];
        let what = place.next;
        let cause = match &message {
            Message::SessionEstablishmentResponse(response) => {
                place.up = response.up_f_seid.map(|f_seid| f_seid.seid);
                response.cause
            }
            Message::SessionModificationResponse(response) => response.cause,
            Message::SessionDeletionResponse(response) => response.cause,
            other => panic!("{other:?}"),
        };
        assert!(
            cause.is_accepted(),
            "{what:?} of {:?} after {:?}: {cause:?}",
            place.up,
            open.first.elapsed()
        );
        place.downlink = match what {
            Step::Forward => Some(Downlink::Forwards(place.tunnel())),
            Step::Buffer => Some(Downlink::Buffers),
            Step::Establish | Step::Delete => None,
        };
        place.cycles += 1;
        place.next = match what {
            Step::Establish | Step::Buffer if !place.cycles.is_multiple_of(7) => Step::Forward,
            Step::Forward => Step::Buffer,
            Step::Establish | Step::Buffer => Step::Delete,
            Step::Delete => {
                place.deleted.extend(place.up.take());
                Step::Establish
            }
        };
        self.idle.push_back(open.place);
        true
    }

    fn repeat(&mut self) {
        for open in self.open.values_mut().filter(|open| open.sent.elapsed() > REPEAT) {
            let _ = self.socket.send(&open.octets);
            open.sent = Instant::now();
            self.repeated += 1;
            assert!(open.first.elapsed() < crate::common::PATIENCE, "a request gets no response");
        }
    }
}

fn forward(tunnel: Teid) -> Message<'static> {
    leading((FarId(2), DestinationInterface::Access), (tunnel, GNB), None).into()
}

fn buffer() -> Message<'static> {
    let far = UpdateFar { apply_action: Some(ApplyAction::BUFF), ..UpdateFar::new(FarId(2)) };
    SessionModificationRequest { update_fars: [far].into(), ..SessionModificationRequest::default() }.into()
}

impl Outcome {
    /// Asks the UPF for each session, after packets to those that were modified have shown their downlinks.
    pub(crate) fn check(&self, gnb: &Gnb, server: &Server) {
        self.check_downlinks(gnb, server);
        let mut smf = Smf::new(self.smf.into(), self.upf);
        let mut cause = |seid: Seid| match decode(&smf.request(forward(downlink()), Some(seid))).1 {
            Message::SessionModificationResponse(response) => response.cause,
            other => panic!("{other:?}"),
        };
        let mut there = HashSet::new();
        for (seid, ..) in &self.sessions {
            assert!(cause(*seid).is_accepted(), "session {seid} was acknowledged, and is lost");
            there.insert(seid);
        }
        for seid in self.deleted.iter().filter(|seid| !there.contains(seid)) {
            assert_eq!(
                cause(*seid),
                Cause::SessionContextNotFound,
                "session {seid} was deleted, and is there"
            );
        }
    }

    /// Packets to the UEs of sessions that forward arrive in the tunnel of the last acknowledged modification; those to UEs of sessions that
    /// buffer since theirs do not, though sent before. Sessions that no modification has changed get none.
    fn check_downlinks(&self, gnb: &Gnb, server: &Server) {
        let (mut forward, mut buffered) = (0, HashSet::new());
        for (seid, ue, downlink) in &self.sessions {
            // The last octets say which session the packet is to.
            let mark = seid.0.to_be_bytes();
            let arrivals = || {
                let arrived = gnb.receive_waiting().into_iter();
                arrived.map(|octets| (octets[4..8].to_vec(), octets[octets.len() - 8..].to_vec()))
            };
            match downlink {
                None => {}
                Some(Downlink::Buffers) => {
                    server.send(*ue, &mark);
                    buffered.insert(mark.to_vec());
                }
                Some(Downlink::Forwards(tunnel)) => {
                    forward += 1;
                    until("a packet to a session that forwards", || {
                        server.send(*ue, &mark);
                        let mut is_there = false;
                        for (teid, of) in arrivals() {
                            assert!(!buffered.contains(&of), "a session that buffers has forwarded");
                            if of == mark {
                                assert_eq!(teid, tunnel.value().to_be_bytes(), "session {seid}");
                                is_there = true;
                            }
                        }
                        is_there
                    });
                }
            }
        }
        assert!(forward > 0 && !buffered.is_empty(), "{forward} forward, {} buffer", buffered.len());
    }
}
