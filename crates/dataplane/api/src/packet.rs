//! Ingress, egress and disposition of packets.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU8;

use causeway_types::NetworkInstance;

use crate::DropReason;

/// Where a packet was received.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ingress {
    /// A GTP-U message in a UDP datagram (N3, N9, N4-u).
    Gtpu {
        /// The local address that it was sent to.
        local: IpAddr,
        /// The sender's address and UDP source port.
        peer: SocketAddr,
        /// The outer IP header's type of service or traffic class.
        tos: u8,
        /// The TTL or Hop Limit of the outer IP header; `None`: unknown.
        hops: Option<NonZeroU8>,
    },
    /// An IP packet from a data network (N6): a user packet, or one to the local end of a tunnel over N6.
    Ip {
        /// The data network.
        network: NetworkInstance,
    },
    /// An Ethernet frame from a data network (N6).
    Ethernet {
        /// The data network.
        network: NetworkInstance,
    },
}

/// The default TTL of the ports. Packets with a higher one are sent with this one.
const PORT_HOPS: u8 = 64;

/// The TTL or Hop Limit of a packet that is relayed from one tunnel into another: one less than the received `hops`, so
/// that a loop over several UPFs ends. `Ok(None)`: that of the port, because it is not higher or because `hops` is
/// unknown.
///
/// # Errors
/// [`DropReason::OuterTtlExpired`] when it would become zero.
pub fn hops_of_relayed(hops: Option<NonZeroU8>) -> Result<Option<NonZeroU8>, DropReason> {
    let Some(hops) = hops else { return Ok(None) };
    let left = NonZeroU8::new(hops.get() - 1).ok_or(DropReason::OuterTtlExpired)?;
    Ok(Some(left).filter(|left| left.get() < PORT_HOPS))
}

/// Where a packet is transmitted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Egress {
    /// A GTP-U message, to be sent in a UDP datagram.
    Gtpu {
        /// The local source address; of the same IP version as `peer`.
        local: IpAddr,
        /// The destination; its port is 2152 except in responses to requests from another port.
        peer: SocketAddr,
        /// The outer IP header's type of service or traffic class.
        tos: u8,
        /// The TTL or Hop Limit of the outer IP header; `None`: that of the port, 64 unless the system has another
        /// default.
        hops: Option<NonZeroU8>,
    },
    /// An IP packet to a data network (N6): a user packet, or one in a tunnel over N6.
    Ip {
        /// The data network.
        network: NetworkInstance,
    },
    /// An Ethernet frame to a data network (N6).
    Ethernet {
        /// The data network.
        network: NetworkInstance,
    },
}

/// A sink for transmitted packets.
pub trait Transmit {
    /// Transmits one packet. It starts at the GTP-U header, at the IP header, or at the destination address of a frame,
    /// depending on `egress`.
    fn transmit(&mut self, egress: &Egress, packet: &[u8]);
}

/// A list that stores the packets, for tests.
impl Transmit for Vec<(Egress, Vec<u8>)> {
    fn transmit(&mut self, egress: &Egress, packet: &[u8]) {
        self.push((egress.clone(), packet.to_vec()));
    }
}

/// The disposition of a packet. Each packet is in exactly one counter; a buffered packet is counted again when it
/// leaves the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Disposition {
    /// Forwarded.
    Forwarded,
    /// Buffered until its FAR forwards again.
    Buffered,
    /// Signalling that the UPF handled: Echo, Error Indication, End Marker, a request that the UPF answers for another
    /// node, and packets of that connection.
    Consumed,
    /// Dropped, with the reason.
    Dropped(DropReason),
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  packets with 255, 66, 65, 64, 2 and 1 hops, and one with unknown hops.
    // Output: the port's value unless it is higher than one less than received; one hop left is an error.
    #[test]
    fn a_relayed_packet_loses_a_hop() {
        let relayed = |hops| hops_of_relayed(NonZeroU8::new(hops)).map(|left| left.map(NonZeroU8::get));
        assert_eq!([255, 66, 65, 0].map(relayed), [Ok(None); 4]);
        assert_eq!([64, 2].map(relayed), [Ok(Some(63)), Ok(Some(1))]);
        assert_eq!(relayed(1), Err(DropReason::OuterTtlExpired));
    }
}
