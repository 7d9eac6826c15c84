//! Lists that nearly always have few items.

use std::ops::Deref;

use arrayvec::ArrayVec;

/// Items in an array; more than `N` of them are in memory of their own.
#[derive(Clone, Debug)]
pub(super) struct Few<T, const N: usize> {
    few: ArrayVec<T, N>,
    /// All of them, if they are more than `N`.
    more: Vec<T>,
}

impl<T, const N: usize> Default for Few<T, N> {
    fn default() -> Self {
        Self { few: ArrayVec::new(), more: Vec::new() }
    }
}

impl<T: Ord, const N: usize> Few<T, N> {
    /// These items, each once, in order.
    pub(super) fn in_order(items: impl Iterator<Item = T>) -> Self {
        let mut all = Self::default();
        items.for_each(|item| all.push(item));
        all.put_in_order();
        all
    }

    pub(super) fn push(&mut self, item: T) {
        if !self.more.is_empty() {
            self.more.push(item);
        } else if let Err(full) = self.few.try_push(item) {
            self.more.extend(self.few.drain(..));
            self.more.push(full.element());
        }
    }

    /// Sorts the items, and removes those that are there already.
    pub(super) fn put_in_order(&mut self) {
        self.few.sort_unstable();
        for at in (1..self.few.len()).rev() {
            if self.few.get(at) == self.few.get(at - 1) {
                self.few.remove(at);
            }
        }
        self.more.sort_unstable();
        self.more.dedup();
    }
}

impl<T, const N: usize> Deref for Few<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.more.is_empty() { &self.few } else { &self.more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  up to ten numbers with repetitions, in lists for four.
    // Output: each number once, in order.
    #[test]
    fn few_or_many_are_in_order() {
        for count in 0..10_u32 {
            let numbers = || (0..count).chain(0..count / 2).map(|number| number * 7 % 5);
            let expected: std::collections::BTreeSet<u32> = numbers().collect();
            let list = Few::<u32, 4>::in_order(numbers());
            assert!(list.iter().eq(&expected), "{list:?}");
            let mut pushed = Few::<u32, 4>::default();
            numbers().for_each(|number| pushed.push(number));
            assert!(pushed.iter().copied().eq(numbers()), "{pushed:?}");
        }
    }
}
