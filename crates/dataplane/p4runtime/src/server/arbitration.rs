//! Arbitration: the controller that may write.
//!
//! The rules are those of the specification, section "Client Arbitration and Controller Replication", for one device
//! and the default role.

use std::collections::BTreeMap;

use tonic::Code;

use crate::convert::Refusal;
use crate::wire::{MasterArbitrationUpdate, Status};

/// The most concurrent controllers.
pub(super) const MOST_CONTROLLERS: usize = 64;

/// A stream of a controller, by number.
pub(super) type Stream = u64;

/// Arbitration messages for streams.
pub(super) type Updates = Vec<(Stream, MasterArbitrationUpdate)>;

/// The controllers of a device.
#[derive(Debug)]
pub(super) struct Arbitration {
    device_id: u64,
    /// The election id of each, if it has one.
    controllers: BTreeMap<Stream, Option<u128>>,
    primary: Option<Stream>,
    /// The highest election id of any primary so far.
    highest: Option<u128>,
}

impl Arbitration {
    pub(super) const fn new(device_id: u64) -> Self {
        Self { device_id, controllers: BTreeMap::new(), primary: None, highest: None }
    }

    /// A controller connects with an election id, or changes its own.
    pub(super) fn update(&mut self, stream: Stream, election: Option<u128>) -> Result<Updates, Refusal> {
        let mut others = self.controllers.iter().filter(|(other, _)| **other != stream);
        if election.is_some() && others.any(|(_, used)| *used == election) {
            return Err(Refusal::invalid("another controller has that election id"));
        }
        if !self.controllers.contains_key(&stream) && self.controllers.len() >= MOST_CONTROLLERS {
            let what = format!("{MOST_CONTROLLERS} controllers are connected");
            return Err(Refusal::new(Code::ResourceExhausted, what));
        }
        self.controllers.insert(stream, election);
        if election.is_some() && election >= self.highest {
            self.highest = election;
            self.primary = Some(stream);
            return Ok(self.updates());
        }
        if self.primary == Some(stream) {
            self.primary = None;
            return Ok(self.updates());
        }
        Ok(vec![(stream, self.word_for(stream))])
    }

    /// A controller disconnects.
    pub(super) fn leave(&mut self, stream: Stream) -> Updates {
        self.controllers.remove(&stream);
        if self.primary != Some(stream) {
            return Vec::new();
        }
        self.primary = None;
        self.updates()
    }

    /// The primary's stream.
    pub(super) const fn primary(&self) -> Option<Stream> {
        self.primary
    }

    /// Whether a request with this election id is from the primary.
    pub(super) fn is_primary(&self, election: Option<u128>) -> bool {
        self.primary.is_some() && election.is_some() && election == self.highest
    }

    fn updates(&self) -> Updates {
        self.controllers.keys().map(|stream| (*stream, self.word_for(*stream))).collect()
    }

    fn word_for(&self, stream: Stream) -> MasterArbitrationUpdate {
        let (code, message) = match self.primary {
            Some(primary) if primary == stream => (Code::Ok, "you are primary"),
            Some(_) => (Code::AlreadyExists, "another controller is primary"),
            None => (Code::NotFound, "no controller is primary"),
        };
        MasterArbitrationUpdate {
            device_id: self.device_id,
            role: None,
            election_id: self.highest.map(Into::into),
            status: Some(Status { code: code as i32, message: message.to_owned(), details: Vec::new() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message to each stream: its status and the election id.
    fn statuses(updates: Updates) -> Vec<(Stream, i32, Option<u128>)> {
        let each = |(stream, update): (Stream, MasterArbitrationUpdate)| {
            (stream, update.status.unwrap().code, update.election_id.map(Into::into))
        };
        updates.into_iter().map(each).collect()
    }

    const OK: i32 = Code::Ok as i32;
    const BACKUP: i32 = Code::AlreadyExists as i32;
    const NOBODY: i32 = Code::NotFound as i32;

    // Input:  controllers with ids 5, 3 and 9; the third disconnects, and the first changes to 9, then to none.
    // Output: the highest so far is primary; all are notified of a change, a new backup only of itself; 5 is too low
    //         after 9.
    #[test]
    fn the_highest_id_is_primary() {
        let mut arbitration = Arbitration::new(1);
        assert_eq!(statuses(arbitration.update(10, Some(5)).unwrap()), [(10, OK, Some(5))]);
        assert_eq!(statuses(arbitration.update(11, Some(3)).unwrap()), [(11, BACKUP, Some(5))]);
        assert!(arbitration.is_primary(Some(5)) && !arbitration.is_primary(Some(3)));
        let all = [(10, BACKUP, Some(9)), (11, BACKUP, Some(9)), (12, OK, Some(9))];
        assert_eq!(statuses(arbitration.update(12, Some(9)).unwrap()), all);
        assert_eq!(statuses(arbitration.leave(12)), [(10, NOBODY, Some(9)), (11, NOBODY, Some(9))]);
        assert!(!arbitration.is_primary(Some(9)), "nobody is");
        assert_eq!(statuses(arbitration.update(10, Some(5)).unwrap()), [(10, NOBODY, Some(9))]);
        let all = [(10, OK, Some(9)), (11, BACKUP, Some(9))];
        assert_eq!(statuses(arbitration.update(10, Some(9)).unwrap()), all);
        let all = [(10, NOBODY, Some(9)), (11, NOBODY, Some(9))];
        assert_eq!(statuses(arbitration.update(10, None).unwrap()), all);
        assert_eq!(statuses(arbitration.leave(11)), []);
    }

    // Input:  an id that another controller has, controllers without an id, and one more than the limit.
    // Output: an invalid argument; they are backups, and never primary; the limit is exceeded.
    #[test]
    fn what_may_not_be_is_refused() {
        let mut arbitration = Arbitration::new(1);
        assert_eq!(statuses(arbitration.update(1, None).unwrap()), [(1, NOBODY, None)]);
        assert_eq!(statuses(arbitration.update(2, None).unwrap()), [(2, NOBODY, None)]);
        assert!(!arbitration.is_primary(None));
        assert!(arbitration.update(3, Some(0)).is_ok(), "zero is an id");
        assert_eq!(arbitration.update(4, Some(0)).unwrap_err().code, Code::InvalidArgument);
        for stream in 4..=MOST_CONTROLLERS as u64 {
            assert!(arbitration.update(stream, None).is_ok());
        }
        assert_eq!(arbitration.update(100, None).unwrap_err().code, Code::ResourceExhausted);
    }
}
