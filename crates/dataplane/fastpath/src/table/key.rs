//! The keys of flow entries.

use crate::table::flow_entry::FlowEntry;

/// The scope of the first data network. The scopes of local addresses, whose indices have 8 bits, are below it.
const FIRST_NETWORK: u32 = 0x101;

/// The key of a flow entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum FlowKey {
    /// A TEID at a local address, by the index of that address.
    Tunnel(u32, u8),
    /// An IPv4 address in a data network, by its index.
    Ipv4(u16, u32),
    /// The upper half of IPv6 addresses in a data network, by its index.
    Ipv6(u16, u64),
}

impl FlowKey {
    /// The scope of the key: the local address, or the data network. Never zero.
    #[inline]
    pub(crate) const fn scope(self) -> u32 {
        match self {
            Self::Tunnel(_, local) => 1 + local as u32,
            Self::Ipv4(network, _) | Self::Ipv6(network, _) => FIRST_NETWORK + network as u32,
        }
    }

    /// The key of 32 bits in a scope: a tunnel or an IPv4 address.
    pub(crate) const fn at(scope: u32, key: u32) -> Self {
        match scope.checked_sub(FIRST_NETWORK) {
            Some(network) => Self::Ipv4(network as u16, key),
            None => Self::Tunnel(key, scope.saturating_sub(1) as u8),
        }
    }

    /// Whether the entry has this key.
    #[inline]
    pub(crate) fn fits(self, entry: &FlowEntry) -> bool {
        let is_it = match self {
            Self::Tunnel(key, _) | Self::Ipv4(_, key) => entry.key == key,
            Self::Ipv6(_, prefix) => entry.prefix == prefix,
        };
        is_it && entry.scope == self.scope()
    }
}
