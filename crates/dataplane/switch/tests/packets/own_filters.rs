//! Filters of one session each: profile `direct` built with FILTERS_PER_SESSION, on BMv2 alone.

use crate::bench::{Bench, number, packets};
use crate::frames::*;
use crate::rules::{Filter, RuleAction, TO_N6, to_gnb, to_tunnel};
use crate::{N3, N6};
use crate::{bmv2, matching, profiles};

/// As far from the first session as its rows are in the same partition.
const SAME_PARTITION: u32 = 1 << 12;

fn with_bench(test: &str, story: impl Fn(&mut Bench)) {
    if !bmv2::is_inside() {
        return bmv2::run_inside(test);
    }
    story(&mut Bench::new(profiles::own_filters()));
}

fn dns() -> Filter {
    Filter { protocol: Some(17), port: Some(53), ..Filter::default() }
}

// Input:  as for all profiles: filters that overlap, one of a rule to another UPF, and packets that fit several, one, or none.
// Output: the first in precedence decides, though no row is for what two filters have in common.
#[test]
fn precedence_decides() {
    with_bench("own_filters::precedence_decides", matching::precedence);
}

// Input:  as for all profiles: rules by address, protocol, port and DSCP that all lead to one data network.
// Output: each packet is marked by the rule that it fits, and counted for it alone.
#[test]
fn filters_tell_packets_apart() {
    with_bench("own_filters::filters_tell_packets_apart", matching::told_apart);
}

// Input:  as for all profiles: a server's port downlink, before everything, in QoS flows of their own; a UE without rules.
// Output: each packet in the flow of its rule; that of an unknown source is dropped.
#[test]
fn downlink_filters_choose_the_flow() {
    with_bench("own_filters::downlink_filters_choose_the_flow", matching::flows);
}

// Input:  two sessions whose rows stand in one partition, with the same filter in both directions and different rules.
// Output: each session's packets as its own row says, counted for that alone.
#[test]
fn sessions_of_a_partition_have_rows_of_their_own() {
    with_bench("own_filters::sessions_of_a_partition_have_rows_of_their_own", |bench| {
        let ues = [(TEID, UE), (TEID + SAME_PARTITION, [10, 45, 16, 7])];
        let rules = ues.map(|(teid, ue)| {
            let is_first = teid == TEID;
            let action =
                RuleAction::Decapsulate { dscp: Some(if is_first { 10 } else { 20 }), notify: false };
            let up = bench.uplink_filtered((teid, 1), dns(), 20, false, action);
            let flow = to_tunnel(GNB, teid, (0, if is_first { 5 } else { 6 }));
            let down = bench.downlink_filtered(number(ue), dns(), 20, flow);
            (up, down)
        });
        for ((teid, ue), dscp, qfi) in [(ues[0], 10, 5), (ues[1], 20, 6), (ues[1], 20, 6)] {
            let sent = V4 { src: ue, ..request() };
            let left = bench.expect(N3, &in_tunnel(teid, 1, &sent.octets()), N6);
            assert_eq!(routed(&left), V4 { tos: dscp << 2, ..sent.hop() }.octets());
            let sent = V4 { dst: ue, ..reply() };
            let left = bench.expect(N6, &ip(&sent.octets()), N3);
            assert_eq!(routed(&left), ours(UPF_N3, GNB, teid, (0, qfi), 0, &sent.hop().octets()));
        }
        for ((up, down), times) in rules.iter().zip([1, 2]) {
            assert_eq!(
                (packets(&bench.usage(up)), packets(&bench.usage(down))),
                ((times, times), (times, times))
            );
        }
    });
}

// Input:  a session with rules for one port alone; another port's packets, both ways; then rules for everything; then IPv6.
// Output: no packet without a rule leaves; then each as the session's simple rules say, in both families.
#[test]
fn what_fits_no_filter_takes_the_simple_rule() {
    with_bench("own_filters::what_fits_no_filter_takes_the_simple_rule", |bench| {
        bench.uplink_filtered((TEID, 1), dns(), 20, false, TO_N6);
        bench.downlink_filtered(number(UE), dns(), 20, to_gnb(1));
        let (up, down) = (V4::udp(UE, SERVER, (5000, 80), b"x"), V4::udp(SERVER, UE, (80, 5000), b"x"));
        bench.expect_drop(N3, &from_gnb(&up, 1), "unknown_teid");
        bench.expect_drop(N6, &ip(&down.octets()), "unknown_ue");
        bench.uplink(TEID, 1, 0, TO_N6);
        bench.downlink(UE, 0, to_gnb(1));
        assert_eq!(routed(&bench.expect(N3, &from_gnb(&up, 1), N6)), up.hop().octets());
        let left = bench.expect(N6, &ip(&down.octets()), N3);
        assert_eq!(routed(&left), to_gnb_tunnel(1, &down.hop().octets()));
        let six = v6(UE_IPV6, SERVER_IPV6, 9, (5000, 53));
        let left = bench.expect(N3, &in_tunnel(TEID, 1, &six), N6);
        assert_eq!(routed(&left), v6(UE_IPV6, SERVER_IPV6, 8, (5000, 53)));
    });
}
