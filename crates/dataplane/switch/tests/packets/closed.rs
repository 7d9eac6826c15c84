//! Addresses that UEs do not reach.

use causeway_switch::driver::{FieldMatch, Rates};

use crate::bench::{Bench, exactly, for_all, number, packets};
use crate::frames::*;
use crate::rules::{RuleAction, TO_N6, to_gnb, to_tunnel};
use crate::{N3, N6, N9};

const OWN: u128 = 17;
const UNROUTABLE: u128 = 18;
const LINK_LOCAL: u128 = 19;

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

impl Bench {
    fn close(&mut self, net: [u8; 4], prefix: u32, reason: u128) {
        let mask = u128::from(u32::MAX << (32 - prefix));
        let destination = FieldMatch::Ternary { value: number(net), mask };
        self.add("closed", &[("destination", destination)], "close", &[("reason", reason)]);
    }

    fn close_ipv6(&mut self, net: [u8; 16], prefix: u32, reason: u128) {
        let mask = u128::MAX << (128 - prefix);
        let destination = FieldMatch::Ternary { value: u128::from_be_bytes(net), mask };
        self.add("closed_ipv6", &[("destination", destination)], "close", &[("reason", reason)]);
    }
}

fn to(dst: [u8; 4]) -> V4 {
    V4 { dst, ..request() }
}

// Input:  rows for prefixes with a reason each, and one above them for pings to a gateway; a route of its own to a closed address; packets to
//         all these: whole, in fragments, at their last hop, with a wrong checksum; and to what lies beside.
// Output: what is closed is dropped under its reason, and nobody is told of its last hop; pings, and what lies beside, leave.
#[test]
fn what_is_closed_is_not_reached() {
    for_all("closed::what_is_closed_is_not_reached", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        let hop = [("port", N6.into()), ("source", 0x0200_0000_0001), ("neighbour", 0x0200_0000_0002)];
        bench.add("network_lpm", &[], "hop", &hop);
        bench.close([203, 0, 113, 0], 28, OWN);
        bench.close([198, 51, 100, 17], 32, OWN);
        bench.close([224, 0, 0, 0], 4, UNROUTABLE);
        bench.close([169, 254, 0, 0], 16, LINK_LOCAL);
        let gateway = exactly(number([198, 51, 100, 17]), 32);
        let pings = [("destination", gateway), ("protocol", exactly(ICMP, 8))];
        bench.add_at("closed", &pings, 2, "let_pass", &[]);
        if !bench.profile.is_outer_ipv6 {
            let host = FieldMatch::Exact(number([203, 0, 113, 4]));
            bench.add("network_exact", &[("destination", host)], "hop", &hop);
        }
        for (dst, reason) in [
            ([203, 0, 113, 0], "local_address"),
            ([203, 0, 113, 4], "local_address"),
            ([203, 0, 113, 15], "local_address"),
            ([198, 51, 100, 17], "local_address"),
            ([239, 255, 255, 250], "unroutable"),
            ([169, 254, 169, 254], "link_local"),
        ] {
            let packet = to(dst);
            // The first fragment, a later one, and one that may go no further.
            for packet in [
                packet.clone(),
                V4 { fragment: 0x2000, ..packet.clone() },
                V4 { fragment: 7, ..packet.clone() },
                V4 { ttl: 1, ..packet },
            ] {
                assert!(bench.expect_drop(N3, &from_gnb(&packet, 1), reason).is_empty());
            }
        }
        let mut damaged = to([203, 0, 113, 4]).octets();
        damaged[10] ^= 1;
        bench.expect_drop(N3, &in_tunnel(TEID, 1, &damaged), "malformed_ip");
        let ping = V4 { protocol: ICMP, ..to([198, 51, 100, 17]) };
        assert_eq!(routed(&bench.expect(N3, &from_gnb(&ping, 1), N6)), ping.hop().octets());
        bench.expect_drop(N3, &from_gnb(&V4 { protocol: ICMPV6, ..ping }, 1), "local_address");
        for dst in
            [[203, 0, 113, 16], [203, 0, 112, 255], [198, 51, 100, 16], [240, 0, 0, 1], [169, 255, 0, 1]]
        {
            let packet = to(dst);
            assert_eq!(routed(&bench.expect(N3, &from_gnb(&packet, 1), N6)), packet.hop().octets());
        }
    });
}

// Input:  the same over IPv6.
// Output: likewise.
#[test]
fn what_is_closed_is_not_reached_over_ipv6() {
    for_all("closed::what_is_closed_is_not_reached_over_ipv6", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        let hop = [("port", N6.into()), ("source", 0x0200_0000_0001), ("neighbour", 0x0200_0000_0002)];
        bench.add("network_lpm_ipv6", &[], "hop", &hop);
        let own = [0x20, 1, 0x0d, 0xb8, 0, 0x99, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0];
        let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 203, 0, 113, 4];
        let group = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
        bench.close_ipv6(own, 64, OWN);
        bench.close_ipv6([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0], 96, UNROUTABLE);
        bench.close_ipv6([0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 8, UNROUTABLE);
        let of_link = exactly(u128::from_be_bytes(group), 128);
        bench.add_at("closed_ipv6", &[("destination", of_link)], 3, "close", &[("reason", LINK_LOCAL)]);
        let gateway = exactly(u128::from_be_bytes(own) | 1, 128);
        let pings = [("destination", gateway), ("protocol", exactly(ICMPV6, 8))];
        bench.add_at("closed_ipv6", &pings, 2, "let_pass", &[]);
        let send = |dst, hops| in_tunnel(TEID, 1, &v6(UE_IPV6, dst, hops, (5000, 53)));
        let ending = |mut net: [u8; 16], octet| {
            net[15] = octet;
            net
        };
        for (dst, reason) in [
            (ending(own, 1), "local_address"),
            (ending(own, 99), "local_address"),
            (mapped, "unroutable"),
            (ending(group, 3), "unroutable"),
            (group, "link_local"),
        ] {
            for hops in [64, 1] {
                assert!(bench.expect_drop(N3, &send(dst, hops), reason).is_empty());
            }
        }
        let mut ping = v6(UE_IPV6, ending(own, 1), 64, (5000, 53));
        ping[6] = ICMPV6;
        let left = bench.expect(N3, &in_tunnel(TEID, 1, &ping), N6);
        ping[7] -= 1;
        assert_eq!(routed(&left), ping);
        let mut beside = own;
        beside[7] = 8;
        assert_eq!(routed(&bench.expect(N3, &send(beside, 9), N6)), v6(UE_IPV6, beside, 8, (5000, 53)));
    });
}

// Input:  closed addresses that packets in tunnels to another UPF, and packets to a UE, are for.
// Output: they go on: only what leaves to a data network is held back.
#[test]
fn only_data_networks_are_closed() {
    for_all("closed::only_data_networks_are_closed", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        bench.uplink(TEID + 1, 1, 0, to_tunnel(PEER, 7, (1, 1)));
        bench.downlink(UE, 0, to_gnb(3));
        bench.close([198, 51, 100, 0], 24, OWN);
        bench.close([10, 45, 0, 0], 16, OWN);
        bench.expect_drop(N3, &from_gnb(&request(), 1), "local_address");
        let other = V4 { src: [10, 45, 0, 8], ..request() };
        bench.expect(N3, &in_tunnel(TEID + 1, 1, &other.octets()), N9);
        let left = bench.expect(N6, &ip(&reply().octets()), N3);
        assert_eq!(routed(&left), to_gnb_tunnel(3, &reply().hop().octets()));
    });
}

// Input:  packets to a closed address with something else against them, too: of another UE, with a wrong checksum, by rules that drop, and above
//         the rate of their rule.
// Output: what is wrong with the packet, and what the rule says, come first; the rate does not. It is counted before QoS enforcement only.
#[test]
fn reasons_have_their_order() {
    for_all("closed::reasons_have_their_order", |bench| {
        let rule = bench.uplink(TEID, 1, 5, TO_N6);
        bench.set_meter(5, Rates { committed: 1, committed_burst: 1, peak: 1, peak_burst: 1 });
        bench.further_flow(TEID, 2, RuleAction::Drop { reason: "far_drop", notify: false });
        bench.close([198, 51, 100, 0], 24, OWN);
        let foreign = V4 { src: [10, 45, 0, 8], ..request() };
        bench.expect_drop(N3, &from_gnb(&foreign, 1), "spoofed_source");
        bench.expect_drop(N3, &from_gnb(&request(), 2), "far_drop");
        bench.expect_drop(N3, &from_gnb(&request(), 3), "unknown_teid");
        assert_eq!(packets(&bench.usage(&rule)), (0, 0), "{}", bench.profile.name);
        bench.expect_drop(N3, &from_gnb(&request(), 1), "local_address");
        assert_eq!(packets(&bench.usage(&rule)), (1, 0), "{}", bench.profile.name);
        let passing = V4 { dst: [203, 0, 113, 1], ..request() };
        bench.expect_drop(N3, &from_gnb(&passing, 1), "mbr_exceeded");
    });
}
