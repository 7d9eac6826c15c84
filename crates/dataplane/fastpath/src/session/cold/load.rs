//! Loads sessions from cold storage.

use causeway_cold::ReadError;
use causeway_slowpath::lease::MeasuredState;
use causeway_types::{Seid, Span, Time};

use std::task::Poll;

use super::{ColdNotice, ColdStorage, NotLoaded, Unreadable};
use crate::FastPath;

/// How long a record that cannot be read is tried before it is given up, and the time between two attempts.
const GIVE_UP: Span = Span::from_secs(10);
const ATTEMPT: Span = Span::from_millis(100);

/// Sessions that one step loads because their timers are due, and reads that are under way when no further one begins for a timer: more wait
/// for a later step.
const LOADED_FOR_TIMERS: usize = 64;
/// How much later that is where a disk reads.
const LATER: Span = Span::from_millis(10);

/// The first octet of a record. Version 1 had no timers.
const VERSION: u8 = 2;

/// Octets before the state: version, SEID, time of establishment.
const HEADER: usize = 17;

/// The record of a session.
pub(super) fn record_of(seid: Seid, since: Time, state: &MeasuredState) -> Vec<u8> {
    let mut record = Vec::with_capacity(128);
    record.push(VERSION);
    record.extend_from_slice(&seid.0.to_le_bytes());
    record.extend_from_slice(&since.as_nanos().to_le_bytes());
    state.write(since, &mut record);
    record
}

/// The state in a record, if it is that of this session.
fn state_of(record: &[u8], seid: Seid, since: Time) -> Result<MeasuredState, ReadError> {
    if let Some(version) = record.first().filter(|version| **version != VERSION) {
        return Err(ReadError::UnknownVersion(*version));
    }
    let (header, octets) = record.split_at_checked(HEADER).ok_or(ReadError::Damaged)?;
    let expected = record_of(seid, since, &MeasuredState::default());
    if Some(header) != expected.get(..HEADER) {
        return Err(ReadError::Damaged);
    }
    MeasuredState::read(octets, since).map_err(|_| ReadError::Damaged)
}

impl ColdStorage {
    /// The state of a session with this slot. A record that is damaged, or that cannot be read for long, is lost: the
    /// state is that of a session without packets then.
    fn state(
        &mut self,
        now: Time,
        (seid, since): (Seid, Time),
        slot: u32,
    ) -> Result<MeasuredState, Unreadable> {
        if self.was_tried(now, seid) {
            return Err(Unreadable);
        }
        let read = self.store.read(slot);
        self.state_read(now, (seid, since), read)
    }

    /// The record could not be read a moment ago.
    fn was_tried(&self, now: Time, seid: Seid) -> bool {
        self.unreadable.get(&seid).is_some_and(|(_, tried)| now.since(*tried) < ATTEMPT)
    }

    /// The state in what was read.
    fn state_read(
        &mut self,
        now: Time,
        (seid, since): (Seid, Time),
        read: Result<Vec<u8>, ReadError>,
    ) -> Result<MeasuredState, Unreadable> {
        let read = read.and_then(|record| state_of(&record, seid, since));
        let error = match read {
            Ok(state) => {
                self.unreadable.remove(&seid);
                return Ok(state);
            }
            Err(error) => error,
        };
        self.read_errors += 1;
        if let ReadError::Failed(error) = &error {
            let is_new = !self.unreadable.contains_key(&seid);
            let (first, tried) = self.unreadable.entry(seid).or_insert((now, now));
            *tried = now;
            if now.since(*first) < GIVE_UP {
                if is_new {
                    (self.notice)(&ColdNotice::Unreadable { session: seid, error: error.clone() });
                }
                return Err(Unreadable);
            }
        }
        Ok(self.lose(seid, &error))
    }

    /// The record in this slot is not needed any more.
    fn loaded(&mut self, slot: u32) {
        self.store.forget(slot);
        self.loads += 1;
        if let Some(seid) = self.reading.remove(&slot) {
            self.waiting.wake(seid);
        }
    }

    /// Gives the state of a session up.
    fn lose(&mut self, seid: Seid, error: &ReadError) -> MeasuredState {
        self.unreadable.remove(&seid);
        self.lost += 1;
        (self.notice)(&ColdNotice::Lost { session: seid, error: error.to_string() });
        MeasuredState::default()
    }
}

impl FastPath {
    /// Loads sessions whose timers are due, which expire as those of other sessions then. It does not wait for a disk. Returns those that
    /// are in memory now: they have had no packet.
    #[cold]
    #[inline(never)]
    pub(crate) fn load_due(&mut self, now: Time) -> Vec<Seid> {
        let mut loaded = Vec::new();
        for _ in 0..LOADED_FOR_TIMERS {
            if self.cold.as_deref().is_some_and(|cold| cold.reading.len() >= LOADED_FOR_TIMERS) {
                // Packets and plans that wait for the disk are behind no more than these.
                self.slow_path.postpone_due_away(now + LATER);
                break;
            }
            let Some(seid) = self.slow_path.take_due_away(now) else { break };
            match self.activate_for_packet(seid, now) {
                Ok(()) => loaded.push(seid),
                Err(_) => self.slow_path.remind_of(seid, now + ATTEMPT),
            }
        }
        loaded
    }

    /// The state of a session that is to become active. `None`: it is not in cold storage.
    pub(crate) fn load(&mut self, now: Time, seid: Seid) -> Result<Option<MeasuredState>, Unreadable> {
        let Some(cold) = self.cold.as_deref_mut() else { return Ok(None) };
        let Some((slot, since)) = self.dormant.cold_slot(seid) else { return Ok(None) };
        let state = cold.state(now, (seid, since), slot)?;
        cold.loaded(slot);
        Ok(Some(state))
    }

    /// The same for a packet, which does not wait for a disk: [`NotLoaded::Reading`] until the record is read, and while packets before it wait.
    pub(super) fn begin_load(&mut self, now: Time, seid: Seid) -> Result<Option<MeasuredState>, NotLoaded> {
        let Some(cold) = self.cold.as_deref_mut() else { return Ok(None) };
        let Some((slot, since)) = self.dormant.cold_slot(seid) else { return Ok(None) };
        if cold.was_tried(now, seid) {
            return Err(NotLoaded::Unreadable);
        }
        let Poll::Ready(read) = cold.store.begin_read(slot) else {
            cold.reading.insert(slot, seid);
            return Err(NotLoaded::Reading(seid));
        };
        let state = cold.state_read(now, (seid, since), read).map_err(|Unreadable| NotLoaded::Unreadable)?;
        cold.loaded(slot);
        Ok(Some(state))
    }

    /// The state of a session whose record was being read. `None`: it is not in cold storage any more.
    pub(super) fn end_load(
        &mut self,
        now: Time,
        (slot, seid): (u32, Seid),
        read: Result<Vec<u8>, ReadError>,
    ) -> Result<Option<MeasuredState>, Unreadable> {
        let Some(cold) = self.cold.as_deref_mut() else { return Ok(None) };
        let Some((_, since)) = self.dormant.cold_slot(seid).filter(|(own, _)| *own == slot) else {
            return Ok(None);
        };
        let state = cold.state_read(now, (seid, since), read)?;
        cold.loaded(slot);
        Ok(Some(state))
    }

    /// Gives up what cannot be read of a session, so that it can become active.
    pub(crate) fn give_up(&mut self, seid: Seid) {
        let Some(cold) = self.cold.as_deref_mut() else { return };
        // The next attempt is the last one.
        if let Some((first, tried)) = cold.unreadable.get_mut(&seid) {
            (*first, *tried) = (Time::default(), Time::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  the record of a session; that of another one, of another time, cut off, longer, of another version.
    // Output: the state; then an error each, which names the version.
    #[test]
    fn a_record_is_that_of_its_session() {
        let (seid, since) = (Seid(7), Time::from_secs(1000));
        let record = record_of(seid, since, &MeasuredState::default());
        assert_eq!(state_of(&record, seid, since), Ok(MeasuredState::default()));
        let longer = [&record[..], &[0]].concat();
        let cases = [
            (&record[..], Seid(8), since),
            (&record[..], seid, Time::from_secs(1001)),
            (&record[..record.len() - 1], seid, since),
            (&record[..HEADER - 1], seid, since),
            (&[][..], seid, since),
            (&longer[..], seid, since),
        ];
        for (record, seid, since) in cases {
            assert_eq!(state_of(record, seid, since), Err(ReadError::Damaged), "{record:?}");
        }
        for version in [0, 1, 3, u8::MAX] {
            let other = [&[version], &record[1..]].concat();
            assert_eq!(state_of(&other, seid, since), Err(ReadError::UnknownVersion(version)));
        }
    }
}
