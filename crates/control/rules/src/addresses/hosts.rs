//! Something kept for each of some IPv4 addresses.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Addresses of one page: those with the same upper 24 bits.
const PAGE: u32 = 256;

/// By pages, of which there are few where addresses lie close: sessions that come one after the other mostly have addresses that do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hosts<V> {
    pages: BTreeMap<u32, Page<V>>,
    len: usize,
}

/// What is kept for addresses of a page, in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Page<V> {
    /// The addresses for which something is kept, a bit each.
    bits: [u64; 4],
    values: Vec<V>,
}

impl<V> Default for Hosts<V> {
    fn default() -> Self {
        Self { pages: BTreeMap::new(), len: 0 }
    }
}

impl<V> Default for Page<V> {
    fn default() -> Self {
        Self { bits: [0; 4], values: Vec::new() }
    }
}

impl<V> Page<V> {
    /// Where what is kept for an address is, or would be.
    fn place(&self, address: u32) -> Result<usize, usize> {
        let at = address % PAGE;
        let (word, bit) = ((at / 64) as usize, 1_u64 << (at % 64));
        let (before, rest) = self.bits.split_at(word);
        let here = rest.first().copied().unwrap_or_default();
        let before =
            before.iter().map(|word| word.count_ones()).sum::<u32>() + (here & (bit - 1)).count_ones();
        if here & bit == 0 { Err(before as usize) } else { Ok(before as usize) }
    }

    /// Notes that something is kept for an address, or no longer.
    fn flip(&mut self, address: u32) {
        let at = address % PAGE;
        let word = self.bits.get_mut((at / 64) as usize);
        word.into_iter().for_each(|word| *word ^= 1 << (at % 64));
    }

    /// The addresses of the page of this number.
    fn addresses(&self, number: u32) -> impl Iterator<Item = u32> {
        (number * PAGE..=number * PAGE + (PAGE - 1)).filter(|address| self.place(*address).is_ok())
    }
}

impl<V> Hosts<V> {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, address: u32) -> Option<&V> {
        let page = self.pages.get(&(address / PAGE))?;
        page.values.get(page.place(address).ok()?)
    }

    pub(super) fn get_mut(&mut self, address: u32) -> Option<&mut V> {
        let page = self.pages.get_mut(&(address / PAGE))?;
        let place = page.place(address).ok()?;
        page.values.get_mut(place)
    }

    /// What is kept for an address; made anew if there is nothing.
    pub(super) fn entry(&mut self, address: u32) -> &mut V
    where
        V: Default,
    {
        let page = self.pages.entry(address / PAGE).or_default();
        let place = page.place(address).unwrap_or_else(|place| {
            page.values.insert(place, V::default());
            page.flip(address);
            self.len += 1;
            place
        });
        &mut page.values[place]
    }

    pub(super) fn remove(&mut self, address: u32) -> Option<V> {
        let page = self.pages.get_mut(&(address / PAGE))?;
        let value = page.values.remove(page.place(address).ok()?);
        page.flip(address);
        self.len -= 1;
        if page.values.is_empty() {
            self.pages.remove(&(address / PAGE));
        }
        Some(value)
    }

    /// Those in a range, in the order of addresses. O(pages + found).
    pub(super) fn within(&self, range: RangeInclusive<u32>) -> impl Iterator<Item = (u32, &V)> {
        let is_one = range.start() == range.end();
        let one = Some(*range.start()).filter(|_| is_one);
        let pages = (!is_one).then(|| self.pages.range(range.start() / PAGE..=range.end() / PAGE));
        let more = pages.into_iter().flatten().flat_map(|(number, page)| page.addresses(*number));
        let more = more.filter(move |address| range.contains(address));
        one.into_iter().chain(more).filter_map(|address| Some((address, self.get(address)?)))
    }
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
