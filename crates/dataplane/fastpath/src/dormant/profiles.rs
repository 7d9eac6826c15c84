//! What sessions at rest have in common.

use std::net::IpAddr;
use std::sync::Arc;

use causeway_rules::{PartitionedMap, Remote, SessionParams, SessionProfile};
use causeway_types::{DualIp, FTeid};

use super::Paths;

/// How many octets the requests have together that the templates were made of which are known while no session rests by them.
const UNUSED_PROFILES_MAX_OCTETS: usize = 1 << 20;

/// What resting sessions have in common.
#[derive(Debug)]
pub(super) struct DormantProfile {
    pub(super) profile: Arc<SessionProfile>,
    /// Where its tunnels end: our addresses of each.
    pub(super) locals: [Option<DualIp>; 2],
    /// Where what it sends to peers comes from: our address for each of those.
    pub(super) sources: [Option<IpAddr>; 2],
    /// How many sessions rest by it.
    pub(super) users: usize,
}

impl DormantProfile {
    /// The tunnels of ours of a session with this of its own.
    pub(super) fn tunnels(&self, params: &SessionParams) -> impl Iterator<Item = FTeid> {
        let both = params.tunnels.into_iter().zip(self.locals);
        both.filter_map(|(teid, addr)| Some(FTeid { teid: teid?, addr: addr? }))
    }

    /// The paths of a session with this of its own.
    pub(super) fn paths(&self, params: &SessionParams) -> Paths {
        let [one, other] = self.sources;
        let path = |local: Option<IpAddr>, remote: Option<Remote>| Some((local?, remote?.addr.into()));
        [path(one, params.remotes[0]), path(other, params.remotes[1])]
    }
}

/// All kinds by numbers, which they keep.
#[derive(Debug, Default)]
pub(super) struct DormantProfiles {
    all: Vec<Option<DormantProfile>>,
    /// Numbers that are free.
    free: Vec<u32>,
    /// By the address of the template, which the kind holds.
    by_template: PartitionedMap<usize, u32>,
    /// Of the requests that all of them were made of.
    octets: usize,
}

impl DormantProfiles {
    pub(super) fn index_of(&self, profile: &Arc<SessionProfile>) -> Option<u32> {
        self.by_template.get(&key_of(profile)).copied()
    }

    pub(super) fn get(&self, number: u32) -> Option<&DormantProfile> {
        self.all.get(number as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut DormantProfile> {
        self.all.get_mut(number as usize)?.as_mut()
    }

    /// Enters one that is new. Where there are too many, some go by which no session rests.
    pub(super) fn insert(&mut self, profile: DormantProfile) {
        self.octets += profile.profile.octets();
        while self.octets > UNUSED_PROFILES_MAX_OCTETS && self.evict_unused() {}
        let number = self.free.pop().unwrap_or(self.all.len() as u32);
        self.by_template.insert(key_of(&profile.profile), number);
        match self.all.get_mut(number as usize) {
            Some(slot) => *slot = Some(profile),
            None => self.all.push(Some(profile)),
        }
    }

    /// `false`: sessions rest by all of them.
    fn evict_unused(&mut self) -> bool {
        let is_idle = |slot: &Option<DormantProfile>| slot.as_ref().is_some_and(|profile| profile.users == 0);
        let Some(place) = self.all.iter().position(is_idle) else { return false };
        if let Some(profile) = self.all.get_mut(place).and_then(Option::take) {
            self.octets -= profile.profile.octets();
            self.by_template.remove(&key_of(&profile.profile));
            self.free.push(place as u32);
        }
        true
    }
}

fn key_of(profile: &Arc<SessionProfile>) -> usize {
    Arc::as_ptr(profile).addr()
}

#[cfg(test)]
mod tests {
    use causeway_rules::testing::Templates;
    use causeway_rules::{MeasurementMethod, RuleSet, Urr};
    use causeway_types::UrrId;

    use super::*;

    // Input:  three thousand kinds, each of a request of a kilobyte; sessions rest by the first two thousand.
    // Output: those are known, and no other but the last, for which there is no room left.
    #[test]
    fn unused_profiles_are_evicted() {
        let mut kinds = DormantProfiles::default();
        for number in 1..=3000 {
            let mut rules = RuleSet::default();
            rules.urrs.extend([(UrrId(number), Urr::new(UrrId(number), MeasurementMethod::default()))]);
            let profile = Arc::clone(Templates::default().profiled(&rules).unwrap().profile());
            let users = usize::from(number <= 2000);
            kinds.insert(DormantProfile { profile, locals: [None; 2], sources: [None; 2], users });
        }
        let known = kinds.all.iter().flatten();
        assert_eq!((known.clone().count(), known.filter(|profile| profile.users == 0).count()), (2001, 1));
        assert_eq!((kinds.by_template.len(), kinds.octets), (2001, 2001 << 10));
        assert_eq!(kinds.all.len(), 2001);
    }
}
