//! One packet as a port carries it: its kind, the ends of its outer header, and its octets.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU8;

/// The kind of a frame, and its source or destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Meta {
    /// A GTP-U datagram: the frame begins at the GTP-U header.
    Gtpu {
        /// The local address that received or sends it. Unspecified: the kernel chooses.
        local: IpAddr,
        /// The other end.
        peer: SocketAddr,
        /// Type of Service or Traffic Class octet of the outer header: DSCP and ECN.
        tos: u8,
        /// TTL or Hop Limit of the outer header. `None`: unknown on receipt; that of the port on transmission.
        hops: Option<NonZeroU8>,
    },
    /// An IPv4 or IPv6 packet, from its first octet.
    #[default]
    Ip,
    /// An Ethernet frame from its destination address on, without frame check sequence.
    Ethernet,
}

/// One packet to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    /// Its kind and destination.
    pub meta: Meta,
    /// Its octets, from the GTP-U or the IP header, or from a frame's destination address.
    pub data: &'a [u8],
}
