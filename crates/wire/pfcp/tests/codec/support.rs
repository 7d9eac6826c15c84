//! Random but valid IEs, generated from the descriptions of the fields. A tape of octets determines them, so that
//! proptest can shrink failures.

use causeway_pfcp::{Field, Header, IeInfo, Message, MessageType, Presence, RawIe, RawIes, ie_info};

/// The decisions; zero at the end.
pub(crate) struct Tape<'t>(pub(crate) &'t [u8]);

impl Tape<'_> {
    pub(crate) fn octet(&mut self) -> u8 {
        match self.0.split_first() {
            Some((octet, rest)) => {
                self.0 = rest;
                *octet
            }
            None => 0,
        }
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::from(self.octet()) % end
    }
}

/// An IE type and its value.
pub(crate) type Tlv = (u16, Vec<u8>);

/// The IEs of a message or group: the mandatory ones, and others as determined by the tape.
pub(crate) fn ies(fields: &[Field], tape: &mut Tape<'_>) -> Vec<Tlv> {
    let mut ies = Vec::new();
    for field in fields {
        let at_least = usize::from(field.presence == Presence::Mandatory);
        let more = tape.below(if field.repeated { 3 } else { 2 - at_least });
        for _ in 0..at_least + more {
            ies.push((field.ie_type, value(field.ie_type, tape)));
        }
    }
    ies
}

/// Only the mandatory IEs, and in groups only theirs.
pub(crate) fn mandatory(fields: &[Field]) -> Vec<Tlv> {
    let is_mandatory = |field: &&Field| field.presence == Presence::Mandatory;
    let tlv = |field: &Field| (field.ie_type, minimal(field.ie_type));
    fields.iter().filter(is_mandatory).map(tlv).collect()
}

/// [`mandatory`] of a message, and the further IEs of an accepting response.
pub(crate) fn mandatory_of(message_type: MessageType) -> Vec<Tlv> {
    complete(message_type, mandatory(message_type.fields()))
}

/// [`ies`] of a message, and the further IEs of an accepting response.
pub(crate) fn ies_of(message_type: MessageType, tape: &[u8]) -> Vec<Tlv> {
    complete(message_type, ies(message_type.fields(), &mut Tape(tape)))
}

fn complete(message_type: MessageType, mut ies: Vec<Tlv>) -> Vec<Tlv> {
    let is_there = ies.iter().any(|(ie_type, _)| *ie_type == 96);
    if message_type == MessageType::AssociationSetupResponse && !is_there {
        ies.insert(2, (96, minimal(96)));
    }
    ies
}

/// A valid value without optional parts.
pub(crate) fn minimal(ie_type: u16) -> Vec<u8> {
    let info = ie_info(ie_type).unwrap();
    if info.fields.is_empty() { leaf(info, &mut Tape(&[])) } else { write(&mandatory(info.fields)) }
}

/// A valid value; groups with their IEs.
pub(crate) fn value(ie_type: u16, tape: &mut Tape<'_>) -> Vec<u8> {
    let info = ie_info(ie_type).unwrap();
    if info.fields.is_empty() { leaf(info, tape) } else { write(&ies(info.fields, tape)) }
}

/// A valid value of an IE that is not a group: random if it decodes, otherwise one of a few that do.
fn leaf(info: &IeInfo, tape: &mut Tape<'_>) -> Vec<u8> {
    for _ in 0..4 {
        let octets: Vec<u8> = (0..tape.below(40)).map(|_| tape.octet()).collect();
        if let Some(value) = canonical(info, &octets) {
            return value;
        }
    }
    let multicast = [0, 0, 0, 0, 1, 4, 232, 0, 0, 1, 4, 10, 0, 0, 1];
    let fallbacks = [&[0; 40][..], &[1; 41], &[0; 4], &[2; 40], &multicast];
    let found = fallbacks.into_iter().find_map(|octets| canonical(info, octets));
    found.unwrap_or_else(|| panic!("no valid value of {info:?}"))
}

/// The encoding of the value by this crate, if it is valid.
pub(crate) fn canonical(info: &IeInfo, octets: &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    info.encode_again(octets, &mut value).ok().map(|()| value)
}

/// The value as text, if it is valid.
pub(crate) fn shown(info: &IeInfo, octets: &[u8]) -> Option<String> {
    let mut text = String::new();
    info.show(octets, &mut text).ok().map(|()| text)
}

/// Type, length and value of each.
pub(crate) fn write(ies: &[Tlv]) -> Vec<u8> {
    let mut out = Vec::new();
    ies.iter().for_each(|(ie_type, value)| RawIe::new(*ie_type, value).write(&mut out));
    out
}

/// The IEs of octets that are known to be valid, as copies.
pub(crate) fn read(octets: &[u8]) -> Vec<Tlv> {
    RawIes::new(octets).map(Result::unwrap).map(|ie| (ie.ie_type, ie.value.to_vec())).collect()
}

pub(crate) fn header(message_type: MessageType) -> Header {
    Header { message_type: message_type.code(), ..Header::default() }
}

pub(crate) fn decode(message_type: MessageType, body: &[u8]) -> Message<'_> {
    Message::decode(&header(message_type), body).unwrap()
}

/// The octets after the header of an encoded message.
pub(crate) fn body(message: &Message<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    message.encode(None, 0, &mut out).unwrap();
    out.split_off(8)
}

/// Octets from hexadecimal digits with any spacing.
pub(crate) fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(octet).collect()
}
