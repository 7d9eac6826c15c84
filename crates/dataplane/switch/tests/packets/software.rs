//! A software data plane behind the switch: profile `hip4` with SOFTWARE_PORT, on the model and on BMv2.

use causeway_switch::driver::{EntryKey, FieldMatch, Rates, Update};

use crate::bench::{Bench, exactly, number, packets};
use crate::frames::*;
use crate::rules::{Rule, RuleAction, TO_N6, to_gnb};
use crate::{N3, N6, SOFTWARE, bmv2, profiles};

/// The largest IP packet with a tunnel, and without, in octets.
pub(crate) const TUNNEL_MTU: u32 = 1500;
pub(crate) const NETWORK_MTU: u32 = 1400;

/// Octets of a tunnel around a packet.
const TUNNEL: u32 = 44;

/// What `forward` is of a packet to a data network, and of one that gets a tunnel.
const DECAPSULATE: u128 = 1;
const ENCAPSULATE: u128 = 2;

impl Bench {
    /// The switch in front of software, whose row for the longest packets the model has by itself.
    fn in_front() -> Self {
        let mut bench = Self::new(profiles::with_software());
        for (forward, most) in [(DECAPSULATE, NETWORK_MTU), (ENCAPSULATE, TUNNEL_MTU - TUNNEL)] {
            let keys = [("forward", FieldMatch::Exact(forward))];
            bench.add("packet_limits", &keys, "limit_to", &[("octets", u128::from(most) + 1)]);
        }
        bench
    }

    /// Arms a rule, with a gap in units of 256 ns.
    fn arm(&mut self, rule: &Rule, generation: u128, gap: u128) -> EntryKey {
        let keys = [("rule", FieldMatch::Exact(rule.id.into()))];
        self.add("armed_rules", &keys, "arm", &[("generation", generation), ("gap", gap)])
    }

    /// The frame goes to the software as it came.
    fn expect_as_it_came(&mut self, port: u16, frame: &[u8], what: &str) {
        assert_eq!(self.send(port, frame), [(SOFTWARE, frame.to_vec())], "{what}");
    }
}

fn tells(test: &str, story: impl FnOnce(&mut Bench)) {
    if bmv2::is_inside() {
        story(&mut Bench::in_front());
    } else {
        bmv2::run_inside(test);
    }
}

// Input:  packets of a rule before it is armed, armed with a gap of minutes, armed anew with one of 256 ns, and when it is no longer armed; those of
//         another rule between.
// Output: armed, they go to the software as they came and are not counted, until there was the gap. The other rule is not concerned.
#[test]
fn packets_of_an_armed_rule_go_to_the_software_until_there_is_a_gap() {
    tells("software::packets_of_an_armed_rule_go_to_the_software_until_there_is_a_gap", |bench| {
        let up = bench.uplink(TEID, 1, 0, TO_N6);
        bench.downlink(UE, 0, to_gnb(4));
        let frame = from_gnb(&request(), 1);
        assert_eq!(routed(&bench.expect(N3, &frame, N6)), request().hop().octets());

        let armed = bench.arm(&up, 1, 1 << 30);
        for _ in 0..3 {
            bench.expect_as_it_came(N3, &frame, "armed");
            bench.expect(N6, &ip(&reply().octets()), N3);
        }
        assert_eq!(packets(&bench.usage(&up)), (1, 1));
        bench.write(&Update::Delete(armed));

        let armed = bench.arm(&up, 2, 1);
        bench.expect_as_it_came(N3, &frame, "armed anew");
        for _ in 0..2 {
            bench.expect(N3, &frame, N6);
        }
        bench.write(&Update::Delete(armed));
        bench.expect(N3, &frame, N6);
        assert_eq!(packets(&bench.usage(&up)), (4, 4));
    });
}

// Input:  packets without a rule, with a foreign source, of rules that drop, buffer or copy, at their last hop, one octet too long in both
//         directions, with a wrong checksum, with a mark that they cannot carry, to a closed address and to one without a route; a message, ARP, and
//         a frame that ends early. Then packets as long as may be.
// Output: each goes to the software as it came, nothing is counted or dropped. The long ones are forwarded.
#[test]
fn what_the_switch_does_not_forward_goes_to_the_software() {
    tells("software::what_the_switch_does_not_forward_goes_to_the_software", |bench| {
        let up = bench.uplink(TEID, 1, 0, TO_N6);
        bench.further_flow(TEID, 2, RuleAction::Drop { reason: "gate_closed", notify: false });
        bench.further_flow(TEID, 3, RuleAction::Decapsulate { dscp: None, notify: true });
        let down = bench.downlink(UE, 0, to_gnb(4));
        let asleep = [10, 45, 0, 8];
        bench.downlink(asleep, 0, RuleAction::Buffer { notify: true });
        let closed = [198, 51, 100, 17];
        let closes = [("destination", exactly(number(closed), 32))];
        bench.add("closed", &closes, "close", &[("reason", 17)]);

        let long = |packet: V4, octets: u32| {
            let data = vec![7; octets as usize - 28];
            V4 { payload: udp((5000, 6000), &data), ..packet }
        };
        let mut wrong = request().octets();
        wrong[10] ^= 1;
        let marked = V4 { tos: 3, ..tunnelled(GNB, UPF_N3, TEID, (1, 1), &request().octets()) };
        let mut early = from_gnb(&request(), 1);
        early.truncate(14 + 20 + 8 + 8 + 8 + 12);
        let uplink = [
            ("an unknown tunnel", in_tunnel(TEID + 9, 1, &V4 { src: [10, 45, 0, 16], ..request() }.octets())),
            ("a foreign source", from_gnb(&V4 { src: [10, 45, 0, 9], ..request() }, 1)),
            ("a closed gate", from_gnb(&request(), 2)),
            ("a copy", from_gnb(&request(), 3)),
            ("the last hop", from_gnb(&V4 { ttl: 1, ..request() }, 1)),
            ("too long", from_gnb(&long(request(), NETWORK_MTU + 1), 1)),
            ("a wrong checksum", in_tunnel(TEID, 1, &wrong)),
            ("a mark", ip(&marked.octets())),
            ("a closed address", from_gnb(&V4 { dst: closed, ..request() }, 1)),
            ("no route", from_gnb(&V4 { dst: [203, 0, 113, 1], ..request() }, 1)),
            ("an Echo Request", to_upf(&gtpu(0x32, 1, 0, &[0, 7, 0, 0], &[]))),
            ("ARP", frame(0x0806, &[9; 28])),
            ("a short frame", early),
        ];
        for (what, frame) in uplink {
            bench.expect_as_it_came(N3, &frame, what);
        }
        let downlink = [
            ("an unknown UE", V4 { dst: [10, 45, 0, 99], ..reply() }),
            ("a UE that is asleep", V4 { dst: asleep, ..reply() }),
            ("the last hop, downlink", V4 { ttl: 1, ..reply() }),
            ("too long, downlink", long(reply(), TUNNEL_MTU - TUNNEL + 1)),
        ];
        for (what, packet) in downlink {
            bench.expect_as_it_came(N6, &ip(&packet.octets()), what);
        }
        assert_eq!([&up, &down].map(|rule| packets(&bench.usage(rule))), [(0, 0); 2]);
        assert!(bench.drops().is_empty(), "{:?}", bench.drops());

        bench.expect(N3, &from_gnb(&long(request(), NETWORK_MTU), 1), N6);
        bench.expect(N6, &ip(&long(reply(), TUNNEL_MTU - TUNNEL).octets()), N3);
        assert_eq!([&up, &down].map(|rule| packets(&bench.usage(rule))), [(1, 1); 2]);
    });
}

// Input:  a rule with a meter that has room for one frame; packets of it while it is armed, then until the meter is empty.
// Output: what goes to the software takes no tokens. The switch drops what is above the rate, and counts that before QoS enforcement.
#[test]
fn the_switch_drops_what_is_above_a_rate() {
    tells("software::the_switch_drops_what_is_above_a_rate", |bench| {
        let up = bench.uplink(TEID, 1, 5, TO_N6);
        let frame = from_gnb(&request(), 1);
        let room = frame.len() as u64 + 20;
        let rates = Rates { committed: 1, committed_burst: room, peak: 1, peak_burst: room };
        bench.set_meter(5, rates);
        let armed = bench.arm(&up, 1, 1 << 30);
        for _ in 0..4 {
            bench.expect_as_it_came(N3, &frame, "armed");
        }
        bench.write(&Update::Delete(armed));
        bench.expect(N3, &frame, N6);
        bench.expect_drop(N3, &frame, "mbr_exceeded");
        assert_eq!(packets(&bench.usage(&up)), (2, 1));
    });
}
