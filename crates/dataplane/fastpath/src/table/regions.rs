//! Tracks which regions of an array are in use, so that the memory of unused ones can be released.

use std::ops::Range;

/// Octets of a region: a huge page of x86-64.
const REGION: usize = 2 << 20;

/// A region of which at most a 32nd was ever in use keeps its memory: with few sessions, nothing is released.
const WORTH: usize = 32;

/// The number of elements in use, for each region.
#[derive(Debug)]
pub(super) struct Regions {
    /// Elements of a region.
    size: usize,
    counts: Vec<Count>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Count {
    now: u32,
    /// The maximum since memory was last released.
    most: u32,
}

impl Regions {
    /// For an array of this many elements of this many octets each.
    pub(super) fn new(elements: usize, octets: usize) -> Self {
        let size = REGION / octets.max(1);
        Self { size, counts: vec![Count::default(); elements.div_ceil(size)] }
    }

    /// This many elements from `first` on are now in use.
    pub(super) fn take(&mut self, first: u32, count: u32) {
        for element in first..first.saturating_add(count) {
            if let Some(region) = self.counts.get_mut(element as usize / self.size) {
                region.now += 1;
                region.most = region.most.max(region.now);
            }
        }
    }

    /// This many elements are no longer in use. Returns the last region that became empty, if releasing it is
    /// worthwhile.
    pub(super) fn leave(&mut self, first: u32, count: u32) -> Option<Range<usize>> {
        let mut empty = None;
        for element in first..first.saturating_add(count) {
            let at = element as usize / self.size;
            let Some(region) = self.counts.get_mut(at) else { continue };
            region.now = region.now.saturating_sub(1);
            if region.now == 0 && region.most as usize > self.size / WORTH {
                region.most = 0;
                empty = Some(at * self.size..(at + 1) * self.size);
            }
        }
        empty
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  regions of 32,768 elements; few of the first are used, most of the second; all are freed.
    // Output: only the second region is worth releasing, when its last element is freed; the same after it is used
    //         again.
    #[test]
    fn a_region_is_released_with_its_last_element() {
        let mut regions = Regions::new(100_000, 64);
        for _ in 0..2 {
            regions.take(0, 10);
            regions.take(32_768, 20_000);
            regions.take(60_000, 3);
            assert_eq!(regions.leave(0, 10), None);
            assert_eq!(regions.leave(60_000, 3), None);
            assert_eq!((32_768..52_767).find_map(|element| regions.leave(element, 1)), None);
            assert_eq!(regions.leave(52_767, 1), Some(32_768..65_536));
        }
        assert_eq!(regions.leave(5, 1), None);
        regions.take(u32::MAX, 5);
        assert_eq!(regions.leave(u32::MAX, 5), None);
    }
}
