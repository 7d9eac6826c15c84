//! Applications that are told apart for all UEs at once: profile `hip4` built with APPLICATION_DETECTION, on BMv2 alone.

use causeway_switch::driver::FieldMatch::{self, Exact};

use crate::bench::{Bench, Named, exactly, number, packets};
use crate::bmv2;
use crate::frames::*;
use crate::profiles;
use crate::rules::{Rule, RuleAction, TO_N6, to_gnb, to_tunnel};
use crate::{N3, N6};

/// Numbers of applications; 0 is what no row matches.
const OTHER: u8 = 0;
const DNS: u8 = 1;
const SERVICE: u8 = 2;

fn with_bench(test: &str, story: impl Fn(&mut Bench)) {
    if !bmv2::is_inside() {
        return bmv2::run_inside(test);
    }
    story(&mut Bench::new(profiles::applications()));
}

const fn marked(dscp: u8) -> RuleAction {
    RuleAction::Decapsulate { dscp: Some(dscp), notify: false }
}

const fn key(application: u8) -> Named<FieldMatch> {
    ("application", Exact(application as u128))
}

/// PDR: the UE's tunnel, and this application.
fn uplink(bench: &mut Bench, application: u8, action: RuleAction) -> Rule {
    let keys = [("teid", Exact(TEID.into())), ("qfi", Exact(1)), key(application)];
    bench.rule("ul_to_n6_simple", &keys, 1, "ul_to_n6_template", 0, action)
}

/// PDR: the UE's address, and this application.
fn downlink(bench: &mut Bench, application: u8, action: RuleAction) -> Rule {
    let keys = [("ue_address", Exact(number(UE))), key(application)];
    bench.rule("dl_from_n6_simple", &keys, 1, "dl_template", 0, action)
}

/// What an application's packets are known by, in both directions.
fn application(bench: &mut Bench, keys: &[Named<FieldMatch>], priority: i32, application: u8) {
    is_in(bench, ["ul_applications", "dl_applications"], keys, priority, application);
}

fn is_in(bench: &mut Bench, tables: [&str; 2], keys: &[Named<FieldMatch>], priority: i32, application: u8) {
    let keys = [&[("is_user_packet", Exact(1))], keys].concat();
    for table in tables {
        let number = [("application", application.into())];
        bench.add_at(table, &keys, priority, "set_application", &number);
    }
}

/// UDP to or from port 53 of anyone.
fn dns() -> [Named<FieldMatch>; 3] {
    let port = exactly(53_u16, 16);
    [("protocol", exactly(17_u8, 8)), ("remote_port", port), ("has_ports", exactly(1_u8, 1))]
}

/// Everything to or from the server.
fn service() -> [Named<FieldMatch>; 1] {
    [("remote_address", exactly(number(SERVER), 32))]
}

/// A packet of the UE to the server, by these ports.
fn to_server(ports: (u16, u16)) -> V4 {
    V4::udp(UE, SERVER, ports, b"question")
}

/// What comes back.
fn from_server(ports: (u16, u16)) -> V4 {
    V4::udp(SERVER, UE, (ports.1, ports.0), b"answer")
}

/// The DSCP that the UE's packet leaves with, on N6.
fn mark(bench: &mut Bench, packet: &V4) -> u8 {
    let left = bench.expect(N3, &from_gnb(packet, 1), N6);
    let left = routed(&left);
    let dscp = left[1] >> 2;
    assert_eq!(left, V4 { tos: dscp << 2, ..packet.hop() }.octets());
    dscp
}

// Input:  a UE with a rule for what is of no application, where rows of an application are for other packets.
// Output: its packets pass in both directions, and are counted.
#[test]
fn a_simple_rule_is_for_what_is_of_no_application() {
    with_bench("applications::a_simple_rule_is_for_what_is_of_no_application", |bench| {
        application(bench, &dns(), 1, DNS);
        let (up, down) = (uplink(bench, OTHER, TO_N6), downlink(bench, OTHER, to_gnb(1)));
        let sent = to_server((5000, 80));
        assert_eq!(routed(&bench.expect(N3, &from_gnb(&sent, 1), N6)), sent.hop().octets());
        let sent = from_server((5000, 80));
        let left = bench.expect(N6, &ip(&sent.octets()), N3);
        assert_eq!(routed(&left), to_gnb_tunnel(1, &sent.hop().octets()));
        assert_eq!((packets(&bench.usage(&up)), packets(&bench.usage(&down))), ((1, 1), (1, 1)));
    });
}

// Input:  a UE with rules for one application and for the rest, in both directions; the application's port is the other end's.
// Output: each packet as the rule of its application says, counted for that alone; the UE's own port is no application's.
#[test]
fn rules_tell_applications_apart_in_both_directions() {
    with_bench("applications::rules_tell_applications_apart_in_both_directions", |bench| {
        application(bench, &dns(), 1, DNS);
        let up = [uplink(bench, OTHER, TO_N6), uplink(bench, DNS, marked(34))];
        let of_flow = |qfi| to_tunnel(GNB, 1, (0, qfi));
        let down = [downlink(bench, OTHER, of_flow(9)), downlink(bench, DNS, of_flow(5))];
        for (ports, dscp, qfi) in [((5000, 53), 34, 5), ((5000, 80), 0, 9), ((53, 80), 0, 9)] {
            assert_eq!(mark(bench, &to_server(ports)), dscp, "{ports:?}");
            let sent = from_server(ports);
            let left = bench.expect(N6, &ip(&sent.octets()), N3);
            let wanted = ours(UPF_N3, GNB, 1, (0, qfi), 0, &sent.hop().octets());
            assert_eq!(routed(&left), wanted, "{ports:?}");
        }
        for rules in [up, down] {
            assert_eq!(rules.map(|rule| packets(&bench.usage(&rule))), [(2, 2), (1, 1)]);
        }
    });
}

/// Rows that a packet may fit both, in these priorities, and what its DSCP is then.
fn precedence(bench: &mut Bench, [dns_first, service_first]: [i32; 2], dscp: u8) {
    application(bench, &dns(), dns_first, DNS);
    application(bench, &service(), service_first, SERVICE);
    for (number, action) in [(DNS, marked(10)), (SERVICE, marked(20)), (OTHER, marked(30))] {
        uplink(bench, number, action);
    }
    assert_eq!(mark(bench, &to_server((5000, 53))), dscp);
    assert_eq!(mark(bench, &to_server((5000, 80))), 20);
    let elsewhere = |port| V4 { dst: [198, 51, 100, 200], ..to_server((5000, port)) };
    assert_eq!((mark(bench, &elsewhere(53)), mark(bench, &elsewhere(80))), (10, 30));
    let piece = |packet| V4 { fragment: 2, ..packet };
    assert_eq!(mark(bench, &piece(to_server((5000, 53)))), 20);
    assert_eq!(mark(bench, &piece(elsewhere(53))), 30);
}

// Input:  two applications that a packet may fit both, that of the port before that of the server.
// Output: the port's decides; a packet without ports fits no row that has one.
#[test]
fn the_row_that_comes_first_decides() {
    with_bench("applications::the_row_that_comes_first_decides", |bench| precedence(bench, [2, 1], 10));
}

// Input:  the same rows, the other way round, though written in the same order.
// Output: the server's decides.
#[test]
fn it_is_the_priority_that_puts_rows_first() {
    with_bench("applications::it_is_the_priority_that_puts_rows_first", |bench| {
        precedence(bench, [1, 2], 20);
    });
}

// Input:  a UE with a rule for one application alone, and packets of another one and of none, in both directions.
// Output: they are dropped as unknown; the rule's own packet passes.
#[test]
fn what_has_no_rule_for_its_application_is_dropped() {
    with_bench("applications::what_has_no_rule_for_its_application_is_dropped", |bench| {
        application(bench, &dns(), 2, DNS);
        application(bench, &service(), 1, SERVICE);
        let (up, down) = (uplink(bench, DNS, TO_N6), downlink(bench, DNS, to_gnb(1)));
        let unknown = [198, 51, 100, 200];
        for (packet, answer) in [
            (to_server((5000, 80)), from_server((5000, 80))),
            (V4 { dst: unknown, ..to_server((5000, 80)) }, V4 { src: unknown, ..from_server((5000, 80)) }),
        ] {
            bench.expect_drop(N3, &from_gnb(&packet, 1), "unknown_teid");
            bench.expect_drop(N6, &ip(&answer.octets()), "unknown_ue");
        }
        assert_eq!(mark(bench, &to_server((5000, 53))), 0);
        bench.expect(N6, &ip(&from_server((5000, 53)).octets()), N3);
        assert_eq!((packets(&bench.usage(&up)), packets(&bench.usage(&down))), ((1, 1), (1, 1)));
    });
}

// Input:  the same by IPv6: an application of a server's port, a rule for it and one for the rest, in both directions.
// Output: uplink DNS alone is marked, downlink it is in a QoS flow of its own; another UE's packets are dropped.
#[test]
fn applications_over_ipv6() {
    with_bench("applications::applications_over_ipv6", |bench| {
        is_in(bench, ["ul_applications_ipv6", "dl_applications_ipv6"], &dns(), 1, DNS);
        uplink(bench, OTHER, TO_N6);
        uplink(bench, DNS, marked(34));
        let prefix = u128::from_be_bytes(UE_IPV6) >> 64;
        for (number, qfi) in [(OTHER, 9), (DNS, 5)] {
            let keys = [("ue_prefix", Exact(prefix)), key(number)];
            let action = to_tunnel(GNB, 1, (0, qfi));
            bench.rule("dl_from_n6_simple_ipv6", &keys, 1, "dl_template", 0, action);
        }
        for (port, dscp, qfi) in [(53, 34, 5), (80, 0, 9)] {
            let sent = |hops| v6(UE_IPV6, SERVER_IPV6, hops, (5000, port));
            let left = bench.expect(N3, &in_tunnel(TEID, 1, &sent(9)), N6);
            assert_eq!(routed(&left), with_class(sent(8), dscp << 2));
            let answer = |hops| v6(SERVER_IPV6, UE_IPV6, hops, (port, 5000));
            let left = bench.expect(N6, &ip(&answer(9)), N3);
            assert_eq!(routed(&left), ours(UPF_N3, GNB, 1, (0, qfi), 0, &answer(8)));
        }
        let mut unknown = UE_IPV6;
        unknown[7] = 8;
        bench.expect_drop(N6, &ip(&v6(SERVER_IPV6, unknown, 64, (53, 5000))), "unknown_ue");
    });
}
