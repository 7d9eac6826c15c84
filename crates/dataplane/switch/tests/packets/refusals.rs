//! What is dropped, and why.

use crate::bench::{self, Bench, for_all};
use crate::frames::*;
use crate::rules::{RuleAction, TO_N6, to_gnb};
use crate::{CPU, N3, N6, N9};

// Input:  rules whose FAR drops or whose gate is closed.
// Output: the reason of each.
#[test]
fn what_a_rule_drops_has_its_reason() {
    for_all("refusals::what_a_rule_drops_has_its_reason", |bench| {
        bench.uplink(TEID, 1, 0, RuleAction::Drop { reason: "far_drop", notify: false });
        bench.downlink(UE, 0, RuleAction::Drop { reason: "gate_closed", notify: false });
        assert!(bench.expect_drop(N3, &from_gnb(&request(), 1), "far_drop").is_empty());
        assert!(bench.expect_drop(N6, &ip(&reply().octets()), "gate_closed").is_empty());
    });
}

// Input:  GTP-U that contradicts itself, is of another version, or asks for what nobody knows; user packets that are none.
// Output: a reason for each; the switch goes on.
#[test]
fn malformed_packets_are_dropped() {
    for_all("refusals::malformed_packets_are_dropped", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        let user = request().octets();
        let mut damaged = user.clone();
        damaged[10] ^= 1;
        let with = |between: &[u8]| gtpu(0x34, 255, TEID, between, &user);
        let around = |packet: &[u8]| gtpu(0x34, 255, TEID, &container(1, 1), packet);
        let first = |octet: u8| [&[octet][..], &user[1..]].concat();
        let cases: [(Vec<u8>, &str); 20] = [
            (gtpu(0x54, 255, TEID, &container(1, 1), &user), "unsupported_gtp_version"),
            (gtpu(0x14, 255, TEID, &container(1, 1), &user), "unsupported_gtp_version"),
            (gtpu(0x24, 255, TEID, &container(1, 1), &user), "unsupported_gtp_version"),
            (gtpu(0x50, 1, 0, &[], &[]), "unsupported_gtp_version"),
            // A container, or what stands before or behind it, of no length.
            (with(&[0, 0, 0, 0x85, 0, 0x10, 1, 0]), "malformed_gtpu"),
            (with(&[0, 0, 0, 0x40, 0, 0, 0, 0x85, 1, 0x10, 1, 0]), "malformed_gtpu"),
            (with(&[0, 0, 0, 0x85, 1, 0x10, 1, 0x40, 0, 0, 0, 0]), "malformed_gtpu"),
            // Two containers.
            (with(&[0, 0, 0, 0x85, 1, 0x10, 1, 0x85, 1, 0x10, 1, 0]), "malformed_gtpu"),
            // Of types that must be understood, before and behind the container.
            (with(&[0, 0, 0, 0xc1, 1, 0, 0, 0]), "unsupported_extension"),
            (with(&[0, 0, 0, 0x85, 1, 0x10, 1, 0xc1, 1, 0, 0, 0]), "unsupported_extension"),
            // Too long, or one too many.
            (with(&[&[0, 0, 0, 0x85, 5, 0x10, 1][..], &[0; 17]].concat()), "unsupported_extension"),
            (with(&[&[0, 0, 0, 0x40, 5][..], &[0; 19]].concat()), "unsupported_extension"),
            (with(&[0, 0, 0, 0x40, 1, 0, 0, 0x20, 1, 0, 0, 0]), "unsupported_extension"),
            (gtpu(0x34, 255, TEID, &[0, 0, 0], &[]), "malformed_gtpu"),
            (around(&[0x50; 40]), "malformed_ip"),
            (around(&[]), "malformed_ip"),
            (around(&user[..12]), "malformed_ip"),
            (around(&damaged), "malformed_ip"),
            (around(&first(0x44)), "malformed_ip"),
            (around(&first(0x4f)), "malformed_ip"),
        ];
        for (message, reason) in cases {
            bench.expect_drop(N3, &to_upf(&message), reason);
        }
        assert_eq!(routed(&bench.expect(N3, &from_gnb(&request(), 1), N6)), request().hop().octets());
    });
}

// Input:  a tunnelled packet with extension headers, cut behind each of its octets.
// Output: dropped under the name of what was cut; behind the ports it passes for a packet.
#[test]
fn a_cut_frame_is_dropped_by_where_it_was_cut() {
    for_all("refusals::a_cut_frame_is_dropped_by_where_it_was_cut", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        let chain = [0, 0, 0, 0x40, 1, 8, 0x68, 0x85, 2, 0x10, 1, 0, 0, 0, 0, 0];
        let whole = to_upf(&gtpu(0x34, 255, TEID, &chain, &request().octets()));
        let (udp, user, ports) = (14 + 28, 14 + 28 + 8 + 16, 14 + 28 + 8 + 16 + 24);
        for end in 14..whole.len() - 1 {
            let cut = whole.get(..end).unwrap();
            if end < udp || (user..ports).contains(&end) {
                bench.expect_drop(N3, cut, "malformed_ip");
            } else if end < user {
                bench.expect_drop(N3, cut, "malformed_gtpu");
            } else {
                bench.expect(N3, cut, N6);
            }
        }
    });
}

// Input:  other EtherTypes, commands of another port, without a meaning, or about what is no IP packet; a packet without a route.
// Output: a reason for each.
#[test]
fn what_nobody_asked_for_is_dropped() {
    for_all("refusals::what_nobody_asked_for_is_dropped", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        bench.downlink(UE, 0, to_gnb(1));
        bench.expect_drop(N6, &frame(0x8847, &[0; 40]), "unsupported_frame");
        bench.expect_drop(N6, &command(3, N9, 5, &request().octets()), "unsupported_frame");
        for code in [0, 4, 9, 255] {
            bench.expect_drop(CPU, &command(code, N9, 5, &request().octets()), "bad_command");
        }
        for code in [1, 2] {
            bench.expect_drop(CPU, &command_of(code, 0, 0, 0x0806, &[0; 28]), "unsupported_frame");
        }
        bench.expect_drop(CPU, &command(2, 0, 0, &v6(UE_IPV6, SERVER_IPV6, 9, (1, 2))), "unsupported_frame");
        bench.expect_drop(CPU, &frame(0x88b5, &[1, 0, 0]), "malformed_ip");
        bench.expect_drop(CPU, &command(2, 0, 0, &request().octets()[..16]), "malformed_ip");
        let nowhere = V4 { dst: [203, 0, 113, 1], ..request() };
        bench.expect_drop(N3, &from_gnb(&nowhere, 1), "no_egress");
        bench.expect_drop(CPU, &command(2, 0, 0, &nowhere.octets()), "no_egress");
        bench.expect(N3, &from_gnb(&request(), 1), N6);
    });
}

// Input:  frames with random octets behind right beginnings, cut at random.
// Output: each is forwarded, handed to the controller, or dropped under a reason: the counts add up.
#[test]
fn every_frame_ends_somewhere() {
    for_all("refusals::every_frame_ends_somewhere", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        let mut random = fastrand::Rng::with_seed(11);
        let whole = from_gnb(&request(), 1);
        let rounds = if crate::bmv2::is_inside() { 100 } else { 3000 };
        for round in 0..rounds {
            let mut octets = whole.clone();
            (0..random.usize(1..6)).for_each(|_| {
                let place = random.usize(12..octets.len());
                octets[place] = random.u8(..);
            });
            octets.truncate(random.usize(14..=octets.len()));
            let before = dropped(bench);
            let port = if random.bool() { CPU } else { N3 };
            let left = bench.send(port, &octets).len() as u64;
            assert_eq!(left + dropped(bench) - before, 1, "{} {round}: {octets:02x?}", bench.profile.name);
        }
    });
}

fn dropped(bench: &mut Bench) -> u64 {
    bench.drops().iter().map(|(_, packets)| packets).sum()
}

// Input:  a switch that was given nothing.
// Output: every packet is dropped under a reason, but for what is for the controller.
#[test]
fn an_empty_switch_forwards_nothing() {
    bench::for_each("refusals::an_empty_switch_forwards_nothing", |profile| empty(&mut Bench::bare(profile)));
}

fn empty(bench: &mut Bench) {
    bench.expect_drop(N3, &from_gnb(&request(), 1), "spoofed_source");
    bench.expect_drop(N6, &ip(&reply().octets()), "unknown_ue");
    bench.expect_drop(N6, &ip(&v6(SERVER_IPV6, UE_IPV6, 9, (1, 2))), "unknown_ue");
    let marker = V4::udp(UPF_N3, GNB, (2152, 2152), &gtpu(0x30, 254, 9, &[], &[]));
    bench.expect_drop(CPU, &command(2, 0, 0, &marker.octets()), "no_egress");
    bench.expect(N3, &to_upf(&gtpu(0x32, 1, 0, &[0, 1, 0, 0], &[])), CPU);
}
