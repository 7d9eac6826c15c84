//! What brings packets to lines.

use crate::flow_entry::FlowEntry;

/// The place of the first data network. Those of our addresses, which have indices of 8 bits, are below.
const FIRST_NETWORK: u32 = 0x101;

/// What brings a packet to a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum FlowKey {
    /// A TEID at one of our addresses, by its index.
    Tunnel(u32, u8),
    /// An IPv4 address in a data network, by its index.
    Ipv4(u16, u32),
    /// The upper half of IPv6 addresses in a data network, by its index.
    Ipv6(u16, u64),
}

impl FlowKey {
    /// Where the key is one: our address, or the data network. Never zero.
    #[inline]
    pub(crate) const fn scope(self) -> u32 {
        match self {
            Self::Tunnel(_, local) => 1 + local as u32,
            Self::Ipv4(network, _) | Self::Ipv6(network, _) => FIRST_NETWORK + network as u32,
        }
    }

    /// The key of 32 bits at a place: of a tunnel or of an IPv4 address.
    pub(crate) const fn at(place: u32, key: u32) -> Self {
        match place.checked_sub(FIRST_NETWORK) {
            Some(network) => Self::Ipv4(network as u16, key),
            None => Self::Tunnel(key, place.saturating_sub(1) as u8),
        }
    }

    /// The line is one of this key.
    #[inline]
    pub(crate) fn fits(self, entry: &FlowEntry) -> bool {
        let is_it = match self {
            Self::Tunnel(key, _) | Self::Ipv4(_, key) => entry.key == key,
            Self::Ipv6(_, prefix) => entry.prefix == prefix,
        };
        is_it && entry.scope == self.scope()
    }
}
