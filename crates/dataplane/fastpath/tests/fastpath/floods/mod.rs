//! Floods of invalid packets: the fast path has the results of the slow path, and passes to the slow path only the few
//! packets that need a response.

use std::net::Ipv4Addr;

use causeway_dataplane::{
    Dataplane, Disposition, Egress, GtpuEndpoint, Ingress, Network, PacketEngine, Plan, Topology,
};
use causeway_fastpath::FastPath;
use causeway_model::{
    Far, Forwarding, HeaderRemoval, MeasurementMethod, Pdi, Pdr, RemovedHeader, RuleSet, UeAddress, UeSide,
    Urr,
};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{
    DualIp, FTeid, FarId, Interface, Ipv6Net, NetworkInstance, PdrId, Seid, Span, Teid, Time, UrrId,
};

mod invalid_packets;

use invalid_packets::{from_data_network, from_ue, invalid_packets, to_ue, tunnelled, tunnelled_with};

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const UE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);
const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);
const UE_V6: &str = "2001:db8:45::7";
const SERVER_V6: &str = "2001:db8:9::9";
/// The TEID of the session to the data network, and of one that relays to another UPF.
const OURS: u32 = 0x11;
const RELAYED: u32 = 0x12;
/// Packets of each kind.
const FLOOD: usize = 3000;
/// An MTU below the largest packet in a tunnel with its outer headers.
const MTU: u32 = 1500;

fn tunnel(teid: u32, ip: Ipv4Addr) -> FTeid {
    FTeid { teid: Teid::new(teid).unwrap(), addr: DualIp::from(ip) }
}

fn topology() -> Topology {
    let pools = ["10.0.0.0/8", "2001:db8:45::/48"].map(|pool| pool.parse().unwrap()).into();
    let mut network = Network::new(NetworkInstance::new("internet"), pools);
    network.gateways = vec!["10.0.0.1".parse().unwrap(), "2001:db8:45:ffff::1".parse().unwrap()];
    let mut endpoint = GtpuEndpoint::new(DualIp::from(UPF));
    endpoint.mtu = MTU;
    Topology { gtpu: vec![endpoint], networks: vec![network], ..Topology::default() }
}

/// Both directions between a gNB and the data network, and one from the gNB to another UPF, all measured. `before_qos`:
/// before QoS enforcement, too.
fn rules(before_qos: bool) -> RuleSet {
    let prefix: Ipv6Net = "2001:db8:45::/64".parse().unwrap();
    let ue = |side| Some(UeAddress { v4: Some(UE), v6: Some(prefix), side });
    let removal = Some(HeaderRemoval { header: RemovedHeader::GtpuIpv4, deletes_container: false });
    let without_container = removal.map(|removal| HeaderRemoval { deletes_container: true, ..removal });
    let urrs = || vec![UrrId(1)];
    let from = |teid| Pdi { tunnel: Some(tunnel(teid, UPF)), ..Pdi::new(Interface::Access) };
    let uplink = Pdi { ue: ue(UeSide::Source), ..from(OURS) };
    let downlink = Pdi { ue: ue(UeSide::Destination), ..Pdi::new(Interface::Core) };
    let mut rules = RuleSet::default();
    rules.pdrs.extend([
        (PdrId(1), Pdr { removal, urrs: urrs(), ..Pdr::new(PdrId(1), uplink, FarId(1)) }),
        (PdrId(2), Pdr { urrs: urrs(), ..Pdr::new(PdrId(2), downlink, FarId(2)) }),
        (
            PdrId(3),
            Pdr { removal: without_container, urrs: urrs(), ..Pdr::new(PdrId(3), from(RELAYED), FarId(3)) },
        ),
    ]);
    let into = |id, side, teid| {
        (FarId(id), Far::forward(FarId(id), Forwarding::into_tunnel(side, tunnel(teid, GNB))))
    };
    rules.fars.extend([
        (FarId(1), Far::forward(FarId(1), Forwarding::to(Interface::Core))),
        into(2, Interface::Access, 0x101),
        into(3, Interface::Core, 0x102),
    ]);
    let method = MeasurementMethod { volume: true, ..MeasurementMethod::default() };
    rules.urrs.extend([(UrrId(1), Urr { before_qos, ..Urr::new(UrrId(1), method) })]);
    rules
}

/// The slow path and the fast path, with the same input.
struct Both {
    slow: SlowPath,
    fast: FastPath,
    now: Time,
}

impl Both {
    fn new(before_qos: bool) -> Self {
        let limits = Limits { max_sessions: 4, ..Limits::default() };
        let (mut slow, mut fast) =
            (SlowPath::new(topology(), limits), FastPath::new(topology(), limits).unwrap());
        let now = Time::from_secs(1000);
        let plan: Plan = Plan::install(Seid(1), rules(before_qos).clone());
        assert_eq!(slow.apply(now, &plan), fast.apply(now, &plan));
        Self { slow, fast, now }
    }

    fn send(&mut self, (ingress, packet): &(Ingress, Vec<u8>)) -> Disposition {
        self.now = self.now + Span::from_micros(1);
        let (mut by_slow, mut by_fast) = (Vec::<(Egress, Vec<u8>)>::new(), Vec::new());
        let wanted = self.slow.process(self.now, ingress, packet, &mut by_slow);
        let found = self.fast.process(self.now, ingress, packet, &mut by_fast);
        assert_eq!((found, &by_fast), (wanted, &by_slow), "{packet:02x?}");
        assert_eq!(self.slow.poll_event(), self.fast.poll_event());
        wanted
    }

    /// Deletes the session: its usage is the same.
    fn end(&mut self) {
        let plan = Plan::removal(Seid(1));
        assert_eq!(self.slow.apply(self.now, &plan), self.fast.apply(self.now, &plan));
    }
}

// Input:  for a session that has had good packets, measured before QoS enforcement or not, 3000 packets of each kind,
//         one microsecond apart.
// Output: the same from slow path and fast path: dispositions, transmitted packets, all counters, and usage. The slow
//         path sees at most a tenth, those with a response.
#[test]
fn floods_stay_off_the_slow_path() {
    let mut slow = Vec::new();
    for (before_qos, (name, packet)) in
        [false, true].into_iter().flat_map(|it| invalid_packets().into_iter().map(move |kind| (it, kind)))
    {
        let mut both = Both::new(before_qos);
        // Measurement begins with the first packet that passes.
        for good in
            [tunnelled(&from_ue()), tunnelled_with(RELAYED, &[], &from_ue(), 0), from_data_network(to_ue())]
        {
            assert_eq!(both.send(&good), Disposition::Forwarded);
        }
        let dispositions: Vec<_> = (0..FLOOD).map(|_| both.send(&packet)).collect();
        assert_eq!(both.slow.counters(), both.fast.counters(), "{name}");
        if both.fast.fast_path_packets() < FLOOD as u64 * 9 / 10 {
            slow.push((name, before_qos, both.fast.fast_path_packets(), dispositions.last().copied()));
        }
        both.end();
    }
    assert_eq!(slow, []);
}

// Input:  all kinds in turns, so that consecutive batches are of different kinds.
// Output: the same from both.
#[test]
fn mixed_floods_equal_the_slow_path() {
    let mut both = Both::new(true);
    for round in 0..200 {
        for (name, packet) in invalid_packets() {
            both.send(&packet);
            assert_eq!(both.slow.counters(), both.fast.counters(), "{name} in round {round}");
        }
    }
    both.end();
}
