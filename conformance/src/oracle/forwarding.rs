//! Forwarding: removal and creation of outer headers, markings, hops (TS 29.244 clauses 5.2.1, 8.2.56 and 8.2.64, TS
//! 29.281 clause 5, RFC 6040).

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU8;

use causeway_dataplane::{BlockedAddresses, DropReason, Egress, Topology, hops_of_relayed, is_unroutable};
use causeway_model::{
    CopyTo, Duplicate, Far, Forwarding, OuterHeader, Pdr, Qer, RemovedHeader, RuleSet, TosMarking,
};
use causeway_packet::gtpu::{
    Comprehension, DlPduSession, Extension, Header, Message, PORT, PduSession, Repr, UlPduSession,
    extension_type,
};
use causeway_packet::rewrite::{self, Dscp, Ecn};
use causeway_packet::{Ip, UserPacket, fragment_v4};
use causeway_types::{FTeid, Interface, NetworkInstance, Qfi, Teid};

use super::packet::{Outer, Packet};

/// PDCP PDU Number (TS 29.281 clause 5.2.2.2): it passes an intermediate UPF.
const PDCP_PDU_NUMBER: u8 = 0xc0;
const UDP_HEADER: usize = 8;
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
/// The largest IP packet.
const LARGEST: usize = 65_535;

/// Packets to transmit.
pub(crate) type Sent = Vec<(Egress, Vec<u8>)>;

/// What surrounds a packet on its way out.
pub(crate) struct Surroundings<'a> {
    pub(crate) topology: &'a Topology,
    pub(crate) blocked: &'a BlockedAddresses,
    pub(crate) rules: &'a RuleSet,
}

/// The destination of a packet or of its copy.
#[derive(Clone, Copy)]
struct Destination<'a> {
    side: CopyTo,
    outer: Option<OuterHeader>,
    network: Option<&'a NetworkInstance>,
    marking: Option<TosMarking>,
    /// A copy stays as it is.
    is_copy: bool,
}

/// The markings of a downlink packet by the QERs of its PDR, and by the paging policies of the session.
#[derive(Clone, Copy, Default)]
struct Marks {
    qfi: Option<Qfi>,
    rqi: bool,
    ppi: Option<causeway_types::Ppi>,
    tos: Option<TosMarking>,
    service_class: Option<[u8; 2]>,
}

impl Surroundings<'_> {
    /// The packets that a FAR which forwards makes of this one.
    ///
    /// # Errors
    /// [`DropReason`]: it is not forwarded.
    pub(crate) fn forward(&self, pdr: &Pdr, far: &Far, packet: &Packet) -> Result<Sent, DropReason> {
        let forwarding = far.forwarding.as_ref().ok_or(DropReason::NoEgress)?;
        self.send(pdr, packet, &Destination::of(forwarding))
    }

    /// A copy of the packet. It has no influence on the packet itself.
    ///
    /// # Errors
    /// [`DropReason`]: it cannot be sent.
    pub(crate) fn copy(&self, pdr: &Pdr, copy: &Duplicate, packet: &Packet) -> Result<Sent, DropReason> {
        let (side, outer) = (copy.destination, copy.outer);
        let destination = Destination { side, outer, network: None, marking: None, is_copy: true };
        self.send(pdr, packet, &destination)
    }

    fn send(&self, pdr: &Pdr, packet: &Packet, to: &Destination<'_>) -> Result<Sent, DropReason> {
        let outer = packet.source.outer();
        let octets = match outer {
            Some(outer) => decapsulated(outer, &packet.octets)?,
            None => packet.octets.clone(),
        };
        match to.outer {
            None if matches!(to.side, CopyTo::Side(Interface::Access)) => Err(DropReason::NoTunnel),
            None => self.to_network(pdr, packet, to, octets),
            Some(OuterHeader::Gtpu(tunnel)) => self.tunnelled(pdr, packet, to, tunnel, octets),
            Some(OuterHeader::Unknown) => Err(DropReason::NoTunnel),
            // Tunnels over N6 are not supported.
            Some(OuterHeader::Udp(_) | OuterHeader::Ip(_)) => Err(DropReason::NoEgress),
        }
    }

    /// To a data network, without an outer header.
    fn to_network(
        &self,
        pdr: &Pdr,
        packet: &Packet,
        to: &Destination<'_>,
        mut octets: Vec<u8>,
    ) -> Result<Sent, DropReason> {
        let networks = &self.topology.networks;
        // Without a destination of its own, a packet stays in the network of its PDR.
        let index = match to.network.or(pdr.pdi.network_instance.as_ref()) {
            Some(name) => networks.iter().position(|network| network.instance == *name),
            None => Some(0),
        };
        let index = index.ok_or(DropReason::NoEgress)?;
        let network = networks.get(index).ok_or(DropReason::NoEgress)?;
        let user = parsed(&packet.octets)?;
        if !to.is_copy && is_of_link(&user) {
            return Err(DropReason::LinkLocal);
        }
        let is_uplink = super::detection::direction(&pdr.pdi) == causeway_types::Direction::Uplink;
        if !to.is_copy && is_uplink && is_unroutable(user.flow.src) {
            return Err(DropReason::SpoofedSource);
        }
        let protocol = user.flow.protocol.0;
        if let Some(reason) = self.blocked.egress_drop_reason(index, user.flow.dst, protocol) {
            return Err(reason);
        }
        if !to.is_copy {
            checked(&packet.octets)?;
        }
        let is_own = packet.source.outer().is_none() && self.is_from_gateway(packet);
        if !to.is_copy && !is_own && !network.gateways.contains(&user.flow.dst) {
            self.count_hop(&mut octets)?;
        }
        mark(&mut octets, to.marking)?;
        let parts = fitting(octets, network.mtu, 0)?;
        let egress = Egress::Ip { network: network.instance.clone() };
        Ok(parts.into_iter().map(|part| (egress.clone(), part)).collect())
    }

    /// Into a GTP-U tunnel.
    fn tunnelled(
        &self,
        pdr: &Pdr,
        packet: &Packet,
        to: &Destination<'_>,
        tunnel: FTeid,
        mut octets: Vec<u8>,
    ) -> Result<Sent, DropReason> {
        let (local, peer, mtu) = self.ends(tunnel, to.network).ok_or(DropReason::NoEgress)?;
        let mut hops: Option<NonZeroU8> = None;
        match packet.source.outer() {
            Some(outer) => hops = hops_of_relayed(outer.hops)?,
            None => {
                if !to.is_copy {
                    checked(&packet.octets)?;
                    if !self.is_from_gateway(packet) {
                        self.count_hop(&mut octets)?;
                    }
                }
            }
        }
        let marks = self.marks(pdr, packet);
        let is_downlink = super::detection::direction(&pdr.pdi) == causeway_types::Direction::Downlink;
        if is_downlink && to.side != CopyTo::LiFunction {
            mark(&mut octets, marks.tos)?;
        }
        let extensions = extensions(pdr, packet, to.side, &marks, is_downlink)?;
        let ecn = parsed(&octets)?.flow.tos & 0x03;
        let tos = to.marking.map_or(0, |marking| marking.apply(0)) | ecn;
        let overhead = gtpu(tunnel.teid, &extensions, &[])?.len() + UDP_HEADER + ip_header(peer);
        let parts = fitting(octets, mtu, overhead)?;
        let egress = Egress::Gtpu { local, peer: SocketAddr::new(peer, PORT), tos, hops };
        parts.iter().map(|part| Ok((egress.clone(), gtpu(tunnel.teid, &extensions, part)?))).collect()
    }

    /// The local address, the peer and the MTU of a tunnel. Of both IP versions IPv4 is preferred.
    fn ends(&self, tunnel: FTeid, network: Option<&NetworkInstance>) -> Option<(IpAddr, IpAddr, u32)> {
        tunnel.addr.iter().find_map(|peer| {
            let serves = |instance: &Option<NetworkInstance>| {
                instance.as_ref().is_none_or(|instance| network.is_none_or(|network| network == instance))
            };
            let endpoints = self.topology.gtpu.iter().filter(|end| serves(&end.network_instance));
            let mut locals = endpoints.flat_map(|end| end.addr.iter().map(|local| (local, end.mtu)));
            locals.find(|(local, _)| local.is_ipv4() == peer.is_ipv4()).map(|(local, mtu)| (local, peer, mtu))
        })
    }

    /// An End Marker into this tunnel (TS 23.501 clause 5.8.2.9), as the packets of the FAR left before.
    pub(crate) fn end_marker(&self, far: &Far, tunnel: FTeid) -> Option<(Egress, Vec<u8>)> {
        let network = far.forwarding.as_ref().and_then(|forwarding| forwarding.network_instance.as_ref());
        let (local, peer, _) = self.ends(tunnel, network)?;
        let octets = Repr::end_marker(tunnel.teid).to_vec().ok()?;
        let tos = far.forwarding.as_ref().map_or(0, tos_of_signals);
        Some((Egress::Gtpu { local, peer: SocketAddr::new(peer, PORT), tos, hops: None }, octets))
    }

    /// An End Marker that was received, passed on into the tunnel of this FAR (TS 29.244 clause 8.2.56 note 3).
    ///
    /// # Errors
    /// [`DropReason::OuterTtlExpired`]. `Ok(None)`: the FAR does not forward into a tunnel.
    pub(crate) fn relayed_end_marker(
        &self,
        pdr: &Pdr,
        far: &Far,
        outer: &Outer,
    ) -> Result<Option<(Egress, Vec<u8>)>, DropReason> {
        let forwards = far.action == causeway_model::ApplyAction::Forward;
        let Some(forwarding) = far.forwarding.as_ref().filter(|_| forwards) else { return Ok(None) };
        let Some(tunnel) = forwarding.tunnel() else { return Ok(None) };
        let ends = self.ends(tunnel, forwarding.network_instance.as_ref());
        let Some((local, peer, _)) = ends else { return Ok(None) };
        let hops = hops_of_relayed(outer.hops)?;
        let kept = outer.container.filter(|_| !pdr.removal.is_some_and(|removal| removal.deletes_container));
        let container = kept.map(|kept| container_of(forwarding.destination, Some(kept), kept.qfi()));
        let extensions: Vec<_> = container.map(Extension::PduSession).into_iter().collect();
        let header = Header { teid: Some(tunnel.teid), ..Header::default() };
        let octets = Repr { header, extensions: &extensions, message: Message::EndMarker }.to_vec();
        let tos = tos_of_signals(forwarding);
        let egress = Egress::Gtpu { local, peer: SocketAddr::new(peer, PORT), tos, hops };
        Ok(octets.ok().map(|octets| (egress, octets)))
    }

    /// One hop less between a tunnel and a data network.
    fn count_hop(&self, octets: &mut [u8]) -> Result<(), DropReason> {
        if self.topology.routing.decrement_ttl {
            rewrite::decrement_hop_limit(octets).map_err(|_| DropReason::TtlExpired)?;
        }
        Ok(())
    }

    /// The sender is the UPF as a router: its packets have not passed it yet.
    fn is_from_gateway(&self, packet: &Packet) -> bool {
        let Some(user) = packet.user() else { return false };
        self.topology.networks.iter().any(|network| network.gateways.contains(&user.flow.src))
    }

    /// The QFI of the packet: that of the first QER that has one. Zero is no QoS flow (TS 24.501 clause 9.11.4.12).
    pub(crate) fn qfi(&self, pdr: &Pdr) -> Option<Qfi> {
        self.qers(pdr).filter_map(|qer| qer.qfi).find(|qfi| qfi.value() != 0)
    }

    fn qers<'s>(&'s self, pdr: &'s Pdr) -> impl Iterator<Item = &'s Qer> {
        pdr.qers.iter().filter_map(|id| self.rules.qers.get(id))
    }

    fn marks(&self, pdr: &Pdr, packet: &Packet) -> Marks {
        let qfi = self.qfi(pdr);
        let dscp = packet.user().map_or(0, |user| user.flow.tos >> 2);
        let of_policy = self.rules.paging.iter().find_map(|policy| {
            let applies = policy.qfis.is_empty() || qfi.is_some_and(|qfi| policy.qfis.contains(qfi));
            policy.ppis.get(&dscp).copied().filter(|_| applies)
        });
        let service_class = self.qers(pdr).find_map(|qer| qer.flow_marking.service_class);
        Marks {
            qfi,
            rqi: self.qers(pdr).any(|qer| qer.reflective),
            ppi: self.qers(pdr).find_map(|qer| qer.ppi).or(of_policy),
            tos: self.qers(pdr).find_map(|qer| qer.flow_marking.tos),
            service_class: service_class.map(u16::to_be_bytes),
        }
    }
}

impl<'a> Destination<'a> {
    fn of(forwarding: &'a Forwarding) -> Self {
        Self {
            side: CopyTo::Side(forwarding.destination),
            outer: forwarding.outer,
            network: forwarding.network_instance.as_ref(),
            marking: forwarding.marking,
            is_copy: false,
        }
    }
}

/// The packet has the outer header that the PDR removes.
///
/// # Errors
/// [`DropReason::OuterHeaderMismatch`]
pub(crate) fn check_removal(pdr: &Pdr, outer: Option<&Outer>) -> Result<(), DropReason> {
    let fits = match (pdr.removal.map(|removal| removal.header), outer) {
        (None, None) => true,
        (Some(RemovedHeader::Gtpu), Some(_)) => true,
        (Some(RemovedHeader::GtpuIpv4), Some(outer)) => outer.local.is_ipv4(),
        (Some(RemovedHeader::GtpuIpv6), Some(outer)) => outer.local.is_ipv6(),
        _ => false,
    };
    if fits { Ok(()) } else { Err(DropReason::OuterHeaderMismatch) }
}

/// Every extension header is known that must be: by each node, or by the endpoint of the tunnel (TS 29.281 clause
/// 5.2.1).
pub(crate) fn comprehends(outer: &Outer, is_relayed: bool) -> bool {
    outer.extensions.iter().all(|(kind, _)| match Comprehension::of(*kind) {
        Comprehension::OptionalForward | Comprehension::OptionalDiscard => true,
        Comprehension::Endpoint => is_relayed,
        Comprehension::AllNodes => is_relayed && *kind == PDCP_PDU_NUMBER,
    })
}

/// The congestion that the outer header shows moves to the user packet (RFC 6040 clause 4.2).
///
/// # Errors
/// [`DropReason::Congested`]: the user packet cannot show it.
pub(crate) fn decapsulated(outer: &Outer, octets: &[u8]) -> Result<Vec<u8>, DropReason> {
    let mut octets = octets.to_vec();
    let inner = Ecn::of_tos(parsed(&octets)?.flow.tos);
    let shown = match (inner, Ecn::of_tos(outer.tos)) {
        (Ecn::NotCapable, Ecn::Congested) => return Err(DropReason::Congested),
        (Ecn::NotCapable | Ecn::Congested, _) => inner,
        (_, Ecn::Congested) => Ecn::Congested,
        (Ecn::Capable0, Ecn::Capable1) => Ecn::Capable1,
        _ => inner,
    };
    if shown != inner {
        rewrite::set_ecn(&mut octets, shown).map_err(|_| DropReason::MalformedIp)?;
    }
    Ok(octets)
}

/// The type of service of messages that must not overtake the packets of a FAR.
fn tos_of_signals(forwarding: &Forwarding) -> u8 {
    forwarding.marking.map_or(0, |marking| marking.apply(0))
}

/// Packets of the UE's link do not pass a router (RFC 4291 clauses 2.5.2, 2.5.6 and 2.7, RFC 3927 clause 2.7).
fn is_of_link(user: &UserPacket<'_>) -> bool {
    let is_local = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => {
            let is_group = ip.segments()[0] >> 8 == 0xff && ip.segments()[0] & 0x0f <= 2;
            ip.is_unicast_link_local() || ip.is_unspecified() || is_group
        }
    };
    is_local(user.flow.src) || is_local(user.flow.dst)
}

/// Changes the DSCP of a user packet.
fn mark(octets: &mut [u8], marking: Option<TosMarking>) -> Result<(), DropReason> {
    let Some(marking) = marking else { return Ok(()) };
    let tos = parsed(octets)?.flow.tos;
    let dscp = Dscp::of_tos(marking.apply(tos));
    rewrite::set_dscp(octets, dscp).map_err(|_| DropReason::MalformedIp)
}

/// The extension headers of a packet in its next tunnel: the container, the service class, and those of the tunnel
/// before which intermediate nodes pass on (TS 29.281 clause 5.2.1).
fn extensions<'p>(
    pdr: &Pdr,
    packet: &'p Packet,
    side: CopyTo,
    marks: &'p Marks,
    is_downlink: bool,
) -> Result<Vec<Extension<'p>>, DropReason> {
    let CopyTo::Side(side) = side else { return Ok(Vec::new()) };
    let deletes = pdr.removal.is_some_and(|removal| removal.deletes_container);
    let outer = packet.source.outer();
    let kept = outer.and_then(|outer| outer.container).filter(|_| !deletes);
    // The SMF is sent the QoS flows of downlink packets alone.
    let has_container = side != Interface::CpFunction || is_downlink;
    let qfi = marks.qfi.or(kept.map(|kept| kept.qfi())).filter(|_| has_container);
    let mut list = Vec::new();
    if let Some(qfi) = qfi {
        let mut container = container_of(side, kept, qfi);
        if let PduSession::Downlink(info) = &mut container {
            info.rqi |= marks.rqi;
            info.ppi = marks.ppi.or(info.ppi);
        }
        list.push(Extension::PduSession(container));
    }
    let service_class = marks.service_class.as_ref().filter(|_| is_downlink);
    list.extend(
        service_class
            .map(|content| Extension::Other { kind: extension_type::SERVICE_CLASS_INDICATOR, content }),
    );
    for (kind, content) in outer.into_iter().flat_map(|outer| &outer.extensions) {
        let is_replaced = service_class.is_some() && *kind == extension_type::SERVICE_CLASS_INDICATOR;
        if Comprehension::of(*kind) != Comprehension::OptionalDiscard && !is_replaced {
            list.push(Extension::Other { kind: *kind, content });
        }
    }
    Ok(list)
}

/// The container of the direction in which the packet goes, with what a container of the same direction said.
fn container_of(side: Interface, kept: Option<PduSession>, qfi: Qfi) -> PduSession {
    let is_uplink = matches!(side, Interface::Core | Interface::SgiLan | Interface::VnInternal);
    match (is_uplink, kept) {
        (true, Some(PduSession::Uplink(kept))) => PduSession::Uplink(UlPduSession { qfi, ..kept }),
        (false, Some(PduSession::Downlink(kept))) => PduSession::Downlink(DlPduSession { qfi, ..kept }),
        (true, _) => PduSession::Uplink(UlPduSession::new(qfi)),
        (false, _) => PduSession::Downlink(DlPduSession::new(qfi)),
    }
}

fn gtpu(teid: Teid, extensions: &[Extension<'_>], user: &[u8]) -> Result<Vec<u8>, DropReason> {
    let header = Header { teid: Some(teid), ..Header::default() };
    Repr { header, extensions, message: Message::GPdu(user) }.to_vec().map_err(|_| DropReason::TooBig)
}

fn ip_header(peer: IpAddr) -> usize {
    if peer.is_ipv4() { IPV4_HEADER } else { IPV6_HEADER }
}

/// A router drops what has a wrong header checksum (RFC 1812 clause 5.2.2).
fn checked(octets: &[u8]) -> Result<UserPacket<'_>, DropReason> {
    let user = parsed(octets)?;
    let is_wrong = matches!(user.ip(), Ip::V4(ip) if !ip.checksum_is_valid());
    if is_wrong { Err(DropReason::MalformedIp) } else { Ok(user) }
}

fn parsed(octets: &[u8]) -> Result<UserPacket<'_>, DropReason> {
    UserPacket::parse(octets).map_err(|_| DropReason::MalformedIp)
}

/// The packet, or its fragments if it does not fit. IPv6 packets and those with DF are not fragmented.
fn fitting(octets: Vec<u8>, mtu: u32, overhead: usize) -> Result<Vec<Vec<u8>>, DropReason> {
    let most = (mtu as usize).min(LARGEST).saturating_sub(overhead);
    if octets.len() <= most {
        return Ok(vec![octets]);
    }
    fragment_v4(&octets, most).map_err(|_| DropReason::MtuExceeded)
}
