//! Packets to unknown destinations beside those of dormant sessions, in one batch.

use causeway_dataplane::{DropReason, ReceiveSource, TransmitQueue};
use causeway_packet::{Batch, Frame, Meta};

use super::*;

/// Sessions; the first is active, since the profile of the others was learned from it.
const SESSIONS: u8 = 8;
const SERVER: Ipv4Addr = Ipv4Addr::new(8, 8, 8, 8);

/// UDP over IPv4, without payload.
fn packet([source, target]: [Ipv4Addr; 2]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0];
    packet.extend([source.octets(), target.octets()].concat());
    packet.extend([0, 53, 0x12, 0x34, 0, 8, 0, 0]);
    let sum = causeway_packet::checksum::checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// A packet of a UE in a tunnel, with a sequence number or without.
fn uplink(teid: u32, ue: u8, with_number: bool) -> Vec<u8> {
    let user = packet([Ipv4Addr::new(10, 0, 0, ue), SERVER]);
    let number: &[u8] = if with_number { &[0, 1, 0, 0] } else { &[] };
    let head = [0x30 | u8::from(with_number) << 1, 255, 0, (user.len() + number.len()) as u8];
    [&head, &teid.to_be_bytes(), number, &user].concat()
}

fn batch_of(meta: Meta, packets: &[Vec<u8>]) -> Batch {
    let mut batch = Batch::default();
    assert!(packets.iter().all(|packet| batch.push(Frame { meta, data: packet })));
    batch
}

/// Packets forwarded, and those dropped for this reason.
fn counters_of(plane: &FastPath, reason: DropReason) -> (u64, u64) {
    let counters = plane.counters();
    (counters.forwarded, counters.dropped(reason))
}

// Input:  an active session and seven dormant ones, whose flow entries are beyond all that were ever used; a gNB that
//         has reached the limit of Error Indications. A batch of its packets: for each session two, common ones or with
//         a sequence number, and one to an unknown tunnel before each.
// Output: all sessions become active, and both packets of each are forwarded; the others are dropped without an Error
//         Indication.
#[test]
fn unknown_tunnels_do_not_hide_sessions_that_activate() {
    let ingress = Ingress::Gtpu { local: UPF.into(), peer: (GNB, 2152).into(), tos: 0, hops: None };
    for with_number in [false, true] {
        let (mut plane, mut templates) = (plane_for(SESSIONS.into()), Templates::default());
        establish(&mut plane, &mut templates, SESSIONS);
        let mut answers: Vec<(Egress, Vec<u8>)> = Vec::new();
        (0..1000).for_each(|_| {
            plane.process(at(20), &ingress, &uplink(0x7000, 1, false), &mut answers);
        });
        let mut packets = Vec::new();
        for ue in (1..=SESSIONS).flat_map(|ue| [ue, ue]) {
            packets.extend([0x8000 + u32::from(ue), ue.into()].map(|teid| uplink(teid, ue, with_number)));
        }
        let (before, mut queue) = (counters_of(&plane, DropReason::UnknownTeid), TransmitQueue::default());
        plane.process_batch(at(20), ReceiveSource::Gtpu, &mut batch_of(ingress.meta(), &packets), &mut queue);
        let after = counters_of(&plane, DropReason::UnknownTeid);
        let all = u64::from(SESSIONS) * 2;
        assert_eq!((after.0 - before.0, after.1 - before.1, plane.dormant.len()), (all, all, 0));
    }
}

// Input:  the same sessions; a batch from the data network: for each UE two packets, and one to an unknown address
//         before each.
// Output: all sessions become active, and both packets of each are forwarded; the others have an unknown UE.
#[test]
fn unknown_addresses_do_not_hide_sessions_that_activate() {
    let (mut plane, mut templates) = (plane_for(SESSIONS.into()), Templates::default());
    establish(&mut plane, &mut templates, SESSIONS);
    let mut packets = Vec::new();
    for ue in (1..=SESSIONS).flat_map(|ue| [ue, ue]) {
        packets.extend([[10, 7, 0, ue], [10, 0, 0, ue]].map(|address| packet([SERVER, address.into()])));
    }
    let mut queue = TransmitQueue::default();
    plane.process_batch(at(20), ReceiveSource::Network(0), &mut batch_of(Meta::Ip, &packets), &mut queue);
    let all = u64::from(SESSIONS) * 2;
    assert_eq!((counters_of(&plane, DropReason::UnknownUe), plane.dormant.len()), ((all, all), 0));
}
