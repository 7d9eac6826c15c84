//! The result of a request, for reuse by other sessions.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use causeway_collections::SortedSet;
use causeway_types::{FTeid, FarId, IpNet, NodeId, PdrId, Seid};

use super::params::{MAX_TUNNELS, Remote, SessionParams};
use super::policy::{Policy, PolicySlots};
use crate::addresses::ClaimedPrefix;
use crate::change::Change;
use crate::edits::ChosenUes;
use crate::{Addresses, Far, Leniency, OuterHeader, Pdr, RuleSet, SessionRules, Tunnels, UeAddress};

/// The common part of sessions of one message template: everything except their [`SessionParams`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionProfile {
    /// The first session with this profile.
    session: SessionRules,
    chosen: Vec<(PdrId, FTeid)>,
    /// The local tunnels, in the order of [`SessionParams::tunnels`].
    tunnels: Vec<FTeid>,
    /// The SMF assigned the local tunnels, not the UPF.
    are_given: bool,
    fars: Fars,
    params: SessionParams,
    /// The places of the policy in the rules, if it is a parameter.
    slots: PolicySlots,
    /// The policy of the first session.
    policy: Option<Arc<Policy>>,
    /// The tolerated deviations of the request.
    tolerated: Vec<Leniency>,
    /// The length of the request in octets; the profile's memory is a multiple of it.
    octets: usize,
    /// [`RuleSet::filter_memory`] of its rules.
    filter_memory: usize,
}

/// The FARs whose remote tunnels are parameters, in the order of [`SessionParams::remotes`].
type Fars = [Option<FarId>; MAX_TUNNELS];

impl SessionProfile {
    /// `None`: something else than the known parameters may differ for the next session.
    pub(super) fn of(
        change: &Change,
        params: &SessionParams,
        fars: Fars,
        slots: PolicySlots,
        octets: usize,
    ) -> Option<Self> {
        let session = &change.session;
        // Tolerated deviations depend on rates.
        if !(slots.is_empty() || change.tolerated.is_empty()) {
            return None;
        }
        let policy = slots.policy_of(&session.rules)?;
        let mut tunnels = Vec::new();
        for (_, tunnel) in &change.chosen {
            if !tunnels.contains(tunnel) {
                tunnels.push(*tunnel);
            }
        }
        let are_given = params.tunnels.iter().any(Option::is_some);
        if are_given && !tunnels.is_empty() {
            return None;
        }
        for teid in params.tunnels.into_iter().flatten() {
            let mut of_pdrs = session.rules.pdrs.values().filter_map(|pdr| pdr.pdi.tunnel);
            tunnels.push(of_pdrs.find(|tunnel| tunnel.teid == teid)?);
        }
        let has_plain_end = change.chosen_endpoints.is_empty()
            && change.ues == ChosenUes::default()
            && session.endpoints.is_empty()
            && session.endpoint_of.is_empty()
            && session.chosen_ues.is_empty()
            && tunnels.len() <= MAX_TUNNELS;
        let mut params = *params;
        params.tunnels.iter_mut().zip(&tunnels).for_each(|(slot, tunnel)| *slot = Some(tunnel.teid));
        let (common, chosen) = (session.clone(), change.chosen.clone());
        let tolerated = change.tolerated.clone();
        let filter_memory = session.rules.filter_memory();
        let profile = Self {
            session: common,
            chosen,
            tunnels,
            are_given,
            fars,
            params,
            slots,
            policy,
            tolerated,
            octets,
            filter_memory,
        };
        let knows_pdrs = session.rules.pdrs.values().all(|pdr| profile.covers_pdr(pdr));
        let knows_fars = session.rules.fars.values().all(|far| profile.covers_far(far));
        (has_plain_end && knows_pdrs && knows_fars).then_some(profile)
    }

    /// The profile of a first session with these rules, as if the UPF had chosen its tunnels, in a request of one
    /// kilobyte.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn of_rules(rules: &RuleSet) -> Option<Self> {
        let mut params = SessionParams {
            ue: rules.pdrs.values().find_map(|pdr| pdr.pdi.ue?.v4),
            ..SessionParams::default()
        };
        let (fars, remotes) = remotes_of(rules)?;
        params.remotes = remotes;
        let mut chosen = Vec::new();
        for pdr in rules.pdrs.values() {
            chosen.extend(pdr.pdi.tunnel.map(|tunnel| (pdr.id, tunnel)));
        }
        let session = SessionRules { rules: rules.clone(), ..SessionRules::default() };
        let resources = crate::ResourceChange::empty(Seid(0));
        let change =
            Change { chosen, ..Change::without_choices(session, crate::plan_deletion(Seid(0)), resources) };
        Self::of(&change, &params, fars, PolicySlots::of(rules), 1 << 10)
    }

    /// The profile of a session with these parameters after a change of FARs only. `None`: as for
    /// [`SessionProfile::of`].
    pub(super) fn with_fars(&self, params: &SessionParams, changed: &SessionRules) -> Option<Self> {
        let (fars, remotes) = remotes_of(&changed.rules)?;
        let profile = Self {
            session: SessionRules { reports: self.session.reports.clone(), ..changed.clone() },
            chosen: self.chosen(params).collect(),
            tunnels: self.tunnels(params).collect(),
            are_given: self.are_given,
            fars,
            params: SessionParams { remotes, ..*params },
            slots: self.slots.clone(),
            policy: self.slots.policy_of(&changed.rules)?,
            tolerated: self.tolerated.clone(),
            octets: self.octets,
            filter_memory: self.filter_memory,
        };
        changed.rules.fars.values().all(|far| profile.covers_far(far)).then_some(profile)
    }

    /// Both profiles are equal in effect.
    pub(super) fn is_equivalent(&self, other: &Self) -> bool {
        let can_be = (&self.fars, self.are_given) == (&other.fars, other.are_given)
            && self.slots == other.slots
            && self.session.rules.urrs == other.session.rules.urrs
            && (!self.slots.rates.is_empty() || self.session.rules.qers == other.session.rules.qers);
        can_be
            && self.session_with(&other.params, other.policy()) == other.session
            && self.tunnels(&other.params).eq(other.tunnels.iter().copied())
            && self.params.tunnels.map(|params| params.is_some())
                == other.params.tunnels.map(|params| params.is_some())
            && self.params.ue.is_some() == other.params.ue.is_some()
            && self.params.remotes.map(|params| params.is_some())
                == other.params.remotes.map(|params| params.is_some())
    }

    /// The PDR's tunnel and IPv4 address are parameters, and it refers only to values of the request.
    fn covers_pdr(&self, pdr: &Pdr) -> bool {
        pdr.pdi.application.is_none()
            && pdr.predefined.is_empty()
            && pdr.pdi.tunnel.is_none_or(|tunnel| self.tunnels.contains(&tunnel))
            && pdr.pdi.ue.and_then(|ue| ue.v4).is_none_or(|ue| Some(ue) == self.params.ue)
    }

    fn covers_far(&self, far: &Far) -> bool {
        let outer = far.forwarding.as_ref().and_then(|forwarding| forwarding.outer);
        outer.and_then(OuterHeader::tunnel) == self.remote_of(far.id, &self.params).map(FTeid::from)
    }

    /// The remote tunnel of a FAR, if it is a parameter.
    pub(super) fn remote_of(&self, far: FarId, params: &SessionParams) -> Option<Remote> {
        params.remotes.get(self.remote_index(far)?).copied().flatten()
    }

    /// The index of a FAR's tunnel in [`SessionParams::remotes`].
    pub(super) fn remote_index(&self, far: FarId) -> Option<usize> {
        self.fars.iter().position(|of| *of == Some(far))
    }

    /// The FARs whose remote tunnels are parameters.
    pub(super) const fn fars(&self) -> &Fars {
        &self.fars
    }

    /// A FAR of a session with these parameters; `None` if no part of it is a parameter.
    pub(super) fn far_with(&self, far: FarId, params: &SessionParams) -> Option<Far> {
        let mut renewed = self.session.rules.fars.get(&far)?.clone();
        set_tunnel(&mut renewed, self.remote_of(far, params)?);
        Some(renewed)
    }

    /// The FARs whose remote tunnels are parameters, in the order of [`SessionParams::remotes`].
    pub fn senders(&self) -> impl Iterator<Item = Option<&Far>> {
        self.fars.iter().map(|far| self.session.rules.fars.get(&(*far)?))
    }

    /// The parameters of the first session.
    pub const fn params(&self) -> &SessionParams {
        &self.params
    }

    /// The policy of the first session, if it is a parameter.
    pub const fn policy(&self) -> Option<&Arc<Policy>> {
        self.policy.as_ref()
    }

    /// The tolerated deviations of the request.
    pub(super) fn tolerated(&self) -> &[Leniency] {
        &self.tolerated
    }

    /// The places of the policy in the rules.
    pub(super) const fn slots(&self) -> &PolicySlots {
        &self.slots
    }

    /// The length of the first request in octets.
    pub const fn octets(&self) -> usize {
        self.octets
    }

    /// The rules of the first session.
    pub const fn rules(&self) -> &RuleSet {
        &self.session.rules
    }

    /// [`RuleSet::filter_memory`] of its rules.
    pub const fn filter_memory(&self) -> usize {
        self.filter_memory
    }

    /// The SMF that establishes sessions of this profile.
    pub fn node(&self) -> Option<&NodeId> {
        self.session.established_by.as_ref()
    }

    pub(super) const fn session(&self) -> &SessionRules {
        &self.session
    }

    /// The PDRs whose F-TEID the UPF chooses, in the order of the request.
    pub(super) fn chosen(&self, params: &SessionParams) -> impl Iterator<Item = (PdrId, FTeid)> {
        self.chosen.iter().map(|(pdr, tunnel)| (*pdr, self.rebind_tunnel(*tunnel, params)))
    }

    /// The local tunnels of a session.
    pub(super) fn tunnels(&self, params: &SessionParams) -> impl Iterator<Item = FTeid> + Clone {
        let both = self.tunnels.iter().zip(params.tunnels);
        both.filter_map(|(tunnel, teid)| Some(FTeid { teid: teid?, addr: tunnel.addr }))
    }

    /// The UE addresses of a session that no other session may have.
    pub(super) fn addresses(&self, params: &SessionParams) -> impl Iterator<Item = ClaimedPrefix> {
        self.nets(params).map(|(held, net)| ClaimedPrefix { net, ..held.clone() })
    }

    /// The same: each as in the profile, with the address of this session.
    pub(super) fn nets(&self, params: &SessionParams) -> impl Iterator<Item = (&ClaimedPrefix, IpNet)> {
        let (mine, params) = (self.params.ue.map(net), params.ue.map(net));
        let renewed = move |net: IpNet| if Some(net) == mine { params.unwrap_or(net) } else { net };
        self.session.addresses.iter().map(move |held| (held, renewed(held.net)))
    }

    /// Chooses the tunnels of a session and claims them and its addresses. `None`: another session has one of them,
    /// or no TEID is free, and nothing is taken.
    pub(super) fn take(
        &self,
        params: &SessionParams,
        seid: Seid,
        tunnels: &mut Tunnels,
        addresses: &mut Addresses,
    ) -> Option<SessionParams> {
        if !self.are_given && (tunnels.available() as usize) < self.tunnels.len() {
            return None;
        }
        if let (Some(held), Some(ue)) = (self.ue_claim(), params.ue) {
            if !addresses.try_claim_host(seid, held, ue) {
                return None;
            }
            let taken = self.tunnels_for(params, seid, tunnels);
            if taken.is_none() {
                addresses.undo_claim(seid, held, &net(ue));
            }
            return taken;
        }
        let claim = |(held, net): &(&ClaimedPrefix, IpNet)| addresses.try_claim(seid, held, net);
        let claimed = self.nets(params).take_while(claim).count();
        let taken = if claimed == self.session.addresses.len() {
            self.tunnels_for(params, seid, tunnels)
        } else {
            None
        };
        if taken.is_none() {
            self.nets(params).take(claimed).for_each(|(held, net)| addresses.undo_claim(seid, held, &net));
        }
        taken
    }

    /// The UE address of the first session, if it is a parameter.
    fn ue_claim(&self) -> Option<&ClaimedPrefix> {
        let mut all = self.session.addresses.iter();
        let only = all.next().filter(|_| all.next().is_none())?;
        (Some(only.net) == self.params.ue.map(net)).then_some(only)
    }

    fn tunnels_for(
        &self,
        params: &SessionParams,
        seid: Seid,
        tunnels: &mut Tunnels,
    ) -> Option<SessionParams> {
        if self.are_given {
            return tunnels.try_claim(seid, self.tunnels(params)).then_some(*params);
        }
        let follows_ues = tunnels.follow_ues();
        let mut known = self.tunnels.iter().map(|tunnel| {
            let ue = params.ue.filter(|_| follows_ues && self.is_of_ue(*tunnel));
            (tunnel.addr, ue)
        });
        let wanted = [(); MAX_TUNNELS].map(|()| known.next());
        Some(SessionParams { tunnels: tunnels.take_all(seid, wanted)?, ..*params })
    }

    /// PDRs of this tunnel contain the UE address.
    fn is_of_ue(&self, tunnel: FTeid) -> bool {
        let mut pdrs = self.session.rules.pdrs.values();
        pdrs.any(|pdr| pdr.pdi.tunnel == Some(tunnel) && pdr.pdi.ue.is_some_and(|ue| ue.v4.is_some()))
    }

    /// The rules of a session with these parameters.
    pub(super) fn session_with(&self, params: &SessionParams, policy: Option<&Arc<Policy>>) -> SessionRules {
        let mut session = self.session.clone();
        session.rules.pdrs.replace(|pdr| self.pdr_with(pdr, params));
        for (far, params) in self.fars.iter().zip(params.remotes) {
            if let (Some(far), Some(params)) = (far.and_then(|far| session.rules.fars.get_mut(&far)), params)
            {
                set_tunnel(far, params);
            }
        }
        for tunnel in session.choose_ids.values_mut() {
            *tunnel = self.rebind_tunnel(*tunnel, params);
        }
        session.addresses = self.addresses(params).collect::<SortedSet<_>>();
        policy.into_iter().for_each(|policy| self.slots.write(policy, &mut session.rules));
        session
    }

    fn pdr_with(&self, pdr: Arc<Pdr>, params: &SessionParams) -> Arc<Pdr> {
        let address = pdr.pdi.ue.map(|held| UeAddress { v4: held.v4.and(params.ue), ..held });
        let tunnel = pdr.pdi.tunnel.map(|tunnel| self.rebind_tunnel(tunnel, params));
        if (address, tunnel) == (pdr.pdi.ue, pdr.pdi.tunnel) {
            return pdr;
        }
        let mut renewed = Pdr::clone(&pdr);
        (renewed.pdi.ue, renewed.pdi.tunnel) = (address, tunnel);
        Arc::new(renewed)
    }

    /// The session's tunnel for one of the profile's tunnels.
    fn rebind_tunnel(&self, tunnel: FTeid, params: &SessionParams) -> FTeid {
        let at = self.tunnels.iter().position(|known| *known == tunnel);
        let teid = at.and_then(|at| params.tunnels.get(at).copied().flatten());
        FTeid { teid: teid.unwrap_or(tunnel.teid), ..tunnel }
    }
}

fn set_tunnel(far: &mut Far, remote: Remote) {
    if let Some(OuterHeader::Gtpu(tunnel)) = far.forwarding.as_mut().and_then(|it| it.outer.as_mut()) {
        *tunnel = remote.into();
    }
}

/// The FARs with tunnels over IPv4, and those tunnels. `None`: there are too many, or other tunnels.
fn remotes_of(rules: &RuleSet) -> Option<(Fars, [Option<Remote>; MAX_TUNNELS])> {
    let (mut fars, mut remotes) = ([None; MAX_TUNNELS], [None; MAX_TUNNELS]);
    let mut places = fars.iter_mut().zip(&mut remotes);
    for far in rules.fars.values() {
        if let Some(tunnel) = far.forwarding.as_ref().and_then(|it| it.tunnel()) {
            let (id, remote) = places.next()?;
            (*id, *remote) = (Some(far.id), Some(Remote::of(tunnel)?));
        }
    }
    Some((fars, remotes))
}

fn net(ip: Ipv4Addr) -> IpNet {
    IpNet::from(IpAddr::V4(ip))
}
