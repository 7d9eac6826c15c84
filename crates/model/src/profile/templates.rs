//! Rule sets as sessions with a session profile.

use std::sync::Arc;

use super::{ProfileTransition, ProfiledSession, SessionProfile, TransitionEffect};
use crate::{Plan, RuleSet};

/// The session profiles of a test.
#[derive(Debug, Default)]
pub struct Templates(Vec<Arc<SessionProfile>>);

impl Templates {
    /// The rules as a session of an existing profile, or as the first of a new one. `None`: requests for such
    /// sessions are not cached.
    pub fn profiled(&mut self, rules: &RuleSet) -> Option<ProfiledSession> {
        let of_known = |template: &Arc<SessionProfile>| {
            let its = SessionProfile::of_rules(rules)?;
            let profiled = ProfiledSession::new(Arc::clone(template), *its.params(), its.policy().cloned());
            (profiled.rules() == *rules).then_some(profiled)
        };
        if let Some(profiled) = self.0.iter().find_map(of_known) {
            return Some(profiled);
        }
        let template = Arc::new(SessionProfile::of_rules(rules)?);
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
