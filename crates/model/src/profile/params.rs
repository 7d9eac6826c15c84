//! The values that distinguish sessions of one profile: addresses and tunnels, and what a policy sets: bit rates and flow
//! descriptions.

use std::net::Ipv4Addr;
use std::sync::Arc;

use causeway_types::{FTeidV4, PdrId, QerId, Teid};

use super::FurtherParams;
use super::further::FurtherSlots;
use crate::{FlowDescription, LocalEndpoints, Qer, RateLimit, RuleSet};

/// Maximum number of tunnels of each kind in the parameters.
pub const MAX_TUNNELS: usize = 2;

/// The session parameters: the values that differ among sessions of one profile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct SessionParams {
    /// The IPv4 address of the UE, the same in all PDIs.
    pub ue: Option<Ipv4Addr>,
    /// The TEIDs of local tunnels: those that the UPF chose, in the order of choice, or those that the SMF
    /// assigned, in the order of the request.
    pub tunnels: [Option<Teid>; MAX_TUNNELS],
    /// The remote tunnels of FARs, in the order of the profile.
    pub remotes: [Option<FTeidV4>; MAX_TUNNELS],
}

impl SessionParams {
    /// The UE and the peers may have these addresses. Validation checked only those of the first session of the
    /// profile.
    pub fn has_valid_addresses(&self, endpoints: &LocalEndpoints) -> bool {
        self.ue.is_none_or(|ue| endpoints.is_usual(ue) && !ue.is_loopback() && !endpoints.has_local(ue))
            && self.has_remote_peers(endpoints)
    }

    /// The peers may have these addresses.
    #[inline]
    pub fn has_remote_peers(&self, endpoints: &LocalEndpoints) -> bool {
        self.remotes.iter().flatten().all(|remote| endpoints.is_usual(remote.addr))
    }
}

/// The bit rates and flow descriptions of one session, in the order of the slots of its profile, and addresses that few sessions have.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Policy {
    /// The bit rates.
    pub rates: Box<[RateLimit]>,
    /// The flow descriptions.
    pub flows: Box<[FlowDescription]>,
    /// Addresses and tunnels that [`SessionParams`] has no place for.
    pub further: Option<Box<FurtherParams>>,
}

/// The places of the values of a [`Policy`] in the rules of a profile, in the order of the request.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PolicySlots {
    /// The QERs with bit rates.
    pub rates: Vec<(QerId, RateKind)>,
    /// The PDR, and the index of its SDF filter.
    pub flows: Vec<(PdrId, usize)>,
    /// The further addresses and tunnels, if they are parameters.
    pub further: FurtherSlots,
}

/// One of the bit rates of a QER.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateKind {
    /// MBR.
    Maximum,
    /// GBR.
    Guaranteed,
}

impl RateKind {
    const fn of(self, qer: &Qer) -> Option<RateLimit> {
        match self {
            Self::Maximum => qer.mbr,
            Self::Guaranteed => qer.gbr,
        }
    }

    const fn set(self, qer: &mut Qer, limit: RateLimit) {
        match self {
            Self::Maximum => qer.mbr = Some(limit),
            Self::Guaranteed => qer.gbr = Some(limit),
        }
    }
}

impl PolicySlots {
    /// There are no slots: all sessions of the profile have its rates and flow descriptions.
    pub const fn is_empty(&self) -> bool {
        self.rates.is_empty() && self.flows.is_empty() && self.further.is_empty()
    }

    /// The places of all rates and flow descriptions in these rules, except filters that several PDRs refer to.
    pub(super) fn of_rules(rules: &RuleSet) -> Self {
        let mut slots = Self::default();
        for qer in rules.qers.values() {
            for rate in [RateKind::Maximum, RateKind::Guaranteed] {
                slots.rates.extend(rate.of(qer).map(|_| (qer.id, rate)));
            }
        }
        for pdr in rules.pdrs.values() {
            let params = (0..).zip(&pdr.pdi.filters).filter(|(_, filter)| filter.id.is_none());
            slots.flows.extend(params.map(|(at, _)| (pdr.id, at)));
        }
        slots
    }

    /// Reads the rates and filters of these rules. `None`: they have no such ones.
    pub(super) fn read(&self, rules: &RuleSet) -> Option<Policy> {
        let rate = |(qer, rate): &(QerId, RateKind)| rate.of(rules.qers.get(qer)?);
        let flow = |(pdr, at): &(PdrId, usize)| Some(rules.pdrs.get(pdr)?.pdi.filters.get(*at)?.flow.clone());
        Some(Policy {
            rates: self.rates.iter().map(rate).collect::<Option<_>>()?,
            flows: self.flows.iter().map(flow).collect::<Option<_>>()?,
            further: None,
        })
    }

    /// The same with these further parameters, as a session stores it: nothing if there are no slots.
    pub(super) fn policy_of(
        &self,
        rules: &RuleSet,
        further: Option<Box<FurtherParams>>,
    ) -> Option<Option<Arc<Policy>>> {
        if self.is_empty() {
            return Some(None);
        }
        Some(Some(Arc::new(Policy { further, ..self.read(rules)? })))
    }

    /// Writes rates and filters into the rules. Rules that have the values already stay shared.
    pub(super) fn write(&self, policy: &Policy, rules: &mut RuleSet) {
        for ((id, rate), limit) in self.rates.iter().zip(&policy.rates) {
            if rules.qers.get(id).is_some_and(|qer| rate.of(qer) != Some(*limit)) {
                rules.qers.get_mut(id).into_iter().for_each(|qer| rate.set(qer, *limit));
            }
        }
        for ((id, at), flow) in self.flows.iter().zip(&policy.flows) {
            let held = rules.pdrs.get(id).and_then(|pdr| pdr.pdi.filters.get(*at));
            if held.is_some_and(|held| held.flow != *flow) {
                let filter = rules.pdrs.get_mut(id).and_then(|pdr| pdr.pdi.filters.get_mut(*at));
                filter.into_iter().for_each(|filter| filter.flow = flow.clone());
            }
        }
    }

    /// The policy as a session stores it, whose profile was made with the policy `first`. `None`: it lacks a value
    /// for a slot, or validation could decide differently about it.
    pub fn admit(&self, policy: Policy, first: &Arc<Policy>) -> Option<Arc<Policy>> {
        if policy == **first {
            return Some(Arc::clone(first));
        }
        // `assigned` is checked against the rest of the rules, where it occurs.
        let mut flows = policy.flows.iter().zip(&first.flows);
        let has_all = (policy.rates.len(), policy.flows.len()) == (self.rates.len(), self.flows.len())
            && policy.further.is_none()
            && self.further.is_empty();
        let is_sound = has_all
            && flows.all(|(flow, first)| !flow.names_assigned() || first.names_assigned())
            && !self.guarantees_too_much(&policy);
        is_sound.then(|| Arc::new(policy))
    }

    /// A guaranteed rate exceeds the maximum rate, which is reported as a leniency.
    fn guarantees_too_much(&self, policy: &Policy) -> bool {
        let all = || self.rates.iter().zip(&policy.rates);
        all().filter(|((_, rate), _)| *rate == RateKind::Guaranteed).any(|((id, _), gbr)| {
            let mbr =
                all().find(|((qer, rate), _)| (*qer, *rate) == (*id, RateKind::Maximum)).map(|(_, mbr)| *mbr);
            Qer { mbr, gbr: Some(*gbr), ..Qer::new(*id) }.guarantees_too_much()
        })
    }
}
