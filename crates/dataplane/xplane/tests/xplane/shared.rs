//! Sessions whose rates limit packets of several lookup keys: two tunnels, or an IPv4 and an IPv6 address.

use std::net::{Ipv4Addr, Ipv6Addr};

use causeway_dataplane::{
    Dataplane, Disposition, DropReason, Egress, GtpuEndpoint, Ingress, Network, PacketEngine, Topology,
};
use causeway_memory::ModelParameters;
use causeway_model::{
    Far, Forwarding, HeaderRemoval, MeasurementMethod, Op, Pdi, Pdr, Plan, Qer, RateLimit, RuleSet,
    UeAddress, UeSide, Urr,
};
use causeway_packet::gtpu::prefix;
use causeway_packet::{IpProtocol, Ipv4Repr, Ipv6Repr};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{
    Bitrate, FTeid, FarId, Interface, NetworkInstance, PdrId, QerId, Seid, Span, Teid, Time, UrrId,
};
use causeway_xplane::{ModelPlane, Sizes};

use crate::plane::now;

const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
const UE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x45, 1, 0, 0, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);
const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x99, 0, 0, 0, 0, 9);
const SEID: Seid = Seid(7);
const TUNNELS: [u32; 2] = [0x1001, 0x1002];

fn topology() -> Topology {
    let pools = ["10.45.0.0/16", "2001:db8:45::/48"].map(|pool| pool.parse().unwrap());
    Topology {
        gtpu: vec![GtpuEndpoint::new(N3.into())],
        networks: vec![Network::new(NetworkInstance::new("internet"), pools.to_vec())],
        ..Topology::default()
    }
}

fn plane(seed: u64) -> ModelPlane {
    let sizes =
        Sizes { ue_buckets: 64, flow_buckets: 256, rings: 4, ring: 16, paging_rings: 1, paging_ring: 8 };
    let parameters = ModelParameters { queue_pairs: 4, ..ModelParameters::X_PLANE };
    ModelPlane::over_model(topology(), Limits::default(), parameters, sizes, seed).unwrap()
}

fn limited(kbps: u64) -> Qer {
    let rate = Bitrate::from_kbps(kbps).unwrap();
    Qer { mbr: Some(RateLimit { uplink: rate, downlink: rate }), ..Qer::new(QerId(1)) }
}

/// Uplink from two tunnels, downlink to an IPv4 and an IPv6 address, one rate for each direction of all.
fn session(kbps: u64) -> Plan {
    let urrs = || [UrrId(1)].into_iter().collect();
    let qers = || [QerId(1)].into_iter().collect();
    let mut rules = RuleSet::default();
    for (id, teid) in (1..).zip(TUNNELS) {
        let tunnel = Some(FTeid { teid: Teid::new(teid).unwrap(), addr: N3.into() });
        let pdr = Pdr::new(PdrId(id), Pdi { tunnel, ..Pdi::new(Interface::Access) }, FarId(1));
        let removal = Some(HeaderRemoval::GTPU_IPV4);
        rules.pdrs.insert(pdr.id, Pdr { removal, urrs: urrs(), qers: qers(), ..pdr });
    }
    let v6 = Some("2001:db8:45:1::/64".parse().unwrap());
    let ue = Some(UeAddress { v4: Some(UE), v6, side: UeSide::Destination });
    let network_instance = Some(NetworkInstance::new("internet"));
    let pdi = Pdi { ue, network_instance, ..Pdi::new(Interface::Core) };
    rules.pdrs.insert(PdrId(3), Pdr { urrs: urrs(), qers: qers(), ..Pdr::new(PdrId(3), pdi, FarId(2)) });
    rules.fars.insert(FarId(1), Far::forward(FarId(1), Forwarding::to(Interface::Core)));
    let tunnel = FTeid { teid: Teid::new(0x2001).unwrap(), addr: GNB.into() };
    rules.fars.insert(FarId(2), Far::forward(FarId(2), Forwarding::into_tunnel(Interface::Access, tunnel)));
    rules.qers.insert(QerId(1), limited(kbps));
    let method = MeasurementMethod { volume: true, ..MeasurementMethod::default() };
    rules.urrs.insert(UrrId(1), Urr::new(UrrId(1), method));
    Plan::install(SEID, rules)
}

fn udp(port: u16, size: usize) -> Vec<u8> {
    let mut udp = vec![0; size];
    udp[..2].copy_from_slice(&port.to_be_bytes());
    udp
}

/// A packet of one of the four lookup keys.
fn packet(key: usize, port: u16, size: usize) -> (Ingress, Vec<u8>) {
    let udp = udp(port, size);
    let v4 = |src, dst| {
        let mut user = Vec::new();
        Ipv4Repr::new(src, dst, IpProtocol::UDP).write(&[], &udp, &mut user).unwrap();
        user
    };
    if let Some(teid) = TUNNELS.get(key) {
        let user = v4(UE, SERVER);
        let header = prefix::without_extensions(Teid::new(*teid).unwrap(), user.len()).unwrap();
        let ingress = Ingress::Gtpu { local: N3.into(), peer: (GNB, 2152).into(), tos: 0, hops: None };
        return (ingress, [&header[..], &user].concat());
    }
    let user = if key == 2 {
        v4(SERVER, UE)
    } else {
        let header = Ipv6Repr::new(SERVER_V6, UE_V6, IpProtocol::UDP).header(udp.len()).unwrap();
        [&header[..], &udp].concat()
    };
    (Ingress::Ip { network: NetworkInstance::new("internet") }, user)
}

type Sent = Vec<(Egress, Vec<u8>)>;

fn receive(
    plane: &mut impl PacketEngine,
    at: Time,
    key: usize,
    port: u16,
    size: usize,
) -> (Disposition, Sent) {
    let (ingress, octets) = packet(key, port, size);
    let mut sent = Sent::new();
    (plane.process(at, &ingress, &octets, &mut sent), sent)
}

// Input:  a rate of 800 kbit/s; 5,000 packets of 1,000 octets in ten seconds on two tunnels, in turn: 4 Mbit/s.
// Output: both tunnels together have the rate, with what may pass after a pause; external memory decides nearly all packets.
#[test]
fn two_tunnels_have_one_rate() {
    let mut plane = plane(1);
    plane.apply(now(0), &session(800)).unwrap();
    let mut passed = 0;
    for number in 0..5_000_u64 {
        let (disposition, _) = receive(&mut plane, now(2 * number), (number % 2) as usize, 9, 1000 - 20);
        match disposition {
            Disposition::Forwarded => passed += 1,
            other => assert_eq!(other, Disposition::Dropped(DropReason::MbrExceeded)),
        }
    }
    // A second of 100 packets each, and at most a burst of one second.
    assert!((1_000..=1_105).contains(&passed), "{passed} packets passed");
    let counters = *plane.pipeline().counters();
    assert!(counters.slow.iter().sum::<u64>() < 20, "{counters:?}");
    let state = plane.session_state(now(10_000), SEID).unwrap();
    assert_eq!(state.usage[0].total.volume.uplink_packets, passed);
}

// Input:  300 random worlds: packets of four lookup keys that share a rate in each direction, the rate changes, the session ends and begins.
// Output: after each step the same packets, counters, events and states as from the slow path; external memory decides most packets.
#[test]
fn a_common_rate_is_as_on_the_slow_path() {
    let (mut packets, mut slow, mut dropped) = (0, 0, 0);
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut plane, mut slow_path) = (plane(seed), SlowPath::new(topology(), Limits::default()));
        let (mut at, kbps) = (now(0), random.u64(50..5_000));
        let plan = session(kbps);
        assert_eq!(plane.apply(at, &plan), slow_path.apply(at, &plan));
        for step in 0..random.u32(1..120) {
            at = at + Span::from_micros(random.u64(..20_000));
            plane.advance(at);
            slow_path.advance(at);
            if random.u8(..40) > 0 {
                let (key, port, size) = (random.usize(..4), random.u16(1..4), random.usize(40..1400));
                let seen = receive(&mut plane, at, key, port, size);
                assert_eq!(seen, receive(&mut slow_path, at, key, port, size), "seed {seed}, step {step}");
                packets += 1;
            } else {
                let plan = match random.u8(..3) {
                    0 => Plan::removal(SEID),
                    1 => session(kbps),
                    _ => Plan::update(SEID, vec![Op::PutQer(limited(random.u64(50..5_000)).into())]),
                };
                assert_eq!(plane.apply(at, &plan), slow_path.apply(at, &plan), "seed {seed}, step {step}");
            }
            assert_eq!(plane.poll_event(), slow_path.poll_event(), "seed {seed}, step {step}");
            assert_eq!(plane.counters(), slow_path.counters(), "seed {seed}, step {step}");
            let states = [plane.session_state(at, SEID), slow_path.session_state(at, SEID)];
            assert_eq!(states[0], states[1], "seed {seed}, step {step}");
        }
        slow += plane.pipeline().counters().slow.iter().sum::<u64>();
        dropped += plane.counters().dropped(DropReason::MbrExceeded);
    }
    assert!(slow * 2 < packets && dropped > packets / 50, "{slow} of {packets} slow, {dropped} dropped");
}
