//! Which packets the pipeline takes; the others are for the slow path: signalling, fragments, packets that are damaged, have no hop left,
//! stay on the link of the UE or are for the UPF itself, those with more in their GTP-U header than a QFI, and those that no place of a
//! packet holds.

use std::net::IpAddr;

use causeway_dataplane::{BlockedAddresses, Ingress, Topology};
use causeway_packet::{Ip, UserPacket};
use causeway_slowpath::lease::LookupKey;
use causeway_types::{Qfi, Teid, Time};

use crate::key::{Fields, UeKey};
use crate::layout::{MAX_PACKET, TAG};
use crate::pipeline::Arrival;

const G_PDU: u8 = 255;
/// PDU Session Container (TS 29.281 clause 5.2.1).
const CONTAINER: u8 = 0x85;

/// The packet, if the pipeline takes it.
pub(crate) fn arrival(
    token: u64,
    at: Time,
    ingress: &Ingress,
    packet: &[u8],
    topology: &Topology,
    blocked: &BlockedAddresses,
) -> Option<Arrival> {
    if packet.len() > MAX_PACKET {
        return None;
    }
    let (key, start, end, qfi, outer, hops) = match ingress {
        Ingress::Gtpu { local, tos, hops, .. } => {
            let (teid, start, end, qfi) = g_pdu(packet)?;
            (Some(LookupKey::Tunnel { teid, local: *local }), start, end, qfi, Some(*tos), *hops)
        }
        Ingress::Ip { .. } => (None, 0, packet.len(), None, None, None),
        Ingress::Ethernet { .. } => return None,
    };
    let user = UserPacket::parse(packet.get(start..end)?).ok()?;
    let flow = &user.flow;
    let key = match (key, ingress) {
        (Some(key), _) => key,
        (None, Ingress::Ip { network }) => {
            let network = topology.networks.iter().position(|known| known.instance == *network)?;
            match flow.dst {
                IpAddr::V4(ue) => LookupKey::Ipv4 { network, ue },
                IpAddr::V6(ip) => LookupKey::Ipv6 { network, prefix: (u128::from(ip) >> 64) as u64 },
            }
        }
        _ => return None,
    };
    let is_sound = match user.ip() {
        Ip::V4(ip) => ip.checksum_is_valid() && ip.ttl() > 1,
        Ip::V6(ip) => ip.hop_limit() > 1,
    };
    let is_ordinary = is_sound
        && !flow.is_fragment()
        && hops.is_none_or(|hops| hops.get() > 1)
        && ![flow.src, flow.dst].into_iter().any(|ip| is_special(ip) || blocked.contains(ip))
        && !outer.is_some_and(|outer| changes_ecn(outer, flow.tos));
    is_ordinary.then_some(())?;
    Some(Arrival {
        token,
        at,
        ue: UeKey::new(&key)?,
        fields: Fields::new(flow, qfi),
        frame: with_space(packet),
        start,
        end: start + user.len(),
        tos: flow.tos,
        hops,
    })
}

/// The packet, with space for its number, which it has in memory.
fn with_space(packet: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(packet.len() + TAG);
    frame.extend_from_slice(packet);
    frame
}

/// A G-PDU with nothing in its header, or with a container that has a QFI and nothing else: TEID, user packet, QFI.
fn g_pdu(packet: &[u8]) -> Option<(Teid, usize, usize, Option<Qfi>)> {
    let [flags, G_PDU, hi, lo, a, b, c, d] = *packet.first_chunk::<8>()? else { return None };
    let teid = Teid::new(u32::from_be_bytes([a, b, c, d]))?;
    let end = 8 + usize::from(u16::from_be_bytes([hi, lo]));
    if end > packet.len() || end > usize::from(u16::MAX) {
        return None;
    }
    match flags {
        0x30 => Some((teid, 8, end, None)),
        0x34 => match packet.get(..end)?.get(11..16)? {
            [CONTAINER, 1, 0 | 0x10, qfi, 0] => Some((teid, 16, end, Some(Qfi::new(*qfi)?))),
            _ => None,
        },
        _ => None,
    }
}

/// Link-local, unspecified, or a group.
fn is_special(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local() || ip.is_multicast() || ip.is_unspecified(),
        IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.is_multicast() || ip.is_unspecified(),
    }
}

/// The ECN field of the user packet changes, or it is dropped (RFC 6040 figure 4).
const fn changes_ecn(outer: u8, inner: u8) -> bool {
    matches!((outer & 3, inner & 3), (3, 0..=2) | (1, 2))
}
