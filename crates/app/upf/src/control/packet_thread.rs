//! N4 in the first packet thread (`upf.pfcp.accelerate`): the thread receives the datagrams, applies the plans to its own data plane
//! and sends the responses, all in one turn.
//!
//! It has the control plane only while the control thread has no work, and never waits for it. What would make it wait, such as a log
//! line, or what is for another thread, it leaves to the control thread.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::Poll;

use causeway_dataplane::{Event, Plan};
use causeway_fastpath::index::prefetch_at;
use causeway_n4::{ApplyId, Output};
use causeway_ports::PortError;

use super::{BURST, Control, SharedControl, Unlogged, messages};
use crate::worker::{FIRST_WORKER, N4Turn, N4Work};

/// N4 as the first packet thread has it.
pub(crate) struct N4InPacketThread {
    shared: Arc<SharedControl>,
    sockets: Vec<OwnedFd>,
    /// It has to wait until the control thread has had its turn.
    is_left: bool,
}

impl N4InPacketThread {
    /// With these sockets to wait for.
    pub(crate) const fn new(shared: Arc<SharedControl>, sockets: Vec<OwnedFd>) -> Self {
        Self { shared, sockets, is_left: false }
    }
}

impl N4Work<ApplyId> for N4InPacketThread {
    fn sockets(&self) -> &[OwnedFd] {
        if self.is_left { &[] } else { &self.sockets }
    }

    fn turn(&mut self, thread: &mut dyn N4Turn<ApplyId>) -> Result<bool, PortError> {
        if self.is_left && self.shared.is_missed() {
            return Ok(false);
        }
        self.is_left = true;
        let Some(mut place) = self.shared.try_take() else { return Ok(false) };
        let Some(control) = place.as_deref_mut() else {
            // The control thread begins with a turn.
            self.shared.mark_missed();
            return Ok(false);
        };
        // The control thread queued them while it had N4. The thread executes them before its next turn.
        if thread.has_commands() {
            self.is_left = false;
            return Ok(false);
        }
        if control.is_for_control_thread() {
            self.shared.mark_missed();
            control.called.notify_one();
            return Ok(false);
        }
        let result = control.turn_in(thread);
        if control.has_left_something() {
            control.called.notify_one();
        }
        self.is_left = false;
        result
    }
}

impl Control {
    /// The next thing is for the control thread: what was left to it, a report that is on its way, a message that somebody is told of.
    fn is_for_control_thread(&self) -> bool {
        !self.left.is_empty() || self.worker.has_events() || self.is_observed()
    }

    /// The control thread has to have a turn soon.
    fn has_left_something(&self) -> bool {
        let is_late = || match (self.n4.next_timer(), self.armed) {
            (Some(due), Some(armed)) => due < armed,
            (due, armed) => due.is_some() && armed.is_none(),
        };
        !self.left.is_empty() || !self.unlogged.is_empty() || is_late()
    }

    /// Handles the datagrams that have arrived, up to the limit of a turn.
    fn turn_in(&mut self, thread: &mut dyn N4Turn<ApplyId>) -> Result<bool, PortError> {
        self.sockets.arrived();
        let mut count = 0;
        while count < BURST {
            if let Some(following) = self.sockets.peek_next() {
                self.n4.prefetch(following, prefetch_at);
            }
            let Some((from, datagram)) = self.sockets.receive() else { break };
            count += 1;
            let now = thread.now();
            messages(datagram).for_each(|header| self.times.received(now, from, &header));
            self.n4.datagram(now, from, datagram);
            self.apply_outputs_in(thread);
        }
        self.by_packet_thread += count as u64;
        if let Some(error) = self.sockets.take_error() {
            self.log_later(Unlogged::NotReceived(error));
        }
        self.worker.wake();
        // Packets that plans released leave before the responses.
        thread.flush()?;
        self.send();
        Ok(count > 0)
    }

    /// Executes the outputs of N4, up to one that is for the control thread.
    fn apply_outputs_in(&mut self, thread: &mut dyn N4Turn<ApplyId>) {
        while let Some(output) = self.n4.poll_output() {
            match output {
                output if !self.left.is_empty() => self.left.push_back(output),
                Output::Send { to, bytes } => self.queue(to, bytes),
                Output::Apply { id, plan } => {
                    if let Some(plan) = self.without_routes(id, plan) {
                        self.apply_in(thread, id, plan);
                    }
                }
                output @ (Output::Applications(_) | Output::Notice(_)) => self.left.push_back(output),
            }
        }
    }

    /// Applies a plan here, or has another thread apply it.
    fn apply_in(&mut self, thread: &mut dyn N4Turn<ApplyId>, id: ApplyId, plan: Plan) {
        match self.worker.assign(id, &plan) {
            Ok(FIRST_WORKER) => {
                // N4 knows of events before the result of a later plan.
                while let Some(event) = thread.next_event() {
                    self.event_in(thread, event);
                }
                if let Poll::Ready(result) = thread.submit(id, &plan) {
                    self.worker.completed(id, result.is_ok());
                    self.applied(thread.now(), id, result);
                }
            }
            Ok(worker) => drop(self.worker.apply_at(worker, id, plan)),
            Err(error) => self.applied(thread.now(), id, Err(error)),
        }
    }

    fn event_in(&mut self, thread: &dyn N4Turn<ApplyId>, event: Event) {
        self.paths.event(&event);
        if matches!(event, Event::HeavyHitter { .. }) {
            self.log_later(Unlogged::Event(event.clone()));
        }
        self.n4.event(thread.now(), event);
    }
}
