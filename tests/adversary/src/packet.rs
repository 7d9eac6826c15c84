//! The packets that attackers send.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use causeway_packet::gtpu::prefix;
use causeway_packet::{IpProtocol, Ipv4Repr, Ipv6Repr, TcpFlags, TcpRepr, UdpRepr};
use causeway_types::{Qfi, Teid};

/// A UDP packet over IPv4.
pub(crate) fn udp(src: (Ipv4Addr, u16), dst: (Ipv4Addr, u16), payload: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    let repr = UdpRepr { src_port: src.1, dst_port: dst.1 };
    // What is too long for a datagram becomes an empty packet, which the UPF has to take too.
    let _ = repr.write(src.0.into(), dst.0.into(), payload, &mut datagram);
    ip(Ipv4Repr::new(src.0, dst.0, IpProtocol::UDP), &datagram)
}

/// A UDP packet over IPv6.
pub(crate) fn udp6(src: (Ipv6Addr, u16), dst: (Ipv6Addr, u16), payload: &[u8]) -> Vec<u8> {
    let (mut datagram, mut packet) = (Vec::new(), Vec::new());
    let repr = UdpRepr { src_port: src.1, dst_port: dst.1 };
    let _ = repr.write(src.0.into(), dst.0.into(), payload, &mut datagram);
    let _ = Ipv6Repr::new(src.0, dst.0, IpProtocol::UDP).write(&datagram, &mut packet);
    packet
}

/// The same UDP packet as two fragments.
pub(crate) fn fragments(src: (Ipv4Addr, u16), dst: (Ipv4Addr, u16), payload: &[u8]) -> [Vec<u8>; 2] {
    let whole = udp(src, dst, payload);
    let datagram = whole.get(20..).unwrap_or_default();
    let (first, rest) = datagram.split_at(datagram.len().min(16));
    let repr = Ipv4Repr { identification: 77, ..Ipv4Repr::new(src.0, dst.0, IpProtocol::UDP) };
    [ip(Ipv4Repr { more_fragments: true, ..repr }, first), ip(Ipv4Repr { fragment_units: 2, ..repr }, rest)]
}

/// The first packet of a TCP connection.
pub(crate) fn tcp_syn(src: (Ipv4Addr, u16), dst: (Ipv4Addr, u16)) -> Vec<u8> {
    let mut segment = Vec::new();
    let repr = TcpRepr {
        src_port: src.1,
        dst_port: dst.1,
        sequence: 1,
        acknowledgment: 0,
        flags: TcpFlags::SYN,
        window: 65_535,
        urgent: 0,
    };
    let _ = repr.write(IpAddr::V4(src.0), IpAddr::V4(dst.0), &[], &[], &mut segment);
    ip(Ipv4Repr::new(src.0, dst.0, IpProtocol::TCP), &segment)
}

/// An uplink G-PDU.
pub(crate) fn g_pdu(teid: Teid, user: &[u8]) -> Vec<u8> {
    let prefix = Qfi::new(9).and_then(|qfi| prefix::uplink(teid, qfi, user.len()).ok());
    let mut packet = prefix.map(Vec::from).unwrap_or_default();
    packet.extend_from_slice(user);
    packet
}

fn ip(repr: Ipv4Repr, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let _ = repr.write(&[], payload, &mut packet);
    packet
}

/// Octets that may be anything.
pub(crate) fn noise(random: &mut fastrand::Rng, most: usize) -> Vec<u8> {
    (0..random.usize(..most)).map(|_| random.u8(..)).collect()
}

/// The same octets with up to four defects: bits turned, octets set, parts removed, repeated or put in, lengths that lie.
pub(crate) fn mutate(random: &mut fastrand::Rng, octets: &[u8]) -> Vec<u8> {
    let mut octets = octets.to_vec();
    for _ in 0..random.usize(1..=4) {
        if octets.is_empty() {
            return octets;
        }
        let at = random.usize(..octets.len());
        let part = at..random.usize(at..=octets.len().min(at + 40));
        match random.u8(..7) {
            0 => octets[at] ^= 1 << random.u8(..8),
            1 => octets[at] = random.u8(..),
            2 => octets[at] = *random.choice(&[0, 1, 0x7f, 0x80, 0xff]).unwrap_or(&0),
            3 => octets.truncate(at),
            4 => drop(octets.drain(part)),
            5 => {
                let again = octets[part].to_vec();
                octets.splice(at..at, again);
            }
            _ => {
                let new = noise(random, 20);
                octets.splice(at..at, new);
            }
        }
    }
    octets
}

#[cfg(test)]
mod tests {
    use super::*;
    use causeway_packet::gtpu;

    // Input:  a G-PDU; ten thousand mutants of it, twice from the same seed.
    // Output: the packet is read back; the mutants are the same both times, and most differ from the packet.
    #[test]
    fn the_same_seed_makes_the_same_packets() {
        let user = udp((Ipv4Addr::new(10, 45, 0, 3), 1), (Ipv4Addr::new(10, 60, 0, 2), 2), b"user data");
        let packet = g_pdu(Teid::new(7).unwrap(), &user);
        assert!(
            matches!(gtpu::Packet::parse(&packet).unwrap().message, gtpu::Message::GPdu(inner) if inner == user)
        );
        let mutants = |seed| {
            let mut random = fastrand::Rng::with_seed(seed);
            (0..10_000).map(|_| mutate(&mut random, &packet)).collect::<Vec<_>>()
        };
        assert_eq!(mutants(3), mutants(3));
        assert!(mutants(3).iter().filter(|mutant| **mutant != packet).count() > 9_000);
    }
}
