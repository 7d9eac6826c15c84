//! Numbers for the UE addresses in the pools of the configuration.

use std::collections::BTreeSet;

use causeway_types::Ipv4Net;

/// The IPv4 pools of all data networks, their addresses numbered from 0 without gaps.
///
/// An address that pools of two networks share has no number, since it does not identify its network.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pools {
    /// Ascending, without overlap.
    ranges: Vec<Range>,
    slots: u32,
    /// One of the largest ranges: its first address, its size, and the number of its first address.
    largest: (u32, u32, u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Range {
    first: u32,
    last: u32,
    /// The number of the first address.
    slot: u32,
}

impl Pools {
    /// Numbers the addresses of these pools, each with its data network. There are at most `most` numbers: a pool for
    /// which too few are left gets none.
    pub fn new(pools: &[(u32, Ipv4Net)], most: u32) -> Self {
        let mut numbered = Self::default();
        for (first, last) in unambiguous(pools) {
            numbered.add(first, last, most);
        }
        // Below 2^32, as all numbers are.
        let sizes =
            numbered.ranges.iter().map(|range| (range.first, range.last - range.first + 1, range.slot));
        numbered.largest = sizes.max_by_key(|(_, size, _)| *size).unwrap_or_default();
        numbered
    }

    fn add(&mut self, first: u32, last: u32, most: u32) {
        let left = most - self.slots;
        let Some(size) = (last - first).checked_add(1).filter(|size| *size <= left) else { return };
        match self.ranges.last_mut() {
            Some(before) if before.last.checked_add(1) == Some(first) => before.last = last,
            _ => self.ranges.push(Range { first, last, slot: self.slots }),
        }
        self.slots += size;
    }

    /// The number of an address (host byte order), if it has one.
    #[inline(always)]
    pub fn slot(&self, address: u32) -> Option<u32> {
        self.slot_in_largest(address).or_else(|| self.slot_elsewhere(address))
    }

    /// The same, for one of the largest ranges alone.
    #[inline(always)]
    pub(crate) const fn slot_in_largest(&self, address: u32) -> Option<u32> {
        let (first, size, slot) = self.largest;
        let offset = address.wrapping_sub(first);
        if offset < size { Some(slot.wrapping_add(offset)) } else { None }
    }

    #[inline(never)]
    fn slot_elsewhere(&self, address: u32) -> Option<u32> {
        let after = self.ranges.partition_point(|range| range.first <= address);
        let range = self.ranges.get(after.wrapping_sub(1))?;
        (address <= range.last).then(|| range.slot + (address - range.first))
    }

    /// Whether there is more than one range.
    #[inline(always)]
    pub(crate) const fn are_several(&self) -> bool {
        self.ranges.len() > 1
    }

    /// The number of numbers.
    pub const fn slots(&self) -> u32 {
        self.slots
    }
}

/// The ranges of addresses that are in pools of exactly one network, ascending: first and last address of each.
fn unambiguous(pools: &[(u32, Ipv4Net)]) -> Vec<(u32, u32)> {
    let bounds =
        |net: &Ipv4Net| (u64::from(net.network().to_bits()), u64::from(net.broadcast().to_bits()) + 1);
    let edges: BTreeSet<u64> =
        pools.iter().map(|(_, net)| bounds(net)).flat_map(|(start, end)| [start, end]).collect();
    let edges: Vec<u64> = edges.into_iter().collect();
    let networks_at = |address: u64| -> BTreeSet<u32> {
        let there = |net: &Ipv4Net| (bounds(net).0..bounds(net).1).contains(&address);
        pools.iter().filter(|(_, net)| there(net)).map(|(network, _)| *network).collect()
    };
    let pieces = edges.windows(2).filter(|piece| networks_at(piece[0]).len() == 1);
    // An edge is 2^32 at most, so that the last address before it has 32 bits.
    pieces.map(|piece| (piece[0] as u32, (piece[1] - 1) as u32)).collect()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    fn net(text: &str) -> Ipv4Net {
        text.parse().unwrap()
    }

    fn slot(pools: &Pools, address: &str) -> Option<u32> {
        pools.slot(address.parse::<Ipv4Addr>().unwrap().to_bits())
    }

    // Input:  pools of two networks, one of which contains a pool of the other.
    // Output: numbers without gaps; none for the addresses that both have, nor outside.
    #[test]
    fn an_address_of_one_network_has_a_number() {
        let pools = [(0, net("10.46.0.0/24")), (1, net("10.45.0.0/24")), (1, net("10.46.0.128/25"))];
        let pools = Pools::new(&pools, u32::MAX);
        assert_eq!(pools.slots(), 256 + 128);
        assert_eq!((slot(&pools, "10.45.0.0"), slot(&pools, "10.45.0.255")), (Some(0), Some(255)));
        assert_eq!((slot(&pools, "10.46.0.0"), slot(&pools, "10.46.0.127")), (Some(256), Some(383)));
        for unknown in
            ["10.46.0.128", "10.46.0.255", "10.44.255.255", "10.45.1.0", "0.0.0.0", "255.255.255.255"]
        {
            assert_eq!(slot(&pools, unknown), None, "{unknown}");
        }
    }

    // Input:  overlapping and adjacent pools in one network.
    // Output: one run of numbers.
    #[test]
    fn pools_of_one_network_are_joined() {
        let pools = [(7, net("10.0.0.0/25")), (7, net("10.0.0.64/26")), (7, net("10.0.0.128/25"))];
        let pools = Pools::new(&pools, u32::MAX);
        assert_eq!((pools.ranges.len(), pools.slots(), slot(&pools, "10.0.0.200")), (1, 256, Some(200)));
    }

    // Input:  a pool of all addresses, a large one and a small one; 2^16 numbers.
    // Output: only what fits is numbered.
    #[test]
    fn large_pools_have_no_numbers() {
        let few = Pools::new(&[(0, net("10.0.0.0/15")), (0, net("10.8.0.0/16"))], 1 << 16);
        assert_eq!((few.slots(), slot(&few, "10.0.0.1"), slot(&few, "10.8.0.1")), (1 << 16, None, Some(1)));
        let all = Pools::new(&[(0, net("0.0.0.0/0"))], u32::MAX);
        assert_eq!((all.slots(), slot(&all, "10.0.0.1")), (0, None));
        assert_eq!(Pools::new(&[], 1).slot(0), None);
    }

    proptest! {
        // Input:  any pools of three networks in one /24, and every address of it.
        // Output: a number if and only if exactly one network has the address; all numbers below `slots`, once each.
        #[test]
        fn numbers_are_dense_and_unique(pools in proptest::collection::vec((0..3_u32, 0..=255_u8, 24..=32_u8), 0..8)) {
            let net = |(network, last, len)| (network, Ipv4Net::new([192, 0, 2, last].into(), len).unwrap().trunc());
            let pools: Vec<_> = pools.into_iter().map(net).collect();
            let numbered = Pools::new(&pools, 1000);
            let mut numbers = Vec::new();
            for last in 0..=255 {
                let address = Ipv4Addr::new(192, 0, 2, last);
                let of: BTreeSet<_> = pools.iter().filter(|(_, net)| net.contains(&address)).map(|(of, _)| of).collect();
                let number = numbered.slot(address.to_bits());
                prop_assert_eq!(number.is_some(), of.len() == 1);
                numbers.extend(number);
            }
            prop_assert_eq!(numbers, (0..numbered.slots()).collect::<Vec<_>>());
        }
    }
}
