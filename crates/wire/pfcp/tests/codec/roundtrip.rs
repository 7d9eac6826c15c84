//! Every IE and every message is the same after decoding and encoding.

use crate::support::{body, canonical, decode, header, ies_of, read, shown, write};
use causeway_pfcp::{ALL, Header, HeaderError, Message, MessageType};
use proptest::collection::vec;
use proptest::prelude::*;

/// Any message type.
fn message_type() -> impl Strategy<Value = MessageType> {
    proptest::sample::select(MessageType::ALL)
}

fn tape() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..1500)
}

proptest! {
    // Input:  any octets as the value of any IE.
    // Output: an error, or a value that is the same after encoding and decoding it.
    #[test]
    fn every_ie_survives_encoding(at in 0..ALL.len(), octets in vec(any::<u8>(), 0..64)) {
        let info = &ALL[at];
        if let Some(again) = canonical(info, &octets) {
            prop_assert_eq!(shown(info, &octets), shown(info, &again));
            prop_assert_eq!(canonical(info, &again), Some(again));
        }
    }

    // Input:  a valid message of any type with any of its IEs, groups filled likewise.
    // Output: it decodes; encoded and decoded again it is equal, and so are its octets.
    #[test]
    fn every_message_survives_encoding(message_type in message_type(), tape in tape()) {
        let octets = write(&ies_of(message_type, &tape));
        let message = decode(message_type, &octets);
        let again = body(&message);
        prop_assert_eq!(&decode(message_type, &again), &message);
        prop_assert_eq!(again, octets);
    }

    // Input:  IEs of any type and any value, in a message of any type.
    // Output: an error, or a message that is equal when encoded and decoded again.
    #[test]
    fn what_is_tolerated_survives_encoding(
        message_type in message_type(),
        tlvs in vec((0..340_u16, vec(any::<u8>(), 0..32)), 0..12),
    ) {
        let octets = write(&tlvs);
        if let Ok(message) = Message::decode(&header(message_type), &octets) {
            let again = body(&message);
            prop_assert_eq!(&decode(message_type, &again), &message);
        }
    }

    // Input:  any octets.
    // Output: an error or a message, never a panic.
    #[test]
    fn random_octets_do_no_harm(octets in vec(any::<u8>(), 0..200), message_type in message_type()) {
        let _ = Message::decode(&header(message_type), &octets);
        let _ = causeway_pfcp::dump::Dump(&octets).to_string();
        let _ = Header::decode(&octets);
    }

    // Input:  a valid message, its IEs in descending order of type, outside and inside of groups.
    // Output: the same message.
    #[test]
    fn the_order_of_ies_does_not_matter(message_type in message_type(), tape in tape()) {
        let octets = write(&ies_of(message_type, &tape));
        let descending = descend(&octets);
        prop_assert_eq!(decode(message_type, &descending), decode(message_type, &octets));
    }
}

/// The IEs sorted by descending type; those of one type keep their order, which is significant.
fn descend(octets: &[u8]) -> Vec<u8> {
    let mut ies = read(octets);
    ies.sort_by_key(|(ie_type, _)| std::cmp::Reverse(*ie_type));
    for (ie_type, value) in &mut ies {
        if causeway_pfcp::ie_info(*ie_type).is_some_and(|info| !info.fields.is_empty()) {
            *value = descend(value);
        }
    }
    write(&ies)
}

// Input:  a message of each type with all its IEs, cut at every length.
// Output: the datagram is too short for its length field; the body alone is refused or shorter, no panic.
#[test]
fn a_message_cut_anywhere_is_refused_or_shorter() {
    let tape: Vec<u8> = (0..4000_u32).map(|at| ((at * 73) >> 3) as u8 | 1).collect();
    for message_type in MessageType::ALL {
        let octets = write(&ies_of(*message_type, &tape));
        let mut datagram = Vec::new();
        decode(*message_type, &octets).encode(None, 7, &mut datagram).unwrap();
        for end in 0..datagram.len() {
            match Header::decode(&datagram[..end]).unwrap_err() {
                HeaderError::Truncated { octets } => assert!(octets < 8),
                HeaderError::Length { declared, available, .. } => assert!(declared > available),
                error => panic!("{error}"),
            }
            let _ = Message::decode(&header(*message_type), &octets[..end.min(octets.len())]);
        }
    }
}
