//! Addresses of nodes, sessions and tunnels.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{Seid, Teid};

/// An IPv4 address, an IPv6 address, or both, of one endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct DualIp {
    /// The IPv4 address, if there is one.
    pub v4: Option<Ipv4Addr>,
    /// The IPv6 address, if there is one.
    pub v6: Option<Ipv6Addr>,
}

impl DualIp {
    /// Neither address is present.
    pub const fn is_empty(self) -> bool {
        self.v4.is_none() && self.v6.is_none()
    }

    /// The address is one of the two.
    pub fn contains(self, ip: IpAddr) -> bool {
        match ip {
            IpAddr::V4(ip) => self.v4 == Some(ip),
            IpAddr::V6(ip) => self.v6 == Some(ip),
        }
    }

    /// One address to send to: IPv4 when both are present.
    pub fn preferred(self) -> Option<IpAddr> {
        self.v4.map(IpAddr::V4).or(self.v6.map(IpAddr::V6))
    }

    /// The addresses that are present, IPv4 first.
    pub fn iter(self) -> impl Iterator<Item = IpAddr> {
        self.v4.map(IpAddr::V4).into_iter().chain(self.v6.map(IpAddr::V6))
    }
}

impl From<IpAddr> for DualIp {
    fn from(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(ip) => Self { v4: Some(ip), v6: None },
            IpAddr::V6(ip) => Self { v4: None, v6: Some(ip) },
        }
    }
}

impl From<Ipv4Addr> for DualIp {
    fn from(ip: Ipv4Addr) -> Self {
        IpAddr::V4(ip).into()
    }
}

impl From<Ipv6Addr> for DualIp {
    fn from(ip: Ipv6Addr) -> Self {
        IpAddr::V6(ip).into()
    }
}

impl fmt::Display for DualIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.v4, self.v6) {
            (Some(v4), Some(v6)) => write!(f, "{v4}/{v6}"),
            (Some(v4), None) => write!(f, "{v4}"),
            (None, Some(v6)) => write!(f, "{v6}"),
            (None, None) => f.write_str("none"),
        }
    }
}

/// Fully qualified tunnel endpoint: a TEID with the addresses it is valid on (TS 29.244 clause 8.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FTeid {
    /// The tunnel.
    pub teid: Teid,
    /// The addresses at which it ends. At least one is present.
    pub addr: DualIp,
}

/// Fully qualified session endpoint (TS 29.244 clause 8.2.37).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FSeid {
    /// The session at that endpoint.
    pub seid: Seid,
    /// The addresses for requests to it. At least one is present.
    pub addr: DualIp,
}

/// The identity of a PFCP node (TS 29.244 clause 8.2.38).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum NodeId {
    /// An IPv4 or IPv6 address.
    Ip(IpAddr),
    /// A host name of dot-separated labels, compared without regard to case.
    Fqdn(String),
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(ip) => write!(f, "{ip}"),
            Self::Fqdn(name) => f.write_str(name),
        }
    }
}

impl From<IpAddr> for NodeId {
    fn from(ip: IpAddr) -> Self {
        Self::Ip(ip)
    }
}
/// One end of a GTP-U tunnel over IPv4: an [`FTeid`] in compact form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FTeidV4 {
    /// The TEID.
    pub teid: Teid,
    /// The address.
    pub addr: Ipv4Addr,
}

impl FTeidV4 {
    /// `None`: the tunnel has an IPv6 address, or none.
    pub fn of(tunnel: FTeid) -> Option<Self> {
        let DualIp { v4, v6: None } = tunnel.addr else { return None };
        Some(Self { teid: tunnel.teid, addr: v4? })
    }
}

impl From<FTeidV4> for FTeid {
    fn from(FTeidV4 { teid, addr }: FTeidV4) -> Self {
        Self { teid, addr: addr.into() }
    }
}
