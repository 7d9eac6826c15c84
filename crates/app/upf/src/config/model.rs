//! The configuration, as the program uses it. Field names are the keys of the file.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_types::{IpNet, NodeId, Span};
use serde::Serialize;

use super::chain::Chain;
use super::cold_storage::ColdStorage;
use super::data_plane::DataPlane;
use super::detection::{Application, Predefined};
use super::enums::{GtpuMode, Level, LogFormat, N6Mode, WhenFull};
use super::ethernet::EthernetNetwork;
use super::firewall::Firewall;
use super::forwarding::{ForwardingPolicy, N6Tunnel};
use super::framed::FramedRoutes;
use super::host::{AcceptFrom, HostReachability};
use super::hybrid::HybridKeys;
use super::management::ManagementAccess;
use super::memory::Memory;
use super::pfcp::Pfcp;
use super::qos::Qos;
use super::routing::{EchoConfig, Routing};
use super::serialize::{addresses, octets, prefixes, shown, shown_if_any, span};
use super::switch::P4Switch;
use super::traffic::Traffic;
use super::vxlan::VxlanSegment;
use super::workers::Workers;
use super::xplane::XPlaneKeys;

/// The PFCP port (TS 29.244 clause 4.2.2).
pub const PFCP_PORT: u16 = 8805;

/// The GTP-U port (TS 29.281 clause 4.4.2).
pub const GTPU_PORT: u16 = 2152;

/// Sessions that a UPF may have at most: 15 million have been measured.
pub(super) const MOST_SESSIONS: u32 = 20_000_000;

/// The port of the management HTTP server.
pub const METRICS_PORT: u16 = 9098;

/// The default address of N4 and N3: the loopback address of the UPF in Open5GS.
pub const DEFAULT_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 7));

/// The whole configuration.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Config {
    /// Logs.
    pub logger: Logger,
    /// The UPF.
    pub upf: Upf,
}

/// The log level and format.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Logger {
    /// The least severe level that is logged.
    pub level: Level,
    /// Text or JSON.
    pub format: LogFormat,
}

/// The UPF.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Upf {
    /// The Node ID (TS 29.244 clause 8.2.38); `None`: the first N4 address.
    #[serde(serialize_with = "shown_if_any", skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// Maximum number of sessions.
    pub max_sessions: u32,
    /// Maximum number of PDRs in one session.
    pub max_pdrs_per_session: u16,
    /// The memory limit of the UPF.
    pub memory: Memory,
    /// Maximum number of MAC addresses behind one Ethernet session.
    pub max_macs_per_session: u32,
    /// How long the start waits for interfaces and addresses that are not there yet.
    #[serde(serialize_with = "span")]
    pub interface_timeout: Span,
    /// N4.
    pub pfcp: Pfcp,
    /// N3 and N9.
    pub gtpu: Gtpu,
    /// The UE address pools, each on a data network (N6).
    pub session: Vec<Session>,
    /// The time before a released UE address is allocated again.
    #[serde(serialize_with = "span")]
    pub ue_address_quarantine: Span,
    /// The kernel routing table and the limits of framed routes.
    pub framed_routes: FramedRoutes,
    /// The Ethernet data networks (N6).
    pub ethernet: Vec<EthernetNetwork>,
    /// The VXLAN segments that data networks and GTP-U addresses may be in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vxlan: Vec<VxlanSegment>,
    /// The local endpoints of tunnels over N6.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub n6_tunnel: Vec<N6Tunnel>,
    /// The forwarding policies that SMFs may refer to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forwarding_policy: Vec<ForwardingPolicy>,
    /// The firewall for the packets of all sessions.
    pub firewall: Firewall,
    /// The addresses of the host that UEs can reach.
    pub host: HostReachability,
    /// GRO and GSO on N3 and N6, where the kernel supports them.
    pub offload: bool,
    /// The data plane.
    pub dataplane: DataPlane,
    /// The P4 switch, for the data plane `switch`.
    pub switch: P4Switch,
    /// Which rules move, for the data plane `hybrid`.
    pub hybrid: HybridKeys,
    /// The external memory, for the data plane `xplane`.
    pub xplane: XPlaneKeys,
    /// Where idle sessions keep their state.
    pub cold_storage: ColdStorage,
    /// The chain of two daemons that this one is in.
    pub chain: Chain,
    /// The packet threads.
    pub workers: Workers,
    /// The UPF as a router.
    pub routing: Routing,
    /// Packets that are buffered for idle UEs.
    pub buffering: Buffering,
    /// Applications that no SMF provisions; each item is one PFD.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<Application>,
    /// Predefined rules that SMFs may activate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub predefined_rules: Vec<Predefined>,
    /// QoS enforcement.
    pub qos: Qos,
    /// What is looked for in the traffic.
    pub traffic: Traffic,
    /// The HTTP server of metrics and, on loopback addresses, of the management API.
    pub metrics: Metrics,
    /// Further access to the management API.
    pub management: ManagementAccess,
}

impl Default for Upf {
    fn default() -> Self {
        Self {
            node_id: None,
            max_sessions: 100_000,
            max_pdrs_per_session: 64,
            memory: Memory::default(),
            max_macs_per_session: 256,
            interface_timeout: Span::from_secs(30),
            pfcp: Pfcp::default(),
            gtpu: Gtpu::default(),
            session: vec![Session::default()],
            ue_address_quarantine: Span::from_secs(60),
            framed_routes: FramedRoutes::default(),
            ethernet: Vec::new(),
            vxlan: Vec::new(),
            n6_tunnel: Vec::new(),
            forwarding_policy: Vec::new(),
            firewall: Firewall::default(),
            host: HostReachability::default(),
            offload: true,
            dataplane: DataPlane::default(),
            switch: P4Switch::default(),
            hybrid: HybridKeys::default(),
            xplane: XPlaneKeys::default(),
            cold_storage: ColdStorage::default(),
            chain: Chain::default(),
            workers: Workers::default(),
            routing: Routing::default(),
            buffering: Buffering::default(),
            applications: Vec::new(),
            predefined_rules: Vec::new(),
            qos: Qos::default(),
            traffic: Traffic::default(),
            metrics: Metrics::default(),
            management: ManagementAccess::default(),
        }
    }
}

/// N3 and N9.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Gtpu {
    /// The kind of ports.
    pub mode: GtpuMode,
    /// The GTP-U addresses.
    pub server: Vec<GtpuServer>,
    /// The interfaces from which the sockets of [`GtpuMode::Udp`] accept datagrams.
    pub accept_from: AcceptFrom,
    /// Echo Requests to peers.
    pub echo: EchoConfig,
}

impl Default for Gtpu {
    fn default() -> Self {
        let server = GtpuServer { address: Some(DEFAULT_ADDRESS), ..GtpuServer::default() };
        let (mode, accept_from) = (GtpuMode::default(), AcceptFrom::default());
        Self { mode, server: vec![server], accept_from, echo: EchoConfig::default() }
    }
}

/// A GTP-U address, or every address of an interface.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GtpuServer {
    /// The address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dev: Option<String>,
    /// The UDP port.
    pub port: u16,
    /// The addresses in F-TEIDs instead, at most one of each IP version.
    #[serde(serialize_with = "addresses", skip_serializing_if = "Vec::is_empty")]
    pub advertise: Vec<IpAddr>,
    /// The network instance of the address; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_instance: Option<String>,
    /// The largest outer packet, in octets; `None`: the MTU of the interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// The kernel fragments larger outer packets; otherwise inner packets are fragmented.
    pub fragment: bool,
}

impl Default for GtpuServer {
    /// A server without address and interface.
    fn default() -> Self {
        Self {
            address: None,
            dev: None,
            port: GTPU_PORT,
            advertise: Vec::new(),
            network_instance: None,
            mtu: None,
            fragment: false,
        }
    }
}

/// A UE address pool on a data network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Session {
    /// The addresses of the UEs.
    #[serde(serialize_with = "shown")]
    pub subnet: IpNet,
    /// The kind of ports.
    pub mode: N6Mode,
    /// The address of the UPF on the TUN device; `None`: the device has no address in this subnet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpAddr>,
    /// The kernel translates the addresses of UEs to that of the outgoing interface, except towards UEs.
    pub nat: bool,
    /// The data network, which is also its network instance.
    pub dnn: String,
    /// The TUN device, or the interface of AF_XDP sockets.
    pub dev: String,
    /// The MTU of the TUN device, in octets; of another interface, the largest IP packet that is sent.
    pub mtu: u32,
    /// The part of the subnet from which the UPF allocates UE addresses; `None`: the whole subnet.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "shown_if_any")]
    pub ue_pool: Option<IpNet>,
    /// The UE IP address Pool Identity (TS 29.244 clause 8.2.128) by which SMFs choose the pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool_identity: Option<String>,
    /// Prefixes outside the subnet that may contain framed routes of the data network.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "prefixes")]
    pub framed_routes: Vec<IpNet>,
}

impl Session {
    /// The default data network.
    pub const DEFAULT_DNN: &str = "internet";
    /// The default TUN device.
    pub const DEFAULT_DEV: &str = "causeway0";
    /// 1500 octets less the outer IPv6, UDP and GTP-U headers with a PDU Session Container, rounded down.
    pub const DEFAULT_MTU: u32 = 1400;
}

impl Default for Session {
    fn default() -> Self {
        Self {
            subnet: IpNet::new_assert(Ipv4Addr::new(10, 45, 0, 0).into(), 16),
            mode: N6Mode::default(),
            gateway: Some(Ipv4Addr::new(10, 45, 0, 1).into()),
            nat: false,
            dnn: Self::DEFAULT_DNN.to_owned(),
            dev: Self::DEFAULT_DEV.to_owned(),
            mtu: Self::DEFAULT_MTU,
            ue_pool: None,
            pool_identity: None,
            framed_routes: Vec::new(),
        }
    }
}

/// Packets that are buffered for idle UEs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Buffering {
    /// Packets of one session, unless its BAR sets a lower limit.
    pub packets_per_session: u32,
    /// Octets of one session.
    #[serde(serialize_with = "octets")]
    pub octets_per_session: u64,
    /// Packets of all sessions together.
    pub packets: u32,
    /// Octets of all sessions together.
    #[serde(serialize_with = "octets")]
    pub memory: u64,
    /// Maximum buffering time; zero: no limit.
    #[serde(serialize_with = "span")]
    pub time: Span,
    /// The packet that is dropped when a buffer is full.
    pub when_full: WhenFull,
    /// The interval of repeated Downlink Data Reports; zero: never.
    #[serde(serialize_with = "span")]
    pub notify_again: Span,
}

impl Default for Buffering {
    fn default() -> Self {
        Self {
            packets_per_session: 256,
            octets_per_session: 1 << 20,
            packets: 1 << 20,
            memory: 256 << 20,
            time: Span::from_secs(300),
            when_full: WhenFull::default(),
            notify_again: Span::ZERO,
        }
    }
}

/// The HTTP server of metrics.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Metrics {
    /// The listening addresses; none disables the server.
    pub server: Vec<MetricsServer>,
    /// The octets of N3 are counted by QFI.
    pub qos_flows: bool,
}

impl Default for Metrics {
    fn default() -> Self {
        let server = vec![MetricsServer { address: Ipv4Addr::LOCALHOST.into(), port: METRICS_PORT }];
        Self { server, qos_flows: false }
    }
}

/// A listening address of metrics; the management API is there if it is a loopback address.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MetricsServer {
    /// The address.
    pub address: IpAddr,
    /// The TCP port.
    pub port: u16,
}

impl MetricsServer {
    /// Address and port.
    pub fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }
}
