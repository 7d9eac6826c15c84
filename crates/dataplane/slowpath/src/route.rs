//! The UPF as the router between the UEs and the data networks: hop limits and MTUs.
//!
//! A packet loses one hop when it passes between a tunnel and a data network: the UPF that anchors the session is a
//! router, one that relays from tunnel to tunnel (N9, indirect forwarding, to and from the SMF) is not (TS 23.501
//! clause 8.3). A packet to or from an address of the UPF itself is unchanged.

use std::borrow::Cow;

use causeway_dataplane::{DropReason, Egress, Topology};
use causeway_packet::icmp::IcmpError;
use causeway_packet::rewrite::{RewriteError, decrement_hop_limit};
use causeway_packet::{FragmentError, Ip, UserPacket, fragment_v4};
use causeway_types::Direction;

use crate::apply_far::Matched;
use crate::egress::EgressRoute;
use crate::marks::Marks;
use crate::session::direction_of;

/// Octets of the UDP header in front of GTP-U.
const UDP_HEADER: usize = 8;

/// The egress of a packet, and its fragments, each with its outer header.
pub(crate) type Fragments = (Egress, Vec<Vec<u8>>);

/// A drop reason, and the ICMP error for the sender.
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

/// The packet as it is transmitted: with one hop less where it is routed, in as many fragments as needed.
///
/// # Errors
/// As [`hop`] and [`fit`].
pub(crate) fn routed(
    matched: &Matched<'_>,
    route: &EgressRoute,
    packet: &[u8],
    marks: &Marks,
    topology: &Topology,
) -> Result<Fragments, DropWithError> {
    let is_routed = !matched.from_tunnel || route.leaves_link();
    let packet = if is_routed { hop(packet, direction_of(matched.pdr), topology)? } else { packet.into() };
    fit(route, &packet, marks, topology)
}

/// The packet with one hop less.
///
/// # Errors
/// [`DropReason::TtlExpired`] when that was its last hop, [`DropReason::MalformedIp`] when its header checksum is
/// wrong (RFC 1812 clause 5.2.2).
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

/// The packet with its outer header, in as many fragments as its route needs: an IPv4 packet is fragmented inside the
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
    let max = max_payload(route, marks, topology)?;
    if packet.len() <= max {
        let (egress, wrapped) = route.wrap(packet, marks)?;
        return Ok((egress, vec![wrapped]));
    }
    let too_big = IcmpError::PacketTooBig { mtu: u32::try_from(max).unwrap_or(u32::MAX) };
    match fragment_v4(packet, max) {
        Ok(pieces) => {
            let wrap = |piece: &Vec<u8>| route.wrap(piece, marks);
            let wrapped = pieces.iter().map(wrap).collect::<Result<Vec<_>, _>>()?;
            // All fragments have the type of service of the whole packet, and so the same egress.
            let egress = wrapped.first().map_or(route.egress(), |(egress, _)| egress).clone();
            Ok((egress, wrapped.into_iter().map(|(_, piece)| piece).collect()))
        }
        Err(FragmentError::MtuTooSmall(_)) => Err(DropReason::MtuExceeded.into()),
        // Only its sender fragments IPv6.
        Err(_) => Err(DropWithError { reason: DropReason::MtuExceeded, error: Some(too_big) }),
    }
}

/// Octets of the largest user packet that fits its route without fragmentation.
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

/// An Ethernet frame with its outer header. A bridge neither fragments nor sends errors.
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

/// The octets of IP and UDP that are added, and the MTU of the egress.
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
