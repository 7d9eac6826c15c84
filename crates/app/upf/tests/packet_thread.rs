//! The packet thread between two memory ports, with the fast path and with the reference data plane.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use causeway_dataplane::{DropReason, Event, GtpuEndpoint, Network, Op, Plan, Topology};
use causeway_packet::gtpu::prefix;
use causeway_packet::rewrite::{Ecn, decrement_hop_limit, set_ecn};
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, UdpRepr};
use causeway_ports::memory::{MemoryPort, pair};
use causeway_ports::{Batch, Counters, Frame, Meta, Port, PortError};
use causeway_reference::Limits;
use causeway_rules::{
    ApplyAction, Bar, Far, Forwarding, HeaderRemoval, OuterHeader, Pdi, Pdr, TosMarking, UeAddress, UeSide,
};
use causeway_types::{BarId, DualIp, FTeid, FarId, Interface, NetworkInstance, PdrId, Seid, Teid};
use causeway_upf::clock::Clock;
use causeway_upf::worker::{Engine, PortSet, Report, Schedule, Snapshot, WorkerHandle};
use tokio::time::timeout;

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const UPLINK: u32 = 0x11;
const DOWNLINK: u32 = 0x22;
const SESSION: Seid = Seid(7);

type Worker = WorkerHandle<u32>;

/// A data plane in its surroundings.
type Make = fn(Topology) -> Engine;

/// Every data plane that a packet thread can have.
const ENGINES: [Make; 2] = [
    |topology| Engine::fast_path(topology, Limits::default()).unwrap(),
    |topology| Engine::reference(topology, Limits::default()),
];

/// The thread with the far ends of its ports.
struct Bench {
    worker: Worker,
    gnb: MemoryPort,
    server: MemoryPort,
}

fn bench(make: Make) -> Bench {
    bench_with(make, Schedule::default())
}

fn bench_with(make: Make, schedule: Schedule) -> Bench {
    let (n3, gnb) = pair("n3", "gnb").unwrap();
    let (n6, server) = pair("n6", "server").unwrap();
    let mut set = PortSet::new();
    set.add_gtpu([GtpuEndpoint::new(UPF.into())], Box::new(n3));
    set.add_network(internet(), Box::new(n6));
    let engine = make(set.topology());
    Bench { worker: Worker::spawn(engine, set, Clock::new(), schedule).unwrap(), gnb, server }
}

fn internet() -> Network {
    Network::new(NetworkInstance::new("internet"), vec!["10.45.0.0/16".parse().unwrap()])
}

fn tunnel(teid: u32, at: Ipv4Addr) -> FTeid {
    FTeid { teid: Teid::new(teid).unwrap(), addr: DualIp::from(at) }
}

fn pdr(id: u16, source: Interface, uplink: bool) -> Pdr {
    let side = if uplink { UeSide::Source } else { UeSide::Destination };
    let pdi = Pdi {
        tunnel: uplink.then(|| tunnel(UPLINK, UPF)),
        ue: Some(UeAddress { v4: Some(UE), v6: None, side }),
        ..Pdi::new(source)
    };
    Pdr { removal: uplink.then_some(HeaderRemoval::GTPU_IPV4), ..Pdr::new(PdrId(id), pdi, FarId(id.into())) }
}

fn far(id: u32, action: ApplyAction, to: Interface, tunnel: Option<FTeid>) -> Far {
    let forwarding = Some(Forwarding { outer: tunnel.map(OuterHeader::Gtpu), ..Forwarding::to(to) });
    Far { forwarding, bar: Some(BarId(1)), ..Far::new(FarId(id), action) }
}

fn downlink_far(action: ApplyAction) -> Far {
    far(2, action, Interface::Access, Some(tunnel(DOWNLINK, GNB)))
}

/// A session whose downlink does `action`, and whose BAR delays the notification.
fn establishment(action: ApplyAction, delay: Duration) -> Plan {
    let ops = vec![
        Op::CreateSession,
        Op::PutBar(Bar { id: BarId(1), notification_delay: delay, suggested_packets: None }.into()),
        Op::PutFar(far(1, ApplyAction::Forward, Interface::Core, None).into()),
        Op::PutFar(downlink_far(action).into()),
        Op::PutPdr(pdr(1, Interface::Access, true).into()),
        Op::PutPdr(pdr(2, Interface::Core, false).into()),
    ];
    Plan { session: SESSION, ops }
}

/// The packet after it passed the UPF.
fn one_hop_on(mut packet: Vec<u8>) -> Vec<u8> {
    decrement_hop_limit(&mut packet).unwrap();
    packet
}

fn packet(src: Ipv4Addr, dst: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    let ip = IpRepr::V4(Ipv4Repr::new(src, dst, IpProtocol::UDP));
    ip.write_udp(UdpRepr { src_port: 1, dst_port: 2 }, true, &[payload], &mut octets).unwrap();
    octets
}

impl Bench {
    async fn report(&mut self) -> Report<u32> {
        timeout(Duration::from_secs(5), self.worker.report()).await.expect("in time").expect("a report")
    }

    async fn apply(&mut self, plan: Plan) {
        assert!(self.worker.apply(1, plan));
        self.worker.wake();
        let report = self.report().await;
        assert!(matches!(report, Report::Applied(1, Ok(_))), "{report:?}");
    }

    async fn snapshot(&self) -> Snapshot {
        let client = self.worker.snapshot_client().unwrap();
        timeout(Duration::from_secs(5), client.snapshot()).await.expect("in time").expect("a snapshot")
    }

    fn uplink(&mut self, teid: u32, user: &[u8]) {
        let header = prefix::plain(Teid::new(teid).unwrap(), user.len()).unwrap();
        let meta = Meta::Gtpu { local: UPF.into(), peer: SocketAddr::new(GNB.into(), 2152), tos: 0 };
        assert!(self.gnb.push(meta, &[&header[..], user].concat()));
    }
}

/// Waits until a frame arrives at this end.
fn next(port: &mut MemoryPort) -> (Meta, Vec<u8>) {
    let start = Instant::now();
    loop {
        if let Some(frame) = port.pop() {
            return frame;
        }
        assert!(start.elapsed() < Duration::from_secs(5), "no frame in time");
        std::thread::sleep(Duration::from_millis(1));
    }
}

// Input:  a downlink FAR that marks DSCP 46, and a packet with ECT(0); an uplink packet whose outer header met congestion.
// Output: the port gets the type of service of both, 0xba; the uplink packet leaves with CE.
#[tokio::test]
async fn markings_reach_the_port_and_come_from_it() {
    for make in ENGINES {
        markings_reach_the_port_and_come_from_it_with(make).await;
    }
}

async fn markings_reach_the_port_and_come_from_it_with(make: Make) {
    let mut bench = bench(make);
    bench.apply(establishment(ApplyAction::Forward, Duration::ZERO)).await;
    let mut far = downlink_far(ApplyAction::Forward);
    far.forwarding.as_mut().unwrap().marking = Some(TosMarking::new(0xb8, 0xfc));
    bench.apply(Plan { session: SESSION, ops: vec![Op::PutFar(far.into())] }).await;
    let capable = |src, dst| {
        let mut packet = packet(src, dst, b"ecn");
        set_ecn(&mut packet, Ecn::Capable0).unwrap();
        packet
    };
    assert!(bench.server.push(Meta::Ip, &capable(SERVER, UE)));
    let (meta, _) = next(&mut bench.gnb);
    assert!(matches!(meta, Meta::Gtpu { tos: 0xba, .. }), "{meta:?}");
    let user = capable(UE, SERVER);
    let header = prefix::plain(Teid::new(UPLINK).unwrap(), user.len()).unwrap();
    let meta = Meta::Gtpu { local: UPF.into(), peer: SocketAddr::new(GNB.into(), 2152), tos: 3 };
    assert!(bench.gnb.push(meta, &[&header[..], &user].concat()));
    let (_, left) = next(&mut bench.server);
    assert_eq!(left[1], 3);
}

// Input:  one packet of the UE, one to the UE, one in a tunnel that does not exist.
// Output: the first leaves on N6 without its tunnel, the second on N3 in one, the third is counted.
#[tokio::test]
async fn packets_cross_in_both_directions() {
    for make in ENGINES {
        packets_cross_in_both_directions_with(make).await;
    }
}

async fn packets_cross_in_both_directions_with(make: Make) {
    let mut bench = bench(make);
    bench.apply(establishment(ApplyAction::Forward, Duration::ZERO)).await;
    let (up, down) = (packet(UE, SERVER, b"up"), packet(SERVER, UE, b"down"));
    bench.uplink(UPLINK, &up);
    assert_eq!(next(&mut bench.server), (Meta::Ip, one_hop_on(up.clone())));
    assert!(bench.server.push(Meta::Ip, &down));
    let (meta, frame) = next(&mut bench.gnb);
    let peer: SocketAddr = SocketAddr::new(IpAddr::V4(GNB), 2152);
    assert!(matches!(meta, Meta::Gtpu { peer: to, .. } if to == peer), "{meta:?}");
    assert_eq!(frame[8..], one_hop_on(down));
    bench.uplink(0x999, &up);
    // The Error Indication that answers it tells that it was handled.
    next(&mut bench.gnb);
    let counters = bench.snapshot().await.counters;
    assert_eq!((counters.forwarded, counters.sessions), (2, 1));
    assert_eq!(counters.dropped(DropReason::UnknownTeid), 1);
}

// Input:  forty packets each way at once, among them one of no session.
// Output: each direction keeps its order, though packets of both leave the data plane from one batch; lines decided them.
#[tokio::test]
async fn a_burst_keeps_its_order() {
    let mut bench = bench(ENGINES[0]);
    bench.apply(establishment(ApplyAction::Forward, Duration::ZERO)).await;
    let before = bench.snapshot().await;
    for n in 0..40 {
        bench.uplink(if n == 20 { 0x999 } else { UPLINK }, &packet(UE, SERVER, &[n]));
        assert!(bench.server.push(Meta::Ip, &packet(SERVER, UE, &[n])));
    }
    let last = |frame: Vec<u8>| frame.last().copied().unwrap();
    let uplink: Vec<u8> = (0..39).map(|_| last(next(&mut bench.server).1)).collect();
    assert_eq!(uplink, (0..40).filter(|n| *n != 20).collect::<Vec<u8>>());
    // The Error Indication of the one without a session is among them.
    let downlink: Vec<Vec<u8>> = (0..41).map(|_| next(&mut bench.gnb).1).collect();
    let user = downlink.into_iter().filter(|frame| frame[1] == 255).map(last);
    assert_eq!(user.collect::<Vec<_>>(), (0..40).collect::<Vec<u8>>());
    let after = bench.snapshot().await;
    assert_eq!((after.hot - before.hot, after.slow - before.slow), (79, 1));
}

// Input:  a thread that never sleeps, a session, a packet, an idle UE's packet, and the end of the session.
// Output: all is done as by one that sleeps.
#[tokio::test]
async fn a_thread_that_never_sleeps_does_the_same() {
    let mut bench = bench_with(ENGINES[0], Schedule { core: None, busy_poll: true });
    bench.apply(establishment(ApplyAction::Buffer { notify: true }, Duration::ZERO)).await;
    let (up, down) = (packet(UE, SERVER, b"up"), packet(SERVER, UE, b"down"));
    bench.uplink(UPLINK, &up);
    assert_eq!(next(&mut bench.server).1, one_hop_on(up));
    assert!(bench.server.push(Meta::Ip, &down));
    assert!(matches!(bench.report().await, Report::Event(Event::DownlinkData { .. })));
    bench.apply(Plan { session: SESSION, ops: vec![Op::RemoveSession] }).await;
    let counters = bench.snapshot().await.counters;
    assert_eq!((counters.sessions, counters.forwarded), (0, 1));
    assert_eq!(counters.dropped(DropReason::BufferDiscarded), 1);
}

// Input:  a packet for an idle UE, then a FAR that forwards.
// Output: the notification comes before the result of the plan; the packet leaves.
#[tokio::test]
async fn a_buffered_packet_is_reported_and_leaves_with_the_plan() {
    for make in ENGINES {
        a_buffered_packet_is_reported_and_leaves_with_the_plan_with(make).await;
    }
}

async fn a_buffered_packet_is_reported_and_leaves_with_the_plan_with(make: Make) {
    let mut bench = bench(make);
    bench.apply(establishment(ApplyAction::Buffer { notify: true }, Duration::ZERO)).await;
    let down = packet(SERVER, UE, b"wake up");
    assert!(bench.server.push(Meta::Ip, &down));
    let report = bench.report().await;
    assert!(matches!(report, Report::Event(Event::DownlinkData { session: SESSION, .. })), "{report:?}");
    assert_eq!(bench.snapshot().await.counters.buffered, 1);
    bench
        .apply(Plan { session: SESSION, ops: vec![Op::PutFar(downlink_far(ApplyAction::Forward).into())] })
        .await;
    assert_eq!(next(&mut bench.gnb).1[8..], one_hop_on(down));
    assert_eq!(bench.snapshot().await.counters.buffered, 0);
}

// Input:  a packet for an idle UE whose BAR delays the notification by 100 ms; nothing else arrives.
// Output: the notification comes by itself, not before its time.
#[tokio::test]
async fn a_timer_of_the_data_plane_runs_without_packets() {
    for make in ENGINES {
        a_timer_of_the_data_plane_runs_without_packets_with(make).await;
    }
}

async fn a_timer_of_the_data_plane_runs_without_packets_with(make: Make) {
    let mut bench = bench(make);
    let delay = Duration::from_millis(100);
    bench.apply(establishment(ApplyAction::Buffer { notify: true }, delay)).await;
    let start = Instant::now();
    assert!(bench.server.push(Meta::Ip, &packet(SERVER, UE, b"later")));
    assert!(matches!(bench.report().await, Report::Event(Event::DownlinkData { .. })));
    assert!(start.elapsed() >= delay);
}

// Input:  a plan for a session that does not exist.
// Output: the error comes back with the key; the thread goes on.
#[tokio::test]
async fn a_plan_that_fails_is_told() {
    for make in ENGINES {
        a_plan_that_fails_is_told_with(make).await;
    }
}

async fn a_plan_that_fails_is_told_with(make: Make) {
    let mut bench = bench(make);
    assert!(bench.worker.apply(42, Plan { session: Seid(99), ops: Vec::new() }));
    bench.worker.wake();
    assert!(matches!(bench.report().await, Report::Applied(42, Err(_))));
    bench.apply(establishment(ApplyAction::Forward, Duration::ZERO)).await;
}

// Input:  the command to stop.
// Output: the last counters, then the end.
#[tokio::test]
async fn the_last_report_has_the_totals() {
    for make in ENGINES {
        the_last_report_has_the_totals_with(make).await;
    }
}

async fn the_last_report_has_the_totals_with(make: Make) {
    let mut bench = bench(make);
    bench.apply(establishment(ApplyAction::Forward, Duration::ZERO)).await;
    bench.uplink(UPLINK, &packet(UE, SERVER, b"last"));
    next(&mut bench.server);
    assert!(bench.worker.stop());
    match bench.report().await {
        Report::Stopped(Ok(snapshot)) => assert_eq!(snapshot.counters.forwarded, 1),
        other => panic!("{other:?}"),
    }
    assert!(bench.worker.report().await.is_none());
}

// Input:  more results than the control plane reads, then nobody to read them.
// Output: the thread ends.
#[tokio::test]
async fn a_control_plane_that_goes_away_does_not_hang_the_thread() {
    for make in ENGINES {
        a_control_plane_that_goes_away_does_not_hang_the_thread_with(make).await;
    }
}

async fn a_control_plane_that_goes_away_does_not_hang_the_thread_with(make: Make) {
    let mut bench = bench(make);
    for key in 0..10_000 {
        assert!(bench.worker.apply(key, Plan { session: Seid(99), ops: Vec::new() }));
    }
    bench.worker.wake();
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(bench);
        let _ = ended.send(());
    });
    end.recv_timeout(Duration::from_secs(10)).expect("the thread ends");
}

/// A port whose interface has gone.
struct Gone(Arc<Counters>);

impl Gone {
    fn error() -> PortError {
        PortError::Lost { port: "n3".into(), source: std::io::ErrorKind::NotFound.into() }
    }
}

impl Port for Gone {
    fn name(&self) -> &str {
        "n3"
    }

    fn mtu(&self) -> u32 {
        1500
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.0
    }

    fn receive(&mut self, _: &mut Batch) -> Result<usize, PortError> {
        Err(Self::error())
    }

    fn send(&mut self, _: &[Frame<'_>]) -> Result<usize, PortError> {
        Err(Self::error())
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn pending(&self) -> bool {
        true
    }
}

// Input:  a port that is of no use any more.
// Output: the thread ends with that error.
#[tokio::test]
async fn a_lost_port_ends_the_thread() {
    let mut set = PortSet::new();
    set.add_network(internet(), Box::new(Gone(Arc::default())));
    let engine = Engine::fast_path(set.topology(), Limits::default()).unwrap();
    let mut worker = Worker::spawn(engine, set, Clock::new(), Schedule::default()).unwrap();
    match timeout(Duration::from_secs(5), worker.report()).await.expect("in time") {
        Some(Report::Stopped(Err(error))) => {
            assert!(error.to_string().starts_with("port n3 is lost"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}
