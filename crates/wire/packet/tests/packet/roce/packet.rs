//! Headers octet by octet, hostile octets, round trips.

use std::net::SocketAddr;

use causeway_packet::roce::{
    Aeth, AtomicEth, Bth, Deth, NakCode, Opcode, Outer, Packet, Psn, Qpn, Repr, Reth, Rkey, Syndrome,
    Transport,
};
use causeway_packet::{BuildError, Layer, ParseError};
use proptest::prelude::*;

use crate::common::hex;

/// A packet that owns its payload.
#[derive(Clone, Debug)]
pub(super) struct Owned {
    bth: Bth,
    kind: u8,
    reth: Reth,
    atomic: AtomicEth,
    aeth: Aeth,
    payload: Vec<u8>,
}

impl Owned {
    pub(super) fn borrowed(&self) -> Repr<'_> {
        let payload = &self.payload[..];
        let transport = match self.kind {
            0 => Transport::WriteFirst(self.reth, payload),
            1 => Transport::WriteMiddle(payload),
            2 => Transport::WriteLast(payload),
            3 => Transport::WriteOnly(self.reth, payload),
            4 => Transport::ReadRequest(self.reth),
            5 => Transport::ReadResponseFirst(self.aeth, payload),
            6 => Transport::ReadResponseMiddle(payload),
            7 => Transport::ReadResponseLast(self.aeth, payload),
            8 => Transport::ReadResponseOnly(self.aeth, payload),
            9 => Transport::Acknowledge(self.aeth),
            10 => Transport::AtomicAcknowledge(self.aeth, self.atomic.compare),
            11 => Transport::CompareSwap(self.atomic),
            12 => Transport::FetchAdd(self.atomic),
            13 => Transport::Datagram(Deth { qkey: self.reth.length, source: self.bth.destination }, payload),
            _ => Transport::Other(Opcode(0x04), payload),
        };
        Repr { bth: self.bth, transport }
    }
}

fn any_bth() -> impl Strategy<Value = Bth> {
    let flags = any::<[bool; 5]>();
    (flags, any::<u16>(), any::<u32>(), any::<u32>()).prop_map(|(flags, pkey, destination, psn)| Bth {
        solicited: flags[0],
        migrated: flags[1],
        pkey,
        fecn: flags[2],
        becn: flags[3],
        destination: Qpn::wrapping(destination),
        ack_request: flags[4],
        psn: Psn::wrapping(psn),
    })
}

fn any_syndrome() -> impl Strategy<Value = Syndrome> {
    prop_oneof![
        (0..32u8).prop_map(Syndrome::Ack),
        (0..32u8).prop_map(Syndrome::ReceiverNotReady),
        proptest::sample::select(vec![
            NakCode::PsnSequenceError,
            NakCode::InvalidRequest,
            NakCode::RemoteAccessError,
            NakCode::RemoteOperationalError,
            NakCode::InvalidRdRequest,
        ])
        .prop_map(Syndrome::Nak),
    ]
}

pub(super) fn any_repr() -> impl Strategy<Value = Owned> {
    let numbers = any::<(u64, u32, u32, u64, u64)>();
    let payload = proptest::collection::vec(any::<u8>(), 0..300);
    (any_bth(), 0..15u8, numbers, any_syndrome(), any::<u32>(), payload).prop_map(
        |(bth, kind, (address, rkey, length, swap_or_add, compare), syndrome, msn, payload)| Owned {
            bth,
            kind,
            reth: Reth { address, rkey: Rkey(rkey), length },
            atomic: AtomicEth { address, rkey: Rkey(rkey), swap_or_add, compare },
            aeth: Aeth { syndrome, msn: Psn::wrapping(msn) },
            payload,
        },
    )
}

pub(super) fn any_outer() -> impl Strategy<Value = Outer> {
    let v4 = any::<([u8; 4], [u8; 4], u16, u16, u16, bool)>().prop_map(
        |(src, dst, from, to, identification, df)| Outer {
            src: (src, from).into(),
            dst: (dst, to).into(),
            identification,
            dont_fragment: df,
        },
    );
    let v6 = any::<([u8; 16], [u8; 16], u16, u16)>().prop_map(|(src, dst, from, to)| Outer {
        src: (src, from).into(),
        dst: (dst, to).into(),
        identification: 0,
        dont_fragment: false,
    });
    prop_oneof![v4, v6]
}

fn ends() -> Outer {
    let end = |text: &str| text.parse::<SocketAddr>().unwrap();
    Outer::of_socket(end("192.0.2.1:49152"), end("192.0.2.2:4791"))
}

fn written(bth: Bth, transport: Transport<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    Repr { bth, transport }.write(&ends(), &mut out).unwrap();
    out.truncate(out.len() - 4);
    out
}

// Input:  one packet of each header.
// Output: the octets in the order of IBA clauses 9.2 and 9.3.
#[test]
fn headers_are_written_octet_by_octet() {
    let bth = Bth { ack_request: true, ..Bth::new(Qpn::wrapping(0x12_3456), Psn::wrapping(0xff_fffe)) };
    let reth = Reth { address: 0x0102_0304_0506_0708, rkey: Rkey(0x0a0b_0c0d), length: 3 };
    assert_eq!(
        written(bth, Transport::WriteOnly(reth, &[0xaa, 0xbb, 0xcc])),
        hex("0a50ffff 00123456 80fffffe 0102030405060708 0a0b0c0d 00000003 aabbcc 00")
    );
    assert_eq!(
        written(bth, Transport::ReadRequest(reth)),
        hex("0c40ffff 00123456 80fffffe 0102030405060708 0a0b0c0d 00000003")
    );
    let atomic = AtomicEth { address: 8, rkey: Rkey(9), swap_or_add: 5, compare: 0 };
    assert_eq!(
        written(bth, Transport::FetchAdd(atomic)),
        hex("1440ffff 00123456 80fffffe 0000000000000008 00000009 0000000000000005 0000000000000000")
    );
    let nak = |code| Aeth { syndrome: Syndrome::Nak(code), msn: Psn::wrapping(2) };
    let acknowledge =
        |aeth| written(Bth::new(Qpn::wrapping(1), Psn::wrapping(7)), Transport::Acknowledge(aeth));
    assert_eq!(acknowledge(nak(NakCode::PsnSequenceError)), hex("1140ffff 00000001 00000007 60000002"));
    assert_eq!(acknowledge(nak(NakCode::InvalidRequest)), hex("1140ffff 00000001 00000007 61000002"));
    assert_eq!(acknowledge(nak(NakCode::RemoteAccessError)), hex("1140ffff 00000001 00000007 62000002"));
    let ack = Aeth { syndrome: Syndrome::ACK, msn: Psn::wrapping(0x01_0203) };
    assert_eq!(
        written(Bth::new(Qpn::wrapping(1), Psn::wrapping(7)), Transport::AtomicAcknowledge(ack, 0x1122)),
        hex("1240ffff 00000001 00000007 1f010203 0000000000001122")
    );
}

// Input:  a read request with one octet too few, of transport version 1, with more pad octets than octets; an acknowledgement with a
//         reserved syndrome; a payload beyond the largest IP packet; ends of two address families.
// Output: an error that says which.
#[test]
fn what_is_wrong_is_said() {
    let bth = Bth::new(Qpn::wrapping(1), Psn::wrapping(7));
    let reth = Reth { address: 0, rkey: Rkey(0), length: 0 };
    let mut read = written(bth, Transport::ReadRequest(reth));
    read.extend([0; 4]);
    let mut version = read.clone();
    version[1] |= 1;
    assert_eq!(Packet::parse(&version).unwrap_err(), ParseError::Version { layer: Layer::Roce, found: 1 });
    read.remove(20);
    assert_eq!(
        Packet::parse(&read).unwrap_err(),
        ParseError::Truncated { layer: Layer::Roce, need: 4, have: 3 }
    );
    assert_eq!(
        Packet::parse(&[0; 15]).unwrap_err(),
        ParseError::Truncated { layer: Layer::Roce, need: 12, have: 11 }
    );
    let mut middle = written(bth, Transport::WriteMiddle(&[]));
    middle[1] |= 0x30;
    middle.extend([0; 4]);
    assert_eq!(
        Packet::parse(&middle).unwrap_err(),
        ParseError::LengthTooSmall { layer: Layer::Roce, found: 0, minimum: 3 }
    );
    let ack = Aeth { syndrome: Syndrome::ACK, msn: Psn::wrapping(0) };
    let mut reserved = written(bth, Transport::Acknowledge(ack));
    reserved[12] = 0x45;
    reserved.extend([0; 4]);
    assert_eq!(Packet::parse(&reserved).unwrap_err(), ParseError::RoceSyndrome(0x45));

    let mut out = vec![1];
    let long = vec![0; 65_500];
    let error = Repr { bth, transport: Transport::WriteMiddle(&long) }.write(&ends(), &mut out).unwrap_err();
    assert!(matches!(error, BuildError::TooLong { layer: Layer::Roce, .. }), "{error}");
    let mixed = Outer { dst: "[::1]:4791".parse().unwrap(), ..ends() };
    let error = Repr { bth, transport: Transport::WriteMiddle(&[]) }.write(&mixed, &mut out).unwrap_err();
    assert_eq!((error, out), (BuildError::MixedFamilies, vec![1]));
}

// Input:  packet sequence numbers around the end of the range of 24 bits.
// Output: the order is that of the half of all numbers before and after.
#[test]
fn sequence_numbers_wrap() {
    let (last, first) = (Psn::wrapping(0xff_ffff), Psn::wrapping(0));
    assert_eq!((last.plus(1), first.since(last)), (first, 1));
    assert!(last.is_before(first) && !first.is_before(last) && !first.is_before(first));
    assert!(first.is_before(Psn::wrapping(0x7f_ffff)) && Psn::wrapping(0x80_0001).is_before(first));
}

proptest! {
    // Input:  any packet.
    // Output: what is written and read is the same, with a valid CRC between the same ends only.
    #[test]
    fn what_is_written_is_read(repr in any_repr(), outer in any_outer()) {
        let mut octets = Vec::new();
        repr.borrowed().write(&outer, &mut octets).unwrap();
        let packet = Packet::parse(&octets).unwrap();
        prop_assert_eq!(packet.repr(), repr.borrowed());
        prop_assert!(packet.icrc_is_valid(&outer));
        let mut other = outer;
        other.src.set_port(outer.src.port() ^ 1);
        prop_assert!(!packet.icrc_is_valid(&other));
    }

    // Input:  any octets.
    // Output: no panic; what can be read can be written and read again.
    #[test]
    fn any_octets_are_read(octets in proptest::collection::vec(any::<u8>(), 0..120)) {
        let Ok(packet) = Packet::parse(&octets) else { return Ok(()) };
        let mut written = Vec::new();
        packet.repr().write(&ends(), &mut written).unwrap();
        prop_assert_eq!(Packet::parse(&written).unwrap().repr(), packet.repr());
    }
}
