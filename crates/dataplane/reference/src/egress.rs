//! How a packet leaves.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::{DropReason, Egress, Topology};
use causeway_packet::BuildError;
use causeway_packet::gtpu::extension_type::SERVICE_CLASS_INDICATOR;
use causeway_packet::gtpu::{self, DlPduSession, Extension, Message, PduSession, UlPduSession};
use causeway_rules::{Forwarding, TosMarking, VlanTags};
use causeway_types::{Direction, DualIp, FTeid, Interface, NetworkInstance, Teid};

use crate::ecn;
use crate::marks::{Marks, mark, tos_of};

use crate::ethernet::set_tags;

/// The UDP port of GTP-U (TS 29.281 clause 4.4.2).
pub(crate) const GTPU_PORT: u16 = 2152;

/// A way out: where to, and the header to put in front.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Way {
    egress: Egress,
    tunnel: Option<(Teid, Interface)>,
    marking: Option<TosMarking>,
    tags: Option<VlanTags>,
    /// What it carries are Ethernet frames: no IP header of theirs is looked at.
    is_frame: bool,
}

impl Way {
    /// The way that a FAR asks for.
    ///
    /// # Errors
    /// [`DropReason::NoEgress`] when no address or network of ours fits.
    pub(crate) fn of(
        forwarding: &Forwarding,
        arrived_from: Option<&NetworkInstance>,
        topology: &Topology,
    ) -> Result<Self, DropReason> {
        match forwarding.tunnel {
            Some(tunnel) => {
                let egress = to_tunnel(tunnel, forwarding.network_instance.as_ref(), topology)?;
                let tunnel = Some((tunnel.teid, forwarding.destination));
                Ok(Self { egress, tunnel, marking: forwarding.marking, tags: None, is_frame: false })
            }
            None => {
                let egress = to_network(forwarding.network_instance.as_ref().or(arrived_from), topology)?;
                Ok(Self { egress, tunnel: None, marking: forwarding.marking, tags: None, is_frame: false })
            }
        }
    }

    /// The way that a FAR of an Ethernet session asks for.
    ///
    /// # Errors
    /// As [`Way::of`].
    pub(crate) fn of_frame(
        forwarding: &Forwarding,
        arrived_from: Option<&NetworkInstance>,
        topology: &Topology,
    ) -> Result<Self, DropReason> {
        if forwarding.is_n6() {
            let egress = to_link(forwarding.network_instance.as_ref().or(arrived_from), topology)?;
            return Ok(Self { egress, tunnel: None, marking: None, tags: forwarding.vlan, is_frame: true });
        }
        let way = Self::of(forwarding, arrived_from, topology)?;
        Ok(Self { tags: forwarding.vlan, is_frame: true, ..way })
    }

    /// The way of packets of this direction. To the SMF they take the container of their direction with them,
    /// so that the SMF can hand them back as they were (TS 29.244 clause 5.3.3).
    pub(crate) fn carrying(mut self, direction: Direction) -> Self {
        if let Some((_, destination @ Interface::CpFunction)) = &mut self.tunnel
            && direction == Direction::Downlink
        {
            *destination = Interface::Access;
        }
        self
    }

    /// The packet leaves the link of the UE: it goes out as it is, to be routed.
    pub(crate) fn leaves_link(&self) -> bool {
        self.tunnel.is_none()
    }

    /// Where the packet goes.
    pub(crate) fn egress(&self) -> &Egress {
        &self.egress
    }

    /// Where the packet goes, and the packet with the outer header that the way asks for, from the GTP-U header
    /// on. The DSCP is marked where the network looks at it: in the outer header if there is one.
    ///
    /// # Errors
    /// [`DropReason::TooBig`] when the GTP-U length field cannot hold it.
    pub(crate) fn wrap(&self, packet: &[u8], marks: &Marks) -> Result<(Egress, Vec<u8>), DropReason> {
        let tagged;
        let packet = match self.tags {
            Some(tags) => {
                tagged = set_tags(packet, tags)?;
                &tagged
            }
            None => packet,
        };
        let Some((teid, destination)) = self.tunnel else {
            let marked = self.marking.map_or(Cow::Borrowed(packet), |marking| mark(marking, packet));
            return Ok((self.egress.clone(), marked.into_owned()));
        };
        let wrapped = g_pdu(teid, destination, marks, packet).map_err(|_| DropReason::TooBig)?;
        Ok((self.marked_egress(packet), wrapped))
    }

    /// The outer header takes the ECN of the inner one (RFC 6040).
    fn marked_egress(&self, packet: &[u8]) -> Egress {
        let mut egress = self.egress.clone();
        if let Egress::Gtpu { tos, .. } = &mut egress {
            let inner = tos_of(packet).filter(|_| !self.is_frame);
            *tos = ecn::outer(inner.unwrap_or_default());
            *tos = self.marking.map_or(*tos, |marking| marking.apply(*tos));
        }
        egress
    }
}

/// A G-PDU. Towards the access the container is the downlink's, towards the core the uplink's (TS 38.415 clause
/// 5.5.2); the Service Class Indicator is for the access alone.
fn g_pdu(teid: Teid, destination: Interface, marks: &Marks, packet: &[u8]) -> Result<Vec<u8>, BuildError> {
    let to_access = destination == Interface::Access;
    let container = marks.qfi.map(|qfi| match to_access {
        true => PduSession::Downlink(DlPduSession {
            rqi: marks.reflective,
            ppi: marks.ppi,
            ..DlPduSession::new(qfi)
        }),
        false => PduSession::Uplink(UlPduSession::new(qfi)),
    });
    let class = marks.service_class.filter(|_| to_access).map(u16::to_be_bytes);
    let class = class.as_ref().map(|content| Extension::Other { kind: SERVICE_CLASS_INDICATOR, content });
    let extensions: Vec<_> = class.into_iter().chain(container.map(Extension::PduSession)).collect();
    let header = gtpu::Header { teid: Some(teid), sequence: None, n_pdu: None };
    gtpu::Repr { header, extensions: &extensions, message: Message::GPdu(packet) }.to_vec()
}

/// An End Marker on its way to a tunnel.
///
/// # Errors
/// [`DropReason::NoEgress`] when we have no address of the tunnel's IP version.
pub(crate) fn end_marker(tunnel: FTeid, topology: &Topology) -> Result<(Egress, Vec<u8>), DropReason> {
    let egress = to_tunnel(tunnel, None, topology)?;
    let packet = gtpu::Repr::end_marker(tunnel.teid).to_vec().map_err(|_| DropReason::TooBig)?;
    Ok((egress, packet))
}

fn to_tunnel(
    tunnel: FTeid,
    network: Option<&NetworkInstance>,
    topology: &Topology,
) -> Result<Egress, DropReason> {
    let serves = |instance: &Option<NetworkInstance>| match (instance, network) {
        (Some(serves), Some(asked)) => serves == asked,
        _ => true,
    };
    let locals = topology.gtpu.iter().filter(|endpoint| serves(&endpoint.network_instance));
    let (local, peer) = locals
        .map(|endpoint| endpoint.addr)
        .find_map(|local| same_version(local, tunnel.addr))
        .ok_or(DropReason::NoEgress)?;
    Ok(Egress::Gtpu { local, peer: SocketAddr::new(peer, GTPU_PORT), tos: 0 })
}

/// Our address and the peer's, both IPv4 or else both IPv6.
fn same_version(local: DualIp, peer: DualIp) -> Option<(IpAddr, IpAddr)> {
    let v4 = local.v4.zip(peer.v4).map(|(local, peer)| (local.into(), peer.into()));
    v4.or_else(|| local.v6.zip(peer.v6).map(|(local, peer)| (local.into(), peer.into())))
}

/// The network of that name; the first one where none is named.
fn to_network(name: Option<&NetworkInstance>, topology: &Topology) -> Result<Egress, DropReason> {
    let network = match name {
        Some(name) => topology.networks.iter().find(|network| network.instance == *name),
        None => topology.networks.first(),
    };
    let network = network.ok_or(DropReason::NoEgress)?.instance.clone();
    Ok(Egress::Ip { network })
}

/// The Ethernet network of that name; the first one where none is named.
fn to_link(name: Option<&NetworkInstance>, topology: &Topology) -> Result<Egress, DropReason> {
    let network = match name {
        Some(name) => topology.ethernet.iter().find(|network| network.instance == *name),
        None => topology.ethernet.first(),
    };
    let network = network.ok_or(DropReason::NoEgress)?.instance.clone();
    Ok(Egress::Ethernet { network })
}
