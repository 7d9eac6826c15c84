//! Outer headers that are added and removed.

use std::net::{IpAddr, SocketAddr};

use causeway_types::FTeid;

/// Outer Header Creation (TS 29.244 clause 8.2.56): the outer header of forwarded packets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OuterHeader {
    /// GTP-U/UDP/IP to this endpoint. If it has addresses of both IP versions, either may be used.
    Gtpu(FTeid),
    /// UDP/IP to a tunnel endpoint in the data network (N6). The port is not zero.
    Udp(SocketAddr),
    /// IP to a tunnel endpoint in the data network (N6).
    Ip(IpAddr),
    /// A tunnel whose remote end is not known yet: TEID 0 or an unspecified address. Legal only while nothing is
    /// sent.
    Unknown,
}

impl OuterHeader {
    /// The remote end of a GTP-U tunnel.
    pub const fn tunnel(self) -> Option<FTeid> {
        match self {
            Self::Gtpu(tunnel) => Some(tunnel),
            Self::Udp(_) | Self::Ip(_) | Self::Unknown => None,
        }
    }

    /// The remote end of a tunnel over N6.
    pub const fn n6_peer(self) -> Option<IpAddr> {
        match self {
            Self::Udp(peer) => Some(peer.ip()),
            Self::Ip(peer) => Some(peer),
            Self::Gtpu(_) | Self::Unknown => None,
        }
    }
}

/// Outer Header Removal (TS 29.244 clause 8.2.64).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HeaderRemoval {
    /// The header to remove.
    pub header: RemovedHeader,
    /// The PDU Session Container is removed too; otherwise it is kept for the next tunnel, if there is one.
    pub deletes_container: bool,
}

impl HeaderRemoval {
    /// GTP-U over IPv4, container kept.
    pub const GTPU_IPV4: Self = Self::of(RemovedHeader::GtpuIpv4);
    /// GTP-U over IPv6, container kept.
    pub const GTPU_IPV6: Self = Self::of(RemovedHeader::GtpuIpv6);
    /// GTP-U over either IP version, container kept.
    pub const GTPU: Self = Self::of(RemovedHeader::Gtpu);

    /// This header, with the container kept.
    pub const fn of(header: RemovedHeader) -> Self {
        Self { header, deletes_container: false }
    }
}

/// The outer headers that can be removed (TS 29.244 table 8.2.64-1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RemovedHeader {
    /// GTP-U/UDP/IPv4 (description 0).
    GtpuIpv4,
    /// GTP-U/UDP/IPv6 (description 1).
    GtpuIpv6,
    /// GTP-U/UDP over either IP version (description 6).
    Gtpu,
    /// UDP/IPv4 (description 2).
    UdpIpv4,
    /// UDP/IPv6 (description 3).
    UdpIpv6,
    /// IPv4 (description 4).
    Ipv4,
    /// IPv6 (description 5).
    Ipv6,
}

impl RemovedHeader {
    /// It belongs to a GTP-U tunnel, not to one over N6.
    pub const fn is_gtpu(self) -> bool {
        matches!(self, Self::GtpuIpv4 | Self::GtpuIpv6 | Self::Gtpu)
    }

    /// The outermost header is IPv6; unspecified for [`RemovedHeader::Gtpu`].
    pub const fn is_ipv6(self) -> bool {
        matches!(self, Self::GtpuIpv6 | Self::UdpIpv6 | Self::Ipv6)
    }
}
