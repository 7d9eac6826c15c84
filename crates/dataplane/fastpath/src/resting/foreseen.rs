//! What plans that come soon will need.

use causeway_rules::{Probe, ProfileTransition, ProfiledSession, SessionParams};
use causeway_types::Seid;

use super::entry::fetch;
use super::{Entry, Resting, ends};
use crate::index::prefetch;

/// Sessions of which it is kept where they are found, each in a slot by its SEID.
const SLOTS: usize = 32;

/// How many sessions are on their way at a time: what leads to one is fetched first, then the session, then what else finds it. In
/// between come others, so that each is there when it is looked at.
const STEP: usize = 2;
const AHEAD: usize = 2 * STEP;

/// The sessions that plans are expected for.
#[derive(Debug, Default)]
pub(super) struct Foreseen {
    /// With what was theirs alone when it was worked out where they are found.
    entries: [Option<(Seid, SessionParams, Entry)>; SLOTS],
    /// Those that rest, and what they are found by. The latest is before `turn`.
    coming: [Option<(Seid, Probe)>; AHEAD],
    turn: usize,
}

impl Foreseen {
    /// Where a session with this kind and this of its own is found, if that was worked out.
    #[inline]
    pub(super) fn get(&self, seid: Seid, kind: u32, own: &SessionParams) -> Option<&Entry> {
        let (known, its, entry) = self.entries[slot_of(seid)].as_ref()?;
        (*known == seid && entry.kind == kind && its == own).then_some(entry)
    }

    fn put(&mut self, seid: Seid, own: SessionParams, entry: Entry) {
        self.entries[slot_of(seid)] = Some((seid, own, entry));
    }
}

/// SEIDs are as good as random.
const fn slot_of(seid: Seid) -> usize {
    seid.0 as usize % SLOTS
}

impl Resting {
    /// A session like this will be established soon.
    pub(crate) fn prefetch(&mut self, seid: Seid, alike: &ProfiledSession) {
        if let Some(entry) = self.entry(seid, alike) {
            self.foreseen.put(seid, *alike.params(), entry);
        }
    }

    /// A session will be changed soon, to one that others became.
    pub(crate) fn approach_change(&mut self, seid: Seid, moved: &ProfileTransition) {
        for (_, own) in moved.before_and_after() {
            ends(own).for_each(|end| {
                self.fetch_remote(end);
            });
        }
        self.approach(seid);
    }

    /// A session will go soon.
    pub(crate) fn approach_end(&mut self, seid: Seid) {
        if let Some(before) = self.approach(seid) {
            self.foresee_end(before);
        }
    }

    /// Fetches what leads to a session, and one that was named before. Returns one that is near by now.
    fn approach(&mut self, seid: Seid) -> Option<(Seid, Probe)> {
        let probe = fetch(&self.seids, self.seids.probe(seid));
        let Foreseen { coming, turn, .. } = &mut self.foreseen;
        let near = coming[*turn % AHEAD].replace((seid, probe));
        let next = coming[(*turn + STEP) % AHEAD];
        *turn = (*turn + 1) % AHEAD;
        if let Some(place) = next.and_then(|(_, probe)| self.seids.all_at(probe).next()) {
            prefetch(&self.records, place as usize);
        }
        near
    }

    /// Fetches all that finds a session that will go.
    fn foresee_end(&mut self, (seid, probe): (Seid, Probe)) {
        let place = self.seids.find_at(probe, |place| self.is_of(place, seid));
        let Some(record) = place.and_then(|place| self.records.get(place as usize)) else { return };
        let (number, own) = (record.kind, record.own);
        let entry = self.entry_of(seid, number, &own);
        self.foreseen.put(seid, own, entry);
    }
}
