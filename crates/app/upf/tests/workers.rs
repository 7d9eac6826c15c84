//! Several workers: who owns which session, how packets find them, and that together they do what one does.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use causeway_dataplane::{
    Applied, ApplyError, Echo, Event, GtpuEndpoint, Network, Op, Plan, Routing, SliceLimit, Topology,
};
use causeway_packet::gtpu::{Repr, prefix};
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, UdpRepr};
use causeway_ports::Meta;
use causeway_ports::memory::{MemoryPort, pair_with};
use causeway_reference::Limits;
use causeway_rules::{
    ApplyAction, Far, Forwarding, HeaderRemoval, MeasurementMethod, OuterHeader, Pdi, Pdr, UeAddress, UeSide,
    Urr,
};
use causeway_types::{
    Bitrate, DualIp, FTeid, FarId, Interface, NetworkInstance, PdrId, SNssai, Seid, Span, Teid, UrrId,
};
use causeway_upf::clock::Clock;
use causeway_upf::worker::{Engine, PortSet, Report, Schedule, Seat, Snapshot, WorkerHandle};
use tokio::time::timeout;

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const PATIENCE: Duration = Duration::from_secs(10);
const SLICE: SNssai = SNssai { sst: 1, sd: 7 };

/// Workers with the far ends of their ports.
struct Bench {
    workers: WorkerHandle<u64>,
    gnbs: Vec<MemoryPort>,
    servers: Vec<MemoryPort>,
    plans: u64,
    events: Vec<Event>,
}

fn bench(workers: usize) -> Bench {
    bench_with(workers, Routing::default(), 1000)
}

fn bench_with(workers: usize, routing: Routing, most_sessions: u32) -> Bench {
    let internet = || Network::new(NetworkInstance::new("internet"), vec!["10.45.0.0/16".parse().unwrap()]);
    let limit = SliceLimit { slice: SLICE, uplink: Bitrate::from_kbps(1000), downlink: None };
    let (mut gnbs, mut servers, mut seats) = (Vec::new(), Vec::new(), Vec::new());
    let mut whole = Topology::default();
    for number in 0..workers {
        let (n3, gnb) = pair_with(&format!("n3.{number}"), "gnb", 100_000, 1500).unwrap();
        let (n6, server) = pair_with(&format!("n6.{number}"), "server", 100_000, 1500).unwrap();
        let mut ports = PortSet::of_worker(number, workers);
        ports.add_gtpu([GtpuEndpoint::new(UPF.into())], Box::new(n3));
        ports.add_network(internet(), Box::new(n6));
        whole = Topology { routing, slices: vec![limit], ..ports.topology() };
        let mut own = whole.clone();
        if number > 0 {
            own.routing.echo.interval = Span::ZERO;
        }
        let engine = Engine::fast_path(own, Limits::default()).unwrap();
        seats.push(Seat { engine, ports, schedule: Schedule::default() });
        gnbs.push(gnb);
        servers.push(server);
    }
    let workers = WorkerHandle::spawn_all(seats, Clock::new(), &whole, most_sessions as usize).unwrap();
    Bench { workers, gnbs, servers, plans: 0, events: Vec::new() }
}

fn ue(n: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a2d_0000 + n)
}

fn tunnel(teid: u32, at: Ipv4Addr) -> FTeid {
    FTeid { teid: Teid::new(teid).unwrap(), addr: DualIp::from(at) }
}

fn uplink_teid(n: u32) -> u32 {
    0x1000 + n
}

fn downlink_teid(n: u32) -> u32 {
    0x2000 + n
}

fn seid(n: u32) -> Seid {
    Seid(u64::from(n) + 1)
}

fn pdr(n: u32, uplink: bool) -> Pdr {
    let (id, source) = if uplink { (1, Interface::Access) } else { (2, Interface::Core) };
    let side = if uplink { UeSide::Source } else { UeSide::Destination };
    let pdi = Pdi {
        tunnel: uplink.then(|| tunnel(uplink_teid(n), UPF)),
        ue: Some(UeAddress { v4: Some(ue(n)), v6: None, side }),
        ..Pdi::new(source)
    };
    let mut pdr = Pdr::new(PdrId(id), pdi, FarId(id.into()));
    pdr.removal = uplink.then_some(HeaderRemoval::GTPU_IPV4);
    pdr.urrs.push(UrrId(1));
    pdr
}

fn far(n: u32, uplink: bool) -> Far {
    let (id, to) = if uplink { (1, Interface::Core) } else { (2, Interface::Access) };
    let outer = (!uplink).then(|| OuterHeader::Gtpu(tunnel(downlink_teid(n), GNB)));
    Far {
        forwarding: Some(Forwarding { outer, ..Forwarding::to(to) }),
        ..Far::new(FarId(id), ApplyAction::Forward)
    }
}

/// The session of UE `n`, which counts what passes.
fn establishment(n: u32, more: Vec<Op>) -> Plan {
    let mut ops = vec![Op::CreateSession];
    ops.extend(more);
    ops.push(Op::PutUrr(Arc::new(Urr::new(
        UrrId(1),
        MeasurementMethod { volume: true, ..Default::default() },
    ))));
    ops.extend([true, false].map(|uplink| Op::PutFar(far(n, uplink).into())));
    ops.extend([true, false].map(|uplink| Op::PutPdr(pdr(n, uplink).into())));
    Plan { session: seid(n), ops }
}

fn removal(n: u32) -> Plan {
    Plan { session: seid(n), ops: vec![Op::RemoveSession] }
}

fn packet(src: Ipv4Addr, dst: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    let ip = IpRepr::V4(Ipv4Repr::new(src, dst, IpProtocol::UDP));
    ip.write_udp(UdpRepr { src_port: 1, dst_port: 2 }, true, &[payload], &mut octets).unwrap();
    octets
}

impl Bench {
    async fn report(&mut self) -> Report<u64> {
        self.workers.wake();
        timeout(PATIENCE, self.workers.report()).await.expect("in time").expect("a report")
    }

    async fn apply(&mut self, plan: Plan) -> Result<Applied, ApplyError> {
        self.plans += 1;
        assert!(self.workers.apply(self.plans, plan));
        loop {
            match self.report().await {
                Report::Applied(key, result) => {
                    assert_eq!(key, self.plans);
                    return result;
                }
                Report::Event(event) => self.events.push(event),
                Report::Stopped(_) => panic!("stopped"),
            }
        }
    }

    async fn snapshot(&self) -> Snapshot {
        let client = self.workers.snapshot_client().unwrap();
        timeout(PATIENCE, client.snapshot()).await.expect("in time").expect("a snapshot")
    }

    /// The counters once so many packets have been received.
    async fn after(&self, received: u64) -> Snapshot {
        let start = Instant::now();
        loop {
            let snapshot = self.snapshot().await;
            let counters = &snapshot.counters;
            if counters.gtpu_received.packets + counters.ip_received.packets >= received {
                return snapshot;
            }
            assert!(start.elapsed() < PATIENCE, "{snapshot:?}");
        }
    }

    fn uplink(&mut self, at: usize, n: u32, payload: &[u8]) {
        let user = packet(ue(n), SERVER, payload);
        let header = prefix::plain(Teid::new(uplink_teid(n)).unwrap(), user.len()).unwrap();
        self.gtpu(at, &[&header[..], &user].concat());
    }

    fn gtpu(&mut self, at: usize, message: &[u8]) {
        let meta = Meta::Gtpu { local: UPF.into(), peer: SocketAddr::new(GNB.into(), 2152), tos: 0 };
        assert!(self.gnbs[at].push(meta, message));
    }

    fn downlink(&mut self, at: usize, n: u32, payload: &[u8]) {
        assert!(self.servers[at].push(Meta::Ip, &packet(SERVER, ue(n), payload)));
    }

    /// The payloads that have left by worker `at`, by UE: to the data network, then to the gNB.
    fn left(&mut self, at: usize) -> [BTreeMap<u32, Vec<u32>>; 2] {
        let mut left = [BTreeMap::<u32, Vec<u32>>::new(), BTreeMap::new()];
        let number = |octets: &[u8]| u32::from_be_bytes(octets.try_into().unwrap());
        while let Some((_, octets)) = self.servers[at].pop() {
            left[0].entry(number(&octets[12..16])).or_default().push(number(&octets[octets.len() - 4..]));
        }
        while let Some((_, octets)) = self.gnbs[at].pop() {
            if octets[1] == 255 {
                left[1].entry(number(&octets[24..28])).or_default().push(number(&octets[octets.len() - 4..]));
            }
        }
        left
    }
}

// Input:  eight sessions on two workers; all packets come in by the first worker, then all by the second.
// Output: each worker has half of the sessions and sends by its own ports; each UE's packets keep their order, none is lost.
#[tokio::test]
async fn packets_find_the_worker_of_their_session() {
    let mut bench = bench(2);
    for n in 0..8 {
        bench.apply(establishment(n, vec![])).await.unwrap();
    }
    for at in [0, 1] {
        let before = bench.snapshot().await;
        for round in 0..30_u32 {
            for n in 0..8 {
                bench.uplink(at, n, &round.to_be_bytes());
                bench.downlink(at, n, &round.to_be_bytes());
            }
            // No more under way than there is room for.
            bench.after((at as u64 * 30 + u64::from(round) + 1) * 16).await;
        }
        let after = bench.snapshot().await;
        assert_eq!(after.counters.forwarded - before.counters.forwarded, 480);
        assert_eq!((after.handed - before.handed, after.handed_in_vain), (240, 0));
        for worker in [0, 1] {
            let in_order: Vec<u32> = (0..30).collect();
            for left in bench.left(worker) {
                assert_eq!(left.len(), 4, "worker {worker}");
                assert!(left.values().all(|payloads| *payloads == in_order));
            }
        }
    }
    assert_eq!(bench.snapshot().await.counters.sessions, 8);
}

/// Sessions that come, change and go while packets of all of them flow. Returns the usage of each session and the counters.
async fn churn(workers: usize) -> (BTreeMap<Seid, Vec<(u64, u64)>>, Snapshot) {
    let mut bench = bench(workers);
    let mut usage = BTreeMap::<Seid, Vec<(u64, u64)>>::new();
    let mut sent = 0;
    for round in 0..25_u32 {
        for n in (0..20).filter(|n| (n + round) % 5 == 0) {
            bench.apply(establishment(n, vec![])).await.unwrap();
        }
        for n in 0..20 {
            let at = (n + round) as usize % workers;
            bench.uplink(at, n, &[0; 100]);
            bench.downlink(at, n, &vec![0; round as usize]);
            sent += 2;
        }
        // Before the rules change, all is where it belongs: the result does not hang on who is faster.
        bench.after(sent).await;
        for n in (0..20).filter(|n| (n + round) % 5 == 2) {
            let query = Plan {
                session: seid(n),
                ops: vec![Op::QueryUrr(UrrId(1)), Op::PutFar(far(n, false).into())],
            };
            let applied = bench.apply(query).await;
            let volumes = applied.iter().flat_map(|applied| &applied.usage).filter_map(|usage| usage.volume);
            usage.entry(seid(n)).or_default().extend(volumes.map(|v| (v.uplink, v.downlink)));
        }
        for n in (0..20).filter(|n| (n + round) % 5 == 4) {
            let applied = bench.apply(removal(n)).await;
            let volumes = applied.iter().flat_map(|applied| &applied.usage).filter_map(|usage| usage.volume);
            usage.entry(seid(n)).or_default().extend(volumes.map(|v| (v.uplink, v.downlink)));
        }
    }
    (usage, bench.snapshot().await)
}

// Input:  twenty sessions that come and go in turn while packets flow, on one worker, on two and on three.
// Output: the same usage in the same reports, and the same counters.
#[tokio::test]
async fn several_workers_do_what_one_does() {
    let (usage, one) = churn(1).await;
    assert!(usage.len() == 20 && usage.values().all(|reports| reports.len() > 5));
    for workers in [2, 3] {
        let (theirs, snapshot) = churn(workers).await;
        assert_eq!(theirs, usage);
        // Answers to unknown tunnels are rationed by time; everything else is exact.
        let counts = |snapshot: &Snapshot| {
            let counters = &snapshot.counters;
            let dropped = causeway_dataplane::DropReason::ALL
                .iter()
                .map(|reason| counters.dropped(*reason))
                .collect::<Vec<_>>();
            (counters.gtpu_received, counters.ip_received, counters.ip_sent, counters.forwarded, dropped)
        };
        assert_eq!(counts(&snapshot), counts(&one));
        assert!(snapshot.handed > 0 && snapshot.handed_in_vain == 0);
    }
}

// Input:  sessions set up and removed on three workers, each while packets for all of them are under way.
// Output: every packet is counted once; each that was forwarded has left once.
#[tokio::test]
async fn nothing_is_lost_or_doubled_while_sessions_come_and_go() {
    let mut bench = bench(3);
    let mut sent = 0_u64;
    for round in 0..160_u32 {
        let n = round % 16;
        let plan = if round % 32 < 16 { establishment(n, vec![]) } else { removal(n) };
        assert!(bench.workers.apply(u64::from(round), plan));
        bench.workers.wake();
        for other in 0..16 {
            // Each gNB and each flow of the data network comes in at one worker.
            bench.uplink(((other + 1) % 3) as usize, other, &round.to_be_bytes());
            bench.downlink((other % 3) as usize, other, &round.to_be_bytes());
            sent += 2;
        }
        while !matches!(bench.report().await, Report::Applied(_, Ok(_))) {}
    }
    let start = Instant::now();
    let last = loop {
        let snapshot = bench.snapshot().await;
        let counters = &snapshot.counters;
        let received = counters.gtpu_received.packets + counters.ip_received.packets;
        if received + snapshot.handed_in_vain == sent {
            break snapshot;
        }
        assert!(start.elapsed() < PATIENCE, "{sent} sent, {snapshot:?}");
    };
    let counters = &last.counters;
    assert_eq!(counters.forwarded + counters.dropped_total() + last.handed_in_vain, sent);
    let mut left = 0;
    for at in 0..3 {
        for ways in bench.left(at) {
            for payloads in ways.values() {
                assert!(payloads.is_sorted_by(|a, b| a < b), "in order and once: {payloads:?}");
                left += payloads.len() as u64;
            }
        }
    }
    assert_eq!(left, counters.forwarded);
}

// Input:  a tunnel that a session of another worker has; more sessions than may be.
// Output: the same errors as from one worker; afterwards all goes on.
#[tokio::test]
async fn what_is_refused_for_all_is_refused_by_each() {
    for workers in [1, 3] {
        let mut bench = bench_with(workers, Routing::default(), 4);
        for n in 0..3 {
            bench.apply(establishment(n, vec![])).await.unwrap();
        }
        let mut stolen = pdr(2, true);
        stolen.pdi.tunnel = Some(tunnel(uplink_teid(0), UPF));
        let theft = Plan { session: seid(2), ops: vec![Op::PutPdr(stolen.into())] };
        assert_eq!(bench.apply(theft).await, Err(ApplyError::TunnelInUse(tunnel(uplink_teid(0), UPF))));
        if workers > 1 {
            bench.apply(establishment(3, vec![])).await.unwrap();
            let full = ApplyError::Full { table: "sessions", capacity: 4 };
            assert_eq!(bench.apply(establishment(4, vec![])).await, Err(full));
        }
        let unknown = bench.apply(removal(9)).await;
        assert_eq!(unknown, Err(ApplyError::UnknownSession(seid(9))));
        bench.apply(removal(0)).await.unwrap();
        bench.apply(establishment(4, vec![])).await.unwrap();
        bench.uplink(workers - 1, 4, &[0; 4]);
        assert_eq!(bench.after(1).await.counters.forwarded, 1);
    }
}

// Input:  sessions of a limited slice between others; then one of the others is to join the slice.
// Output: those of the slice are all the first worker's; the one that comes late stays out, if it is another worker's.
#[tokio::test]
async fn what_sessions_share_has_one_owner() {
    let mut bench = bench(2);
    for n in 0..6 {
        let more = if n < 3 { vec![] } else { vec![Op::SetSlice(Some(SLICE))] };
        bench.apply(establishment(n, more)).await.unwrap();
    }
    for n in 3..6 {
        bench.uplink(0, n, &[0; 4]);
    }
    let snapshot = bench.after(3).await;
    assert_eq!((snapshot.handed, snapshot.counters.forwarded), (0, 3));
    // Sessions 0 and 2 are the first worker's, 1 the second's.
    let join = |n| Plan { session: seid(n), ops: vec![Op::SetSlice(Some(SLICE))] };
    bench.apply(join(0)).await.unwrap();
    assert!(matches!(bench.apply(join(1)).await, Err(ApplyError::Unsupported(_))));
    bench.uplink(0, 1, &[0; 4]);
    assert_eq!(bench.after(4).await.counters.forwarded, 4);
}

// Input:  an Error Indication about a tunnel of the second worker's session, which comes to the first worker.
// Output: the event of that session, once.
#[tokio::test]
async fn an_error_indication_finds_the_session_that_sends_there() {
    let mut bench = bench(2);
    for n in 0..2 {
        bench.apply(establishment(n, vec![])).await.unwrap();
    }
    let refused = Teid::new(downlink_teid(1));
    let message = Repr::error_indication(refused, GNB.into(), &[]).to_vec().unwrap();
    bench.gtpu(0, &message);
    match bench.report().await {
        Report::Event(Event::ErrorIndication { session, tunnel: at }) => {
            assert_eq!((session, at), (seid(1), tunnel(downlink_teid(1), GNB)));
        }
        other => panic!("{other:?}"),
    }
    let snapshot = bench.after(1).await;
    assert_eq!((snapshot.counters.consumed, snapshot.handed), (1, 1));
}

// Input:  two sessions of two workers that send to one gNB, which answers no Echo Request; then both go.
// Output: the first worker alone asks; the path is said to be down once each time, and forgotten with the last session.
#[tokio::test]
async fn a_path_is_supervised_once_for_all_workers() {
    let echo = Echo { interval: Span::from_millis(20), timeout: Span::from_millis(5), retries: 0 };
    let mut bench = bench_with(2, Routing { echo, ..Routing::default() }, 1000);
    let (local, peer): (IpAddr, IpAddr) = (UPF.into(), GNB.into());
    // The second session alone: it is the second worker's once the first has gone.
    bench.apply(establishment(0, vec![])).await.unwrap();
    bench.apply(establishment(1, vec![])).await.unwrap();
    bench.apply(removal(0)).await.unwrap();
    while !bench.events.contains(&Event::PathDown { local, peer }) {
        if let Report::Event(event) = bench.report().await {
            bench.events.push(event);
        }
    }
    bench.apply(removal(1)).await.unwrap();
    while bench.events.last() != Some(&Event::PathForgotten { local, peer }) {
        if let Report::Event(event) = bench.report().await {
            bench.events.push(event);
        }
    }
    let is_echo = |octets: Vec<u8>| octets[1] == 1;
    let asked =
        |port: &mut MemoryPort| std::iter::from_fn(|| port.pop()).filter(|(_, o)| is_echo(o.clone())).count();
    assert!(asked(&mut bench.gnbs[0]) > 0);
    assert_eq!(asked(&mut bench.gnbs[1]), 0);
}

// Input:  the end.
// Output: one last report with what all have counted.
#[tokio::test]
async fn the_last_report_is_of_all_workers() {
    let mut bench = bench(3);
    for n in 0..3 {
        bench.apply(establishment(n, vec![])).await.unwrap();
        bench.uplink(0, n, &[0; 4]);
    }
    bench.after(3).await;
    assert!(bench.workers.stop());
    match bench.report().await {
        Report::Stopped(Ok(snapshot)) => assert_eq!((snapshot.counters.forwarded, snapshot.handed), (3, 2)),
        other => panic!("{other:?}"),
    }
    assert!(bench.workers.report().await.is_none());
}
