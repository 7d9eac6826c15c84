//! What the sessions of one profile share.

use std::sync::Arc;

use causeway_types::{FTeid, FTeidV4, FarId, Ipv6Net, Teid};

use super::FurtherParams;
use super::further::AllParams;
use super::params::{MAX_TUNNELS, Policy, PolicySlots, SessionParams};
use crate::{Far, OuterHeader, Pdr, RuleSet, UeAddress};

/// The octets of the request for which the memory of a profile made of rules is estimated: at least, and for each PDR.
const OF_RULES: usize = 1 << 10;
const OF_A_PDR: usize = 1 << 8;

/// The FARs whose remote tunnels are parameters, in the order of [`SessionParams::remotes`].
pub type RemoteFars = [Option<FarId>; MAX_TUNNELS];

/// The common part of sessions of one policy: everything except their [`SessionParams`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionProfile {
    /// The rules of the first session with this profile.
    rules: RuleSet,
    /// Its local tunnels, in the order of [`SessionParams::tunnels`], then the further ones.
    tunnels: Vec<FTeid>,
    fars: RemoteFars,
    /// Its parameters.
    params: SessionParams,
    /// The places of the policy in the rules, if it is a parameter.
    slots: PolicySlots,
    /// Its policy.
    policy: Option<Arc<Policy>>,
    /// The memory of the profile is a multiple of this number of octets.
    octets: usize,
    /// [`RuleSet::variable_memory`] of the rules.
    variable_memory: usize,
    /// `false`: the profile of one session.
    is_shared: bool,
}

impl SessionProfile {
    /// The profile of a first session with these rules. `tunnels`: its local tunnels, in the order of
    /// [`SessionParams::tunnels`], whose TEIDs replace those in `params`. `octets`: the length of the request, to which
    /// the memory of the profile is proportional.
    ///
    /// `None`: something else than the parameters may differ for the next session.
    pub fn new(
        rules: RuleSet,
        tunnels: Vec<FTeid>,
        fars: RemoteFars,
        params: SessionParams,
        slots: PolicySlots,
        octets: usize,
    ) -> Option<Self> {
        Self::with_further(rules, (tunnels, fars, params), slots, None, octets)
    }

    /// The same with further parameters, if there are slots for them.
    fn with_further(
        rules: RuleSet,
        (tunnels, fars, mut params): (Vec<FTeid>, RemoteFars, SessionParams),
        slots: PolicySlots,
        further: Option<Box<FurtherParams>>,
        octets: usize,
    ) -> Option<Self> {
        params.tunnels.iter_mut().zip(&tunnels).for_each(|(slot, tunnel)| *slot = Some(tunnel.teid));
        let (policy, variable_memory) = (slots.policy_of(&rules, further)?, rules.variable_memory());
        let profile =
            Self { rules, tunnels, fars, params, slots, policy, octets, variable_memory, is_shared: true };
        profile.covers_rules().then_some(profile)
    }

    /// The profile of a single session with these rules: it has no parameters.
    pub(super) fn unshared(rules: RuleSet) -> Self {
        Self {
            variable_memory: rules.variable_memory(),
            rules,
            tunnels: Vec::new(),
            fars: RemoteFars::default(),
            params: SessionParams::default(),
            slots: PolicySlots::default(),
            policy: None,
            octets: 0,
            is_shared: false,
        }
    }

    /// The profile of a session with these rules that is made from them alone: all of its addresses and tunnels, bit rates, and flow descriptions
    /// without an id are parameters. `None`: as for [`SessionProfile::new`], or there are more tunnels than [`FurtherParams`] has.
    pub fn of_rules(rules: &RuleSet) -> Option<Self> {
        let AllParams { fars, params, tunnels, slots: further_slots, further } = AllParams::of(rules)?;
        let slots = PolicySlots { further: further_slots, ..PolicySlots::of_rules(rules) };
        Self::with_further(rules.clone(), (tunnels, fars, params), slots, further, octets_of(rules))
    }

    /// Some IPv6 prefix of the rules is no parameter: all sessions of the profile have it.
    pub fn has_fixed_prefix(&self) -> bool {
        !self.slots.further.has_prefix
            && self.rules.pdrs.values().any(|pdr| pdr.pdi.ue.is_some_and(|ue| ue.v6.is_some()))
    }

    /// The profile of a session of this profile after a change of FARs only: `params` are its parameters before,
    /// `changed` its rules after. `None`: as for [`SessionProfile::new`].
    pub fn with_fars(&self, params: &SessionParams, changed: &RuleSet) -> Option<Self> {
        let (fars, remotes) = Self::remotes_of(changed)?;
        let profile = Self {
            rules: changed.clone(),
            tunnels: self.tunnels(params).collect(),
            fars,
            params: SessionParams { remotes, ..*params },
            slots: self.slots.clone(),
            policy: self.slots.policy_of(changed, self.further().cloned().map(Box::new))?,
            octets: self.octets,
            variable_memory: self.variable_memory,
            is_shared: true,
        };
        changed.fars.values().all(|far| profile.covers_far(far)).then_some(profile)
    }

    /// The FARs with tunnels over IPv4, and those tunnels. `None`: there are too many, or other tunnels.
    pub fn remotes_of(rules: &RuleSet) -> Option<(RemoteFars, [Option<FTeidV4>; MAX_TUNNELS])> {
        let (mut fars, mut remotes) = ([None; MAX_TUNNELS], [None; MAX_TUNNELS]);
        let mut places = fars.iter_mut().zip(&mut remotes);
        for far in rules.fars.values() {
            if let Some(tunnel) = far.forwarding.as_ref().and_then(|it| it.tunnel()) {
                let (id, remote) = places.next()?;
                (*id, *remote) = (Some(far.id), Some(FTeidV4::of(tunnel)?));
            }
        }
        Some((fars, remotes))
    }

    /// Both profiles give equal parameters equal rules.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        let form = |params: &SessionParams| {
            (
                params.ue.is_some(),
                params.tunnels.map(|it| it.is_some()),
                params.remotes.map(|it| it.is_some()),
            )
        };
        self.fars == other.fars
            && self.slots == other.slots
            && form(&self.params) == form(&other.params)
            && self.rules.urrs == other.rules.urrs
            && (!self.slots.rates.is_empty() || self.rules.qers == other.rules.qers)
            && self.rules_with(&other.params, other.policy()) == other.rules
            && self
                .tunnels(&other.params)
                .chain(self.further_tunnels(other.further()))
                .eq(other.tunnels.iter().copied())
    }

    /// The further parameters of the first session.
    fn further(&self) -> Option<&FurtherParams> {
        self.policy.as_ref()?.further.as_deref()
    }

    /// Every value of the rules is the same for all sessions of the profile, or a parameter.
    fn covers_rules(&self) -> bool {
        self.tunnels.len() <= MAX_TUNNELS + self.slots.further.tunnels
            && self.rules.pdrs.values().all(|pdr| self.covers_pdr(pdr))
            && self.rules.fars.values().all(|far| self.covers_far(far))
    }

    /// The PDR's tunnel and addresses are parameters, and it refers only to values of the request.
    fn covers_pdr(&self, pdr: &Pdr) -> bool {
        let prefix = pdr.pdi.ue.and_then(|ue| ue.v6);
        let has_its_prefix = !self.slots.further.has_prefix
            || prefix.is_none_or(|prefix| self.further().and_then(|it| it.prefix) == Some(prefix));
        has_its_prefix
            && pdr.pdi.application.is_none()
            && pdr.predefined.is_empty()
            && pdr.pdi.tunnel.is_none_or(|tunnel| self.tunnels.contains(&tunnel))
            && pdr.pdi.ue.and_then(|ue| ue.v4).is_none_or(|ue| Some(ue) == self.params.ue)
    }

    fn covers_far(&self, far: &Far) -> bool {
        let outer = far.forwarding.as_ref().and_then(|forwarding| forwarding.outer);
        outer.and_then(OuterHeader::tunnel) == self.tunnel_of(far.id, &self.params, self.further())
    }

    /// The remote tunnel of a FAR, if it is a parameter or a further one.
    fn tunnel_of(
        &self,
        far: FarId,
        params: &SessionParams,
        further: Option<&FurtherParams>,
    ) -> Option<FTeid> {
        let Some(number) = self.slots.further.number_of(far) else {
            return self.remote_of(far, params).map(FTeid::from);
        };
        match params.remotes.get(number) {
            Some(usual) => usual.map(FTeid::from),
            None => further?.remotes.get(number - MAX_TUNNELS).copied(),
        }
    }

    /// The remote tunnel of a FAR, if it is a parameter.
    pub fn remote_of(&self, far: FarId, params: &SessionParams) -> Option<FTeidV4> {
        params.remotes.get(self.remote_index(far)?).copied().flatten()
    }

    /// The index of a FAR's tunnel in [`SessionParams::remotes`].
    pub fn remote_index(&self, far: FarId) -> Option<usize> {
        self.fars.iter().position(|of| *of == Some(far))
    }

    /// The FARs whose remote tunnels are parameters.
    pub const fn fars(&self) -> &RemoteFars {
        &self.fars
    }

    /// A FAR of a session with these parameters; `None` if no part of it is a parameter.
    pub(super) fn far_with(&self, far: FarId, params: &SessionParams) -> Option<Far> {
        let mut renewed = self.rules.fars.get(&far)?.clone();
        set_tunnel(&mut renewed, self.remote_of(far, params)?.into());
        Some(renewed)
    }

    /// The FARs whose remote tunnels are parameters, in the order of [`SessionParams::remotes`].
    pub fn senders(&self) -> impl Iterator<Item = Option<&Far>> {
        self.fars.iter().map(|far| self.rules.fars.get(&(*far)?))
    }

    /// The further FARs, each with the number of its remote tunnel: first come those of [`SessionParams::remotes`], then
    /// [`FurtherParams::remotes`].
    pub fn further_senders(&self) -> impl Iterator<Item = (Option<&Far>, usize)> {
        self.slots.further.fars.iter().map(|(far, number)| (self.rules.fars.get(far), *number))
    }

    /// The parameters of the first session.
    pub const fn params(&self) -> &SessionParams {
        &self.params
    }

    /// The policy of the first session, if it is a parameter.
    pub const fn policy(&self) -> Option<&Arc<Policy>> {
        self.policy.as_ref()
    }

    /// The places of the policy in the rules.
    pub const fn slots(&self) -> &PolicySlots {
        &self.slots
    }

    /// The memory of the profile is a multiple of this number of octets.
    pub const fn octets(&self) -> usize {
        self.octets
    }

    /// It is made for many sessions. `false`: its only session has no parameters.
    pub const fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// The rules of the first session.
    pub const fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// [`RuleSet::variable_memory`] of its rules.
    pub const fn variable_memory(&self) -> usize {
        self.variable_memory
    }

    /// The local tunnels of the first session.
    pub fn first_tunnels(&self) -> &[FTeid] {
        &self.tunnels
    }

    /// The further local tunnels of a session.
    pub fn further_tunnels(&self, further: Option<&FurtherParams>) -> impl Iterator<Item = FTeid> {
        let teids = further.map_or(&[][..], |further| &further.tunnels);
        let both = self.tunnels.iter().skip(MAX_TUNNELS).zip(teids);
        both.map(|(tunnel, teid)| FTeid { teid: *teid, addr: tunnel.addr })
    }

    /// The local tunnels of a session that are session parameters.
    pub fn tunnels(&self, params: &SessionParams) -> impl Iterator<Item = FTeid> + Clone {
        let both = self.tunnels.iter().zip(params.tunnels);
        both.filter_map(|(tunnel, teid)| Some(FTeid { teid: teid?, addr: tunnel.addr }))
    }

    /// PDRs of this tunnel of the first session contain the UE address.
    pub fn is_of_ue(&self, tunnel: FTeid) -> bool {
        let mut pdrs = self.rules.pdrs.values();
        pdrs.any(|pdr| pdr.pdi.tunnel == Some(tunnel) && pdr.pdi.ue.is_some_and(|ue| ue.v4.is_some()))
    }

    /// The rules of a session with these parameters. O(rules).
    pub fn rules_with(&self, params: &SessionParams, policy: Option<&Arc<Policy>>) -> RuleSet {
        let mut rules = self.rules.clone();
        if !self.is_shared {
            return rules;
        }
        let further = policy.and_then(|policy| policy.further.as_deref());
        rules.pdrs.replace(|pdr| self.pdr_with(pdr, params, further));
        for (far, params) in self.fars.iter().zip(params.remotes) {
            if let (Some(far), Some(params)) = (far.and_then(|far| rules.fars.get_mut(&far)), params) {
                set_tunnel(far, params.into());
            }
        }
        for (id, _) in &self.slots.further.fars {
            if let (Some(far), Some(tunnel)) = (rules.fars.get_mut(id), self.tunnel_of(*id, params, further))
            {
                set_tunnel(far, tunnel);
            }
        }
        policy.into_iter().for_each(|policy| self.slots.write(policy, &mut rules));
        rules
    }

    fn pdr_with(&self, pdr: Arc<Pdr>, params: &SessionParams, further: Option<&FurtherParams>) -> Arc<Pdr> {
        let prefix = further.and_then(|further| further.prefix);
        let v6 = |held: Option<Ipv6Net>| held.map(|held| prefix.unwrap_or(held));
        let renewed = |held: UeAddress| UeAddress { v4: held.v4.and(params.ue), v6: v6(held.v6), ..held };
        let address = pdr.pdi.ue.map(renewed);
        let tunnel = pdr.pdi.tunnel.map(|tunnel| match self.further_teid(tunnel, further) {
            Some(teid) => FTeid { teid, ..tunnel },
            None => self.tunnel_with(tunnel, params),
        });
        if (address, tunnel) == (pdr.pdi.ue, pdr.pdi.tunnel) {
            return pdr;
        }
        let mut renewed = Pdr::clone(&pdr);
        (renewed.pdi.ue, renewed.pdi.tunnel) = (address, tunnel);
        Arc::new(renewed)
    }

    /// The TEID of a session that stands for that of a further tunnel of the first session.
    fn further_teid(&self, tunnel: FTeid, further: Option<&FurtherParams>) -> Option<Teid> {
        let at = self.tunnels.iter().skip(MAX_TUNNELS).position(|known| *known == tunnel)?;
        further?.tunnels.get(at).copied()
    }

    /// The tunnel of a session with these parameters that stands for this tunnel of the first session.
    pub fn tunnel_with(&self, tunnel: FTeid, params: &SessionParams) -> FTeid {
        let at = self.tunnels.iter().position(|known| *known == tunnel);
        let teid = at.and_then(|at| params.tunnels.get(at).copied().flatten());
        FTeid { teid: teid.unwrap_or(tunnel.teid), ..tunnel }
    }
}

/// The octets for which the memory of a profile of these rules is estimated.
pub(super) fn octets_of(rules: &RuleSet) -> usize {
    OF_RULES.max(rules.pdrs.len() * OF_A_PDR + rules.variable_memory())
}

fn set_tunnel(far: &mut Far, remote: FTeid) {
    if let Some(OuterHeader::Gtpu(tunnel)) = far.forwarding.as_mut().and_then(|it| it.outer.as_mut()) {
        *tunnel = remote;
    }
}
