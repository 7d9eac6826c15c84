//! A map from IPv4 addresses to values.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Addresses of one page: those with the same upper 24 bits.
const PAGE: u32 = 256;

/// A page gets a place for each of its 256 addresses when it holds more than this many values.
const DENSE_FROM: usize = 64;
const SPARSE_BELOW: usize = 16;

/// A map in pages. There are few pages where addresses are contiguous, and consecutive sessions mostly have
/// adjacent addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct HostMap<V> {
    pages: BTreeMap<u32, Page<V>>,
    len: usize,
}

/// The values for addresses of a page.
#[derive(Clone, Debug)]
struct Page<V> {
    /// The addresses that have a value, one bit each.
    bits: [u64; 4],
    /// The values in the order of addresses; or a place for every address of the page, so that insertion and
    /// removal move nothing.
    values: Vec<V>,
}

impl<V: PartialEq> PartialEq for Page<V> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits && self.kept().eq(other.kept())
    }
}

impl<V: Eq> Eq for Page<V> {}

impl<V> Default for HostMap<V> {
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
    /// The index of an address's value, or the index where it would be inserted.
    fn place(&self, address: u32) -> Result<usize, usize> {
        let at = address % PAGE;
        let (word, bit) = ((at / 64) as usize, 1_u64 << (at % 64));
        let here = self.bits[word % 4];
        if self.has_all_places() {
            return if here & bit == 0 { Err(at as usize) } else { Ok(at as usize) };
        }
        let before = &self.bits[..word % 4];
        let before =
            before.iter().map(|word| word.count_ones()).sum::<u32>() + (here & (bit - 1)).count_ones();
        if here & bit == 0 { Err(before as usize) } else { Ok(before as usize) }
    }

    /// Each address of the page has a place, with or without a value.
    const fn has_all_places(&self) -> bool {
        self.values.len() == PAGE as usize
    }

    /// The values, in the order of addresses.
    fn kept(&self) -> impl Iterator<Item = &V> {
        self.addresses(0).filter_map(|address| self.values.get(self.place(address).ok()?))
    }

    /// Inserts the value of an address that has none, at the index where it would be. Returns its index.
    fn insert(&mut self, address: u32, index: usize) -> usize
    where
        V: Default,
    {
        if !self.has_all_places() && self.values.len() < DENSE_FROM {
            self.values.insert(index, V::default());
            self.toggle_present(address);
            return index;
        }
        if !self.has_all_places() {
            let all = (0..PAGE).map(|at| {
                let index = self.place(at).ok()?;
                self.values.get_mut(index).map(std::mem::take)
            });
            self.values = all.map(Option::unwrap_or_default).collect();
        }
        self.toggle_present(address);
        (address % PAGE) as usize
    }

    /// Removes the value of an address at this index.
    fn take(&mut self, address: u32, index: usize) -> V
    where
        V: Default,
    {
        self.toggle_present(address);
        if !self.has_all_places() {
            return self.values.remove(index);
        }
        let taken = std::mem::take(&mut self.values[index]);
        if self.bits.iter().map(|word| word.count_ones()).sum::<u32>() as usize <= SPARSE_BELOW {
            let left = self.addresses(0).collect::<Vec<_>>();
            let left = left.into_iter().map(|at| std::mem::take(&mut self.values[at as usize]));
            self.values = left.collect();
        }
        taken
    }

    /// Marks an address as present, or as absent.
    fn toggle_present(&mut self, address: u32) {
        let at = address % PAGE;
        let word = self.bits.get_mut((at / 64) as usize);
        word.into_iter().for_each(|word| *word ^= 1 << (at % 64));
    }

    /// The addresses of the page of this number.
    fn addresses(&self, number: u32) -> impl Iterator<Item = u32> {
        (number * PAGE..=number * PAGE + (PAGE - 1)).filter(|address| self.place(*address).is_ok())
    }
}

impl<V> HostMap<V> {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, address: u32) -> Option<&V> {
        let page = self.pages.get(&(address / PAGE))?;
        page.values.get(page.place(address).ok()?)
    }

    pub(super) fn get_mut(&mut self, address: u32) -> Option<&mut V> {
        let page = self.pages.get_mut(&(address / PAGE))?;
        let index = page.place(address).ok()?;
        page.values.get_mut(index)
    }

    /// The value of an address; a default one if there is none.
    pub(super) fn entry(&mut self, address: u32) -> &mut V
    where
        V: Default,
    {
        let page = self.pages.entry(address / PAGE).or_default();
        let index = page.place(address).unwrap_or_else(|index| {
            self.len += 1;
            page.insert(address, index)
        });
        &mut page.values[index]
    }

    pub(super) fn remove(&mut self, address: u32) -> Option<V>
    where
        V: Default,
    {
        let page = self.pages.get_mut(&(address / PAGE))?;
        let value = page.take(address, page.place(address).ok()?);
        self.len -= 1;
        if page.values.is_empty() {
            self.pages.remove(&(address / PAGE));
        }
        Some(value)
    }

    /// The values in a range, in the order of addresses. O(pages + found).
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

    // Input:  addresses over the whole range, including the first and the last; every third is removed.
    // Output: ranges contain the remaining ones, in order, as a sorted map does; empty pages are freed.
    #[test]
    fn ranges_hold_what_lies_in_them() {
        let (mut hosts, mut expected) = (HostMap::default(), BTreeMap::new());
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
        assert_eq!(hosts, HostMap::default());
    }

    // Input:  all addresses of a page and one beside are inserted in mixed order and removed in another; then every
    // fourth is inserted again.
    // Output: at each step each value is as inserted, and the map equals one that was filled in order; few values
    // take little memory.
    #[test]
    fn sparse_and_dense_pages_are_equivalent() {
        let (mut hosts, mut expected) = (HostMap::default(), BTreeMap::new());
        let come = (0..=256_u32).map(|at| (true, at * 95 % 257));
        let go = (0..=256_u32).map(|at| (false, at * 40 % 257)).filter(|(_, address)| address % 19 != 0);
        let mut most = 0;
        for (comes, address) in come.chain(go).chain((0..=256).step_by(4).map(|address| (true, address))) {
            if comes {
                *hosts.entry(address) = address + 1;
                expected.insert(address, address + 1);
            } else {
                assert_eq!(hosts.remove(address), expected.remove(&address));
                assert_eq!(hosts.remove(address), None);
            }
            assert!(hosts.within(0..=300).eq(expected.iter().map(|(at, value)| (*at, value))));
            assert_eq!(hosts.get(address), expected.get(&address));
            let mut other = HostMap::default();
            expected.iter().for_each(|(at, value)| *other.entry(*at) = *value);
            assert!(hosts == other && hosts.len() == expected.len());
            most = most.max(hosts.pages.values().map(|page| page.values.len()).max().unwrap_or(0));
            assert!((expected.len() < 100) == (most < PAGE as usize) || most == PAGE as usize);
            assert!(
                expected.len() > SPARSE_BELOW
                    || hosts.pages.values().all(|page| page.values.len() <= SPARSE_BELOW)
            );
        }
    }
}
