//! Sessions and packets for tests.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_dataplane::{Event, GtpuEndpoint, Ingress, Network, Topology};
use causeway_model::{
    ApplyAction, DirectionalLimit, Far, Forwarding, HeaderRemoval, MeasurementMethod, Pdi, Pdr, Qer, RuleSet,
    UeAddress, UeSide, Urr, UsageLimits,
};
use causeway_p4::{Contract, profiles};
use causeway_packet::gtpu::prefix;
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, UdpRepr};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{
    FTeid, FarId, Interface, NetworkInstance, PdrId, Precedence, QerId, Qfi, ReportingTriggers, Teid, Time,
    UrrId,
};

use crate::backend::InProcess;
use crate::driver::Program;

pub(super) const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(super) const GNBS: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 11), Ipv4Addr::new(192, 0, 2, 12)];
pub(super) const SERVERS: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 51, 100, 9), Ipv4Addr::new(203, 0, 113, 4)];
pub(super) const START: Time = Time::from_secs(1_700_000_000);

pub(super) fn internet() -> NetworkInstance {
    NetworkInstance::new("internet")
}

pub(super) fn topology() -> Topology {
    Topology {
        gtpu: vec![GtpuEndpoint::new(UPF.into())],
        networks: vec![Network::new(internet(), vec!["10.45.0.0/16".parse().unwrap()])],
        ..Topology::default()
    }
}

/// The same with a second data network, whose UEs have the same addresses.
pub(super) fn tenant_topology() -> Topology {
    let mut topology = topology();
    let other = Network { instance: NetworkInstance::new("tenant-b"), ..topology.networks[0].clone() };
    topology.networks.push(other);
    topology
}

pub(super) fn slow_path() -> SlowPath {
    SlowPath::new(topology(), Limits::default())
}

pub(super) fn on_switch(contract: &Contract) -> InProcess {
    InProcess::new(&Program::from(contract), topology(), Limits::default()).unwrap()
}

pub(super) fn hip4() -> InProcess {
    on_switch(&profiles::HIP4)
}

pub(super) fn ue(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 45, 0, 2 + number)
}

pub(super) fn teid(raw: u32) -> Teid {
    Teid::new(raw).unwrap()
}

/// The tunnel of a UE's uplink packets.
pub(super) fn n3(number: u8) -> FTeid {
    FTeid { teid: teid(0x1000 + u32::from(number)), addr: UPF.into() }
}

/// A tunnel of a UE at a gNB.
pub(super) fn gnb(which: usize, number: u8) -> FTeid {
    FTeid { teid: teid(0x2000 + u32::from(number)), addr: GNBS[which].into() }
}

pub(super) fn uplink(id: u16, number: u8) -> Pdr {
    let pdi = Pdi {
        tunnel: Some(n3(number)),
        ue: Some(UeAddress { v4: Some(ue(number)), v6: None, side: UeSide::Source }),
        ..Pdi::new(Interface::Access)
    };
    let removal = Some(HeaderRemoval::GTPU_IPV4);
    Pdr { precedence: Precedence(255), removal, qers: vec![QerId(1)], ..Pdr::new(PdrId(id), pdi, FarId(1)) }
}

pub(super) fn downlink(id: u16, number: u8) -> Pdr {
    let pdi = Pdi {
        network_instance: Some(internet()),
        ue: Some(UeAddress { v4: Some(ue(number)), v6: None, side: UeSide::Destination }),
        ..Pdi::new(Interface::Core)
    };
    Pdr { precedence: Precedence(255), qers: vec![QerId(1)], ..Pdr::new(PdrId(id), pdi, FarId(2)) }
}

pub(super) fn to_network() -> Far {
    let forwarding = Forwarding { network_instance: Some(internet()), ..Forwarding::to(Interface::Core) };
    Far::forward(FarId(1), forwarding)
}

pub(super) fn to_gnb(tunnel: FTeid) -> Far {
    Far::forward(FarId(2), Forwarding::into_tunnel(Interface::Access, tunnel))
}

pub(super) fn buffering(tunnel: FTeid) -> Far {
    Far { action: ApplyAction::Buffer { notify: true }, ..to_gnb(tunnel) }
}

/// Measures volume, and reports each time that this much is counted.
pub(super) fn volume(id: u32, threshold: Option<u64>) -> Urr {
    let method = MeasurementMethod { volume: true, ..MeasurementMethod::default() };
    let limit = threshold.map(|total| DirectionalLimit { total: Some(total), ..DirectionalLimit::default() });
    Urr {
        triggers: if threshold.is_some() { ReportingTriggers::VOLTH } else { ReportingTriggers::empty() },
        thresholds: UsageLimits { volume: limit, ..UsageLimits::default() },
        ..Urr::new(UrrId(id), method)
    }
}

/// A session with an uplink and a downlink rule, both counted by URR 1.
pub(super) fn session(number: u8) -> RuleSet {
    let mut rules = RuleSet::default();
    for mut pdr in [uplink(1, number), downlink(2, number)] {
        pdr.urrs = vec![UrrId(1)];
        rules.pdrs.insert(pdr.id, pdr);
    }
    rules.fars.insert(FarId(1), to_network());
    rules.fars.insert(FarId(2), to_gnb(gnb(0, number)));
    rules.qers.insert(QerId(1), Qer { qfi: Qfi::new(9), ..Qer::new(QerId(1)) });
    rules.urrs.insert(UrrId(1), volume(1, None));
    rules
}

/// A UDP packet.
pub(super) fn udp(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), octets: usize) -> Vec<u8> {
    let ip = IpRepr::V4(Ipv4Repr::new(from.0, to.0, IpProtocol::UDP));
    let mut packet = Vec::new();
    let data = vec![0x5a; octets];
    ip.write_udp(UdpRepr { src_port: from.1, dst_port: to.1 }, true, &[&data], &mut packet).unwrap();
    packet
}

/// The receive source of a gNB's packets.
pub(super) fn from_gnb() -> Ingress {
    Ingress::Gtpu {
        local: IpAddr::V4(UPF),
        peer: SocketAddr::new(IpAddr::V4(GNBS[0]), 2152),
        tos: 0,
        hops: None,
    }
}

pub(super) fn from_network() -> Ingress {
    Ingress::Ip { network: internet() }
}

/// A user packet in the tunnel of a UE.
pub(super) fn tunnelled(number: u8, qfi: Option<u8>, user: &[u8]) -> Vec<u8> {
    let teid = n3(number).teid;
    let mut packet = match qfi.and_then(Qfi::new) {
        Some(qfi) => prefix::uplink(teid, qfi, user.len()).unwrap().to_vec(),
        None => prefix::without_extensions(teid, user.len()).unwrap().to_vec(),
    };
    packet.extend(user);
    packet
}

pub(super) fn request(number: u8, octets: usize) -> Vec<u8> {
    tunnelled(number, Some(9), &udp((ue(number), 40_000), (SERVERS[0], 53), octets))
}

pub(super) fn reply(number: u8, octets: usize) -> Vec<u8> {
    udp((SERVERS[0], 53), (ue(number), 40_000), octets)
}

/// All pending events.
pub(super) fn events(plane: &mut dyn causeway_dataplane::PacketEngine) -> Vec<Event> {
    std::iter::from_fn(|| plane.poll_event()).collect()
}
