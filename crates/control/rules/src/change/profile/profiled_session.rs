//! A session that was established from a session profile.

use std::sync::Arc;

use causeway_collections::SortedSet;
use causeway_types::{FTeid, IpNet, PdrId, Seid};

use super::{Policy, SessionParams, SessionProfile};
use crate::addresses::{AddressChange, ClaimedPrefix};
use crate::change::Change;
use crate::diff::plan_establishment;
use crate::edits::ChosenUes;
use crate::plan::Op;
use crate::tunnels::TunnelChange;
use crate::{ResourceChange, RuleSet, SessionRules};

/// The rules of a session as its profile and its parameters. The full rules are made on demand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfiledSession {
    profile: Arc<SessionProfile>,
    params: SessionParams,
    /// The session's bit rates and flow descriptions, if the template has slots for them.
    policy: Option<Arc<Policy>>,
}

impl ProfiledSession {
    /// A session with these parameters of a profile. `policy`: present if the template has slots for one.
    pub const fn new(
        profile: Arc<SessionProfile>,
        params: SessionParams,
        policy: Option<Arc<Policy>>,
    ) -> Self {
        Self { profile, params, policy }
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
        self.to_rules().rules
    }

    /// The PDRs whose F-TEID the UPF chose, in the order of the request.
    pub fn chosen(&self) -> impl Iterator<Item = (PdrId, FTeid)> {
        self.profile.chosen(&self.params)
    }

    /// The local tunnels.
    pub fn tunnels(&self) -> impl Iterator<Item = FTeid> {
        self.profile.tunnels(&self.params)
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

    /// The writes of its establishment. O(rules).
    pub(crate) fn establishment(&self) -> Vec<Op> {
        plan_establishment(Seid(0), &self.rules()).ops.into_vec()
    }

    /// The change that establishes it, with resources already taken.
    pub(super) fn as_change(&self, session: Seid) -> Change {
        let (whole, tunnels, addresses) = (
            self.to_rules(),
            self.tunnels().collect::<SortedSet<_>>(),
            self.addresses().collect::<SortedSet<_>>(),
        );
        Change {
            plan: plan_establishment(session, whole.rules()),
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
