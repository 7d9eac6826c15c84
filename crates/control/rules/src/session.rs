//! The control plane's state of a session's rules.

use causeway_collections::{SortedMap, SortedSet};
use causeway_types::{FTeid, IpNet, NetworkInstance, NodeId, PdrId, UrrId};

use crate::addresses::{ClaimedPrefix, PrefixKind};
use crate::edits::{Endpoint, EndpointId};
use causeway_model::{Pdr, PduSessionType, RuleSet, UeAddress, UeSide};

/// The rules of a session, with the state that the data plane does not need: CHOOSE IDs and their tunnels, traffic
/// endpoints, and the state of the reports.
///
/// Changed only through [`crate::establish`], [`crate::modify`] and [`SessionRules::usage_report`]; made of the rules of another by
/// [`SessionRules::adopted`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionRules {
    pub(crate) rules: RuleSet,
    pub(crate) choose_ids: SortedMap<u8, FTeid>,
    pub(crate) reports: SortedMap<UrrId, ReportState>,
    pub(crate) endpoints: SortedMap<EndpointId, Endpoint>,
    /// The traffic endpoint that a PDR refers to.
    pub(crate) endpoint_of: SortedMap<PdrId, EndpointId>,
    /// UE addresses that the UPF chose, with their data network.
    pub(crate) chosen_ues: SortedSet<(IpNet, NetworkInstance)>,
    /// UE addresses and framed routes that no other session may have.
    pub(crate) addresses: SortedSet<ClaimedPrefix>,
    /// The SMF that established the session: its QER Correlation IDs belong to this CP function.
    pub(crate) established_by: Option<NodeId>,
}

/// The reports of one URR so far, and the parts of it that the data plane does not need. Outlives the URR until its
/// final report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReportState {
    /// MNOP (TS 29.244 clause 8.2.68): packets are reported beside octets.
    pub(crate) packets: bool,
    /// RADI (TS 29.244 clause 8.2.68): of detected applications only the Application ID is reported.
    pub(crate) reduced_detection: bool,
    /// The UR-SEQN of the next report.
    pub(crate) next: u32,
}

impl SessionRules {
    /// A session of this kind without rules.
    pub(crate) fn of_type(pdu_type: PduSessionType) -> Self {
        Self { rules: RuleSet { pdu_type, ..RuleSet::default() }, ..Self::default() }
    }

    /// The rules as the data plane has them.
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// The local tunnels of this session.
    pub(crate) fn tunnels(&self) -> SortedSet<FTeid> {
        let of_pdrs = self.rules.pdrs.values().filter_map(|pdr| pdr.pdi.tunnel);
        of_pdrs.chain(self.endpoints.values().filter_map(|endpoint| endpoint.tunnel)).collect()
    }

    /// Sets the traffic endpoint that the PDR refers to, or none.
    pub(crate) fn set_endpoint(&mut self, pdr: PdrId, endpoint: Option<EndpointId>) {
        match endpoint {
            Some(endpoint) => drop(self.endpoint_of.insert(pdr, endpoint)),
            None => drop(self.endpoint_of.remove(&pdr)),
        }
    }

    /// Updates the addresses that no other session may have from the rules: those that the UPF chose, and those by
    /// which packets without a tunnel are found. A PDI without a network instance means `default`.
    pub(crate) fn sync_addresses(&mut self, default: Option<&NetworkInstance>) {
        let of_endpoints = self.endpoints.values().filter_map(|endpoint| endpoint.ue.first);
        let mut held: SortedSet<_> = of_endpoints.flat_map(nets).filter_map(|net| self.chosen(net)).collect();
        for pdr in self.rules.pdrs.values() {
            let nets = pdr.pdi.ue.into_iter().flat_map(nets);
            let ue = |net| self.chosen(net).or_else(|| found_by(pdr, (net, PrefixKind::Ue), default));
            held.extend(nets.filter_map(ue));
            let (further, framed) = (pdr.pdi.further_addresses(), pdr.pdi.framed_routes());
            let titled = further.iter().map(|net| (*net, PrefixKind::Ue));
            let titled = titled.chain(framed.iter().map(|net| (*net, PrefixKind::Route)));
            held.extend(titled.filter_map(|titled| found_by(pdr, titled, default)));
        }
        self.chosen_ues.retain(|(net, _)| held.iter().any(|held| held.chosen && held.net == *net));
        self.addresses = held;
    }

    fn chosen(&self, net: IpNet) -> Option<ClaimedPrefix> {
        let (_, network) = self.chosen_ues.iter().find(|(chosen, _)| *chosen == net)?;
        Some(ClaimedPrefix {
            network: network.clone(),
            net,
            chosen: true,
            all_networks: false,
            kind: PrefixKind::Ue,
        })
    }

    /// Discards CHOOSE IDs whose tunnel has no PDR any more.
    pub(crate) fn discard_unused_choose_ids(&mut self) {
        let tunnels = self.tunnels();
        self.choose_ids.retain(|_, tunnel| tunnels.contains(tunnel));
    }
}

/// The prefix, if packets without a tunnel are found by it.
fn found_by(
    pdr: &Pdr,
    (net, kind): (IpNet, PrefixKind),
    default: Option<&NetworkInstance>,
) -> Option<ClaimedPrefix> {
    let is_found = pdr.pdi.tunnel.is_none() && pdr.pdi.ue_side() == UeSide::Destination;
    let named = pdr.pdi.network_instance.as_ref();
    let network = named.or(default).filter(|_| is_found)?.clone();
    Some(ClaimedPrefix { network, net: net.trunc(), chosen: false, all_networks: named.is_none(), kind })
}

/// The prefixes of a UE address.
pub(crate) fn nets(ue: UeAddress) -> impl Iterator<Item = IpNet> {
    let v4 = ue.v4.map(|ip| IpNet::from(std::net::IpAddr::V4(ip)));
    v4.into_iter().chain(ue.v6.map(|net| IpNet::V6(net.trunc())))
}
