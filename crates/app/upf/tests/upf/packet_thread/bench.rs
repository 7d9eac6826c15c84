//! A packet thread on memory ports, and the session and packets that it is given.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use causeway_dataplane::{GtpuEndpoint, Network, Op, Plan, Topology};
use causeway_fastpath::FastPath;
use causeway_model::{
    ApplyAction, Bar, Far, Forwarding, HeaderRemoval, OuterHeader, Pdi, Pdr, UeAddress, UeSide,
    testing::rules_of,
};
use causeway_packet::gtpu::prefix;
use causeway_packet::rewrite::decrement_hop_limit;
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, Meta, UdpRepr};
use causeway_ports::memory::{MemoryPort, pair};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{BarId, DualIp, FTeid, FarId, Interface, NetworkInstance, PdrId, Seid, Teid};
use causeway_upf::BoxedDataPlane;
use causeway_upf::clock::Clock;
use causeway_upf::worker::{PortSet, Report, Schedule, Snapshot, WorkerHandle};
use tokio::time::timeout;

pub(crate) const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
pub(crate) const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
pub(crate) const UPLINK: u32 = 0x11;
pub(crate) const DOWNLINK: u32 = 0x22;
pub(crate) const SESSION: Seid = Seid(7);

pub(crate) type Worker = WorkerHandle<u32>;

/// A data plane with its topology.
pub(crate) type Make = fn(Topology) -> BoxedDataPlane;

/// Every data plane that a packet thread can have.
pub(crate) const ENGINES: [Make; 2] = [
    |topology| Box::new(FastPath::new(topology, Limits::default()).unwrap()),
    |topology| Box::new(SlowPath::new(topology, Limits::default())),
];

/// The thread with the far ends of its ports.
pub(crate) struct Bench {
    pub(crate) worker: Worker,
    pub(crate) gnb: MemoryPort,
    pub(crate) server: MemoryPort,
}

pub(crate) fn bench(make: Make) -> Bench {
    bench_with(make, Schedule::default())
}

pub(crate) fn bench_with(make: Make, schedule: Schedule) -> Bench {
    let (n3, gnb) = pair("n3", "gnb").unwrap();
    let (n6, server) = pair("n6", "server").unwrap();
    let mut set = PortSet::new();
    set.add_gtpu([GtpuEndpoint::new(UPF.into())], Box::new(n3));
    set.add_network(internet(), Box::new(n6));
    let engine = make(set.topology());
    Bench { worker: Worker::spawn(engine, set, Clock::new(), schedule).unwrap(), gnb, server }
}

pub(crate) fn internet() -> Network {
    Network::new(NetworkInstance::new("internet"), vec!["10.45.0.0/16".parse().unwrap()])
}

pub(crate) fn tunnel(teid: u32, at: Ipv4Addr) -> FTeid {
    FTeid { teid: Teid::new(teid).unwrap(), addr: DualIp::from(at) }
}

pub(crate) fn pdr(id: u16, source: Interface, uplink: bool) -> Pdr {
    let side = if uplink { UeSide::Source } else { UeSide::Destination };
    let pdi = Pdi {
        tunnel: uplink.then(|| tunnel(UPLINK, UPF)),
        ue: Some(UeAddress { v4: Some(UE), v6: None, side }),
        ..Pdi::new(source)
    };
    Pdr { removal: uplink.then_some(HeaderRemoval::GTPU_IPV4), ..Pdr::new(PdrId(id), pdi, FarId(id.into())) }
}

pub(crate) fn far(id: u32, action: ApplyAction, to: Interface, tunnel: Option<FTeid>) -> Far {
    let forwarding = Some(Forwarding { outer: tunnel.map(OuterHeader::Gtpu), ..Forwarding::to(to) });
    Far { forwarding, bar: Some(BarId(1)), ..Far::new(FarId(id), action) }
}

pub(crate) fn downlink_far(action: ApplyAction) -> Far {
    far(2, action, Interface::Access, Some(tunnel(DOWNLINK, GNB)))
}

/// A session whose downlink does `action`, and whose BAR delays the notification.
pub(crate) fn establishment(action: ApplyAction, delay: Duration) -> Plan {
    let ops = vec![
        Op::PutBar(Bar { id: BarId(1), notification_delay: delay, suggested_packets: None }.into()),
        Op::PutFar(far(1, ApplyAction::Forward, Interface::Core, None).into()),
        Op::PutFar(downlink_far(action).into()),
        Op::PutPdr(pdr(1, Interface::Access, true).into()),
        Op::PutPdr(pdr(2, Interface::Core, false).into()),
    ];
    Plan::install(SESSION, rules_of(ops))
}

/// The packet after it passed the UPF.
pub(crate) fn one_hop_on(mut packet: Vec<u8>) -> Vec<u8> {
    decrement_hop_limit(&mut packet).unwrap();
    packet
}

pub(crate) fn packet(src: Ipv4Addr, dst: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    let ip = IpRepr::V4(Ipv4Repr::new(src, dst, IpProtocol::UDP));
    ip.write_udp(UdpRepr { src_port: 1, dst_port: 2 }, true, &[payload], &mut octets).unwrap();
    octets
}

impl Bench {
    pub(crate) async fn report(&mut self) -> Report<u32> {
        timeout(Duration::from_secs(5), self.worker.report()).await.expect("in time").expect("a report")
    }

    pub(crate) async fn apply(&mut self, plan: Plan) {
        assert!(self.worker.apply(1, plan));
        self.worker.wake();
        let report = self.report().await;
        assert!(matches!(report, Report::Applied(1, Ok(_))), "{report:?}");
    }

    pub(crate) async fn snapshot(&self) -> Snapshot {
        let client = self.worker.snapshot_client();
        timeout(Duration::from_secs(5), client.snapshot()).await.expect("in time").expect("a snapshot")
    }

    pub(crate) fn uplink(&mut self, teid: u32, user: &[u8]) {
        let header = prefix::without_extensions(Teid::new(teid).unwrap(), user.len()).unwrap();
        let meta =
            Meta::Gtpu { local: UPF.into(), peer: SocketAddr::new(GNB.into(), 2152), tos: 0, hops: None };
        assert!(self.gnb.push(meta, &[&header[..], user].concat()));
    }
}

/// Waits until a frame arrives at this end.
pub(crate) fn next(port: &mut MemoryPort) -> (Meta, Vec<u8>) {
    let start = Instant::now();
    loop {
        if let Some(frame) = port.pop() {
            return frame;
        }
        assert!(start.elapsed() < Duration::from_secs(5), "no frame in time");
        std::thread::sleep(Duration::from_millis(1));
    }
}
