//! The UPF as the router of the UEs: hop limits, MTUs and ICMP messages.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::{
    Dataplane, Disposition, DropReason, Egress, HostReachability, Ingress, Network, PacketEngine, Plan,
    Routing, Topology,
};
use causeway_model::{Far, Forwarding, OuterHeader, RuleSet};
use causeway_packet::checksum::Checksum;
use causeway_packet::icmp::{Icmpv4, Icmpv4Message};
use causeway_packet::{Ip, IpProtocol, Ipv4, Ipv4Repr, Ipv6Repr, UserPacket};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{Bitrate, FTeid, Interface, Seid, Time};
use proptest::prelude::*;

use crate::common::*;

/// The octets of IPv4, UDP and GTP-U with a PDU Session Container.
const OUTER: usize = 20 + 8 + 16;

/// A data plane with these MTUs, and the standard session.
fn bench(n3_mtu: u32, n6_mtu: u32) -> Bench {
    let mut topology = topology();
    topology.gtpu[0].mtu = n3_mtu;
    topology.networks[0].mtu = n6_mtu;
    on(topology)
}

fn on(topology: Topology) -> Bench {
    let mut setup = Bench::empty(Limits::default());
    setup.plane = SlowPath::new(topology, Limits::default());
    setup.apply(establishment()).unwrap();
    setup
}

fn packet(src: Ipv4Addr, dst: Ipv4Addr, octets: usize, change: impl FnOnce(&mut Ipv4Repr)) -> Vec<u8> {
    let mut repr = Ipv4Repr::new(src, dst, IpProtocol::UDP);
    change(&mut repr);
    let payload: Vec<u8> = (0..octets - 20).map(|n| n as u8).collect();
    let mut packet = Vec::new();
    repr.write(&[], &payload, &mut packet).unwrap();
    packet
}

/// The one IP packet that was sent, and whether into a tunnel.
fn only_sent(setup: &mut Bench) -> (bool, Vec<u8>) {
    let sent = setup.take_sent();
    let [(egress, bytes)] = sent.as_slice() else { panic!("{sent:?}") };
    match egress {
        Egress::Gtpu { .. } => (true, inner(bytes).to_vec()),
        Egress::Ip { .. } | Egress::Ethernet { .. } => (false, bytes.clone()),
    }
}

// Input: an uplink and a downlink packet with TTL 1.
// Output: both are dropped with their reason; the UE is sent an ICMP error through its tunnel, the server through the
//         data network, both from the gateway address, with the packet quoted.
#[test]
fn ttl_expiry_sends_time_exceeded() {
    let mut setup = Bench::new();
    for uplink in [true, false] {
        let (src, dst) = if uplink { (UE, SERVER) } else { (SERVER, UE) };
        let original = packet(src, dst, 100, |ip| ip.ttl = 1);
        let disposition = if uplink { setup.uplink(&original) } else { setup.downlink(&original) };
        assert_eq!(disposition, Disposition::Dropped(DropReason::TtlExpired));
        let (in_tunnel, error) = only_sent(&mut setup);
        let error = Ipv4::parse(&error).unwrap();
        assert_eq!((in_tunnel, error.src(), error.dst()), (uplink, GATEWAY, src));
        let icmp = Icmpv4::parse(error.payload()).unwrap();
        assert_eq!(icmp.message, Icmpv4Message::TimeExceeded { code: 0, original: &original });
    }
}

// Input: pings to the gateway address and responses from it with TTL 1.
// Output: they pass unchanged: that address is the UPF's own.
#[test]
fn packets_to_the_upf_keep_their_ttl() {
    let mut setup = Bench::new();
    let to_gateway = packet(UE, GATEWAY, 60, |ip| (ip.ttl, ip.protocol) = (1, IpProtocol::ICMP));
    assert_eq!(setup.uplink(&to_gateway), Disposition::Forwarded);
    assert_eq!(only_sent(&mut setup).1, to_gateway);
    let from_gateway = packet(GATEWAY, UE, 60, |ip| ip.ttl = 1);
    assert_eq!(setup.downlink(&from_gateway), Disposition::Forwarded);
    assert_eq!(only_sent(&mut setup).1, from_gateway);
}

// Input: an uplink packet with TTL 1 that is forwarded into a tunnel to another UPF; one with TTL 9 where hops are
//        not counted.
// Output: the hop limit stays.
#[test]
fn a_relay_does_not_decrement_ttl() {
    let mut setup = Bench::new();
    let outer = Some(OuterHeader::Gtpu(gnb_tunnel(GNB2, 0x77)));
    let to_upf =
        Far::forward(causeway_types::FarId(1), Forwarding { outer, ..Forwarding::to(Interface::Core) });
    setup.apply(vec![causeway_dataplane::Op::PutFar(to_upf.into())]).unwrap();
    let up = packet(UE, SERVER, 60, |ip| ip.ttl = 1);
    assert_eq!(setup.uplink(&up), Disposition::Forwarded);
    assert_eq!(only_sent(&mut setup).1, up);

    let routing = Routing { decrement_ttl: false, ..Routing::default() };
    let mut setup = on(Topology { routing, ..topology() });
    let up = packet(UE, SERVER, 60, |ip| ip.ttl = 9);
    setup.uplink(&up);
    assert_eq!(only_sent(&mut setup).1, up);
}

// Input: a data network where the UPF has no address, and a packet with TTL 1.
// Output: dropped with its reason; no ICMP error, for lack of a source address.
#[test]
fn without_a_gateway_no_icmp_error_is_sent() {
    let network = Network::new(internet(), Vec::new());
    let mut setup = on(Topology { networks: vec![network], ..topology() });
    let up = packet(UE, SERVER, 100, |ip| ip.ttl = 1);
    assert_eq!(setup.uplink(&up), Disposition::Dropped(DropReason::TtlExpired));
    assert_eq!(setup.sent, []);
}

// Input: a downlink packet with DF of exactly the maximum size, and one octet more, on an N3 of 1400 octets.
// Output: the first passes; the second is dropped, and its sender is sent the MTU that would fit.
#[test]
fn the_sender_learns_the_mtu_of_n3() {
    let mut setup = bench(1400, 1500);
    let max_payload = 1400 - OUTER;
    let fits = packet(SERVER, UE, max_payload, |ip| ip.dont_fragment = true);
    assert_eq!(setup.downlink(&fits), Disposition::Forwarded);
    let (_, sent) = only_sent(&mut setup);
    assert_eq!(sent.len() + OUTER, 1400);
    let larger = packet(SERVER, UE, max_payload + 1, |ip| ip.dont_fragment = true);
    assert_eq!(setup.downlink(&larger), Disposition::Dropped(DropReason::MtuExceeded));
    let (in_tunnel, error) = only_sent(&mut setup);
    let icmp = Icmpv4::parse(Ipv4::parse(&error).unwrap().payload()).unwrap();
    assert!(!in_tunnel && icmp.checksum_is_valid());
    assert!(
        matches!(icmp.message, Icmpv4Message::FragmentationNeeded { mtu, .. } if usize::from(mtu) == max_payload)
    );
}

// Input: an uplink packet without DF that exceeds the N6 MTU, while the meter has tokens for one packet.
// Output: it is sent as fragments that reassemble to it, counts as one packet, and is charged once.
#[test]
fn a_packet_is_fragmented_where_it_may_be() {
    let mut setup = bench(65_535, 576);
    let rate = Bitrate::from_kbps(1).unwrap();
    let mbr = Some(causeway_model::RateLimit { uplink: rate, downlink: rate });
    let qers = vec![causeway_types::QerId(7)];
    setup
        .apply(vec![
            causeway_dataplane::Op::PutQer(causeway_model::Qer { mbr, ..open_qer(7) }.into()),
            causeway_dataplane::Op::PutPdr(causeway_model::Pdr { qers, ..uplink_pdr() }.into()),
        ])
        .unwrap();
    let up = packet(UE, SERVER, 1500, |ip| ip.identification = 77);
    assert_eq!(setup.uplink(&up), Disposition::Forwarded);
    let sent = setup.take_sent();
    assert!(sent.len() == 3 && sent.iter().all(|(_, fragment)| fragment.len() <= 576));
    let pieces: BTreeMap<_, _> = sent
        .iter()
        .map(|(_, fragment)| {
            let ip = Ipv4::parse(fragment).unwrap();
            assert!(ip.checksum_is_valid() && ip.identification() == 77 && ip.ttl() == 63);
            (ip.fragment_offset(), ip.payload().to_vec())
        })
        .collect();
    assert_eq!(pieces.into_values().flatten().collect::<Vec<_>>(), up[20..]);
    assert_eq!((setup.plane.counters().forwarded, setup.plane.counters().ip_sent.packets), (1, 3));
    assert_eq!(setup.uplink(&up), Disposition::Dropped(DropReason::MbrExceeded));
}

// Input: a user packet of 65,535 octets, larger with its outer header than any IP packet, without and with DF.
// Output: two fragments; dropped with its reason.
#[test]
fn the_largest_packet_is_too_large_for_a_tunnel() {
    let mut setup = Bench::new();
    assert_eq!(setup.downlink(&packet(SERVER, UE, 65_535, |_| {})), Disposition::Forwarded);
    assert_eq!(setup.take_sent().len(), 2);
    let whole = packet(SERVER, UE, 65_535, |ip| ip.dont_fragment = true);
    assert_eq!(setup.downlink(&whole), Disposition::Dropped(DropReason::MtuExceeded));
}

// Input: a hundred packets with TTL 1 of one UE at the same time; ICMP errors, later fragments and packets to groups,
//        with the gate open, with TTL 1.
// Output: ten messages; none at all.
#[test]
fn icmp_errors_are_rate_limited_and_never_about_icmp_errors() {
    let host = HostReachability {
        reachable: "224.0.0.0/4".parse().into_iter().collect(),
        ..HostReachability::default()
    };
    let mut setup = on(Topology { host, ..topology() });
    let up = packet(UE, SERVER, 100, |ip| ip.ttl = 1);
    for _ in 0..100 {
        setup.uplink(&up);
    }
    assert_eq!(setup.take_sent().len(), 10);
    setup.now = Time::from_secs(2_000_000);
    let mut error = Vec::new();
    Icmpv4Message::TimeExceeded { code: 0, original: &up }.write(&mut error);
    let mut about_error = Vec::new();
    let ip = Ipv4Repr { ttl: 1, ..Ipv4Repr::new(UE, SERVER, IpProtocol::ICMP) };
    ip.write(&[], &error, &mut about_error).unwrap();
    let later = packet(UE, SERVER, 100, |ip| (ip.ttl, ip.fragment_units) = (1, 100));
    let to_group = packet(UE, Ipv4Addr::new(224, 0, 0, 1), 100, |ip| ip.ttl = 1);
    for silent in [about_error, later, to_group] {
        assert_eq!(setup.uplink(&silent), Disposition::Dropped(DropReason::TtlExpired));
        assert_eq!(setup.sent, []);
    }
}

// Input: an uplink packet with a wrong header checksum.
// Output: dropped as malformed: a router must not forward it.
#[test]
fn a_wrong_header_checksum_is_dropped() {
    let mut setup = Bench::new();
    let mut up = packet(UE, SERVER, 100, |_| {});
    up[10] ^= 1;
    assert_eq!(setup.uplink(&up), Disposition::Dropped(DropReason::MalformedIp));
}

/// Returns forwarded packets to the UPF, as if the other side sent them: a routing loop.
fn bounce(setup: &mut Bench, rounds: usize) -> usize {
    for round in 0..rounds {
        let sent = setup.take_sent();
        if sent.is_empty() {
            return round;
        }
        for (egress, bytes) in sent {
            let now = setup.now;
            let ingress = match egress {
                Egress::Gtpu { .. } | Egress::Ethernet { .. } => continue,
                Egress::Ip { network } => Ingress::Ip { network },
            };
            setup.plane.process(now, &ingress, &bytes, &mut setup.sent);
        }
    }
    rounds
}

proptest! {
    // Input: any IPv4 packet of the UE or for it, of any size, flags and hop limit, over small MTUs, in a network
    //        that returns everything.
    // Output: every forwarded packet has right checksums and fits; the loop ends within a few rounds; every packet is
    //         in one counter.
    #[test]
    fn output_is_valid_and_does_not_loop(
        uplink: bool,
        octets in 20..2200_usize,
        ttl: u8,
        df: bool,
        more: bool,
        units in 0..300_u16,
        protocol in prop::sample::select(vec![1_u8, 6, 17, 50]),
        between_ues: bool,
    ) {
        let mut setup = bench(600, 576);
        let far_end = if between_ues { UE } else { SERVER };
        let (src, dst) = if uplink { (UE, far_end) } else { (far_end, UE) };
        let bytes = packet(src, dst, octets, |ip| {
            ip.ttl = ttl;
            (ip.dont_fragment, ip.more_fragments, ip.fragment_units) = (df, more, units);
            ip.protocol = IpProtocol(protocol);
        });
        if uplink { setup.uplink(&bytes) } else { setup.downlink(&bytes) };
        for (egress, sent) in &setup.sent {
            let (sent, outer) = match egress {
                Egress::Gtpu { .. } => (inner(sent), OUTER),
                Egress::Ip { .. } | Egress::Ethernet { .. } => (sent.as_slice(), 0),
            };
            let mtu = if outer > 0 { 600 } else { 576 };
            prop_assert!(sent.len() + outer <= mtu);
            let user = UserPacket::parse(sent).unwrap();
            let Ip::V4(ip) = user.ip() else { panic!("IPv4") };
            prop_assert!(ip.checksum_is_valid());
            let is_whole = ip.fragment_offset() == 0 && !ip.more_fragments();
            if user.flow.src == IpAddr::V4(GATEWAY) && is_whole {
                prop_assert!(Icmpv4::parse(ip.payload()).unwrap().checksum_is_valid());
            }
        }
        prop_assert!(bounce(&mut setup, 300) < 300);
        let counters = setup.plane.counters();
        let received = counters.gtpu_received.packets + counters.ip_received.packets;
        prop_assert_eq!(received, counters.forwarded + counters.consumed + counters.total_drops());
    }
}

/// A Router Solicitation from this address.
fn solicitation(src: &str) -> Vec<u8> {
    let (src, dst) = (src.parse().unwrap(), "ff02::2".parse().unwrap());
    let mut body = [133, 0, 0, 0, 0, 0, 0, 0];
    let sum = Checksum::default().pseudo_v6(src, dst, IpProtocol::ICMPV6, body.len()).with(&body).finish();
    body[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut packet = Vec::new();
    let repr = Ipv6Repr { hop_limit: 255, ..Ipv6Repr::new(src, dst, IpProtocol::ICMPV6) };
    repr.write(&body, &mut packet).unwrap();
    packet
}

// Input:  a UE that solicits the UPF a hundred times at once, from the unspecified address and from ever other addresses of its
//         link; then one of another session, from the unspecified address.
// Output: as many advertisements as one host gets; the other UE has its own.
#[test]
fn a_ue_cannot_use_up_the_advertisements_of_others() {
    let mut topology = topology();
    topology.routing.router_advertisement = true;
    let mut setup = Bench::empty(Limits::default());
    setup.plane = SlowPath::new(topology, Limits::default());
    let tunnel = |ue: u32| FTeid { teid: teid(0x1000 + ue), ..n3() };
    for ue in [1, 2] {
        let mut rules = RuleSet::default();
        rules.pdrs.extend([uplink_pdr(), downlink_pdr()].map(|pdr| (pdr.id, pdr)));
        rules.fars.extend([to_network(), to_gnb(gnb_tunnel(GNB, 0x2000 + ue))].map(|far| (far.id, far)));
        for pdr in rules.pdrs.values_mut() {
            let address = pdr.pdi.ue.as_mut().unwrap();
            (address.v4, address.v6) = (None, format!("2001:db8:45:{ue}::/64").parse().ok());
        }
        rules.pdrs.get_mut(&UPLINK).unwrap().pdi.tunnel = Some(tunnel(ue));
        setup.plane.apply(setup.now, &Plan::install(Seid(ue.into()), rules)).unwrap();
    }
    let mut solicit = |ue: u32, src: &str| {
        setup.gtpu(&g_pdu(tunnel(ue).teid, QFI, &solicitation(src)));
        setup.take_sent().len()
    };
    let own_link = (1..100).map(|host| format!("fe80::{host:x}"));
    let answered: usize = own_link.chain(["::".to_owned()]).map(|src| solicit(1, &src)).sum();
    assert_eq!((answered, solicit(1, "::"), solicit(2, "::")), (10, 0, 1));
}
