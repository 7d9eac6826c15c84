//! What the control plane keeps of a session profile beside its rules.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use causeway_collections::SortedSet;
use causeway_model::{MAX_TUNNELS, Policy, PolicySlots, SessionParams, SessionProfile};
use causeway_pfcp::template::RequestSlots;
use causeway_types::{FTeid, IpNet, NodeId, PdrId, Seid};

use super::policy_slots_of;
use super::restored::ue_of;
use crate::addresses::ClaimedPrefix;
use crate::change::Change;
use crate::edits::ChosenUes;
use crate::tunnels::OwnUe;
use crate::{Claims, Leniency, SessionRules, Tunnels};

/// The octets of the request for which the memory of a profile of restored sessions is estimated.
const RESTORED_OCTETS: usize = 1 << 10;

/// A session profile with the control-plane state of its first session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControlProfile {
    profile: Arc<SessionProfile>,
    /// The first session.
    session: SessionRules,
    chosen: Vec<(PdrId, FTeid)>,
    /// The SMF assigned the local tunnels, not the UPF.
    are_given: bool,
    /// The tolerated deviations of the request.
    tolerated: Vec<Leniency>,
}

impl ControlProfile {
    /// The profile of a request with these parameters and slots, of this length in octets, which had this result.
    /// `None`: something else than the parameters may differ for the next session.
    pub(super) fn of(
        change: &Change,
        params: &SessionParams,
        slots: &RequestSlots,
        octets: usize,
    ) -> Option<Self> {
        let session = &change.session;
        // Tolerated deviations depend on rates.
        if slots.has_policy() && !change.tolerated.is_empty() {
            return None;
        }
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
            && session.chosen_ues.is_empty();
        let rules = session.rules.clone();
        let profile =
            SessionProfile::new(rules, tunnels, *slots.fars(), *params, policy_slots_of(slots), octets)?;
        has_plain_end.then(|| Self {
            profile: Arc::new(profile),
            session: session.clone(),
            chosen: change.chosen.clone(),
            are_given,
            tolerated: change.tolerated.clone(),
        })
    }

    /// The profile of sessions that are restored as this one was. `None`: as for [`ControlProfile::of`].
    pub(super) fn of_restored(session: &SessionRules) -> Option<Self> {
        let rules = &session.rules;
        let (fars, remotes) = SessionProfile::remotes_of(rules)?;
        let mut tunnels = Vec::new();
        for tunnel in rules.pdrs.values().filter_map(|pdr| pdr.pdi.tunnel) {
            if !tunnels.contains(&tunnel) {
                tunnels.push(tunnel);
            }
        }
        let params = SessionParams { ue: ue_of(rules), remotes, ..SessionParams::default() };
        let slots = PolicySlots::default();
        let profile = SessionProfile::new(rules.clone(), tunnels, fars, params, slots, RESTORED_OCTETS)?;
        let has_plain_end =
            session.endpoints.is_empty() && session.endpoint_of.is_empty() && session.chosen_ues.is_empty();
        has_plain_end.then(|| Self {
            profile: Arc::new(profile),
            session: session.clone(),
            chosen: Vec::new(),
            // Whoever chose them, each session has its own already.
            are_given: true,
            tolerated: Vec::new(),
        })
    }

    /// A session with these parameters has these rules, but for the state of its reports.
    pub(super) fn is_of(&self, session: &SessionRules, params: &SessionParams) -> bool {
        let mut made = self.session_with(params, None);
        made.reports.clone_from(&session.reports);
        made == *session
    }

    /// The profile of a session with these parameters after a change of FARs only. `None`: as for
    /// [`ControlProfile::of`].
    pub(super) fn with_fars(&self, params: &SessionParams, changed: &SessionRules) -> Option<Self> {
        Some(Self {
            profile: Arc::new(self.profile.with_fars(params, &changed.rules)?),
            session: SessionRules { reports: self.session.reports.clone(), ..changed.clone() },
            chosen: self.chosen(params).collect(),
            are_given: self.are_given,
            tolerated: self.tolerated.clone(),
        })
    }

    /// Both profiles are equal in effect.
    pub(super) fn is_equivalent(&self, other: &Self) -> bool {
        let theirs = &other.profile;
        self.are_given == other.are_given
            && self.profile.is_equivalent(theirs)
            && self.session_with(theirs.params(), theirs.policy()) == other.session
    }

    /// The session profile, as the data plane has it.
    pub const fn profile(&self) -> &Arc<SessionProfile> {
        &self.profile
    }

    /// The tolerated deviations of the request.
    pub(super) fn tolerated(&self) -> &[Leniency] {
        &self.tolerated
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
        self.chosen.iter().map(|(pdr, tunnel)| (*pdr, self.profile.tunnel_with(*tunnel, params)))
    }

    /// The UE addresses of a session that no other session may have.
    pub(super) fn addresses(&self, params: &SessionParams) -> impl Iterator<Item = ClaimedPrefix> {
        self.nets(params).map(|(held, net)| ClaimedPrefix { net, ..held.clone() })
    }

    /// The same: each as in the profile, with the address of this session.
    pub(super) fn nets(&self, params: &SessionParams) -> impl Iterator<Item = (&ClaimedPrefix, IpNet)> {
        let (mine, params) = (self.profile.params().ue.map(net), params.ue.map(net));
        let renewed = move |net: IpNet| if Some(net) == mine { params.unwrap_or(net) } else { net };
        self.session.addresses.iter().map(move |held| (held, renewed(held.net)))
    }

    /// Chooses the tunnels of a session and claims them and its addresses. `None`: another session has one of them,
    /// or no TEID is free, and nothing is taken.
    pub(super) fn take(
        &self,
        params: &SessionParams,
        seid: Seid,
        claims: &mut Claims,
    ) -> Option<SessionParams> {
        let Claims { tunnels, addresses } = claims;
        if !self.are_given && (tunnels.available() as usize) < self.profile.first_tunnels().len() {
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
        (Some(only.net) == self.profile.params().ue.map(net)).then_some(only)
    }

    fn tunnels_for(
        &self,
        params: &SessionParams,
        seid: Seid,
        tunnels: &mut Tunnels,
    ) -> Option<SessionParams> {
        if self.are_given {
            return tunnels.try_claim(seid, self.profile.tunnels(params)).then_some(*params);
        }
        let follows_ues = tunnels.follow_ues();
        // All its sessions are of the data network of the first one.
        let first = self.profile.first_tunnels().iter();
        let network = first.filter_map(|tunnel| tunnels.network_of(tunnel.teid)).next().cloned();
        let mut known = self.profile.first_tunnels().iter().map(|tunnel| {
            let ue = params.ue.filter(|_| follows_ues && self.profile.is_of_ue(*tunnel));
            (tunnel.addr, ue.map(|ue| OwnUe { ue, network: network.as_ref() }))
        });
        let wanted = [(); MAX_TUNNELS].map(|()| known.next());
        Some(SessionParams { tunnels: tunnels.take_all(seid, wanted)?, ..*params })
    }

    /// The control-plane state of a session with these parameters. O(rules).
    pub(super) fn session_with(&self, params: &SessionParams, policy: Option<&Arc<Policy>>) -> SessionRules {
        let rules = self.profile.rules_with(params, policy);
        let addresses = self.addresses(params).collect::<SortedSet<_>>();
        let mut session = SessionRules { rules, addresses, ..self.session.clone() };
        for tunnel in session.choose_ids.values_mut() {
            *tunnel = self.profile.tunnel_with(*tunnel, params);
        }
        session
    }
}

fn net(ip: Ipv4Addr) -> IpNet {
    IpNet::from(IpAddr::V4(ip))
}
