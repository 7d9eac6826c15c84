//! Heavy hitters: the fast path, the slow path and the detector alone see the same.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use causeway_dataplane::{
    Dataplane, Event, FiveTuple, FlowKind, GtpuEndpoint, HeavyHitterSettings, Network, PacketEngine,
    ReceiveSource, Threshold, Topology, TransmitQueue,
};
use causeway_fastpath::FastPath;
use causeway_model::{Far, Forwarding, HeaderRemoval, Pdi, Pdr, Plan, RuleSet, UeAddress, UeSide};
use causeway_packet::gtpu::prefix;
use causeway_packet::{Batch, Frame, IpProtocol, IpRepr, Meta, UdpRepr};
use causeway_slowpath::{Limits, SlowPath};
use causeway_traffic::{Random, Sliding, UnitSampler};
use causeway_types::{
    Direction, FTeid, FarId, Interface, Ipv6Net, NetworkInstance, PdrId, Seid, Span, Teid, Time,
};

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
const SESSIONS: u32 = 40;
const SETTINGS: HeavyHitterSettings = HeavyHitterSettings {
    threshold: Threshold::BitsPerSecond(200_000),
    window: Span::from_millis(400),
    // Few slots for the flows there are, so that they contend.
    memory: 16 * 64,
    kind: FlowKind::FiveTuple,
    seed: 11,
};

fn ue(session: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a2d_0002 + session)
}

fn ue_v6(session: u32) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, session as u16, 0, 0, 0, 0, 1)
}

fn teid(session: u32) -> Teid {
    Teid::new(0x1000 + session).unwrap()
}

fn topology() -> Topology {
    let pools = vec!["10.45.0.0/16".parse().unwrap(), "2001:db8::/32".parse().unwrap()];
    Topology {
        gtpu: vec![GtpuEndpoint::new(UPF.into())],
        networks: vec![Network::new(NetworkInstance::new("internet"), pools)],
        ..Topology::default()
    }
}

/// A session of both IP versions that forwards both ways.
fn session(number: u32) -> Plan {
    let ue = |side| {
        let v6 = Ipv6Net::new(ue_v6(number), 64).unwrap().trunc();
        Some(UeAddress { v4: Some(ue(number)), v6: Some(v6), side })
    };
    let tunnel = Some(FTeid { teid: teid(number), addr: UPF.into() });
    let uplink = Pdi { tunnel, ue: ue(UeSide::Source), ..Pdi::new(Interface::Access) };
    let downlink = Pdi { ue: ue(UeSide::Destination), ..Pdi::new(Interface::Core) };
    let to = FTeid { teid: Teid::new(0x2000 + number).unwrap(), addr: GNB.into() };
    let mut rules = RuleSet::default();
    let removal = Some(HeaderRemoval::GTPU_IPV4);
    rules.pdrs.insert(PdrId(1), Pdr { removal, ..Pdr::new(PdrId(1), uplink, FarId(1)) });
    rules.pdrs.insert(PdrId(2), Pdr::new(PdrId(2), downlink, FarId(2)));
    rules.fars.insert(FarId(1), Far::forward(FarId(1), Forwarding::to(Interface::Core)));
    rules.fars.insert(FarId(2), Far::forward(FarId(2), Forwarding::into_tunnel(Interface::Access, to)));
    Plan::install(Seid(u64::from(number) + 1), rules)
}

/// A packet of the trace: its session, its direction, its flow, and the packet.
struct Recorded {
    session: u32,
    direction: Direction,
    flow: FiveTuple,
    user: Vec<u8>,
    /// Nothing forwards it.
    is_dropped: bool,
}

/// A random packet: a tenth of IPv6, a tenth with IP options, which the fast path parses in another way, a few of no session.
fn record(random: &mut Random) -> Recorded {
    let mut below = |most: u16| random.bits() % most;
    // A few sessions have most of the traffic.
    let session = u32::from(below(40).min(below(40)).min(below(40)));
    let is_dropped = below(20) == 0;
    let (is_v6, has_options, is_uplink) = (below(10) == 0, below(10) == 0, below(2) == 0);
    let here: IpAddr = match is_v6 {
        true => ue_v6(session).into(),
        false => ue(session + if is_dropped { 1000 } else { 0 }).into(),
    };
    let there: IpAddr =
        if is_v6 { "2001:db9::9".parse().unwrap() } else { [198, 51, 100, below(3) as u8].into() };
    let ports = (40_000 + below(2), 443);
    let payload = vec![0; usize::from(below(1300))];
    let (src, dst, src_port, dst_port) = match is_uplink {
        true => (here, there, ports.0, ports.1),
        false => (there, here, ports.1, ports.0),
    };
    let mut user = Vec::new();
    let ip = IpRepr::new(src, dst, IpProtocol::UDP).unwrap();
    ip.write_udp(UdpRepr { src_port, dst_port }, true, &[&payload], &mut user).unwrap();
    if has_options && !is_v6 {
        // Four No Operations.
        user[0] += 1;
        let len = (u16::from_be_bytes([user[2], user[3]]) + 4).to_be_bytes();
        (user[2], user[3]) = (len[0], len[1]);
        user.splice(20..20, [1; 4]);
        (user[10], user[11]) = (0, 0);
        let mut sum: u32 =
            user[..24].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        [user[10], user[11]] = (!(sum as u16)).to_be_bytes();
    }
    let direction = if is_uplink { Direction::Uplink } else { Direction::Downlink };
    let flow = FiveTuple { addresses: (src, dst), ports: (src_port, dst_port), protocol: 17 };
    Recorded { session, direction, flow, user, is_dropped: is_dropped && !is_v6 }
}

fn frame(packet: &Recorded) -> (Meta, Vec<u8>) {
    match packet.direction {
        Direction::Downlink => (Meta::Ip, packet.user.clone()),
        Direction::Uplink => {
            let header = prefix::without_extensions(teid(packet.session), packet.user.len()).unwrap();
            let meta = Meta::Gtpu { local: UPF.into(), peer: (GNB, 2152).into(), tos: 0, hops: None };
            (meta, [&header[..], &packet.user].concat())
        }
    }
}

fn events(plane: &mut impl Dataplane) -> Vec<Event> {
    std::iter::from_fn(|| plane.poll_event()).collect()
}

// Input:  a trace of 60,000 packets of 40 sessions in batches of up to 64, uplink and downlink, IPv4 with and without
//         options and IPv6, some that nothing forwards; 5-tuples and UE addresses; 160 slots for them.
// Output: after each batch the detectors of fast and slow path are slot by slot equal to one that is given the forwarded
//         packets alone; both list the same flows with the same rates, name the right session, and report the same events;
//         the fast path forwards most packets.
#[test]
fn all_see_the_same() {
    for kind in [FlowKind::FiveTuple, FlowKind::UeAddress] {
        let settings = HeavyHitterSettings { kind, ..SETTINGS };
        let start = Time::from_secs(1_700_000_000);
        let mut fast = FastPath::new(topology(), Limits { max_sessions: 64, ..Limits::default() }).unwrap();
        let mut slow = SlowPath::new(topology(), Limits::default());
        let config = settings.sliding().unwrap();
        let (mut alone, keys) = (Sliding::new(&config).unwrap(), settings.keys());
        let mut units = UnitSampler::new(config.unit, Random::with_seed(settings.units_seed()));
        fast.set_heavy_hitters(start, Some(&settings));
        slow.set_heavy_hitters(start, Some(&settings));
        for number in 0..SESSIONS {
            fast.apply(start, &session(number)).unwrap();
            slow.apply(start, &session(number)).unwrap();
        }
        let (mut random, mut now, mut packets, mut began) = (Random::with_seed(5), start, 0, 0);
        let (mut batch, mut queue) = (Batch::new(), TransmitQueue::default());
        while packets < 60_000 {
            now = now + Span::from_micros(u64::from(random.bits()) / 16);
            let wanted = if random.bits() % 2 == 0 { Direction::Uplink } else { Direction::Downlink };
            let most = 1 + usize::from(random.bits() % 64);
            let group: Vec<_> = (0..2 * most)
                .map(|_| record(&mut random))
                .filter(|packet| packet.direction == wanted)
                .take(most)
                .collect();
            let source = match wanted {
                Direction::Uplink => ReceiveSource::Gtpu,
                Direction::Downlink => ReceiveSource::Network(0),
            };
            fast.advance(now);
            slow.advance(now);
            batch.clear();
            for packet in &group {
                let (meta, data) = frame(packet);
                let ingress = topology().ingress(source, &meta).unwrap();
                slow.process(now, &ingress, &data, &mut Vec::new());
                assert!(batch.push(Frame { meta, data: &data }));
                if !packet.is_dropped {
                    let key = keys.key(packet.direction, &packet.flow);
                    match units.of(packet.user.len() as u32) {
                        0 => {}
                        units => drop(alone.observe_units(key, units, now)),
                    }
                }
            }
            fast.process_batch(now, source, &mut batch, &mut queue);
            packets += group.len();
            assert_eq!(fast.slow_path().heavy_flows().unwrap().detector(), &alone);
            assert_eq!(slow.heavy_flows().unwrap().detector(), &alone);
            let (one, other) = (events(&mut fast), events(&mut slow));
            assert_eq!(one, other);
            for event in one {
                let Event::HeavyHitter { hitter, is_over } = event else { panic!("{event:?}") };
                began += u32::from(!is_over);
                let flow = &hitter.flow;
                let is_of = |number| {
                    flow.ue.contains(&IpAddr::from(ue(number)))
                        || flow.ue.contains(&IpAddr::from(ue_v6(number)))
                };
                let session = (0..SESSIONS).find(|number| is_of(*number)).unwrap();
                assert_eq!(flow.session, Some(Seid(u64::from(session) + 1)));
                assert_eq!(flow.transport.is_some(), kind == FlowKind::FiveTuple);
            }
            let (one, other) = (fast.heavy_hitters(now), slow.heavy_hitters(now));
            assert_eq!(one, other);
        }
        assert!(began > 10, "{began}");
        let counts = fast.heavy_hitters(now).unwrap().counts;
        assert!(counts.detector.replacements > 100, "{counts:?}");
        assert!(fast.fast_path_packets() > 40_000, "{}", fast.fast_path_packets());
        assert_eq!(fast.counters().forwarded, slow.counters().forwarded);
    }
}
