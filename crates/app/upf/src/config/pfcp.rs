//! The keys of N4.

use std::net::{IpAddr, SocketAddr};

use causeway_types::{IpNet, NodeId, Span};
use serde::Serialize;

use super::enums::{PathFailure, RequestPort, Switch};
use super::host::AcceptFrom;
use super::model::{DEFAULT_ADDRESS, PFCP_PORT};
use super::serialize::{prefixes, shown, span};

/// N4.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Pfcp {
    /// Where requests are received.
    pub server: Vec<PfcpServer>,
    /// By which interfaces requests may come.
    pub accept_from: AcceptFrom,
    /// Whom to associate with unasked.
    pub client: PfcpClient,
    /// Signs of life.
    pub heartbeat: Heartbeat,
    /// Repetition of our requests.
    pub retransmission: Retransmission,
    /// How long to wait before an association that was asked for in vain is asked for again.
    #[serde(serialize_with = "span")]
    pub association_retry: Span,
    /// How long a graceful stop waits for SMFs to release their associations.
    #[serde(serialize_with = "span")]
    pub release_timeout: Span,
    /// What becomes of the sessions of an SMF that answers no heartbeat.
    pub path_failure: PathFailure,
    /// The port our requests go to.
    pub request_port: RequestPort,
    /// SMFs that support load control are told how full the UPF is.
    pub load_control: Switch,
    /// SMFs that support overload control are asked to send less when N4 is nearly full.
    pub overload_control: Switch,
    /// How full N4 may be before it counts as overloaded, percent.
    pub overload_mark: u8,
    /// How long an SMF is to heed what it was told of an overload.
    #[serde(serialize_with = "span")]
    pub overload_validity: Span,
    /// What is known of SMFs beforehand.
    pub smf: Vec<KnownSmf>,
    /// The hosts and prefixes that may set up associations; none: those of the networks that N4 is connected to.
    #[serde(serialize_with = "prefixes", skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<IpNet>,
    /// Associations at the same time, at most.
    pub max_associations: u32,
}

impl Default for Pfcp {
    fn default() -> Self {
        Self {
            server: vec![PfcpServer { address: Some(DEFAULT_ADDRESS), dev: None, port: PFCP_PORT }],
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
        }
    }
}

/// An N4 socket: an address, or every address of an interface.
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
}

/// Whom to associate with unasked.
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

/// An SMF, where it may be, and its set.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct KnownSmf {
    /// Its Node ID.
    #[serde(serialize_with = "shown")]
    pub node_id: NodeId,
    /// The hosts and prefixes that may use the Node ID.
    #[serde(serialize_with = "prefixes")]
    pub address: Vec<IpNet>,
    /// The SMF set that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
}

/// Heartbeats that we send (TS 29.244 clause 6.2.2).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Heartbeat {
    /// From one answer to the next request; zero sends none.
    #[serde(serialize_with = "span")]
    pub interval: Span,
    /// How long to wait for an answer.
    #[serde(serialize_with = "span")]
    pub timeout: Span,
    /// Repetitions before the SMF counts as unreachable.
    pub retries: u8,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self { interval: Span::from_secs(10), timeout: Span::from_secs(3), retries: 3 }
    }
}

/// Repetition of our requests (TS 29.244 clause 6.4).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Retransmission {
    /// T1: how long to wait for an answer the first time; doubled at each repetition.
    #[serde(serialize_with = "span")]
    pub timeout: Span,
    /// N1: repetitions.
    pub retries: u8,
}

impl Default for Retransmission {
    fn default() -> Self {
        Self { timeout: Span::from_secs(1), retries: 3 }
    }
}
