//! What the UPF sends, as lines of text.

use std::fmt::Write;

use causeway_dataplane::{Egress, Fate};
use causeway_packet::gtpu::{Message, Packet, PduSession};
use causeway_packet::{IpProtocol, UserPacket};
use causeway_pfcp::{Header, MessageType, RawIes};

/// The name of a message as TS 29.244 has it, without the prefix PFCP.
pub(crate) fn message_name(message_type: MessageType) -> String {
    let mut name = String::new();
    for letter in format!("{message_type:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() && !name.ends_with("PF") {
            name.push(' ');
        }
        name.push(letter);
    }
    name.replace("Pfd ", "PFD ")
}

/// A PFCP message: a line with what it says on the whole, and a line for each IE.
pub(crate) fn pfcp(bytes: &[u8]) -> String {
    let Ok((header, body, _)) = Header::decode(bytes) else { return format!("malformed {}", hex(bytes)) };
    let mut text = match MessageType::from_code(header.message_type) {
        Some(message_type) => message_name(message_type),
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
        let _ = write!(text, ", SEID {seid}");
    }
    let _ = write!(text, ", sequence {}", header.sequence);
    ies(body, 1, &mut text);
    text
}

fn ies(group: &[u8], depth: usize, text: &mut String) {
    for raw in RawIes::new(group).flatten() {
        let indent = depth * 2;
        let _ = write!(text, "\n{:indent$}", "");
        match causeway_pfcp::ie_info(raw.ie_type) {
            Some(info) if !info.fields.is_empty() => {
                text.push_str(info.name);
                ies(raw.value, depth + 1, text);
            }
            Some(info) => {
                let _ = write!(text, "{}: ", info.name);
                if info.show(raw.value, text).is_err() {
                    text.push_str(&hex(raw.value));
                }
            }
            None => drop(write!(text, "IE {}: {}", raw.ie_type, hex(raw.value))),
        }
    }
}

/// A packet that leaves, on one line.
pub(crate) fn packet(egress: &Egress, bytes: &[u8]) -> String {
    match egress {
        Egress::Ip { network } => format!("to {network}: {}", user(bytes)),
        Egress::Gtpu { local, peer, .. } => format!("gtp-u {local} -> {peer}: {}", gtpu(bytes)),
    }
}

/// What became of a received packet.
pub(crate) fn fate(fate: Fate) -> String {
    match fate {
        Fate::Forwarded => "forwarded".to_owned(),
        Fate::Buffered => "buffered".to_owned(),
        Fate::Consumed => "consumed".to_owned(),
        Fate::Dropped(reason) => format!("dropped: {reason}"),
    }
}

fn gtpu(bytes: &[u8]) -> String {
    let Ok(packet) = Packet::parse(bytes) else { return format!("malformed {}", hex(bytes)) };
    let mut line = String::new();
    if let Some(teid) = packet.header.teid {
        let _ = write!(line, "teid {teid} ");
    }
    match packet.extensions.pdu_session() {
        Some(PduSession::Downlink(info)) => drop(write!(line, "dl qfi {} ", info.qfi)),
        Some(PduSession::Uplink(info)) => drop(write!(line, "ul qfi {} ", info.qfi)),
        None => {}
    }
    let message = match packet.message {
        Message::GPdu(inner) => user(inner),
        Message::ErrorIndication(error) => format!("Error Indication {:?} at {}", error.teid, error.peer),
        other => format!("{other:?}"),
    };
    line + &message
}

fn user(bytes: &[u8]) -> String {
    let Ok(packet) = UserPacket::parse(bytes) else { return format!("malformed {}", hex(bytes)) };
    let flow = &packet.flow;
    let protocol = match flow.protocol {
        IpProtocol::UDP => "udp".to_owned(),
        IpProtocol::TCP => "tcp".to_owned(),
        other => format!("protocol {}", other.0),
    };
    let ends = match flow.ports {
        Some(ports) => format!("{}:{} > {}:{}", flow.src, ports.src, flow.dst, ports.dst),
        None => format!("{} > {}", flow.src, flow.dst),
    };
    let last = bytes.last().copied().unwrap_or(0);
    format!("{protocol} {ends}, {} octets, tos {}, last {last}", packet.len(), flow.tos)
}

/// Octets as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
