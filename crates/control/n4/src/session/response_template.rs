//! Response templates: the octets are constant except the session parameters.

use std::sync::Arc;

use causeway_model::Usage;
use causeway_pfcp::{CreatedPdr, FTeid, Header, Ie, RawIes};
use causeway_rules::{ControlProfile, ProfiledRules, StoredRules};
use causeway_types::{FSeid, Seid, WallClock};

use super::deletion_response::DeletionResponseTemplate;

/// The most templates.
const CACHE_SIZE: usize = 64;

/// The offsets of SEID and sequence number in the header of a session message.
const SEID: usize = 4;
const SEQUENCE: usize = 12;

/// The response to the establishment of a session of a profile.
#[derive(Debug)]
struct ResponseTemplate {
    profile: Arc<ControlProfile>,
    octets: Vec<u8>,
    /// The offset of the UPF's SEID.
    up_seid: usize,
    /// The offsets of TEIDs, and the index in [`causeway_model::SessionParams::tunnels`] of each.
    teids: Vec<(usize, usize)>,
}

/// Templates of recent responses.
#[derive(Debug, Default)]
pub(crate) struct ResponseTemplates {
    establishments: Vec<ResponseTemplate>,
    /// The response that accepts a modification.
    modification: Vec<u8>,
    ends: Vec<DeletionResponseTemplate>,
}

impl ResponseTemplates {
    /// The response to an establishment, if there is a template: it contains no more than what the UPF chose. Written
    /// into `octets`, which are empty.
    pub(super) fn encode(
        &self,
        profiled: &ProfiledRules,
        up: Seid,
        cp: Seid,
        sequence: u32,
        octets: Vec<u8>,
    ) -> Option<Vec<u8>> {
        self.establishments
            .iter()
            .find(|form| Arc::ptr_eq(&form.profile, profiled.profile()))?
            .encode(profiled, up, cp, sequence, octets)
    }

    /// Stores a response as a template; it contains no more than what the UPF chose.
    pub(super) fn remember(
        &mut self,
        profiled: &ProfiledRules,
        up: Seid,
        cp: Seid,
        sequence: u32,
        answer: &[u8],
    ) {
        let Some(form) = ResponseTemplate::of(profiled, up, answer) else { return };
        if form.encode(profiled, up, cp, sequence, Vec::new()).as_deref() == Some(answer) {
            self.establishments.truncate(CACHE_SIZE - 1);
            self.establishments.insert(0, form);
        }
    }

    /// The response that accepts a modification, if there is a template. Written into `octets`, which are empty.
    pub(super) fn accept(&self, cp: Seid, sequence: u32, mut octets: Vec<u8>) -> Option<Vec<u8>> {
        octets.extend_from_slice(&self.modification);
        address(&mut octets, cp, sequence)?;
        Some(octets)
    }

    /// Stores a response to a modification that contains nothing but its acceptance.
    pub(super) fn remember_accepted(&mut self, answer: &[u8]) {
        self.modification = answer.to_vec();
    }

    /// The response to a deletion, if there is a template: it contains no more than the usage. Written into `octets`,
    /// which are empty, with times of the wall clock.
    pub(super) fn end(
        &self,
        kept: &StoredRules,
        usage: &[Usage],
        cp: Seid,
        sequence: u32,
        octets: Vec<u8>,
        clock: WallClock,
    ) -> Option<Vec<u8>> {
        self.ends
            .iter()
            .find(|form| form.matches(kept, usage))?
            .encode(kept, usage, cp, sequence, octets, clock)
    }

    /// Stores a response to a deletion that contains no more than the usage.
    pub(super) fn remember_end(
        &mut self,
        kept: &StoredRules,
        usage: &[Usage],
        cp: Seid,
        sequence: u32,
        answer: &[u8],
        clock: WallClock,
    ) {
        let Some(form) = DeletionResponseTemplate::of(kept, usage, answer) else { return };
        if form.encode(kept, usage, cp, sequence, Vec::new(), clock).as_deref() == Some(answer) {
            self.ends.truncate(CACHE_SIZE - 1);
            self.ends.insert(0, form);
        }
    }
}

impl ResponseTemplate {
    fn of(profiled: &ProfiledRules, up: Seid, answer: &[u8]) -> Option<Self> {
        let (_, body, _) = Header::decode(answer).ok()?;
        let place_of = |part: &[u8]| part.as_ptr().addr().checked_sub(answer.as_ptr().addr());
        let (mut up_seid, mut teids) = (None, Vec::new());
        for ie in RawIes::new(body) {
            let ie = ie.ok()?;
            match ie.ie_type {
                FSeid::TYPE if FSeid::decode(ie.value).ok()?.seid == up => {
                    up_seid = Some(place_of(ie.value)? + 1);
                }
                <CreatedPdr<'_> as Ie<'_>>::TYPE => {
                    for inner in RawIes::new(ie.value) {
                        let inner = inner.ok()?;
                        if inner.ie_type == FTeid::TYPE {
                            let teid = FTeid::decode(inner.value).ok()?.assigned()?.teid;
                            let which =
                                profiled.params().tunnels.iter().position(|own| *own == Some(teid))?;
                            teids.push((place_of(inner.value)? + 1, which));
                        }
                    }
                }
                _ => {}
            }
        }
        let profile = Arc::clone(profiled.profile());
        Some(Self { profile, octets: answer.to_vec(), up_seid: up_seid?, teids })
    }

    fn encode(
        &self,
        profiled: &ProfiledRules,
        up: Seid,
        cp: Seid,
        sequence: u32,
        mut octets: Vec<u8>,
    ) -> Option<Vec<u8>> {
        octets.extend_from_slice(&self.octets);
        address(&mut octets, cp, sequence)?;
        put(&mut octets, self.up_seid, &up.0.to_be_bytes())?;
        for (at, which) in &self.teids {
            let teid = profiled.params().tunnels.get(*which).copied().flatten()?;
            put(&mut octets, *at, &teid.value().to_be_bytes())?;
        }
        Some(octets)
    }
}

/// Writes SEID and sequence number of a response. `None`: there is none.
pub(super) fn address(octets: &mut [u8], cp: Seid, sequence: u32) -> Option<()> {
    let [_, number @ ..] = sequence.to_be_bytes();
    put(octets, SEID, &cp.0.to_be_bytes())?;
    put(octets, SEQUENCE, &number)
}

pub(super) fn put(octets: &mut [u8], at: usize, value: &[u8]) -> Option<()> {
    octets.get_mut(at..at + value.len())?.copy_from_slice(value);
    Some(())
}
