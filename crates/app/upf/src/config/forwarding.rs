//! Where traffic may be sent beside its data network: tunnels over N6 and forwarding policies.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use causeway_rules::Url;
use serde::Serialize;

use super::serialize::shown_if_any;

/// Our end of the tunnels (UDP/IP and IP in IP) over one data network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct N6Tunnel {
    /// The data network.
    pub dnn: String,
    /// The address of this end, which no interface has.
    pub address: IpAddr,
    /// The UDP port of this end.
    pub port: u16,
}

impl N6Tunnel {
    /// The UDP port where none is named.
    pub const DEFAULT_PORT: u16 = 5555;
}

/// What becomes of traffic that an SMF names this policy for (TS 29.244 clause 5.4.8).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ForwardingPolicy {
    /// The name that the SMF gives.
    pub name: String,
    /// The traffic is dropped.
    pub drop: bool,
    /// The data network that it leaves to instead of the one in the FAR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dnn: Option<String>,
    /// The DSCP that its packets are marked with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// Where uplink traffic is redirected to.
    #[serde(serialize_with = "shown_if_any", skip_serializing_if = "Option::is_none")]
    pub redirect: Option<RedirectTo>,
}

/// Where traffic is redirected to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RedirectTo {
    /// HTTP requests are answered with this URL.
    Url(Url),
    /// Packets go to this address.
    Address(IpAddr),
    /// Packets go to this address and port.
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
