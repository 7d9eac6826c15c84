//! A slow path with one session, and packets for it.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

pub mod ethernet;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_dataplane::{
    Applied, ApplyError, Dataplane, Disposition, Egress, EthernetNetwork, Event, GtpuEndpoint, Ingress,
    N6Endpoint, Network, Op, PacketEngine, Plan, Topology,
};
use causeway_model::{
    ApplyAction, DirectionalLimit, Far, Forwarding, HeaderRemoval, MeasurementMethod, Pdi, Pdr,
    ProfiledSession, Qer, SessionChange, UeAddress, UeSide, Urr, UsageLimits, testing::rules_of,
};
use causeway_packet::gtpu::prefix;
use causeway_packet::rewrite::decrement_hop_limit;
use causeway_packet::{IpProtocol, Ipv4Repr, UdpRepr};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{
    DualIp, FTeid, FarId, Interface, NetworkInstance, PdrId, Precedence, QerId, Qfi, ReportingTriggers, Seid,
    Teid, Time, UrrId,
};

pub const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const N6: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 6);
pub const N6_IPV6: &str = "2001:db8::6";
pub const N6_PORT: u16 = 4500;
pub const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
pub const GNB2: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 12);
pub const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
/// The address of the UPF in the UEs' pool.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);
pub const SESSION: Seid = Seid(1);
pub const UPLINK: PdrId = PdrId(1);
pub const DOWNLINK: PdrId = PdrId(2);
pub const QFI: u8 = 9;

pub fn teid(raw: u32) -> Teid {
    Teid::new(raw).unwrap()
}

pub fn qfi(raw: u8) -> Qfi {
    Qfi::new(raw).unwrap()
}

pub fn internet() -> NetworkInstance {
    NetworkInstance::new("internet")
}

/// An Ethernet network.
pub fn lan() -> NetworkInstance {
    NetworkInstance::new("lan")
}

/// The tunnel of the UPF on N3.
pub fn n3() -> FTeid {
    FTeid { teid: teid(0x1001), addr: UPF.into() }
}

/// A tunnel of a gNB.
pub fn gnb_tunnel(ip: Ipv4Addr, raw: u32) -> FTeid {
    FTeid { teid: teid(raw), addr: ip.into() }
}

pub fn topology() -> Topology {
    let v6 = "2001:db8::1".parse().ok();
    Topology {
        gtpu: vec![GtpuEndpoint::new(DualIp { v4: Some(UPF), v6 })],
        networks: vec![Network {
            gateways: vec![GATEWAY.into()],
            ..Network::new(internet(), vec!["10.45.0.0/16".parse().unwrap()])
        }],
        n6_tunnels: vec![N6Endpoint {
            network: internet(),
            addr: DualIp { v4: Some(N6), v6: N6_IPV6.parse().ok() },
            port: N6_PORT,
        }],
        ethernet: vec![EthernetNetwork { instance: lan(), flood_unknown: false }],
        ..Topology::default()
    }
}

pub fn uplink_pdr() -> Pdr {
    let pdi = Pdi {
        tunnel: Some(n3()),
        ue: Some(UeAddress { v4: Some(UE), v6: None, side: UeSide::Source }),
        ..Pdi::new(Interface::Access)
    };
    Pdr {
        precedence: Precedence(255),
        removal: Some(HeaderRemoval::GTPU_IPV4),
        ..Pdr::new(UPLINK, pdi, FarId(1))
    }
}

pub fn downlink_pdr() -> Pdr {
    let pdi = Pdi {
        network_instance: Some(internet()),
        ue: Some(UeAddress { v4: Some(UE), v6: None, side: UeSide::Destination }),
        ..Pdi::new(Interface::Core)
    };
    Pdr { precedence: Precedence(255), ..Pdr::new(DOWNLINK, pdi, FarId(2)) }
}

pub fn to_network() -> Far {
    let forwarding = Forwarding { network_instance: Some(internet()), ..Forwarding::to(Interface::Core) };
    Far::forward(FarId(1), forwarding)
}

pub fn to_gnb(tunnel: FTeid) -> Far {
    let forwarding = Forwarding::into_tunnel(Interface::Access, tunnel);
    Far::forward(FarId(2), forwarding)
}

pub fn buffering(notify: bool) -> Far {
    Far { action: ApplyAction::Buffer { notify }, ..to_gnb(gnb_tunnel(GNB, 0x2001)) }
}

pub fn open_qer(id: u32) -> Qer {
    Qer { qfi: Some(qfi(QFI)), ..Qer::new(QerId(id)) }
}

pub fn volume_urr(id: u32, total: Option<u64>) -> Urr {
    let method = MeasurementMethod { volume: true, ..Default::default() };
    let limit = |total| DirectionalLimit { total: Some(total), ..Default::default() };
    Urr {
        triggers: if total.is_some() { ReportingTriggers::VOLTH } else { ReportingTriggers::empty() },
        thresholds: UsageLimits { volume: total.map(limit), ..Default::default() },
        ..Urr::new(UrrId(id), method)
    }
}

/// A data plane under test, with its output and a manual clock.
pub struct Bench {
    pub plane: SlowPath,
    pub sent: Vec<(Egress, Vec<u8>)>,
    pub now: Time,
}

impl Bench {
    /// Without any session.
    pub fn empty(limits: Limits) -> Self {
        Self { plane: SlowPath::new(topology(), limits), sent: Vec::new(), now: Time::from_secs(1_000_000) }
    }

    /// With one session: uplink to the network, downlink to the gNB.
    pub fn new() -> Self {
        let mut setup = Self::empty(Limits::default());
        setup.apply(establishment()).unwrap();
        setup
    }

    pub fn apply(&mut self, change: impl Into<SessionChange>) -> Result<Applied, ApplyError> {
        self.apply_to(SESSION, change)
    }

    pub fn apply_to(
        &mut self,
        session: Seid,
        change: impl Into<SessionChange>,
    ) -> Result<Applied, ApplyError> {
        let applied = self.plane.apply(self.now, &Plan { session, change: change.into() });
        self.plane.flush(&mut self.sent);
        applied
    }

    pub fn gtpu(&mut self, bytes: &[u8]) -> Disposition {
        let ingress =
            Ingress::Gtpu { local: IpAddr::V4(UPF), peer: SocketAddr::from((GNB, 2152)), tos: 0, hops: None };
        self.plane.process(self.now, &ingress, bytes, &mut self.sent)
    }

    pub fn uplink(&mut self, user: &[u8]) -> Disposition {
        self.gtpu(&g_pdu(n3().teid, QFI, user))
    }

    pub fn downlink(&mut self, user: &[u8]) -> Disposition {
        self.plane.process(self.now, &Ingress::Ip { network: internet() }, user, &mut self.sent)
    }

    pub fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.plane.poll_event()).collect()
    }

    pub fn take_sent(&mut self) -> Vec<(Egress, Vec<u8>)> {
        std::mem::take(&mut self.sent)
    }
}

pub fn establishment() -> SessionChange {
    install(vec![
        Op::PutQer(open_qer(1).into()),
        Op::PutFar(to_network().into()),
        Op::PutFar(to_gnb(gnb_tunnel(GNB, 0x2001)).into()),
        Op::PutPdr(uplink_pdr().into()),
        Op::PutPdr(Pdr { qers: vec![QerId(1)], ..downlink_pdr() }.into()),
    ])
}

/// A new session with the rules that these writes put.
pub fn install(ops: Vec<Op>) -> SessionChange {
    ProfiledSession::unshared(rules_of(ops)).into()
}

/// A G-PDU with the gNB's PDU Session Container.
pub fn g_pdu(teid: Teid, flow: u8, user: &[u8]) -> Vec<u8> {
    let mut bytes = prefix::uplink(teid, qfi(flow), user.len()).unwrap().to_vec();
    bytes.extend_from_slice(user);
    bytes
}

/// A UDP packet with `len` octets of payload, each of them `fill`.
pub fn udp(src: (Ipv4Addr, u16), dst: (Ipv4Addr, u16), fill: u8, len: usize) -> Vec<u8> {
    let mut segment = Vec::new();
    let ports = UdpRepr { src_port: src.1, dst_port: dst.1 };
    ports.write(src.0.into(), dst.0.into(), &vec![fill; len], &mut segment).unwrap();
    let mut packet = Vec::new();
    Ipv4Repr::new(src.0, dst.0, IpProtocol::UDP).write(&[], &segment, &mut packet).unwrap();
    packet
}

pub fn from_ue(fill: u8) -> Vec<u8> {
    udp((UE, 40000), (SERVER, 53), fill, 100)
}

pub fn to_ue(fill: u8) -> Vec<u8> {
    udp((SERVER, 53), (UE, 40000), fill, 100)
}

/// The packet after it passed the UPF.
pub fn one_hop_on(mut packet: Vec<u8>) -> Vec<u8> {
    decrement_hop_limit(&mut packet).unwrap();
    packet
}

/// The user packet in a packet to a gNB, after the 16 octets of GTP-U header and container.
pub fn inner(packet: &[u8]) -> &[u8] {
    &packet[16..]
}
