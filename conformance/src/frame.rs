//! Ethernet frames written by hand: `eth 02:00:00:00:00:01 > * c 5 udp 10.0.0.1:1 > 10.0.0.2:2 100`.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};

use causeway_packet::{EtherType, Ethernet, MAX_VLAN_TAGS, MacAddr, VlanTag};

use crate::CaseError;
use crate::format::{hex, user};
use crate::literal::{number, octets};
use crate::packet::user_packet;
use crate::variables::Variables;

/// A frame: `eth SRC > DST [s TAG] [c TAG] PAYLOAD` behind its first word.
///
/// `*` is the broadcast address. TAG is the tag's 16 bits, for example `0x6005` for priority 3 in VLAN 5.
/// PAYLOAD is `udp ...` or `icmp ...` as in a user packet, `arp IP asks IP`, `arp IP tells IP`, or `type NUMBER LITERAL`.
pub(crate) fn frame(text: &str, variables: &Variables) -> Result<Vec<u8>, CaseError> {
    let bad = |reason: &str| CaseError::Literal { literal: text.to_owned(), reason: reason.to_owned() };
    let words: Vec<&str> = text.split_whitespace().collect();
    let [src, ">", dst, rest @ ..] = words.as_slice() else { return Err(bad("expected `SRC > DST`")) };
    let address = |word: &str| mac(word).ok_or_else(|| bad("expected a MAC address or `*`"));
    let (src, dst) = (address(src)?, address(dst)?);
    let (tags, rest) = tags(rest, variables)?;
    let (ether_type, payload) = match rest {
        ["udp" | "icmp", ..] => {
            let packet = user_packet(&rest.join(" "), variables)?;
            let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
            (if is_v6 { EtherType::IPV6 } else { EtherType::IPV4 }, packet)
        }
        ["arp", from, verb, about] => {
            let ip = |word: &str| word.parse::<Ipv4Addr>().map_err(|_| bad("expected an IPv4 address"));
            let is_request = *verb == "asks";
            (EtherType::ARP, arp(src, dst, is_request, ip(from)?, ip(about)?))
        }
        ["type", kind, literal @ ..] => {
            let kind = u16::try_from(number(kind, variables)?).ok().and_then(EtherType::new);
            let kind = kind.ok_or_else(|| bad("an Ethertype is 0x0600 or above; use `raw`"))?;
            (kind, octets(&literal.join(" "), variables)?)
        }
        _ => return Err(bad("expected `udp`, `icmp`, `arp` or `type` behind the tags")),
    };
    let mut bytes = Vec::new();
    let frame = Ethernet { dst, src, tags, ether_type: Some(ether_type), payload: &payload };
    frame.write(&mut bytes).map_err(|error| bad(&error.to_string()))?;
    Ok(bytes)
}

type Tags = [Option<VlanTag>; MAX_VLAN_TAGS];

fn tags<'t, 'w>(mut words: &'t [&'w str], variables: &Variables) -> Result<(Tags, &'t [&'w str]), CaseError> {
    let mut tags = Tags::default();
    for tag in &mut tags {
        let [kind @ ("s" | "c"), control, rest @ ..] = words else { break };
        let bits = number(control, variables)?;
        let control = u16::try_from(bits).map_err(|_| CaseError::Literal {
            literal: (*control).to_owned(),
            reason: "a VLAN tag has 16 bits".to_owned(),
        })?;
        *tag = Some(VlanTag { service: *kind == "s", control });
        words = rest;
    }
    Ok((tags, words))
}

fn mac(word: &str) -> Option<MacAddr> {
    if word == "*" {
        return Some(MacAddr::BROADCAST);
    }
    let octets: Vec<u8> =
        word.split(':').map(|octet| u8::from_str_radix(octet, 16).ok()).collect::<Option<_>>()?;
    octets.try_into().ok().map(MacAddr)
}

/// An ARP packet (RFC 826) of IPv4 over Ethernet.
fn arp(src: MacAddr, dst: MacAddr, is_request: bool, from: Ipv4Addr, about: Ipv4Addr) -> Vec<u8> {
    let target = if is_request { MacAddr::default() } else { dst };
    let mut packet = vec![0, 1, 8, 0, 6, 4, 0, if is_request { 1 } else { 2 }];
    packet.extend(src.0);
    packet.extend(from.octets());
    packet.extend(target.0);
    packet.extend(about.octets());
    packet
}

/// A frame on one line, in the words of a case.
pub(crate) fn show(bytes: &[u8]) -> String {
    let Ok(frame) = Ethernet::parse(bytes) else { return format!("malformed {}", hex(bytes)) };
    let address = |mac: MacAddr| if mac == MacAddr::BROADCAST { "*".to_owned() } else { mac.to_string() };
    let mut line = format!("eth {} > {}", address(frame.src), address(frame.dst));
    for tag in frame.tags.iter().flatten() {
        let _ = write!(line, " {} {:#06x}", if tag.service { "s" } else { "c" }, tag.control);
    }
    let payload = match frame.ether_type {
        Some(EtherType::IPV4 | EtherType::IPV6) => user(frame.payload),
        Some(EtherType::ARP) => show_arp(frame.payload),
        Some(other) => format!("type {:#06x} {}", other.value(), hex(frame.payload)),
        None => format!("llc {}", hex(frame.payload)),
    };
    let _ = write!(line, " {payload}, frame of {} octets", bytes.len());
    line
}

fn show_arp(packet: &[u8]) -> String {
    let ip = |at: usize| packet.get(at..at + 4).and_then(|ip| <[u8; 4]>::try_from(ip).ok()).map(IpAddr::from);
    match (packet.get(7), ip(14), packet.get(8..14), ip(24)) {
        (Some(1), Some(from), _, Some(about)) => format!("arp {from} asks {about}"),
        (Some(2), Some(from), Some(mac), Some(about)) => format!("arp {from} tells {about}: {}", hex(mac)),
        _ => format!("arp {}", hex(packet)),
    }
}
