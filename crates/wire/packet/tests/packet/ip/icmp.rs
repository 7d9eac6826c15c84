//! ICMP messages and the errors that a router sends.

use std::net::{IpAddr, Ipv6Addr};

use causeway_packet::icmp::{
    Echo, IcmpError, Icmpv4, Icmpv4Message, Icmpv6, Icmpv6Message, NoReply, Unreachable, error_reply,
};
use causeway_packet::{BuildError, Fragment, IpProtocol, IpRepr, Ipv4Repr, UserPacket};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::hex;

const UE_V4: [u8; 4] = [10, 45, 0, 2];
const DN_V4: [u8; 4] = [192, 0, 2, 1];
const UPF_V4: [u8; 4] = [10, 45, 0, 1];

fn v6(last: u128) -> IpAddr {
    Ipv6Addr::from(0x2001_0db8_u128 << 96 | last).into()
}

fn packet(src: IpAddr, dst: IpAddr, protocol: IpProtocol, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    IpRepr::new(src, dst, protocol).expect("one family").write(payload, &mut out).expect("fits");
    out
}

fn reply(error: IcmpError, from: IpAddr, offending: &[u8]) -> Result<Vec<u8>, NoReply> {
    let mut out = Vec::new();
    error_reply(error, from, offending, &mut out).map(|()| out)
}

// Input:  an echo request.
// Output: its octets, checksum included.
#[test]
fn an_echo_request_over_ipv4() {
    let message = Icmpv4Message::EchoRequest(Echo { identifier: 1, sequence: 2, data: &[0xab, 0xcd] });
    let mut octets = Vec::new();
    message.write(&mut octets);
    assert_eq!(octets, hex("08 00 4c2f 0001 0002 abcd"));
    let icmp = Icmpv4::parse(&octets).expect("legal");
    assert!(icmp.checksum_is_valid());
    assert_eq!(icmp.message, message);
}

// Input:  a UE's packet whose hop limit expired, over both versions.
// Output: Time Exceeded to the UE, quoting the packet.
#[test]
fn time_exceeded_goes_to_the_source() {
    let offending = packet(UE_V4.into(), DN_V4.into(), IpProtocol::UDP, &[7; 30]);
    let octets = reply(IcmpError::TimeExceeded, UPF_V4.into(), &offending).expect("owed");
    let answer = UserPacket::parse(&octets).expect("legal");
    assert_eq!((answer.flow.src, answer.flow.dst), (UPF_V4.into(), UE_V4.into()));
    let icmp = Icmpv4::parse(answer.transport()).expect("legal");
    assert!(icmp.checksum_is_valid());
    assert_eq!(icmp.message, Icmpv4Message::TimeExceeded { code: 0, original: &offending });

    let offending = packet(v6(2), v6(3), IpProtocol::UDP, &[7; 30]);
    let octets = reply(IcmpError::TimeExceeded, v6(1), &offending).expect("owed");
    let answer = UserPacket::parse(&octets).expect("legal");
    assert_eq!((answer.flow.src, answer.flow.dst), (v6(1), v6(2)));
    let icmp = Icmpv6::parse(answer.transport()).expect("legal");
    assert_eq!(icmp.message, Icmpv6Message::TimeExceeded { code: 0, original: &offending });
}

// Input:  a packet of 9000 octets for a link of 1400, over both versions.
// Output: the MTU, and a quote that limits the error to 576 and to 1280 octets.
#[test]
fn a_large_packet_is_quoted_in_part() {
    let too_big = IcmpError::PacketTooBig { mtu: 1400 };
    let offending = packet(UE_V4.into(), DN_V4.into(), IpProtocol::UDP, &[7; 8980]);
    let octets = reply(too_big, UPF_V4.into(), &offending).expect("owed");
    assert_eq!(octets.len(), 576);
    let icmp = Icmpv4::parse(&octets[20..]).expect("legal");
    let original = &offending[..548];
    assert_eq!(icmp.message, Icmpv4Message::FragmentationNeeded { mtu: 1400, original });

    let offending = packet(v6(2), v6(3), IpProtocol::UDP, &[7; 8960]);
    let octets = reply(too_big, v6(1), &offending).expect("owed");
    assert_eq!(octets.len(), 1280);
    let icmp = Icmpv6::parse(&octets[40..]).expect("legal");
    assert_eq!(icmp.message, Icmpv6Message::PacketTooBig { mtu: 1400, original: &offending[..1232] });
}

// Input:  each reason for which a packet cannot be delivered.
// Output: the code of each version.
#[test]
fn unreachable_has_a_code_of_each_version() {
    let four = packet(UE_V4.into(), DN_V4.into(), IpProtocol::UDP, &[]);
    let six = packet(v6(2), v6(3), IpProtocol::UDP, &[]);
    for (why, code_v4, code_v6) in [
        (Unreachable::NoRoute, 0, 0),
        (Unreachable::Host, 1, 3),
        (Unreachable::Port, 3, 4),
        (Unreachable::Prohibited, 13, 1),
    ] {
        let error = IcmpError::Unreachable(why);
        assert_eq!(reply(error, UPF_V4.into(), &four).expect("owed")[20..22], [3, code_v4]);
        assert_eq!(reply(error, v6(1), &six).expect("owed")[40..42], [1, code_v6]);
    }
}

// Input:  an ICMP error, a redirect, a later fragment, sources and destinations that are not a single host.
// Output: no error is sent, and the reason.
#[test]
fn some_packets_are_never_answered() {
    let error = |offending: &[u8], from: IpAddr| {
        reply(IcmpError::TimeExceeded, from, offending).expect_err("no answer")
    };
    let (ue, dn, upf) = (IpAddr::from(UE_V4), IpAddr::from(DN_V4), IpAddr::from(UPF_V4));
    let own = reply(IcmpError::TimeExceeded, ue, &packet(dn, ue, IpProtocol::UDP, &[])).expect("owed");
    assert_eq!(error(&own, upf), NoReply::IsError);
    let own =
        reply(IcmpError::TimeExceeded, v6(2), &packet(v6(3), v6(2), IpProtocol::UDP, &[])).expect("owed");
    assert_eq!(error(&own, v6(1)), NoReply::IsError);
    let redirect = packet(v6(2), v6(3), IpProtocol::ICMPV6, &hex("89 00 0000 00000000"));
    assert_eq!(error(&redirect, v6(1)), NoReply::IsError);

    let mut later = Vec::new();
    let repr = Ipv4Repr { fragment_units: 1, ..Ipv4Repr::new(UE_V4.into(), DN_V4.into(), IpProtocol::UDP) };
    repr.write(&[], &[0; 8], &mut later).expect("fits");
    assert_eq!(UserPacket::parse(&later).map(|packet| packet.flow.fragment), Ok(Fragment::Later));
    assert_eq!(error(&later, upf), NoReply::LaterFragment);

    for source in [[0, 0, 0, 0], [127, 0, 0, 1], [224, 0, 0, 1], [240, 0, 0, 1], [255; 4]] {
        let offending = packet(source.into(), dn, IpProtocol::UDP, &[]);
        assert_eq!(error(&offending, upf), NoReply::Source(source.into()));
    }
    for group in [[224, 0, 0, 1], [255; 4]] {
        let offending = packet(ue, group.into(), IpProtocol::UDP, &[]);
        assert_eq!(error(&offending, upf), NoReply::Destination(group.into()));
    }
    let mixed = packet(ue, dn, IpProtocol::UDP, &[]);
    assert_eq!(error(&mixed, v6(1)), NoReply::Build(BuildError::MixedFamilies));
    assert!(matches!(error(&[0x45], upf), NoReply::Malformed(_)));
}

// Input:  an IPv6 packet to a group, too big and with an expired hop limit.
// Output: Packet Too Big is sent, Time Exceeded is not.
#[test]
fn path_mtu_discovery_works_for_groups() {
    let group: IpAddr = "ff0e::1".parse().expect("an address");
    let offending = packet(v6(2), group, IpProtocol::UDP, &[]);
    assert!(reply(IcmpError::PacketTooBig { mtu: 1280 }, v6(1), &offending).is_ok());
    assert_eq!(reply(IcmpError::TimeExceeded, v6(1), &offending), Err(NoReply::Destination(group)));
}

// Input:  seven octets.
// Output: an error.
#[test]
fn a_short_message_is_refused() {
    assert!(Icmpv4::parse(&[8, 0, 0, 0, 0, 0, 0]).is_err());
    assert!(Icmpv6::parse(&[128, 0, 0, 0, 0, 0, 0]).is_err());
}

proptest! {
    // Input:  any octets as an ICMP message of either version.
    // Output: parsing, writing and parsing again gives the same, with a valid checksum.
    #[test]
    fn a_message_survives_the_wire(octets in vec(any::<u8>(), 8..60), kind in 0..14u8, high: bool) {
        let mut octets = octets;
        octets[0] = if high { kind + 126 } else { kind };
        let message = Icmpv4::parse(&octets).unwrap().message;
        let mut out = Vec::new();
        message.write(&mut out);
        let again = Icmpv4::parse(&out).unwrap();
        prop_assert_eq!(again.message, message);
        prop_assert!(again.checksum_is_valid());

        let message = Icmpv6::parse(&octets).unwrap().message;
        let (src, dst) = (Ipv6Addr::from(1), Ipv6Addr::from(2));
        out.clear();
        message.write(src, dst, &mut out);
        let again = Icmpv6::parse(&out).unwrap();
        prop_assert_eq!(again.message, message);
        prop_assert!(again.checksum_is_valid(src, dst));
    }
}
