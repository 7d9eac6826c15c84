//! `causeway explain -r`: what would become of the packets of a capture file now.

use std::fmt::{self, Display, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use causeway_packet::gtpu::{self, Message, PduSession};
use causeway_packet::{Ip, IpProtocol, Udp};
use causeway_ports::Counter;
use causeway_ports::capture::{CaptureReader, CapturedPacket, Passage};
use causeway_upf::management::views::{ExplanationView, PacketView};
use hyper::Method;
use serde::Serialize;

use super::explain::show;
use crate::client::Client;
use crate::management::{CommandError, file_name};
use crate::output::{Cell, Output, Tone};

/// Maximum length of a user's packet that the UPF explains, in octets.
const MAX_PACKET: usize = 2000;

/// Which packets are explained.
pub(super) struct FileArgs<'a> {
    pub(super) file: &'a Path,
    /// The number of the packet; `None`: all.
    pub(super) packet: Option<u64>,
    /// The data network of packets without a tunnel.
    pub(super) dnn: Option<&'a str>,
}

/// What is printed for programs: one line for each packet.
#[derive(Serialize)]
struct ExplainedPacket<'a> {
    /// Its number in the file, from 1 on.
    packet: u64,
    explanation: Option<&'a ExplanationView>,
    /// Why there is no explanation.
    skipped: Option<String>,
}

pub(super) fn run(args: &FileArgs<'_>, client: &Client, output: &mut Output) -> Result<(), CommandError> {
    let mut reader = CaptureReader::open(args.file)?;
    let mut number = 0;
    while let Some(read) = reader.read_packet() {
        number += 1;
        if args.packet.is_some_and(|wanted| wanted != number) {
            continue;
        }
        let asked = read.map_err(|why| skipped_record(&why)).and_then(|packet| question(&packet, args.dnn));
        explain(number, asked, client, output)?;
        if args.packet.is_some() {
            return Ok(());
        }
    }
    match args.packet {
        Some(packet) => Err(CommandError::NoPacket { file: file_name(args.file), packet, packets: number }),
        None => Ok(()),
    }
}

/// Asks about one packet, and prints the answer.
fn explain(
    number: u64,
    asked: Result<(Received, PacketView), Skipped>,
    client: &Client,
    output: &mut Output,
) -> Result<(), CommandError> {
    let answer = match asked {
        Ok((received, view)) => {
            let explanation: ExplanationView = client.call(Method::POST, "/api/v1/explain", Some(&view))?;
            Ok((received, explanation))
        }
        Err(why) => Err(why),
    };
    if output.is_json() {
        let (explanation, skipped) = match &answer {
            Ok((_, explanation)) => (Some(explanation), None),
            Err(why) => (None, Some(why.to_string())),
        };
        return Ok(output.json_line(&ExplainedPacket { packet: number, explanation, skipped })?);
    }
    if number > 1 {
        output.line("")?;
    }
    match &answer {
        Ok((received, explanation)) => {
            output.line(Cell::new(format_args!("Packet {number}: {received}"), Tone::Heading))?;
            show(explanation, output)?;
        }
        Err(why) => {
            output.line(Cell::new(format_args!("Packet {number}: not explained, {why}"), Tone::Faint))?;
        }
    }
    Ok(output.flush()?)
}

/// How a packet came.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Received {
    /// In a tunnel.
    Tunnel { peer: SocketAddr, octets: usize },
    /// Without one.
    Network { octets: usize },
}

impl Display for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tunnel { peer, octets } => write!(f, "{octets} octets from GTP-U peer {peer}"),
            Self::Network { octets } => write!(f, "{octets} octets from a data network"),
        }
    }
}

/// Why a packet is not explained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Skipped {
    NoIp,
    Damaged,
    Sent,
    Cut,
    Fragment,
    NoUserData,
    Long,
}

impl Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoIp => "it is no IP packet",
            Self::Damaged => "it is damaged",
            Self::Sent => "it was sent by the UPF",
            Self::Cut => "the file has only its first octets",
            Self::Fragment => "it is a fragment of a GTP-U message",
            Self::NoUserData => "it is a GTP-U message without user data",
            Self::Long => "it has more than 2,000 octets",
        })
    }
}

const fn skipped_record(why: &Counter) -> Skipped {
    match why {
        Counter::RxNotForUs => Skipped::NoIp,
        _ => Skipped::Damaged,
    }
}

/// The question about a packet.
fn question(packet: &CapturedPacket, dnn: Option<&str>) -> Result<(Received, PacketView), Skipped> {
    if packet.passage == Some(Passage::Out) {
        return Err(Skipped::Sent);
    }
    if packet.is_cut {
        return Err(Skipped::Cut);
    }
    let Some((peer, local, message)) = gtpu_message(&packet.octets)? else {
        let packet = without_padding(&packet.octets);
        let view = PacketView {
            interface: "n6".into(),
            network: dnn.map(str::to_owned),
            packet: Some(hexadecimal(packet)?),
            ..PacketView::default()
        };
        return Ok((Received::Network { octets: packet.len() }, view));
    };
    let parsed = gtpu::Packet::parse(message).map_err(|_| Skipped::Damaged)?;
    let (Message::GPdu(user), Some(teid)) = (parsed.message, parsed.header.teid) else {
        return Err(Skipped::NoUserData);
    };
    let qfi = match parsed.extensions.pdu_session() {
        None => None,
        Some(PduSession::Uplink(info)) => Some(info.qfi.value()),
        // Only a UPF sends these, to a gNB or to another UPF.
        Some(PduSession::Downlink(_)) => return Err(Skipped::Sent),
    };
    let view = PacketView {
        interface: "n3".into(),
        teid: Some(teid.to_string()),
        qfi,
        local: Some(local),
        peer: Some(peer.ip()),
        packet: Some(hexadecimal(user)?),
        ..PacketView::default()
    };
    Ok((Received::Tunnel { peer, octets: user.len() }, view))
}

/// The sender, the receiver and the payload of a datagram.
type Datagram<'a> = (SocketAddr, IpAddr, &'a [u8]);

/// The datagram of GTP-U in a packet; `None`: the packet is something else.
fn gtpu_message(packet: &[u8]) -> Result<Option<Datagram<'_>>, Skipped> {
    let ip = Ip::parse(packet).map_err(|_| Skipped::Damaged)?;
    let (protocol, payload, is_fragment) = match &ip {
        Ip::V4(v4) => (v4.protocol(), v4.payload(), v4.is_fragment()),
        Ip::V6(v6) => {
            let Ok(chain) = v6.chain() else { return Ok(None) };
            (chain.protocol, chain.payload, chain.fragment.is_some_and(|fragment| !fragment.is_atomic()))
        }
    };
    if protocol != IpProtocol::UDP {
        return Ok(None);
    }
    let Ok(udp) = Udp::parse(payload) else {
        let to = payload.get(2..4).map(|port| [port[0], port[1]]);
        let is_gtpu = is_fragment && to == Some(gtpu::PORT.to_be_bytes());
        return if is_gtpu { Err(Skipped::Fragment) } else { Ok(None) };
    };
    if udp.dst_port() != gtpu::PORT {
        return Ok(None);
    }
    if is_fragment {
        return Err(Skipped::Fragment);
    }
    Ok(Some((SocketAddr::new(ip.src(), udp.src_port()), ip.dst(), udp.payload())))
}

/// An IP packet without the octets that fill an Ethernet frame up.
fn without_padding(packet: &[u8]) -> &[u8] {
    let number = |at: usize| {
        let octets = packet.get(at..)?.first_chunk::<2>()?;
        Some(usize::from(u16::from_be_bytes(*octets)))
    };
    let length = match packet.first().map(|octet| octet >> 4) {
        Some(4) => number(2),
        Some(6) => number(4).map(|payload| payload + 40),
        _ => None,
    };
    length.and_then(|length| packet.get(..length)).unwrap_or(packet)
}

fn hexadecimal(octets: &[u8]) -> Result<String, Skipped> {
    if octets.len() > MAX_PACKET {
        return Err(Skipped::Long);
    }
    Ok(octets.iter().fold(String::with_capacity(octets.len() * 2), |mut text, octet| {
        // A text takes all.
        let _ = write!(text, "{octet:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use causeway_packet::{IpRepr, Ipv4Repr, UdpRepr};

    fn udp(src: [u8; 4], dst: [u8; 4], ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        let ip = IpRepr::V4(Ipv4Repr::new(src.into(), dst.into(), IpProtocol::UDP));
        let repr = UdpRepr { src_port: ports.0, dst_port: ports.1 };
        ip.write_udp(repr, true, &[payload], &mut packet).unwrap();
        packet
    }

    fn captured(octets: &[u8]) -> CapturedPacket {
        CapturedPacket { octets: octets.to_vec(), is_cut: false, passage: None }
    }

    // Input:  a user's packet, alone in a padded frame and in a tunnel; the latter as sent, cut, damaged, as an Echo Request, and a
    //         packet that is too long.
    // Output: the questions; why there is none.
    #[test]
    fn packets_become_questions() {
        let user = udp([203, 0, 113, 1], [10, 45, 0, 2], (1, 2), b"down");
        let (received, view) = question(&captured(&[&user[..], &[0; 9]].concat()), Some("ims")).unwrap();
        assert_eq!(received, Received::Network { octets: user.len() });
        assert_eq!((view.interface.as_str(), view.network.as_deref()), ("n6", Some("ims")));
        assert_eq!(view.packet, Some(hexadecimal(&user).unwrap()));

        let header = gtpu::prefix::uplink(
            causeway_types::Teid::new(0x2a).unwrap(),
            causeway_types::Qfi::new(9).unwrap(),
            user.len(),
        );
        let message = [&header.unwrap()[..], &user].concat();
        let tunnel = |message: &[u8]| udp([192, 0, 2, 9], [192, 0, 2, 1], (7, 2152), message);
        let (received, view) = question(&captured(&tunnel(&message)), None).unwrap();
        assert_eq!(received.to_string(), format!("{} octets from GTP-U peer 192.0.2.9:7", user.len()));
        assert_eq!((view.teid.as_deref(), view.qfi), (Some("0x0000002a"), Some(9)));
        assert_eq!((view.peer, view.local), (Some([192, 0, 2, 9].into()), Some([192, 0, 2, 1].into())));
        assert_eq!(view.packet, Some(hexadecimal(&user).unwrap()));

        let sent = CapturedPacket { passage: Some(Passage::Out), ..captured(&user) };
        let cut = CapturedPacket { is_cut: true, ..captured(&user) };
        let echo = tunnel(&[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0]);
        let long = udp([203, 0, 113, 1], [10, 45, 0, 2], (1, 2), &[0; 1990]);
        for (packet, why) in [
            (sent, Skipped::Sent),
            (cut, Skipped::Cut),
            (captured(&echo), Skipped::NoUserData),
            (captured(&tunnel(&message[..6])), Skipped::Damaged),
            (captured(&[0x45, 0]), Skipped::Damaged),
            (captured(&long), Skipped::Long),
        ] {
            assert_eq!(question(&packet, None).err(), Some(why));
        }
    }
}
