//! User packets with an explicit payload: `tcp 10.45.0.2:40000 > 198.51.100.9:443 seq 1 : hello example.com`.

use std::net::{IpAddr, SocketAddr};

use causeway_packet::{FlowLabel, IpProtocol, Ipv4Repr, Ipv6Repr, TcpFlags, TcpRepr, UdpRepr};

use crate::CaseError;
use crate::literal::{number, octets};
use crate::variables::Variables;

/// What the words between the addresses and the colon ask for.
#[derive(Default)]
struct Options {
    tos: u8,
    label: u32,
    seq: u32,
    ack: u32,
    syn: bool,
    fin: bool,
    rst: bool,
    first: bool,
    later: bool,
}

/// A packet with its payload behind ` : `, a literal. In front of it stands one of
///
/// - `ip SRC > DST PROTOCOL`: the payload follows the IP header;
/// - `udp SRC:PORT > DST:PORT` and `tcp SRC:PORT > DST:PORT`;
///
/// and then any of `tos N`, `label N` (IPv6 flow label), `seq N`, `ack N`, `syn`, `fin` and `rst` (TCP), `first` and `later` (an IPv4
/// fragment of a larger packet).
pub(crate) fn packet(head: &str, payload: &str, variables: &Variables) -> Result<Vec<u8>, CaseError> {
    let bad =
        || CaseError::Literal { literal: head.to_owned(), reason: "no packet is written so".to_owned() };
    let payload = octets(payload, variables)?;
    let words: Vec<&str> = head.split_whitespace().collect();
    let built = match words.as_slice() {
        ["ip", src, ">", dst, protocol, rest @ ..] => {
            let (src, dst) = (src.parse().map_err(|_| bad())?, dst.parse().map_err(|_| bad())?);
            let protocol = IpProtocol(number(protocol, variables)? as u8);
            wrap(src, dst, protocol, &options(rest, variables)?, &payload)
        }
        [kind @ ("udp" | "tcp"), src, ">", dst, rest @ ..] => {
            let (src, dst) = (src.parse().map_err(|_| bad())?, dst.parse().map_err(|_| bad())?);
            transport(kind, src, dst, &options(rest, variables)?, &payload)
        }
        _ => None,
    };
    built.ok_or_else(bad)
}

fn options(words: &[&str], variables: &Variables) -> Result<Options, CaseError> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || number(words.next().unwrap_or(&""), variables);
        match *word {
            "tos" => options.tos = value()? as u8,
            "label" => options.label = value()? as u32,
            "seq" => options.seq = value()? as u32,
            "ack" => options.ack = value()? as u32,
            "syn" => options.syn = true,
            "fin" => options.fin = true,
            "rst" => options.rst = true,
            "first" => options.first = true,
            "later" => options.later = true,
            other => {
                let reason = "not an option of a packet".to_owned();
                return Err(CaseError::Literal { literal: other.to_owned(), reason });
            }
        }
    }
    Ok(options)
}

fn transport(
    kind: &str,
    src: SocketAddr,
    dst: SocketAddr,
    options: &Options,
    payload: &[u8],
) -> Option<Vec<u8>> {
    let mut segment = Vec::new();
    let (src_port, dst_port) = (src.port(), dst.port());
    if kind == "udp" {
        UdpRepr { src_port, dst_port }.write(src.ip(), dst.ip(), payload, &mut segment).ok()?;
        return wrap(src.ip(), dst.ip(), IpProtocol::UDP, options, &segment);
    }
    let mut flags = if options.syn { TcpFlags::SYN } else { TcpFlags::ACK };
    flags.set(TcpFlags::FIN, options.fin);
    flags.set(TcpFlags::RST, options.rst);
    let header = TcpRepr {
        src_port,
        dst_port,
        sequence: options.seq,
        acknowledgment: options.ack,
        flags,
        window: u16::MAX,
        urgent: 0,
    };
    header.write(src.ip(), dst.ip(), &[], payload, &mut segment).ok()?;
    wrap(src.ip(), dst.ip(), IpProtocol::TCP, options, &segment)
}

fn wrap(
    src: IpAddr,
    dst: IpAddr,
    protocol: IpProtocol,
    options: &Options,
    payload: &[u8],
) -> Option<Vec<u8>> {
    let mut packet = Vec::new();
    match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let header = Ipv4Repr {
                tos: options.tos,
                more_fragments: options.first,
                fragment_units: u16::from(options.later) * 100,
                ..Ipv4Repr::new(src, dst, protocol)
            };
            header.write(&[], payload, &mut packet).ok()?;
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let flow_label = FlowLabel::new(options.label)?;
            let header =
                Ipv6Repr { traffic_class: options.tos, flow_label, ..Ipv6Repr::new(src, dst, protocol) };
            header.write(payload, &mut packet).ok()?;
        }
        _ => return None,
    }
    Some(packet)
}

#[cfg(test)]
mod tests {
    use causeway_packet::{Fragment, UserPacket};

    use super::*;

    fn built(head: &str, payload: &str) -> Vec<u8> {
        packet(head, payload, &Variables::default()).unwrap()
    }

    #[test]
    fn packets_are_what_their_words_say() {
        let bytes = built("tcp 10.45.0.2:40000 > 198.51.100.9:443 seq 7 tos 0x28", "str abc");
        let user = UserPacket::parse(&bytes).unwrap();
        assert_eq!((user.flow.protocol, user.flow.tos, bytes.len()), (IpProtocol::TCP, 0x28, 43));
        let later = built("ip 10.45.0.2 > 198.51.100.9 17 later", "str abcdefgh");
        assert_eq!(UserPacket::parse(&later).unwrap().flow.fragment, Fragment::Later);
        let esp = built("ip 2001:db8::1 > 2001:db8::2 50 label 5", "u32 77 u32 1");
        let flow = UserPacket::parse(&esp).unwrap().flow;
        assert_eq!((flow.spi, flow.flow_label.map(FlowLabel::value)), (Some(77), Some(5)));
    }

    #[test]
    fn other_words_are_refused() {
        for head in ["udp 10.45.0.2 > 10.0.0.1:1", "ip 10.45.0.2 > 2001:db8::1 1", "sctp a > b", "udp 1"] {
            assert!(packet(head, "", &Variables::default()).is_err(), "{head}");
        }
    }
}
