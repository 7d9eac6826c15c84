//! Loads sessions from cold storage.

use causeway_cold::ReadError;
use causeway_slowpath::lease::MeasuredState;
use causeway_types::{Seid, Span, Time};

use super::{ColdNotice, ColdStorage, Unreadable};
use crate::FastPath;

/// How long a record that cannot be read is tried before it is given up, and the time between two attempts.
const GIVE_UP: Span = Span::from_secs(10);
const ATTEMPT: Span = Span::from_millis(100);

/// The first octet of a record.
const VERSION: u8 = 1;

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
        if self.unreadable.get(&seid).is_some_and(|(_, tried)| now.since(*tried) < ATTEMPT) {
            return Err(Unreadable);
        }
        let read = self.store.read(slot).and_then(|record| state_of(&record, seid, since));
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

    /// Gives the state of a session up.
    fn lose(&mut self, seid: Seid, error: &ReadError) -> MeasuredState {
        self.unreadable.remove(&seid);
        self.lost += 1;
        (self.notice)(&ColdNotice::Lost { session: seid, error: error.to_string() });
        MeasuredState::default()
    }
}

impl FastPath {
    /// The state of a session that is to become active. `None`: it is not in cold storage.
    pub(crate) fn load(&mut self, now: Time, seid: Seid) -> Result<Option<MeasuredState>, Unreadable> {
        let Some(cold) = self.cold.as_deref_mut() else { return Ok(None) };
        let Some((slot, since)) = self.dormant.cold_slot(seid) else { return Ok(None) };
        let state = cold.state(now, (seid, since), slot)?;
        cold.store.forget(slot);
        cold.loads += 1;
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
    // Output: the state; then an error each.
    #[test]
    fn a_record_is_that_of_its_session() {
        let (seid, since) = (Seid(7), Time::from_secs(1000));
        let record = record_of(seid, since, &MeasuredState::default());
        assert_eq!(state_of(&record, seid, since), Ok(MeasuredState::default()));
        let longer = [&record[..], &[0]].concat();
        let mut other = record.clone();
        other[0] = VERSION + 1;
        let cases = [
            (&record[..], Seid(8), since),
            (&record[..], seid, Time::from_secs(1001)),
            (&record[..record.len() - 1], seid, since),
            (&record[..HEADER - 1], seid, since),
            (&[][..], seid, since),
            (&longer[..], seid, since),
            (&other[..], seid, since),
        ];
        for (record, seid, since) in cases {
            assert_eq!(state_of(record, seid, since), Err(ReadError::Damaged), "{record:?}");
        }
    }
}
