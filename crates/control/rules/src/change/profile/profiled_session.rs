//! A session that was asked for in the same words as others.

use std::sync::Arc;

use causeway_types::{FTeid, IpNet, PdrId, Seid};

use super::{Policy, SessionParams, SessionProfile};
use crate::addresses::{AddressChange, ClaimedPrefix};
use crate::change::Change;
use crate::diff::plan_establishment;
use crate::edits::ChosenUes;
use crate::plan::Op;
use crate::tunnels::TunnelChange;
use crate::{ResourceChange, RuleSet, SessionRules, SortedSet};

/// The rules of a session as what it has in common with others, and what is its own. Made whole where that is needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfiledSession {
    profile: Arc<SessionProfile>,
    params: SessionParams,
    /// Its rates and flows, where the template has slots for them.
    policy: Option<Arc<Policy>>,
}

impl ProfiledSession {
    /// A session with this of its own, which is what its template knows of. `policy`: there if the template has slots for one.
    pub const fn new(
        profile: Arc<SessionProfile>,
        params: SessionParams,
        policy: Option<Arc<Policy>>,
    ) -> Self {
        Self { profile, params, policy }
    }

    /// What it has in common with others.
    pub const fn profile(&self) -> &Arc<SessionProfile> {
        &self.profile
    }

    /// What is its own.
    pub const fn params(&self) -> &SessionParams {
        &self.params
    }

    /// Its rates and flows, if they are its own.
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

    /// The tunnels that end here.
    pub fn tunnels(&self) -> impl Iterator<Item = FTeid> {
        self.profile.tunnels(&self.params)
    }

    /// The UE addresses that are its alone.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = ClaimedPrefix> {
        self.profile.addresses(&self.params)
    }

    /// The same: each as the session has it that the template was made of, and the address of this one.
    pub(super) fn nets(&self) -> impl Iterator<Item = (&ClaimedPrefix, IpNet)> {
        self.profile.nets(&self.params)
    }

    /// All that is kept of it.
    pub(crate) fn to_rules(&self) -> SessionRules {
        self.profile.session_with(&self.params, self.policy())
    }

    /// As it was when it began, how far the reports have come included.
    pub(crate) fn profile_rules(&self) -> &SessionRules {
        self.profile.session()
    }

    /// The writes that establish it. O(rules).
    pub(crate) fn establishment(&self) -> Vec<Op> {
        plan_establishment(Seid(0), &self.rules()).ops.into_vec()
    }

    /// The change that establishes it, whose resources are taken.
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
