//! What the control plane keeps of a session's rules.

use std::collections::{BTreeMap, BTreeSet};

use causeway_types::{FTeid, IpNet, NetworkInstance, UrrId};

use crate::addresses::Held;
use crate::{MeasurementMethod, Pdr, RuleSet, UeAddress, UeSide};

/// The rules of a session, with what the data plane need not know: which CHOOSE ID stands for which
/// tunnel, and how usage is reported.
///
/// Changed only through [`crate::establish`], [`crate::modify`] and [`SessionRules::usage_report`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionRules {
    pub(crate) rules: RuleSet,
    pub(crate) choose_ids: BTreeMap<u8, FTeid>,
    /// UE addresses that the UPF chose, with their data network.
    pub(crate) chosen_ues: BTreeSet<(IpNet, NetworkInstance)>,
    /// UE addresses that no other session may have.
    pub(crate) addresses: BTreeSet<Held>,
    pub(crate) reports: BTreeMap<UrrId, ReportState>,
}

/// How the usage of a URR is reported (Measurement Information, TS 29.244 clause 8.2.68); the counting
/// itself is not touched by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Reporting {
    /// MNOP: packets are reported beside octets.
    pub packets: bool,
    /// ISTM: time runs from the start of the measurement, not from its first packet.
    pub immediate_start: bool,
}

/// The reports of one URR so far, and what they contain. Outlives the URR until its final report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReportState {
    pub(crate) reporting: Reporting,
    pub(crate) method: MeasurementMethod,
    pub(crate) before_qos: bool,
    /// The UR-SEQN of the next report.
    pub(crate) next: u32,
}

impl SessionRules {
    /// The rules as the data plane has them.
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// The tunnels that end here for this session.
    pub(crate) fn tunnels(&self) -> BTreeSet<FTeid> {
        self.rules.pdrs.values().filter_map(|pdr| pdr.pdi.tunnel).collect()
    }

    /// Brings what reports contain up to date with the URRs.
    pub(crate) fn sync_reports(&mut self) {
        for (id, urr) in &self.rules.urrs {
            let state = self.reports.entry(*id).or_default();
            (state.method, state.before_qos) = (urr.method, urr.before_qos);
        }
    }

    /// Brings the addresses that are this session's alone up to date with the PDRs: those that the UPF chose, and
    /// those by which packets without a tunnel are found. A PDI that names no data network means `default`.
    pub(crate) fn sync_addresses(&mut self, default: Option<&NetworkInstance>) {
        let mut held = BTreeSet::new();
        for pdr in self.rules.pdrs.values() {
            held.extend(pdr.pdi.ue.into_iter().flat_map(nets).filter_map(|net| self.held(pdr, net, default)));
        }
        self.chosen_ues.retain(|(net, _)| held.iter().any(|held| held.chosen && held.net == *net));
        self.addresses = held;
    }

    fn held(&self, pdr: &Pdr, net: IpNet, default: Option<&NetworkInstance>) -> Option<Held> {
        if let Some((_, network)) = self.chosen_ues.iter().find(|(chosen, _)| *chosen == net) {
            return Some(Held { network: network.clone(), net, chosen: true });
        }
        let is_found_by_it =
            pdr.pdi.tunnel.is_none() && pdr.pdi.ue.is_some_and(|ue| ue.side == UeSide::Destination);
        let network = pdr.pdi.network_instance.as_ref().or(default).filter(|_| is_found_by_it)?;
        Some(Held { network: network.clone(), net, chosen: false })
    }

    /// Forgets CHOOSE IDs whose tunnel no PDR has any more.
    pub(crate) fn forget_unused_choose_ids(&mut self) {
        let tunnels = self.tunnels();
        self.choose_ids.retain(|_, tunnel| tunnels.contains(tunnel));
    }
}

/// The prefixes of a UE address.
pub(crate) fn nets(ue: UeAddress) -> impl Iterator<Item = IpNet> {
    let v4 = ue.v4.map(|ip| IpNet::from(std::net::IpAddr::V4(ip)));
    v4.into_iter().chain(ue.v6.map(|net| IpNet::V6(net.trunc())))
}
