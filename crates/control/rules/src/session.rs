//! What the control plane keeps of a session's rules.

use std::collections::{BTreeMap, BTreeSet};

use causeway_types::{FTeid, PdrId, UrrId};

use crate::edits::{Endpoint, EndpointId};
use crate::{PduSessionType, RuleSet};

/// The rules of a session, with what the data plane need not know: which CHOOSE ID stands for which
/// tunnel, its traffic endpoints, and how far the reports have come.
///
/// Changed only through [`crate::establish`], [`crate::modify`] and [`SessionRules::usage_report`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionRules {
    pub(crate) rules: RuleSet,
    pub(crate) choose_ids: BTreeMap<u8, FTeid>,
    pub(crate) reports: BTreeMap<UrrId, ReportState>,
    pub(crate) endpoints: BTreeMap<EndpointId, Endpoint>,
    /// The traffic endpoint that a PDR refers to.
    pub(crate) endpoint_of: BTreeMap<PdrId, EndpointId>,
}

/// The reports of one URR so far, and what the data plane need not know of them. Outlives the URR until its
/// final report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReportState {
    /// MNOP (TS 29.244 clause 8.2.68): packets are reported beside octets.
    pub(crate) packets: bool,
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

    /// The tunnels that end here for this session.
    pub(crate) fn tunnels(&self) -> BTreeSet<FTeid> {
        let of_pdrs = self.rules.pdrs.values().filter_map(|pdr| pdr.pdi.tunnel);
        of_pdrs.chain(self.endpoints.values().filter_map(|endpoint| endpoint.tunnel)).collect()
    }

    /// The PDR refers to this traffic endpoint, or to none.
    pub(crate) fn refer(&mut self, pdr: PdrId, endpoint: Option<EndpointId>) {
        match endpoint {
            Some(endpoint) => drop(self.endpoint_of.insert(pdr, endpoint)),
            None => drop(self.endpoint_of.remove(&pdr)),
        }
    }

    /// Forgets CHOOSE IDs whose tunnel no PDR has any more.
    pub(crate) fn forget_unused_choose_ids(&mut self) {
        let tunnels = self.tunnels();
        self.choose_ids.retain(|_, tunnel| tunnels.contains(tunnel));
    }
}
