//! All rules of one session.

use std::fmt;

use causeway_types::{BarId, FarId, Interface, NetworkInstance, PdrId, QerId, SNssai, Span, UrrId};

use super::{
    Bar, EthernetFilter, Far, Forwarding, HttpField, MacMatch, PagingPolicy, Pdi, Pdr, Qer, Redirect,
    RuleMap, SdfFilter, Urr, UsageLimits,
};

/// The kind of a PDU session's user packets (PDN Type, TS 29.244 clause 8.2.79), fixed at its establishment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum PduSessionType {
    /// IPv4, IPv6 or both: user packets are IP packets.
    #[default]
    Ip,
    /// Ethernet: user packets are frames, starting with the destination address, without preamble and frame check
    /// sequence (TS 23.501 clause 5.6.10.2).
    Ethernet,
}

impl fmt::Display for PduSessionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ip => "IP",
            Self::Ethernet => "Ethernet",
        })
    }
}

/// The rules of one session, by id, and the properties of the session as a whole. Validation ensures that every
/// reference resolves.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RuleSet {
    /// The PDU session type.
    pub pdu_type: PduSessionType,
    /// Packet Detection Rules.
    pub pdrs: RuleMap<PdrId, Pdr>,
    /// Forwarding Action Rules.
    pub fars: RuleMap<FarId, Far>,
    /// QoS Enforcement Rules.
    pub qers: RuleMap<QerId, Qer>,
    /// Usage Reporting Rules.
    pub urrs: RuleMap<UrrId, Urr>,
    /// Buffering Action Rules.
    pub bars: RuleMap<BarId, Bar>,
    /// The network slice of the session, if the SMF sent it.
    pub slice: Option<SNssai>,
    /// Paging policies by DSCP, for packets whose QERs have none.
    pub paging: Vec<PagingPolicy>,
    /// User Plane Inactivity Timer: the time without packets until the SMF is notified (TS 29.244 clause 5.11.2).
    /// `None`: no notification.
    pub inactivity_timer: Option<Span>,
}

/// Octets of a filter beside its own: the data plane's compiled form of it. The same for each pair of port ranges
/// of a filter beyond the first; one with more than [`MOST_PAIRS`] is compared in another form.
const FILTER: usize = 256;
const PAIR: usize = 192;
const MOST_PAIRS: usize = 1024;

/// Octets of a header field beside its text.
const FIELD: usize = 128;

/// Octets of a destination of copies, here and in a data plane.
const COPY: usize = 256;

impl RuleSet {
    /// Upper estimate of the octets of memory that the parts of rules need of which there may be many, here and in a
    /// data plane: the filters of PDRs, the exempted filters of URRs, and of FARs header fields, URLs and the
    /// destinations of copies.
    pub fn variable_memory(&self) -> usize {
        let of_pdi = |pdi: &Pdi| {
            let ethernet: usize = pdi.ethernet.iter().map(of_ethernet_filter).sum();
            pdi.filters.iter().map(of_filter).sum::<usize>() + ethernet
        };
        let of_pdrs: usize = self.pdrs.values().map(|pdr| of_pdi(&pdr.pdi)).sum();
        let exempted: usize = self.urrs.values().flat_map(|urr| &urr.exempted_filters).map(of_filter).sum();
        of_pdrs + exempted + self.fars.values().map(of_far).sum::<usize>()
    }

    /// The data network of a session with these rules: where its packets come from or go to on the core side.
    pub fn data_network(&self) -> Option<&NetworkInstance> {
        let is_core = |interface: Interface| matches!(interface, Interface::Core | Interface::SgiLan);
        let sources = self.pdrs.values().filter(|pdr| is_core(pdr.pdi.source));
        let sources = sources.filter_map(|pdr| pdr.pdi.network_instance.as_ref());
        let forwarding = self.fars.values().filter_map(|far| far.forwarding.as_ref());
        let destinations = forwarding.filter(|forwarding| is_core(forwarding.destination));
        sources.chain(destinations.filter_map(|forwarding| forwarding.network_instance.as_ref())).next()
    }

    /// A quota is in force, or will be after a monitoring time. Without one no quota is ever exhausted.
    pub fn has_quota(&self) -> bool {
        self.urrs.values().any(|urr| {
            let later = urr.monitoring.iter().chain(&urr.additional_monitoring).map(|it| &it.quotas);
            later.chain([&urr.quotas]).any(UsageLimits::has_any)
        })
    }
}

fn of_far(far: &Far) -> usize {
    let of_field = |field: &HttpField| FIELD + field.line_len();
    let of_forwarding = |forwarding: &Forwarding| {
        let fields: usize = forwarding.enrichment.iter().map(of_field).sum();
        let url = match &forwarding.steering.redirect {
            Some(Redirect::Http(url)) => url.as_str().len(),
            Some(Redirect::Destination(_)) | None => 0,
        };
        fields + url
    };
    far.duplicates.len() * COPY + far.forwarding.as_ref().map_or(0, of_forwarding)
}

fn of_ethernet_filter(filter: &EthernetFilter) -> usize {
    let macs = filter.macs.len() * size_of::<MacMatch>();
    FILTER + size_of::<EthernetFilter>() + macs + filter.flows.iter().map(of_filter).sum::<usize>()
}

fn of_filter(filter: &SdfFilter) -> usize {
    FILTER + filter.flow.octets() + PAIR * (filter.flow.port_pairs().min(MOST_PAIRS) - 1)
}
