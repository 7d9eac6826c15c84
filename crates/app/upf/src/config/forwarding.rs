//! N6 tunnels and forwarding policies.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use causeway_model::Url;
use serde::Serialize;

use super::serialize::shown_if_any;

/// The local endpoint of the tunnels (UDP/IP and IP in IP) over one data network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct N6Tunnel {
    /// The data network.
    pub dnn: String,
    /// The address of the endpoint, which no interface has.
    pub address: IpAddr,
    /// The UDP port of the endpoint.
    pub port: u16,
}

impl N6Tunnel {
    /// The default UDP port.
    pub const DEFAULT_PORT: u16 = 5555;
}

/// A forwarding policy (TS 29.244 clause 5.4.8).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ForwardingPolicy {
    /// The Forwarding Policy Identifier that the SMF sends.
    pub name: String,
    /// The traffic is dropped.
    pub drop: bool,
    /// The data network of the traffic, instead of the one in the FAR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dnn: Option<String>,
    /// The DSCP of the packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// The redirect target of uplink traffic.
    #[serde(serialize_with = "shown_if_any", skip_serializing_if = "Option::is_none")]
    pub redirect: Option<RedirectTo>,
}

/// A redirect target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RedirectTo {
    /// HTTP requests are answered with this URL.
    Url(Url),
    /// Packets are sent to this address.
    Address(IpAddr),
    /// Packets are sent to this address and port.
    Socket(SocketAddr),
}

impl fmt::Display for RedirectTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.write_str(url.as_str()),
            Self::Address(address) => write!(f, "{address}"),
            Self::Socket(socket) => write!(f, "{socket}"),
        }
    }
}
