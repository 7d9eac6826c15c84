//! Memory for runs of equal items that keep their position until freed.

use std::collections::{BTreeMap, BTreeSet, TryReserveError};

/// Items in one allocation, assigned in runs: in the smallest gap that is long enough, else behind all others.
#[derive(Debug)]
pub(super) struct Runs<T> {
    items: Vec<T>,
    limit: usize,
    /// The length of each gap by its start. No two are adjacent, and none is at the end.
    gaps: BTreeMap<u32, u32>,
    /// The same as pairs of length and start.
    by_len: BTreeSet<(u32, u32)>,
}

impl<T: Copy> Runs<T> {
    /// Without items, with capacity for `limit` of them, whose memory is taken as it is first written.
    ///
    /// # Errors
    /// The system cannot reserve the address space.
    pub(super) fn new(limit: u32) -> Result<Self, TryReserveError> {
        let limit = limit as usize;
        let mut items = Vec::new();
        items.try_reserve_exact(limit)?;
        Ok(Self { items, limit, gaps: BTreeMap::new(), by_len: BTreeSet::new() })
    }

    /// All items, those of gaps too, up to the last one in use.
    #[inline]
    pub(super) fn as_slice(&self) -> &[T] {
        &self.items
    }

    /// Items in use.
    pub(super) fn len(&self) -> usize {
        self.items.len() - self.gaps.values().map(|len| *len as usize).sum::<usize>()
    }

    /// Stores a run and returns its start; `None` where no gap is large enough.
    pub(super) fn insert(&mut self, run: &[T]) -> Option<u32> {
        let len = u32::try_from(run.len()).ok()?;
        let Some((gap, start)) = self.by_len.range((len, 0)..).next().copied() else {
            return self.push(run);
        };
        self.unlist(start, gap);
        self.list(start + len, gap - len);
        self.fill(start, run.iter().copied());
        Some(start)
    }

    /// Frees a run, and writes `blank` in its place.
    pub(super) fn remove(&mut self, start: u32, len: u32, blank: T) {
        self.fill(start, std::iter::repeat_n(blank, len as usize));
        let (mut from, mut to) = (start, start + len);
        if let Some((&before, &gap)) = self.gaps.range(..start).next_back()
            && before + gap == start
        {
            self.unlist(before, gap);
            from = before;
        }
        if let Some(&gap) = self.gaps.get(&to) {
            self.unlist(to, gap);
            to += gap;
        }
        if to as usize == self.items.len() {
            self.items.truncate(from as usize);
        } else {
            self.list(from, to - from);
        }
    }

    fn push(&mut self, run: &[T]) -> Option<u32> {
        let start = self.items.len();
        if self.limit - start < run.len() {
            return None;
        }
        self.items.extend_from_slice(run);
        u32::try_from(start).ok()
    }

    fn fill(&mut self, start: u32, with: impl Iterator<Item = T>) {
        for (to, from) in self.items.iter_mut().skip(start as usize).zip(with) {
            *to = from;
        }
    }

    fn list(&mut self, start: u32, len: u32) {
        if len > 0 {
            self.gaps.insert(start, len);
            self.by_len.insert((len, start));
        }
    }

    fn unlist(&mut self, start: u32, len: u32) {
        self.gaps.remove(&start);
        self.by_len.remove(&(len, start));
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    // Input:  runs of 2, 3 and 1 in a capacity of 6; the first two are freed in either order; then a run of 5, one of
    //         1.
    // Output: the gaps join, so the 5 fit in place; the 1 does not fit.
    #[test]
    fn neighbouring_gaps_join() {
        for order in [[(0, 2), (2, 3)], [(2, 3), (0, 2)]] {
            let mut runs = Runs::new(6).unwrap();
            assert_eq!([2, 3, 1].map(|len| runs.insert(&vec![7_u8; len])), [Some(0), Some(2), Some(5)]);
            for (start, len) in order {
                runs.remove(start, len, 0);
            }
            assert_eq!(runs.as_slice(), [0, 0, 0, 0, 0, 7]);
            assert_eq!(runs.insert(&[8; 5]), Some(0));
            assert_eq!(runs.insert(&[9]), None);
            assert_eq!(runs.len(), 6);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

        // Input:  runs of random lengths, inserted and freed at random.
        // Output: each keeps what was written, the others are blank, and after all are freed nothing is left.
        #[test]
        fn runs_keep_their_contents(steps in vec((1..6_u32, any::<prop::sample::Index>(), any::<bool>()), 1..60)) {
            let mut runs = Runs::new(40).unwrap();
            let mut live: Vec<(u32, u32, u32)> = Vec::new();
            for (mark, (len, index, is_insert)) in (1_u32..).zip(steps) {
                if is_insert {
                    let at = runs.insert(&vec![mark; len as usize]);
                    live.extend(at.map(|at| (at, len, mark)));
                } else if !live.is_empty() {
                    let (at, len, _) = live.swap_remove(index.index(live.len()));
                    runs.remove(at, len, 0);
                }
                let end = live.iter().map(|(at, len, _)| at + len).max().unwrap_or(0);
                let mut expected = vec![0; end as usize];
                for &(at, len, mark) in &live {
                    expected[at as usize..(at + len) as usize].fill(mark);
                }
                prop_assert_eq!(runs.as_slice(), &expected[..]);
                prop_assert_eq!(runs.len(), live.iter().map(|(_, len, _)| *len as usize).sum::<usize>());
            }
            for (at, len, _) in live {
                runs.remove(at, len, 0);
            }
            prop_assert_eq!((runs.len(), runs.as_slice().len()), (0, 0));
            prop_assert_eq!(runs.insert(&[1; 40]), Some(0));
        }
    }
}
