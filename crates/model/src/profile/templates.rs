//! Rule sets as sessions with a session profile.

use std::sync::Arc;

use super::further::tunnels_of;
use super::session_profile::octets_of;
use super::{
    PolicySlots, ProfileTransition, ProfiledSession, SessionParams, SessionProfile, TransitionEffect,
};
use crate::{Plan, RuleSet};

/// A profile as the control plane makes it of requests: at most two tunnels of each kind, over IPv4, bit rates, and flow descriptions without an id
/// are parameters. All sessions of the profile have its IPv6 prefixes.
fn template_of(rules: &RuleSet) -> Option<SessionProfile> {
    let ue = rules.pdrs.values().find_map(|pdr| pdr.pdi.ue?.v4);
    let (fars, remotes) = SessionProfile::remotes_of(rules)?;
    let params = SessionParams { ue, remotes, ..SessionParams::default() };
    let (slots, octets) = (PolicySlots::of_rules(rules), octets_of(rules));
    SessionProfile::new(rules.clone(), tunnels_of(rules), fars, params, slots, octets)
}

/// The session profiles of a test.
#[derive(Debug, Default)]
pub struct Templates(Vec<Arc<SessionProfile>>);

impl Templates {
    /// The rules as a session of an existing profile, or as the first of a new one. `None`: requests for such
    /// sessions are not cached.
    pub fn profiled(&mut self, rules: &RuleSet) -> Option<ProfiledSession> {
        let of_known = |template: &Arc<SessionProfile>| {
            let its = template_of(rules)?;
            let profiled = ProfiledSession::new(Arc::clone(template), *its.params(), its.policy().cloned());
            (profiled.rules() == *rules).then_some(profiled)
        };
        if let Some(profiled) = self.0.iter().find_map(of_known) {
            return Some(profiled);
        }
        let template = Arc::new(template_of(rules)?);
        self.0.push(Arc::clone(&template));
        Some(ProfiledSession::new(Arc::clone(&template), *template.params(), template.policy().cloned()))
    }

    /// A plan that changes FARs only, as a cached modification. `None`: it changes more, or no cached modification
    /// has this result.
    pub fn transition(
        &mut self,
        profiled: &ProfiledSession,
        to: &RuleSet,
        plan: &Plan,
    ) -> Option<ProfileTransition> {
        let before = profiled.rules();
        let changes_only_fars = RuleSet { fars: before.fars.clone(), ..to.clone() } == before;
        let after = self.profiled(to).filter(|_| changes_only_fars && !plan.change.is_empty())?;
        let (from, to) = (Arc::clone(profiled.profile()), Arc::clone(after.profile()));
        let effect = TransitionEffect::new(from, to, plan.ops().into_owned())?;
        let (before, params) = (*profiled.params(), *after.params());
        Some(ProfileTransition::new(Arc::new(effect), before, params, after.policy().cloned()))
    }
}
