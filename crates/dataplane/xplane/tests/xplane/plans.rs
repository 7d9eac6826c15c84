//! Random worlds of the whole data plane: several queue pairs, several packets in flight, a network that loses, and plans. A generation is
//! raised by a plan alone, and what it says holds from its result on.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::task::Poll;

use causeway_dataplane::{
    Applied, ApplyError, Dataplane, DropReason, Egress, Event, PacketEngine, PlanId, ReceiveSource,
    TransmitQueue,
};
use causeway_memory::ModelParameters;
use causeway_model::{
    ApplyAction, DirectionalLimit, Far, FlowAddress, FlowDescription, FlowEnd, Forwarding, HeaderRemoval,
    MeasurementMethod, Op, Pdi, Pdr, Plan, Qer, RateLimit, RuleSet, SdfFilter, SessionChange, UeAddress,
    UeSide, Urr, Usage, UsageLimits,
};
use causeway_packet::gtpu::prefix;
use causeway_packet::{Batch, Frame, IpProtocol, Ipv4, Ipv4Repr, Meta};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{
    Bitrate, FTeid, FarId, Interface, NetworkInstance, PdrId, QerId, ReportingTriggers, Seid, Span, Teid,
    Time, UrrId,
};
use causeway_xplane::{ModelPlane, Sizes};

use crate::plane::{now, topology};

const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);
const UES: u8 = 4;
/// The type of GTP-U messages with a user packet.
const G_PDU: u8 = 255;
/// Flows of a UE in a direction, by the server's port from 1 on.
const FLOWS: u16 = 6;
const BUFFER: ApplyAction = ApplyAction::Buffer { notify: true };

fn seid(ue: u8) -> Seid {
    Seid(100 + u64::from(ue))
}

fn ue_of(seid: Seid) -> u8 {
    (seid.0 - 100) as u8
}

fn address(ue: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 45, 0, ue)
}

fn uplink(action: ApplyAction) -> Far {
    Far { action, ..Far::forward(FarId(1), Forwarding::to(Interface::Core)) }
}

/// Each version of a session's rules has a tunnel of its own at the gNB.
fn downlink(ue: u8, version: u32, action: ApplyAction) -> Far {
    let tunnel = FTeid { teid: Teid::new(0x2000 + version * 16 + u32::from(ue)).unwrap(), addr: GNB.into() };
    Far { action, ..Far::forward(FarId(2), Forwarding::into_tunnel(Interface::Access, tunnel)) }
}

/// A session with a PDR of each direction for each of the first ports. With limits it has a rate and a volume threshold, too.
fn session(ue: u8, pdrs: u16, [up, down]: [Far; 2], is_limited: bool) -> Plan {
    let mut rules = RuleSet::default();
    let mut add = |id: u16, port: u16, pdi: Pdi, far: FarId, removal| {
        let end = |ports| FlowEnd { address: FlowAddress::Any, ports };
        let flow = FlowDescription { protocol: None, remote: end(vec![port..=port]), local: end(vec![]) };
        let pdr = Pdr::new(PdrId(id), Pdi { filters: vec![SdfFilter::from(flow)], ..pdi }, far);
        let qers = is_limited.then_some(QerId(1)).into_iter().collect();
        let urrs = [UrrId(1)].into_iter().collect();
        rules.pdrs.insert(pdr.id, Pdr { removal, urrs, qers, ..pdr });
    };
    for port in 1..=pdrs {
        let tunnel = Some(FTeid { teid: Teid::new(0x1000 + u32::from(ue)).unwrap(), addr: N3.into() });
        let pdi = Pdi { tunnel, ..Pdi::new(Interface::Access) };
        add(port, port, pdi, FarId(1), Some(HeaderRemoval::GTPU_IPV4));
        let ue = Some(UeAddress { v4: Some(address(ue)), v6: None, side: UeSide::Destination });
        let network_instance = Some(NetworkInstance::new("internet"));
        add(100 + port, port, Pdi { ue, network_instance, ..Pdi::new(Interface::Core) }, FarId(2), None);
    }
    rules.fars.insert(FarId(1), up);
    rules.fars.insert(FarId(2), down);
    let method = MeasurementMethod { volume: true, ..MeasurementMethod::default() };
    let mut urr = Urr::new(UrrId(1), method);
    if is_limited {
        let rate = Bitrate::from_kbps(20_000).unwrap();
        let mbr = Some(RateLimit { uplink: rate, downlink: rate });
        rules.qers.insert(QerId(1), Qer { mbr, ..Qer::new(QerId(1)) });
        let volume = Some(DirectionalLimit { total: Some(9_000), ..DirectionalLimit::default() });
        urr.triggers = ReportingTriggers::VOLTH;
        urr.thresholds = UsageLimits { volume, ..UsageLimits::default() };
    }
    rules.urrs.insert(UrrId(1), urr);
    Plan::install(seid(ue), rules)
}

/// A packet of a flow, with its number. A first fragment is for the slow path.
fn packet(number: u32, ue: u8, is_uplink: bool, port: u16, size: usize, is_fragment: bool) -> Vec<u8> {
    let (mut user, mut udp) = (Vec::new(), vec![0; size]);
    let (ports, ends) =
        if is_uplink { ([1000, port], (address(ue), SERVER)) } else { ([port, 1000], (SERVER, address(ue))) };
    udp[..4].copy_from_slice(&ports.map(u16::to_be_bytes).concat());
    udp[8..12].copy_from_slice(&number.to_be_bytes());
    Ipv4Repr::new(ends.0, ends.1, IpProtocol::UDP).write(&[], &udp, &mut user).unwrap();
    if is_fragment {
        user[6] = 0x20;
        let header = Ipv4::parse(&user).unwrap().repr().header(udp.len()).unwrap();
        user[10..12].copy_from_slice(&header[10..12]);
    }
    if !is_uplink {
        return user;
    }
    let header = prefix::without_extensions(Teid::new(0x1000 + u32::from(ue)).unwrap(), user.len()).unwrap();
    [&header[..], &user].concat()
}

type Sent = Vec<(Egress, Vec<u8>)>;

/// The user packet of what was sent, and the number in it. `None`: it is an Error Indication, for a tunnel without a session.
fn user((egress, packet): &(Egress, Vec<u8>)) -> Option<(&[u8], u32)> {
    let user = match egress {
        Egress::Gtpu { .. } if packet[1] != G_PDU => return None,
        Egress::Gtpu { .. } => &packet[8..],
        _ => packet,
    };
    Some((user, u32::from_be_bytes(user[28..32].try_into().unwrap())))
}

fn receive(plane: &mut impl PacketEngine, at: Time, is_uplink: bool, packets: &[Vec<u8>], sent: &mut Sent) {
    let (mut queue, mut batch) = (TransmitQueue::default(), Batch::new());
    let tunnel = Meta::Gtpu { local: N3.into(), peer: (GNB, 2152).into(), tos: 0, hops: None };
    let (meta, source) =
        if is_uplink { (tunnel, ReceiveSource::Gtpu) } else { (Meta::Ip, ReceiveSource::Network(0)) };
    assert!(packets.iter().all(|data| batch.push(Frame { meta, data })));
    plane.process_batch(at, source, &mut batch, &mut queue);
    queue.transmit_all(&batch, plane.topology(), sent);
}

/// A packet that came.
struct Came {
    ue: u8,
    is_uplink: bool,
    port: u16,
    at: Time,
}

/// What the worlds had in them.
#[derive(Default, Debug)]
pub(crate) struct Seen {
    worlds: u64,
    packets: u64,
    sent: u64,
    hits: u64,
    joined: u64,
    plans: u64,
    /// Plans whose result came later.
    pending: u64,
    reports: u64,
    /// Packets that the memory lost, and those that found a ring full.
    lost: u64,
    full: u64,
    over_rate: u64,
    /// Worlds in which all is as on the slow path.
    equal: u64,
    most_in_flight: usize,
}

/// The data plane, and the slow path, which has no limits and no delay.
struct World {
    seed: u64,
    plane: ModelPlane,
    slow_path: SlowPath,
    at: Time,
    is_limited: bool,
    is_prompt: bool,
    sent: Sent,
    expected: Sent,
    came: Vec<Came>,
    /// Plans without a result, as they are for both.
    waiting: VecDeque<(PlanId, Plan)>,
    plans: u64,
    pending: u64,
    reports: u64,
    /// Reported of each UE: octets and packets from it and to it.
    reported: BTreeMap<u8, [(u64, u64); 2]>,
    /// When each UE had a new session last.
    installed: BTreeMap<u8, Time>,
    /// A result differs, or an amount in it.
    differing: Option<String>,
    most_in_flight: usize,
}

impl World {
    fn take_usage(&mut self, seid: Seid, usage: &[Usage]) {
        let reported = self.reported.entry(ue_of(seid)).or_default();
        for volume in usage.iter().filter_map(|usage| usage.volume) {
            reported[0] = (reported[0].0 + volume.uplink, reported[0].1 + volume.uplink_packets);
            reported[1] = (reported[1].0 + volume.downlink, reported[1].1 + volume.downlink_packets);
        }
    }

    fn take_result(&mut self, slow: &Plan, plan: Seid, result: Result<Applied, ApplyError>) {
        self.plane.flush(&mut self.sent);
        let expected = self.slow_path.apply(self.at, slow);
        self.slow_path.flush(&mut self.expected);
        let volumes = |result: &Result<Applied, ApplyError>| {
            result
                .as_ref()
                .map(|applied| applied.usage.iter().map(|usage| usage.volume).collect::<Vec<_>>())
                .ok()
        };
        if volumes(&result) != volumes(&expected) {
            self.differing = Some(format!("{result:?} instead of {expected:?}"));
        }
        assert_eq!(result.is_ok(), expected.is_ok(), "seed {}: {result:?}, {expected:?}", self.seed);
        if let Ok(applied) = result {
            self.take_usage(plan, &applied.usage);
            if matches!(slow.change, SessionChange::Install(_)) {
                self.installed.insert(ue_of(plan), self.at);
            }
        }
    }

    /// Time passes until then: what is due is done.
    fn advance(&mut self, at: Time) {
        self.at = at;
        self.plane.advance(at);
        self.plane.flush(&mut self.sent);
        self.slow_path.advance(at);
        self.slow_path.flush(&mut self.expected);
        while let Some((id, result)) = self.plane.poll_applied(at) {
            let place =
                self.waiting.iter().position(|(waiting, _)| *waiting == id).expect("it was asked for");
            let (_, plan) = self.waiting.remove(place).unwrap();
            self.take_result(&plan, plan.session, result);
        }
        while let Some(event) = self.plane.poll_event() {
            if let Event::Usage { session, usage } = event {
                self.reports += 1;
                self.take_usage(session, &usage);
            }
        }
    }

    /// The plan for the data plane, and what the slow path gets for it.
    fn submit(&mut self, plan: &Plan, slow: Plan) {
        self.plans += 1;
        let id = PlanId(self.plans);
        match self.plane.submit(self.at, id, plan) {
            Poll::Ready(result) => self.take_result(&slow, plan.session, result),
            Poll::Pending => {
                self.pending += 1;
                self.waiting.push_back((id, slow));
            }
        }
    }

    fn receive(&mut self, random: &mut fastrand::Rng) {
        let is_uplink = random.bool();
        let mut packets = Vec::new();
        for _ in 0..random.usize(1..20) {
            let (ue, port) = (random.u8(1..=UES), random.u16(1..=FLOWS));
            let is_fragment = random.u8(..20) == 0;
            let number = self.came.len() as u32;
            packets.push(packet(number, ue, is_uplink, port, random.usize(40..900), is_fragment));
            self.came.push(Came { ue, is_uplink, port, at: self.at });
        }
        receive(&mut self.plane, self.at, is_uplink, &packets, &mut self.sent);
        receive(&mut self.slow_path, self.at, is_uplink, &packets, &mut self.expected);
        self.most_in_flight = self.most_in_flight.max(self.plane.pipeline().in_flight());
    }

    /// No packet comes any more, and all leave.
    fn drain(&mut self) {
        while !self.waiting.is_empty() || !self.is_prompt && !self.plane.pipeline().is_empty() {
            let due = self.plane.next_deadline().expect("something is under way");
            self.advance(due.max(self.at));
        }
        self.advance(self.at);
    }
}

/// Runs a world. Its sessions are installed and removed, their FARs forward, drop, buffer and change the tunnel.
pub(crate) fn check(seed: u64, seen: &mut Seen) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (is_limited, is_prompt) = (random.u8(..4) == 0, random.bool());
    let loss = [0.0, 0.0, 0.002, 0.02][random.usize(..4)];
    let queue_pairs = random.u16(1..7);
    let parameters =
        ModelParameters { queue_pairs, ports: random.u16(1..4), loss, ..ModelParameters::X_PLANE };
    let sizes = Sizes {
        ue_buckets: random.u64(4..64),
        flow_buckets: random.u64(8..128),
        rings: random.u32(1..8),
        ring: [4, 16, 64][random.usize(..3)],
        paging_rings: random.u32(0..3),
        paging_ring: random.u32(1..12),
    };
    let limits = Limits { buffer_packets_per_session: 10_000, ..Limits::default() };
    let plane = ModelPlane::over_model(topology(), limits, parameters, sizes, seed).unwrap();
    let plane =
        if is_prompt { plane.with_window(random.usize(2..40)) } else { plane.with_batches_in_flight() };
    let mut world = World {
        seed,
        plane,
        slow_path: SlowPath::new(topology(), limits),
        at: now(0),
        is_limited,
        is_prompt,
        sent: Sent::new(),
        expected: Sent::new(),
        came: Vec::new(),
        waiting: VecDeque::new(),
        plans: 0,
        pending: 0,
        reports: 0,
        reported: BTreeMap::new(),
        installed: BTreeMap::new(),
        differing: None,
        most_in_flight: 0,
    };
    let mut version = 0;
    let mut install = |random: &mut fastrand::Rng, ue: u8, world: &mut World| {
        version += 1;
        let pdrs = random.u16(1..=FLOWS);
        let actions = [ApplyAction::Forward, ApplyAction::Drop, BUFFER];
        let fars = match random.u8(..6) {
            0..=2 => [uplink(ApplyAction::Forward), downlink(ue, version, ApplyAction::Forward)],
            _ => [uplink(actions[random.usize(..2)]), downlink(ue, version, actions[random.usize(..3)])],
        };
        let plan = session(ue, pdrs, fars.clone(), world.is_limited);
        let kind = random.u8(..4);
        let (plan, slow) = match kind {
            0 if world.plans >= u64::from(UES) => (Plan::removal(seid(ue)), Plan::removal(seid(ue))),
            0 | 1 => (plan, session(ue, pdrs, fars, false)),
            _ if world.plans < u64::from(UES) => (plan, session(ue, pdrs, fars, false)),
            _ => {
                let [up, down] = fars;
                let op = if kind == 2 { up } else { down };
                let plan = Plan::update(seid(ue), vec![Op::PutFar(op.into())]);
                (plan.clone(), plan)
            }
        };
        world.submit(&plan, slow);
    };
    (1..=UES).for_each(|ue| install(&mut random, ue, &mut world));
    let gap = [300, 3_000, 30_000][random.usize(..3)];
    for _ in 0..random.u32(5..50) {
        world.advance(world.at + Span::from_nanos(random.u64(1..gap)));
        if random.u8(..6) == 0 {
            let ue = random.u8(1..=UES);
            install(&mut random, ue, &mut world);
        } else {
            world.receive(&mut random);
        }
    }
    world.drain();
    assert_world(&mut world, loss == 0.0, seen);
}

fn assert_world(world: &mut World, is_lossless: bool, seen: &mut Seen) {
    let (seed, at) = (world.seed, world.at);
    let counters = world.plane.counters();
    assert_eq!(
        counters.received(),
        counters.forwarded + counters.total_drops() + counters.buffered + counters.consumed,
        "seed {seed}"
    );
    let (lost, full) =
        (counters.dropped(DropReason::ExternalMemory), counters.dropped(DropReason::BufferFull));
    assert!(!is_lossless || lost == 0, "seed {seed}: {lost} packets are lost");
    // Each packet once, those of a flow in order, and each as the rules say that were in force when it came.
    let expected: BTreeMap<u32, &(Egress, Vec<u8>)> =
        world.expected.iter().filter_map(|sent| Some((user(sent)?.1, sent))).collect();
    let (mut last, mut counted) = (BTreeMap::new(), BTreeMap::<u8, [(u64, u64); 2]>::new());
    let mut latest = BTreeMap::<u8, Time>::new();
    for sent in &world.sent {
        let Some((user, number)) = user(sent) else { continue };
        let Came { ue, is_uplink, port, at } = world.came[number as usize];
        let before = last.insert((ue, is_uplink, port), number);
        assert!(before.is_none_or(|before| before < number), "seed {seed}: {before:?} passed {number}");
        assert_eq!(expected.get(&number), Some(&sent), "seed {seed}: packet {number}, UE {ue}");
        let counted = &mut counted.entry(ue).or_default()[usize::from(!is_uplink)];
        *counted = (counted.0 + user.len() as u64, counted.1 + 1);
        if world.installed.get(&ue).is_none_or(|installed| *installed < at) {
            latest.entry(ue).and_modify(|latest| *latest = at.max(*latest)).or_insert(at);
        }
    }
    let missing =
        expected.len() - counted.values().flatten().map(|(_, packets)| *packets as usize).sum::<usize>();
    let over_rate = counters.dropped(DropReason::MbrExceeded);
    assert!(missing as u64 <= lost + full + over_rate, "seed {seed}: {missing} are missing, {counters:?}");
    // Nothing but the order differs from the slow path.
    let is_equal = !world.is_limited && lost + full == 0;
    if is_equal {
        assert_eq!(world.differing, None, "seed {seed}");
        assert_eq!(counters, world.slow_path.counters(), "seed {seed}");
        seen.equal += 1;
    }
    for ue in 1..=UES {
        let states = [&mut world.plane as &mut dyn Dataplane, &mut world.slow_path]
            .map(|plane| plane.session_state(at, seid(ue)));
        let [Some(state), Some(expected)] = &states else {
            assert_eq!(states[0].is_some(), states[1].is_some(), "seed {seed}, UE {ue}");
            continue;
        };
        if is_equal && world.is_prompt {
            assert_eq!(
                (&state.usage, state.last_packet),
                (&expected.usage, expected.last_packet),
                "seed {seed}, UE {ue}"
            );
        }
        // Nothing that was sent came later than the last packet.
        let latest = latest.get(&ue).copied();
        assert!(state.last_packet >= latest, "seed {seed}, UE {ue}: {:?}, {latest:?}", state.last_packet);
    }
    // All usage to the octet: the sessions end.
    for ue in 1..=UES {
        world.submit(&Plan::removal(seid(ue)), Plan::removal(seid(ue)));
    }
    world.drain();
    for ue in 1..=UES {
        let of = |of: &BTreeMap<u8, [(u64, u64); 2]>| of.get(&ue).copied().unwrap_or_default();
        assert_eq!(of(&world.reported), of(&counted), "seed {seed}, UE {ue}");
    }
    let of_pipeline = *world.plane.pipeline().counters();
    seen.worlds += 1;
    seen.packets += world.came.len() as u64;
    seen.sent += world.sent.len() as u64;
    seen.hits += of_pipeline.hits;
    seen.joined += of_pipeline.joined;
    seen.plans += world.plans;
    seen.pending += world.pending;
    seen.reports += world.reports;
    seen.lost += lost;
    seen.full += full;
    seen.over_rate += over_rate;
    seen.most_in_flight = seen.most_in_flight.max(world.most_in_flight);
}

fn worlds(seeds: std::ops::Range<u64>) -> Seen {
    let mut seen = Seen::default();
    seeds.for_each(|seed| check(seed, &mut seen));
    seen
}

// Input:  1,000 worlds: up to 50 batches of packets of 48 flows of four UEs, and plans between them, over one to six queue pairs to memory servers, of which half lose a
//         part of all messages; whole batches in flight, or a part of one, or several; few buckets, short rings, idle UEs; in a quarter
//         rates and volume thresholds.
// Output: each packet leaves once, by the rules that were in force when it came, none before an earlier one of its flow; all usage is reported to the octet. None is lost
//         without a loss on the way. Without limits, and if no ring is full, counters, results and states are those of the slow path.
#[test]
fn plans_hold_from_their_results_on() {
    let seen = worlds(0..1_000);
    assert!(seen.hits > seen.packets / 20 && seen.joined > seen.packets / 100, "{seen:?}");
    assert!(seen.sent > seen.packets / 3 && seen.most_in_flight > 60, "{seen:?}");
    assert!(seen.lost > 0 && seen.lost * 50 < seen.packets && seen.full > 0, "{seen:?}");
    assert!(seen.plans > 5_000 && seen.pending > 10 && seen.reports > 100, "{seen:?}");
    assert!(seen.over_rate > 0 && seen.equal > 200, "{seen:?}");
}

// Input:  10,000 other worlds.
// Output: as above.
#[test]
#[ignore = "takes minutes: `cargo test -p causeway-xplane --test xplane -- --ignored plans`"]
fn plans_hold_in_ten_thousand_worlds() {
    let seen = worlds(1_000..11_000);
    assert!(seen.worlds == 10_000 && seen.equal > 4_000, "{seen:?}");
}
