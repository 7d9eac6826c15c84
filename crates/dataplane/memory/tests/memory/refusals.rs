//! What a responder refuses, and with which NAK.

use causeway_memory::{Effect, Failure, Operation, OperationError, Outcome, Place, Region, Rights};
use causeway_packet::roce::{
    AtomicEth, Bth, NakCode, Opcode, Psn, Qpn, Repr, Reth, Rkey, Syndrome, Transport,
};

use crate::pair::{BASE, LENGTH, Pair, RKEY, octets_of, syndrome};

const END: u64 = BASE + LENGTH as u64;

fn reth(address: u64, rkey: Rkey, length: u32) -> Reth {
    Reth { address, rkey, length }
}

fn add(address: u64, rkey: Rkey) -> Transport<'static> {
    Transport::FetchAdd(AtomicEth { address, rkey, swap_or_add: 1, compare: 0 })
}

/// A pair with regions of one right each, and the keys of these: read 1, write 2, atomic 4.
fn pair() -> Pair {
    let mut pair = Pair::new();
    for rights in [Rights::READ, Rights::WRITE, Rights::ATOMIC] {
        pair.regions.insert(Rkey(rights.bits().into()), Region::new(0, 64, rights).unwrap());
    }
    pair
}

fn first_packet(transport: Transport<'_>) -> Repr<'_> {
    let bth = Bth { ack_request: true, ..Bth::new(Qpn::wrapping(0x22), Psn::wrapping(0xff_fffe)) };
    Repr { bth, transport }
}

// Input:  each kind of request with a wrong key, below and beyond its region, at the last addresses of all, without the right.
// Output: Remote Access Error, syndrome 0x62; the memory is unchanged. The request is refused again when it is repeated, and nothing is
//         executed after it.
#[test]
fn access_without_a_right_is_refused() {
    let byte = [0xee];
    let requests = [
        Transport::ReadRequest(reth(BASE, Rkey(9), 1)),
        Transport::ReadRequest(reth(BASE - 1, RKEY, 2)),
        Transport::ReadRequest(reth(END, RKEY, 1)),
        Transport::ReadRequest(reth(BASE + 1, RKEY, 2048 * 2)),
        Transport::ReadRequest(reth(u64::MAX, RKEY, 2)),
        Transport::ReadRequest(reth(0, Rkey(2), 1)),
        Transport::ReadRequest(reth(0, Rkey(4), 1)),
        Transport::WriteOnly(reth(BASE, Rkey(9), 1), &byte),
        Transport::WriteOnly(reth(END, RKEY, 1), &byte),
        Transport::WriteOnly(reth(0, Rkey(1), 1), &byte),
        Transport::WriteOnly(reth(0, Rkey(4), 1), &byte),
        // The whole range of a write is checked with its first packet.
        Transport::WriteFirst(reth(END - 256, RKEY, 257), &[0xee; 256]),
        add(BASE, Rkey(9)),
        add(END, RKEY),
        add(u64::MAX - 7, RKEY),
        add(0, Rkey(1)),
        add(0, Rkey(2)),
    ];
    for transport in requests {
        let mut pair = pair();
        // The longest read is no obstacle here.
        let before = pair.regions.clone();
        let repr = first_packet(transport);
        let is_long = matches!(transport, Transport::ReadRequest(Reth { length: 4096, .. }));
        let code = if is_long { NakCode::InvalidRequest } else { NakCode::RemoteAccessError };
        for _ in 0..2 {
            let response = pair.made(&repr).unwrap();
            assert_eq!(syndrome(&response), Syndrome::Nak(code), "{transport:?}");
        }
        let mut next = first_packet(Transport::WriteOnly(reth(BASE, RKEY, 1), &byte));
        assert_eq!(pair.made(&next).map(|octets| syndrome(&octets)), Some(Syndrome::Nak(code)));
        next.bth.psn = next.bth.psn.plus(1);
        assert_eq!(pair.made(&next), None);
        assert!(pair.regions == before, "{transport:?}");
        assert_eq!(pair.responder.refused(), Some(code));
    }
}

// Input:  requests that contradict themselves or each other, or that this responder does not execute.
// Output: Invalid Request, syndrome 0x61; the memory is unchanged.
#[test]
fn invalid_requests_are_refused() {
    let (full, octet) = ([0xee; 256], [0xee]);
    let requests = [
        // Its length is not that of its packets.
        Transport::WriteOnly(reth(BASE, RKEY, 2), &octet),
        Transport::WriteOnly(reth(BASE, RKEY, 0), &octet),
        Transport::WriteOnly(reth(BASE, RKEY, 300), &[0xee; 300]),
        Transport::WriteFirst(reth(BASE, RKEY, 256), &full),
        Transport::WriteFirst(reth(BASE, RKEY, 300), &full[1..]),
        // There is no first packet.
        Transport::WriteMiddle(&full),
        Transport::WriteLast(&octet),
        // Longer than the responder reads at a time, or than any message.
        Transport::ReadRequest(reth(BASE, RKEY, 2049)),
        Transport::ReadRequest(reth(BASE, RKEY, u32::MAX)),
        Transport::WriteFirst(reth(BASE, RKEY, u32::MAX), &full),
        // Not on a boundary of eight octets.
        add(BASE + 4, RKEY),
        // SEND Only.
        Transport::Other(Opcode(0x04), &octet),
    ];
    for transport in requests {
        let mut pair = pair();
        let before = pair.regions.clone();
        let response = pair.made(&first_packet(transport)).unwrap();
        assert_eq!(syndrome(&response), Syndrome::Nak(NakCode::InvalidRequest), "{transport:?}");
        assert!(pair.regions == before, "{transport:?}");
    }
}

// Input:  a write of three packets whose second one is a read, is too short, or claims to be the last one.
// Output: Invalid Request with the sequence number of the second; what the first wrote stays, and the requester would be told that the
//         effect is unknown.
#[test]
fn a_message_that_breaks_off_is_refused() {
    let full = [0xee; 256];
    for second in [
        Transport::ReadRequest(reth(BASE, RKEY, 1)),
        Transport::WriteMiddle(&full[1..]),
        Transport::WriteLast(&full),
        Transport::WriteOnly(reth(BASE, RKEY, 1), &full[..1]),
    ] {
        let mut pair = pair();
        assert_eq!(
            pair.made(&first_packet(Transport::WriteFirst(reth(BASE, RKEY, 600), &full))).map(drop),
            Some(())
        );
        let mut repr = first_packet(second);
        repr.bth.psn = repr.bth.psn.plus(1);
        let response = pair.made(&repr).unwrap();
        assert_eq!(syndrome(&response), Syndrome::Nak(NakCode::InvalidRequest), "{second:?}");
    }
}

// Input:  a read and a write of no octets, with a key that does not exist.
// Output: they are executed: the key of no octets is not checked (IBA clause 9.7.4).
#[test]
fn no_octets_need_no_key() {
    let mut pair = pair();
    let octets = pair.made(&first_packet(Transport::ReadRequest(reth(0, Rkey(99), 0)))).unwrap();
    assert_eq!(crate::pair::what(&octets), (0x10, 0xff_fffe));
    let mut write = first_packet(Transport::WriteOnly(reth(0, Rkey(99), 0), &[]));
    write.bth.psn = write.bth.psn.plus(1);
    assert_eq!(syndrome(&pair.made(&write).unwrap()), Syndrome::ACK);
}

// Input:  CmpSwap with the value that is there, and with another.
// Output: the old value both times; the word changes the first time only.
#[test]
fn compare_and_swap() {
    let mut pair = pair();
    for (psn, compare, swap, word) in [(0, 0, 5, 5), (1, 4, 6, 5)] {
        let atomic = AtomicEth { address: BASE + 8, rkey: RKEY, swap_or_add: swap, compare };
        let mut repr = first_packet(Transport::CompareSwap(atomic));
        repr.bth.psn = repr.bth.psn.plus(psn);
        let original = if psn == 0 { 0 } else { 5 };
        let octets = pair.made(&repr).unwrap();
        assert_eq!(octets[16..24], u64::to_be_bytes(original));
        assert_eq!(pair.memory()[8], word);
    }
}

// Input:  a write, a fetch-and-add with a wrong key, and a read, all sent at once; the response to the write is lost, and the NAK, too.
// Output: the write succeeds, the addition fails with Remote Access Error, the read is flushed; both had no effect, for certain.
#[test]
fn the_requester_learns_which_one_it_was() {
    let mut pair = pair();
    let place = Place { rkey: RKEY, address: BASE };
    pair.requester.submit(Operation::write(place, vec![1])).unwrap();
    pair.requester.submit(Operation::fetch_add(Place { rkey: Rkey(9), ..place }, 1)).unwrap();
    pair.requester.submit(Operation::read(place, 1)).unwrap();
    for request in pair.requests() {
        pair.request(&request);
    }
    pair.time_out();
    pair.carry();
    let error = |failure| Err(OperationError { failure, effect: Effect::None });
    let expected = [Ok(Outcome::Written), error(Failure::RemoteAccess), error(Failure::Flushed)];
    assert_eq!(pair.results(), expected);
    assert_eq!(pair.requester.failure(), Some(Failure::RemoteAccess));
    assert_eq!(octets_of(&first_packet(Transport::WriteMiddle(&[]))).len(), 16);
}
