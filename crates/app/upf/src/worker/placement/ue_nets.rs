//! The addresses and prefixes of UEs, to find those that overlap.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Bound;

use causeway_types::{IpNet, Ipv4Net, Ipv6Net};

use super::super::directory::is_one_ue;

/// UEs of a block, as the lower bits of their numbers.
const BLOCK_BITS: u32 = 8;
const WORDS: usize = (1 << BLOCK_BITS) / u64::BITS as usize;

/// A bit for each UE of a block.
type Block = [u64; WORDS];

/// The nets: those of one UE as bits of their blocks, since addresses are assigned in order, and the wide ones, which are few.
#[derive(Debug, Default)]
pub(super) struct UeNets {
    /// By IP version (IPv4 is `true`) and the upper bits of the numbers. A block has a UE.
    blocks: BTreeMap<(bool, u64), Block>,
    wide: BTreeSet<IpNet>,
    /// The number of wide nets, by IP version and length.
    lengths: BTreeMap<(bool, u8), usize>,
}

/// The number of the UE that has the first address of a net: its IPv4 address, or the first 64 bits of IPv6.
fn number_of(addr: IpAddr) -> u64 {
    match addr {
        IpAddr::V4(ip) => u32::from(ip).into(),
        IpAddr::V6(ip) => (u128::from(ip) >> 64) as u64,
    }
}

/// The net of one UE.
fn net_of(is_v4: bool, number: u64) -> Option<IpNet> {
    if is_v4 {
        Ipv4Net::new(Ipv4Addr::from(number as u32), 32).ok().map(IpNet::V4)
    } else {
        Ipv6Net::new(Ipv6Addr::from(u128::from(number) << 64), 64).ok().map(IpNet::V6)
    }
}

/// The length of the net of one UE.
const fn length_of_one(is_v4: bool) -> u8 {
    if is_v4 { 32 } else { 64 }
}

impl UeNets {
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.wide.is_empty() && self.lengths.is_empty()
    }

    /// Adds a net that is not there. `true`: it is the first one of more or less than one UE with its length.
    pub(super) fn insert(&mut self, net: IpNet) -> bool {
        let is_v4 = net.addr().is_ipv4();
        if is_one_ue(net) {
            let number = number_of(net.addr());
            let block = self.blocks.entry((is_v4, number >> BLOCK_BITS)).or_default();
            if let Some(word) = block.get_mut(word_of(number)) {
                *word |= 1 << (number % 64);
            }
            return false;
        }
        self.wide.insert(net);
        let count = self.lengths.entry((is_v4, net.prefix_len())).or_default();
        *count += 1;
        *count == 1
    }

    /// Removes a net that is there. `true`: it was the last one of more or less than one UE with its length.
    pub(super) fn remove(&mut self, net: IpNet) -> bool {
        let is_v4 = net.addr().is_ipv4();
        if is_one_ue(net) {
            let number = number_of(net.addr());
            let key = (is_v4, number >> BLOCK_BITS);
            let Some(block) = self.blocks.get_mut(&key) else { return false };
            if let Some(word) = block.get_mut(word_of(number)) {
                *word &= !(1 << (number % 64));
            }
            if block.iter().all(|word| *word == 0) {
                self.blocks.remove(&key);
            }
            return false;
        }
        self.wide.remove(&net);
        let length = (is_v4, net.prefix_len());
        let Some(count) = self.lengths.get_mut(&length) else { return false };
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.lengths.remove(&length);
            return true;
        }
        false
    }

    /// The nets that may be there and contain this one.
    pub(super) fn around(&self, net: IpNet) -> impl Iterator<Item = IpNet> {
        let is_v4 = net.addr().is_ipv4();
        let lengths =
            self.lengths.range((is_v4, 0)..(is_v4, net.prefix_len())).map(|((_, length), _)| *length);
        let one = Some(length_of_one(is_v4)).filter(|one| *one < net.prefix_len());
        lengths
            .chain(one)
            .filter_map(move |length| IpNet::new(net.addr(), length).ok().map(|net| net.trunc()))
    }

    /// The nets within this one.
    pub(super) fn inside(&self, net: IpNet) -> impl Iterator<Item = IpNet> {
        let is_v4 = net.addr().is_ipv4();
        // In an address there is no other.
        let is_wide = net.prefix_len() < net.max_prefix_len() && !self.wide.is_empty();
        let behind = is_wide.then(|| self.wide.range((Bound::Excluded(net), Bound::Unbounded)));
        let wide = behind.into_iter().flatten().take_while(move |found| net.contains(&found.addr())).copied();
        let span = length_of_one(is_v4).checked_sub(net.prefix_len()).filter(|bits| *bits > 0);
        let numbers = span.map(|bits| {
            let first = number_of(net.addr());
            (first, first | u64::MAX >> (64 - u32::from(bits)))
        });
        let blocks = numbers.map(|(first, last)| {
            let all = self.blocks.range((is_v4, first >> BLOCK_BITS)..=(is_v4, last >> BLOCK_BITS));
            all.flat_map(|((_, block), bits)| numbers_of(*block, bits))
                .filter(move |number| (first..=last).contains(number))
        });
        wide.chain(blocks.into_iter().flatten().filter_map(move |number| net_of(is_v4, number)))
    }
}

const fn word_of(number: u64) -> usize {
    (number >> 6) as usize % WORDS
}

/// The UEs of a block.
fn numbers_of(block: u64, bits: &Block) -> impl Iterator<Item = u64> + '_ {
    (0_u64..).zip(bits).flat_map(move |(at, word)| {
        let mut left = *word;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| u64::from(left.trailing_zeros()))?;
            left &= left - 1;
            Some(block << BLOCK_BITS | at << 6 | bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A net near others, of either version and any length.
    fn random_net(random: &mut fastrand::Rng) -> IpNet {
        let low = u128::from(random.u32(..1 << 11));
        let net = if random.bool() {
            let addr = Ipv4Addr::from(0x0a2d_0000 | low as u32);
            Ipv4Net::new(addr, if random.bool() { 32 } else { random.u8(..=32) }).map(IpNet::V4)
        } else {
            let addr = Ipv6Addr::from(0x2001_0db8 << 96 | low << 60);
            Ipv6Net::new(addr, if random.bool() { 64 } else { random.u8(..=128) }).map(IpNet::V6)
        };
        net.unwrap().trunc()
    }

    // Input:  random insertions and removals of addresses and prefixes of both versions, close to each other, and a set beside them.
    // Output: for random nets, those that contain them and those within them are those of the set; each length is announced with its first net
    // and withdrawn with its last.
    #[test]
    fn overlapping_nets_are_found() {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut nets, mut model) = (UeNets::default(), BTreeSet::new());
        for _ in 0..6000 {
            let net = random_net(&mut random);
            let length = (net.addr().is_ipv4(), net.prefix_len());
            let is_only = |nets: &BTreeSet<IpNet>| {
                let mut lengths = nets.iter().map(|known| (known.addr().is_ipv4(), known.prefix_len()));
                !is_one_ue(net) && lengths.all(|known| known != length)
            };
            if model.remove(&net) {
                let is_last = nets.remove(net);
                assert_eq!(is_last, is_only(&model), "{net}");
            } else if model.len() < 500 {
                let is_first = nets.insert(net);
                assert_eq!(is_first, is_only(&model), "{net}");
                model.insert(net);
            }
            let asked = random_net(&mut random);
            let inside: BTreeSet<IpNet> = nets.inside(asked).collect();
            let others = || model.iter().filter(|known| **known != asked);
            assert_eq!(inside, others().filter(|known| asked.contains(*known)).copied().collect(), "{asked}");
            let around: BTreeSet<IpNet> = nets.around(asked).filter(|net| model.contains(net)).collect();
            assert_eq!(around, others().filter(|known| known.contains(&asked)).copied().collect(), "{asked}");
        }
        for net in std::mem::take(&mut model) {
            nets.remove(net);
        }
        assert!(nets.is_empty());
    }
}
