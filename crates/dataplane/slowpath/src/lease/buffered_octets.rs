//! Buffered packets whose octets a data plane keeps elsewhere: the slow path decides what becomes of each packet, in which order, and
//! counts it.

use causeway_dataplane::{DropReason, Plan};
use causeway_model::ApplyAction;
use causeway_types::{Seid, Time};

use crate::buffer::Octets;
use crate::engine::SlowPath;

impl SlowPath {
    /// Takes the octets of the first `count` buffered packets of a session that are here and have at most `longest` octets. Returns them
    /// with the number of each packet, which no other packet of this slow path has, in order.
    pub fn take_buffered_octets(&mut self, seid: Seid, longest: usize, count: usize) -> Vec<(u64, Vec<u8>)> {
        let Some(session) = self.sessions.get_mut(&seid) else { return Vec::new() };
        let fit = session.buffer.iter_mut().filter(|it| it.packet.is_here() && it.packet.len() <= longest);
        fit.take(count).filter_map(|it| Some((it.number, it.packet.take()?))).collect()
    }

    /// Whether [`Self::take_buffered_octets`] would return some.
    pub fn has_buffered_octets(&self, seid: Seid, longest: usize) -> bool {
        let buffer = self.sessions.get(&seid).map(|session| &session.buffer);
        buffer.is_some_and(|buffer| buffer.iter().any(|it| it.packet.is_here() && it.packet.len() <= longest))
    }

    /// Returns the octets of a buffered packet. No effect if it is no longer buffered, or its octets are here.
    pub fn return_buffered_octets(&mut self, number: u64, octets: Vec<u8>) {
        let owner = self.buffered_order.get(&number);
        let session = owner.and_then(|seid| self.sessions.get_mut(seid));
        let buffered = session.and_then(|session| session.buffer.iter_mut().find(|it| it.number == number));
        if let Some(buffered) = buffered.filter(|it| !it.packet.is_here() && it.packet.len() == octets.len())
        {
            buffered.packet = Octets::Here(octets);
        }
    }

    /// The octets of a buffered packet are lost: it is dropped as [`DropReason::ExternalMemory`]. No effect if it is no longer buffered.
    pub fn lose_buffered(&mut self, now: Time, number: u64) {
        let Some(seid) = self.buffered_order.get(&number).copied() else { return };
        for buffered in self.dequeue(seid, |_, buffered| buffered.number == number) {
            self.discard(now, seid, &buffered, DropReason::ExternalMemory);
        }
    }

    /// The numbers of packets that are no longer buffered, and whose octets were not returned, since the last call.
    pub fn take_discarded(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.discarded_elsewhere)
    }

    /// A plan may forward buffered packets whose octets are elsewhere: the caller returns them before it applies the plan.
    pub fn plan_needs_octets(&self, now: Time, plan: &Plan) -> bool {
        let Some(session) = self.sessions.get(&plan.session) else { return false };
        let mut elsewhere = session.buffer.iter().filter(|it| !it.packet.is_here()).peekable();
        if elsewhere.peek().is_none() {
            return false;
        }
        // A plan that is refused releases nothing.
        let Ok(preview) = self.preview_plan(now, plan) else { return false };
        let forwards =
            |far| preview.rules.fars.get(far).is_some_and(|far| far.action == ApplyAction::Forward);
        elsewhere.any(|it| {
            let pdr = preview.rules.pdrs.get(&it.pdr);
            pdr.is_some_and(|pdr| forwards(&pdr.far) || !preview.exhausted.is_empty())
        })
    }
}
