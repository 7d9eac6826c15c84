//! The flow of a packet, for the UDP source port of its datagram (RFC 7348 section 5).

use causeway_packet::Meta;

/// Protocols whose headers begin with two ports: TCP, UDP, SCTP.
const WITH_PORTS: [u8; 3] = [6, 17, 132];

/// Octets of an IPv6 header.
const IPV6: usize = 40;

/// A number that packets of one flow share, in both forms of a frame: an IP packet, or GTP-U, whose flows are tunnels. Fragments
/// have no ports, the first one included: all of a packet have the same number.
#[inline]
pub(super) fn number(meta: &Meta, data: &[u8]) -> u64 {
    if let Meta::Gtpu { peer, .. } = meta {
        let peer = match peer.ip() {
            std::net::IpAddr::V4(ip) => ip.to_bits().into(),
            std::net::IpAddr::V6(ip) => (ip.to_bits() >> 64) as u64 ^ ip.to_bits() as u64,
        };
        return mixed(peer, word(data, 4).into());
    }
    match data {
        [first, ..] if first >> 4 == 4 => {
            let [.., flags, offset, _, protocol] = data.first_chunk::<10>().copied().unwrap_or_default();
            let is_whole = flags & 0x3f == 0 && offset == 0;
            let ports = if is_whole { ports(protocol, data, usize::from(first & 0x0f) * 4) } else { 0 };
            mixed(pair(data, 12), u64::from(protocol) << 32 | u64::from(ports))
        }
        _ => {
            let protocol = data.get(6).copied().unwrap_or_default();
            let ports = ports(protocol, data, IPV6);
            let source = mixed(pair(data, 8), pair(data, 16));
            let ends = mixed(pair(data, 24) ^ source, pair(data, 32));
            mixed(ends, u64::from(protocol) << 32 | u64::from(ports))
        }
    }
}

#[inline(always)]
fn ports(protocol: u8, data: &[u8], at: usize) -> u32 {
    if WITH_PORTS.contains(&protocol) { word(data, at) } else { 0 }
}

#[inline(always)]
fn word(data: &[u8], at: usize) -> u32 {
    data.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |octets| u32::from_be_bytes(*octets))
}

#[inline(always)]
fn pair(data: &[u8], at: usize) -> u64 {
    data.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |octets| u64::from_be_bytes(*octets))
}

/// Both halves of a product: each bit of either number changes many of the result.
#[inline(always)]
fn mixed(one: u64, other: u64) -> u64 {
    let product = u128::from(one ^ 0x9e37_79b9_7f4a_7c15) * u128::from(other ^ 0xc2b2_ae3d_27d4_eb4f);
    (product >> 64) as u64 ^ product as u64
}

/// One of so many, by a number of a flow.
#[inline(always)]
pub(super) fn choose(number: u64, of: usize) -> usize {
    // The number of source ports is small.
    (((number >> 32) * of as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    fn ipv4(ports: [u16; 2], fragment: u16) -> Vec<u8> {
        let [source, target] = ports.map(u16::to_be_bytes);
        let mut packet = vec![0x45, 0, 0, 28, 0, 7, 0, 0, 64, 17, 0, 0, 10, 45, 0, 2, 203, 0, 113, 9];
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet.extend([source, target].concat());
        packet.extend([0, 8, 0, 0]);
        packet
    }

    fn ipv6(ports: [u16; 2], protocol: u8) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 8, protocol, 64];
        packet.extend((0..32).map(|n| n * 7));
        packet.extend(ports.map(u16::to_be_bytes).concat());
        packet.extend([0, 8, 0, 0]);
        packet
    }

    fn of(packet: &[u8]) -> u64 {
        number(&Meta::Ip, packet)
    }

    // Input:  packets of one flow with other TTL, length and identification; of flows that differ in one field; the first fragment
    //         of a packet and a later one; packets that are cut anywhere.
    // Output: one number for the flow, another one for each other flow; one for all fragments; no panic.
    #[test]
    fn a_flow_has_one_number() {
        let first = ipv4([1000, 2000], 0);
        let mut later = first.clone();
        (later[2], later[3], later[5], later[8]) = (4, 0, 9, 3);
        assert_eq!(of(&first), of(&later));
        let mut others = vec![ipv4([1001, 2000], 0), ipv4([1000, 2001], 0)];
        for at in [9, 15, 19] {
            let mut other = first.clone();
            other[at] ^= 1;
            others.push(other);
        }
        let six = ipv6([1000, 2000], 6);
        others.extend([six.clone(), ipv6([1001, 2000], 6), ipv6([1000, 2000], 44)]);
        for at in [8, 23, 24, 39] {
            let mut other = six.clone();
            other[at] ^= 1;
            others.push(other);
        }
        let mut numbers: Vec<u64> = others.iter().chain([&first]).map(|packet| of(packet)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), others.len() + 1);
        // More fragments follow, or an offset; their octets at the place of the ports are data.
        assert_eq!(of(&ipv4([1000, 2000], 0x2000)), of(&ipv4([9, 9], 0x00b9)));
        assert_eq!(of(&ipv6([1000, 2000], 44)), of(&ipv6([3, 4], 44)));
        for packet in [&first, &six] {
            for len in 0..packet.len() {
                of(&packet[..len]);
            }
        }
    }

    // Input:  a thousand flows that differ in one port, a thousand UEs, a thousand tunnels to one peer; eight source ports.
    // Output: each source port has between a half and twice its share.
    #[test]
    fn flows_spread_over_source_ports() {
        let peer = SocketAddr::from(([192, 0, 2, 9], 2152));
        let gtpu = Meta::Gtpu { local: [192, 0, 2, 1].into(), peer, tos: 0, hops: None };
        let flows = |n: u16| {
            let mut of_ue = ipv4([1000, 2000], 0);
            of_ue[14..16].copy_from_slice(&n.to_be_bytes());
            let mut message = vec![0x30, 0xff, 0, 0, 0, 0, 0, 0];
            message[6..8].copy_from_slice(&n.to_be_bytes());
            [of(&ipv4([n, 443], 0)), of(&ipv6([n, 443], 17)), of(&of_ue), number(&gtpu, &message)]
        };
        for kind in 0..4 {
            let mut counts = [0; 8];
            (0..1000).for_each(|n| counts[choose(flows(n)[kind], 8)] += 1);
            assert!(counts.iter().all(|count| (62..=250).contains(count)), "{kind}: {counts:?}");
        }
    }
}
