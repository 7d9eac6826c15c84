//! Buffering of packets, within limits, until they are transmitted or discarded (TS 29.244 clause 5.2.4).

use causeway_dataplane::{Disposition, DropReason};
use causeway_model::Far;
use causeway_types::{BarId, Seid, Time};

use crate::WhenFull;
use crate::apply_far::Matched;
use crate::buffer::{BufferedPacket, Octets, dscp_of};
use crate::engine::SlowPath;
use crate::session::Session;

/// The limit that a packet exceeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BufferLimit {
    /// The number of packets that the SMF suggested for this BAR.
    Bar(BarId),
    /// The limit of the session.
    Session,
    /// The limit of all sessions together.
    AllSessions,
}

impl BufferLimit {
    fn reason(self) -> DropReason {
        match self {
            Self::Bar(_) | Self::Session => DropReason::BufferFull,
            Self::AllSessions => DropReason::BufferMemoryFull,
        }
    }
}

impl SlowPath {
    /// Buffers a packet, and notifies the SMF if it requested that, even if the buffer is full.
    pub(crate) fn buffer(
        &mut self,
        now: Time,
        seid: Seid,
        matched: &Matched<'_>,
        far: &Far,
    ) -> Result<Disposition, DropReason> {
        let Matched { pdr, qfi, extensions, packet, from_tunnel, .. } = *matched;
        let octets = packet.len() + extensions.octets();
        let buffered = self.evict_or_fail(now, seid, far, octets);
        if buffered.is_ok() {
            let number = self.buffered_total;
            self.buffered_total += 1;
            self.buffered_order.insert(number, seid);
            self.buffered_octets += octets;
            let session = self.sessions.get_mut(&seid).ok_or(DropReason::UnknownUe)?;
            let (extensions, packet) = (extensions.clone(), Octets::Here(packet.to_vec()));
            session.buffer.push(BufferedPacket {
                number,
                buffered_at: now,
                pdr: pdr.id,
                far: far.id,
                from_tunnel,
                qfi,
                extensions,
                packet,
            });
            self.schedule_expiry(seid);
        }
        self.notify_buffered(now, seid, matched, far, buffered.is_ok());
        match buffered {
            Ok(()) => Ok(Disposition::Buffered),
            Err(reason) => {
                self.notify_discarded(seid, pdr, far, qfi, || dscp_of(packet));
                Err(reason)
            }
        }
    }

    /// Frees space for a packet as the configuration demands: not at all, or by dropping the oldest packet.
    fn evict_or_fail(&mut self, now: Time, seid: Seid, far: &Far, octets: usize) -> Result<(), DropReason> {
        while let Some(full) = self.full(seid, far, octets) {
            let victim = match self.limits.when_full {
                WhenFull::DropOldest if self.limits.can_ever_hold(octets) => self.oldest(seid, full),
                _ => None,
            };
            let Some((owner, buffered)) = victim else { return Err(full.reason()) };
            self.discard(now, owner, &buffered, full.reason());
        }
        Ok(())
    }

    /// The first limit that one more packet of `octets` octets would exceed.
    fn full(&self, seid: Seid, far: &Far, octets: usize) -> Option<BufferLimit> {
        let (session, limits) = (self.sessions.get(&seid)?, &self.limits);
        if let Some(bar) = far.bar
            && session.suggested_packets(bar).is_some_and(|most| session.buffered_for(bar) >= most)
        {
            return Some(BufferLimit::Bar(bar));
        }
        let buffer = &session.buffer;
        if buffer.len() >= limits.buffer_packets_per_session
            || buffer.octets() + octets > limits.buffer_octets_per_session
        {
            return Some(BufferLimit::Session);
        }
        let is_full = self.buffered_order.len() >= limits.buffer_packets
            || self.buffered_octets + octets > limits.buffer_octets;
        is_full.then_some(BufferLimit::AllSessions)
    }

    /// Removes the oldest packet of the full buffer. Returns it with its session.
    fn oldest(&mut self, seid: Seid, full: BufferLimit) -> Option<(Seid, BufferedPacket)> {
        let owner = match full {
            BufferLimit::Bar(_) | BufferLimit::Session => seid,
            BufferLimit::AllSessions => self.buffered_order.first_key_value().map(|(_, owner)| *owner)?,
        };
        let session = self.sessions.get_mut(&owner)?;
        let mut buffer = std::mem::take(&mut session.buffer);
        let buffered = buffer.take_oldest(|buffered| match full {
            BufferLimit::Bar(bar) => session.bar_of(buffered) == Some(bar),
            BufferLimit::Session | BufferLimit::AllSessions => true,
        });
        session.buffer = buffer;
        Some((owner, buffered?))
    }

    /// Discards a packet that was removed from its buffer.
    pub(crate) fn discard(&mut self, now: Time, seid: Seid, buffered: &BufferedPacket, reason: DropReason) {
        self.record_dequeue(buffered);
        self.counters.count_drop(reason);
        self.record_buffer_drop(now, seid, reason);
        let session = self.sessions.get(&seid);
        let rules = session.map(|session| &session.rules);
        let pdr = rules.and_then(|rules| rules.pdrs.get_shared(&buffered.pdr)).cloned();
        let far = rules.and_then(|rules| rules.fars.get_shared(&buffered.far)).cloned();
        if let (Some(pdr), Some(far)) = (pdr, far) {
            self.notify_discarded(seid, &pdr, &far, buffered.qfi, || buffered.packet.dscp());
        }
        self.count_dropped(now, seid, buffered.pdr, buffered.packet.len());
    }

    /// Drops the buffered packets of the session because the SMF requested it (DROBU).
    pub(crate) fn drop_buffered(&mut self, now: Time, seid: Seid) {
        for buffered in self.dequeue(seid, |_, _| true) {
            self.record_dequeue(&buffered);
            self.counters.count_drop(DropReason::BufferDropRequested);
            self.record_buffer_drop(now, seid, DropReason::BufferDropRequested);
            self.count_dropped(now, seid, buffered.pdr, buffered.packet.len());
        }
    }

    /// Discards the chosen packets of a session, because their buffering time has ended.
    pub(crate) fn discard_expired(
        &mut self,
        now: Time,
        seid: Seid,
        is_chosen: impl Fn(&Session, &BufferedPacket) -> bool,
    ) {
        for buffered in self.dequeue(seid, is_chosen) {
            self.discard(now, seid, &buffered, DropReason::BufferExpired);
        }
    }

    /// Removes packets of a session from its buffer, in order of arrival.
    pub(crate) fn dequeue(
        &mut self,
        seid: Seid,
        is_chosen: impl Fn(&Session, &BufferedPacket) -> bool,
    ) -> Vec<BufferedPacket> {
        let Some(session) = self.sessions.get_mut(&seid) else { return Vec::new() };
        let mut buffer = std::mem::take(&mut session.buffer);
        let taken = buffer.take(|buffered| is_chosen(session, buffered));
        session.buffer = buffer;
        taken
    }

    /// Records that a packet is no longer buffered.
    pub(crate) fn record_dequeue(&mut self, buffered: &BufferedPacket) {
        self.buffered_order.remove(&buffered.number);
        self.buffered_octets -= buffered.octets();
        self.counters.buffered -= 1;
        if !buffered.packet.is_here() {
            self.discarded_elsewhere.push(buffered.number);
        }
    }
}
