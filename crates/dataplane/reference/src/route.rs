//! What the UPF does with a packet as the router between the UEs and the data networks: one hop less, and no
//! packet that is larger than its way.
//!
//! A packet loses a hop where it passes between a tunnel and a data network, once: the UPF that anchors the session
//! is a router, one that relays from tunnel to tunnel (N9, indirect forwarding, to and from the SMF) is not
//! (TS 23.501 clause 8.3). A packet to or from an address of the UPF itself stays as it is.

use std::borrow::Cow;

use causeway_dataplane::{DropReason, Egress, Topology};
use causeway_packet::icmp::IcmpError;
use causeway_packet::rewrite::{RewriteError, decrement_hop_limit};
use causeway_packet::{FragmentError, Ip, UserPacket, fragment_v4};
use causeway_rules::Pdr;
use causeway_types::Direction;

use crate::egress::EgressRoute;
use crate::marks::Marks;
use crate::session::direction_of;

/// Octets of the UDP header in front of GTP-U.
const UDP_HEADER: usize = 8;

/// Where a packet goes, and the pieces of it, each with its outer header.
pub(crate) type Fragments = (Egress, Vec<Vec<u8>>);

/// Why a packet goes no further, and what its sender is owed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DropWithError {
    pub(crate) reason: DropReason,
    pub(crate) error: Option<IcmpError>,
}

impl From<DropReason> for DropWithError {
    fn from(reason: DropReason) -> Self {
        Self { reason, error: None }
    }
}

/// The packet as it leaves on its way: with one hop less where it is routed, in as many pieces as needed.
///
/// # Errors
/// As [`hop`] and [`fit`].
pub(crate) fn routed(
    pdr: &Pdr,
    route: &EgressRoute,
    packet: &[u8],
    marks: &Marks,
    topology: &Topology,
) -> Result<Fragments, DropWithError> {
    let is_routed = pdr.pdi.tunnel.is_none() || route.leaves_link();
    let packet = if is_routed { hop(packet, direction_of(pdr), topology)? } else { packet.into() };
    fit(route, &packet, marks, topology)
}

/// The packet with one hop less.
///
/// # Errors
/// [`DropReason::TtlExpired`] when that was its last, [`DropReason::MalformedIp`] when its header checksum is wrong
/// (RFC 1812 clause 5.2.2).
fn hop<'p>(
    packet: &'p [u8],
    direction: Direction,
    topology: &Topology,
) -> Result<Cow<'p, [u8]>, DropWithError> {
    let Ok(user) = UserPacket::parse(packet) else { return Ok(packet.into()) };
    if matches!(user.ip(), Ip::V4(ip) if !ip.checksum_is_valid()) {
        return Err(DropReason::MalformedIp.into());
    }
    let far = if direction == Direction::Uplink { user.flow.dst } else { user.flow.src };
    let is_own = topology.networks.iter().any(|network| network.gateways.contains(&far));
    if !topology.routing.decrement_ttl || is_own {
        return Ok(packet.into());
    }
    let mut next = packet.to_vec();
    match decrement_hop_limit(&mut next) {
        Ok(_) => Ok(next.into()),
        Err(RewriteError::HopLimit) => {
            Err(DropWithError { reason: DropReason::TtlExpired, error: Some(IcmpError::TimeExceeded) })
        }
        Err(RewriteError::NotIp) => Err(DropReason::MalformedIp.into()),
    }
}

/// The packet with its outer header, in as many pieces as its way needs: an IPv4 packet is fragmented inside the
/// tunnel, where its sender allows it; the outer packet never is.
///
/// # Errors
/// [`DropReason::MtuExceeded`] when it does not fit, [`DropReason::TooBig`] when the GTP-U length field cannot hold it.
pub(crate) fn fit(
    route: &EgressRoute,
    packet: &[u8],
    marks: &Marks,
    topology: &Topology,
) -> Result<Fragments, DropWithError> {
    let room = max_payload(route, marks, topology)?;
    if packet.len() <= room {
        let (egress, wrapped) = route.wrap(packet, marks)?;
        return Ok((egress, vec![wrapped]));
    }
    let too_big = IcmpError::PacketTooBig { mtu: u32::try_from(room).unwrap_or(u32::MAX) };
    match fragment_v4(packet, room) {
        Ok(pieces) => {
            let wrap = |piece: &Vec<u8>| route.wrap(piece, marks);
            let wrapped = pieces.iter().map(wrap).collect::<Result<Vec<_>, _>>()?;
            // All pieces have the type of service of the whole, and so the same way.
            let egress = wrapped.first().map_or(route.egress(), |(egress, _)| egress).clone();
            Ok((egress, wrapped.into_iter().map(|(_, piece)| piece).collect()))
        }
        Err(FragmentError::MtuTooSmall(_)) => Err(DropReason::MtuExceeded.into()),
        // IPv6 is fragmented by nobody but its sender.
        Err(_) => Err(DropWithError { reason: DropReason::MtuExceeded, error: Some(too_big) }),
    }
}

/// Octets of the largest user packet that fits on its way in one piece.
///
/// # Errors
/// As [`EgressRoute::wrap`].
pub(crate) fn max_payload(
    route: &EgressRoute,
    marks: &Marks,
    topology: &Topology,
) -> Result<usize, DropReason> {
    let (outer, mtu) = outer_and_mtu(route.egress(), topology);
    let (_, header) = route.wrap(&[], marks)?;
    Ok((mtu as usize).saturating_sub(outer + header.len()))
}

/// An Ethernet frame with its outer header. A bridge does not fragment, and tells nobody.
///
/// # Errors
/// [`DropReason::MtuExceeded`] when it does not fit, [`DropReason::TooBig`] when the GTP-U length field cannot hold it.
pub(crate) fn fit_frame(
    route: &EgressRoute,
    frame: &[u8],
    marks: &Marks,
    topology: &Topology,
) -> Result<Fragments, DropWithError> {
    let (egress, wrapped) = route.wrap(frame, marks)?;
    let (outer, mtu) = outer_and_mtu(route.egress(), topology);
    let fits = wrapped.len() + outer <= mtu as usize;
    if fits { Ok((egress, vec![wrapped])) } else { Err(DropReason::MtuExceeded.into()) }
}

/// The octets of IP and UDP in front of what leaves here, and the largest packet that may.
fn outer_and_mtu(egress: &Egress, topology: &Topology) -> (usize, u32) {
    match egress {
        Egress::Gtpu { local, .. } => {
            let endpoint = topology.gtpu.iter().find(|endpoint| endpoint.addr.contains(*local));
            let ip = if local.is_ipv4() { 20 } else { 40 };
            (ip + UDP_HEADER, endpoint.map_or(u32::MAX, |endpoint| endpoint.mtu))
        }
        Egress::Ethernet { .. } => (0, u32::MAX),
        Egress::Ip { network } => {
            let network = topology.networks.iter().find(|known| known.instance == *network);
            (0, network.map_or(u32::MAX, |network| network.mtu))
        }
    }
}
