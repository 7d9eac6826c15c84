//! Meters, queues, marks, and what is counted on both sides of them.

use causeway_switch::driver::{FieldMatch, Rates, Update};

use crate::bench::{Bench, for_all, packets};
use crate::frames::*;
use crate::rules::{RuleAction, TO_N6, to_gnb};
use crate::{CPU, N3, N6, N9};

/// A meter that fills by an octet in a second at most, so that its buckets are what counts.
const fn rates(committed_burst: u64, peak_burst: u64) -> Rates {
    Rates { committed: 1, committed_burst, peak: 1, peak_burst }
}

/// Octets of the UE's request in its tunnel, as a frame.
fn octets_sent() -> u64 {
    from_gnb(&request(), 9).len() as u64
}

// Input:  a meter with room for one frame in green and two in all, and queues for QFI 9 by colour.
// Output: green and yellow leave, each by its queue; red is dropped after it was counted before QoS enforcement.
#[test]
fn colours_have_queues_and_an_end() {
    for_all("qos::colours_have_queues_and_an_end", |bench| {
        let rule = bench.uplink(TEID, 9, 5, TO_N6);
        bench.set_meter(5, rates(octets_sent() + 20, 2 * octets_sent() + 20));
        bench.set_queue(0, 9, 17);
        bench.set_queue(1, 9, 3);
        for _ in 0..2 {
            bench.expect(N3, &from_gnb(&request(), 9), N6);
        }
        bench.expect_drop(N3, &from_gnb(&request(), 9), "mbr_exceeded");
        assert_eq!((bench.packets("queue_packets", 17), bench.packets("queue_packets", 3)), (1, 1));
        assert_eq!(packets(&bench.usage(&rule)), (3, 2), "{}", bench.profile.name);
    });
}

// Input:  two rules with a meter each, one of them empty, and a rule without; a downlink rule with the first one's.
// Output: each packet is measured by its rule's meter; what has none is not.
#[test]
fn each_rule_has_its_meter() {
    for_all("qos::each_rule_has_its_meter", |bench| {
        bench.set_meter(1, rates(1, 1));
        bench.set_meter(2, rates(5000, 5000));
        let deeds = [(TEID, 1), (TEID + 1, 2), (TEID + 2, 0)];
        deeds.into_iter().for_each(|(teid, meter)| drop(bench.uplink(teid, 1, meter, TO_N6)));
        bench.downlink(UE, 1, to_gnb(1));
        let send = |place: u8| {
            let sent = V4 { src: [10, 45, 0, 7 + place], ..request() };
            in_tunnel(TEID + u32::from(place), 1, &sent.octets())
        };
        bench.expect_drop(N3, &send(0), "mbr_exceeded");
        bench.expect(N3, &send(1), N6);
        bench.expect(N3, &send(2), N6);
        bench.expect_drop(N6, &ip(&reply().octets()), "mbr_exceeded");
    });
}

// Input:  a session whose first rule has an empty meter, and a rule of another flow that drops.
// Output: what drops the packet is the rule: no meter is asked, nor one of the session's.
#[test]
fn rules_that_drop_have_no_meter() {
    for_all("qos::rules_that_drop_have_no_meter", |bench| {
        bench.set_meter(5, rates(1, 1));
        bench.uplink(TEID, 1, 5, TO_N6);
        bench.further_flow(TEID, 2, RuleAction::Drop { reason: "gate_closed", notify: false });
        bench.expect_drop(N3, &from_gnb(&request(), 1), "mbr_exceeded");
        bench.expect_drop(N3, &from_gnb(&request(), 2), "gate_closed");
    });
}

// Input:  queues for each of the 32 numbers, by the QFI of the tunnel that a packet leaves in or, towards N6, came in.
// Output: each packet is counted for its queue; a QFI without a row takes queue 0.
#[test]
fn all_queues_are_reached() {
    for_all("qos::all_queues_are_reached", |bench| {
        (1..32).for_each(|queue| bench.set_queue(0, queue + 1, queue));
        bench.uplink(TEID, 1, 0, TO_N6);
        (2..=33).for_each(|qfi| drop(bench.further_flow(TEID, qfi, TO_N6)));
        for qfi in 1..=33 {
            bench.expect(N3, &from_gnb(&request(), qfi), N6);
        }
        let counted: Vec<u64> = (0..32).map(|queue| bench.packets("queue_packets", queue)).collect();
        assert_eq!(counted, [&[2][..], &[1; 31]].concat(), "{}", bench.profile.name);
        bench.downlink(UE, 0, to_gnb(1));
        bench.expect(N6, &ip(&reply().octets()), N3);
        assert_eq!(bench.packets("queue_packets", 8), 2, "QFI 9");
    });
}

// Input:  DSCP of the user packet set on the way to N6, with and without, whatever stands in the field, in both families.
// Output: the mark, and the congestion bits as they were; without one nothing changes.
#[test]
fn dscp_is_marked() {
    for_all("qos::dscp_is_marked", |bench| {
        bench.uplink(TEID, 1, 0, RuleAction::Decapsulate { dscp: Some(0), notify: false });
        bench.further_flow(TEID, 2, RuleAction::Decapsulate { dscp: Some(63), notify: false });
        bench.further_flow(TEID, 3, TO_N6);
        for (qfi, dscp) in [(1, Some(0)), (2, Some(63)), (3, None)] {
            for tos in [0, 0xb9, 0xff] {
                let marked = dscp.map_or(tos, |dscp: u8| dscp << 2 | tos & 3);
                let sent = V4 { tos, ..request() };
                let wanted = V4 { tos: marked, ..sent.hop() };
                let left = bench.expect(N3, &from_gnb(&sent, qfi), N6);
                assert_eq!(routed(&left), wanted.octets(), "QFI {qfi}, {tos:#x}");
                let of = |hops, class| with_class(v6(UE_IPV6, SERVER_IPV6, hops, (1, 2)), class);
                let left = bench.expect(N3, &in_tunnel(TEID, qfi, &of(64, tos)), N6);
                assert_eq!(routed(&left), of(63, marked), "QFI {qfi}, {tos:#x}");
            }
        }
    });
}

// Input:  congestion marks in the outer header, all four, around all four in the user packet.
// Output: RFC 6040 clause 4.2: carried on where the user packet can, else dropped.
#[test]
fn congestion_is_carried_on() {
    for_all("qos::congestion_is_carried_on", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        let wanted = [[0, 1, 2, 3], [0, 1, 1, 3], [0, 1, 2, 3], [9, 3, 3, 3]];
        for (outer, row) in wanted.into_iter().enumerate() {
            for (inner, carried) in row.into_iter().enumerate() {
                let (outer, inner) = (outer as u8, inner as u8);
                let sent = V4 { tos: inner, ..request() };
                let around = |packet: &[u8]| {
                    ip(&V4 { tos: outer, ..tunnelled(GNB, UPF_N3, TEID, (1, 1), packet) }.octets())
                };
                let of = |hops, class| with_class(v6(UE_IPV6, SERVER_IPV6, hops, (1, 2)), class);
                if carried == 9 {
                    bench.expect_drop(N3, &around(&sent.octets()), "congested");
                    bench.expect_drop(N3, &around(&of(64, inner)), "congested");
                    continue;
                }
                let left = bench.expect(N3, &around(&sent.octets()), N6);
                assert_eq!(routed(&left), V4 { tos: carried, ..sent.hop() }.octets(), "{outer} {inner}");
                let left = bench.expect(N3, &around(&of(64, inner)), N6);
                assert_eq!(routed(&left), of(63, carried), "{outer} {inner}");
            }
        }
    });
}

// Input:  a rule's accounting entry moves from one partition to the other between packets.
// Output: each packet is counted in the one where the entry is; both together say what was.
#[test]
fn partitions_take_turns() {
    for_all("qos::partitions_take_turns", |bench| {
        if bench.profile.name == "direct" {
            return;
        }
        let rule = bench.uplink(TEID, 1, 0, TO_N6).id;
        let keys = [("rule", FieldMatch::Exact(rule.into()))];
        let (mine, other) = if rule.is_multiple_of(2) { ("a", "b") } else { ("b", "a") };
        bench.expect(N3, &from_gnb(&request(), 1), N6);
        let old = bench.entry(&format!("pre_qos_{mine}"), &keys, 0, &format!("count_pre_{mine}"), &[]).key;
        assert_eq!(bench.direct(&old).packets, 1);
        bench.write(&Update::Delete(old));
        let new = bench.add(&format!("pre_qos_{other}"), &keys, &format!("count_pre_{other}"), &[]);
        for _ in 0..2 {
            bench.expect(N3, &from_gnb(&request(), 1), N6);
        }
        let counted = bench.direct(&new);
        assert_eq!((counted.octets, counted.packets), (2 * from_gnb(&request(), 1).len() as u64, 2));
    });
}

// Input:  five frames of the controller in queue 0, then one in queue 31, to a port that sends a packet a second from each.
// Output: BMv2: the one of the higher queue does not wait for all the others.
#[test]
fn a_higher_queue_does_not_wait() {
    for_all("qos::a_higher_queue_does_not_wait", |bench: &mut Bench| {
        let Some(bmv2) = bench.bmv2() else { return };
        bmv2.runtime.set_queue_rate(N9, 1);
        let waiting = command(3, N9, 0, &request().octets());
        let urgent = command(3, N9, 31, &reply().octets());
        (0..5).for_each(|_| bmv2.put(CPU, &waiting));
        bmv2.put(CPU, &urgent);
        let before = (0..5).take_while(|_| bmv2.next().1[14..] != reply().octets()).count();
        assert!(before < 5, "{}", bench.profile.name);
    });
}
