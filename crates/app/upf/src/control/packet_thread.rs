//! N4 in the packet threads (`upf.pfcp.accelerate`): each receives datagrams at sockets of its own, handles those about its sessions, applies their plans
//! and sends the responses, all beside the others.
//!
//! A thread has its part of the control plane only while the control thread has no work, and never waits for it. What concerns more than the part, or would
//! make the thread wait, such as a log line, it leaves to the control thread; a plan for another thread's session is a command to that thread, which gives
//! its own part, or the control thread, the result.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::task;

use causeway_n4::{ApplyId, Node};
use causeway_types::Time;
use tokio::sync::Notify;

use super::part::{ControlPart, Received};
use super::request_times::Histograms;
use super::sockets::{SharedSockets, lock};
use crate::clock::Clock;
use crate::worker::{InTurn, N4Exchange, N4Result, N4Work};

/// The nanoseconds of the time at which a timer fires that never does.
const NEVER: u64 = u64::MAX;

/// Maximum number of datagrams in an inbox, and of their octets: as many as the buffer of a socket has. Further ones are lost, as there.
const MAX_IN_INBOX: usize = 4096;
const MAX_OCTETS_IN_INBOX: usize = 4 << 20;

/// Maximum number of datagrams of an inbox that are handled before packets, and the control thread, have their turn.
const MOST_OF_OTHERS: usize = 64;

/// A part of the control plane, which its packet thread and the control thread have in turn; `None` before it begins and after its end.
type Place = InTurn<Option<Box<ControlPart>>>;

/// What the packet threads and the control thread have in common.
pub(crate) struct SharedControl {
    /// The part of each thread that receives N4.
    places: Vec<Place>,
    /// Datagrams that other threads have received for each of these threads.
    inboxes: Vec<Inbox>,
    /// The node of N4, which packet threads read while they have a part; `None` before it begins.
    node: RwLock<Option<Box<Node>>>,
    /// Set once the threads run.
    threads: OnceLock<Threads>,
    /// Tells the control thread that a packet thread left something to it.
    pub(super) left: Arc<Notify>,
    /// Someone is told of each message, plan and event: packet threads leave all to the control thread.
    is_observed: AtomicBool,
    /// When the timer of the control thread fires.
    timer: AtomicU64,
    pub(super) times: Arc<Histograms>,
}

/// Datagrams of a thread that another one has received: by AF_XDP the first thread receives all, and the kernel knows only the usual order of IEs.
#[derive(Default)]
struct Inbox {
    waiting: Mutex<Waiting>,
    is_used: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    datagrams: VecDeque<Received>,
    octets: usize,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // A panic while it was locked ends the process.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a datagram. `false`: it is lost, since too many wait.
    #[must_use]
    fn push(&self, datagram: Received) -> bool {
        let Waiting { datagrams, octets } = &mut *self.lock();
        let has_place = datagrams.len() < MAX_IN_INBOX && *octets < MAX_OCTETS_IN_INBOX;
        if has_place {
            *octets += datagram.3.len();
            datagrams.push_back(datagram);
            self.is_used.store(true, Ordering::Release);
        }
        has_place
    }

    fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Acquire)
    }

    /// Takes the first [`MOST_OF_OTHERS`].
    fn take(&self) -> VecDeque<Received> {
        if !self.is_used() {
            return VecDeque::new();
        }
        let Waiting { datagrams, octets } = &mut *self.lock();
        let taken: VecDeque<_> = datagrams.drain(..MOST_OF_OTHERS.min(datagrams.len())).collect();
        *octets -= octets_of(&taken);
        self.is_used.store(!datagrams.is_empty(), Ordering::Release);
        taken
    }

    /// Puts datagrams back that were taken, before others.
    fn put_back(&self, left: VecDeque<Received>) {
        if left.is_empty() {
            return;
        }
        let Waiting { datagrams, octets } = &mut *self.lock();
        *octets += octets_of(&left);
        left.into_iter().rev().for_each(|datagram| datagrams.push_front(datagram));
        self.is_used.store(true, Ordering::Release);
    }
}

fn octets_of(datagrams: &VecDeque<Received>) -> usize {
    datagrams.iter().map(|(.., octets)| octets.len()).sum()
}

/// The packet threads, as seen by each other.
#[derive(Debug)]
pub(super) struct Threads {
    pub(super) wakers: Vec<task::Waker>,
    /// The number of their reports on the way to the control thread that later ones have to wait for.
    pub(super) awaited: Arc<AtomicU32>,
}

/// All parts, which the control thread has.
pub(super) type AllParts<'a> = Vec<MutexGuard<'a, Option<Box<ControlPart>>>>;

impl SharedControl {
    /// Without a control plane yet, for so many threads that receive N4.
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            places: (0..threads).map(|_| InTurn::new(None)).collect(),
            inboxes: (0..threads).map(|_| Inbox::default()).collect(),
            node: RwLock::new(None),
            threads: OnceLock::new(),
            left: Arc::new(Notify::new()),
            is_observed: AtomicBool::new(false),
            timer: AtomicU64::new(NEVER),
            times: Arc::default(),
        }
    }

    /// The packet threads run.
    pub(super) fn begin(&self, threads: Threads) {
        // Set once.
        let _ = self.threads.set(threads);
    }

    /// All parts, once the packet threads have ended their turns. To be given back by [`SharedControl::give_back`].
    pub(super) fn take_all(&self) -> AllParts<'_> {
        self.places.iter().map(InTurn::wait).collect()
    }

    /// The threads that miss their parts.
    pub(super) fn missed(&self) -> impl Iterator<Item = usize> {
        self.places.iter().enumerate().filter(|(_, place)| place.is_missed()).map(|(number, _)| number)
    }

    /// Gives the parts back. Packet threads that missed theirs are told to try again.
    pub(super) fn give_back(&self, parts: AllParts<'_>) {
        for (number, (place, part)) in self.places.iter().zip(parts).enumerate() {
            if place.finish(part)
                && let Some(waker) = self.threads.get().and_then(|threads| threads.wakers.get(number))
            {
                waker.wake_by_ref();
            }
        }
    }

    /// Gives the datagrams of a part that are for others to their threads.
    fn pass_on(&self, part: &mut ControlPart) {
        for (number, datagram) in part.for_others.drain(..) {
            let is_lost = self.inboxes.get(number).is_none_or(|inbox| !inbox.push(datagram));
            part.lost += u64::from(is_lost);
            if let Some(waker) = self.threads.get().and_then(|threads| threads.wakers.get(number)) {
                waker.wake_by_ref();
            }
        }
    }

    /// The first datagrams that other threads have received for a thread, which leaves them to the control thread.
    pub(super) fn take_inbox(&self, thread: usize) -> VecDeque<Received> {
        self.inboxes.get(thread).map(Inbox::take).unwrap_or_default()
    }

    /// Exchanges the node that packet threads read. The caller has all parts.
    pub(super) fn exchange_node(&self, node: &mut Option<Box<Node>>) {
        // A panic while it was locked ends the process.
        std::mem::swap(&mut *self.node.write().unwrap_or_else(PoisonError::into_inner), node);
    }

    /// Someone is told of each message, plan and event from now on, or not.
    pub(super) fn set_observed(&self, is_observed: bool) {
        self.is_observed.store(is_observed, Ordering::Relaxed);
    }

    /// When the timer of the control thread fires; `None`: never.
    pub(super) fn set_timer(&self, due: Option<Time>) {
        self.timer.store(due.map_or(NEVER, Time::as_nanos), Ordering::Relaxed);
    }

    fn timer(&self) -> Option<Time> {
        Some(self.timer.load(Ordering::Relaxed)).filter(|due| *due != NEVER).map(Time::from_nanos)
    }

    /// What comes next is for the control thread, of whatever part.
    fn is_for_control_thread(&self) -> bool {
        let is_awaited = |threads: &Threads| threads.awaited.load(Ordering::Relaxed) > 0;
        self.is_observed.load(Ordering::Relaxed) || self.threads.get().is_none_or(is_awaited)
    }
}

/// N4 as a packet thread has it.
pub(crate) struct N4InPacketThread {
    /// The number of the thread.
    number: usize,
    shared: Arc<SharedControl>,
    clock: Clock,
    sockets: SharedSockets,
    /// To wait for.
    descriptors: Vec<OwnedFd>,
    /// It has to wait until the control thread has had its turn.
    has_missed: bool,
}

impl N4InPacketThread {
    /// For the thread of this number, with these sockets.
    pub(crate) fn new(
        number: usize,
        shared: Arc<SharedControl>,
        clock: Clock,
        (sockets, descriptors): (SharedSockets, Vec<OwnedFd>),
    ) -> Self {
        Self { number, shared, clock, sockets, descriptors, has_missed: false }
    }
}

impl N4Work<ApplyId> for N4InPacketThread {
    fn sockets(&self) -> &[OwnedFd] {
        if self.has_missed { &[] } else { &self.descriptors }
    }

    fn has_datagrams(&self) -> bool {
        !self.has_missed && self.shared.inboxes.get(self.number).is_some_and(Inbox::is_used)
    }

    fn turn(&mut self, exchange: &mut N4Exchange<ApplyId>, receives: bool) -> N4Result {
        let shared = Arc::clone(&self.shared);
        let Some(place) = shared.places.get(self.number) else { return N4Result::Left };
        self.has_missed &= place.is_missed();
        let Some(mut taken) = (if self.has_missed { None } else { place.try_take() }) else {
            self.has_missed = true;
            return N4Result::Left;
        };
        let own = Arc::clone(&self.sockets);
        let mut sockets = lock(&own);
        let count = {
            let node = shared.node.read().unwrap_or_else(PoisonError::into_inner);
            let is_ready =
                |part: &ControlPart| !part.is_for_control_thread() && !shared.is_for_control_thread();
            let part = taken.as_deref_mut().filter(|part| is_ready(part));
            let (Some(part), Some(node)) = (part, node.as_deref()) else {
                place.leave(taken);
                self.has_missed = true;
                shared.left.notify_one();
                return N4Result::Left;
            };
            let mut from_others = VecDeque::new();
            if receives {
                sockets.arrived();
                sockets.fill();
                from_others = shared.take_inbox(self.number);
            }
            let has_datagrams = sockets.has_received() || !from_others.is_empty();
            if !has_datagrams && exchange.reports.is_empty() && !sockets.has_news() {
                return N4Result::Done(false);
            }
            let count = part.turn(node, self.clock.now(), (&mut sockets, &mut from_others), exchange);
            if let Some(inbox) = shared.inboxes.get(self.number) {
                inbox.put_back(from_others);
            }
            shared.pass_on(part);
            if part.needs_control_thread(shared.timer()) {
                shared.left.notify_one();
            }
            self.has_missed = part.is_for_control_thread();
            count
        };
        match self.has_missed {
            true => place.leave(taken),
            false => drop(taken),
        }
        sockets.flush(&self.clock, &shared.times);
        if sockets.has_news()
            && let Some(mut taken) = place.try_take()
            && let Some(part) = taken.as_deref_mut()
        {
            part.take_back(&mut sockets);
            shared.left.notify_one();
        }
        N4Result::Done(count > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::super::local_source::LocalSource;
    use super::super::part::tests::{FirstPart, establishments};
    use super::*;

    fn datagram(number: usize, octets: usize) -> Received {
        let from = SocketAddr::from(([192, 0, 2, 1], 8805));
        (Time::from_nanos(number as u64), from, LocalSource::Socket(0), vec![0; octets])
    }

    // Input:  one datagram more than an inbox may have; the first ones are taken, two of them are handled, and another one comes before the others are
    //         put back.
    // Output: the last one is lost; afterwards those that were put back come before all others, in order.
    #[test]
    fn an_inbox_is_bounded_and_keeps_the_order() {
        let inbox = Inbox::default();
        assert!(!inbox.is_used() && inbox.take().is_empty());
        assert!((0..MAX_IN_INBOX).all(|number| inbox.push(datagram(number, 16))));
        assert!(!inbox.push(datagram(MAX_IN_INBOX, 16)));
        let mut taken = inbox.take();
        assert_eq!(taken.len(), MOST_OF_OTHERS);
        taken.drain(..2);
        assert!(inbox.push(datagram(5000, 16)));
        inbox.put_back(taken);
        let mut rest = Vec::new();
        while inbox.is_used() {
            rest.extend(inbox.take());
        }
        assert!((2..MAX_IN_INBOX).chain([5000]).map(|number| datagram(number, 16)).eq(rest));
        assert!(inbox.take().is_empty());
    }

    // Input:  datagrams of 64,000 octets for an inbox; some are taken, and put back.
    // Output: they have four megabytes at most, but for a part of the last one; whatever was taken and put back, others have a place when they have left.
    #[test]
    fn the_octets_of_an_inbox_are_bounded() {
        let inbox = Inbox::default();
        let fill = || (0..1000).take_while(|number| inbox.push(datagram(*number, 64_000))).count();
        let most = MAX_OCTETS_IN_INBOX.div_ceil(64_000);
        assert_eq!(fill(), most);
        inbox.put_back(inbox.take());
        assert_eq!(fill(), 0);
        while inbox.is_used() {
            inbox.take();
        }
        assert_eq!(fill(), most);
    }

    // Input:  a hundred and fifty establishments that other threads have received for a thread; four turns, the second one for reports alone.
    // Output: each of the others handles 64, so that packets and the control thread wait for no more, until none is left; all are handled in order.
    #[test]
    fn a_turn_handles_a_limited_number_of_datagrams_of_other_threads() {
        let FirstPart { part, node, sockets } = FirstPart::new();
        let shared = Arc::new(SharedControl::new(2));
        shared.begin(Threads { wakers: Vec::new(), awaited: Arc::default() });
        shared.exchange_node(&mut Some(node));
        *shared.places[0].wait() = Some(Box::new(part));
        shared.give_back(shared.take_all());
        assert!(establishments().take(150).all(|request| shared.inboxes[0].push(request)));
        let ends = (Arc::new(Mutex::new(sockets)), Vec::new());
        let mut n4 = N4InPacketThread::new(0, Arc::clone(&shared), Clock::new(), ends);
        let mut exchange = N4Exchange::of_no_thread();
        let plans = [true, false, true, true].map(|receives| {
            assert!(n4.has_datagrams());
            assert_ne!(n4.turn(&mut exchange, receives), N4Result::Left);
            exchange.plans.len()
        });
        assert_eq!(plans, [64, 64, 128, 150]);
        assert!(!n4.has_datagrams());
        assert!(exchange.plans.iter().map(|(id, _)| id.session_index()).eq(0..150));
    }

    // Input:  a part has a datagram for the thread of another one, whose inbox is full.
    // Output: it is lost, and counted: the control thread does not get it before those of the inbox.
    #[test]
    fn a_datagram_does_not_overtake_those_of_a_full_inbox() {
        let shared = SharedControl::new(2);
        while shared.inboxes[1].push(datagram(1, 16)) {}
        let mut first = FirstPart::new();
        first.part.for_others.push((1, datagram(2, 16)));
        shared.pass_on(&mut first.part);
        assert!(!first.part.is_for_control_thread() && first.part.for_others.is_empty());
        assert_eq!(first.part.lost, 1);
    }
}
