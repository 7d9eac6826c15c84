//! Profiles that the data plane makes of the rules of a session: those of the control plane are of sessions that it has changed in known
//! ways only.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use causeway_model::{ProfiledSession, RuleSet, SessionProfile};
use foldhash::fast::FixedState;

use super::DormantSessions;
use super::profiles::{DormantProfile, Sources};

/// A hash of what rules have beside the parameters of their session. Equal ones need not have the same profile.
fn form_of(rules: &RuleSet) -> u64 {
    let mut state = FixedState::with_seed(0).build_hasher();
    for pdr in rules.pdrs.values() {
        (pdr.id, pdr.far, pdr.precedence, &pdr.qers, &pdr.urrs).hash(&mut state);
        (pdr.pdi.qfis, pdr.pdi.filters.len()).hash(&mut state);
    }
    for far in rules.fars.values() {
        (far.id, far.action, far.bar).hash(&mut state);
    }
    for qer in rules.qers.values() {
        (qer.id, qer.uplink, qer.downlink, qer.mbr.is_some(), qer.gbr.is_some()).hash(&mut state);
    }
    rules.urrs.values().for_each(|urr| urr.hash(&mut state));
    state.finish()
}

impl DormantSessions {
    /// A session with these rules, which share nothing with others, as one of an own profile. Such sessions can be dormant from now on. `sources`:
    /// as for [`DormantSessions::learn`]. `None`: the rules differ in more than parameters, or there are too many own profiles.
    pub(crate) fn own_profile(
        &mut self,
        rules: &RuleSet,
        sources: impl FnOnce(&SessionProfile) -> Sources,
    ) -> Option<ProfiledSession> {
        let (form, profile) = (form_of(rules), SessionProfile::of_rules(rules)?);
        let (params, policy) = (*profile.params(), profile.policy().cloned());
        let held = match self.profiles.own(form, &profile) {
            Some(held) => Arc::clone(held),
            None => {
                if !self.profiles.can_insert_own(form, profile.octets()) {
                    return None;
                }
                let sources = sources(&profile);
                let profile = Arc::new(profile);
                self.insert_profile(DormantProfile {
                    locals: Self::locals_of(&profile, &params),
                    profile: Arc::clone(&profile),
                    sources,
                    users: 0,
                    form: Some(form),
                });
                profile
            }
        };
        // Most sessions of a profile have its policy.
        let policy = policy.map(|own| held.policy().filter(|first| **first == own).cloned().unwrap_or(own));
        Some(ProfiledSession::new(held, params, policy))
    }
}
