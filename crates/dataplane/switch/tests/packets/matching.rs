//! Which rule a packet fits.

use crate::bench::{Bench, for_all, number, packets};
use crate::frames::*;
use crate::rules::{Filter, RuleAction, TO_N6, to_gnb, to_tunnel};
use crate::{N3, N6, N9};

const fn marked(dscp: u8) -> RuleAction {
    RuleAction::Decapsulate { dscp: Some(dscp), notify: false }
}

// Input:  two QoS flows in one tunnel, and packets of a third.
// Output: each flow as its own rule says, counted for it; what no rule is for is dropped.
#[test]
fn qos_flows_have_rules_of_their_own() {
    for_all("matching::qos_flows_have_rules_of_their_own", |bench| {
        let first = bench.uplink(TEID, 1, 0, TO_N6);
        let second = bench.further_flow(TEID, 2, marked(34));
        assert_eq!(routed(&bench.expect(N3, &from_gnb(&request(), 1), N6)), request().hop().octets());
        let wanted = V4 { tos: 34 << 2, ..request().hop() };
        assert_eq!(routed(&bench.expect(N3, &from_gnb(&request(), 2), N6)), wanted.octets());
        bench.expect_drop(N3, &from_gnb(&request(), 3), "unknown_teid");
        assert_eq!((packets(&bench.usage(&first)), packets(&bench.usage(&second))), ((1, 1), (1, 1)));
    });
}

// Input:  packets that no rule is for: another QFI, no container, another tunnel, a former one, another UE, in both families.
// Output: none leaves; each is counted under its reason.
#[test]
fn a_miss_is_dropped_under_its_own_reason() {
    for_all("matching::a_miss_is_dropped_under_its_own_reason", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        bench.downlink(UE, 0, to_gnb(1));
        bench.expect_drop(N3, &from_gnb(&request(), 3), "unknown_teid");
        let user = request().octets();
        bench.expect_drop(N3, &to_upf(&gtpu(0x30, 255, TEID, &[], &user)), "unknown_teid");
        for teid in [TEID | 0x0100_0000, TEID | 0xff00_0000, N9_TEID, 0x03_ffff] {
            bench.expect_drop(N3, &in_tunnel(teid, 1, &user), "unknown_teid");
        }
        // The same session's number in another generation or behind other bits, which the guard must let pass for once.
        for former in [TEID ^ 0x4_0000, TEID ^ 0x20_0000, TEID ^ 0x40_0000] {
            bench.add("source_guard", &[("teid", crate::bench::exactly(former, 24))], "pass", &[]);
            bench.expect_drop(N3, &in_tunnel(former, 1, &user), "unknown_teid");
        }
        for unknown in [[10, 45, 0, 8], [10, 46, 0, 7], SERVER] {
            bench.expect_drop(N6, &ip(&V4 { dst: unknown, ..reply() }.octets()), "unknown_ue");
        }
        let mut unknown = UE_IPV6;
        unknown[7] = 8;
        bench.expect_drop(N6, &ip(&v6(SERVER_IPV6, unknown, 64, (53, 5000))), "unknown_ue");
    });
}

/// The rows of `direct` for the intersection of filters; the others need none.
fn intersection(bench: &mut Bench, filter: Filter, action: RuleAction) {
    if bench.profile.name == "direct" && !bench.profile.has_own_filters {
        bench.uplink_filtered((TEID, 1), filter, 90, true, action);
    }
}

// Input:  rules with filters that overlap, before a rule for everything; also one to another UPF among them.
// Output: the first in precedence decides, whatever it asks for; a fragment without ports fits no filter that has one.
#[test]
fn precedence_decides() {
    for_all("matching::precedence_decides", precedence);
}

pub(crate) fn precedence(bench: &mut Bench) {
    let server = Filter { remote: Some(SERVER.into()), ..Filter::default() };
    let dns = Filter { protocol: Some(17), port: Some(53), ..Filter::default() };
    let n9 = to_tunnel(PEER, 7, (1, 3));
    intersection(bench, Filter { remote: Some(SERVER.into()), ..dns }, n9);
    bench.uplink_filtered((TEID, 1), dns, 30, true, n9);
    bench.uplink_filtered((TEID, 1), server, 20, true, marked(10));
    bench.uplink(TEID, 1, 0, TO_N6);
    let to_n9 = ours(UPF_N9, PEER, 7, (1, 3), 0, &request().octets());
    assert_eq!(routed(&bench.expect(N3, &from_gnb(&request(), 1), N9)), to_n9);
    let other_port = V4::udp(UE, SERVER, (5000, 80), b"x");
    let wanted = V4 { tos: 10 << 2, ..other_port.hop() };
    assert_eq!(routed(&bench.expect(N3, &from_gnb(&other_port, 1), N6)), wanted.octets());
    let elsewhere = V4::udp(UE, [198, 51, 100, 200], (5000, 80), b"x");
    assert_eq!(routed(&bench.expect(N3, &from_gnb(&elsewhere, 1), N6)), elsewhere.hop().octets());
    let piece = V4 { fragment: 2, ..V4::udp(UE, [198, 51, 100, 200], (5000, 53), b"x") };
    assert_eq!(routed(&bench.expect(N3, &from_gnb(&piece, 1), N6)), piece.hop().octets());
    let tcp = V4 { protocol: 6, dst: [198, 51, 100, 200], ..request() };
    assert_eq!(routed(&bench.expect(N3, &from_gnb(&tcp, 1), N6)), tcp.hop().octets());
}

// Input:  a session whose rules with filters all lead to one data network, by address, protocol, port and DSCP.
// Output: each packet is marked by the rule that it fits, and counted for it alone.
#[test]
fn filters_tell_packets_apart() {
    for_all("matching::filters_tell_packets_apart", told_apart);
}

pub(crate) fn told_apart(bench: &mut Bench) {
    let [host, tcp, dns, expedited]: [Filter; 4] = [
        Filter { remote: Some([198, 51, 100, 1].into()), ..Filter::default() },
        Filter { protocol: Some(6), ..Filter::default() },
        Filter { protocol: Some(17), port: Some(53), dscp: Some(0), ..Filter::default() },
        Filter { protocol: Some(17), dscp: Some(46), ..Filter::default() },
    ];
    let rules =
        [(host, 40, 1), (tcp, 30, 2), (dns, 20, 3), (expedited, 10, 4)].map(|(filter, priority, dscp)| {
            bench.uplink_filtered((TEID, 1), filter, priority, false, marked(dscp))
        });
    bench.uplink(TEID, 1, 0, marked(5));
    let base = request();
    let cases = [
        (V4 { dst: [198, 51, 100, 1], protocol: 47, ..base.clone() }, 1),
        (V4 { protocol: 6, ..base.clone() }, 2),
        (base.clone(), 3),
        (V4 { tos: 46 << 2, ..base.clone() }, 4),
        (V4 { tos: 46 << 2 | 1, protocol: 1, ..base }, 5),
    ];
    for (sent, dscp) in cases {
        let wanted = V4 { tos: dscp << 2 | sent.tos & 3, ..sent.hop() };
        assert_eq!(routed(&bench.expect(N3, &from_gnb(&sent, 1), N6)), wanted.octets(), "{dscp}");
    }
    for rule in &rules {
        assert_eq!(packets(&bench.usage(rule)), (1, 1));
    }
}

// Input:  a session's filters downlink: a server's port before everything, in QoS flows of their own.
// Output: each packet in the flow of its rule, in the session's one tunnel.
#[test]
fn downlink_filters_choose_the_flow() {
    for_all("matching::downlink_filters_choose_the_flow", flows);
}

pub(crate) fn flows(bench: &mut Bench) {
    let dns = Filter { protocol: Some(17), port: Some(53), ..Filter::default() };
    let filtered = bench.downlink_filtered(number(UE), dns, 20, to_tunnel(GNB, 1, (0, 5)));
    let rest = bench.downlink(UE, 0, to_gnb(1));
    let left = bench.expect(N6, &ip(&reply().octets()), N3);
    assert_eq!(routed(&left), ours(UPF_N3, GNB, 1, (0, 5), 0, &reply().hop().octets()));
    let other = V4::udp(SERVER, UE, (80, 5000), b"x");
    let left = bench.expect(N6, &ip(&other.octets()), N3);
    assert_eq!(routed(&left), to_gnb_tunnel(1, &other.hop().octets()));
    let unknown = V4 { dst: [10, 45, 0, 8], ..reply() };
    bench.expect_drop(N6, &ip(&unknown.octets()), "unknown_ue");
    assert_eq!((packets(&bench.usage(&filtered)), packets(&bench.usage(&rest))), ((1, 1), (1, 1)));
}

// Input:  a UE that sends with another one's address, a server's, or one of another pool, with a rule and without.
// Output: dropped, and not counted as its usage.
#[test]
fn a_borrowed_address_is_refused() {
    for_all("matching::a_borrowed_address_is_refused", |bench| {
        let rule = bench.uplink(TEID, 1, 0, TO_N6);
        for src in [[10, 45, 0, 8], [10, 46, 0, 7], SERVER] {
            bench.expect_drop(N3, &from_gnb(&V4 { src, ..request() }, 1), "spoofed_source");
            bench.expect_drop(N3, &from_gnb(&V4 { src, ..request() }, 2), "spoofed_source");
        }
        let of_neither = v6([7; 16], SERVER_IPV6, 9, (1, 2));
        bench.expect_drop(N3, &in_tunnel(TEID, 1, &of_neither), "spoofed_source");
        bench.expect_drop(N3, &in_tunnel(0x7f_0001, 1, &request().octets()), "spoofed_source");
        assert_eq!(packets(&bench.usage(&rule)), (0, 0));
    });
}

// Input:  forwarding data for ranges of rule numbers, one before the other (`hip4`); a rule whose data are missing.
// Output: the narrower range decides for its rules; without data the packet is dropped as such.
#[test]
fn templates_hold_for_ranges() {
    for_all("matching::templates_hold_for_ranges", |bench| {
        if bench.profile.name != "hip4" {
            return;
        }
        let teids: Vec<u32> = (0..4).map(|ue| TEID + ue).collect();
        for (place, teid) in teids.iter().enumerate() {
            let keys = [("teid", *teid), ("qfi", 1)].map(|(name, value)| (name, exact(value)));
            let data = [("rule", 0x40 + place as u128), ("meter_index", 0)];
            bench.add("ul_to_n6_simple", &keys, "set_rule", &data);
        }
        let send = |bench: &mut Bench, place: u8| {
            let sent = V4 { src: [10, 45, 0, 7 + place], ..request() };
            let frame = in_tunnel(teids[usize::from(place)], 1, &sent.octets());
            bench.expect(N3, &frame, N6)[15] >> 2
        };
        let sent = in_tunnel(teids[0], 1, &request().octets());
        bench.expect_drop(N3, &sent, "no_forwarding");
        let template = |value: u128, mask: u128, dscp: u128| {
            let rule = [("rule", causeway_switch::driver::FieldMatch::Ternary { value, mask })];
            (rule, [("mark", 1), ("dscp", dscp), ("notify", 0)])
        };
        let (rule, data) = template(0x40, 0xff_fffc, 11);
        bench.add_at("ul_to_n6_template", &rule, 1, "decapsulate", &data);
        let (rule, data) = template(0x42, 0xff_ffff, 22);
        bench.add_at("ul_to_n6_template", &rule, 2, "decapsulate", &data);
        let seen: Vec<u8> = (0..4).map(|place| send(bench, place)).collect();
        assert_eq!(seen, [11, 11, 22, 11]);
    });
}

fn exact(value: u32) -> causeway_switch::driver::FieldMatch {
    causeway_switch::driver::FieldMatch::Exact(value.into())
}
