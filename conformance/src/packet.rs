//! User packets written by hand: `udp 10.45.0.2:40000 > 198.51.100.9:53 100`.

use std::net::{IpAddr, SocketAddr};

use causeway_packet::gtpu::prefix;
use causeway_packet::icmp::{Icmpv4Message, Icmpv6Message};
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, Ipv6Repr, UdpRepr};
use causeway_types::{Qfi, Teid};
use serde::Deserialize;

use crate::CaseError;
use crate::frame::frame;
use crate::literal::{number, octets};
use crate::user_packet;
use crate::variables::Variables;

/// A G-PDU of a gNB.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GPduSpec {
    /// The tunnel: a number or a variable.
    pub(crate) teid: String,
    /// The QFI of the PDU Session Container; none without it.
    #[serde(default)]
    pub(crate) qfi: Option<u8>,
    /// The container is the downlink's, as the SMF and other UPFs write it.
    #[serde(default)]
    pub(crate) dl: bool,
    /// The user packet.
    pub(crate) user: String,
}

impl GPduSpec {
    /// The UDP payload.
    pub(crate) fn octets(&self, variables: &Variables) -> Result<Vec<u8>, CaseError> {
        let bad =
            |reason: &str| CaseError::Literal { literal: format!("{self:?}"), reason: reason.to_owned() };
        let raw = u32::try_from(number(&self.teid, variables)?).map_err(|_| bad("a TEID has 32 bits"))?;
        let teid = Teid::new(raw).ok_or_else(|| bad("zero is no tunnel; use gnb-raw"))?;
        let user = user_packet(&self.user, variables)?;
        let header = match self.qfi {
            None => prefix::without_extensions(teid, user.len()).map(Vec::from),
            Some(raw) => {
                let qfi = Qfi::new(raw).ok_or_else(|| bad("a QFI is at most 63"))?;
                match self.dl {
                    false => prefix::uplink(teid, qfi, user.len()).map(Vec::from),
                    true => prefix::downlink(teid, qfi, false, user.len()).map(Vec::from),
                }
            }
        };
        let mut packet = header.map_err(|error| bad(&error.to_string()))?;
        packet.extend(user);
        Ok(packet)
    }
}

/// A user packet: `udp SRC:PORT > DST:PORT OCTETS [fill N] [OPTIONS]`, with so many octets of UDP payload,
/// `icmp SRC > DST TYPE/CODE [OPTIONS] [data LITERAL]`, with what follows the checksum, `eth ...` for a frame, `raw LITERAL`, or, with ` : ` in it,
/// a packet with the payload behind that. In a tunnel over N6: `in udp SRC:PORT > DST:PORT | PACKET` or
/// `in ip SRC > DST | PACKET`.
pub(crate) fn user_packet(text: &str, variables: &Variables) -> Result<Vec<u8>, CaseError> {
    let bad = |reason: &str| CaseError::Literal { literal: text.to_owned(), reason: reason.to_owned() };
    if let Some(literal) = text.strip_prefix("raw ") {
        return octets(literal, variables);
    }
    if let Some(tunnelled) = text.strip_prefix("in ") {
        let (outer, inner) = tunnelled.split_once('|').ok_or_else(|| bad("expected `in OUTER | PACKET`"))?;
        let inner = user_packet(inner.trim(), variables)?;
        return tunnel(outer, &inner).ok_or_else(|| bad("expected `in udp` or `in ip` and two ends"));
    }
    if let Some(text) = text.strip_prefix("eth ") {
        return frame(text, variables);
    }
    if let Some((head, payload)) = text.split_once(" : ") {
        return user_packet::packet(head, payload, variables);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["udp", src, ">", dst, len, options @ ..] => {
            let end = |word: &str| word.parse::<SocketAddr>();
            let (Ok(src), Ok(dst)) = (end(src), end(dst)) else {
                return Err(bad("expected an address and a port"));
            };
            let (header, fill) = HeaderOptions::parse(options, variables).map_err(|reason| bad(&reason))?;
            let payload = vec![fill; number(len, variables)? as usize];
            let mut segment = Vec::new();
            let ports = UdpRepr { src_port: src.port(), dst_port: dst.port() };
            let written = ports.write(src.ip(), dst.ip(), &payload, &mut segment);
            written.map_err(|error| bad(&error.to_string()))?;
            header.packet(src.ip(), dst.ip(), IpProtocol::UDP, &segment)
        }
        ["icmp", src, ">", dst, kind, options @ ..] => {
            let at = options.iter().position(|word| *word == "data").unwrap_or(options.len());
            let (header, _) =
                HeaderOptions::parse(&options[..at], variables).map_err(|reason| bad(&reason))?;
            let data =
                octets(&options[at..].iter().skip(1).copied().collect::<Vec<_>>().join(" "), variables)?;
            let end = |word: &str| word.parse::<IpAddr>();
            let (Ok(src), Ok(dst)) = (end(src), end(dst)) else { return Err(bad("expected an address")) };
            icmp(src, dst, kind, &data)
                .and_then(|(protocol, message)| header.packet(src, dst, protocol, &message))
        }
        _ => {
            return Err(bad("expected `udp SRC:PORT > DST:PORT OCTETS`, `icmp SRC > DST TYPE/CODE`, \
                 `eth SRC > DST ...` or `raw LITERAL`"));
        }
    }
    .ok_or_else(|| bad("addresses of two families, or too long"))
}

/// A packet with the outer header of a tunnel over N6.
fn tunnel(outer: &str, inner: &[u8]) -> Option<Vec<u8>> {
    let words: Vec<&str> = outer.split_whitespace().collect();
    let [kind, src, ">", dst] = words.as_slice() else { return None };
    let mut packet = Vec::new();
    if *kind == "udp" {
        let (src, dst): (SocketAddr, SocketAddr) = (src.parse().ok()?, dst.parse().ok()?);
        let ports = UdpRepr { src_port: src.port(), dst_port: dst.port() };
        let header = IpRepr::new(src.ip(), dst.ip(), IpProtocol::UDP).ok()?;
        header.write_udp(ports, true, &[inner], &mut packet).ok()?;
        return Some(packet);
    }
    let protocol = if inner.first()? >> 4 == 6 { IpProtocol(41) } else { IpProtocol(4) };
    let header = IpRepr::new(src.parse().ok()?, dst.parse().ok()?, protocol).ok()?;
    header.write(inner, &mut packet).ok()?;
    (*kind == "ip").then_some(packet)
}

/// An ICMP message of either version, by its numbers; `rest` starts behind the checksum.
fn icmp(src: IpAddr, dst: IpAddr, kind: &str, rest: &[u8]) -> Option<(IpProtocol, Vec<u8>)> {
    let (kind, code) = kind.split_once('/')?;
    let (kind, code) = (kind.parse().ok()?, code.parse().ok()?);
    let (second_word, body) =
        rest.split_first_chunk::<4>().map_or(([0; 4], rest), |(word, body)| (*word, body));
    let mut message = Vec::new();
    match (src, dst) {
        (IpAddr::V4(_), IpAddr::V4(_)) => {
            Icmpv4Message::Other { kind, code, second_word, body }.write(&mut message);
            Some((IpProtocol::ICMP, message))
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            Icmpv6Message::Other { kind, code, second_word, body }.write(src, dst, &mut message);
            Some((IpProtocol::ICMPV6, message))
        }
        _ => None,
    }
}

/// What a case may say about an IP header: `tos N`, `ttl N`, and for IPv4 `df 1`, `id N`, `units N` (the fragment
/// offset in eights of octets) and `allocate_next 1`.
struct HeaderOptions {
    tos: u8,
    ttl: u8,
    df: bool,
    identification: u16,
    units: u16,
    more: bool,
}

impl HeaderOptions {
    /// The options, and the octet that a payload is filled with.
    fn parse(words: &[&str], variables: &Variables) -> Result<(Self, u8), String> {
        let mut options = Self { tos: 0, ttl: 64, df: false, identification: 0, units: 0, more: false };
        let mut fill = 0;
        for option in words.chunks(2) {
            let &[name, value] = option else { return Err(format!("`{}` needs a value", option[0])) };
            let value = number(value, variables).map_err(|error| error.to_string())?;
            match name {
                "fill" => fill = value as u8,
                "tos" => options.tos = value as u8,
                "ttl" => options.ttl = value as u8,
                "df" => options.df = value != 0,
                "id" => options.identification = value as u16,
                "units" => options.units = value as u16,
                "more" => options.more = value != 0,
                _ => return Err("expected `fill`, `tos`, `ttl`, `df`, `id`, `units` or `more`".to_owned()),
            }
        }
        Ok((options, fill))
    }

    fn packet(&self, src: IpAddr, dst: IpAddr, protocol: IpProtocol, payload: &[u8]) -> Option<Vec<u8>> {
        let mut packet = Vec::new();
        match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let header = Ipv4Repr {
                    tos: self.tos,
                    ttl: self.ttl,
                    dont_fragment: self.df,
                    identification: self.identification,
                    fragment_units: self.units,
                    more_fragments: self.more,
                    ..Ipv4Repr::new(src, dst, protocol)
                };
                header.write(&[], payload, &mut packet).ok()?;
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let (traffic_class, hop_limit) = (self.tos, self.ttl);
                let header = Ipv6Repr { traffic_class, hop_limit, ..Ipv6Repr::new(src, dst, protocol) };
                header.write(payload, &mut packet).ok()?;
            }
            _ => return None,
        }
        Some(packet)
    }
}
