//! The keys of N4.

use std::net::{IpAddr, SocketAddr};

use causeway_types::{IpNet, NodeId, Span};
use serde::Serialize;

use super::enums::{N4Mode, PathFailure, RequestPort, Switch};
use super::host::AcceptFrom;
use super::model::{DEFAULT_ADDRESS, PFCP_PORT};
use super::serialize::{addresses, prefixes, shown, span};

/// N4.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Pfcp {
    /// How datagrams are received and sent.
    pub mode: N4Mode,
    /// The N4 addresses.
    pub server: Vec<PfcpServer>,
    /// The interfaces from which N4 accepts datagrams.
    pub accept_from: AcceptFrom,
    /// The SMFs to which the UPF sends Association Setup Requests.
    pub client: PfcpClient,
    /// Heartbeat Requests.
    pub heartbeat: Heartbeat,
    /// Retransmission of requests.
    pub retransmission: Retransmission,
    /// The delay before a failed association setup is retried.
    #[serde(serialize_with = "span")]
    pub association_retry: Span,
    /// The timeout of association releases in a graceful stop.
    #[serde(serialize_with = "span")]
    pub release_timeout: Span,
    /// The handling of the sessions of an SMF that does not respond to Heartbeat Requests.
    pub path_failure: PathFailure,
    /// The destination port of requests.
    pub request_port: RequestPort,
    /// Load control information is sent to SMFs that support it.
    pub load_control: Switch,
    /// Overload control information is sent when N4 is nearly full, to SMFs that support it.
    pub overload_control: Switch,
    /// The load above which N4 counts as overloaded, percent.
    pub overload_mark: u8,
    /// The period of validity of overload control information.
    #[serde(serialize_with = "span")]
    pub overload_validity: Span,
    /// The known SMFs.
    pub smf: Vec<KnownSmf>,
    /// The hosts and prefixes that may set up associations; none: the networks that N4 is connected to.
    #[serde(serialize_with = "prefixes", skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<IpNet>,
    /// Maximum number of associations.
    pub max_associations: u32,
    /// Packet threads handle N4 themselves.
    pub accelerate: bool,
}

impl Default for Pfcp {
    fn default() -> Self {
        Self {
            mode: N4Mode::default(),
            server: vec![PfcpServer::at(DEFAULT_ADDRESS, PFCP_PORT)],
            accept_from: AcceptFrom::default(),
            client: PfcpClient::default(),
            heartbeat: Heartbeat::default(),
            retransmission: Retransmission::default(),
            association_retry: Span::from_secs(10),
            release_timeout: Span::from_secs(5),
            path_failure: PathFailure::default(),
            request_port: RequestPort::default(),
            load_control: Switch::default(),
            overload_control: Switch::Off,
            overload_mark: 80,
            overload_validity: Span::from_secs(60),
            smf: Vec::new(),
            allow: Vec::new(),
            max_associations: 64,
            accelerate: false,
        }
    }
}

/// An N4 socket: an address, or every address of an interface; in mode af_xdp both may be given.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PfcpServer {
    /// The address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dev: Option<String>,
    /// The UDP port.
    pub port: u16,
    /// The addresses that SMFs are told instead, at most one of each IP version.
    #[serde(serialize_with = "addresses", skip_serializing_if = "Vec::is_empty")]
    pub advertise: Vec<IpAddr>,
}

impl PfcpServer {
    /// The socket of an address.
    pub const fn at(address: IpAddr, port: u16) -> Self {
        Self { address: Some(address), dev: None, port, advertise: Vec::new() }
    }
}

/// The SMFs to which the UPF sends Association Setup Requests.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct PfcpClient {
    /// The SMFs.
    pub smf: Vec<Smf>,
}

/// An SMF to associate with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Smf {
    /// Its N4 address.
    pub address: IpAddr,
    /// The UDP port of its N4.
    pub port: u16,
}

impl Smf {
    /// Address and port.
    pub fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }
}

/// An SMF, its addresses and its set.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct KnownSmf {
    /// Its Node ID.
    #[serde(serialize_with = "shown")]
    pub node_id: NodeId,
    /// The hosts and prefixes that may use the Node ID.
    #[serde(serialize_with = "prefixes")]
    pub address: Vec<IpNet>,
    /// The SMF set of the SMF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
}

/// Heartbeat Requests of the UPF (TS 29.244 clause 6.2.2).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Heartbeat {
    /// The time from a response to the next request; zero sends none.
    #[serde(serialize_with = "span")]
    pub interval: Span,
    /// The response timeout.
    #[serde(serialize_with = "span")]
    pub timeout: Span,
    /// Retransmissions before the SMF counts as unreachable.
    pub retries: u8,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self { interval: Span::from_secs(10), timeout: Span::from_secs(3), retries: 3 }
    }
}

/// Retransmission of requests (TS 29.244 clause 6.4).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Retransmission {
    /// T1: the first response timeout; doubled for each retransmission.
    #[serde(serialize_with = "span")]
    pub timeout: Span,
    /// N1: retransmissions.
    pub retries: u8,
}

impl Default for Retransmission {
    fn default() -> Self {
        Self { timeout: Span::from_secs(1), retries: 3 }
    }
}
