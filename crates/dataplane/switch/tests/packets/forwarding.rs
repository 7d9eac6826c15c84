//! Where packets go, and how they leave.

use causeway_switch::driver::{FieldMatch, Update};

use crate::bench::{for_all, number, octets, packets};
use crate::frames::*;
use crate::rules::{RuleAction, TO_N6, to_gnb, to_tunnel};
use crate::{N3, N6, N9};

// Input:  a UE's packet in its tunnel, with and without IP options, and with a longer container behind another extension header.
// Output: the same packet on N6, one hop older, its checksum right; counted on both sides, to the octet.
#[test]
fn uplink_is_decapsulated() {
    for_all("forwarding::uplink_is_decapsulated", |bench| {
        let rule = bench.uplink(TEID, 1, 0, TO_N6);
        let sent = request();
        assert_eq!(routed(&bench.expect(N3, &from_gnb(&sent, 1), N6)), sent.hop().octets());
        let user = sent.octets().len() as u64;
        let usage = bench.usage(&rule);
        assert_eq!((usage.pre.octets, packets(&usage)), (14 + 44 + user, (1, 1)));
        if bench.profile.is_modelled() {
            assert_eq!(octets(&usage), (14 + 44 + user, 14 + user));
        }
        let with_options = V4 { options: vec![0x94, 4, 0, 0], ..request() };
        let left = bench.expect(N3, &from_gnb(&with_options, 1), N6);
        assert_eq!(routed(&left), with_options.hop().octets());
        // A PDCP number of four octets, then a container of eight.
        let between = [0, 0, 0, 0x40, 1, 8, 0x68, 0x85, 2, 0x10, 1, 0, 0, 0, 0, 0];
        let message = gtpu(0x34, 255, TEID, &between, &sent.octets());
        assert_eq!(routed(&bench.expect(N3, &to_upf(&message), N6)), sent.hop().octets());
        assert_eq!(packets(&bench.usage(&rule)), (3, 3));
    });
}

// Input:  extension headers of each length before, as and behind the container.
// Output: all are passed over, whatever is in them.
#[test]
fn extension_headers_are_passed_over() {
    for_all("forwarding::extension_headers_are_passed_over", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        let header = |units: u8, next: u8| {
            let mut octets = vec![units];
            octets.resize(usize::from(units) * 4 - 1, 0xff);
            octets.push(next);
            octets
        };
        let user = request();
        for units in 1..=4 {
            let mut container = vec![units, 0x10, 1];
            container.resize(usize::from(units) * 4 - 1, 0xff);
            let chains = [
                (0x40, [header(units, 0x85), vec![1, 0x10, 1, 0]].concat()),
                (0x85, [&container[..], &[0]].concat()),
                (0x85, [&container[..], &[0x20], &header(5 - units, 0)].concat()),
            ];
            for (first, chain) in chains {
                let message =
                    gtpu(0x34, 255, TEID, &[&[0, 0, 0, first][..], &chain].concat(), &user.octets());
                let left = bench.expect(N3, &to_upf(&message), N6);
                assert_eq!(routed(&left), user.hop().octets(), "{first:#x} {chain:02x?}");
            }
        }
    });
}

// Input:  G-PDUs with a sequence number, an N-PDU number or none of the optional fields, for a rule without QFI.
// Output: all reach N6.
#[test]
fn numbers_of_packets_mean_nothing() {
    for_all("forwarding::numbers_of_packets_mean_nothing", |bench| {
        bench.uplink(TEID, 0, 0, TO_N6);
        for (flags, between) in
            [(0x30, &[][..]), (0x32, &[1, 2, 0, 0x85]), (0x31, &[0, 0, 7, 0xc1]), (0x36, &[1, 2, 0, 0])]
        {
            let message = gtpu(flags, 255, TEID, between, &request().octets());
            let left = bench.expect(N3, &to_upf(&message), N6);
            assert_eq!(routed(&left), request().hop().octets(), "{flags:#x}");
        }
    });
}

// Input:  a packet for a UE, marked as capable of congestion marks.
// Output: in the tunnel to its gNB, with QFI, DSCP and lengths right, one hop older; its checksums right.
#[test]
fn downlink_is_encapsulated() {
    for_all("forwarding::downlink_is_encapsulated", |bench| {
        let (tunnel, teid) = (GNB.into(), 0xabcd_ef01);
        let rule = bench.downlink(
            UE,
            0,
            RuleAction::Encapsulate { tunnel, teid, kind: (0, 9), dscp: 46, notify: false },
        );
        let sent = V4 { tos: 0x02, ..reply() };
        let left = bench.expect(N6, &ip(&sent.octets()), N3);
        assert_eq!(routed(&left), ours(UPF_N3, GNB, teid, (0, 9), 46 << 2 | 2, &sent.hop().octets()));
        assert_eq!(checksum(&left[14..34]), 0);
        let usage = bench.usage(&rule);
        let user = sent.octets().len() as u64;
        assert_eq!((usage.pre.octets, packets(&usage)), (14 + user, (1, 1)));
        if bench.profile.is_modelled() {
            assert_eq!(octets(&usage), (14 + user, 14 + 44 + user));
        }
    });
}

// Input:  packets between another UPF and a gNB, both ways.
// Output: in new tunnels, PDU types and QFIs as the rules say; the user packet has lost no hop.
#[test]
fn tunnels_are_joined() {
    for_all("forwarding::tunnels_are_joined", |bench| {
        let up = bench.uplink(N9_TEID, 1, 0, to_tunnel(PEER, 7, (1, 3)));
        let down = bench.downlink_from_n9(N9_TEID + 1, 5, 0, to_gnb(8));
        let sent = in_tunnel(N9_TEID, 1, &request().octets());
        let wanted = ours(UPF_N9, PEER, 7, (1, 3), 0, &request().octets());
        assert_eq!(routed(&bench.expect(N3, &sent, N9)), wanted);
        let sent = ip(&tunnelled(PEER, UPF_N9, N9_TEID + 1, (0, 5), &reply().octets()).octets());
        assert_eq!(routed(&bench.expect(N9, &sent, N3)), to_gnb_tunnel(8, &reply().octets()));
        assert_eq!((packets(&bench.usage(&up)), packets(&bench.usage(&down))), ((1, 1), (1, 1)));
    });
}

// Input:  the largest user packet of the bench's links, and the smallest.
// Output: both through the tunnel as they are.
#[test]
fn sizes_do_not_matter() {
    for_all("forwarding::sizes_do_not_matter", |bench| {
        bench.downlink(UE, 0, to_gnb(1));
        bench.uplink(TEID, 1, 0, TO_N6);
        for size in [0, 1, 1400, 1900] {
            let down = V4::udp(SERVER, UE, (53, 5000), &vec![0x5a; size]);
            let left = bench.expect(N6, &ip(&down.octets()), N3);
            assert_eq!(routed(&left), to_gnb_tunnel(1, &down.hop().octets()), "{size}");
            let up = V4::udp(UE, SERVER, (5000, 53), &vec![0xa5; size]);
            assert_eq!(routed(&bench.expect(N3, &from_gnb(&up, 1), N6)), up.hop().octets(), "{size}");
        }
        let bare = V4 { protocol: 59, payload: vec![], ..request() };
        assert_eq!(routed(&bench.expect(N3, &from_gnb(&bare, 1), N6)), bare.hop().octets());
    });
}

// Input:  routes of several lengths, and one for a single address, to one data network and one gNB.
// Output: the longest decides, the single address before all.
#[test]
fn the_longest_route_decides() {
    for_all("forwarding::the_longest_route_decides", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        bench.downlink(UE, 0, to_tunnel([172, 16, 9, 77], 1, (0, 9)));
        let hop =
            |port: u16, mac: u128| [("port", port.into()), ("source", 0x0200_0000_0001), ("neighbour", mac)];
        let route = |dst: [u8; 4], prefix| [("destination", FieldMatch::Lpm { value: number(dst), prefix })];
        bench.add("network_lpm", &route([198, 51, 100, 0], 28), "hop", &hop(N9, 3));
        bench.add("network_lpm", &[], "hop", &hop(N6, 4));
        let one = [("destination", FieldMatch::Exact(number([198, 51, 100, 10])))];
        bench.add("network_exact", &one, "hop", &hop(N6, 5));
        for (host, port, mac) in [(9, N9, 3), (200, N6, 2), (10, N6, 5)] {
            let sent = V4 { dst: [198, 51, 100, host], ..request() };
            let left = bench.expect(N3, &from_gnb(&sent, 1), port);
            assert_eq!((left[5], &left[14..]), (mac, &sent.hop().octets()[..]), "{host}");
        }
        let elsewhere = V4 { dst: [203, 0, 113, 1], ..request() };
        assert_eq!(bench.expect(N3, &from_gnb(&elsewhere, 1), N6)[5], 4);
        bench.expect_drop(N6, &ip(&reply().octets()), "no_egress");
        let to = [hop(N9, 6).as_slice(), &[("address", number(UPF_N9))]].concat();
        bench.add("tunnel_lpm", &route([172, 16, 0, 0], 16), "tunnel_hop", &to);
        let left = bench.expect(N6, &ip(&reply().octets()), N9);
        assert_eq!(left[14..], ours(UPF_N9, [172, 16, 9, 77], 1, (0, 9), 0, &reply().hop().octets()));
    });
}

// Input:  a rule's forwarding data change while packets come: to another gNB, then the rule goes.
// Output: each packet goes as the tables are at that moment.
#[test]
fn changes_hold_from_the_next_packet() {
    for_all("forwarding::changes_hold_from_the_next_packet", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        let keys = [("destination", FieldMatch::Lpm { value: number([198, 51, 100, 0]), prefix: 24 })];
        let hop = |mac: u128| [("port", N6.into()), ("source", 1), ("neighbour", mac)];
        assert_eq!(bench.expect(N3, &from_gnb(&request(), 1), N6)[5], 2);
        let entry = bench.entry("network_lpm", &keys, 0, "hop", &hop(9));
        bench.write(&Update::Modify(entry.clone()));
        assert_eq!(bench.expect(N3, &from_gnb(&request(), 1), N6)[5], 9);
        bench.write(&Update::Delete(entry.key));
        bench.expect_drop(N3, &from_gnb(&request(), 1), "no_egress");
    });
}
