//! How a packet leaves.

use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::{DropReason, Egress, Topology};
use causeway_packet::gtpu::{self, prefix};
use causeway_rules::Forwarding;
use causeway_types::{Direction, DualIp, FTeid, Interface, NetworkInstance, Qfi, Teid};

/// The UDP port of GTP-U (TS 29.281 clause 4.4.2).
pub(crate) const GTPU_PORT: u16 = 2152;

/// A way out: where to, and the header to put in front.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Way {
    egress: Egress,
    tunnel: Option<(Teid, Interface)>,
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
                Ok(Self { egress, tunnel: Some((tunnel.teid, forwarding.destination)) })
            }
            None => {
                let egress = to_network(forwarding.network_instance.as_ref().or(arrived_from), topology)?;
                Ok(Self { egress, tunnel: None })
            }
        }
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

    /// The packet with the outer header that the way asks for, from the GTP-U header on.
    ///
    /// # Errors
    /// [`DropReason::TooBig`] when the GTP-U length field cannot hold it.
    pub(crate) fn wrap(&self, packet: &[u8], qfi: Option<Qfi>) -> Result<Vec<u8>, DropReason> {
        let Some((teid, destination)) = self.tunnel else {
            return Ok(packet.to_vec());
        };
        let mut wrapped = header(teid, destination, qfi, packet.len()).map_err(|_| DropReason::TooBig)?;
        wrapped.extend_from_slice(packet);
        Ok(wrapped)
    }
}

/// Towards the access the container is the downlink's, towards the core the uplink's (TS 38.415 clause 5.5.2).
fn header(
    teid: Teid,
    destination: Interface,
    qfi: Option<Qfi>,
    len: usize,
) -> Result<Vec<u8>, causeway_packet::BuildError> {
    Ok(match (qfi, destination) {
        (None, _) => prefix::plain(teid, len)?.to_vec(),
        (Some(qfi), Interface::Access) => prefix::downlink(teid, qfi, false, len)?.to_vec(),
        (Some(qfi), _) => prefix::uplink(teid, qfi, len)?.to_vec(),
    })
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
