//! How a packet enters and leaves, and what became of it.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU8;

use causeway_types::NetworkInstance;

use crate::DropReason;

/// Where a packet came in.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ingress {
    /// A GTP-U message in a UDP datagram (N3, N9, N4-u).
    Gtpu {
        /// Our address it was sent to.
        local: IpAddr,
        /// Who sent it, with the UDP source port.
        peer: SocketAddr,
        /// The outer IP header's type of service or traffic class.
        tos: u8,
        /// The TTL or Hop Limit of the outer IP header; `None`: not known.
        hops: Option<NonZeroU8>,
    },
    /// An IP packet from a data network (N6): a user's, or one to our end of a tunnel over N6.
    Ip {
        /// The network it came from.
        network: NetworkInstance,
    },
    /// An Ethernet frame from a data network (N6).
    Ethernet {
        /// The network it came from.
        network: NetworkInstance,
    },
}

/// A packet that leaves with more hops than this leaves with those of the port.
const PORT_HOPS: u8 = 64;

/// The TTL or Hop Limit with which a packet that came with `hops` in one tunnel goes on in another: one less, so that a packet that goes
/// round over several UPFs comes to an end. `Ok(None)`: that of the port, which is no more, or which must do where none is known.
///
/// # Errors
/// [`DropReason::OuterTtlExpired`] when none is left.
pub fn hops_of_relayed(hops: Option<NonZeroU8>) -> Result<Option<NonZeroU8>, DropReason> {
    let Some(hops) = hops else { return Ok(None) };
    let left = NonZeroU8::new(hops.get() - 1).ok_or(DropReason::OuterTtlExpired)?;
    Ok(Some(left).filter(|left| left.get() < PORT_HOPS))
}

/// Where a packet goes out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Egress {
    /// A GTP-U message, to be sent in a UDP datagram.
    Gtpu {
        /// Our address to send from; of the same IP version as `peer`.
        local: IpAddr,
        /// Where to; port 2152 unless it answers a request from another port.
        peer: SocketAddr,
        /// The outer IP header's type of service or traffic class.
        tos: u8,
        /// The TTL or Hop Limit of the outer IP header; `None`: that of the port, 64 unless the system says otherwise.
        hops: Option<NonZeroU8>,
    },
    /// An IP packet to a data network (N6): a user's, or one in a tunnel over N6.
    Ip {
        /// The network it goes to.
        network: NetworkInstance,
    },
    /// An Ethernet frame to a data network (N6).
    Ethernet {
        /// The network it goes to.
        network: NetworkInstance,
    },
}

/// Takes packets that leave the data plane.
pub trait Transmit {
    /// Sends one packet: from the GTP-U header on, from the IP header on, or from the destination address of a
    /// frame on, as `egress` says.
    fn transmit(&mut self, egress: &Egress, packet: &[u8]);
}

/// A list keeps what was sent, for tests.
impl Transmit for Vec<(Egress, Vec<u8>)> {
    fn transmit(&mut self, egress: &Egress, packet: &[u8]) {
        self.push((egress.clone(), packet.to_vec()));
    }
}

/// What became of a packet. Each ends in exactly one counter; a buffered one when it leaves the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Disposition {
    /// Sent on.
    Forwarded,
    /// Waits for its FAR to forward again.
    Buffered,
    /// Signalling for the UPF itself, dealt with: Echo, Error Indication, End Marker, a request that the UPF
    /// answers in the place of another, and the connection of it.
    Consumed,
    /// Thrown away, and why.
    Dropped(DropReason),
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a packet that came with 255, 66, 65, 64, 2 and 1 hops, and one of which it is not known.
    // Output: the port's own as long as they are no more, then one less; with the last one it ends.
    #[test]
    fn a_relayed_packet_loses_a_hop() {
        let relayed = |hops| hops_of_relayed(NonZeroU8::new(hops)).map(|left| left.map(NonZeroU8::get));
        assert_eq!([255, 66, 65, 0].map(relayed), [Ok(None); 4]);
        assert_eq!([64, 2].map(relayed), [Ok(Some(63)), Ok(Some(1))]);
        assert_eq!(relayed(1), Err(DropReason::OuterTtlExpired));
    }
}
