//! A session as its profile and its parameters.

use std::sync::Arc;

use causeway_types::FTeid;

use super::{FurtherParams, Policy, SessionParams, SessionProfile};
use crate::RuleSet;

/// The rules of a session as its profile and its parameters. The rule set is made on demand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfiledSession {
    profile: Arc<SessionProfile>,
    params: SessionParams,
    policy: Option<Arc<Policy>>,
}

impl ProfiledSession {
    /// A session of a profile. `policy`: present if the profile has slots for one.
    pub const fn new(
        profile: Arc<SessionProfile>,
        params: SessionParams,
        policy: Option<Arc<Policy>>,
    ) -> Self {
        Self { profile, params, policy }
    }

    /// A session with these rules, whose profile no other session has.
    pub fn unshared(rules: RuleSet) -> Self {
        let profile = Arc::new(SessionProfile::unshared(rules));
        Self { profile, params: SessionParams::default(), policy: None }
    }

    /// Its profile is made for many sessions.
    pub fn is_shared(&self) -> bool {
        self.profile.is_shared()
    }

    /// The session profile.
    pub const fn profile(&self) -> &Arc<SessionProfile> {
        &self.profile
    }

    /// The session parameters.
    pub const fn params(&self) -> &SessionParams {
        &self.params
    }

    /// The policy, if it is a parameter.
    pub const fn policy(&self) -> Option<&Arc<Policy>> {
        self.policy.as_ref()
    }

    /// Its rules. O(rules).
    pub fn rules(&self) -> RuleSet {
        self.profile.rules_with(&self.params, self.policy())
    }

    /// The local tunnels.
    pub fn tunnels(&self) -> impl Iterator<Item = FTeid> {
        self.profile.tunnels(&self.params).chain(self.profile.further_tunnels(self.further()))
    }

    /// Its addresses and tunnels that are not among the session parameters.
    pub fn further(&self) -> Option<&FurtherParams> {
        self.policy.as_ref()?.further.as_deref()
    }
}
