//! Software behind the switch: profiles `hip4-hybrid` and `hip4-hybrid-firewall`.

use causeway_switch::FIRST_SESSION;
use causeway_switch::driver::{EntryKey, FieldMatch, Rates, Update};

use crate::bench::{Bench, exactly, number, packets};
use crate::frames::*;
use crate::profiles::{self, Profile};
use crate::rules::{Rule, RuleAction, TO_N6, to_gnb};
use crate::{N3, N6, N9, SOFTWARE, bmv2};

/// The port of the software that is linked to N6; that of N3 is `SOFTWARE`.
pub(crate) const SOFTWARE_N6: u16 = N9;

/// The longest packets that the switch forwards into a tunnel, and without one.
const INTO_TUNNEL: usize = 1356;
const WITHOUT_TUNNEL: usize = 1300;

/// Tells the story on the model, and again with BMv2 where that is.
fn tell(test: &str, story: impl Fn(&mut Bench)) {
    tell_of(profiles::in_front_of_software(), test, story);
}

fn tell_of(profile: Profile, test: &str, story: impl Fn(&mut Bench)) {
    let mut bench = Bench::new(profile);
    bench.link_software();
    story(&mut bench);
    if !bmv2::is_inside() {
        bmv2::run_inside(test);
    }
}

impl Bench {
    /// Links N3 and N6 to ports of the software, and sets the longest packets.
    pub(crate) fn link_software(&mut self) {
        for (network, software) in [(N3, SOFTWARE), (N6, SOFTWARE_N6)] {
            let at = |port: u16| [("ingress_port", FieldMatch::Exact(port.into()))];
            let session = |port: u16| [("session", u128::from(FIRST_SESSION + port))];
            self.add("software_ports", &at(network), "leave", &session(software));
            self.add("software_ports", &at(software), "pass_through", &session(network));
        }
        for (forward, longest) in [(1_u8, WITHOUT_TUNNEL), (2, INTO_TUNNEL)] {
            let key = [("forward", FieldMatch::Exact(forward.into()))];
            self.add("packet_limits", &key, "limit_to", &[("octets", longest as u128 + 1)]);
        }
    }

    /// The frame leaves by this port as it came, and nothing is dropped.
    pub(crate) fn expect_as_it_came(&mut self, port: u16, frame: &[u8], by: u16) {
        let before = self.drops();
        assert_eq!(self.expect(port, frame, by), frame);
        assert_eq!(self.drops(), before);
    }

    fn arm(&mut self, rule: &Rule, generation: u32, gap: u32) -> EntryKey {
        let key = [("rule", FieldMatch::Exact(rule.id.into()))];
        self.add("armed_rules", &key, "arm", &[("generation", generation.into()), ("gap", gap.into())])
    }
}

/// The packet with so many octets in all.
fn of_octets(packet: V4, octets: usize) -> Vec<u8> {
    V4 { payload: udp((5000, 53), &vec![0; octets - 28]), ..packet }.octets()
}

// Input:  an uplink and a downlink rule; their packets; then frames that the switch has nothing to do with or cannot treat: ARP, another
//         EtherType, signalling, rules that drop, copy or buffer, a mark that the packet cannot carry, unknown tunnels and UEs, last hops, wrong checksums, spoofed sources, extension headers that are unknown, GTPv2,
//         packets that exceed the MTU or have a closed destination, that are answered by the software, or without a route; and frames that are cut short.
// Output: the first two are forwarded and counted; each other one leaves by the linked port octet by octet, uncounted.
#[test]
fn what_the_switch_does_not_forward_leaves_as_it_came() {
    tell("software_ports::what_the_switch_does_not_forward_leaves_as_it_came", |bench| {
        let up = bench.uplink(TEID, 1, 0, TO_N6);
        bench.further_flow(TEID, 2, RuleAction::Drop { reason: "gate_closed", notify: false });
        bench.further_flow(TEID, 3, RuleAction::Decapsulate { dscp: None, notify: true });
        let down = bench.downlink(UE, 0, to_gnb(4));
        bench.downlink([10, 45, 0, 8], 0, RuleAction::Buffer { notify: true });
        let closed = [("destination", exactly(number([198, 51, 100, 33]), 32))];
        bench.add("closed", &closed, "close", &[("reason", 17)]);
        let answered = [("destination", exactly(number([198, 51, 100, 17]), 32))];
        bench.add_at("closed", &answered, 2, "let_pass", &[]);
        assert_eq!(routed(&bench.expect(N3, &from_gnb(&request(), 1), N6)), request().hop().octets());
        bench.expect(N6, &ip(&reply().octets()), N3);
        let counted = [bench.usage(&up), bench.usage(&down)];
        assert_eq!(counted.map(|usage| packets(&usage)), [(1, 1); 2]);

        let user = |change: &dyn Fn(&mut V4)| {
            let mut packet = request();
            change(&mut packet);
            from_gnb(&packet, 1)
        };
        let to = |dst: [u8; 4]| user(&|packet| packet.dst = dst);
        let mut damaged = request().octets();
        damaged[10] ^= 1;
        let whole = from_gnb(&request(), 1);
        let n3 = [
            frame(0x0806, &[7; 28]),
            frame(0x88cc, &[9; 60]),
            to_upf(&gtpu(0x32, 1, 0, &[0, 1, 0, 0], &[])),
            to_upf(&gtpu(0x48, 255, TEID, &[], &request().octets())),
            to_upf(&gtpu(0x34, 255, TEID, &[0, 0, 0, 0xc7, 1, 1, 1, 0], &request().octets())),
            in_tunnel(TEID + 1, 1, &request().octets()),
            in_tunnel(TEID, 1, &damaged),
            in_tunnel(TEID, 1, &[0x70; 40]),
            user(&|packet| packet.ttl = 1),
            user(&|packet| packet.src = [10, 45, 9, 9]),
            to([198, 51, 100, 33]),
            to([198, 51, 100, 17]),
            to([203, 0, 113, 200]),
            from_gnb(&request(), 2),
            from_gnb(&request(), 3),
            ip(&V4 { tos: 3, ..tunnelled(GNB, UPF_N3, TEID, (1, 1), &request().octets()) }.octets()),
            in_tunnel(TEID, 1, &of_octets(request(), WITHOUT_TUNNEL + 1)),
            whole[..40].to_vec(),
            whole[..whole.len() - request().octets().len() + 10].to_vec(),
        ];
        for frame in n3 {
            bench.expect_as_it_came(N3, &frame, SOFTWARE);
        }
        let answer = |change: &dyn Fn(&mut V4)| {
            let mut packet = reply();
            change(&mut packet);
            ip(&packet.octets())
        };
        let n6 = [
            frame(0x0806, &[7; 28]),
            answer(&|packet| packet.dst = [10, 45, 9, 9]),
            answer(&|packet| packet.dst = [10, 45, 0, 8]),
            answer(&|packet| packet.ttl = 1),
            ip(&of_octets(reply(), INTO_TUNNEL + 1)),
            ip(&[0x45; 9]),
        ];
        for frame in n6 {
            bench.expect_as_it_came(N6, &frame, SOFTWARE_N6);
        }
        assert_eq!([bench.usage(&up), bench.usage(&down)], counted);
        // The largest that it forwards.
        bench.expect(N3, &in_tunnel(TEID, 1, &of_octets(request(), WITHOUT_TUNNEL)), N6);
        bench.expect(N6, &ip(&of_octets(reply(), INTO_TUNNEL)), N3);
    });
}

// Input:  frames of the software on both of its ports: what it forwards, ARP, GTP-U, and packets of UEs whose rules the switch has.
// Output: each leaves by the linked port octet by octet, whatever tables say of it.
#[test]
fn frames_of_the_software_pass() {
    tell("software_ports::frames_of_the_software_pass", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        bench.downlink(UE, 0, to_gnb(4));
        for frame in [
            frame(0x0806, &[7; 28]),
            from_gnb(&request(), 1),
            ip(&ours(UPF_N3, GNB, 4, (0, 9), 0, &reply().octets())),
            ip(&reply().octets()),
            ip(&request().octets()),
            ip(&[0x45; 9]),
        ] {
            bench.expect_as_it_came(SOFTWARE, &frame, N3);
            bench.expect_as_it_came(SOFTWARE_N6, &frame, N6);
        }
    });
}

// Input:  an armed rule whose gap never comes, one that needs no gap, and one that is not armed any more; a rate that lets nothing pass.
// Output: packets of the first go to the software, uncounted; of the second the first packet does, and the next is forwarded; of the
//         third all are forwarded. A packet above its rate is dropped by the switch, and counted before enforcement; one for the software is not metered.
#[test]
fn armed_rules_leave_until_there_was_a_gap() {
    tell("software_ports::armed_rules_leave_until_there_was_a_gap", |bench| {
        let rule = bench.uplink(TEID, 1, 0, TO_N6);
        let packet = from_gnb(&request(), 1);
        let key = bench.arm(&rule, 1, u32::MAX / 2);
        for _ in 0..3 {
            bench.expect_as_it_came(N3, &packet, SOFTWARE);
        }
        assert_eq!(packets(&bench.usage(&rule)), (0, 0));
        bench.write(&Update::Delete(key));
        let key = bench.arm(&rule, 2, 0);
        bench.expect_as_it_came(N3, &packet, SOFTWARE);
        bench.expect(N3, &packet, N6);
        bench.write(&Update::Delete(key));
        bench.expect(N3, &packet, N6);
        assert_eq!(packets(&bench.usage(&rule)), (2, 2));

        let metered = bench.uplink(TEID + 1, 1, 5, TO_N6);
        bench.set_meter(5, Rates { committed: 1, committed_burst: 1, peak: 1, peak_burst: 1 });
        let key = bench.arm(&metered, 3, u32::MAX / 2);
        let other = in_tunnel(TEID + 1, 1, &V4 { src: [10, 45, 0, 8], ..request() }.octets());
        bench.expect_as_it_came(N3, &other, SOFTWARE);
        bench.write(&Update::Delete(key));
        bench.expect_drop(N3, &other, "mbr_exceeded");
        assert_eq!(packets(&bench.usage(&metered)), (1, 0));
    });
}

// Input:  a firewall that denies a server both ways, and leaves another one to the software; packets that the switch would forward, would drop for
//         their rate, and would leave to the software for another reason.
// Output: the switch drops those of the former server that it would forward or drop for their rate, each under its direction, uncounted and unmetered;
//         those that it would leave, and those of the latter server, leave as they came.
#[test]
fn the_firewall_drops_what_the_switch_would_forward() {
    let test = "software_ports::the_firewall_drops_what_the_switch_would_forward";
    tell_of(profiles::in_front_with_firewall(), test, |bench| {
        let up = bench.uplink(TEID, 1, 0, TO_N6);
        bench.further_flow(TEID, 2, RuleAction::Drop { reason: "gate_closed", notify: false });
        let down = bench.downlink(UE, 0, to_gnb(4));
        let metered = bench.uplink(TEID + 1, 1, 5, TO_N6);
        bench.set_meter(5, Rates { committed: 1, committed_burst: 1, peak: 1, peak_burst: 1 });
        let (denied, open) = ([198, 51, 100, 66], [198, 51, 100, 67]);
        let other = |end: &'static str, ip: [u8; 4]| [(end, exactly(number(ip), 32))];
        for (table, end) in
            [("firewall_uplink", "destination_address"), ("firewall_downlink", "source_address")]
        {
            bench.add_at(table, &other(end, open), 4, "ask_software", &[]);
            bench.add_at(table, &[("protocol", exactly(132_u8, 8))], 3, "deny", &[]);
            bench.add_at(table, &other(end, denied), 2, "deny", &[]);
            bench.add_at(table, &[], 1, "permit", &[]);
        }
        let to = |dst: [u8; 4]| V4 { dst, ..request() };
        let from = |src: [u8; 4]| V4 { src, ..reply() };
        bench.expect(N3, &from_gnb(&request(), 1), N6);
        bench.expect(N6, &ip(&reply().octets()), N3);
        assert_eq!(bench.expect_drop(N3, &from_gnb(&to(denied), 1), "firewall_uplink"), []);
        assert_eq!(bench.expect_drop(N6, &ip(&from(denied).octets()), "firewall_downlink"), []);
        let sctp = V4 { protocol: 132, ..request() };
        assert_eq!(bench.expect_drop(N3, &from_gnb(&sctp, 1), "firewall_uplink"), []);
        let of_other = |packet: V4| in_tunnel(TEID + 1, 1, &V4 { src: [10, 45, 0, 8], ..packet }.octets());
        bench.expect_drop(N3, &of_other(to(denied)), "firewall_uplink");
        assert_eq!([&up, &down].map(|rule| packets(&bench.usage(rule))), [(1, 1); 2]);
        assert_eq!(packets(&bench.usage(&metered)), (0, 0));
        let leaving = [
            from_gnb(&to(open), 1),
            from_gnb(&V4 { ttl: 1, ..to(denied) }, 1),
            from_gnb(&V4 { src: [10, 45, 9, 9], ..to(denied) }, 1),
            from_gnb(&to(denied), 2),
            in_tunnel(TEID + 2, 1, &to(denied).octets()),
        ];
        for frame in leaving {
            bench.expect_as_it_came(N3, &frame, SOFTWARE);
        }
        bench.expect_as_it_came(N6, &ip(&from(open).octets()), SOFTWARE_N6);
        bench.expect_as_it_came(N6, &ip(&V4 { dst: [10, 45, 9, 9], ..from(denied) }.octets()), SOFTWARE_N6);
        bench.arm(&up, 1, u32::MAX / 2);
        bench.expect_as_it_came(N3, &from_gnb(&to(denied), 1), SOFTWARE);
    });
}
