//! Buffered packets that need not wait any longer.

use std::sync::Arc;

use causeway_dataplane::{Disposition, DropReason};
use causeway_rules::ApplyAction;
use causeway_types::{Seid, Time};

use crate::act::{Decision, Matched, act};
use crate::buffer::Waiting;
use crate::engine::Reference;
use crate::route::Refusal;

impl Reference {
    /// Lets go the packets that need not wait any longer, in order of arrival.
    pub(crate) fn release(&mut self, now: Time, seid: Seid) {
        let released = self.take_waiting(seid, |session, waiting| {
            session.far_of(waiting.pdr).is_none_or(|far| !matches!(far.action, ApplyAction::Buffer { .. }))
        });
        for waiting in &released {
            self.release_one(now, seid, waiting);
        }
        // What they began to measure may become due without a packet.
        if !released.is_empty() {
            self.schedule_usage(now, seid);
        }
    }

    fn release_one(&mut self, now: Time, seid: Seid, waiting: &Waiting) {
        let mut reports = Vec::new();
        let decision = self.sessions.get_mut(&seid).and_then(|session| {
            let pdr = Arc::clone(session.rules.pdrs.get_shared(&waiting.pdr)?);
            let (carried, packet) = (&waiting.carried, &waiting.packet);
            let matched = Matched { pdr: &pdr, qfi: waiting.qfi, carried, packet, has_waited: true };
            match session.far_of(pdr.id)?.action {
                ApplyAction::Drop => None,
                ApplyAction::Buffer { .. } => Some(Ok(Decision::Wait)),
                ApplyAction::Forward => {
                    Some(act(session, &mut self.shared, &matched, &self.topology, now, &mut reports))
                }
            }
        });
        self.report(seid, reports);
        let refused = match decision {
            // The quota that let it go is exhausted again.
            Some(Ok(Decision::Wait)) => return self.wait_again(seid, waiting),
            Some(Ok(Decision::Send(egress, pieces))) => {
                self.send_all(&egress, pieces);
                self.counters.forwarded += 1;
                None
            }
            Some(Ok(Decision::Answer(answer))) => {
                match self.send_answer(now, seid, waiting.pdr, waiting.qfi, answer) {
                    Ok(_) => {
                        self.counters.consumed += 1;
                        None
                    }
                    Err(reason) => Some(reason.into()),
                }
            }
            Some(Err(refusal)) => Some(refusal),
            None => Some(DropReason::BufferDiscarded.into()),
        };
        self.leaves_buffer(waiting);
        if let Some(refusal) = refused {
            self.refuse_waiting(now, seid, waiting, refusal);
            self.count_dropped(now, seid, waiting.pdr, waiting.packet.len());
        }
    }

    fn refuse_waiting(&mut self, now: Time, seid: Seid, waiting: &Waiting, refusal: Refusal) {
        let session = self.sessions.get(&seid);
        let pdr = session.and_then(|session| session.rules.pdrs.get_shared(&waiting.pdr)).cloned();
        let fate = pdr.map(|pdr| self.refuse(now, seid, &pdr, None, &waiting.packet, refusal));
        match fate {
            Some(Disposition::Consumed) => self.counters.consumed += 1,
            _ => self.counters.count_drop(refusal.reason),
        }
    }

    fn wait_again(&mut self, seid: Seid, waiting: &Waiting) {
        if let Some(session) = self.sessions.get_mut(&seid) {
            session.buffer.push(waiting.clone());
        }
    }
}
