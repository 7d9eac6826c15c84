//! N4 in a packet thread: its sockets, and one burst of datagrams.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Instant;

use causeway_accel::{Accel, Class, Effect, MAX_ANSWER, Reason, Verdict, fits};
use causeway_dataplane::{Event, PacketEngine, Plan, PlanId};
use causeway_pfcp::{Header, MessageType};
use causeway_ports::udp::{DatagramReceiver, DatagramSender};
use causeway_types::{NtpSeconds, Seid, Time};

use super::figures::Kind;
use super::keys::{AboutNode, about_node};
use super::plans::{Modified, Plans};
use super::{AnsweredRequest, Change, Direct, DirectReport, N4Datagram, v4};

/// No other plan has this number: those of the control thread begin at zero.
const PLAN: PlanId = PlanId(u64::MAX - 1);

/// Answers whose memory is kept.
const SPARE: usize = 256;

/// N4 of one packet thread.
pub struct DirectN4 {
    direct: Arc<Direct>,
    /// That of the tables, which never changes.
    class: Class,
    sockets: Vec<Socket>,
    inbox: DatagramReceiver,
    plans: Plans,
    spare: Vec<Vec<u8>>,
}

struct Socket {
    socket: UdpSocket,
    outbox: DatagramSender,
    /// Its number among the N4 addresses.
    number: usize,
}

/// What a thread does with what it received.
pub(crate) trait Turn {
    /// The present time.
    fn now(&self) -> Time;

    /// The data plane.
    fn data_plane(&mut self) -> &mut dyn PacketEngine;

    /// Transmits what plans released.
    ///
    /// # Errors
    /// A port is lost.
    fn flush(&mut self) -> Result<(), Self::End>;

    /// Says something to the control thread.
    ///
    /// # Errors
    /// It has ended.
    fn report(&mut self, report: DirectReport) -> Result<(), Self::End>;

    /// Passes an event of the data plane on.
    ///
    /// # Errors
    /// The control thread has ended.
    fn event(&mut self, event: Event) -> Result<(), Self::End>;

    /// Why the thread ends.
    type End;
}

/// What a request does to the data plane.
#[expect(clippy::large_enum_variant, reason = "it is short-lived")]
enum Step {
    /// The answer alone.
    Answer,
    /// These plans first, in this order, the last of which may be refused.
    Apply { gone: Vec<Seid>, plan: Plan, undo: Undo },
    /// It is for the control thread.
    Forward { is_held: bool },
}

/// What is undone when the data plane refuses a plan.
#[derive(Clone, Copy)]
#[expect(clippy::large_enum_variant, reason = "it is short-lived")]
enum Undo {
    Install(u32),
    Change(u32, causeway_accel::Rules),
    /// The session does not exist, as was requested.
    Nothing,
}

impl DirectN4 {
    /// With these non-blocking sockets, each with its number among the N4 addresses. `joins`: as in [`DatagramSender::new`].
    pub(crate) fn new(direct: Arc<Direct>, sockets: Vec<(usize, UdpSocket)>, joins: bool) -> Self {
        let of = |(number, socket)| Socket { socket, outbox: DatagramSender::new(joins), number };
        let class = direct.tables().config().class;
        Self {
            class,
            direct,
            sockets: sockets.into_iter().map(of).collect(),
            inbox: DatagramReceiver::default(),
            plans: Plans::default(),
            spare: Vec::new(),
        }
    }

    /// The sockets to wait for.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.sockets.iter().map(|socket| socket.socket.as_fd())
    }

    /// Handles what has arrived, at most one batch of each socket. Returns whether there was anything.
    ///
    /// # Errors
    /// The thread has to end.
    pub(crate) fn receive<T: Turn>(&mut self, turn: &mut T) -> Result<bool, T::End> {
        let mut any = false;
        for at in 0..self.sockets.len() {
            let Some(socket) = self.sockets.get(at) else { continue };
            // An error of the socket, such as an ICMP error of an SMF that has gone, ends with the read.
            if self.inbox.fill(&socket.socket).is_err() {
                continue;
            }
            any = true;
            let began = Instant::now();
            let mut inbox = std::mem::take(&mut self.inbox);
            let mut answered = [0; Kind::COUNT];
            let result = loop {
                let Some((from, datagram)) = inbox.take() else { break Ok(()) };
                match self.datagram(turn, at, from, datagram) {
                    Ok(Some(kind)) => answered[kind as usize] += 1,
                    Ok(None) => {}
                    Err(end) => break Err(end),
                }
            };
            self.inbox = inbox;
            result?;
            // Packets that plans released leave before the answers.
            turn.flush()?;
            let Self { sockets, spare, .. } = self;
            let mut unsent = 0;
            if let Some(Socket { socket, outbox, .. }) = sockets.get_mut(at) {
                let lost = |_: SocketAddr, _| unsent += 1;
                let mut unused = Vec::new();
                outbox.send_and_recycle(&*socket, lost, |octets| unused.push(octets));
                spare.extend(unused.into_iter().take(SPARE.saturating_sub(spare.len())));
            }
            self.direct.thread_figures().answered(answered, unsent, began.elapsed());
        }
        Ok(any)
    }

    /// Handles one datagram. Returns the kind of request that was answered.
    fn datagram<T: Turn>(
        &mut self,
        turn: &mut T,
        at: usize,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Result<Option<Kind>, T::End> {
        let mut answer = [0; MAX_ANSWER];
        let (mut step, len) = self.decide(turn.now(), from, datagram, &mut answer);
        let mut change = None;
        if let Step::Apply { gone, plan, undo } = step {
            step = Step::Answer;
            for seid in gone {
                let _ = apply(turn, &Plan::removal(seid))?;
            }
            if apply(turn, &plan)? {
                change = Some((plan.session, change_of(&plan)));
            } else if let Some(is_held) = self.undo(undo) {
                step = Step::Forward { is_held };
            }
        }
        match step {
            Step::Forward { is_held } => {
                self.forward(turn, at, from, datagram, is_held)?;
                Ok(None)
            }
            _ => {
                let answer = answer.get(..len).unwrap_or_default();
                if self.direct.is_observed.load(Ordering::Relaxed) {
                    let (request, answer) = (datagram.to_vec(), answer.to_vec());
                    let answered = AnsweredRequest { from, request, answer, change };
                    turn.report(DirectReport::Answered(Box::new(answered)))?;
                }
                let mut octets = self.spare.pop().unwrap_or_default();
                octets.clear();
                octets.extend_from_slice(answer);
                if let Some(socket) = self.sockets.get_mut(at) {
                    socket.outbox.put(from, octets);
                }
                Ok(datagram.get(1).and_then(|code| Kind::of(*code)))
            }
        }
    }

    /// What to do, with the length of the answer.
    fn decide(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &[u8],
        answer: &mut [u8; MAX_ANSWER],
    ) -> (Step, usize) {
        let Some(from) = v4(from) else { return (Step::Forward { is_held: false }, 0) };
        let parsed = fits(&self.class, datagram);
        let mut accel = self.direct.tables();
        match accel.parsed(now, from, datagram, parsed, answer) {
            Verdict::Answered { len, effect } => (self.plans.step(&accel, effect), len),
            Verdict::ToN4 { reason, adopt } => {
                adopt.into_iter().for_each(|session| accel.leave(session));
                let is_first = must_be_first(&accel, *from.ip(), datagram, reason);
                (Step::Forward { is_held: is_first && accel.hold(*from.ip()) }, 0)
            }
        }
    }

    /// The data plane refused a plan. `Some`: the request is for the control thread.
    fn undo(&self, undo: Undo) -> Option<bool> {
        let mut accel = self.direct.tables();
        match undo {
            Undo::Install(session) => accel.undo_install(session),
            Undo::Change(session, before) => accel.undo_change(session, &before),
            Undo::Nothing => return None,
        }
        Some(false)
    }

    fn forward<T: Turn>(
        &mut self,
        turn: &mut T,
        at: usize,
        from: SocketAddr,
        datagram: &[u8],
        is_held: bool,
    ) -> Result<(), T::End> {
        if !self.direct.take_place() {
            if let Some(from) = v4(from).filter(|_| is_held) {
                self.direct.tables().unhold(*from.ip());
            }
            return Ok(());
        }
        let socket = self.sockets.get(at).map_or(0, |socket| socket.number);
        let octets = datagram.to_vec();
        turn.report(DirectReport::Datagram(N4Datagram { socket, from, octets, is_held }))
    }
}

impl Plans {
    fn step(&mut self, accel: &Accel, effect: Effect) -> Step {
        let of_gone = |session: u32| accel.seid_of(session);
        match effect {
            Effect::Nothing => Step::Answer,
            Effect::Install { session, expired } => match accel.session(session) {
                Some((seid, rules)) => Step::Apply {
                    gone: expired.into_iter().flatten().filter_map(of_gone).collect(),
                    plan: self.install(accel, seid, rules),
                    undo: Undo::Install(session),
                },
                None => Step::Answer,
            },
            Effect::Change { session, before, instructed, end_marker, expired } => {
                let Some((seid, after)) = accel.session(session) else { return Step::Answer };
                let modified = Modified { before: &before, after, instructed, marker: end_marker };
                Step::Apply {
                    gone: expired.and_then(of_gone).into_iter().collect(),
                    plan: self.modify(accel, seid, modified),
                    undo: Undo::Change(session, before),
                }
            }
            Effect::Remove { session } => match accel.seid_of(session) {
                Some(seid) => {
                    Step::Apply { gone: Vec::new(), plan: Plan::removal(seid), undo: Undo::Nothing }
                }
                None => Step::Answer,
            },
        }
    }
}

/// The data plane applies a plan at once. False: it refused.
fn apply<T: Turn>(turn: &mut T, plan: &Plan) -> Result<bool, T::End> {
    let now = turn.now();
    turn.data_plane().advance(now);
    // Events before the plan are passed on before what follows from it.
    while let Some(event) = turn.data_plane().poll_event() {
        turn.event(event)?;
    }
    Ok(matches!(turn.data_plane().submit(now, PLAN, plan), Poll::Ready(Ok(_))))
}

const fn change_of(plan: &Plan) -> Change {
    if plan.change.is_installation() {
        Change::Established
    } else if plan.change.is_removal() {
        Change::Deleted
    } else {
        Change::Modified
    }
}

/// Later messages of this SMF have to wait: N4 may learn from this one that it has restarted, or that its association has
/// changed.
fn must_be_first(accel: &Accel, host: std::net::Ipv4Addr, datagram: &[u8], reason: Reason) -> bool {
    if !matches!(reason, Reason::Misfit(_)) {
        return false;
    }
    match Header::decode(datagram) {
        // What follows is not looked at.
        Ok((_, _, rest)) if !rest.is_empty() => true,
        Ok((header, body, _)) => match about_node(MessageType::from_code(header.message_type), body) {
            None => false,
            Some(AboutNode::Stamp(stamp)) => !accel.is_stamp_of(host, NtpSeconds(stamp)),
            Some(AboutNode::More(_)) => true,
        },
        Err(_) => false,
    }
}
