//! The limit of Session Report Requests in flight to one SMF.

use std::collections::BTreeMap;

use causeway_types::Seid;

use crate::association::AssociationId;

/// The requests in flight to each SMF that has received some.
#[derive(Debug)]
pub(super) struct Windows {
    limit: usize,
    all: BTreeMap<AssociationId, Window>,
    last_place: u64,
}

/// The place of a session among those that wait for the window of an SMF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    association: AssociationId,
    number: u64,
}

#[derive(Debug, Default)]
struct Window {
    in_flight: usize,
    /// The sessions that send reports when fewer are in flight, by the number of their place.
    waiting: BTreeMap<u64, Seid>,
}

impl Windows {
    /// So many requests may be in flight to one SMF.
    pub(super) const fn new(limit: usize) -> Self {
        Self { limit, all: BTreeMap::new(), last_place: 0 }
    }

    /// One more request may be sent.
    pub(super) fn is_open(&self, association: AssociationId) -> bool {
        self.all.get(&association).map_or(0, |window| window.in_flight) < self.limit
    }

    /// A request is sent.
    pub(super) fn sent(&mut self, association: AssociationId) {
        self.all.entry(association).or_default().in_flight += 1;
    }

    /// So many requests are no longer in flight.
    pub(super) fn done(&mut self, association: AssociationId, count: usize) {
        if let Some(window) = self.all.get_mut(&association) {
            window.in_flight = window.in_flight.saturating_sub(count);
        }
    }

    /// No request is in flight any more.
    pub(super) fn reset(&mut self, association: AssociationId) {
        if let Some(window) = self.all.get_mut(&association) {
            window.in_flight = 0;
        }
    }

    /// A session waits until fewer are in flight, behind the others. Returns its place.
    pub(super) fn wait(&mut self, association: AssociationId, seid: Seid) -> Place {
        self.last_place += 1;
        let number = self.last_place;
        self.all.entry(association).or_default().waiting.insert(number, seid);
        Place { association, number }
    }

    /// The session with this place does not wait any more.
    pub(super) fn leave(&mut self, place: Place) {
        if let Some(window) = self.all.get_mut(&place.association) {
            window.waiting.remove(&place.number);
        }
    }

    /// Takes the session that has waited longest, if the window is open.
    pub(super) fn next_waiting(&mut self, association: AssociationId) -> Option<Seid> {
        let window = self.all.get_mut(&association).filter(|window| window.in_flight < self.limit)?;
        window.waiting.pop_first().map(|(_, seid)| seid)
    }

    /// The association ends.
    pub(super) fn remove(&mut self, association: AssociationId) {
        self.all.remove(&association);
    }

    /// The highest number of requests in flight to one SMF.
    pub(super) fn most_in_flight(&self) -> usize {
        self.all.values().map(|window| window.in_flight).max().unwrap_or(0)
    }
}
