//! What plans that come soon will need.

use causeway_rules::{Probe, ProfileTransition, ProfiledSession, SessionParams};
use causeway_types::Seid;

use super::location::fetch;
use super::{DormantSessions, SessionLocation, ends};
use crate::index::prefetch;

/// Sessions of which it is kept where they are found, each in a slot by its SEID.
const SLOTS: usize = 32;

/// How many sessions are on their way at a time: what leads to one is fetched first, then the session, then what else finds it. In
/// between come others, so that each is there when it is looked at.
const STEP: usize = 2;
const PREFETCH_DISTANCE: usize = 2 * STEP;

/// The sessions that plans are expected for.
#[derive(Debug, Default)]
pub(super) struct PrefetchQueue {
    /// With what was theirs alone when it was worked out where they are found.
    entries: [Option<(Seid, SessionParams, SessionLocation)>; SLOTS],
    /// Those that rest, and what they are found by. The latest is before `turn`.
    coming: [Option<(Seid, Probe)>; PREFETCH_DISTANCE],
    turn: usize,
}

impl PrefetchQueue {
    /// Where a session with this kind and this of its own is found, if that was worked out.
    #[inline]
    pub(super) fn get(&self, seid: Seid, profile: u32, params: &SessionParams) -> Option<&SessionLocation> {
        let (known, its, entry) = self.entries[slot_of(seid)].as_ref()?;
        (*known == seid && entry.profile == profile && its == params).then_some(entry)
    }

    fn insert(&mut self, seid: Seid, params: SessionParams, entry: SessionLocation) {
        self.entries[slot_of(seid)] = Some((seid, params, entry));
    }
}

/// SEIDs are as good as random.
const fn slot_of(seid: Seid) -> usize {
    seid.0 as usize % SLOTS
}

impl DormantSessions {
    /// A session like this will be established soon.
    pub(crate) fn prefetch(&mut self, seid: Seid, profiled: &ProfiledSession) {
        if let Some(entry) = self.entry(seid, profiled) {
            self.prefetch.insert(seid, *profiled.params(), entry);
        }
    }

    /// A session will be changed soon, to one that others became.
    pub(crate) fn prefetch_change(&mut self, seid: Seid, transition: &ProfileTransition) {
        for (_, params) in transition.before_and_after() {
            ends(params).for_each(|end| {
                self.fetch_remote(end);
            });
        }
        self.prefetch_indirect(seid);
    }

    /// A session will go soon.
    pub(crate) fn prefetch_removal(&mut self, seid: Seid) {
        if let Some(before) = self.prefetch_indirect(seid) {
            self.prefetch_owner(before);
        }
    }

    /// Fetches what leads to a session, and one that was named before. Returns one that is near by now.
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

    /// Fetches all that finds a session that will go.
    fn prefetch_owner(&mut self, (seid, probe): (Seid, Probe)) {
        let place = self.seids.find_at(probe, |place| self.is_of(place, seid));
        let Some(record) = place.and_then(|place| self.records.get(place as usize)) else { return };
        let (number, params) = (record.profile, record.params);
        let entry = self.entry_of(seid, number, &params);
        self.prefetch.insert(seid, params, entry);
    }
}
