//! The profiles of dormant sessions.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use causeway_collections::PartitionedMap;
use causeway_model::{FurtherParams, SessionParams, SessionProfile};
use causeway_types::{DualIp, FTeid, FTeidV4};

use super::Paths;

/// The maximum size, in octets, of the requests of all unused profiles together.
const UNUSED_PROFILES_MAX_OCTETS: usize = 1 << 20;

/// The same of all profiles that the data plane has made itself, used or not.
const OWN_PROFILES_MAX_OCTETS: usize = 4 << 20;

/// Own profiles of one form: sessions with more of them stay active.
const MAX_OF_A_FORM: usize = 32;

/// The profile of dormant sessions.
#[derive(Debug)]
pub(super) struct DormantProfile {
    pub(super) profile: Arc<SessionProfile>,
    /// The local addresses of each of its tunnels.
    pub(super) locals: [Option<DualIp>; 2],
    /// The local source address of packets to each peer.
    pub(super) sources: Sources,
    /// The number of dormant sessions with it.
    pub(super) users: usize,
    /// The form of its rules, if the data plane has made it.
    pub(super) form: Option<u64>,
}

/// The local source addresses of packets to the peers of a profile.
#[derive(Clone, Default, Debug)]
pub(crate) struct Sources {
    /// Those of FARs whose remote tunnels are session parameters, in their order.
    pub(crate) usual: [Option<IpAddr>; 2],
    /// Those of further FARs, each with the number of its tunnel, as [`SessionProfile::further_senders`] says.
    pub(crate) further: Box<[(IpAddr, usize)]>,
}

impl DormantProfile {
    /// The local tunnel ends of a session with these parameters.
    pub(super) fn tunnels<'s>(
        &'s self,
        params: &SessionParams,
        further: Option<&'s FurtherParams>,
    ) -> impl Iterator<Item = FTeid> + 's {
        let both = params.tunnels.into_iter().zip(self.locals);
        let usual = both.filter_map(|(teid, addr)| Some(FTeid { teid: teid?, addr: addr? }));
        usual.chain(self.profile.further_tunnels(further))
    }

    /// The paths of a session with these parameters.
    pub(super) fn paths(&self, params: &SessionParams, further: Option<&FurtherParams>) -> Paths {
        let [one, other] = self.sources.usual;
        let path = |local: Option<IpAddr>, remote: Option<FTeidV4>| Some((local?, remote?.addr.into()));
        let usual = [path(one, params.remotes[0]), path(other, params.remotes[1])];
        let has_further = !self.sources.further.is_empty();
        Paths { usual, further: has_further.then(|| self.further_paths(params, further)) }
    }

    #[cold]
    #[inline(never)]
    fn further_paths(
        &self,
        params: &SessionParams,
        further: Option<&FurtherParams>,
    ) -> Box<[(IpAddr, IpAddr)]> {
        let path = |(local, number): &(IpAddr, usize)| {
            let peer = match params.remotes.get(*number) {
                Some(usual) => DualIp::from((*usual)?.addr),
                None => further?.remotes.get(number - params.remotes.len())?.addr,
            };
            let peer = if local.is_ipv4() { peer.v4.map(IpAddr::V4) } else { peer.v6.map(IpAddr::V6) };
            Some((*local, peer?))
        };
        self.sources.further.iter().filter_map(path).collect()
    }
}

/// All profiles by number. A profile keeps its number.
#[derive(Debug, Default)]
pub(super) struct DormantProfiles {
    all: Vec<Option<DormantProfile>>,
    /// Free numbers.
    free: Vec<u32>,
    /// By the address of the template, which the profile owns.
    by_template: PartitionedMap<usize, u32>,
    /// Octets of the requests of all profiles.
    octets: usize,
    /// The numbers of own profiles by the form of their rules, and their octets.
    by_form: HashMap<u64, Vec<u32>>,
    own_octets: usize,
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

    /// Inserts a new profile. If there are too many, unused ones are evicted.
    pub(super) fn insert(&mut self, profile: DormantProfile) {
        self.octets += profile.profile.octets();
        while self.octets > UNUSED_PROFILES_MAX_OCTETS && self.evict_unused() {}
        let number = self.free.pop().unwrap_or(self.all.len() as u32);
        self.by_template.insert(key_of(&profile.profile), number);
        if let Some(form) = profile.form {
            self.by_form.entry(form).or_default().push(number);
            self.own_octets += profile.profile.octets();
        }
        match self.all.get_mut(number as usize) {
            Some(slot) => *slot = Some(profile),
            None => self.all.push(Some(profile)),
        }
    }

    /// The own profile that is equal in effect to a new one, whose rules have this form.
    pub(super) fn own(&self, form: u64, new: &SessionProfile) -> Option<&Arc<SessionProfile>> {
        let of_form = self.by_form.get(&form)?.iter().filter_map(|number| self.get(*number));
        of_form.map(|held| &held.profile).find(|held| held.is_equivalent(new))
    }

    /// Whether an own profile of this form and size can be inserted. Unused ones are evicted for it.
    pub(super) fn can_insert_own(&mut self, form: u64, octets: usize) -> bool {
        if self.by_form.get(&form).is_some_and(|all| all.len() >= MAX_OF_A_FORM) {
            return false;
        }
        while self.own_octets + octets > OWN_PROFILES_MAX_OCTETS {
            if !self.evict(|profile| profile.form.is_some()) {
                return false;
            }
        }
        true
    }

    /// `false`: all profiles are in use.
    fn evict_unused(&mut self) -> bool {
        self.evict(|_| true)
    }

    /// Evicts an unused profile that is one of these. `false`: there is none.
    fn evict(&mut self, is_one: impl Fn(&DormantProfile) -> bool) -> bool {
        let is_idle = |slot: &Option<DormantProfile>| {
            slot.as_ref().is_some_and(|profile| profile.users == 0 && is_one(profile))
        };
        let Some(place) = self.all.iter().position(is_idle) else { return false };
        if let Some(profile) = self.all.get_mut(place).and_then(Option::take) {
            let octets = profile.profile.octets();
            self.octets -= octets;
            self.by_template.remove(&key_of(&profile.profile));
            self.free.push(place as u32);
            if let Some(form) = profile.form {
                self.own_octets -= octets;
                let of_form = self.by_form.entry(form).or_default();
                of_form.retain(|number| *number as usize != place);
                if of_form.is_empty() {
                    self.by_form.remove(&form);
                }
            }
        }
        true
    }
}

fn key_of(profile: &Arc<SessionProfile>) -> usize {
    Arc::as_ptr(profile).addr()
}

#[cfg(test)]
mod tests {
    use causeway_model::Templates;
    use causeway_model::{MeasurementMethod, RuleSet, Urr};
    use causeway_types::UrrId;

    use super::*;

    // Input:  three thousand profiles, each of a request of a kilobyte; the first two thousand have dormant sessions.
    // Output: those are known, and of the others only the last.
    #[test]
    fn unused_profiles_are_evicted() {
        let mut kinds = DormantProfiles::default();
        for number in 1..=3000 {
            let mut rules = RuleSet::default();
            rules.urrs.extend([(UrrId(number), Urr::new(UrrId(number), MeasurementMethod::default()))]);
            let profile = Arc::clone(Templates::default().profiled(&rules).unwrap().profile());
            let users = usize::from(number <= 2000);
            kinds.insert(DormantProfile {
                profile,
                locals: [None; 2],
                sources: Sources::default(),
                users,
                form: None,
            });
        }
        let known = kinds.all.iter().flatten();
        assert_eq!((known.clone().count(), known.filter(|profile| profile.users == 0).count()), (2001, 1));
        assert_eq!((kinds.by_template.len(), kinds.octets), (2001, 2001 << 10));
        assert_eq!(kinds.all.len(), 2001);
    }
}
