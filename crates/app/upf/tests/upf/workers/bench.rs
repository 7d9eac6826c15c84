//! Workers on memory ports, and the sessions and packets that they are given.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use causeway_dataplane::{
    Applied, ApplyError, Event, GtpuEndpoint, Network, Op, Plan, Routing, SliceLimit, Topology,
};
use causeway_fastpath::FastPath;
use causeway_model::{
    ApplyAction, Far, Forwarding, HeaderRemoval, MeasurementMethod, OuterHeader, Pdi, Pdr, UeAddress, UeSide,
    Urr, testing::rules_of,
};
use causeway_packet::gtpu::prefix;
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, Meta, UdpRepr};
use causeway_ports::memory::{MemoryPort, pair_with};
use causeway_slowpath::Limits;
use causeway_types::{
    Bitrate, DualIp, FTeid, FarId, Interface, NetworkInstance, PdrId, SNssai, Seid, Span, Teid, UrrId,
};
use causeway_upf::BoxedDataPlane;
use causeway_upf::clock::Clock;
use causeway_upf::worker::{PortSet, Report, Schedule, Snapshot, WorkerHandle, WorkerSetup};
use tokio::time::timeout;

pub(crate) const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
pub(crate) const SLICE: SNssai = SNssai { sst: 1, sd: 7 };

/// Workers with the far ends of their ports.
pub(crate) struct Bench {
    pub(crate) workers: WorkerHandle<u64>,
    pub(crate) gnbs: Vec<MemoryPort>,
    pub(crate) servers: Vec<MemoryPort>,
    pub(crate) plans: u64,
    pub(crate) events: Vec<Event>,
}

pub(crate) fn bench(workers: usize) -> Bench {
    bench_with(workers, Routing::default(), 1000)
}

pub(crate) fn bench_with(workers: usize, routing: Routing, most_sessions: u32) -> Bench {
    bench_of(workers, routing, most_sessions, |topology| {
        Box::new(FastPath::new(topology, Limits::default()).unwrap())
    })
}

/// With a data plane of each worker's own.
pub(crate) fn bench_of(
    workers: usize,
    routing: Routing,
    most_sessions: u32,
    data_plane: impl Fn(Topology) -> BoxedDataPlane,
) -> Bench {
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
        seats.push(WorkerSetup {
            data_plane: data_plane(own),
            ports,
            schedule: Schedule::default(),
            n4: None,
        });
        gnbs.push(gnb);
        servers.push(server);
    }
    let workers = WorkerHandle::spawn_all(seats, Clock::new(), &whole, most_sessions as usize).unwrap();
    Bench { workers, gnbs, servers, plans: 0, events: Vec::new() }
}

pub(crate) fn ue(n: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a2d_0000 + n)
}

pub(crate) fn tunnel(teid: u32, at: Ipv4Addr) -> FTeid {
    FTeid { teid: Teid::new(teid).unwrap(), addr: DualIp::from(at) }
}

pub(crate) fn uplink_teid(n: u32) -> u32 {
    0x1000 + n
}

pub(crate) fn downlink_teid(n: u32) -> u32 {
    0x2000 + n
}

pub(crate) fn seid(n: u32) -> Seid {
    Seid(u64::from(n) + 1)
}

pub(crate) fn pdr(n: u32, uplink: bool) -> Pdr {
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

pub(crate) fn far(n: u32, uplink: bool) -> Far {
    let (id, to) = if uplink { (1, Interface::Core) } else { (2, Interface::Access) };
    let outer = (!uplink).then(|| OuterHeader::Gtpu(tunnel(downlink_teid(n), GNB)));
    Far {
        forwarding: Some(Forwarding { outer, ..Forwarding::to(to) }),
        ..Far::new(FarId(id), ApplyAction::Forward)
    }
}

/// The session of UE `n`, which counts what passes.
pub(crate) fn establishment(n: u32, more: Vec<Op>) -> Plan {
    let mut ops = more;
    ops.push(Op::PutUrr(Arc::new(Urr::new(
        UrrId(1),
        MeasurementMethod { volume: true, ..Default::default() },
    ))));
    ops.extend([true, false].map(|uplink| Op::PutFar(far(n, uplink).into())));
    ops.extend([true, false].map(|uplink| Op::PutPdr(pdr(n, uplink).into())));
    Plan::install(seid(n), rules_of(ops))
}

pub(crate) fn removal(n: u32) -> Plan {
    Plan::removal(seid(n))
}

pub(crate) fn packet(src: Ipv4Addr, dst: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    let ip = IpRepr::V4(Ipv4Repr::new(src, dst, IpProtocol::UDP));
    ip.write_udp(UdpRepr { src_port: 1, dst_port: 2 }, true, &[payload], &mut octets).unwrap();
    octets
}

impl Bench {
    pub(crate) async fn report(&mut self) -> Report<u64> {
        self.workers.wake();
        timeout(PATIENCE, self.workers.report()).await.expect("in time").expect("a report")
    }

    pub(crate) async fn apply(&mut self, plan: Plan) -> Result<Applied, ApplyError> {
        self.plans += 1;
        assert!(self.workers.apply(self.plans, plan));
        loop {
            match self.report().await {
                Report::Applied(key, result) => {
                    assert_eq!(key, self.plans);
                    return result;
                }
                Report::Event(event) => self.events.push(event),
                Report::Usage(_) | Report::UsageRestored(_) => panic!("nobody asked for usage"),
                Report::Stopped(_) => panic!("stopped"),
            }
        }
    }

    pub(crate) async fn snapshot(&self) -> Snapshot {
        let client = self.workers.snapshot_client();
        timeout(PATIENCE, client.snapshot()).await.expect("in time").expect("a snapshot")
    }

    /// The counters once so many packets have been received.
    pub(crate) async fn after(&self, received: u64) -> Snapshot {
        let start = Instant::now();
        loop {
            let snapshot = self.snapshot().await;
            if snapshot.counters.received() >= received {
                return snapshot;
            }
            assert!(start.elapsed() < PATIENCE, "{snapshot:?}");
        }
    }

    pub(crate) fn uplink(&mut self, at: usize, n: u32, payload: &[u8]) {
        let user = packet(ue(n), SERVER, payload);
        let header = prefix::without_extensions(Teid::new(uplink_teid(n)).unwrap(), user.len()).unwrap();
        self.gtpu(at, &[&header[..], &user].concat());
    }

    pub(crate) fn gtpu(&mut self, at: usize, message: &[u8]) {
        let meta =
            Meta::Gtpu { local: UPF.into(), peer: SocketAddr::new(GNB.into(), 2152), tos: 0, hops: None };
        assert!(self.gnbs[at].push(meta, message));
    }

    pub(crate) fn downlink(&mut self, at: usize, n: u32, payload: &[u8]) {
        assert!(self.servers[at].push(Meta::Ip, &packet(SERVER, ue(n), payload)));
    }

    /// The payloads that have left by worker `at`, by UE: to the data network, then to the gNB.
    pub(crate) fn left(&mut self, at: usize) -> [BTreeMap<u32, Vec<u32>>; 2] {
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
