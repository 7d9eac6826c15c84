//! Buffered packets that may be transmitted.

use std::sync::Arc;

use causeway_dataplane::{Disposition, DropReason};
use causeway_model::ApplyAction;
use causeway_types::{Seid, Time};

use crate::apply_far::{FarDecision, Matched, apply_far};
use crate::buffer::BufferedPacket;
use crate::engine::SlowPath;
use crate::route::DropWithError;

impl SlowPath {
    /// Releases the packets that may be transmitted, in order of arrival.
    pub(crate) fn drain_buffer(&mut self, now: Time, seid: Seid) {
        let released = self.dequeue(seid, |session, buffered| {
            session.far_of(buffered.pdr).is_none_or(|far| !matches!(far.action, ApplyAction::Buffer { .. }))
        });
        for buffered in &released {
            self.drain_packet(now, seid, buffered);
        }
        // The measurements that they start may become due without a packet.
        if !released.is_empty() {
            self.schedule_usage(now, seid);
        }
    }

    fn drain_packet(&mut self, now: Time, seid: Seid, buffered: &BufferedPacket) {
        let mut reports = Vec::new();
        let session = self.sessions.get(&seid);
        let pdr = session.and_then(|session| session.rules.pdrs.get_shared(&buffered.pdr)).map(Arc::clone);
        let decision = self.sessions.get_mut(&seid).zip(pdr.as_ref()).and_then(|(session, pdr)| {
            let (extensions, packet) = (&buffered.extensions, &buffered.packet);
            let matched = Matched { pdr, qfi: buffered.qfi, extensions, packet, was_buffered: true };
            match session.far_of(pdr.id)?.action {
                ApplyAction::Drop => None,
                ApplyAction::Buffer { .. } => Some(Ok(FarDecision::Buffer)),
                ApplyAction::Forward => {
                    Some(apply_far(session, &mut self.shared, &matched, &self.topology, now, &mut reports))
                }
            }
        });
        self.report(seid, reports);
        let refused = match decision {
            // The quota that released it is exhausted again.
            Some(Ok(FarDecision::Buffer)) => return self.rebuffer(seid, buffered),
            Some(Ok(FarDecision::Send(egress, pieces))) => {
                self.send_all(&egress, pieces);
                self.counters.forwarded += 1;
                if let Some(pdr) = &pdr {
                    self.observe_forwarded(now, seid, pdr, &buffered.packet);
                }
                None
            }
            Some(Ok(FarDecision::Respond(answer))) => {
                match self.send_answer(now, seid, buffered.pdr, buffered.qfi, answer) {
                    Ok(_) => {
                        self.counters.consumed += 1;
                        None
                    }
                    Err(reason) => Some(reason.into()),
                }
            }
            Some(Err(drop)) => Some(drop),
            None => Some(DropReason::BufferDiscarded.into()),
        };
        self.record_dequeue(buffered);
        if let Some(drop) = refused {
            self.drop_buffered_packet(now, seid, buffered, drop);
            self.count_dropped(now, seid, buffered.pdr, buffered.packet.len());
        }
    }

    fn drop_buffered_packet(
        &mut self,
        now: Time,
        seid: Seid,
        buffered: &BufferedPacket,
        drop: DropWithError,
    ) {
        let session = self.sessions.get(&seid);
        let pdr = session.and_then(|session| session.rules.pdrs.get_shared(&buffered.pdr)).cloned();
        let disposition = pdr.map(|pdr| self.drop_and_notify(now, seid, &pdr, None, &buffered.packet, drop));
        match disposition {
            Some(Disposition::Consumed) => self.counters.consumed += 1,
            _ => self.counters.count_drop(drop.reason),
        }
    }

    fn rebuffer(&mut self, seid: Seid, buffered: &BufferedPacket) {
        if let Some(session) = self.sessions.get_mut(&seid) {
            session.buffer.push(buffered.clone());
        }
    }
}
