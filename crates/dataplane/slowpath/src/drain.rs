//! Buffered packets that may be transmitted.

use causeway_dataplane::{Disposition, DropReason};
use causeway_model::ApplyAction;
use causeway_types::{Seid, Time};

use crate::apply_far::{Decided, FarDecision, Matched, apply_far};
use crate::buffer::BufferedPacket;
use crate::engine::SlowPath;
use crate::route::DropWithError;

impl SlowPath {
    /// Releases the packets that may be transmitted, in order of arrival. Each follows the FAR that applies to it now.
    pub(crate) fn drain_buffer(&mut self, now: Time, seid: Seid) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let mut releases = false;
        for buffered in session.buffer.take_all() {
            releases |= self.drain_packet(now, seid, buffered);
        }
        // The measurements that they start may become due without a packet.
        if releases {
            self.schedule_usage(now, seid);
        }
    }

    /// `false`: the packet remains in the buffer.
    fn drain_packet(&mut self, now: Time, seid: Seid, mut buffered: BufferedPacket) -> bool {
        let mut reports = Vec::new();
        let Some(session) = self.sessions.get_mut(&seid) else { return false };
        let pdr = session.rules.pdrs.get_shared(&buffered.pdr).cloned();
        let decided = pdr.as_ref().and_then(|pdr| {
            let (extensions, packet) = (&buffered.extensions, buffered.packet.packet());
            let (qfi, from_tunnel) = (buffered.qfi, buffered.from_tunnel);
            let matched = Matched { pdr, qfi, extensions, packet, from_tunnel, was_buffered: true };
            let far = session.far_by(pdr, session.blocked(pdr, packet))?;
            match far.action {
                ApplyAction::Drop => None,
                ApplyAction::Buffer { .. } => {
                    Some(Decided { decision: Ok(FarDecision::Buffer), far: Some(far) })
                }
                // Its owner did not return the octets.
                ApplyAction::Forward if !buffered.packet.is_here() => {
                    Some(Decided { decision: Err(DropReason::ExternalMemory.into()), far: Some(far) })
                }
                ApplyAction::Forward => {
                    Some(apply_far(session, &mut self.shared, &matched, &self.topology, now, &mut reports))
                }
            }
        });
        let decision = decided.map(|Decided { decision, far }| {
            buffered.far = far.map_or(buffered.far, |far| far.id);
            decision
        });
        if let Some(Ok(FarDecision::Buffer)) = decision {
            session.buffer.push(buffered);
            self.report(seid, reports);
            return false;
        }
        self.report(seid, reports);
        let buffered = &buffered;
        let refused = match decision {
            Some(Ok(FarDecision::Buffer)) => None,
            Some(Ok(FarDecision::Send(egress, pieces))) => {
                self.send_all(&egress, pieces);
                self.counters.forwarded += 1;
                if let Some(pdr) = &pdr {
                    self.observe_forwarded(now, seid, pdr, buffered.packet.packet());
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
            Some(Err(drop)) if drop.reason != DropReason::FarDrop => Some(drop),
            Some(Err(_)) | None => Some(DropReason::BufferDiscarded.into()),
        };
        self.record_dequeue(buffered);
        if let Some(drop) = refused {
            self.drop_buffered_packet(now, seid, buffered, drop);
            self.count_dropped(now, seid, buffered.pdr, buffered.packet.len());
        }
        true
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
        let disposition =
            pdr.map(|pdr| self.drop_and_notify(now, seid, &pdr, None, buffered.packet.packet(), drop));
        match disposition {
            Some(Disposition::Consumed) => self.counters.consumed += 1,
            _ => {
                self.counters.count_drop(drop.reason);
                self.record_buffer_drop(now, seid, drop.reason);
            }
        }
    }
}
