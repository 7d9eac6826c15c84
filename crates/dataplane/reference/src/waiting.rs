//! Letting packets wait, within limits, until they may leave or have to go (TS 29.244 clause 5.2.4).

use causeway_dataplane::{Disposition, DropReason};
use causeway_rules::Pdr;
use causeway_types::{BarId, Qfi, Seid, Time};

use crate::WhenFull;
use crate::buffer::Waiting;
use crate::carried::Carried;
use crate::engine::Reference;
use crate::session::Session;

/// A limit that a packet does not fit into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Full {
    /// As many packets as the SMF suggested wait for this BAR.
    Bar(BarId),
    /// The session holds as much as it may.
    Session,
    /// All sessions together do.
    Everything,
}

impl Full {
    fn reason(self) -> DropReason {
        match self {
            Self::Bar(_) | Self::Session => DropReason::BufferFull,
            Self::Everything => DropReason::BufferMemoryFull,
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
        carried: &Carried,
        packet: &[u8],
    ) -> Result<Disposition, DropReason> {
        let octets = packet.len() + carried.octets();
        let room = self.make_room(now, seid, pdr, octets);
        if room.is_ok() {
            let number = self.waited;
            self.waited += 1;
            self.arrivals.insert(number, seid);
            self.buffered_octets += octets;
            let session = self.sessions.get_mut(&seid).ok_or(DropReason::UnknownUe)?;
            let (carried, packet) = (carried.clone(), packet.to_vec());
            session.buffer.push(Waiting { number, since: now, pdr: pdr.id, qfi, carried, packet });
            self.arm_expiry(seid);
        }
        self.tell_of_buffered(now, seid, pdr, qfi, packet, room.is_ok());
        match room {
            Ok(()) => Ok(Disposition::Buffered),
            Err(reason) => {
                self.tell_of_discarded(seid, pdr, qfi, packet);
                Err(reason)
            }
        }
    }

    /// Makes room for a packet as the configuration says: not at all, or by dropping what has waited longest.
    fn make_room(&mut self, now: Time, seid: Seid, pdr: &Pdr, octets: usize) -> Result<(), DropReason> {
        while let Some(full) = self.full(seid, pdr, octets) {
            let victim = match self.limits.when_full {
                WhenFull::DropOldest if self.limits.can_ever_hold(octets) => self.oldest(seid, full),
                _ => None,
            };
            let Some((owner, waiting)) = victim else { return Err(full.reason()) };
            self.discard(now, owner, &waiting, full.reason());
        }
        Ok(())
    }

    /// The first limit that one more packet of so many octets would exceed.
    fn full(&self, seid: Seid, pdr: &Pdr, octets: usize) -> Option<Full> {
        let (session, limits) = (self.sessions.get(&seid)?, &self.limits);
        let far = session.far_of(pdr.id)?;
        if let Some(bar) = far.bar
            && session.suggested_packets(bar).is_some_and(|most| session.waiting_for(bar) >= most)
        {
            return Some(Full::Bar(bar));
        }
        let buffer = &session.buffer;
        if buffer.len() >= limits.buffer_packets_per_session
            || buffer.octets() + octets > limits.buffer_octets_per_session
        {
            return Some(Full::Session);
        }
        let is_full = self.arrivals.len() >= limits.buffer_packets
            || self.buffered_octets + octets > limits.buffer_octets;
        is_full.then_some(Full::Everything)
    }

    /// Takes out the packet that has waited longest where there is no room; and whose it is.
    fn oldest(&mut self, seid: Seid, full: Full) -> Option<(Seid, Waiting)> {
        let owner = match full {
            Full::Bar(_) | Full::Session => seid,
            Full::Everything => self.arrivals.first_key_value().map(|(_, owner)| *owner)?,
        };
        let session = self.sessions.get_mut(&owner)?;
        let mut buffer = std::mem::take(&mut session.buffer);
        let waiting = buffer.take_oldest(|waiting| match full {
            Full::Bar(bar) => session.bar_of(waiting.pdr) == Some(bar),
            Full::Session | Full::Everything => true,
        });
        session.buffer = buffer;
        Some((owner, waiting?))
    }

    /// Throws away a packet that was taken out of its buffer.
    fn discard(&mut self, now: Time, seid: Seid, waiting: &Waiting, reason: DropReason) {
        self.leaves_buffer(waiting);
        self.counters.count_drop(reason);
        self.count_dropped(now, seid, waiting.pdr, waiting.packet.len());
        let session = self.sessions.get(&seid);
        let pdr = session.and_then(|session| session.rules.pdrs.get_shared(&waiting.pdr)).cloned();
        if let Some(pdr) = pdr {
            self.tell_of_discarded(seid, &pdr, waiting.qfi, &waiting.packet);
        }
    }

    /// Drops what waits for the whole session because the SMF asked for it (DROBU).
    pub(crate) fn drop_buffered(&mut self, now: Time, seid: Seid) {
        for waiting in self.take_waiting(seid, |_, _| true) {
            self.leaves_buffer(&waiting);
            self.counters.count_drop(DropReason::BufferDropRequested);
            self.count_dropped(now, seid, waiting.pdr, waiting.packet.len());
        }
    }

    /// Discards the packets of a session that are chosen, because they have waited long enough.
    pub(crate) fn discard_expired(
        &mut self,
        now: Time,
        seid: Seid,
        is_chosen: impl Fn(&Session, &Waiting) -> bool,
    ) {
        for waiting in self.take_waiting(seid, is_chosen) {
            self.discard(now, seid, &waiting, DropReason::BufferExpired);
        }
    }

    /// Takes packets of a session out of its buffer, in order of arrival.
    pub(crate) fn take_waiting(
        &mut self,
        seid: Seid,
        is_chosen: impl Fn(&Session, &Waiting) -> bool,
    ) -> Vec<Waiting> {
        let Some(session) = self.sessions.get_mut(&seid) else { return Vec::new() };
        let mut buffer = std::mem::take(&mut session.buffer);
        let taken = buffer.take(|waiting| is_chosen(session, waiting));
        session.buffer = buffer;
        taken
    }

    /// Notes that a packet does not wait any longer.
    pub(crate) fn leaves_buffer(&mut self, waiting: &Waiting) {
        self.arrivals.remove(&waiting.number);
        self.buffered_octets -= waiting.octets();
        self.counters.buffered -= 1;
    }
}
