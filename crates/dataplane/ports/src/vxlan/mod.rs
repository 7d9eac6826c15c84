//! VXLAN (RFC 7348): data networks and GTP-U in segments over UDP, IPv4 or IPv6.
//!
//! A [`VxlanEndpoint`] is the local end of all segments of one address (a VTEP). Each segment is a [`VxlanPort`] of its own,
//! with its VNI, the address of its remote end, and a MAC address at either end: it carries the IP packets of a data network
//! (N6) or GTP-U (N3, N9). What arrives with one VNI never leaves by the port of another, so the same addresses may be in use
//! in several segments.
//!
//! - A frame leaves from a UDP port that the flow of its packet chooses of [`SOURCE_PORTS`] (section 5), or from that of the
//!   carrier without [`VxlanEndpoint::with_senders`], for the MAC address of the remote end, with the ECN of the packet inside it. Outer
//!   packets are not fragmented (section 4.3): the MTU of a port is that of the carrier without 50 octets, or 70 over IPv6.
//! - A datagram counts as [`Counter::RxVxlanHeader`] without a valid VNI, as [`Counter::RxUnknownVni`] with the VNI of no
//!   segment, as [`Counter::RxUnknownVtep`] from another address than the segment's remote end, and as
//!   [`Counter::RxNotForUs`] if its frame is for another MAC address, has a VLAN tag (section 6.1) or another protocol.
//! - A congestion mark of the outer header is copied to the packet (RFC 6040), or [`Counter::RxCongested`] counts it.
//! - An ARP request for the IPv4 address of the segment is answered, and so is a Neighbour Solicitation for its IPv6 address
//!   (RFC 4861). The port asks for no address: the remote MAC address is configured. Of the underlay, the kernel resolves
//!   addresses, IPv4 and IPv6.
//!
//! The carrier is any port that moves datagrams, in most cases a [`UdpPort`](crate::udp::UdpPort), whose GRO and GSO stay in
//! effect.
//!
//! [`Counter::RxVxlanHeader`]: crate::Counter::RxVxlanHeader
//! [`Counter::RxUnknownVni`]: crate::Counter::RxUnknownVni
//! [`Counter::RxUnknownVtep`]: crate::Counter::RxUnknownVtep
//! [`Counter::RxNotForUs`]: crate::Counter::RxNotForUs
//! [`Counter::RxCongested`]: crate::Counter::RxCongested

mod endpoint;
mod flow;
mod frame;
mod port;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;

use causeway_packet::vxlan::Vni;
use causeway_packet::{LinkEnd, MacAddr};

pub use endpoint::VxlanEndpoint;
pub use port::VxlanPort;

/// Octets of the VXLAN header and of the inner Ethernet header.
const INNER: usize = causeway_packet::vxlan::HEADER + frame::ETHERNET;

/// A segment, as it is configured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its number.
    pub vni: Vni,
    /// The remote end, of the IP version of the carrier; its port is 4789 in most cases.
    pub remote: SocketAddr,
    /// The MAC address of this end.
    pub mac: MacAddr,
    /// The MAC address that frames are sent to: that of the next router in the segment.
    pub remote_mac: MacAddr,
    /// The address of this end within the segment; ARP requests for it are answered.
    pub address: Option<Ipv4Addr>,
    /// The IPv6 address of this end within the segment; Neighbour Solicitations for it are answered.
    pub address6: Option<Ipv6Addr>,
}

impl Segment {
    /// This end within the segment.
    const fn end(&self) -> LinkEnd {
        LinkEnd { mac: self.mac, address: self.address, address6: self.address6 }
    }
}

/// The UDP source ports of datagrams: the dynamic ones (RFC 7348 section 5).
pub const SOURCE_PORTS: RangeInclusive<u16> = 49_152..=65_535;

/// The packets of a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SegmentTraffic {
    /// IP packets of a data network.
    Ip,
    /// GTP-U of these local addresses.
    Gtpu(Vec<IpAddr>),
}

/// Octets of all headers of VXLAN around an inner IP packet.
pub const fn overhead(is_ipv4: bool) -> u32 {
    let outer = if is_ipv4 { 20 + 8 } else { 40 + 8 };
    (outer + INNER) as u32
}
