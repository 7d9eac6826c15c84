//! The packets of the UPF, as lines of text.

use std::fmt::Write;

use causeway_dataplane::{Counters, Disposition, DropReason, Egress};
use causeway_packet::gtpu::{DlPduSession, Extension, Message, Packet, PduSession};
use causeway_packet::{IpProtocol, Udp, UserPacket};
use causeway_pfcp::{Header, MessageType, RawIes, dump::DumpIes};

use crate::runner::N6_PORT;
use crate::{format_icmp, format_tcp, frame};

/// The name of a message as TS 29.244 has it, without the prefix PFCP.
pub(crate) fn message_name(message_type: MessageType) -> &'static str {
    let name = message_type.name();
    name.strip_prefix("PFCP ").unwrap_or(name)
}

/// A PFCP message: a line with what it says on the whole, and a line for each IE.
pub(crate) fn pfcp(bytes: &[u8]) -> String {
    let Ok((header, body, _)) = Header::decode(bytes) else { return format!("malformed {}", hex(bytes)) };
    let mut text = match MessageType::from_code(header.message_type) {
        Some(message_type) => message_name(message_type).to_owned(),
        None => format!("message {}", header.message_type),
    };
    for raw in RawIes::new(body).flatten() {
        match (raw.ie_type, raw.value) {
            (19, [cause, ..]) => drop(write!(text, ", cause {cause}")),
            (40, &[hi, lo, ..]) => drop(write!(text, ", offending IE {}", u16::from_be_bytes([hi, lo]))),
            _ => {}
        }
    }
    if let Some(seid) = header.seid {
        let _ = write!(text, ", SEID {:#x}", seid.0);
    }
    let _ = write!(text, ", sequence {}", header.sequence);
    for line in DumpIes(body).to_string().lines() {
        let _ = write!(text, "\n  {line}");
    }
    text
}

/// A packet that leaves, on one line.
pub(crate) fn packet(egress: &Egress, bytes: &[u8]) -> String {
    match egress {
        Egress::Ip { network } => format!("to {network}: {}", user(bytes)),
        Egress::Ethernet { network } => format!("to {network}: {}", frame::show(bytes)),
        Egress::Gtpu { local, peer, tos: 0, hops: None } => {
            format!("gtp-u {local} -> {peer}: {}", gtpu(bytes))
        }
        Egress::Gtpu { local, peer, tos, hops } => {
            let ttl = hops.map_or_else(String::new, |hops| format!(", outer ttl {hops}"));
            let tos = if *tos == 0 { String::new() } else { format!(", outer tos {tos}") };
            format!("gtp-u {local} -> {peer}{tos}{ttl}: {}", gtpu(bytes))
        }
    }
}

/// What became of a received packet.
pub(crate) fn disposition_name(fate: Disposition) -> String {
    match fate {
        Disposition::Forwarded => "forwarded".to_owned(),
        Disposition::Buffered => "buffered".to_owned(),
        Disposition::Consumed => "consumed".to_owned(),
        Disposition::Dropped(reason) => format!("dropped: {reason}"),
    }
}

/// What became of every user packet so far; reasons that did not occur are left out.
pub(crate) fn counters(counters: &Counters) -> String {
    let mut line = format!("forwarded {}, buffered {}", counters.forwarded, counters.buffered);
    for reason in DropReason::ALL.iter().filter(|reason| counters.dropped(**reason) > 0) {
        let _ = write!(line, ", {reason} {}", counters.dropped(*reason));
    }
    line
}

fn gtpu(bytes: &[u8]) -> String {
    let Ok(packet) = Packet::parse(bytes) else { return format!("malformed {}", hex(bytes)) };
    let mut line = String::new();
    if let Some(teid) = packet.header.teid {
        let _ = write!(line, "teid {teid} ");
    }
    match packet.extensions.pdu_session() {
        Some(PduSession::Downlink(info)) => line.push_str(&downlink(info)),
        Some(PduSession::Uplink(info)) => drop(write!(line, "ul qfi {} ", info.qfi)),
        None => {}
    }
    for extension in packet.extensions.iter() {
        if let Extension::Other { kind, content } = extension {
            let _ = write!(line, "extension {kind:#04x} {} ", hex(content));
        }
    }
    let message = match packet.message {
        Message::GPdu(inner) => user_or_frame(inner),
        Message::EchoRequest => format!("Echo Request {}", packet.header.sequence.unwrap_or(0)),
        Message::ErrorIndication(error) => format!("Error Indication {:?} at {}", error.teid, error.peer),
        other => format!("{other:?}"),
    };
    line + &message
}

fn downlink(info: DlPduSession) -> String {
    let mut text = format!("dl qfi {} ", info.qfi);
    if info.rqi {
        text.push_str("rqi ");
    }
    if let Some(ppi) = info.ppi {
        let _ = write!(text, "ppi {ppi} ");
    }
    text
}

/// The packet does not say which of the two it is; no address here is one that could be both.
fn user_or_frame(bytes: &[u8]) -> String {
    if UserPacket::parse(bytes).is_ok() { user(bytes) } else { frame::show(bytes) }
}

/// A user's IP packet.
pub(crate) fn user(bytes: &[u8]) -> String {
    let Ok(packet) = UserPacket::parse(bytes) else { return format!("malformed {}", hex(bytes)) };
    let flow = &packet.flow;
    if let Some(line) = format_icmp::message(&packet) {
        return line;
    }
    let protocol = match flow.protocol {
        IpProtocol::UDP => "udp".to_owned(),
        IpProtocol::TCP => "tcp".to_owned(),
        other => format!("protocol {}", other.0),
    };
    let ends = match flow.ports {
        Some(ports) => format!("{}:{} > {}:{}", flow.src, ports.src, flow.dst, ports.dst),
        None => format!("{} > {}", flow.src, flow.dst),
    };
    if let Some(inner) = tunnelled(&packet) {
        return format!("in {protocol} {ends}: {}", user(inner));
    }
    let last = bytes.last().copied().unwrap_or(0);
    let details =
        format_icmp::details(&packet) + &format_tcp::details(&packet) + format_tcp::wrong_checksum(&packet);
    format!("{protocol} {ends}, {} octets, tos {}, last {last}{details}", packet.len(), flow.tos)
}

/// What is inside a packet of a tunnel over N6.
fn tunnelled<'a>(packet: &UserPacket<'a>) -> Option<&'a [u8]> {
    match packet.flow.protocol {
        IpProtocol(4 | 41) => Some(packet.transport()),
        IpProtocol::UDP if packet.flow.ports?.src == N6_PORT => {
            Some(Udp::parse(packet.transport()).ok()?.payload())
        }
        _ => None,
    }
}

/// Octets as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
