//! Two UPFs whose rules relay packets to one another in a loop.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU8;

use causeway_dataplane::{
    Disposition, DropReason, Egress, GtpuEndpoint, Ingress, PacketEngine, Topology, Transmit,
};
use causeway_fastpath::FastPath;
use causeway_model::{Far, Forwarding, HeaderRemoval, Pdi, Pdr, Plan, Qer, RuleSet};
use causeway_packet::gtpu::{Repr, prefix};
use causeway_packet::{IpProtocol, IpRepr, UdpRepr};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{FTeid, FarId, Interface, PdrId, QerId, Qfi, Seid, Teid, Time};

const UPFS: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
/// The default TTL of a socket.
const DEFAULT: u8 = 64;

fn tunnel(upf: usize) -> FTeid {
    FTeid { teid: Teid::new(0x1000 + upf as u32).unwrap(), addr: UPFS[upf].into() }
}

/// Packets from its tunnel are sent into that of the other UPF.
fn rules(upf: usize) -> RuleSet {
    let pdi = Pdi { tunnel: Some(tunnel(upf)), ..Pdi::new(Interface::Access) };
    let removal = Some(HeaderRemoval::GTPU_IPV4);
    let pdr = Pdr { removal, qers: vec![QerId(1)], ..Pdr::new(PdrId(1), pdi, FarId(1)) };
    let qer = Qer { qfi: Qfi::new(9), ..Qer::new(QerId(1)) };
    let far = Far::forward(FarId(1), Forwarding::into_tunnel(Interface::Core, tunnel(1 - upf)));
    let mut rules = RuleSet::default();
    rules.pdrs.extend([(PdrId(1), pdr)]);
    rules.fars.extend([(FarId(1), far)]);
    rules.qers.extend([(QerId(1), qer)]);
    rules
}

fn topology(upf: usize) -> Topology {
    Topology { gtpu: vec![GtpuEndpoint::new(UPFS[upf].into())], ..Topology::default() }
}

fn slow_path(upf: usize) -> SlowPath {
    SlowPath::new(topology(upf), Limits::default())
}

fn fast_path(upf: usize) -> FastPath {
    FastPath::new(topology(upf), Limits { max_sessions: 8, ..Limits::default() }).unwrap()
}

/// A UDP packet of a user over IPv4 or IPv6, in the first tunnel, with or without a PDU Session Container.
fn g_pdu(from: &str, to: &str, has_container: bool) -> Vec<u8> {
    let (from, to): (IpAddr, IpAddr) = (from.parse().unwrap(), to.parse().unwrap());
    let mut user = Vec::new();
    let ip = IpRepr::new(from, to, IpProtocol::UDP).unwrap();
    ip.write_udp(UdpRepr { src_port: 40_000, dst_port: 53 }, true, &[b"data"], &mut user).unwrap();
    let header = match has_container {
        true => prefix::uplink(tunnel(0).teid, Qfi::from_low_bits(9), user.len()).unwrap().to_vec(),
        false => prefix::without_extensions(tunnel(0).teid, user.len()).unwrap().to_vec(),
    };
    [header, user].concat()
}

/// The relays of a packet from UPF to UPF: how often it is forwarded, and its final disposition.
fn relay(upfs: &mut [Box<dyn PacketEngine>; 2], packet: &[u8], hops: u8) -> (usize, Disposition) {
    let now = Time::from_secs(1_700_000_000);
    let (mut packet, mut hops, mut sender) = (packet.to_vec(), NonZeroU8::new(hops), GNB);
    for relays in 0..1000 {
        let upf = relays % 2;
        let peer = SocketAddr::from((sender, 2152));
        let ingress = Ingress::Gtpu { local: UPFS[upf].into(), peer, tos: 0, hops };
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        let disposition = upfs[upf].process(now, &ingress, &packet, &mut sent as &mut dyn Transmit);
        if disposition != Disposition::Forwarded {
            assert_eq!(sent, []);
            return (relays, disposition);
        }
        let [(Egress::Gtpu { local, peer, hops: left, .. }, octets)] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!((*local, peer.ip()), (UPFS[upf].into(), UPFS[1 - upf].into()));
        (packet, hops, sender) = (octets.clone(), left.or(NonZeroU8::new(DEFAULT)), UPFS[upf]);
    }
    panic!("the packet is relayed without end");
}

// Input:  user packets of both IP versions with and without a PDU Session Container, and End Markers, with 64, 255, 2,
//         1 or unknown hops, to two UPFs that relay to one another; both references, both fast paths, or one of each.
// Output: each is relayed at most 64 times, with one hop less each time, and ends in the counter of its reason.
#[test]
fn a_loop_of_two_upfs_ends() {
    let packets = [
        g_pdu("10.45.0.2", "198.51.100.9", true),
        g_pdu("10.45.0.2", "198.51.100.9", false),
        g_pdu("2001:db8:1::2", "2001:db8:9::9", true),
        Repr::end_marker(tunnel(0).teid).to_vec().unwrap(),
    ];
    let engines: [fn(usize) -> Box<dyn PacketEngine>; 2] =
        [|upf| Box::new(slow_path(upf)), |upf| Box::new(fast_path(upf))];
    for (one, other) in [(0, 0), (1, 1), (0, 1), (1, 0)] {
        let mut upfs = [engines[one](0), engines[other](1)];
        for (upf, plane) in upfs.iter_mut().enumerate() {
            let plan = Plan::install(Seid(1), rules(upf).clone());
            plane.apply(Time::from_secs(1_700_000_000), &plan).unwrap();
        }
        let mut drops = 0;
        for packet in &packets {
            for (hops, relays) in [(64, 63), (255, 64), (2, 1), (1, 0), (0, 64)] {
                let end = Disposition::Dropped(DropReason::OuterTtlExpired);
                assert_eq!(relay(&mut upfs, packet, hops), (relays, end), "{hops}");
                drops += 1;
            }
        }
        let counted = upfs.iter().map(|upf| upf.counters().dropped(DropReason::OuterTtlExpired));
        assert_eq!(counted.sum::<u64>(), drops);
    }
}

// Input:  a thousand packets in the loop of two fast paths.
// Output: flow entries handle nearly all relays.
#[test]
fn flow_entries_relay() {
    let (now, mut upf) = (Time::from_secs(1_700_000_000), fast_path(0));
    causeway_dataplane::Dataplane::apply(&mut upf, now, &Plan::install(Seid(1), rules(0).clone())).unwrap();
    let packet = g_pdu("10.45.0.2", "198.51.100.9", true);
    let peer = SocketAddr::from((GNB, 2152));
    for hops in (0..1000).map(|number| NonZeroU8::new(2 + number as u8 % 200)) {
        let ingress = Ingress::Gtpu { local: UPFS[0].into(), peer, tos: 0, hops };
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        assert_eq!(upf.process(now, &ingress, &packet, &mut sent), Disposition::Forwarded);
    }
    assert!(upf.fast_path_packets() > 900, "{}", upf.fast_path_packets());
}
