//! Prefetches the memory that later plans need.

use causeway_collections::Probe;
use causeway_model::{ProfileTransition, ProfiledSession, SessionParams};
use causeway_types::Seid;

use super::location::fetch;
use super::{DormantSessions, SessionLocation, ends};
use crate::table::index::prefetch;

/// The number of sessions whose locations are stored, each in a slot by its SEID.
const SLOTS: usize = 32;

/// The number of sessions between two prefetch steps: first the index bucket of a session, then its record, then its
/// other index buckets. Other sessions are prefetched in between, so that each step finds its memory in the cache.
const STEP: usize = 2;
const PREFETCH_DISTANCE: usize = 2 * STEP;

/// The sessions for which plans are expected.
#[derive(Debug, Default)]
pub(super) struct PrefetchQueue {
    /// With the session parameters for which the location was computed.
    entries: [Option<(Seid, SessionParams, SessionLocation)>; SLOTS],
    /// Dormant sessions, with their index positions. The latest is before `turn`.
    coming: [Option<(Seid, Probe)>; PREFETCH_DISTANCE],
    turn: usize,
}

impl PrefetchQueue {
    /// The location of a session with this profile and these parameters, if it was computed.
    #[inline]
    pub(super) fn get(&self, seid: Seid, profile: u32, params: &SessionParams) -> Option<&SessionLocation> {
        let (known, its, entry) = self.entries[slot_of(seid)].as_ref()?;
        (*known == seid && entry.profile == profile && its == params).then_some(entry)
    }

    fn insert(&mut self, seid: Seid, params: SessionParams, entry: SessionLocation) {
        self.entries[slot_of(seid)] = Some((seid, params, entry));
    }
}

/// SEIDs are close enough to random.
const fn slot_of(seid: Seid) -> usize {
    seid.0 as usize % SLOTS
}

impl DormantSessions {
    /// Prefetches for an establishment.
    pub(crate) fn prefetch(&mut self, seid: Seid, profiled: &ProfiledSession) {
        if let Some(entry) = self.entry(seid, profiled) {
            self.prefetch.insert(seid, *profiled.params(), entry);
        }
    }

    /// Prefetches for a modification by a known transition.
    pub(crate) fn prefetch_change(&mut self, seid: Seid, transition: &ProfileTransition) {
        for (_, params) in transition.before_and_after() {
            ends(params).for_each(|end| {
                self.fetch_remote(end);
            });
        }
        self.prefetch_indirect(seid);
    }

    /// Prefetches for a deletion.
    pub(crate) fn prefetch_removal(&mut self, seid: Seid) {
        if let Some(before) = self.prefetch_indirect(seid) {
            self.prefetch_owner(before);
        }
    }

    /// Prefetches the index bucket of a session, and the record of an earlier one. Returns one whose record has
    /// arrived.
    fn prefetch_indirect(&mut self, seid: Seid) -> Option<(Seid, Probe)> {
        let probe = fetch(&self.seids, self.seids.probe(seid));
        let PrefetchQueue { coming, turn, .. } = &mut self.prefetch;
        let near = coming[*turn % PREFETCH_DISTANCE].replace((seid, probe));
        let next = coming[(*turn + STEP) % PREFETCH_DISTANCE];
        *turn = (*turn + 1) % PREFETCH_DISTANCE;
        if let Some(place) = next.and_then(|(_, probe)| self.seids.all_at(probe).next()) {
            prefetch(&self.records, place as usize);
        }
        near
    }

    /// Prefetches all index buckets of a session that will be removed.
    fn prefetch_owner(&mut self, (seid, probe): (Seid, Probe)) {
        let place = self.seids.find_at(probe, |place| self.is_of(place, seid));
        let Some(record) = place.and_then(|place| self.records.get(place as usize)) else { return };
        let (number, params) = (record.profile, record.params);
        let entry = self.entry_of(seid, number, &params);
        self.prefetch.insert(seid, params, entry);
    }
}
