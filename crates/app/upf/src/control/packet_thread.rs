//! N4 in the packet threads (`upf.pfcp.accelerate`): each receives datagrams at sockets of its own, applies the plans of its sessions and sends the
//! responses. It has N4 only in between, for the messages and for the results of plans.
//!
//! It has the control plane only while no other thread has it and the control thread has no work. It waits for another packet thread as long as such a
//! thread usually has it, and never for the control thread. What would make it wait, such as a log line, it leaves to the control thread; a plan for another thread's session is a command to that thread, which gives N4 the result.

use std::mem;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::task;

use causeway_dataplane::{ApplyError, Event, Plan};
use causeway_fastpath::index::prefetch_at;
use causeway_n4::{ApplyId, Output};
use causeway_types::Time;

use super::Control;
use super::log::LateLine;
use super::request_times::Histograms;
use super::sockets::{SharedSockets, Sockets, try_lock};
use crate::clock::Clock;
use crate::worker::{InTurn, N4Exchange, N4Result, N4Work, Report, WorkerHandle};

/// How often a packet thread tries to have N4 while another one has it. A few hundred microseconds at most: user packets wait as long
/// for a turn of the thread itself.
const TRIES: u32 = 300;

/// The control plane, which the control thread and the packet threads have in turn; `None` before it begins and after its end.
pub(crate) struct SharedControl {
    pub(super) place: InTurn<Option<Box<Control>>>,
    /// Those of the packet threads, once they run.
    pub(super) wakers: OnceLock<Vec<task::Waker>>,
    pub(super) times: Arc<Histograms>,
}

impl SharedControl {
    /// Without a control plane yet.
    pub(crate) fn new() -> Self {
        Self { place: InTurn::new(None), wakers: OnceLock::new(), times: Arc::default() }
    }

    /// Tells these packet threads to try again, one bit each.
    pub(super) fn tell(&self, threads: u64) {
        if threads == 0 {
            return;
        }
        let wakers = self.wakers.get().map(Vec::as_slice).unwrap_or_default();
        let told = wakers.iter().enumerate().filter(|(thread, _)| threads & 1 << thread != 0);
        told.for_each(|(_, waker)| waker.wake_by_ref());
    }

    /// Has the control thread log what went wrong at the sockets of this thread; later, if N4 is not free.
    fn say_news(&self, thread: usize, sockets: &mut Sockets) {
        let Some(mut place) = self.place.try_take(thread) else { return };
        if let Some(control) = place.as_deref_mut() {
            control.take_back(sockets);
            control.n4_released.notify_one();
        }
        self.tell(self.place.give_back(place));
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
    /// Why it has to wait until another thread has had its turn; `None`: it does not.
    missed: Option<N4Result>,
}

impl N4InPacketThread {
    /// For the thread of this number, with these sockets.
    pub(crate) fn new(
        number: usize,
        shared: Arc<SharedControl>,
        clock: Clock,
        (sockets, descriptors): (SharedSockets, Vec<OwnedFd>),
    ) -> Self {
        Self { number, shared, clock, sockets, descriptors, missed: None }
    }

    fn miss(&mut self, why: N4Result) -> N4Result {
        self.missed = Some(why);
        why
    }
}

impl N4Work<ApplyId> for N4InPacketThread {
    fn sockets(&self) -> &[OwnedFd] {
        if self.missed.is_some() { &[] } else { &self.descriptors }
    }

    fn turn(&mut self, exchange: &mut N4Exchange<ApplyId>, receives: bool) -> N4Result {
        if let Some(why) = self.missed.filter(|_| self.shared.place.is_missed(self.number)) {
            return why;
        }
        self.missed = None;
        let (own, shared) = (Arc::clone(&self.sockets), Arc::clone(&self.shared));
        let Some(mut sockets) = try_lock(&own) else {
            // The control thread, which has N4, reads them.
            return match shared.place.try_take(self.number) {
                None => self.miss(N4Result::Left),
                Some(place) => {
                    shared.tell(shared.place.give_back(place));
                    N4Result::Busy
                }
            };
        };
        if receives {
            sockets.arrived();
            sockets.fill();
        }
        if !sockets.has_received() && exchange.reports.is_empty() && !sockets.has_news() {
            return N4Result::Done(false);
        }
        let Some(mut place) = shared.place.take_soon(self.number, TRIES) else {
            let is_for_control_thread = shared.place.is_wanted();
            return self.miss(if is_for_control_thread { N4Result::Left } else { N4Result::Busy });
        };
        let control = match place.as_deref_mut() {
            Some(control) if !control.is_for_control_thread() => control,
            control => {
                if let Some(control) = control {
                    control.n4_released.notify_one();
                }
                shared.place.leave(place, self.number);
                return self.miss(N4Result::Left);
            }
        };
        let count = control.turn_in(self.number, self.clock.now(), &mut sockets, exchange);
        if control.has_left_something() {
            control.n4_released.notify_one();
        }
        shared.tell(shared.place.give_back(place));
        sockets.flush(&self.clock, &shared.times);
        if sockets.has_news() {
            shared.say_news(self.number, &mut sockets);
        }
        N4Result::Done(count > 0)
    }
}

/// Plans of the present turn that no thread was given yet.
#[derive(Default)]
pub(super) struct UnplacedPlans {
    plans: Vec<(ApplyId, Plan)>,
    /// The threads for them.
    threads: Vec<Result<usize, ApplyError>>,
}

impl UnplacedPlans {
    /// Finds the threads that have to apply the plans.
    fn assign(&mut self, worker: &mut WorkerHandle<ApplyId>) {
        worker.assign(&self.plans, &mut self.threads);
    }

    /// The plans, each with its thread, or why none can apply it.
    fn drain(&mut self) -> impl Iterator<Item = (ApplyId, Plan, Result<usize, ApplyError>)> {
        self.plans.drain(..).zip(self.threads.drain(..)).map(|((id, plan), thread)| (id, plan, thread))
    }

    /// The memory of these, which are given to threads, serves the next ones.
    fn take_memory_of(&mut self, placed: Self) {
        self.threads = placed.threads;
        if self.plans.is_empty() {
            self.plans = placed.plans;
        }
    }
}

impl Control {
    /// The next thing is for the control thread: what was left to it, a report that is on its way, a message that somebody is told of.
    fn is_for_control_thread(&self) -> bool {
        !self.pending_outputs.is_empty() || self.worker.has_awaited() || self.is_observed()
    }

    /// The control thread has to have a turn soon.
    fn has_left_something(&self) -> bool {
        let is_late = || match (self.n4.next_timer(), self.timer_due) {
            (Some(due), Some(timer)) => due < timer,
            (due, timer) => due.is_some() && timer.is_none(),
        };
        !self.pending_outputs.is_empty() || self.log.has_late() || is_late()
    }

    /// Handles the reports of a packet thread, then the datagrams that it has received. Returns their number. The responses are queued at its
    /// sockets.
    fn turn_in(
        &mut self,
        thread: usize,
        now: Time,
        sockets: &mut Sockets,
        exchange: &mut N4Exchange<ApplyId>,
    ) -> usize {
        self.take_back(sockets);
        // Plans that others gave the thread come before those of this turn.
        let is_behind = exchange.has_commands();
        self.worker.expect(&exchange.reports);
        while let Some(report) = exchange.reports.pop_front() {
            match report {
                Report::Applied(id, result) => {
                    self.worker.completed(id, result.is_ok());
                    self.applied(now, id, result);
                }
                Report::Event(event) => self.event_in(now, event),
                Report::Usage(_) | Report::UsageRestored(_) | Report::Stopped(_) => {}
            }
            self.take_outputs();
        }
        self.n4.prefer_seids(self.n4_io.share_of(thread));
        let mut count = 0;
        loop {
            if let Some(following) = sockets.peek_next() {
                self.n4.prefetch(following, prefetch_at);
            }
            let Some((from, way, datagram)) = sockets.take() else { break };
            count += 1;
            self.n4_io.received(now, from, way, datagram, |ip| self.n4.is_smf(ip));
            self.n4.datagram(now, from, datagram);
            self.take_outputs();
        }
        self.place_plans(thread, is_behind, now, exchange);
        self.datagrams_in_packet_threads += count as u64;
        // Before another thread has N4: the threads must know of all commands.
        self.worker.wake();
        self.n4_io.give_queued(sockets);
        count
    }

    /// Executes the outputs of N4, up to one that is for the control thread. Plans are kept for [`Control::place_plans`].
    fn take_outputs(&mut self) {
        while let Some(output) = self.n4.poll_output() {
            match output {
                output if !self.pending_outputs.is_empty() => self.pending_outputs.push_back(output),
                Output::Send { to, bytes } => self.n4_io.queue(to, bytes),
                Output::Apply { id, plan } => {
                    if let Some(plan) = self.without_routes(id, plan) {
                        self.unplaced.plans.push((id, plan));
                    }
                }
                output @ (Output::Applications(_) | Output::Notice(_)) => {
                    self.pending_outputs.push_back(output);
                }
            }
        }
    }

    /// Gives the plans of the turn to their threads, all together: what the placement needs of them is prefetched.
    fn place_plans(&mut self, thread: usize, is_behind: bool, now: Time, exchange: &mut N4Exchange<ApplyId>) {
        // The result of a plan that no thread can apply may cause further ones.
        while !self.unplaced.plans.is_empty() {
            let mut placed = mem::take(&mut self.unplaced);
            placed.assign(&mut self.worker);
            for (id, plan, worker) in placed.drain() {
                match worker {
                    Ok(worker) if worker == thread && !is_behind => exchange.plans.push_back((id, plan)),
                    Ok(worker) => drop(self.worker.apply_at(worker, id, plan)),
                    Err(error) => {
                        self.applied(now, id, Err(error));
                        self.take_outputs();
                    }
                }
            }
            self.unplaced.take_memory_of(placed);
        }
    }

    fn event_in(&mut self, now: Time, event: Event) {
        self.paths.event(&event);
        if matches!(event, Event::HeavyHitter { .. } | Event::ClassChange { .. }) {
            self.log.later(LateLine::Event(event.clone()));
        }
        self.n4.event(now, event);
    }
}
