//! Messages of the communication management.

use causeway_packet::roce::management::{ConnectReply, ConnectRequest, MAD, Management, Message, Mtu};
use causeway_packet::roce::{Psn, Qpn};
use causeway_packet::{Layer, ParseError};
use proptest::prelude::*;

use crate::common::hex;

fn request() -> ConnectRequest {
    ConnectRequest {
        local_communication: 0x0a0b_0c0d,
        service: 0x0200_0000_0000_12b7,
        queue_pair: Qpn::wrapping(0x12_3456),
        responder_resources: 0,
        initiator_depth: 16,
        first_psn: Psn::wrapping(0xab_cdef),
        retries: 7,
        mtu: Mtu::M1024,
    }
}

fn any_message() -> impl Strategy<Value = Message> {
    let numbers = any::<(u32, u32, u64, u32, u32)>();
    (0..6u8, numbers, any::<(u8, u8, u8, u16)>(), any::<[u8; 28]>()).prop_map(
        |(
            kind,
            (local_communication, remote_communication, service, queue_pair, psn),
            (a, b, c, reason),
            private,
        )| {
            let (queue_pair, first_psn) = (Qpn::wrapping(queue_pair), Psn::wrapping(psn));
            match kind {
                0 => Message::ConnectRequest(ConnectRequest {
                    local_communication,
                    service,
                    queue_pair,
                    responder_resources: a,
                    initiator_depth: b,
                    first_psn,
                    retries: c & 7,
                    mtu: Mtu::ALL[usize::from(c) % 5],
                }),
                1 => Message::ConnectReply(ConnectReply {
                    local_communication,
                    remote_communication,
                    queue_pair,
                    first_psn,
                    responder_resources: a,
                    initiator_depth: b,
                    private: private.repeat(7).try_into().unwrap(),
                }),
                2 => Message::ConnectReject { local_communication, remote_communication, reason },
                3 => Message::ReadyToUse { local_communication, remote_communication },
                4 => Message::DisconnectRequest { local_communication, remote_communication, queue_pair },
                _ => Message::DisconnectReply { local_communication, remote_communication },
            }
        },
    )
}

// Input:  a request for a connection.
// Output: the octets in the order of IBA clause 12.6.5; those that are not shown are zero.
#[test]
fn a_request_is_written_octet_by_octet() {
    let message = Message::ConnectRequest(request());
    let octets = Management { transaction: 0x0102_0304_0506_0708, message }.octets();
    assert_eq!(octets[..24], hex("01070203 00000000 0102030405060708 0010 0000 00000000"));
    assert_eq!(octets[24..40], hex("0a0b0c0d 00000000 02000000000012b7"));
    assert_eq!(octets[56..76], hex("12345600 00000010 00000000 abcdef07 ffff30 00"));
    assert!(octets[76..].iter().all(|octet| *octet == 0));
    assert_eq!(Mtu::ALL.map(Mtu::octets), [256, 512, 1024, 2048, 4096]);
}

// Input:  a datagram with an octet too few; of another management class; with an unknown attribute; with a path MTU of code 0.
// Output: an error that names the field.
#[test]
fn what_is_wrong_is_said() {
    let octets = Management { transaction: 1, message: Message::ConnectRequest(request()) }.octets();
    let with = |at: usize, octet| {
        let mut changed = octets;
        changed[at] = octet;
        Management::parse(&changed).unwrap_err()
    };
    assert_eq!(
        Management::parse(&octets[..MAD - 1]).unwrap_err(),
        ParseError::Truncated { layer: Layer::Roce, need: 232, have: 231 }
    );
    assert_eq!(with(1, 3), ParseError::RoceManagement { what: "management class", found: 3 });
    assert_eq!(with(17, 0x11), ParseError::RoceManagement { what: "attribute", found: 0x11 });
    assert_eq!(with(74, 0), ParseError::RoceManagement { what: "path MTU", found: 0 });
}

proptest! {
    // Input:  any message.
    // Output: what is written and read is the same.
    #[test]
    fn what_is_written_is_read(transaction: u64, message in any_message()) {
        let management = Management { transaction, message };
        prop_assert_eq!(Management::parse(&management.octets()), Ok(management));
    }

    // Input:  any octets, and any change of a message.
    // Output: no panic.
    #[test]
    fn any_octets_are_read(message in any_message(), at in 0..MAD, octet: u8) {
        let mut octets = Management { transaction: 0, message }.octets();
        octets[at] = octet;
        if let Ok(read) = Management::parse(&octets) {
            prop_assert_eq!(Management::parse(&read.octets()), Ok(read));
        }
    }
}
