//! Egress of a packet.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU8;

use causeway_dataplane::{DropReason, Egress, Topology, hops_of_relayed};
use causeway_model::{Forwarding, OuterHeader, TosMarking, VlanTags};
use causeway_packet::gtpu::extension_type::SERVICE_CLASS_INDICATOR;
use causeway_packet::gtpu::{self, DlPduSession, Extension, Message, PduSession, Repr, UlPduSession};
use causeway_packet::rewrite::{Ecn, set_ecn};
use causeway_types::{Direction, DualIp, FTeid, Interface, NetworkInstance, Teid};

use crate::ecn;
use crate::marks::{Marks, mark, tos_of};

use crate::ethernet::set_tags;
use crate::n6;

/// The UDP port of GTP-U (TS 29.281 clause 4.4.2).
pub(crate) const GTPU_PORT: u16 = 2152;

/// An egress route: the egress, and the header to add.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EgressRoute {
    egress: Egress,
    header: Header,
    marking: Option<TosMarking>,
    tags: Option<VlanTags>,
    /// It carries Ethernet frames: their IP headers are not read.
    is_frame: bool,
}

/// The header to add, with the local endpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Header {
    /// None.
    None,
    /// GTP-U, with the container for that interface.
    Gtpu(Teid, Interface),
    /// UDP/IP.
    Udp { local: SocketAddr, peer: SocketAddr },
    /// IP.
    Ip { local: IpAddr, peer: IpAddr },
}

impl EgressRoute {
    /// The route that a FAR requests.
    ///
    /// # Errors
    /// [`DropReason::NoEgress`] when no local address or network fits, [`DropReason::NoTunnel`] when the tunnel to
    /// the access is not known yet.
    pub(crate) fn of(
        forwarding: &Forwarding,
        arrived_from: Option<&NetworkInstance>,
        topology: &Topology,
    ) -> Result<Self, DropReason> {
        if let Some(tunnel) = forwarding.tunnel() {
            let egress = to_tunnel(tunnel, forwarding.network_instance.as_ref(), topology)?;
            let header = Header::Gtpu(tunnel.teid, forwarding.destination);
            return Ok(Self { egress, header, marking: forwarding.marking, tags: None, is_frame: false });
        }
        if forwarding.destination == Interface::Access {
            return Err(DropReason::NoTunnel);
        }
        let network = network(forwarding.network_instance.as_ref().or(arrived_from), topology)?;
        let local = |peer| n6::local_end(network, peer, topology);
        let header = match forwarding.outer {
            None => Header::None,
            Some(OuterHeader::Udp(peer)) => Header::Udp { local: local(peer.ip())?, peer },
            Some(OuterHeader::Ip(peer)) => Header::Ip { local: local(peer)?.ip(), peer },
            Some(OuterHeader::Gtpu(_) | OuterHeader::Unknown) => return Err(DropReason::NoEgress),
        };
        let egress = Egress::Ip { network: network.clone() };
        Ok(Self { egress, header, marking: forwarding.marking, tags: None, is_frame: false })
    }

    /// The route that a FAR of an Ethernet session requests.
    ///
    /// # Errors
    /// As [`EgressRoute::of`].
    pub(crate) fn of_frame(
        forwarding: &Forwarding,
        arrived_from: Option<&NetworkInstance>,
        topology: &Topology,
    ) -> Result<Self, DropReason> {
        if forwarding.is_n6() {
            let egress = to_link(forwarding.network_instance.as_ref().or(arrived_from), topology)?;
            let header = Header::None;
            return Ok(Self { egress, header, marking: None, tags: forwarding.vlan, is_frame: true });
        }
        let route = Self::of(forwarding, arrived_from, topology)?;
        Ok(Self { tags: forwarding.vlan, is_frame: true, ..route })
    }

    /// The route of packets of this direction. Packets to the SMF take the container of their direction with them, so
    /// that the SMF can return them unchanged (TS 29.244 clause 5.3.3).
    pub(crate) fn carrying(mut self, direction: Direction) -> Self {
        if let Header::Gtpu(_, destination @ Interface::CpFunction) = &mut self.header
            && direction == Direction::Downlink
        {
            *destination = Interface::Access;
        }
        self
    }

    /// The packet leaves the link of the UE: it is routed to the data network.
    pub(crate) fn leaves_link(&self) -> bool {
        !matches!(self.header, Header::Gtpu(..))
    }

    /// The packet is transmitted without another header.
    pub(crate) fn is_bare(&self) -> bool {
        self.header == Header::None
    }

    /// The egress of the packet.
    pub(crate) fn egress(&self) -> &Egress {
        &self.egress
    }

    /// The egress, and the packet with the outer header of the route, from the GTP-U header on. The DSCP is marked in
    /// the outer header if there is one.
    ///
    /// # Errors
    /// [`DropReason::TooBig`] when the GTP-U length field cannot hold the length, [`DropReason::OuterTtlExpired`]
    /// when the packet was received from another tunnel with its last hop.
    pub(crate) fn wrap(&self, packet: &[u8], marks: &Marks) -> Result<(Egress, Vec<u8>), DropReason> {
        let tagged;
        let packet = match self.tags {
            Some(tags) => {
                tagged = set_tags(packet, tags)?;
                &tagged
            }
            None => packet,
        };
        match self.header {
            Header::None => Ok((self.egress.clone(), self.marked(packet).into_owned())),
            Header::Gtpu(teid, side) => {
                let hops = hops_of_relayed(marks.extensions.hops)?;
                Ok((self.marked_egress(packet, hops), in_gtpu(packet, teid, side, marks)?))
            }
            Header::Udp { local, peer } => Ok(self.over_n6(packet, n6::in_udp(packet, local, peer)?)),
            Header::Ip { local, peer } => Ok(self.over_n6(packet, n6::in_ip(packet, local, peer)?)),
        }
    }

    /// A user packet without outer header, with its DSCP.
    fn marked<'p>(&self, packet: &'p [u8]) -> Cow<'p, [u8]> {
        self.marking.map_or(Cow::Borrowed(packet), |marking| mark(marking, packet))
    }

    /// A packet in its outer IP header, which takes the ECN of the inner one (RFC 6040).
    fn over_n6(&self, packet: &[u8], mut wrapped: Vec<u8>) -> (Egress, Vec<u8>) {
        let inner = tos_of(packet).filter(|_| !self.is_frame);
        // The header was just built: it is mutable.
        let _ = set_ecn(&mut wrapped, Ecn::of_tos(inner.unwrap_or_default()));
        (self.egress.clone(), self.marked(&wrapped).into_owned())
    }

    /// The outer header takes the ECN of the inner one (RFC 6040).
    fn marked_egress(&self, packet: &[u8], left: Option<NonZeroU8>) -> Egress {
        let mut egress = self.egress.clone();
        if let Egress::Gtpu { tos, hops, .. } = &mut egress {
            *hops = left;
            let inner = tos_of(packet).filter(|_| !self.is_frame);
            *tos = ecn::outer(inner.unwrap_or_default());
            *tos = self.marking.map_or(*tos, |marking| marking.apply(*tos));
        }
        egress
    }
}

fn in_gtpu(packet: &[u8], teid: Teid, side: Interface, marks: &Marks) -> Result<Vec<u8>, DropReason> {
    let class = marks.service_class.filter(|_| side == Interface::Access).map(u16::to_be_bytes);
    let class = class.as_ref().map(|content| Extension::Other { kind: SERVICE_CLASS_INDICATOR, content });
    let container = container(side, marks).map(Extension::PduSession);
    let is_ours = |kind: u8| kind == SERVICE_CLASS_INDICATOR && class.is_some();
    let extensions = marks.extensions.others.iter().filter(|(kind, _)| !is_ours(*kind));
    let extensions = extensions.map(|(kind, content)| Extension::Other { kind: *kind, content });
    let extensions: Vec<_> = container.into_iter().chain(class).chain(extensions).collect();
    let header = gtpu::Header { teid: Some(teid), sequence: None, n_pdu: None };
    let message = Message::GPdu(packet);
    Repr { header, extensions: &extensions, message }.to_vec().map_err(|_| DropReason::TooBig)
}

/// The PDU Session Container of a packet that is transmitted on this interface. A container of the same direction
/// that the packet carried is kept, with the marks of the QERs. Otherwise it is new: downlink towards the access,
/// uplink towards the core (TS 38.415 clause 5.5.2).
pub(crate) fn container(side: Interface, marks: &Marks) -> Option<PduSession> {
    let qfi = marks.qfi?;
    Some(match side {
        Interface::Access => {
            let held = match marks.extensions.container {
                Some(PduSession::Downlink(info)) => info,
                _ => DlPduSession::new(qfi),
            };
            let rqi = marks.reflective || held.rqi;
            PduSession::Downlink(DlPduSession { qfi, rqi, ppi: marks.ppi.or(held.ppi), ..held })
        }
        _ => match marks.extensions.container {
            Some(PduSession::Uplink(info)) => PduSession::Uplink(UlPduSession { qfi, ..info }),
            _ => PduSession::Uplink(UlPduSession::new(qfi)),
        },
    })
}

/// The remote end of a tunnel, and the local address to send from.
///
/// # Errors
/// [`DropReason::NoEgress`] when there is no local address of its IP version.
pub(crate) fn to_tunnel(
    tunnel: FTeid,
    network: Option<&NetworkInstance>,
    topology: &Topology,
) -> Result<Egress, DropReason> {
    let serves = |instance: &Option<NetworkInstance>| match (instance, network) {
        (Some(serves), Some(requested)) => serves == requested,
        _ => true,
    };
    let locals = topology.gtpu.iter().filter(|endpoint| serves(&endpoint.network_instance));
    let (local, peer) = locals
        .map(|endpoint| endpoint.addr)
        .find_map(|local| same_version(local, tunnel.addr))
        .ok_or(DropReason::NoEgress)?;
    Ok(Egress::Gtpu { local, peer: SocketAddr::new(peer, GTPU_PORT), tos: 0, hops: None })
}

/// The local and the peer address, both IPv4 or else both IPv6.
fn same_version(local: DualIp, peer: DualIp) -> Option<(IpAddr, IpAddr)> {
    let v4 = local.v4.zip(peer.v4).map(|(local, peer)| (local.into(), peer.into()));
    v4.or_else(|| local.v6.zip(peer.v6).map(|(local, peer)| (local.into(), peer.into())))
}

/// The network of that name; without a name, the first one.
fn network<'t>(
    name: Option<&NetworkInstance>,
    topology: &'t Topology,
) -> Result<&'t NetworkInstance, DropReason> {
    let network = match name {
        Some(name) => topology.networks.iter().find(|network| network.instance == *name),
        None => topology.networks.first(),
    };
    network.map(|network| &network.instance).ok_or(DropReason::NoEgress)
}

/// The Ethernet network of that name; without a name, the first one.
fn to_link(name: Option<&NetworkInstance>, topology: &Topology) -> Result<Egress, DropReason> {
    let network = match name {
        Some(name) => topology.ethernet.iter().find(|network| network.instance == *name),
        None => topology.ethernet.first(),
    };
    let network = network.ok_or(DropReason::NoEgress)?.instance.clone();
    Ok(Egress::Ethernet { network })
}
