//! Allocates numbers of flow entries.

use std::collections::HashMap;

/// Numbers that are allocated in runs.
#[derive(Debug)]
pub(crate) struct IndexAllocator {
    first: u32,
    next: u32,
    end: u32,
    /// Freed runs, by their length.
    free: HashMap<u32, Vec<u32>>,
}

impl IndexAllocator {
    /// For the numbers from `first` on, before `end`.
    pub(crate) fn new(first: u32, end: u32) -> Self {
        Self { first, next: first, end, free: HashMap::new() }
    }

    /// Whether the number is in the range, allocated or not.
    pub(crate) fn is_one(&self, number: u32) -> bool {
        (self.first..self.end).contains(&number)
    }

    /// The first of this many consecutive numbers; `None` when there are none left.
    pub(crate) fn take(&mut self, count: u32) -> Option<u32> {
        if let Some(first) = self.free.get_mut(&count).and_then(Vec::pop) {
            return Some(first);
        }
        let next = self.next.checked_add(count).filter(|next| *next <= self.end)?;
        Some(std::mem::replace(&mut self.next, next))
    }

    /// Frees this many numbers from `first` on, which were allocated as one run.
    pub(crate) fn give_back(&mut self, first: u32, count: u32) {
        self.free.entry(count).or_default().push(first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  runs of one and of three out of eight numbers, some freed.
    // Output: freed runs are reused for the same length; beyond the end there are none.
    #[test]
    fn freed_runs_are_reused() {
        let mut numbers = IndexAllocator::new(10, 18);
        assert_eq!([numbers.take(3), numbers.take(1), numbers.take(3)], [Some(10), Some(13), Some(14)]);
        assert_eq!(numbers.take(3), None);
        numbers.give_back(10, 3);
        assert_eq!([numbers.take(1), numbers.take(1), numbers.take(3)], [Some(17), None, Some(10)]);
        assert!(numbers.is_one(17) && !numbers.is_one(18) && !numbers.is_one(9));
    }
}
