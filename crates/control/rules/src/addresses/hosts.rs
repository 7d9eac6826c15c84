//! Something kept for each of some IPv4 addresses.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use foldhash::fast::RandomState;

/// Addresses of one page: those with the same upper 24 bits.
const PAGE: u32 = 256;

/// The addresses of a page for which something is kept, a bit each.
type Page = [u64; 4];

/// Found by the address in one step, and by ranges of addresses through the pages, of which there are few where addresses lie close.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hosts<V> {
    all: HashMap<u32, V, RandomState>,
    pages: BTreeMap<u32, Page>,
}

impl<V> Default for Hosts<V> {
    fn default() -> Self {
        Self { all: HashMap::default(), pages: BTreeMap::new() }
    }
}

/// Where the bit of an address is in its page, and that bit.
const fn bit(address: u32) -> (usize, u64) {
    let at = address % PAGE;
    ((at / 64) as usize, 1 << (at % 64))
}

impl<V> Hosts<V> {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, address: u32) -> Option<&V> {
        self.all.get(&address)
    }

    pub(super) fn get_mut(&mut self, address: u32) -> Option<&mut V> {
        self.all.get_mut(&address)
    }

    /// What is kept for an address; made anew if there is nothing.
    pub(super) fn entry(&mut self, address: u32) -> &mut V
    where
        V: Default,
    {
        let pages = &mut self.pages;
        self.all.entry(address).or_insert_with(|| {
            let (word, bit) = bit(address);
            let page = pages.entry(address / PAGE).or_default();
            page.iter_mut().skip(word).take(1).for_each(|word| *word |= bit);
            V::default()
        })
    }

    pub(super) fn remove(&mut self, address: u32) -> Option<V> {
        let value = self.all.remove(&address)?;
        let (word, bit) = bit(address);
        if let Some(page) = self.pages.get_mut(&(address / PAGE)) {
            page.iter_mut().skip(word).take(1).for_each(|word| *word &= !bit);
            if *page == Page::default() {
                self.pages.remove(&(address / PAGE));
            }
        }
        Some(value)
    }

    /// Those in a range, in the order of addresses. O(pages + found).
    pub(super) fn within(&self, range: RangeInclusive<u32>) -> impl Iterator<Item = (u32, &V)> {
        let is_one = range.start() == range.end();
        let one = Some(*range.start()).filter(|_| is_one);
        let pages = (!is_one).then(|| self.pages.range(range.start() / PAGE..=range.end() / PAGE));
        let more = pages.into_iter().flatten().flat_map(|(page, bits)| addresses(*page, *bits));
        let more = more.filter(move |address| range.contains(address));
        one.into_iter().chain(more).filter_map(|address| Some((address, self.get(address)?)))
    }
}

/// The addresses of a page whose bits are set.
fn addresses(page: u32, bits: Page) -> impl Iterator<Item = u32> {
    let is_set = move |address: &u32| {
        let (word, bit) = bit(*address);
        bits.get(word).is_some_and(|word| word & bit != 0)
    };
    (page * PAGE..=page * PAGE + (PAGE - 1)).filter(is_set)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  addresses all over, the first and the last of all among them; every third is taken out again.
    // Output: ranges hold those that are left, in order, as a sorted map has them; nothing is left of pages that are empty.
    #[test]
    fn ranges_hold_what_lies_in_them() {
        let (mut hosts, mut expected) = (Hosts::default(), BTreeMap::new());
        let all = (0..2000_u32)
            .map(|number| number.wrapping_mul(0x9e37_79b9) >> (number % 20))
            .chain([0, u32::MAX]);
        for (at, address) in all.clone().enumerate() {
            *hosts.entry(address) = at;
            expected.insert(address, at);
        }
        for address in all.step_by(3) {
            assert_eq!(hosts.remove(address), expected.remove(&address));
        }
        for (first, last) in
            [(0, u32::MAX), (0, 0), (5, 900), (0x1000_0000, 0x2fff_ffff), (u32::MAX, u32::MAX)]
        {
            let found: Vec<_> = hosts.within(first..=last).map(|(address, at)| (address, *at)).collect();
            let range = expected.range(first..=last).map(|(address, at)| (*address, *at));
            assert_eq!(found, range.collect::<Vec<_>>(), "{first} to {last}");
        }
        assert_eq!(hosts.len(), expected.len());
        let left: Vec<_> = expected.into_keys().collect();
        assert!(left.into_iter().all(|address| hosts.remove(address).is_some()));
        assert_eq!(hosts, Hosts::default());
    }
}
