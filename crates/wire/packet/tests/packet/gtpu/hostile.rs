//! GTP-U that no honest peer sends.

use causeway_packet::gtpu::{Comprehension, Extension, MAX_EXTENSION_HEADERS, Message, Packet, Repr};
use causeway_packet::{BuildError, Layer, ParseError};
use causeway_types::Teid;

use crate::common::hex;

fn refused(octets: &str) -> ParseError {
    Packet::parse(&hex(octets)).expect_err("must be refused")
}

// Input:  every message of the other files of this test, cut at every length.
// Output: an error or a packet, never a panic; a cut in the header is always an error.
#[test]
fn a_cut_packet_is_an_error() {
    for octets in [
        "32 01 0004 00000000 1234 00 00",
        "36 1a 0020 00000000 0000 00 40  01 0868 00  10 00000001  85 0010 20010db8000000000000000000000001",
        "34 ff 0018 00000001 0000 00 85  05 0e 85 20 0102030405060708 0a0b0c 11223344 00",
        "32 1f 0008 00000000 0005 00 00  8d 02 40 85",
    ] {
        let octets = hex(octets);
        for cut in 0..octets.len() {
            assert!(Packet::parse(&octets[..cut]).is_err(), "{octets:02x?} cut at {cut}");
        }
        assert!(Packet::parse(&octets).is_ok());
    }
}

// Input:  the same packets with a length field that matches the cut.
// Output: an error inside, or a packet that ends there; never a panic.
#[test]
fn a_cut_packet_with_a_matching_length_does_not_panic() {
    for octets in [
        "36 1a 0020 00000000 0000 00 40  01 0868 00  10 00000001  85 0010 20010db8000000000000000000000001",
        "34 ff 0018 00000001 0000 00 85  05 0e 85 20 0102030405060708 0a0b0c 11223344 00",
        "32 1f 0008 00000000 0005 00 00  8d 02 40 85",
    ] {
        let mut octets = hex(octets);
        while octets.len() > 8 {
            octets.pop();
            let length = (octets.len() - 8) as u16;
            octets[2..4].copy_from_slice(&length.to_be_bytes());
            if let Ok(packet) = Packet::parse(&octets) {
                assert!(packet.body_offset <= octets.len());
            }
        }
    }
}

// Input:  GTP version 2, and GTP'.
// Output: two different errors, for two different counters.
#[test]
fn another_protocol_is_named() {
    assert_eq!(refused("48 01 0004 00000000"), ParseError::Version { layer: Layer::Gtpu, found: 2 });
    assert_eq!(refused("2f 01 0004 00000000"), ParseError::GtpPrime);
}

// Input:  flags of optional fields, and a length without space for them.
// Output: an error.
#[test]
fn optional_fields_must_be_inside_the_length() {
    let expected = ParseError::Truncated { layer: Layer::Gtpu, need: 1, have: 0 };
    assert_eq!(refused("34 ff 0003 00000001 000000 85 01100900"), expected);
}

// Input:  an extension header of length zero, which would loop forever.
// Output: an error.
#[test]
fn an_extension_header_of_length_zero_is_refused() {
    let expected = ParseError::LengthTooSmall { layer: Layer::GtpuExtension, found: 0, minimum: 4 };
    assert_eq!(refused("34 ff 0008 00000001 0000 00 85  00 10 09 85"), expected);
}

// Input:  an extension header that ends after the packet.
// Output: an error, though the UDP payload continues.
#[test]
fn an_extension_header_must_end_inside_the_packet() {
    let expected = ParseError::Truncated { layer: Layer::GtpuExtension, need: 6, have: 3 };
    assert_eq!(refused("34 ff 0008 00000001 0000 00 c0  02 00 00 00  00000000"), expected);
}

// Input:  as many extension headers as are accepted, and one more.
// Output: the first packet is parsed; the second refused, by the parser and by the builder.
#[test]
fn extension_headers_are_counted() {
    let extensions = [Extension::UdpPort(1); MAX_EXTENSION_HEADERS + 1];
    let teid = Teid::new(1).expect("not zero");
    let most = Repr { extensions: &extensions[1..], ..Repr::end_marker(teid) };
    let octets = most.to_vec().expect("fits");
    assert_eq!(Packet::parse(&octets).map(|packet| packet.extensions.iter().count()), Ok(8));

    let one_more = Repr { extensions: &extensions, ..most };
    let limit = MAX_EXTENSION_HEADERS;
    let mut out = vec![7];
    assert_eq!(one_more.write(&mut out), Err(BuildError::TooMany { layer: Layer::GtpuExtension, limit }),);
    assert_eq!(out, [7], "nothing was appended");

    let mut octets = hex("34 fe 0028 00000001 0000 00 40");
    octets.extend([1, 0, 1, 0x40].repeat(MAX_EXTENSION_HEADERS));
    octets.extend([1, 0, 1, 0]);
    assert_eq!(
        Packet::parse(&octets).err(),
        Some(ParseError::TooMany { layer: Layer::GtpuExtension, limit }),
    );
}

// Input:  an unknown extension header of each comprehension class before user data.
// Output: user data are found after each; those that an endpoint must comprehend are returned.
#[test]
fn comprehension_is_decided_by_the_type() {
    for (kind, class, named) in [
        (0x03, Comprehension::OptionalForward, None),
        (0x41, Comprehension::OptionalDiscard, None),
        (0x81, Comprehension::Endpoint, Some(0x81)),
        (0xc0, Comprehension::AllNodes, Some(0xc0)),
    ] {
        let mut octets = hex("34 ff 0009 00000001 0000 00 00  01 00 05 00  45");
        octets[11] = kind;
        let packet = Packet::parse(&octets).expect("legal");
        assert_eq!(Comprehension::of(kind), class);
        assert_eq!(packet.extensions.first_not_comprehended(), named);
        assert_eq!(packet.message, Message::GPdu(&[0x45]));
    }
}

// Input:  Error Indications: without an address, with one of 5 octets, with a TV element of unknown length.
// Output: three errors.
#[test]
fn a_broken_error_indication_is_refused() {
    assert_eq!(refused("32 1a 0009 00000000 0000 00 00  10 11223344"), ParseError::MissingIe(133));
    assert_eq!(
        refused("32 1a 0011 00000000 0000 00 00  10 11223344  85 0005 c000020100"),
        ParseError::AddressLength(5),
    );
    assert_eq!(
        refused("32 1a 0012 00000000 0000 00 00  60 00  10 11223344  85 0004 c0000201"),
        ParseError::UnknownTv(0x60),
    );
}

// Input:  an information element that claims more octets than there are.
// Output: an error.
#[test]
fn an_element_must_end_inside_the_packet() {
    let expected = ParseError::Truncated { layer: Layer::GtpuIe, need: 0xffff, have: 1 };
    assert_eq!(refused("32 01 0008 00000000 0000 00 00  ff ffff 00"), expected);
}

// Input:  a UDP payload that continues after the length of the G-PDU.
// Output: the user data end at that length.
#[test]
fn octets_behind_the_packet_are_left_out() {
    let octets = hex("30 ff 0002 00000001 4500 deadbeef");
    assert_eq!(Packet::parse(&octets).map(|packet| packet.message), Ok(Message::GPdu(&octets[8..10])));
}

// Input:  user data one octet longer than the length field allows.
// Output: an error, and nothing appended.
#[test]
fn too_much_user_data_is_not_written() {
    let user = vec![0; 65_536];
    let teid = Teid::new(1).expect("not zero");
    let repr = Repr { message: Message::GPdu(&user), ..Repr::end_marker(teid) };
    let mut out = Vec::new();
    let expected = BuildError::TooLong { layer: Layer::Gtpu, length: 65_536, limit: 65_535 };
    assert_eq!(repr.write(&mut out), Err(expected));
    assert!(out.is_empty());
}

// Input:  an extension header of type zero, which means the end of the chain.
// Output: an error, and nothing appended.
#[test]
fn an_extension_header_needs_a_type() {
    let extensions = [Extension::Other { kind: 0, content: &[0, 0] }];
    let repr = Repr { extensions: &extensions, ..Repr::end_marker(Teid::new(1).expect("not zero")) };
    assert_eq!(repr.to_vec(), Err(BuildError::NoExtensionType));
}
