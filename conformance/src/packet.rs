//! User packets written by hand: `udp 10.45.0.2:40000 > 198.51.100.9:53 100`.

use std::net::{IpAddr, SocketAddr};

use causeway_packet::gtpu::prefix;
use causeway_packet::{IpProtocol, Ipv4Repr, Ipv6Repr, UdpRepr};
use causeway_types::{Qfi, Teid};
use serde::Deserialize;

use crate::CaseError;
use crate::frame::frame;
use crate::literal::{number, octets};
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
            None => prefix::plain(teid, user.len()).map(Vec::from),
            Some(raw) => {
                let qfi = Qfi::new(raw).ok_or_else(|| bad("a QFI is at most 63"))?;
                prefix::uplink(teid, qfi, user.len()).map(Vec::from)
            }
        };
        let mut packet = header.map_err(|error| bad(&error.to_string()))?;
        packet.extend(user);
        Ok(packet)
    }
}

/// A user packet: `udp SRC:PORT > DST:PORT OCTETS [fill N] [tos N]`, with so many octets of UDP payload, `eth ...`
/// for a frame, or `raw LITERAL`.
pub(crate) fn user_packet(text: &str, variables: &Variables) -> Result<Vec<u8>, CaseError> {
    let bad = |reason: &str| CaseError::Literal { literal: text.to_owned(), reason: reason.to_owned() };
    if let Some(literal) = text.strip_prefix("raw ") {
        return octets(literal, variables);
    }
    if let Some(text) = text.strip_prefix("eth ") {
        return frame(text, variables);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let ["udp", src, ">", dst, len, options @ ..] = words.as_slice() else {
        return Err(bad("expected `udp SRC:PORT > DST:PORT OCTETS`, `eth SRC > DST ...` or `raw LITERAL`"));
    };
    let end = |word: &str| word.parse::<SocketAddr>().map_err(|_| bad("expected an address and a port"));
    let (src, dst) = (end(src)?, end(dst)?);
    let len = number(len, variables)? as usize;
    let (mut fill, mut tos) = (0, 0);
    for option in options.chunks(2) {
        match *option {
            ["fill", value] => fill = number(value, variables)? as u8,
            ["tos", value] => tos = number(value, variables)? as u8,
            _ => return Err(bad("expected `fill N` or `tos N`")),
        }
    }
    build(src, dst, &vec![fill; len], tos).ok_or_else(|| bad("addresses of two families, or too long"))
}

fn build(src: SocketAddr, dst: SocketAddr, payload: &[u8], tos: u8) -> Option<Vec<u8>> {
    let mut segment = Vec::new();
    let ports = UdpRepr { src_port: src.port(), dst_port: dst.port() };
    ports.write(src.ip(), dst.ip(), payload, &mut segment).ok()?;
    let mut packet = Vec::new();
    match (src.ip(), dst.ip()) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let header = Ipv4Repr { tos, ..Ipv4Repr::new(src, dst, IpProtocol::UDP) };
            header.write(&[], &segment, &mut packet).ok()?;
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let header = Ipv6Repr { traffic_class: tos, ..Ipv6Repr::new(src, dst, IpProtocol::UDP) };
            header.write(&segment, &mut packet).ok()?;
        }
        _ => return None,
    }
    Some(packet)
}
