//! Packet detection: the session and the PDR of a packet (TS 29.244 clauses 5.2.1 and 8.2.5).

use std::net::IpAddr;

use causeway_dataplane::{DropReason, GtpuEndpoint};
use causeway_model::{Applications, FlowDescription, Pdi, Pdr, PredefinedRule, RuleSet, SdfFilter, UeSide};
use causeway_packet::{Flow, UserPacket};
use causeway_types::{Direction, Qfi, WallTime};

use super::packet::{Packet, Source};

/// What a PDR is compared with.
pub(crate) struct Subject<'a> {
    pub(crate) source: &'a Source,
    pub(crate) user: &'a UserPacket<'a>,
    pub(crate) endpoints: &'a [GtpuEndpoint],
    pub(crate) applications: &'a Applications,
    pub(crate) now: WallTime,
}

/// The direction of the traffic of a PDR: uplink if the UE's address is the source.
pub(crate) fn direction(pdi: &Pdi) -> Direction {
    match pdi.ue_side() {
        UeSide::Source => Direction::Uplink,
        UeSide::Destination => Direction::Downlink,
    }
}

/// The PDRs in the order in which they are tried: by precedence, then by id.
pub(crate) fn by_precedence(rules: &RuleSet) -> Vec<&Pdr> {
    let mut pdrs: Vec<&Pdr> = rules.pdrs.values().collect();
    pdrs.sort_by_key(|pdr| (pdr.precedence, pdr.id));
    pdrs
}

/// The first PDR that matches.
///
/// # Errors
/// [`DropReason::SpoofedSource`] if an uplink PDR matches but for the source, else [`DropReason::NoMatchingPdr`].
pub(crate) fn detect<'r>(rules: &'r RuleSet, subject: &Subject<'_>) -> Result<&'r Pdr, DropReason> {
    let mut reason = DropReason::NoMatchingPdr;
    for pdr in by_precedence(rules) {
        if !subject.matches_but_for_ue(pdr) {
            continue;
        }
        if subject.matches_ue(&pdr.pdi) {
            return Ok(pdr);
        }
        if direction(&pdr.pdi) == Direction::Uplink {
            reason = DropReason::SpoofedSource;
        }
    }
    Err(reason)
}

/// How well the session is identified by a destination: the length of the longest prefix of its downlink PDRs that
/// contains it, in whatever network. `None`: it is not a destination of the session.
pub(crate) fn longest_prefix(rules: &RuleSet, ue: IpAddr) -> Option<u8> {
    let downlink = rules.pdrs.values().map(|pdr| &pdr.pdi).filter(|pdi| pdi.tunnel.is_none());
    downlink.flat_map(Pdi::ue_nets).filter(|net| net.contains(&ue)).map(|net| net.prefix_len()).max()
}

impl Subject<'_> {
    /// Every part of the PDI but the UE's address matches.
    fn matches_but_for_ue(&self, pdr: &Pdr) -> bool {
        let pdi = &pdr.pdi;
        pdr.is_active(self.now)
            && self.matches_source(pdi)
            && (pdi.qfis.is_empty() || self.qfi().is_some_and(|qfi| pdi.qfis.contains(qfi)))
            && (pdi.filters.is_empty() || pdi.filters.iter().any(|filter| self.matches_filter(pdi, filter)))
            && pdi.application.as_ref().is_none_or(|id| self.is_of_application(pdi, id))
            && self.matches_predefined(pdr)
    }

    /// The tunnel, or the network of a packet without one.
    fn matches_source(&self, pdi: &Pdi) -> bool {
        match (self.source, pdi.tunnel) {
            (Source::Tunnel(outer), tunnel) => {
                let ends = self.endpoints.iter().filter(|end| end.addr.contains(outer.local));
                let serves = |end: &GtpuEndpoint| {
                    pdi.network_instance.is_none()
                        || end.network_instance.is_none()
                        || end.network_instance == pdi.network_instance
                };
                outer.is_in(tunnel) && ends.clone().any(serves)
            }
            (Source::Network(network), None) => {
                pdi.network_instance.as_ref().is_none_or(|instance| instance == network)
            }
            _ => false,
        }
    }

    fn qfi(&self) -> Option<Qfi> {
        self.source.outer().and_then(|outer| outer.container).map(|container| container.qfi())
    }

    /// The address field on the UE's side. What is sent on the UE's link, from an address of the link or from none, is the
    /// UE's: it need not have another address yet (RFC 4861 clause 4.1).
    fn matches_ue(&self, pdi: &Pdi) -> bool {
        let flow = &self.user.flow;
        match pdi.ue_side() {
            UeSide::Source => pdi.covers_ue(flow.src) || self.is_of_link(),
            UeSide::Destination => pdi.covers_ue(flow.dst),
        }
    }

    fn is_of_link(&self) -> bool {
        let (IpAddr::V6(src), IpAddr::V6(dst)) = (self.user.flow.src, self.user.flow.dst) else {
            return false;
        };
        let to_link = dst.is_unicast_link_local() || dst.segments()[0] & 0xff0f == 0xff02;
        (src.is_unspecified() || src.is_unicast_link_local()) && to_link
    }

    fn matches_filter(&self, pdi: &Pdi, filter: &SdfFilter) -> bool {
        let flow = &self.user.flow;
        let label = flow.flow_label.map(|label| label.value());
        self.matches_flow(pdi, &filter.flow)
            && filter.traffic_class.is_none_or(|class| class.covers(flow.tos))
            && filter.spi.is_none_or(|spi| flow.spi == Some(spi))
            && filter.flow_label.is_none_or(|wanted| label == Some(wanted))
    }

    /// A flow description is that of the downlink; for the uplink its ends are exchanged.
    fn matches_flow(&self, pdi: &Pdi, description: &FlowDescription) -> bool {
        let Flow { src, dst, ports, protocol, .. } = self.user.flow;
        let (src_port, dst_port) = (ports.map(|ports| ports.src), ports.map(|ports| ports.dst));
        let ((remote, remote_port), (local, local_port)) = match direction(pdi) {
            Direction::Downlink => ((src, src_port), (dst, dst_port)),
            Direction::Uplink => ((dst, dst_port), (src, src_port)),
        };
        let is_assigned = |ip| pdi.covers_ue(ip) || (ip == src && self.is_of_link());
        description.protocol.is_none_or(|wanted| wanted == protocol.0)
            && description.remote.covers_address(remote, is_assigned)
            && description.local.covers_address(local, is_assigned)
            && description.remote.covers_port(remote_port)
            && description.local.covers_port(local_port)
    }

    /// One PFD must match. PFDs with URLs or domain names match nothing: the oracle does not look into payloads.
    fn is_of_application(&self, pdi: &Pdi, id: &causeway_model::ApplicationId) -> bool {
        self.applications.pfds(id).iter().any(|pfd| {
            pfd.urls.is_empty()
                && pfd.domains.is_empty()
                && pfd.flows.iter().any(|flow| self.matches_flow(pdi, flow))
        })
    }

    fn matches_predefined(&self, pdr: &Pdr) -> bool {
        let pdi = &pdr.pdi;
        let matches = |rule: &PredefinedRule| {
            (rule.filters.is_empty() || rule.filters.iter().any(|filter| self.matches_filter(pdi, filter)))
                && (rule.qfis.is_empty() || self.qfi().is_some_and(|qfi| rule.qfis.contains(qfi)))
                && rule.application.as_ref().is_none_or(|id| self.is_of_application(pdi, id))
        };
        pdr.predefined.is_empty() || pdr.predefined.values().any(|rules| rules.iter().any(matches))
    }
}

/// The packet matches a filter that exempts it from an exhausted quota.
pub(crate) fn is_exempt(packet: &Packet, pdi: &Pdi, filters: &[SdfFilter]) -> bool {
    let (applications, now) = (Applications::default(), WallTime::default());
    packet.user().is_some_and(|user| {
        let (source, endpoints) = (&packet.source, &[]);
        let subject = Subject { source, user: &user, endpoints, applications: &applications, now };
        filters.iter().any(|filter| subject.matches_filter(pdi, filter))
    })
}
