//! Fields and messages of routers, as text: hop limits, fragments and ICMP messages.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use causeway_packet::icmp::{Icmpv4, Icmpv4Message, Icmpv6, Icmpv6Message};
use causeway_packet::{Fragment, Ip, IpProtocol, UserPacket};

/// Hop limits that nothing is said about: what packets of cases start with, and what one hop leaves of it.
const DEFAULT_TTLS: [u8; 2] = [64, 63];

/// The line of an ICMP message; `None` of anything else, and of later fragments.
pub(crate) fn message(packet: &UserPacket<'_>) -> Option<String> {
    let flow = &packet.flow;
    if flow.fragment == Fragment::Later {
        return None;
    }
    let (said, is_valid) = match (flow.protocol, flow.src, flow.dst) {
        (IpProtocol::ICMP, ..) => {
            let icmp = Icmpv4::parse(packet.transport()).ok()?;
            (v4(&icmp.message), icmp.checksum_is_valid())
        }
        (IpProtocol::ICMPV6, IpAddr::V6(src), IpAddr::V6(dst)) => {
            let icmp = Icmpv6::parse(packet.transport()).ok()?;
            (v6(&icmp.message), icmp.checksum_is_valid(src, dst))
        }
        _ => return None,
    };
    let sum = if is_valid || flow.is_fragment() { "" } else { ", checksum wrong" };
    let (len, ttl) = (packet.len(), packet.ip().hop_limit());
    Some(format!("{said}, {} > {}, {len} octets, ttl {ttl}{sum}", flow.src, flow.dst))
}

/// What is unusual about a packet: its hop limit, that it is a fragment, a wrong header checksum.
pub(crate) fn details(packet: &UserPacket<'_>) -> String {
    let mut text = String::new();
    let ttl = packet.ip().hop_limit();
    if !DEFAULT_TTLS.contains(&ttl) {
        text += &format!(", ttl {ttl}");
    }
    if let Ip::V4(ip) = packet.ip() {
        if ip.is_fragment() {
            let more = if ip.more_fragments() { " more" } else { "" };
            text += &format!(", fragment {} at {}{more}", ip.identification(), ip.fragment_offset());
        }
        if !ip.checksum_is_valid() {
            text += ", checksum wrong";
        }
    }
    text
}

fn v4(message: &Icmpv4Message<'_>) -> String {
    match message {
        Icmpv4Message::TimeExceeded { original, .. } => {
            format!("icmp time exceeded about {}", about(original))
        }
        Icmpv4Message::FragmentationNeeded { mtu, original } => {
            format!("icmp fragmentation needed, mtu {mtu}, about {}", about(original))
        }
        Icmpv4Message::Unreachable { code, original } => {
            format!("icmp unreachable {code} about {}", about(original))
        }
        Icmpv4Message::EchoRequest(echo) => format!("icmp echo request {}", echo.sequence),
        Icmpv4Message::EchoReply(echo) => format!("icmp echo reply {}", echo.sequence),
        Icmpv4Message::Other { kind, code, .. } => format!("icmp {kind}/{code}"),
    }
}

fn v6(message: &Icmpv6Message<'_>) -> String {
    match message {
        Icmpv6Message::TimeExceeded { original, .. } => {
            format!("icmpv6 time exceeded about {}", about(original))
        }
        Icmpv6Message::PacketTooBig { mtu, original } => {
            format!("icmpv6 packet too big, mtu {mtu}, about {}", about(original))
        }
        Icmpv6Message::Unreachable { code, original } => {
            format!("icmpv6 unreachable {code} about {}", about(original))
        }
        Icmpv6Message::EchoRequest(echo) => format!("icmpv6 echo request {}", echo.sequence),
        Icmpv6Message::EchoReply(echo) => format!("icmpv6 echo reply {}", echo.sequence),
        Icmpv6Message::Other { kind: 133, .. } => "router solicitation".to_owned(),
        Icmpv6Message::Other { kind: 134, second_word: [_, _, l0, l1], body, .. } => {
            format!("router advertisement, lifetime {}{}", u16::from_be_bytes([*l0, *l1]), prefix(body))
        }
        Icmpv6Message::Other { kind, code, .. } => format!("icmpv6 {kind}/{code}"),
    }
}

/// The prefix that a Router Advertisement names first (RFC 4861 clauses 4.2 and 4.6.2).
fn prefix(body: &[u8]) -> String {
    let Some(option @ [3, 4, len, flags, ..]) = body.get(8..40) else { return String::new() };
    let Some(octets) = option.last_chunk::<16>() else { return String::new() };
    format!(", prefix {}/{len} flags {flags:#x}", Ipv6Addr::from(*octets))
}

/// The ends of a quoted packet, which may be cut short.
fn about(original: &[u8]) -> String {
    let v4 =
        |at: usize| original.get(at..at + 4)?.first_chunk::<4>().map(|ip| Ipv4Addr::from(*ip).to_string());
    let v6 =
        |at: usize| original.get(at..at + 16)?.first_chunk::<16>().map(|ip| Ipv6Addr::from(*ip).to_string());
    let ends = match original.first().map(|first| first >> 4) {
        Some(4) => v4(12).zip(v4(16)),
        Some(6) => v6(8).zip(v6(24)),
        _ => None,
    };
    ends.map_or_else(|| "nothing".to_owned(), |(src, dst)| format!("{src} > {dst}"))
}
