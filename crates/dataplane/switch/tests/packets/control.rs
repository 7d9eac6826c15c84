//! The CPU port and the software UPF's.

use causeway_switch::driver::Update;

use crate::bench::{for_all, packets};
use crate::frames::*;
use crate::rules::{RuleAction, TO_N6, to_gnb};
use crate::{CPU, N3, N6, N9, SOFTWARE};

/// What the header of a frame with an IPv4 packet says.
const fn pushed(code: u8, flags: u8, port: u16, rule: u32, rest: &[u8]) -> Said<'_> {
    Said { code, flags, port, rule, ether_type: 0x0800, rest }
}

// Input:  a packet for an idle UE, from N6 and from another UPF.
// Output: the packet without a tunnel on the software UPF's port, and a copy as it came for the controller, both with the rule.
#[test]
fn packets_are_buffered() {
    for_all("control::packets_are_buffered", |bench| {
        let rule = bench.downlink(UE, 0, RuleAction::Buffer { notify: true }).id;
        let user = reply().octets();
        let left = bench.send(N6, &ip(&user));
        let [(SOFTWARE, kept), (CPU, copy)] = &left[..] else { panic!("{left:02x?}") };
        assert_eq!(said(kept), pushed(2, 0, N6, rule, &user));
        assert_eq!(said(copy), pushed(1, 1, N6, rule, &user));

        let rule = bench.downlink_from_n9(N9_TEID, 5, 0, RuleAction::Buffer { notify: true }).id;
        let tunnel = tunnelled(PEER, UPF_N9, N9_TEID, (0, 5), &user).octets();
        let left = bench.send(N9, &ip(&tunnel));
        let [(SOFTWARE, kept), (CPU, copy)] = &left[..] else { panic!("{left:02x?}") };
        assert_eq!(said(kept), pushed(2, 0, N9, rule, &user));
        assert_eq!(said(copy), pushed(1, 1, N9, rule, &tunnel));
    });
}

// Input:  the software UPF's packets come back once there is a tunnel, one of them in the tunnel of another UPF.
// Output: each in the tunnel to the gNB, counted once.
#[test]
fn buffered_packets_are_released() {
    for_all("control::buffered_packets_are_released", |bench| {
        let rule = bench.downlink(UE, 0, to_gnb(1));
        let left = bench.expect(CPU, &command(1, 0, 0, &reply().octets()), N3);
        assert_eq!(routed(&left), to_gnb_tunnel(1, &reply().hop().octets()));
        assert_eq!(packets(&bench.usage(&rule)), (1, 1));
        let rule = bench.downlink_from_n9(N9_TEID, 5, 0, to_gnb(2));
        let tunnel = tunnelled(PEER, UPF_N9, N9_TEID, (0, 5), &reply().octets()).octets();
        let left = bench.expect(CPU, &command(1, 0, 0, &tunnel), N3);
        assert_eq!(routed(&left), to_gnb_tunnel(2, &reply().octets()));
        assert_eq!(packets(&bench.usage(&rule)), (1, 1));
    });
}

// Input:  rules that forward, drop or close a gate, and ask for notifications; also of packets that the controller sends.
// Output: a copy with the rule; it is the frame as it came, in whatever way the original goes.
#[test]
fn copies_name_the_rule() {
    for_all("control::copies_name_the_rule", |bench| {
        let up = bench.uplink(TEID, 1, 0, RuleAction::Decapsulate { dscp: Some(8), notify: true }).id;
        let left = bench.send(N3, &from_gnb(&request(), 1));
        let [(N6, user), (CPU, copy)] = &left[..] else { panic!("{left:02x?}") };
        assert_eq!(routed(user), V4 { tos: 32, ..request().hop() }.octets());
        let tunnel = tunnelled(GNB, UPF_N3, TEID, (1, 1), &request().octets()).octets();
        assert_eq!(said(copy), pushed(1, 1, N3, up, &tunnel));

        let down = bench.downlink(UE, 0, RuleAction::Drop { reason: "gate_closed", notify: true }).id;
        let left = bench.expect_drop(N6, &ip(&reply().octets()), "gate_closed");
        let [(CPU, copy)] = &left[..] else { panic!("{left:02x?}") };
        assert_eq!(said(copy), pushed(1, 1, N6, down, &reply().octets()));
        let left = bench.expect_drop(CPU, &command(1, 0, 0, &reply().octets()), "gate_closed");
        let [(CPU, copy)] = &left[..] else { panic!("{left:02x?}") };
        assert_eq!(said(copy), pushed(1, 1, CPU, down, &reply().octets()));
    });
}

// Input:  rules that close the gate in both directions and want copies; packets for them in frames of the controller, with commands that
//         have no meaning, and to be processed, routed and sent.
// Output: what has no meaning is dropped as that, without a copy, whatever the rules say; only what is to be processed has a rule, and
//         that says the reason. The others go their way.
#[test]
fn commands_stand_before_rules() {
    for_all("control::commands_stand_before_rules", |bench| {
        let shut = RuleAction::Drop { reason: "gate_closed", notify: true };
        let (up, down) = (bench.uplink(TEID, 1, 0, shut).id, bench.downlink(UE, 0, shut).id);
        let tunnel = tunnelled(GNB, UPF_N3, TEID, (1, 1), &request().octets()).octets();
        for (packet, rule) in [(&tunnel, up), (&reply().octets(), down)] {
            for code in [0, 4, 255] {
                let left = bench.expect_drop(CPU, &command(code, N9, 5, packet), "bad_command");
                assert!(left.is_empty(), "{left:02x?}");
            }
            let left = bench.expect_drop(CPU, &command(1, 0, 0, packet), "gate_closed");
            let [(CPU, copy)] = &left[..] else { panic!("{left:02x?}") };
            assert_eq!(said(copy), pushed(1, 1, CPU, rule, packet));
            assert_eq!(bench.expect(CPU, &command(3, N9, 5, packet), N9), ip(packet));
        }
        let message = tunnelled(UPF_N3, GNB, 7, (0, 1), &reply().octets());
        let left = bench.expect(CPU, &command(2, 0, 0, &message.octets()), N3);
        assert_eq!(routed(&left), message.octets());
    });
}

// Input:  a damaged user packet for a rule with notifications, around which are extension headers.
// Output: the copy is damaged alike, and has what is in front of it.
#[test]
fn copies_are_not_repaired() {
    for_all("control::copies_are_not_repaired", |bench| {
        bench.uplink(TEID, 1, 0, RuleAction::Decapsulate { dscp: None, notify: true });
        let mut damaged = request().octets();
        damaged[10] ^= 0x55;
        let chain = [0, 0, 0, 0x40, 1, 8, 9, 0x85, 2, 0x10, 1, 4, 5, 6, 7, 0x20, 1, 2, 3, 0];
        let frame = to_upf(&gtpu(0x34, 255, TEID, &chain, &damaged));
        let left = bench.expect_drop(N3, &frame, "malformed_ip");
        let [(CPU, copy)] = &left[..] else { panic!("{left:02x?}") };
        assert_eq!(said(copy).rest, &frame[14..]);
    });
}

// Input:  GTP-U signalling of every kind, End Markers among it, a ping to the UPF, another port, a fragment of a tunnelled packet,
//         one with IP options, and ARP; one that the controller itself sends to be processed.
// Output: all to the controller, each with its reason, as they came, wrong checksums included.
#[test]
fn what_is_for_the_controller_goes_there() {
    for_all("control::what_is_for_the_controller_goes_there", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        let message = |kind| V4::udp(GNB, UPF_N3, (2152, 2152), &gtpu(0x32, kind, 0, &[0, 1, 0, 0], &[]));
        let local = [
            V4 { protocol: 1, payload: vec![8, 0, 0, 0], ..message(1) },
            V4::udp(GNB, UPF_N3, (2152, 2153), b"who"),
            V4 { fragment: 0x2000, ..message(255) },
            V4 { fragment: 7, ..message(255) },
            V4 { options: vec![1; 4], ..message(255) },
        ];
        let signalling = [1, 2, 26, 31, 253, 254].map(|kind| (message(kind), 3));
        for (packet, reason) in signalling.into_iter().chain(local.map(|packet| (packet, 4))) {
            let mut octets = packet.octets();
            let left = bench.expect(N3, &ip(&octets), CPU);
            assert_eq!(said(&left), pushed(reason, 0, N3, 0, &octets));
            octets[10] ^= 0x11;
            let left = bench.expect(N3, &ip(&octets), CPU);
            assert_eq!(said(&left), pushed(reason, 0, N3, 0, &octets), "with a wrong checksum");
        }
        let octets = V4::udp(GNB, UPF_N3, (2152, 2153), b"who").octets();
        let left = bench.expect(CPU, &command(1, 0, 0, &octets), CPU);
        assert_eq!(said(&left), pushed(4, 0, CPU, 0, &octets));
        let left = bench.expect(N6, &frame(0x0806, &[7; 28]), CPU);
        let wanted = Said { ether_type: 0x0806, ..pushed(6, 0, N6, 0, &[7; 28]) };
        assert_eq!(said(&left), wanted);
    });
}

// Input:  packets on their last hop: out of a tunnel, into one, and between two.
// Output: the first two to the controller, without a tunnel, with their rule and hops; between tunnels nothing is routed.
#[test]
fn the_last_hop_ends_here() {
    for_all("control::the_last_hop_ends_here", |bench| {
        let up = bench.uplink(TEID, 1, 0, RuleAction::Decapsulate { dscp: Some(8), notify: false }).id;
        let down = bench.downlink(UE, 0, to_gnb(1)).id;
        bench.downlink_from_n9(N9_TEID, 5, 0, to_gnb(2));
        for ttl in [0, 1] {
            let last = V4 { ttl, ..request() };
            let left = bench.expect(N3, &from_gnb(&last, 1), CPU);
            assert_eq!(said(&left), pushed(5, 0, N3, up, &last.octets()));
            let last = V4 { ttl, ..reply() };
            let left = bench.expect(N6, &ip(&last.octets()), CPU);
            assert_eq!(said(&left), pushed(5, 0, N6, down, &last.octets()));
            let tunnel = tunnelled(PEER, UPF_N9, N9_TEID, (0, 5), &last.octets()).octets();
            let left = bench.expect(N9, &ip(&tunnel), N3);
            assert_eq!(routed(&left), to_gnb_tunnel(2, &last.octets()));
            let last = v6(UE_IPV6, SERVER_IPV6, ttl, (1, 2));
            let left = bench.expect(N3, &in_tunnel(TEID, 1, &last), CPU);
            assert_eq!(said(&left), Said { ether_type: 0x86dd, ..pushed(5, 0, N3, up, &last) });
        }
    });
}

// Input:  the controller's own frames: an End Marker and an Echo Response to be routed, and one to be sent as it is.
// Output: those on their way with our address; that by its port.
#[test]
fn the_controller_sends() {
    for_all("control::the_controller_sends", |bench| {
        for (kind, source) in [(254, UPF_N3), (2, [0; 4])] {
            let message = V4::udp(source, GNB, (2152, 2152), &gtpu(0x30, kind, 9, &[], &[]));
            let left = bench.expect(CPU, &command(2, 0, 0, &message.octets()), N3);
            assert_eq!(routed(&left), V4 { src: UPF_N3, ..message }.octets());
        }
        for queue in [0, 5, 31] {
            let left = bench.expect(CPU, &command(3, N9, queue, &request().octets()), N9);
            assert_eq!(left, ip(&request().octets()));
        }
        let any = command_of(3, N6, 0, 0x0806, &[3; 28]);
        assert_eq!(bench.expect(CPU, &any, N6), frame(0x0806, &[3; 28]));
    });
}

// Input:  the port of the software UPF is taken away from buffered packets.
// Output: they go where everything else goes, to the CPU port.
#[test]
fn without_a_port_of_its_own_all_goes_to_the_cpu() {
    for_all("control::without_a_port_of_its_own_all_goes_to_the_cpu", |bench| {
        let rule = bench.downlink(UE, 0, RuleAction::Buffer { notify: false }).id;
        let keys = [("reason", causeway_switch::driver::FieldMatch::Exact(2))];
        let data = [("port", SOFTWARE.into()), ("queue", 0)];
        let row = bench.entry("punt_ports", &keys, 0, "to_port", &data).key;
        bench.write(&Update::Delete(row));
        let left = bench.expect(N6, &ip(&reply().octets()), CPU);
        assert_eq!(said(&left), pushed(2, 0, N6, rule, &reply().octets()));
    });
}
