//! What is dropped, and why.

use super::bench::{Bench, Deed, to_gnb};
use super::frames::*;
use super::program::program;
use super::*;
use crate::model::upf::{DropReason, UnknownProgram, Upf};

const TO_N6: Deed = Deed::Decapsulate { dscp: None };

fn for_all(test: impl Fn(&mut Bench)) {
    PROFILES.into_iter().for_each(|profile| {
        let mut bench = Bench::new(profile);
        bench.uplink(TEID, 1, 0, TO_N6);
        test(&mut bench);
    });
}

/// A message to the UPF's GTP-U port.
fn to_upf(message: &[u8]) -> Vec<u8> {
    ip(&V4::udp(GNB, UPF_N3, (2152, 2152), message).octets())
}

// Input:  another QFI, no container, another tunnel, one beyond the UPF's TEIDs, another UE, in both families.
// Output: dropped as unknown, by tunnel or by UE.
#[test]
fn a_miss_has_its_reason() {
    for_all(|bench| {
        bench.downlink(UE, to_gnb(1));
        bench.expect_drop(N3, &from_gnb(&request(), 3), DropReason::UnknownTeid);
        let user = request().octets();
        bench.expect_drop(N3, &to_upf(&gtpu(0x30, 255, TEID, &[], &user)), DropReason::UnknownTeid);
        for teid in [TEID | 0x0100_0000, 0x03_ffff] {
            let frame = to_upf(&gtpu(0x34, 255, teid, &container(1, 1), &user));
            bench.expect_drop(N3, &frame, DropReason::UnknownTeid);
        }
        let stranger = V4 { dst: [10, 45, 0, 8], ..reply() };
        bench.expect_drop(N6, &ip(&stranger.octets()), DropReason::UnknownUe);
        bench.expect_drop(N6, &ip(&v6([1; 16], [2; 16], 9)), DropReason::UnknownUe);
    });
}

// Input:  a UE that sends with another one's address, or IPv6 with another one's prefix.
// Output: dropped, and not counted as its usage.
#[test]
fn a_borrowed_address_is_refused() {
    for_all(|bench| {
        for src in [[10, 45, 0, 8], [10, 46, 0, 7], SERVER] {
            bench.expect_drop(N3, &from_gnb(&V4 { src, ..request() }, 1), DropReason::SpoofedSource);
        }
        let other = tunnelled(GNB, UPF_N3, TEID, 1, 1, &v6([7; 16], [2; 16], 9));
        bench.expect_drop(N3, &ip(&other.octets()), DropReason::SpoofedSource);
        assert_eq!(bench.usage(1).map(|count| count.packets), [0, 0], "{}", bench.profile);
    });
}

// Input:  rules whose FAR drops, or whose gate is closed with a notification.
// Output: the reason of each; the copy for the controller is the frame as it came, with the rule.
#[test]
fn what_a_rule_drops_has_its_reason() {
    for_all(|bench| {
        bench.uplink(TEID, 2, 0, Deed::Drop { reason: DropReason::FarDrop, notify: false });
        let rule = bench.downlink(UE, Deed::Drop { reason: DropReason::GateClosed, notify: true });
        bench.expect_drop(N3, &from_gnb(&request(), 2), DropReason::FarDrop);
        let copy = bench.expect(N6, &ip(&reply().octets()), CPU);
        assert_eq!((copy[14], copy[15], copy[21], &copy[24..]), (1, 1, rule as u8, &reply().octets()[..]));
        assert_eq!(bench.counted("drops", DropReason::GateClosed as u32), 1, "{}", bench.profile);
    });
}

// Input:  congestion marks in the outer header.
// Output: carried on where the user packet can, else dropped.
#[test]
fn congestion_is_carried_on() {
    for_all(|bench| {
        let congested = |packet: &V4| {
            let outer = V4 { tos: 3, ..tunnelled(GNB, UPF_N3, TEID, 1, 1, &packet.octets()) };
            ip(&outer.octets())
        };
        let left = bench.expect(N3, &congested(&V4 { tos: 2, ..request() }), N6);
        assert_eq!(left[14..], V4 { tos: 3, ..request().hop() }.octets());
        bench.expect_drop(N3, &congested(&request()), DropReason::Congested);
    });
}

// Input:  GTP-U that contradicts itself, is cut short at any octet, or asks for what nobody knows; IP likewise.
// Output: a reason for each; the switch goes on.
#[test]
fn malformed_packets_are_dropped() {
    for_all(|bench| {
        let user = request().octets();
        let mut damaged = user.clone();
        damaged[10] ^= 1;
        let twice = [0, 0, 0, 0x85, 1, 0x10, 1, 0x85, 1, 0x10, 1, 0];
        let cases: [(Vec<u8>, DropReason); 11] = [
            (gtpu(0x54, 255, TEID, &container(1, 1), &user), DropReason::UnsupportedGtpVersion),
            (gtpu(0x24, 255, TEID, &container(1, 1), &user), DropReason::UnsupportedGtpVersion),
            (gtpu(0x34, 255, TEID, &[0, 0, 0, 0x85, 0, 0x10, 1, 0], &user), DropReason::MalformedGtpu),
            (gtpu(0x34, 255, TEID, &twice, &user), DropReason::MalformedGtpu),
            (gtpu(0x34, 255, TEID, &[0, 0, 0, 0xc1, 1, 0, 0, 0], &user), DropReason::UnsupportedExtension),
            (gtpu(0x34, 255, TEID, &[0, 0, 0, 0x85, 5, 0x10, 1, 0], &user), DropReason::UnsupportedExtension),
            (vec![0x34, 255, 0, 8, 0, 0x2d], DropReason::MalformedGtpu),
            (gtpu(0x34, 255, TEID, &[0, 0, 0], &[]), DropReason::MalformedGtpu),
            (gtpu(0x34, 255, TEID, &container(1, 1), &[0x50; 40]), DropReason::MalformedIp),
            (gtpu(0x34, 255, TEID, &container(1, 1), &user[..12]), DropReason::MalformedIp),
            (gtpu(0x34, 255, TEID, &container(1, 1), &damaged), DropReason::MalformedIp),
        ];
        for (message, reason) in cases {
            bench.expect_drop(N3, &to_upf(&message), reason);
        }
        let whole = from_gnb(&request(), 1);
        for end in 0..whole.len() - 8 {
            let left = bench.send(N3, &whole[..end]);
            // Only what is cut behind the user packet's ports still looks like a packet.
            assert!(left.is_empty() || end >= 14 + 44 + 24, "{end} octets");
        }
        bench.expect(N3, &whole, N6);
    });
}

// Input:  other EtherTypes, a command of another port or without a meaning, a packet without a route.
// Output: a reason for each.
#[test]
fn what_nobody_asked_for_is_dropped() {
    for_all(|bench| {
        bench.expect_drop(N6, &frame(0x8847, &[0; 40]), DropReason::UnsupportedFrame);
        bench.expect_drop(N6, &command(3, N9, 5, &request().octets()), DropReason::UnsupportedFrame);
        bench.expect_drop(CPU, &command(9, N9, 5, &request().octets()), DropReason::BadCommand);
        let nowhere = V4 { dst: [203, 0, 113, 1], ..request() };
        bench.expect_drop(N3, &from_gnb(&nowhere, 1), DropReason::NoEgress);
    });
}

// Input:  frames with random octets behind right beginnings.
// Output: each is forwarded, handed to the controller, or dropped under a reason: the counts add up, nothing panics.
#[test]
fn every_frame_ends_somewhere() {
    for_all(|bench| {
        let mut random = fastrand::Rng::with_seed(11);
        let whole = from_gnb(&request(), 1);
        for round in 0..3000_u64 {
            let mut octets = whole.clone();
            (0..random.usize(1..6)).for_each(|_| {
                let place = random.usize(12..octets.len());
                octets[place] = random.u8(..);
            });
            octets.truncate(random.usize(10..=octets.len()));
            let dropped = |bench: &Bench| (1..=15).map(|reason| bench.counted("drops", reason)).sum::<u64>();
            let before = dropped(bench);
            let port = if random.bool() { CPU } else { N3 };
            let left = bench.send(port, &octets).len() as u64;
            assert_eq!(left + dropped(bench) - before, 1, "{} round {round}: {octets:02x?}", bench.profile);
        }
    });
}

// Input:  a program without its drop counter, one with a key that is not known, one of profile `direct`.
// Output: each is refused, by name.
#[test]
fn other_programs_are_refused() {
    let refused = |change: fn(&mut crate::driver::Program)| {
        let mut program = program("hip4");
        change(&mut program);
        Upf::new(&program, CPU, vec![]).unwrap_err()
    };
    let without = refused(|program| program.counters.retain(|counter| counter.name != "drops"));
    assert_eq!(without, UnknownProgram::Missing("drops"));
    let key = refused(|program| program.tables[0].keys[0].name = "vlan".to_owned());
    assert_eq!(key.to_string(), "table source_guard has key vlan, which the model does not know");
    let direct = refused(|program| program.tables[0].name = "ul_sessions_low".to_owned());
    assert_eq!(direct, UnknownProgram::Direct);
}
