//! GTP-U messages, octet by octet.

use causeway_types::{Qfi, Teid};

use crate::common::hex;
use causeway_packet::gtpu::{Extension, Header, Message, MessageType, PORT, Packet, Repr, prefix};

fn teid(raw: u32) -> Teid {
    Teid::new(raw).expect("not zero")
}

/// Encoding gives these octets, and parsing them gives the message.
fn both_ways(repr: Repr<'_>, octets: &str) {
    let octets = hex(octets);
    assert_eq!(repr.to_vec().expect("fits"), octets);
    let packet = Packet::parse(&octets).expect("legal");
    assert_eq!(packet.header, repr.header);
    assert_eq!(packet.message, repr.message);
    assert_eq!(packet.extensions.iter().collect::<Vec<_>>(), repr.extensions);
}

// Input:  Echo Request number 0x1234.
// Output: TEID zero, S flag, no information element.
#[test]
fn an_echo_request() {
    both_ways(Repr::echo_request(0x1234), "32 01 0004 00000000 1234 00 00");
}

// Input:  the response to it.
// Output: the same number, and Recovery with the value zero.
#[test]
fn an_echo_response() {
    both_ways(Repr::echo_response(0x1234), "32 02 0006 00000000 1234 00 00 0e 00");
}

// Input:  an Echo Response without Recovery, as some base stations send it.
// Output: an Echo Response.
#[test]
fn an_echo_response_without_recovery_counts() {
    let octets = hex("32 02 0004 00000000 0001 00 00");
    assert_eq!(Packet::parse(&octets).map(|packet| packet.message), Ok(Message::EchoResponse));
}

// Input:  End Marker for tunnel 0xcafe.
// Output: the eight mandatory octets.
#[test]
fn an_end_marker() {
    both_ways(Repr::end_marker(teid(0xcafe)), "30 fe 0000 0000cafe");
}

// Input:  a packet for tunnel 0x11223344 arrived at 192.0.2.1 and no such tunnel exists.
// Output: Error Indication with TEID Data I and the peer address.
#[test]
fn an_error_indication_over_ipv4() {
    both_ways(
        Repr::error_indication(Some(teid(0x1122_3344)), [192, 0, 2, 1].into(), &[]),
        "32 1a 0010 00000000 0000 00 00  10 11223344  85 0004 c0000201",
    );
}

// Input:  the same at 2001:db8::1, with the source port of that packet.
// Output: an address of 16 octets, and the UDP Port extension header.
#[test]
fn an_error_indication_over_ipv6_with_port() {
    let local = "2001:db8::1".parse().expect("an address");
    both_ways(
        Repr::error_indication(Some(teid(1)), local, &[Extension::UdpPort(PORT)]),
        "36 1a 0020 00000000 0000 00 40  01 0868 00  10 00000001  85 0010 20010db8000000000000000000000001",
    );
}

// Input:  an Error Indication with unneeded elements (Recovery, a private extension) in any order.
// Output: tunnel and address are found, the other elements ignored.
#[test]
fn unknown_elements_are_passed_over() {
    let octets =
        hex("32 1a 0019 00000000 0000 00 00  0e 07  ff 0004 0001abcd  85 0004 c0000201  10 00000009");
    let Ok(Message::ErrorIndication(error)) = Packet::parse(&octets).map(|packet| packet.message) else {
        panic!("not an Error Indication");
    };
    assert_eq!((error.teid, error.peer), (Teid::new(9), [192, 0, 2, 1].into()));
}

// Input:  the extension headers that Causeway comprehends.
// Output: UDP Port and PDU Session Container, with a list length of one octet.
#[test]
fn a_supported_extension_headers_notification() {
    both_ways(Repr::supported_extension_headers(5), "32 1f 0008 00000000 0005 00 00  8d 02 40 85");
}

// Input:  a Tunnel Status message, which is not for a UPF.
// Output: its type and its body, for a counter.
#[test]
fn another_message_keeps_its_type() {
    let octets = hex("30 fd 0003 00000001 e60001");
    let message = Packet::parse(&octets).map(|packet| packet.message);
    assert_eq!(message, Ok(Message::Other { message_type: MessageType(253), body: &octets[8..] }));
}

// Input:  user data in each of the three header sizes.
// Output: the fixed-size prefix equals the output of the general builder, and the offset of the user data is its
// size.
#[test]
fn a_prefix_equals_the_general_builder() {
    use causeway_packet::gtpu::{DlPduSession, PduSession, Ppi, UlPduSession};
    let (qfi, ppi, user) = (Qfi::from_low_bits(9), Ppi::new(5), [0x45; 60]);
    let tunnel = teid(0x0102_0304);
    let downlink = DlPduSession { rqi: true, ..DlPduSession::new(qfi) };
    let cases: [(Vec<u8>, Vec<Extension<'_>>); 4] = [
        (prefix::without_extensions(tunnel, 60).expect("fits").to_vec(), vec![]),
        (
            prefix::downlink(tunnel, qfi, true, 60).expect("fits").to_vec(),
            vec![Extension::PduSession(PduSession::Downlink(downlink))],
        ),
        (
            prefix::downlink_paging(tunnel, qfi, true, ppi.expect("legal"), 60).expect("fits").to_vec(),
            vec![Extension::PduSession(PduSession::Downlink(DlPduSession { ppi, ..downlink }))],
        ),
        (
            prefix::uplink(tunnel, qfi, 60).expect("fits").to_vec(),
            vec![Extension::PduSession(PduSession::Uplink(UlPduSession::new(qfi)))],
        ),
    ];
    for (prefix, extensions) in cases {
        let header = Header { teid: Some(tunnel), ..Header::default() };
        let repr = Repr { header, extensions: &extensions, message: Message::GPdu(&user) };
        let octets = [&prefix[..], &user].concat();
        assert_eq!(repr.to_vec(), Ok(octets.clone()));
        let packet = Packet::parse(&octets).expect("legal");
        assert_eq!(packet.body_offset, prefix.len());
        assert_eq!(packet.message, Message::GPdu(&user));
    }
}
