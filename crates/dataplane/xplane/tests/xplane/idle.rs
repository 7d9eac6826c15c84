//! Packets of idle UEs, whose octets wait in external memory.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use causeway_dataplane::{
    Counters, Dataplane, Disposition, DropReason, Egress, Event, Ingress, PacketEngine, PlanId,
};
use causeway_memory::{Failure, Model, ModelParameters, Place, Regions};
use causeway_model::{
    ApplyAction, Bar, Far, Forwarding, MeasurementMethod, Op, Pdi, Pdr, Plan, RuleSet, UeAddress, UeSide, Urr,
};
use causeway_packet::{IpProtocol, Ipv4Repr};
use causeway_slowpath::{Limits, SlowPath, WhenFull};
use causeway_types::{BarId, FTeid, FarId, Interface, NetworkInstance, PdrId, Seid, Span, Teid, Time, UrrId};
use causeway_xplane::{MODEL_RKEY, ModelPlane, Paged, Pipeline, PipelineConfig, Sizes};

use crate::plane::{now, topology};
use crate::worlds::{SIZES, jitter};

/// Packets of a ring.
const RING: usize = 8;

fn plane(limits: Limits) -> ModelPlane {
    let sizes = Sizes {
        ue_buckets: 64,
        flow_buckets: 256,
        rings: 4,
        ring: 16,
        paging_rings: 2,
        paging_ring: RING as u32,
    };
    let parameters = ModelParameters { queue_pairs: 4, ..ModelParameters::X_PLANE };
    ModelPlane::over_model(topology(), limits, parameters, sizes, 1).unwrap()
}

fn seid(ue: u8) -> Seid {
    Seid(100 + u64::from(ue))
}

fn far(ue: u8, action: ApplyAction) -> Far {
    let gnb = Ipv4Addr::new(192, 0, 2, 11);
    let tunnel = FTeid { teid: Teid::new(0x2000 + u32::from(ue)).unwrap(), addr: gnb.into() };
    let forwarding = Forwarding::into_tunnel(Interface::Access, tunnel);
    let buffers = matches!(action, ApplyAction::Buffer { .. });
    Far { action, bar: buffers.then_some(BarId(1)), ..Far::forward(FarId(1), forwarding) }
}

const BUFFER: ApplyAction = ApplyAction::Buffer { notify: true };

/// The downlink of a UE, which is idle or not, is counted. Its BAR suggests so many packets.
fn install(ue: u8, action: ApplyAction, suggested: Option<u16>) -> Plan {
    let address = UeAddress { v4: Some(Ipv4Addr::new(10, 45, 0, ue)), v6: None, side: UeSide::Destination };
    let instance = Some(NetworkInstance::new("internet"));
    let pdi = Pdi { ue: Some(address), network_instance: instance, ..Pdi::new(Interface::Core) };
    let mut rules = RuleSet::default();
    rules.pdrs.insert(
        PdrId(1),
        Pdr { urrs: [UrrId(1)].into_iter().collect(), ..Pdr::new(PdrId(1), pdi, FarId(1)) },
    );
    rules.fars.insert(FarId(1), far(ue, action));
    rules.bars.insert(BarId(1), Bar { suggested_packets: suggested, ..Bar::new(BarId(1)) });
    rules.urrs.insert(
        UrrId(1),
        Urr::new(UrrId(1), MeasurementMethod { volume: true, ..MeasurementMethod::default() }),
    );
    Plan::install(seid(ue), rules)
}

fn change(ue: u8, action: ApplyAction) -> Plan {
    Plan::update(seid(ue), vec![Op::PutFar(far(ue, action).into())])
}

/// A packet for a UE with a number in it.
fn downlink(ue: u8, number: u16, size: usize) -> Vec<u8> {
    let (mut packet, mut udp) = (Vec::new(), vec![0; size]);
    udp[..2].copy_from_slice(&7_u16.to_be_bytes());
    udp[8..10].copy_from_slice(&number.to_be_bytes());
    let (server, ue) = (Ipv4Addr::new(198, 51, 100, 9), Ipv4Addr::new(10, 45, 0, ue));
    Ipv4Repr::new(server, ue, IpProtocol::UDP).write(&[], &udp, &mut packet).unwrap();
    packet
}

/// What a data plane has sent.
type Sent = Vec<(Egress, Vec<u8>)>;

fn receive(plane: &mut impl PacketEngine, at: Time, packet: &[u8], sent: &mut Sent) -> Disposition {
    let ingress = Ingress::Ip { network: NetworkInstance::new("internet") };
    plane.process(at, &ingress, packet, sent)
}

/// The same, whatever becomes of it.
fn deliver(plane: &mut impl PacketEngine, at: Time, packet: &[u8], sent: &mut Sent) {
    let _ = receive(plane, at, packet, sent);
}

fn apply(plane: &mut impl PacketEngine, at: Time, plan: &Plan, sent: &mut Sent) {
    plane.apply(at, plan).unwrap();
    plane.flush(sent);
}

/// The numbers of what was sent, behind the GTP-U header.
fn numbers(sent: &Sent) -> Vec<u16> {
    let number = |packet: &[u8]| {
        let user = packet.len() - usize::from(u16::from_be_bytes([packet[2], packet[3]]));
        u16::from_be_bytes([packet[user + 28], packet[user + 29]])
    };
    sent.iter().map(|(_, packet)| number(packet)).collect()
}

/// Each packet that was received is in one counter.
fn assert_each_counted(counters: &Counters) {
    let ends = counters.forwarded + counters.buffered + counters.consumed + counters.total_drops();
    assert_eq!(counters.received(), ends, "{counters:?}");
}

// Input:  twelve packets for an idle UE, whose ring holds eight; it is connected, idle again after two packets, and connected again.
// Output: eight wait in external memory and four with the slow path; all leave in the order in which they came.
#[test]
fn packets_wait_in_external_memory_and_leave_in_order() {
    let (mut plane, mut sent) = (plane(Limits::default()), Sent::new());
    apply(&mut plane, now(0), &install(1, BUFFER, None), &mut sent);
    for number in 0..12 {
        let disposition = receive(&mut plane, now(1), &downlink(1, number, 100), &mut sent);
        assert_eq!(disposition, Disposition::Buffered);
    }
    assert_eq!((plane.paged_packets(), plane.counters().buffered, sent.len()), (RING, 12, 0));
    apply(&mut plane, now(2), &change(1, ApplyAction::Forward), &mut sent);
    assert_eq!(plane.paged_packets(), 0);
    (12..14).for_each(|number| deliver(&mut plane, now(3), &downlink(1, number, 100), &mut sent));
    apply(&mut plane, now(4), &change(1, BUFFER), &mut sent);
    (14..16).for_each(|number| deliver(&mut plane, now(5), &downlink(1, number, 100), &mut sent));
    assert_eq!(plane.paged_packets(), 2);
    apply(&mut plane, now(6), &change(1, ApplyAction::Forward), &mut sent);
    assert_eq!(numbers(&sent), (0..16).collect::<Vec<_>>());
    assert_each_counted(&plane.counters());
}

// Input:  batches in flight; seven packets for an idle UE, which is then connected; while they are read, a packet for another UE, one for this one, and
//         a second plan.
// Output: the plan is in flight, and the other UE's packet passes meanwhile; then both plans have a result, in their order, and all packets leave in
//         the order in which they came.
#[test]
fn a_release_lets_others_pass() {
    let (mut plane, mut sent) = (plane(Limits::default()).with_batches_in_flight(), Sent::new());
    apply(&mut plane, now(0), &install(1, BUFFER, None), &mut sent);
    apply(&mut plane, now(0), &install(2, ApplyAction::Forward, None), &mut sent);
    for number in 0..7 {
        assert_eq!(receive(&mut plane, now(1), &downlink(1, number, 100), &mut sent), Disposition::Buffered);
    }
    assert_eq!(plane.paged_packets(), 7);
    let (connected, idle) = (change(1, ApplyAction::Forward), change(1, BUFFER));
    assert!(plane.submit(now(2), PlanId(1), &connected).is_pending());
    assert_eq!(plane.poll_applied(now(2)), None);
    assert_eq!(receive(&mut plane, now(2), &downlink(2, 100, 100), &mut sent), Disposition::Forwarded);
    assert_eq!(numbers(&sent), [100]);
    assert_eq!(receive(&mut plane, now(2), &downlink(1, 7, 100), &mut sent), Disposition::Buffered);
    assert!(plane.submit(now(2), PlanId(2), &idle).is_pending(), "it is behind the first");
    let (mut results, mut at) = (Vec::new(), now(2));
    while results.len() < 2 {
        while let Some((id, result)) = plane.poll_applied(at) {
            results.push((id, result.is_ok()));
            plane.flush(&mut sent);
        }
        at = at.max(plane.next_deadline().unwrap_or(at));
        plane.advance(at);
        plane.flush(&mut sent);
    }
    assert_eq!(results, [(PlanId(1), true), (PlanId(2), true)]);
    assert_eq!(numbers(&sent), [100, 0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(receive(&mut plane, at, &downlink(1, 8, 100), &mut sent), Disposition::Buffered);
    assert_each_counted(&plane.counters());
}

// Input:  a BAR of two packets, a ring of eight; four packets. The same with a configuration that drops the oldest one.
// Output: the first two leave; the last two do, from the middle of a ring out of which two were taken. The others are counted.
#[test]
fn a_bar_of_fewer_packets_than_the_ring_holds() {
    for (when_full, expected) in [(WhenFull::DropNewest, [0, 1]), (WhenFull::DropOldest, [2, 3])] {
        let limits = Limits { when_full, ..Limits::default() };
        let (mut plane, mut sent) = (plane(limits), Sent::new());
        apply(&mut plane, now(0), &install(1, BUFFER, Some(2)), &mut sent);
        (0..4).for_each(|number| deliver(&mut plane, now(1), &downlink(1, number, 100), &mut sent));
        assert_eq!((plane.paged_packets(), plane.counters().dropped(DropReason::BufferFull)), (2, 2));
        apply(&mut plane, now(2), &change(1, ApplyAction::Forward), &mut sent);
        assert_eq!(numbers(&sent), expected);
        assert_each_counted(&plane.counters());
    }
}

// Input:  packets wait for two idle UEs, which have both rings, and for a third; the first one's session is deleted, then the third gets
//         another packet.
// Output: the packets of the deleted session are counted; its ring is the third's; all others leave.
#[test]
fn the_ring_of_a_deleted_session_is_free() {
    let (mut plane, mut sent) = (plane(Limits::default()), Sent::new());
    for ue in 1..4 {
        apply(&mut plane, now(0), &install(ue, BUFFER, None), &mut sent);
        (0..3).for_each(|number| deliver(&mut plane, now(1), &downlink(ue, number, 100), &mut sent));
    }
    assert_eq!(plane.paged_packets(), 6);
    apply(&mut plane, now(2), &Plan::removal(seid(1)), &mut sent);
    assert_eq!((plane.paged_packets(), plane.counters().dropped(DropReason::BufferDiscarded)), (3, 3));
    deliver(&mut plane, now(3), &downlink(3, 3, 100), &mut sent);
    assert_eq!(plane.paged_packets(), 7);
    apply(&mut plane, now(4), &change(3, ApplyAction::Forward), &mut sent);
    apply(&mut plane, now(4), &change(2, ApplyAction::Forward), &mut sent);
    assert_eq!(numbers(&sent), [0, 1, 2, 3, 0, 1, 2]);
    assert_each_counted(&plane.counters());
}

// Input:  ten packets wait, two of them beyond the ring; the memory restarts; then the UE is connected.
// Output: those that only the memory had are dropped under its name, in the usage of nobody; the two leave, and so do later packets.
#[test]
fn a_memory_that_restarts_loses_packets_under_a_name() {
    let (mut plane, mut sent) = (plane(Limits::default()), Sent::new());
    apply(&mut plane, now(0), &install(1, BUFFER, None), &mut sent);
    (0..10).for_each(|number| deliver(&mut plane, now(1), &downlink(1, number, 100), &mut sent));
    plane.memory_mut().restart(Time::from_secs(1));
    apply(&mut plane, now(2_000), &change(1, ApplyAction::Forward), &mut sent);
    deliver(&mut plane, now(2_001), &downlink(1, 10, 100), &mut sent);
    assert_eq!(numbers(&sent), [8, 9, 10]);
    let counters = plane.counters();
    assert_eq!((counters.dropped(DropReason::ExternalMemory), plane.paged_packets()), (RING as u64, 0));
    assert_each_counted(&counters);
    let state = plane.session_state(now(2_002), seid(1)).unwrap();
    assert_eq!(state.usage[0].total.volume.downlink_packets, 3);
}

/// What happens in a random world.
fn step(
    random: &mut fastrand::Rng,
    number: u16,
    plane: &mut impl PacketEngine,
    at: Time,
) -> (Sent, Vec<Event>) {
    let (mut sent, ue) = (Sent::new(), random.u8(1..5));
    match random.u8(..20) {
        0..=12 => {
            let size = if random.u8(..30) == 0 { 2100 } else { random.usize(40..1400) };
            deliver(plane, at, &downlink(ue, number, size), &mut sent);
        }
        kind => {
            let action = [BUFFER, ApplyAction::Forward, ApplyAction::Drop][random.usize(..3)];
            let suggested = [None, Some(2), Some(7)][random.usize(..3)];
            let plan = match kind {
                13 => Plan::removal(seid(ue)),
                14 => Plan::update(seid(ue), vec![Op::DropBuffered]),
                15 | 16 => install(ue, action, suggested),
                _ => change(ue, action),
            };
            // Refused if the session exists, or does not.
            drop(plane.apply(at, &plan));
            plane.flush(&mut sent);
        }
    }
    (sent, std::iter::from_fn(|| plane.poll_event()).collect())
}

// Input:  400 random worlds: packets for four UEs, of which two have a ring; idle, connected, forbidden and deleted, BARs, small limits,
//         the oldest or the newest dropped, time that ends buffering.
// Output: after each step the same packets, counters and events as from the slow path. Packets do wait in external memory.
#[test]
fn idle_ues_are_as_on_the_slow_path() {
    let mut paged = 0;
    for seed in 0..400 {
        let mut random = fastrand::Rng::with_seed(seed);
        let limits = Limits {
            when_full: [WhenFull::DropNewest, WhenFull::DropOldest][random.usize(..2)],
            buffer_packets_per_session: random.usize(1..20),
            buffer_packets: random.usize(1..40),
            buffer_time: Some(Span::from_millis(random.u64(20..400))),
            ..Limits::default()
        };
        let (mut plane, mut slow_path) = (plane(limits), SlowPath::new(topology(), limits));
        let mut at = now(0);
        for number in 0..random.u16(1..150) {
            at = at + Span::from_millis(random.u64(1..10));
            plane.advance(at);
            slow_path.advance(at);
            let mut same = random.clone();
            let seen = step(&mut random, number, &mut plane, at);
            let expected = step(&mut same, number, &mut slow_path, at);
            assert_eq!(seen, expected, "seed {seed}, step {number}");
            assert_eq!(plane.counters(), slow_path.counters(), "seed {seed}, step {number}");
            for ue in 1..5 {
                let states = [plane.session_state(at, seid(ue)), slow_path.session_state(at, seid(ue))];
                assert_eq!(states[0], states[1], "seed {seed}, step {number}");
            }
            paged += plane.paged_packets();
        }
        assert_each_counted(&plane.counters());
    }
    assert!(paged > 10_000, "{paged} packets waited in external memory");
}

/// What was done with the rings of a pipeline, and what left them.
#[derive(Default)]
struct Rings {
    /// The packets of each ring that have not left, in order.
    waiting: BTreeMap<usize, Vec<u64>>,
    left: u64,
    lost: u64,
}

impl Rings {
    fn take<M: causeway_memory::ExternalMemory>(&mut self, pipeline: &mut Pipeline<M>, seed: u64) {
        while let Some(Paged { ring, number, packet }) = pipeline.poll_paged() {
            let waiting = self.waiting.entry(ring).or_default();
            assert_eq!(
                waiting.first(),
                Some(&number),
                "seed {seed}: {number} is not the next of ring {ring}"
            );
            waiting.remove(0);
            self.left += 1;
            match packet {
                Some(packet) => assert_eq!(packet, octets(number), "seed {seed}"),
                None => self.lost += 1,
            }
        }
    }
}

fn octets(number: u64) -> Vec<u8> {
    number.to_be_bytes().repeat(1 + number as usize % 100)
}

/// Packets enter two rings, which are released, held and cleared at any time; some are forgotten. Returns what left.
fn idle_world<M: causeway_memory::ExternalMemory>(memory: M, seed: u64) -> Rings {
    let mut random = fastrand::Rng::with_seed(seed);
    let base = Place { rkey: MODEL_RKEY, address: 0 };
    let mut pipeline = Pipeline::new(memory, SIZES, base, PipelineConfig::default());
    let (mut rings, mut at, mut full) = (Rings::default(), Time::from_nanos(1), 0);
    for number in 0..random.u64(1..200) {
        let ring = random.usize(..2);
        let waiting = rings.waiting.entry(ring).or_default();
        match random.u8(..16) {
            0..=9 => match pipeline.page(at, ring, number, octets(number)) {
                Ok(()) => waiting.push(number),
                Err(_) => full += 1,
            },
            10 | 11 => pipeline.release_paged(at, ring),
            12 => pipeline.hold_paged(ring),
            13 => {
                // Those that left before are taken first.
                rings.take(&mut pipeline, seed);
                assert_eq!(pipeline.clear_paged(ring), rings.waiting.entry(ring).or_default().len());
                rings.waiting.remove(&ring);
            }
            _ => {
                rings.take(&mut pipeline, seed);
                let waiting = rings.waiting.entry(ring).or_default();
                if !waiting.is_empty() {
                    let number = waiting.remove(random.usize(..waiting.len()));
                    pipeline.forget_paged(at, ring, number);
                }
            }
        }
        at = at + Span::from_nanos(random.u64(..3_000));
        pipeline.advance(at);
        rings.take(&mut pipeline, seed);
    }
    // Connected, and no packet comes any more.
    (0..2).for_each(|ring| pipeline.release_paged(at, ring));
    while !pipeline.is_empty() {
        at = pipeline.next_timer().expect("something is under way").max(at);
        pipeline.advance(at);
        rings.take(&mut pipeline, seed);
    }
    if pipeline.failure().is_some() {
        pipeline.recover_paged(at, false);
        rings.take(&mut pipeline, seed);
    }
    rings.take(&mut pipeline, seed);
    assert!(rings.waiting.values().all(Vec::is_empty), "seed {seed}: {:?} remain", rings.waiting);
    assert!(full < 200, "seed {seed}");
    rings
}

// Input:  5,000 worlds: packets enter the rings of two UEs, which are connected, idle again while packets leave, and deleted, at any time and
//         with any delay of each operation; some packets are dropped while they wait.
// Output: each packet leaves once, with its octets, in order; none is lost; when the UEs are connected at last, all leave without a packet
//         from outside.
#[test]
fn idle_packets_leave_in_order_at_any_delay() {
    let mut left = 0;
    for seed in 0..5_000 {
        let mut random = fastrand::Rng::with_seed(!seed);
        let rings = idle_world(jitter(seed, random.u64(1..20_000), random.usize(1..4)), seed);
        assert_eq!(rings.lost, 0, "seed {seed}");
        left += rings.left;
    }
    assert!(left > 50_000, "{left} packets left");
}

// Input:  the same, 300 worlds over the model of external memory, which loses 2 % of all packets.
// Output: what is lost on the way is repeated: no packet of a ring is lost unless the memory fails, and then it is named.
#[test]
fn idle_packets_survive_a_network_that_loses() {
    let (mut left, mut lost) = (0, 0);
    for seed in 0..300 {
        let mut regions = Regions::new();
        regions.insert(MODEL_RKEY, SIZES.region().unwrap());
        let parameters = ModelParameters { loss: 0.02, queue_pairs: 2, ..ModelParameters::X_PLANE };
        let rings = idle_world(Model::new(parameters, regions, seed), seed);
        left += rings.left;
        lost += rings.lost;
    }
    assert!(left > 5_000 && lost * 20 < left, "{lost} of {left} lost");
}

// Input:  a memory fails while one packet is written and eight are read.
// Output: nothing leaves until the owner says what the memory has: then the packet that was on its way is there, and the eight leave from
//         the memory that came back, or are lost.
#[test]
fn a_failure_takes_only_what_the_memory_had() {
    for has_rest in [true, false] {
        let base = Place { rkey: MODEL_RKEY, address: 0 };
        let mut pipeline = Pipeline::new(jitter(1, 1_000, 1), SIZES, base, PipelineConfig::default());
        let mut at = Time::from_nanos(1);
        let run = |pipeline: &mut Pipeline<_>, at: &mut Time| {
            while !pipeline.is_empty() {
                *at = pipeline.next_timer().expect("something is under way").max(*at);
                pipeline.advance(*at);
            }
        };
        (0..7).for_each(|number| pipeline.page(at, 0, number, octets(number)).unwrap());
        run(&mut pipeline, &mut at);
        pipeline.page(at, 0, 7, octets(7)).unwrap();
        pipeline.release_paged(at, 0);
        pipeline.memory_mut().fails = true;
        run(&mut pipeline, &mut at);
        assert_eq!((pipeline.failure(), pipeline.poll_paged()), (Some(Failure::RetryExceeded), None));
        pipeline.memory_mut().fails = false;
        drop(pipeline.reset());
        pipeline.recover_paged(at, has_rest);
        let mut left: Vec<_> = std::iter::from_fn(|| pipeline.poll_paged()).collect();
        pipeline.release_paged(at, 0);
        run(&mut pipeline, &mut at);
        left.extend(std::iter::from_fn(|| pipeline.poll_paged()));
        left.sort_by_key(|paged| paged.number);
        let expected = |number| {
            let packet = (has_rest || number == 7).then(|| octets(number));
            Paged { ring: 0, number, packet }
        };
        assert_eq!(left, (0..8).map(expected).collect::<Vec<_>>());
    }
}
