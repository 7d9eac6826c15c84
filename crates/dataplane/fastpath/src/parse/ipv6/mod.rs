//! Parses IPv6 packets, as part of the parse of unusual headers. Everything else takes the path of
//! [`crate::batch::general`].

use causeway_packet::{BATCH, MAX_IPV6_EXTENSIONS};
use causeway_types::Qfi;

use crate::batch::state::UPLINK;
use crate::batch::state::{BatchState, NextStage, packet_flag};
use crate::classify::filters::PacketKey;
use crate::parse::address_filter::Ipv6Prefilter;
use crate::parse::{UserPacketOffset, ecn};

/// An IPv6 header.
const HEADER: usize = 40;
/// The offset of its source; the destination follows.
pub(crate) const SOURCE: usize = 8;
pub(crate) const DESTINATION: usize = 24;

/// The result of parsing a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ParseOutcome {
    /// It was parsed.
    Ipv6,
    /// It is not well-formed.
    Malformed,
    /// The general path must parse it.
    GeneralPath,
}

/// The result of walking the extension headers of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Chain {
    /// The chain ends with this protocol, at this offset.
    EndsAt(u8, usize),
    Malformed,
    /// There is a Fragment header.
    Fragmented,
}

impl Chain {
    /// Walks the chain of a packet with at least a full header.
    #[inline(always)]
    fn of(packet: &[u8]) -> Self {
        const HOP_BY_HOP: u8 = 0;
        let (mut kind, mut at) = (packet[6], HEADER);
        for position in 0..=MAX_IPV6_EXTENSIONS {
            match kind {
                HOP_BY_HOP if position > 0 => return Self::Malformed,
                HOP_BY_HOP | 43 | 60 => {}
                44 => return Self::Fragmented,
                _ => return Self::EndsAt(kind, at),
            }
            let Some(&[next, units]) = packet.get(at..).and_then(<[u8]>::first_chunk) else {
                return Self::Malformed;
            };
            kind = next;
            at += usize::from(units) * 8 + 8;
            if at > packet.len() {
                return Self::Malformed;
            }
        }
        // The chain exceeds the supported length.
        Self::Malformed
    }
}

/// Parses the packet at this position of a frame.
#[inline(always)]
pub(crate) fn read<const IS_UPLINK: bool>(
    state: &mut BatchState,
    index: usize,
    (frame, offset): (&[u8], UserPacketOffset),
    own: Ipv6Prefilter,
) -> ParseOutcome {
    let at = index % BATCH;
    let Some(message) = frame.get(offset.start as usize..offset.end as usize) else {
        return ParseOutcome::GeneralPath;
    };
    let Some(head) = message.first_chunk::<HEADER>() else { return ParseOutcome::GeneralPath };
    let payload = usize::from(u16::from_be_bytes([head[4], head[5]]));
    let Some(packet) = message.get(..HEADER + payload).filter(|_| payload > 0) else {
        return ParseOutcome::GeneralPath;
    };
    let tos = head[0] << 4 | head[1] >> 4;
    if IS_UPLINK == UPLINK && ecn::changes(offset.outer, u32::from(tos & 0x03)) {
        return ParseOutcome::GeneralPath;
    }
    let (protocol, payload_start) = match Chain::of(packet) {
        Chain::EndsAt(protocol, payload_start) => (protocol, payload_start),
        // A congestion mark of the outer header is checked for any user packet.
        Chain::Malformed if IS_UPLINK == UPLINK && offset.outer & 0x01 != 0 => {
            return ParseOutcome::GeneralPath;
        }
        Chain::Malformed => return ParseOutcome::Malformed,
        Chain::Fragmented => return ParseOutcome::GeneralPath,
    };
    let half = |from: usize| head[from..].first_chunk().map_or(0, |octets| u64::from_be_bytes(*octets));
    let ports = match (protocol, packet.get(payload_start..).and_then(<[u8]>::first_chunk)) {
        (6 | 17 | 33 | 132 | 136, Some(ports)) => Some(u32::from_be_bytes(*ports)),
        _ => None,
    };
    let (source, target) = ((half(SOURCE), half(SOURCE + 8)), (half(DESTINATION), half(DESTINATION + 8)));
    let (local, remote, ports) = match IS_UPLINK {
        UPLINK => (source.0, target.0, ports),
        _ => (target.0, source.0, ports.map(|ports| ports.rotate_left(16))),
    };
    let packet_key = PacketKey::v6((remote >> 32) as u32, ports, protocol, tos);
    let packet_key = offset.qfi.map_or(packet_key, |qfi| packet_key.with_qfi(Qfi::from_low_bits(qfi)));
    let far = if IS_UPLINK == UPLINK { target } else { source };
    let flaws = (packet_flag::LOCAL_ADDRESS * u8::from(own.may_contain(far)))
        | (packet_flag::TTL_EXPIRES * u8::from(head[7] <= 1))
        | (packet_flag::LINK_SCOPED * u8::from(is_link_scoped(source) || is_link_scoped(target)));
    (state.words[at], state.ports[at], state.remotes[at]) = packet_key.with_ue(false, true).parts();
    (state.prefixes[at], state.remote_prefixes[at]) = (local, remote);
    (state.lens[at], state.starts[at]) = (packet.len() as u32, offset.start);
    state.flags[at] = flaws.into();
    state.hops[at] = u32::from_le_bytes([head[4], head[5], head[6], head[7].wrapping_sub(1)]);
    state.set_stage(index, NextStage::Ipv6);
    ParseOutcome::Ipv6
}

/// Link-local, unspecified, or a group, given both halves of an address.
const fn is_link_scoped((upper, lower): (u64, u64)) -> bool {
    upper >> 54 == 0x3fa || upper >> 56 == 0xff || (upper | lower) == 0
}

/// The same, given the upper half alone.
pub(crate) const fn may_be_link_scoped(upper: u64) -> bool {
    is_link_scoped((upper, 0))
}

#[cfg(test)]
mod tests;
