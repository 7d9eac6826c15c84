//! Prefixes of one IP version as numbers, and their overlaps.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use causeway_types::IpNet;

use super::host_map::HostMap;

/// A prefix: its first address as a number, and its length in bits.
///
/// IPv4 uses the low 32 bits of the number. Ordered by first address, the wider of two first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Prefix {
    pub(super) first: u128,
    /// Prefix length, at most the width of the IP version.
    pub(super) len: u8,
}

/// The two IP versions, by the width of their addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    pub(super) const fn of(net: &IpNet) -> Self {
        match net {
            IpNet::V4(_) => Self::V4,
            IpNet::V6(_) => Self::V6,
        }
    }

    pub(super) const fn width(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }
}

impl Prefix {
    /// The prefix of this address; `len` is limited to the width of the version.
    pub(super) fn of(net: &IpNet) -> Self {
        let first = match net.network() {
            IpAddr::V4(ip) => u128::from(ip.to_bits()),
            IpAddr::V6(ip) => ip.to_bits(),
        };
        Self { first, len: net.prefix_len() }
    }

    /// The prefix as an address of its version. `None` if it is invalid, which no block made here is.
    pub(super) fn net(self, family: Family) -> Option<IpNet> {
        let ip = match family {
            Family::V4 => IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(self.first).ok()?)),
            Family::V6 => IpAddr::V6(Ipv6Addr::from_bits(self.first)),
        };
        IpNet::new(ip, self.len).ok()
    }

    /// The distance from its first to its last address.
    pub(super) const fn span(self, family: Family) -> u128 {
        span(self.len, family)
    }

    pub(super) const fn last(self, family: Family) -> u128 {
        self.first | self.span(family)
    }
}

/// The distance from the first to the last address of a prefix of this length.
pub(super) const fn span(len: u8, family: Family) -> u128 {
    let host_bits = family.width().saturating_sub(len);
    if host_bits == 0 { 0 } else { u128::MAX >> (128 - host_bits as u32) }
}

/// A map from prefixes of one IP version to values; prefixes may contain each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PrefixMap<V> {
    family: Family,
    /// Single IPv4 addresses, the common case.
    hosts: HostMap<V>,
    /// All others.
    held: BTreeMap<Prefix, V>,
    /// The number of other prefixes of each length: the lengths at which a containing prefix is looked up.
    lengths: BTreeMap<u8, usize>,
}

impl<V> PrefixMap<V> {
    pub(super) fn new(family: Family) -> Self {
        Self { family, hosts: HostMap::default(), held: BTreeMap::new(), lengths: BTreeMap::new() }
    }

    /// The address, if the prefix is a single IPv4 address.
    fn host(&self, block: Prefix) -> Option<u32> {
        let is_host = self.family == Family::V4 && block.len == Family::V4.width();
        if is_host { u32::try_from(block.first).ok() } else { None }
    }

    /// The value of exactly this prefix; a default one if there is none.
    pub(super) fn entry(&mut self, block: Prefix) -> &mut V
    where
        V: Default,
    {
        if let Some(address) = self.host(block) {
            return self.hosts.entry(address);
        }
        let lengths = &mut self.lengths;
        self.held.entry(block).or_insert_with(|| {
            *lengths.entry(block.len).or_default() += 1;
            V::default()
        })
    }

    /// The same for a single IPv4 address.
    pub(super) fn host_entry(&mut self, address: u32) -> &mut V
    where
        V: Default,
    {
        self.hosts.entry(address)
    }

    pub(super) fn get_mut(&mut self, block: Prefix) -> Option<&mut V> {
        match self.host(block) {
            Some(address) => self.hosts.get_mut(address),
            None => self.held.get_mut(&block),
        }
    }

    pub(super) fn remove(&mut self, block: Prefix) -> Option<V>
    where
        V: Default,
    {
        if let Some(address) = self.host(block) {
            return self.hosts.remove(address);
        }
        let value = self.held.remove(&block)?;
        if let Some(count) = self.lengths.get_mut(&block.len) {
            *count -= 1;
            if *count == 0 {
                self.lengths.remove(&block.len);
            }
        }
        Some(value)
    }

    /// Every prefix that shares an address with this one. O(lengths + found), and the pages of single addresses in
    /// it.
    pub(super) fn overlapping(&self, block: Prefix) -> impl Iterator<Item = (Prefix, &V)> {
        let last = block.last(self.family);
        let inside = self.held.range(block..=Prefix { first: last, len: u8::MAX });
        let lengths = self.lengths.range(..block.len);
        let around = lengths.filter_map(move |(len, _)| {
            let first = block.first & !span(*len, self.family);
            self.held.get_key_value(&Prefix { first, len: *len })
        });
        let others = around.chain(inside).map(|(block, value)| (*block, value));
        let hosts = u32::try_from(block.first).ok().zip(u32::try_from(last).ok());
        let hosts = hosts.filter(|_| self.family == Family::V4);
        let hosts = hosts.into_iter().flat_map(|(first, last)| self.hosts.within(first..=last));
        let host = |(address, value)| (Prefix { first: u128::from(address), len: Family::V4.width() }, value);
        others.chain(hosts.map(host))
    }

    /// All prefixes are single IPv4 addresses.
    pub(super) fn has_only_hosts(&self) -> bool {
        self.held.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn len(&self) -> usize {
        self.held.len() + self.hosts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> Prefix {
        Prefix::of(&text.parse().unwrap())
    }

    // Input:  prefixes that contain one, equal it, lie inside it and beside it.
    // Output: all but those beside it overlap.
    #[test]
    fn prefixes_overlap_if_one_is_inside_the_other() {
        let mut blocks = PrefixMap::<()>::new(Family::V6);
        let all = ["2001:db8::/32", "2001:db8:1::/64", "2001:db8:1::5/128", "2001:db8:1:1::/64", "::/64"];
        for text in all {
            blocks.entry(block(text));
        }
        let found: Vec<_> = blocks.overlapping(block("2001:db8:1::/64")).map(|(found, ())| found).collect();
        assert_eq!(found, all[..3].iter().map(|text| block(text)).collect::<Vec<_>>());
        assert_eq!(blocks.remove(block("2001:db8::/32")), Some(()));
        assert_eq!(blocks.overlapping(block("2001:db8:2::/64")).count(), 0);
        assert_eq!(blocks.len(), 4);
    }

    #[test]
    fn a_block_is_a_prefix_and_back() {
        for (text, family, span) in [
            ("10.45.0.0/16", Family::V4, 0xffff),
            ("10.45.0.1/32", Family::V4, 0),
            ("0.0.0.0/0", Family::V4, 0xffff_ffff),
        ] {
            assert_eq!(block(text).net(family).unwrap().to_string(), text);
            assert_eq!(block(text).span(family), span);
        }
        assert_eq!(block("::/0").span(Family::V6), u128::MAX);
        assert_eq!(block("2001:db8::/64").last(Family::V6) & 0xffff, 0xffff);
    }
}
