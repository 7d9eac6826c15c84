//! The control plane's rules of a session as a profile and parameters.

use std::sync::Arc;

use causeway_collections::SortedSet;
use causeway_model::{Plan, Policy, ProfiledSession, RuleSet, SessionParams};
use causeway_types::{FTeid, IpNet, PdrId, Seid, UrrId};

use super::ControlProfile;
use crate::addresses::{AddressChange, ClaimedPrefix};
use crate::change::Change;
use crate::edits::ChosenUes;
use crate::tunnels::TunnelChange;
use crate::{ResourceChange, SessionRules};

/// The rules of a session as its profile and its parameters. The full state is made on demand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfiledRules {
    profile: Arc<ControlProfile>,
    params: SessionParams,
    /// The session's bit rates and flow descriptions, if the template has slots for them.
    policy: Option<Arc<Policy>>,
}

impl ProfiledRules {
    pub(super) const fn new(
        profile: Arc<ControlProfile>,
        params: SessionParams,
        policy: Option<Arc<Policy>>,
    ) -> Self {
        Self { profile, params, policy }
    }

    /// The profile.
    pub const fn profile(&self) -> &Arc<ControlProfile> {
        &self.profile
    }

    /// The session parameters.
    pub const fn params(&self) -> &SessionParams {
        &self.params
    }

    /// The policy, if it is a parameter.
    pub(super) const fn policy(&self) -> Option<&Arc<Policy>> {
        self.policy.as_ref()
    }

    /// The session as the data plane has it.
    pub fn to_session(&self) -> ProfiledSession {
        ProfiledSession::new(Arc::clone(self.profile.profile()), self.params, self.policy.clone())
    }

    /// Its rules. O(rules).
    pub fn rules(&self) -> RuleSet {
        self.profile.profile().rules_with(&self.params, self.policy())
    }

    /// The session has a URR of this id.
    pub(crate) fn has_urr(&self, urr: UrrId) -> bool {
        self.profile.session().rules().urrs.contains_key(&urr)
    }

    /// The PDRs whose F-TEID the UPF chose, in the order of the request.
    pub(crate) fn chosen(&self) -> impl Iterator<Item = (PdrId, FTeid)> {
        self.profile.chosen(&self.params)
    }

    /// The local tunnels.
    pub(crate) fn tunnels(&self) -> impl Iterator<Item = FTeid> {
        self.profile.profile().tunnels(&self.params)
    }

    /// The UE addresses that no other session may have.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = ClaimedPrefix> {
        self.profile.addresses(&self.params)
    }

    /// The same: each as in the profile, with the address of this session.
    pub(super) fn nets(&self) -> impl Iterator<Item = (&ClaimedPrefix, IpNet)> {
        self.profile.nets(&self.params)
    }

    /// The complete control-plane state of its rules.
    pub(crate) fn to_rules(&self) -> SessionRules {
        self.profile.session_with(&self.params, self.policy())
    }

    /// The state of the profile's first session after its establishment, including the state of its reports.
    pub(crate) fn profile_rules(&self) -> &SessionRules {
        self.profile.session()
    }

    /// The change that establishes it, with resources already taken.
    pub(super) fn as_change(&self, session: Seid) -> Change {
        let (whole, tunnels, addresses) = (
            self.to_rules(),
            self.tunnels().collect::<SortedSet<_>>(),
            self.addresses().collect::<SortedSet<_>>(),
        );
        Change {
            plan: Plan::install(session, whole.rules().clone()),
            chosen: self.chosen().collect(),
            chosen_endpoints: Vec::new(),
            ues: ChosenUes::default(),
            resources: ResourceChange {
                tunnels: TunnelChange::taking(session, tunnels.into_iter().collect()),
                addresses: AddressChange::taking(session, addresses.into_iter().collect()),
            },
            query_reference: None,
            tolerated: self.profile.tolerated().to_vec(),
            session: whole,
        }
    }
}
