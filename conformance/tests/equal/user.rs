//! User packets of UEs and servers, and unwanted ones.

use std::net::IpAddr;

use causeway_packet::{FlowLabel, IpProtocol, Ipv4Repr, Ipv6Repr, TcpFlags, TcpRepr, UdpRepr};

use crate::genes::Genes;

const PORTS: [u16; 8] = [40_000, 53, 443, 80, 8080, 2152, 4500, 0];

const REQUEST: &[u8] = b"GET /index.html HTTP/1.1\r\nHost: game.example\r\n\r\n";

/// The headers that an IPv6 packet may have before its payload, as types.
const EXTENSIONS: [u8; 6] = [60, 0, 43, 44, 51, 60];

/// An IP packet from one address to another of the same IP version; mostly sound.
pub(crate) fn packet(src: IpAddr, dst: IpAddr, genes: &mut Genes<'_>) -> Vec<u8> {
    let protocol = protocol(src.is_ipv6(), genes);
    let payload = payload(genes);
    let segment = segment(src, dst, protocol, payload, genes);
    let tos = tos(genes);
    let ttl = if genes.chance(24) { genes.pick(&[1, 0, 2, 255]) } else { 64 };
    let mut octets = Vec::new();
    let written = match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let mut header = Ipv4Repr { tos, ttl, ..Ipv4Repr::new(src, dst, protocol) };
            header.dont_fragment = genes.chance(96);
            header.identification = genes.octet().into();
            let (mut options, mut part) = (Vec::new(), segment.as_slice());
            let odd = if genes.chance(32) { 28 + genes.below(4) } else { 0 };
            match odd {
                28 => header.more_fragments = true,
                29 => header.fragment_units = 1 + u16::from(genes.octet()),
                30 => {
                    // So short that not even the ports are whole.
                    header.more_fragments = true;
                    part = part.get(..genes.below(8)).unwrap_or(part);
                }
                31 => options.resize(4 * (1 + genes.below(10)), 1),
                _ => {}
            }
            header.write(&options, part, &mut octets)
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let mut header =
                Ipv6Repr { hop_limit: ttl, traffic_class: tos, ..Ipv6Repr::new(src, dst, protocol) };
            header.flow_label =
                genes.maybe(32, &[5, 0xf_ffff]).and_then(FlowLabel::new).unwrap_or(FlowLabel::ZERO);
            let (next, payload) = chained(protocol.0, segment, genes);
            header.next_header = IpProtocol(next);
            header.write(&payload, &mut octets)
        }
        _ => unreachable!("both of one IP version"),
    };
    written.expect("no longer than an IP packet may be");
    if genes.chance(20) {
        spoil(&mut octets, genes);
    }
    octets
}

/// Mostly zero, else often what rules ask for (DSCP 46 and 10), with or without ECN.
fn tos(genes: &mut Genes<'_>) -> u8 {
    if !genes.chance(64) {
        return 0;
    }
    let any = genes.octet();
    genes.pick(&[46 << 2, 46 << 2 | 1, 46 << 2 | 2, 10 << 2, 10 << 2 | 3, any, any, any])
}

fn protocol(is_v6: bool, genes: &mut Genes<'_>) -> IpProtocol {
    let icmp = if is_v6 { IpProtocol::ICMPV6 } else { IpProtocol::ICMP };
    match genes.below(16) {
        0..7 => IpProtocol::UDP,
        7..12 => IpProtocol::TCP,
        12 | 13 => icmp,
        14 => IpProtocol::ESP,
        _ => genes.pick(&[IpProtocol::SCTP, IpProtocol::AH, IpProtocol(253), IpProtocol::NO_NEXT_HEADER]),
    }
}

fn payload(genes: &mut Genes<'_>) -> Vec<u8> {
    if genes.chance(12) {
        return REQUEST.to_vec();
    }
    let length =
        genes.pick(&[32, 0, 100, 1200, 1300, 1400, 64, 8, 1, 512, 1360, 1372, 1384, 1432, 1460, 8000]);
    let more = genes.below(17);
    (0..length + more).map(|at| at as u8).collect()
}

fn segment(
    src: IpAddr,
    dst: IpAddr,
    protocol: IpProtocol,
    payload: Vec<u8>,
    genes: &mut Genes<'_>,
) -> Vec<u8> {
    let (src_port, dst_port) = (genes.pick(&PORTS), genes.pick(&PORTS));
    let mut octets = Vec::new();
    match protocol {
        IpProtocol::UDP => {
            let _ = UdpRepr { src_port, dst_port }.write(src, dst, &payload, &mut octets);
        }
        IpProtocol::TCP => {
            let flags =
                genes.pick(&[TcpFlags::ACK, TcpFlags::ACK, TcpFlags::SYN, TcpFlags::FIN, TcpFlags::RST]);
            let (sequence, acknowledgment) = (genes.octet().into(), 0);
            let (window, urgent) = (1000, 0);
            let header = TcpRepr { src_port, dst_port, sequence, acknowledgment, flags, window, urgent };
            let _ = header.write(src, dst, &[], &payload, &mut octets);
        }
        IpProtocol::SCTP => {
            octets.extend(src_port.to_be_bytes());
            octets.extend(dst_port.to_be_bytes());
            octets.extend(payload);
        }
        IpProtocol::ICMP | IpProtocol::ICMPV6 => {
            // Echo, errors, and neighbour discovery.
            octets.extend([genes.pick(&[8, 0, 3, 11, 128, 133, 135, 2]), 0, 0, 0]);
            octets.extend(payload);
        }
        _ => {
            octets.extend([0, 0, 0, 77]);
            octets.extend(payload);
        }
    }
    octets
}

/// Behind extension headers, up to too many of them; the type of the first one.
fn chained(protocol: u8, segment: Vec<u8>, genes: &mut Genes<'_>) -> (u8, Vec<u8>) {
    let count = if genes.chance(48) { 1 + genes.below(12) } else { 0 };
    let (mut next, mut octets) = (protocol, segment);
    for _ in 0..count {
        let kind = genes.pick(&EXTENSIONS);
        // Of eight octets; as a Fragment header, these are offset and flag; of a Routing header, no segments are left.
        let fragment = if kind == 44 { genes.pick(&[0, 1, 8, 9]) } else { 0 };
        let mut header = vec![next, 0, 0, fragment, 0, 0, 0, 0];
        if kind == 0 || kind == 60 {
            header[2..].copy_from_slice(&[1, 4, 0, 0, 0, 0]);
        }
        header.extend(octets);
        (next, octets) = (kind, header);
    }
    (next, octets)
}

/// Makes it wrong somewhere.
pub(crate) fn spoil(octets: &mut Vec<u8>, genes: &mut Genes<'_>) {
    let at = usize::from(genes.word()) % octets.len().max(1);
    match genes.below(6) {
        0 => octets.truncate(at),
        1 => octets.extend(vec![0; genes.below(32)]),
        2 => {
            // Octets of the first header rather than anywhere.
            if let Some(octet) = octets.get_mut(at % 40) {
                *octet ^= 1 << genes.below(8);
            }
        }
        3 => {
            if let Some(octet) = octets.get_mut(at) {
                *octet = genes.octet();
            }
        }
        // The checksum of IPv4.
        4 => octets.get_mut(10).into_iter().for_each(|octet| *octet ^= 0x55),
        // Version and length of the header.
        _ => octets.get_mut(0).into_iter().for_each(|octet| *octet = genes.octet()),
    }
}
