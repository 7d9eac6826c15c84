//! PDU Session Containers, octet by octet.

use causeway_types::{Qfi, Teid};

use crate::common::hex;
use causeway_packet::gtpu::{
    DlPduSession, Extension, Header, Message, Packet, PduSession, Ppi, QfiSequence, Repr, UlPduSession,
    UlTimeStamps,
};
use causeway_packet::{Layer, ParseError};

/// A G-PDU of tunnel 1 with the container and no user data has these octets, in both directions.
fn both_ways(info: PduSession, octets: &str) {
    let octets = hex(octets);
    let header = Header { teid: Teid::new(1), ..Header::default() };
    let extensions = [Extension::PduSession(info)];
    let repr = Repr { header, extensions: &extensions, message: Message::GPdu(&[]) };
    assert_eq!(repr.to_vec().expect("fits"), octets);
    let packet = Packet::parse(&octets).expect("legal");
    assert_eq!(packet.extensions.pdu_session(), Some(info));
    assert_eq!(packet.body_offset, octets.len());
}

fn qfi(raw: u8) -> Qfi {
    Qfi::new(raw).expect("legal")
}

// Input:  downlink, QFI 9, no option.
// Output: one 4-octet unit, PDU type 0.
#[test]
fn downlink_with_a_qfi() {
    both_ways(PduSession::Downlink(DlPduSession::new(qfi(9))), "34 ff 0008 00000001 0000 00 85  01 00 09 00");
}

// Input:  downlink, QFI 63 with reflective QoS and paging policy 7.
// Output: PPP and RQI set, the indicator in the upper three bits, three octets of padding.
#[test]
fn downlink_with_paging_policy() {
    let info = DlPduSession { rqi: true, ppi: Ppi::new(7), ..DlPduSession::new(qfi(63)) };
    both_ways(PduSession::Downlink(info), "34 ff 000c 00000001 0000 00 85  02 00 ff e0 00000000");
}

// Input:  downlink with every optional field.
// Output: time stamp, 24-bit and 32-bit sequence number in this order.
#[test]
fn downlink_with_everything() {
    let info = DlPduSession {
        qfi: qfi(5),
        rqi: false,
        ppi: Ppi::new(1),
        sending_time: Some(0x0102_0304_0506_0708),
        sequence: QfiSequence::new(0x0a_0b0c),
        mbs_sequence: Some(0x1122_3344),
    };
    both_ways(
        PduSession::Downlink(info),
        "34 ff 0018 00000001 0000 00 85  05 0e 85 20 0102030405060708 0a0b0c 11223344 00",
    );
}

// Input:  uplink, QFI 9, no option, as a gNB sends it.
// Output: PDU type 1.
#[test]
fn uplink_with_a_qfi() {
    both_ways(PduSession::Uplink(UlPduSession::new(qfi(9))), "34 ff 0008 00000001 0000 00 85  01 10 09 00");
}

// Input:  uplink with every field of Release 17.
// Output: three time stamps, delays, sequence number, New IE Flags with the PDCP indication.
#[test]
fn uplink_with_everything() {
    let info = UlPduSession {
        qfi: qfi(7),
        time_stamps: Some(UlTimeStamps { dl_sending_repeated: 1, dl_received: 2, ul_sending: 3 }),
        dl_delay: Some(4),
        ul_delay: Some(5),
        sequence: QfiSequence::new(6),
        n3_n9_delay: Some(7),
        d1_ul_pdcp_delay: Some(true),
    };
    both_ways(
        PduSession::Uplink(info),
        "34 ff 0034 00000001 0000 00 85  0c 1f c7
         0000000000000001 0000000000000002 0000000000000003
         00000004 00000005 000006 00000007 01 01 000000 00",
    );
}

// Input:  an uplink container of a later release: two octets of New IE Flags, unknown elements after the known one.
// Output: known elements are parsed, the rest ignored.
#[test]
fn elements_of_a_later_release_are_passed_over() {
    let octets = hex("34 ff 0010 00000001 0000 00 85  03 10 47 83 01 01 1122 3344 00 00");
    let packet = Packet::parse(&octets).expect("legal");
    let expected = UlPduSession { d1_ul_pdcp_delay: Some(true), ..UlPduSession::new(qfi(7)) };
    assert_eq!(packet.extensions.pdu_session(), Some(PduSession::Uplink(expected)));
}

// Input:  flags of a time stamp for which the container has no space.
// Output: an error, not a read into the user data.
#[test]
fn announced_fields_must_be_inside_the_container() {
    let octets = hex("34 ff 0010 00000001 0000 00 85  01 08 09 00  0102030405060708");
    let expected = ParseError::Truncated { layer: Layer::PduSession, need: 8, have: 0 };
    assert_eq!(Packet::parse(&octets).err(), Some(expected));
}

// Input:  PDU type 2, which nothing defines.
// Output: an error with the type.
#[test]
fn an_undefined_pdu_type_is_refused() {
    let octets = hex("34 ff 0008 00000001 0000 00 85  01 20 09 00");
    assert_eq!(Packet::parse(&octets).err(), Some(ParseError::PduSessionType(2)));
}
