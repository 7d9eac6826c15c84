//! Packets that crossed a port, and the reasons of losses.

use std::sync::atomic::{AtomicU64, Ordering};

/// Defines the counters with their names in metrics.
macro_rules! counters {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The result for a frame at a port. Each frame counts under exactly one of these; the counters of octets and
        /// of system calls are additional.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Counter {
            $($(#[$doc])* $variant,)*
        }

        impl Counter {
            /// All counters, in the order of this enum.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in metrics and logs.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

counters! {
    /// Received and delivered.
    Rx = "rx",
    /// Octets of those, from the GTP-U or the IP header.
    RxOctets = "rx_octets",
    /// System calls that received at least one frame. Only ports that move several frames per call count them.
    RxCalls = "rx_calls",
    /// Received, but longer than the buffer, or truncated before.
    RxTruncated = "rx_truncated",
    /// Dropped by the kernel because the receive queue was full. Datagrams that the kernel joined count as one.
    RxOverrun = "rx_overrun",
    /// Received, but not a whole IP or UDP packet.
    RxMalformed = "rx_malformed",
    /// Received with a wrong IP header or UDP checksum.
    RxChecksum = "rx_checksum",
    /// A fragment of an outer packet, which a port below IP does not reassemble.
    RxFragment = "rx_fragment",
    /// Not for an address or a protocol of this port.
    RxNotForUs = "rx_not_for_us",
    /// A VXLAN datagram that is too short, or whose header has no valid VNI.
    RxVxlanHeader = "rx_vxlan_header",
    /// A VXLAN datagram with the VNI of no segment.
    RxUnknownVni = "rx_unknown_vni",
    /// A VXLAN datagram from another address than the remote end of its segment.
    RxUnknownVtep = "rx_unknown_vtep",
    /// The outer VXLAN packet has a congestion mark that the packet inside cannot take over.
    RxCongested = "rx_congested",
    /// Not received because of a transient error.
    RxError = "rx_error",
    /// Sent.
    Tx = "tx",
    /// Octets of those, from the GTP-U or the IP header.
    TxOctets = "tx_octets",
    /// System calls that sent at least one frame. Only ports that move several frames per call count them.
    TxCalls = "tx_calls",
    /// The transmit queue was full.
    TxWouldBlock = "tx_would_block",
    /// The kernel had no buffer.
    TxNoBuffer = "tx_no_buffer",
    /// No route to the destination, or one by another interface. The kernel also reports this when the source address
    /// is not local.
    TxNoRoute = "tx_no_route",
    /// The next hop did not answer ARP or neighbour solicitation.
    NeighbourUnresolved = "neighbour_unresolved",
    /// Longer than the MTU.
    TxTooBig = "tx_too_big",
    /// The source address is illegal, or of another family than the destination or the port.
    TxBadSource = "tx_bad_source",
    /// The peer reported that the port is not open.
    TxRefused = "tx_refused",
    /// A firewall of this host forbids it.
    TxForbidden = "tx_forbidden",
    /// The link is down.
    TxLinkDown = "tx_link_down",
    /// Not the kind of frame that this port carries, or malformed.
    TxWrongKind = "tx_wrong_kind",
    /// Any other error.
    TxError = "tx_error",
    /// Times that the port was lost, for example with its interface.
    Lost = "lost",
    /// Times that it was reopened.
    Reopened = "reopened",
}

/// The unit of a [`Counter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterUnit {
    /// Frames.
    Packets,
    /// Octets of frames.
    Octets,
    /// System calls.
    Calls,
    /// Events of the port itself.
    Times,
}

impl Counter {
    /// The unit.
    pub const fn unit(self) -> CounterUnit {
        match self {
            Self::RxOctets | Self::TxOctets => CounterUnit::Octets,
            Self::RxCalls | Self::TxCalls => CounterUnit::Calls,
            Self::Lost | Self::Reopened => CounterUnit::Times,
            _ => CounterUnit::Packets,
        }
    }
}

/// One value per [`Counter`]. Written by the thread that owns the port, read by any.
#[derive(Debug, Default)]
pub struct Counters([AtomicU64; Counter::ALL.len()]);

impl Counters {
    /// The value of one counter.
    pub fn value(&self, counter: Counter) -> u64 {
        self.0.get(counter as usize).map_or(0, |value| value.load(Ordering::Relaxed))
    }

    /// All counters with their values.
    pub fn iter(&self) -> impl Iterator<Item = (Counter, u64)> {
        Counter::ALL.iter().map(|counter| (*counter, self.value(*counter)))
    }

    /// Adds to one counter.
    pub fn add(&self, counter: Counter, n: u64) {
        if let Some(value) = self.0.get(counter as usize) {
            value.fetch_add(n, Ordering::Relaxed);
        }
    }

    /// Counts frames received, with their octets.
    pub fn received(&self, frames: usize, octets: usize) {
        self.add(Counter::Rx, frames as u64);
        self.add(Counter::RxOctets, octets as u64);
    }

    /// Counts frames sent, with their octets.
    pub fn sent(&self, frames: usize, octets: usize) {
        self.add(Counter::Tx, frames as u64);
        self.add(Counter::TxOctets, octets as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_values_start_at_zero() {
        let mut names: Vec<_> = Counter::ALL.iter().map(|c| c.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Counter::ALL.len());
        assert!(Counters::default().iter().all(|(_, value)| value == 0));
    }

    #[test]
    fn the_last_counter_counts_too() {
        let counters = Counters::default();
        counters.add(Counter::TxError, 2);
        assert_eq!(counters.value(Counter::TxError), 2);
    }
}
