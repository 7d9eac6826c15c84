//! Letting packets wait, within limits, until they may leave or have to go (TS 29.244 clause 5.2.4).

use causeway_dataplane::{Disposition, DropReason};
use causeway_rules::Pdr;
use causeway_types::{BarId, Qfi, Seid, Time};

use crate::WhenFull;
use crate::buffer::BufferedPacket;
use crate::carried_extensions::CarriedExtensions;
use crate::engine::Reference;
use crate::session::Session;

/// A limit that a packet does not fit into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BufferLimit {
    /// As many packets as the SMF suggested wait for this BAR.
    Bar(BarId),
    /// The session holds as much as it may.
    Session,
    /// All sessions together do.
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

impl Reference {
    /// Lets a packet wait, and tells the SMF if it is to hear of it: that it came, even if there is no room for it.
    pub(crate) fn buffer(
        &mut self,
        now: Time,
        seid: Seid,
        pdr: &Pdr,
        qfi: Option<Qfi>,
        extensions: &CarriedExtensions,
        packet: &[u8],
    ) -> Result<Disposition, DropReason> {
        let octets = packet.len() + extensions.octets();
        let room = self.evict_or_fail(now, seid, pdr, octets);
        if room.is_ok() {
            let number = self.buffered_total;
            self.buffered_total += 1;
            self.buffered_order.insert(number, seid);
            self.buffered_octets += octets;
            let session = self.sessions.get_mut(&seid).ok_or(DropReason::UnknownUe)?;
            let (extensions, packet) = (extensions.clone(), packet.to_vec());
            session.buffer.push(BufferedPacket {
                number,
                buffered_at: now,
                pdr: pdr.id,
                qfi,
                extensions,
                packet,
            });
            self.schedule_expiry(seid);
        }
        self.notify_buffered(now, seid, pdr, qfi, packet, room.is_ok());
        match room {
            Ok(()) => Ok(Disposition::Buffered),
            Err(reason) => {
                self.notify_discarded(seid, pdr, qfi, packet);
                Err(reason)
            }
        }
    }

    /// Makes room for a packet as the configuration says: not at all, or by dropping what has waited longest.
    fn evict_or_fail(&mut self, now: Time, seid: Seid, pdr: &Pdr, octets: usize) -> Result<(), DropReason> {
        while let Some(full) = self.full(seid, pdr, octets) {
            let victim = match self.limits.when_full {
                WhenFull::DropOldest if self.limits.can_ever_hold(octets) => self.oldest(seid, full),
                _ => None,
            };
            let Some((owner, buffered)) = victim else { return Err(full.reason()) };
            self.discard(now, owner, &buffered, full.reason());
        }
        Ok(())
    }

    /// The first limit that one more packet of so many octets would exceed.
    fn full(&self, seid: Seid, pdr: &Pdr, octets: usize) -> Option<BufferLimit> {
        let (session, limits) = (self.sessions.get(&seid)?, &self.limits);
        let far = session.far_of(pdr.id)?;
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

    /// Takes out the packet that has waited longest where there is no room; and whose it is.
    fn oldest(&mut self, seid: Seid, full: BufferLimit) -> Option<(Seid, BufferedPacket)> {
        let owner = match full {
            BufferLimit::Bar(_) | BufferLimit::Session => seid,
            BufferLimit::AllSessions => self.buffered_order.first_key_value().map(|(_, owner)| *owner)?,
        };
        let session = self.sessions.get_mut(&owner)?;
        let mut buffer = std::mem::take(&mut session.buffer);
        let buffered = buffer.take_oldest(|buffered| match full {
            BufferLimit::Bar(bar) => session.bar_of(buffered.pdr) == Some(bar),
            BufferLimit::Session | BufferLimit::AllSessions => true,
        });
        session.buffer = buffer;
        Some((owner, buffered?))
    }

    /// Throws away a packet that was taken out of its buffer.
    fn discard(&mut self, now: Time, seid: Seid, buffered: &BufferedPacket, reason: DropReason) {
        self.record_dequeue(buffered);
        self.counters.count_drop(reason);
        self.count_dropped(now, seid, buffered.pdr, buffered.packet.len());
        let session = self.sessions.get(&seid);
        let pdr = session.and_then(|session| session.rules.pdrs.get_shared(&buffered.pdr)).cloned();
        if let Some(pdr) = pdr {
            self.notify_discarded(seid, &pdr, buffered.qfi, &buffered.packet);
        }
    }

    /// Drops what waits for the whole session because the SMF asked for it (DROBU).
    pub(crate) fn drop_buffered(&mut self, now: Time, seid: Seid) {
        for buffered in self.dequeue(seid, |_, _| true) {
            self.record_dequeue(&buffered);
            self.counters.count_drop(DropReason::BufferDropRequested);
            self.count_dropped(now, seid, buffered.pdr, buffered.packet.len());
        }
    }

    /// Discards the packets of a session that are chosen, because they have waited long enough.
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

    /// Takes packets of a session out of its buffer, in order of arrival.
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

    /// Notes that a packet does not wait any longer.
    pub(crate) fn record_dequeue(&mut self, buffered: &BufferedPacket) {
        self.buffered_order.remove(&buffered.number);
        self.buffered_octets -= buffered.octets();
        self.counters.buffered -= 1;
    }
}
