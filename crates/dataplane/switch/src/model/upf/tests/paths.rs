//! Where packets go, and how they leave, in every profile.

use super::bench::{Bench, Deed, to_gnb};
use super::frames::*;
use super::*;
use crate::driver::Rates;
use crate::model::upf::DropReason;

fn for_all(test: impl Fn(&mut Bench)) {
    PROFILES.into_iter().for_each(|profile| test(&mut Bench::new(profile)));
}

const TO_N6: Deed = Deed::Decapsulate { dscp: None };

/// What leaves in a tunnel of ours.
fn ours(src: [u8; 4], dst: [u8; 4], teid: u32, kind: (u8, u8), tos: u8, packet: &[u8]) -> Vec<u8> {
    V4 { fragment: 0x4000, tos, ..tunnelled(src, dst, teid, kind.0, kind.1, packet) }.octets()
}

/// A frame without its Ethernet header, which must be as routes say.
fn packet_of(frame: &[u8]) -> &[u8] {
    assert_eq!(frame[..12], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1], "neighbour and own address");
    &frame[14..]
}

// Input:  a UE's packet in its tunnel, with and without IP options, and with a longer container behind another extension header.
// Output: the same packet on N6, one hop older, its checksum right; counted on both sides as it came and as it left.
#[test]
fn uplink_is_decapsulated() {
    for_all(|bench| {
        let rule = bench.uplink(TEID, 1, 0, TO_N6);
        let sent = request();
        assert_eq!(packet_of(&bench.expect(N3, &from_gnb(&sent, 1), N6)), sent.hop().octets());
        let usage = bench.usage(rule).map(|count| (count.octets, count.packets));
        let user = sent.octets().len() as u64;
        assert_eq!(usage, [(14 + 44 + user, 1), (14 + user, 1)], "{}", bench.profile);

        let with_options = V4 { options: vec![0x94, 4, 0, 0], ..request() };
        let left = bench.expect(N3, &from_gnb(&with_options, 1), N6);
        assert_eq!(packet_of(&left), with_options.hop().octets());
        let between = [0, 0, 0, 0x40, 1, 8, 0x68, 0x85, 2, 0x10, 1, 0, 0, 0, 0, 0];
        let message = gtpu(0x34, 255, TEID, &between, &sent.octets());
        let outer = V4::udp(GNB, UPF_N3, (2152, 2152), &message);
        assert_eq!(packet_of(&bench.expect(N3, &ip(&outer.octets()), N6)), sent.hop().octets());
        assert_eq!(bench.usage(rule).map(|count| count.packets), [3, 3]);
    });
}

// Input:  a packet for a UE, marked as capable of congestion marks.
// Output: in the tunnel to its gNB, with QFI, DSCP and lengths right, one hop older; both checksums right.
#[test]
fn downlink_is_encapsulated() {
    for_all(|bench| {
        let deed = Deed::Encapsulate { tunnel: GNB, teid: 0xabcd_ef01, qfi: 9, pdu_type: 0, dscp: 46 };
        bench.downlink(UE, deed);
        let sent = V4 { tos: 0x02, ..reply() };
        let left = bench.expect(N6, &ip(&sent.octets()), N3);
        let wanted = ours(UPF_N3, GNB, 0xabcd_ef01, (0, 9), 46 << 2 | 2, &sent.hop().octets());
        assert_eq!(packet_of(&left), wanted, "{}", bench.profile);
    });
}

// Input:  packets from a gNB to another UPF, in a tunnel without a UE's address.
// Output: in the new tunnel, PDU type and QFI as the rule says; the user packet has lost no hop.
#[test]
fn tunnels_are_joined() {
    for_all(|bench| {
        bench.uplink(
            0x03_0001,
            1,
            0,
            Deed::Encapsulate { tunnel: PEER, teid: 7, qfi: 3, pdu_type: 1, dscp: 0 },
        );
        let up = tunnelled(GNB, UPF_N3, 0x03_0001, 1, 1, &request().octets());
        let wanted = ours(UPF_N9, PEER, 7, (1, 3), 0, &request().octets());
        assert_eq!(packet_of(&bench.expect(N3, &ip(&up.octets()), N9)), wanted, "{}", bench.profile);
    });
}

// Input:  rules with filters that overlap, before one for everything; also one to another UPF among them.
// Output: the highest priority decides; a fragment without ports fits no filter that has one.
#[test]
fn precedence_decides() {
    for_all(|bench| {
        let n9 = Deed::Encapsulate { tunnel: PEER, teid: 7, qfi: 3, pdu_type: 1, dscp: 0 };
        bench.uplink_filtered(TEID, None, Some(53), 30, n9);
        bench.uplink_filtered(TEID, Some(SERVER), None, 20, Deed::Decapsulate { dscp: Some(10) });
        bench.uplink(TEID, 1, 0, TO_N6);
        let to_n9 = ours(UPF_N9, PEER, 7, (1, 3), 0, &request().octets());
        assert_eq!(packet_of(&bench.expect(N3, &from_gnb(&request(), 1), N9)), to_n9, "{}", bench.profile);
        let other_port = V4::udp(UE, SERVER, (5000, 80), b"x");
        let marked = V4 { tos: 10 << 2, ..other_port.hop() };
        assert_eq!(packet_of(&bench.expect(N3, &from_gnb(&other_port, 1), N6)), marked.octets());
        let elsewhere = V4::udp(UE, [198, 51, 100, 200], (5000, 80), b"x");
        assert_eq!(packet_of(&bench.expect(N3, &from_gnb(&elsewhere, 1), N6)), elsewhere.hop().octets());
        let piece = V4 { fragment: 2, ..V4::udp(UE, [198, 51, 100, 200], (5000, 53), b"x") };
        assert_eq!(packet_of(&bench.expect(N3, &from_gnb(&piece, 1), N6)), piece.hop().octets());
    });
}

// Input:  a packet for an idle UE; the software UPF releases it once there is a tunnel.
// Output: the packet on the software UPF's port and a copy for the controller, both with the rule; then in the tunnel.
#[test]
fn packets_are_buffered_and_released() {
    for_all(|bench| {
        let rule = bench.downlink(UE, Deed::Buffer { notify: true });
        let pushed = |code: u8, flags: u8| {
            let mut octets = vec![code, flags, 0, N6 as u8, 0, 0, 0, rule as u8, 8, 0];
            octets.extend(reply().octets());
            octets
        };
        let mut left = bench.send(N6, &ip(&reply().octets()));
        left.sort();
        let seen: Vec<(u16, &[u8])> = left.iter().map(|(port, frame)| (*port, &frame[14..])).collect();
        assert_eq!(seen, [(CPU, &pushed(1, 1)[..]), (SOFTWARE, &pushed(2, 0)[..])], "{}", bench.profile);
        assert!(left.iter().all(|(_, frame)| frame[12..14] == [0x88, 0xb5]));

        let mut bench = Bench::new(bench.profile);
        bench.downlink(UE, to_gnb(1));
        let left = bench.expect(CPU, &command(1, 0, 0, &reply().octets()), N3);
        assert_eq!(packet_of(&left), ours(UPF_N3, GNB, 1, (0, 9), 0, &reply().hop().octets()));
    });
}

// Input:  an End Marker to be routed, and a frame to be sent as it is.
// Output: the End Marker on its way with our address; the frame by its port, in its queue.
#[test]
fn the_controller_sends() {
    for_all(|bench| {
        let marker = V4::udp(UPF_N3, GNB, (2152, 2152), &gtpu(0x30, 254, 9, &[], &[]));
        assert_eq!(packet_of(&bench.expect(CPU, &command(2, 0, 0, &marker.octets()), N3)), marker.octets());
        let left = bench.expect(CPU, &command(3, N9, 5, &request().octets()), N9);
        assert_eq!(left, ip(&request().octets()));
    });
}

// Input:  GTP-U signalling, a ping to the UPF, a fragment of a tunnelled packet, ARP, and a packet on its last hop.
// Output: all to the controller, each with its reason: as they came, but the last one without its tunnel.
#[test]
fn what_is_for_the_controller_goes_there() {
    for_all(|bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        let signalling = |kind| V4::udp(GNB, UPF_N3, (2152, 2152), &gtpu(0x32, kind, 0, &[0, 1, 0, 0], &[]));
        let ping = V4 { protocol: 1, payload: vec![8, 0, 0, 0], ..signalling(1) };
        let piece = V4 { fragment: 0x2000, ..signalling(255) };
        let cases = [(signalling(1), 3), (signalling(26), 3), (signalling(254), 3), (ping, 4), (piece, 4)];
        for (packet, reason) in cases {
            let left = bench.expect(N3, &ip(&packet.octets()), CPU);
            assert_eq!((left[14], &left[24..]), (reason, &packet.octets()[..]), "{}", bench.profile);
        }
        let last = V4 { ttl: 1, ..request() };
        let left = bench.expect(N3, &from_gnb(&last, 1), CPU);
        assert_eq!((left[14], &left[24..]), (5, &last.octets()[..]));
        assert_eq!(bench.expect(N3, &frame(0x0806, &[0; 28]), CPU)[14], 6);
    });
}

// Input:  a meter of 1000 octets at once, packets of QFI 9 in green and in yellow.
// Output: green and yellow leave, each by its queue; red is dropped after it was counted before QoS enforcement.
#[test]
fn meters_and_queues() {
    for_all(|bench| {
        let rule = bench.uplink(TEID, 9, 5, TO_N6);
        let rates = Rates { committed: 0, committed_burst: 100, peak: 0, peak_burst: 200 };
        bench.set_meter(5, rates);
        bench.set_queue(0, 9, 17);
        bench.set_queue(1, 9, 3);
        bench.expect(N3, &from_gnb(&request(), 9), N6);
        bench.expect(N3, &from_gnb(&request(), 9), N6);
        bench.expect_drop(N3, &from_gnb(&request(), 9), DropReason::MbrExceeded);
        assert_eq!((bench.counted("queue_packets", 17), bench.counted("queue_packets", 3)), (1, 1));
        assert_eq!(bench.usage(rule).map(|count| count.packets), [3, 2], "{}", bench.profile);
    });
}

// Input:  IPv6 packets of and for a UE.
// Output: routed as IPv4 is, hop limits one less.
#[test]
fn ipv6_inside() {
    for_all(|bench| {
        let ue = [0x20, 1, 0x0d, 0xb8, 0, 0x45, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1];
        let server = [0x20, 1, 0x0d, 0xb8, 0, 0x99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
        bench.uplink(TEID, 1, 0, Deed::Decapsulate { dscp: Some(34) });
        let up = ip(&tunnelled(GNB, UPF_N3, TEID, 1, 1, &v6(ue, server, 64)).octets());
        let mut wanted = v6(ue, server, 63);
        wanted[..2].copy_from_slice(&[0x68, 0x80]);
        assert_eq!(packet_of(&bench.expect(N3, &up, N6)), wanted, "{}", bench.profile);
        bench.downlink_ipv6(0x2001_0db8_0045_0007, to_gnb(3));
        let left = bench.expect(N6, &ip(&v6(server, ue, 64)), N3);
        assert_eq!(packet_of(&left), ours(UPF_N3, GNB, 3, (0, 9), 0, &v6(server, ue, 63)));
    });
}
