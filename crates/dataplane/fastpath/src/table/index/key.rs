//! Keys of flow entries that have no direct position.

/// A key of a [`super::Cuckoo`]: different keys have different words.
pub trait TableKey: Copy {
    /// The key as two words.
    fn words(&self) -> [u64; 2];
}

/// A tunnel whose TEID an SMF assigned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TunnelKey {
    /// Its TEID, host byte order.
    pub teid: u32,
    /// The index of the local GTP-U address, in the numbering of the user of the table.
    pub local: u32,
}

impl TableKey for TunnelKey {
    #[inline]
    fn words(&self) -> [u64; 2] {
        [u64::from(self.teid) | u64::from(self.local) << 32, 0]
    }
}

/// An IPv6 prefix of 64 bits in a data network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PrefixKey {
    /// The first 64 bits of its addresses, host byte order.
    pub prefix: u64,
    /// The data network, in the numbering of the user of the table.
    pub network: u32,
}

impl TableKey for PrefixKey {
    #[inline]
    fn words(&self) -> [u64; 2] {
        [self.prefix, u64::from(self.network)]
    }
}

/// An IPv4 address in a data network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AddressKey {
    /// The address, host byte order.
    pub address: u32,
    /// The data network, in the numbering of the user of the table.
    pub network: u32,
}

impl TableKey for AddressKey {
    #[inline]
    fn words(&self) -> [u64; 2] {
        [u64::from(self.address) | u64::from(self.network) << 32, 0]
    }
}
