//! The data plane as a whole: a session, its packets, its usage.

use std::net::Ipv4Addr;

use causeway_dataplane::{
    Applied, Dataplane, Disposition, Egress, GtpuEndpoint, Ingress, Network, PacketEngine, ReceiveSource,
    Topology, TransmitQueue,
};
use causeway_memory::ModelParameters;
use causeway_model::{
    ApplyAction, Far, Forwarding, HeaderRemoval, MeasurementMethod, Op, Pdi, Pdr, Plan, RuleSet, Urr,
};
use causeway_packet::gtpu::prefix;
use causeway_packet::{Batch, Frame, IpProtocol, Ipv4Repr, Meta};
use causeway_slowpath::Limits;
use causeway_types::{FTeid, FarId, Interface, NetworkInstance, PdrId, Seid, Teid, Time, UrrId};
use causeway_xplane::{ModelPlane, Sizes};

const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
const SEID: Seid = Seid(7);

pub(crate) fn topology() -> Topology {
    Topology {
        gtpu: vec![GtpuEndpoint::new(N3.into())],
        networks: vec![Network::new(NetworkInstance::new("internet"), vec!["10.45.0.0/16".parse().unwrap()])],
        ..Topology::default()
    }
}

fn plane() -> ModelPlane {
    let sizes =
        Sizes { ue_buckets: 64, flow_buckets: 256, rings: 4, ring: 16, paging_rings: 4, paging_ring: 8 };
    let parameters = ModelParameters { queue_pairs: 4, ..ModelParameters::X_PLANE };
    ModelPlane::over_model(topology(), Limits::default(), parameters, sizes, 1).unwrap()
}

pub(crate) fn now(millis: u64) -> Time {
    Time::from_secs(1_000) + causeway_types::Span::from_millis(millis)
}

/// The uplink of TEID 0x1001 goes to the data network, and is counted.
pub(crate) fn establish(plane: &mut impl PacketEngine) {
    let tunnel = Some(FTeid { teid: Teid::new(0x1001).unwrap(), addr: N3.into() });
    let pdr = Pdr::new(PdrId(1), Pdi { tunnel, ..Pdi::new(Interface::Access) }, FarId(1));
    let mut rules = RuleSet::default();
    rules.pdrs.insert(
        PdrId(1),
        Pdr { removal: Some(HeaderRemoval::GTPU_IPV4), urrs: [UrrId(1)].into_iter().collect(), ..pdr },
    );
    rules.fars.insert(FarId(1), Far::forward(FarId(1), Forwarding::to(Interface::Core)));
    rules.urrs.insert(
        UrrId(1),
        Urr::new(UrrId(1), MeasurementMethod { volume: true, ..MeasurementMethod::default() }),
    );
    plane.apply(now(0), &Plan::install(SEID, rules)).unwrap();
}

pub(crate) fn packet(port: u16, size: usize) -> Vec<u8> {
    let (mut user, mut udp) = (Vec::new(), vec![0; size]);
    udp[..2].copy_from_slice(&port.to_be_bytes());
    let server = Ipv4Addr::new(198, 51, 100, 9);
    Ipv4Repr::new(UE, server, IpProtocol::UDP).write(&[], &udp, &mut user).unwrap();
    [&prefix::without_extensions(Teid::new(0x1001).unwrap(), user.len()).unwrap()[..], &user].concat()
}

pub(crate) fn send(plane: &mut impl PacketEngine, at: Time, packet: &[u8]) -> Disposition {
    let gnb = Ipv4Addr::new(192, 0, 2, 11);
    let ingress = Ingress::Gtpu { local: N3.into(), peer: (gnb, 2152).into(), tos: 0, hops: None };
    let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
    let disposition = plane.process(at, &ingress, packet, &mut sent);
    assert!(disposition != Disposition::Forwarded || sent.len() == 1);
    disposition
}

pub(crate) fn uplink(plane: &mut impl PacketEngine) -> (u64, u64) {
    let state = plane.session_state(now(500), SEID).unwrap();
    let total = state.usage[0].total.volume;
    (total.uplink_packets, total.uplink)
}

// Input:  a session with a URR; 20 packets of 4 flows.
// Output: the slow path sees the first one, at which the measurement starts. External memory decides the others: 4 walks, 16 hits, of which
//         one was the first packet's walk. The usage has every octet.
#[test]
fn packets_pass_by_external_memory_and_are_counted() {
    let mut plane = plane();
    establish(&mut plane);
    for number in 0..20 {
        assert_eq!(send(&mut plane, now(number), &packet(number as u16 % 4, 100)), Disposition::Forwarded);
    }
    let counters = *plane.pipeline().counters();
    assert_eq!((counters.walks, counters.hits, counters.slow.iter().sum()), (4, 16, 1_u64));
    assert_eq!(uplink(&mut plane), (20, 20 * 120));
}

// Input:  the FAR of a session with flows in the table turns to DROP; then the session is deleted.
// Output: the next packets are dropped, and not by the entries of before; then the tunnel is unknown.
#[test]
fn a_change_holds_from_its_result_on() {
    let mut plane = plane();
    establish(&mut plane);
    assert_eq!(send(&mut plane, now(1), &packet(1, 100)), Disposition::Forwarded);
    let drop = Far::new(FarId(1), ApplyAction::Drop);
    plane.apply(now(2), &Plan::update(SEID, vec![Op::PutFar(drop.into())])).unwrap();
    assert!(matches!(send(&mut plane, now(3), &packet(1, 100)), Disposition::Dropped(_)));
    let Applied { usage, .. } = plane.apply(now(4), &Plan::removal(SEID)).unwrap();
    assert_eq!(usage.len(), 1);
    assert!(matches!(send(&mut plane, now(5), &packet(1, 100)), Disposition::Dropped(_)));
    assert_eq!(plane.counters().received(), 3);
}

// Input:  the memory restarts between two packets, and after it the data plane is used on.
// Output: the packet that was in flight is dropped under its name, the state that was lost is counted, and later packets pass by tables
//         that were written anew.
#[test]
fn a_memory_that_restarts_is_written_anew() {
    let mut plane = plane();
    establish(&mut plane);
    for number in 0..2 {
        assert_eq!(send(&mut plane, now(number), &packet(1, 100)), Disposition::Forwarded);
    }
    plane.memory_mut().restart(Time::from_secs(1));
    let lost = send(&mut plane, now(2_000), &packet(1, 100));
    assert_eq!(lost, Disposition::Dropped(causeway_dataplane::DropReason::ExternalMemory));
    assert_eq!((plane.losses().restarts, plane.losses().states), (1, 1));
    assert_eq!(send(&mut plane, now(2_001), &packet(1, 100)), Disposition::Forwarded);
    assert_eq!(plane.pipeline().counters().walks, 2);
    let counters = plane.counters();
    assert_eq!(counters.received(), counters.forwarded + counters.total_drops());
}

/// What a data plane sent for batches of packets, and the usage afterwards.
fn in_batches(plane: &mut impl PacketEngine, batches: &[Vec<Vec<u8>>]) -> (Vec<Vec<u8>>, (u64, u64)) {
    establish(plane);
    let mut sent = Vec::new();
    for (number, packets) in (1..).zip(batches) {
        receive(plane, now(number), packets, &mut sent);
    }
    (sent.into_iter().map(|(_, packet)| packet).collect(), uplink(plane))
}

// Input:  50 times, ten batches of 40 packets of five flows of a session, a tenth of them fragments, which are for the slow path; each
//         packet has its number in it. The packets of a batch are in flight together.
// Output: as from the slow path, the same packets are sent, those of each flow in the order in which they came, and the usage is the same.
#[test]
fn packets_of_a_batch_are_in_flight_together_and_in_order() {
    let mut joined = 0;
    for seed in 0..50 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut number = 0_u16;
        let mut one = || numbered(&mut random, &mut number);
        let batches: Vec<Vec<Vec<u8>>> = (0..10).map(|_| (0..40).map(|_| one()).collect()).collect();
        let mut plane = plane();
        let (mut sent, usage) = in_batches(&mut plane, &batches);
        joined += plane.pipeline().counters().joined;
        let (mut expected, expected_usage) =
            in_batches(&mut causeway_slowpath::SlowPath::new(topology(), Limits::default()), &batches);
        assert_eq!(usage, expected_usage, "seed {seed}");
        let by_flow = |packet: &Vec<u8>| packet[20..22].to_vec();
        sent.sort_by_key(by_flow);
        expected.sort_by_key(by_flow);
        assert_eq!(sent, expected, "seed {seed}");
        let counters = plane.counters();
        assert_eq!(counters.received(), counters.forwarded + counters.total_drops(), "seed {seed}");
    }
    assert!(joined > 100, "{joined} packets waited for a walk");
}

// Input:  50 times, 30 batches of eight packets of five flows of a session, a microsecond apart, with a tenth of fragments, for which all
//         others leave first; the memory is 2.4 us away. Then a change of rules while packets are in flight.
// Output: packets of several batches are in flight. As from the slow path, the same packets are sent, those of each flow in the order in
//         which they came, and the usage is the same; after the change no packet is forwarded.
#[test]
fn batches_are_in_flight_together() {
    let mut most = 0;
    for seed in 0..50 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut plane, mut slow_path) = (
            plane().with_batches_in_flight(),
            causeway_slowpath::SlowPath::new(topology(), Limits::default()),
        );
        establish(&mut plane);
        establish(&mut slow_path);
        let (mut sent, mut expected, mut number, mut received) = (Vec::new(), Vec::new(), 0_u16, 0);
        let at = |step: u64| now(1) + causeway_types::Span::from_micros(step);
        for step in 0..30 {
            let packets: Vec<Vec<u8>> = (0..8).map(|_| numbered(&mut random, &mut number)).collect();
            receive(&mut plane, at(step), &packets, &mut sent);
            receive(&mut slow_path, at(step), &packets, &mut expected);
            received += 8;
            most = most.max(plane.pipeline().in_flight());
        }
        // The result of a plan comes when no packet is in flight.
        let drop = Far::new(FarId(1), ApplyAction::Drop);
        let plan = Plan::update(SEID, vec![Op::PutFar(drop.into())]);
        let last: Vec<Vec<u8>> = (0..8).map(|_| numbered(&mut random, &mut number)).collect();
        plane.apply(at(30), &plan).unwrap();
        assert_eq!(plane.pipeline().in_flight(), 0, "seed {seed}");
        plane.flush(&mut sent);
        slow_path.apply(at(30), &plan).unwrap();
        receive(&mut plane, at(30), &last, &mut sent);
        receive(&mut slow_path, at(30), &last, &mut expected);
        while !plane.pipeline().is_empty() {
            let next = plane.next_deadline().expect("something is under way");
            plane.advance(next);
            plane.flush(&mut sent);
        }
        let by_flow = |packet: &(Egress, Vec<u8>)| packet.1[20..22].to_vec();
        sent.sort_by_key(by_flow);
        expected.sort_by_key(by_flow);
        assert_eq!(sent, expected, "seed {seed}");
        assert_eq!(uplink(&mut plane), uplink(&mut slow_path), "seed {seed}");
        let counters = plane.counters();
        assert_eq!(counters, slow_path.counters(), "seed {seed}");
        assert_eq!(counters.received(), received + 8, "seed {seed}");
    }
    assert!(most > 16, "at most {most} packets were in flight");
}

// Input:  packets of one flow in a batch, of which the second is longer than a place for a packet; with the batch processed to its end, and
//         in flight with others.
// Output: they leave in the order in which they came.
#[test]
fn a_long_packet_is_not_passed() {
    for plane in [plane(), plane().with_batches_in_flight()] {
        let mut plane = plane;
        establish(&mut plane);
        let sizes = [100, 2_100, 200, 300, 2_200, 400];
        let packets: Vec<Vec<u8>> = sizes.iter().map(|size| packet(1, *size)).collect();
        let mut sent = Vec::new();
        receive(&mut plane, now(1), &packets[..1], &mut sent);
        receive(&mut plane, now(2), &packets[1..], &mut sent);
        while !plane.pipeline().is_empty() {
            let next = plane.next_deadline().expect("something is under way");
            plane.advance(next);
            plane.flush(&mut sent);
        }
        plane.flush(&mut sent);
        let left: Vec<usize> = sent.iter().map(|(_, packet)| packet.len() - 20).collect();
        assert_eq!(left, sizes);
        assert_eq!(uplink(&mut plane).0, 6);
    }
}

/// A packet with its number, of one of five flows; one of ten is a first fragment.
fn numbered(random: &mut fastrand::Rng, number: &mut u16) -> Vec<u8> {
    *number += 1;
    let mut octets = packet(random.u16(1..6), random.usize(40..600));
    octets[8 + 28..8 + 30].copy_from_slice(&number.to_be_bytes());
    if random.u8(..10) == 0 {
        // More fragments follow.
        octets[8 + 6] = 0x20;
        let header = causeway_packet::Ipv4::parse(&octets[8..]).unwrap().repr();
        let sum = header.header(octets.len() - 28).unwrap();
        octets[8 + 10..8 + 12].copy_from_slice(&sum[10..12]);
    }
    octets
}

/// Receives a batch, and takes what is sent then.
fn receive(plane: &mut impl PacketEngine, at: Time, packets: &[Vec<u8>], sent: &mut Vec<(Egress, Vec<u8>)>) {
    let (mut queue, mut batch) = (TransmitQueue::default(), Batch::with_frame_size(4096));
    let peer = (Ipv4Addr::new(192, 0, 2, 11), 2152).into();
    let meta = Meta::Gtpu { local: N3.into(), peer, tos: 0, hops: None };
    assert!(packets.iter().all(|data| batch.push(Frame { meta, data })));
    plane.advance(at);
    plane.flush(sent);
    plane.process_batch(at, ReceiveSource::Gtpu, &mut batch, &mut queue);
    queue.transmit_all(&batch, plane.topology(), sent);
}
