//! Events in model time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Events in the order of their time; those of one time in the order in which they were added.
pub(super) struct Events<E> {
    heap: BinaryHeap<Reverse<Due<E>>>,
    order: u64,
}

struct Due<E> {
    at: f64,
    order: u64,
    event: E,
}

impl<E> PartialEq for Due<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<E> Eq for Due<E> {}

impl<E> PartialOrd for Due<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Due<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.order.cmp(&other.order))
    }
}

impl<E> Events<E> {
    pub(super) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), order: 0 }
    }

    /// Adds an event at a time, in seconds.
    pub(super) fn add(&mut self, at: f64, event: E) {
        self.order += 1;
        self.heap.push(Reverse(Due { at, order: self.order, event }));
    }

    /// The next event, with its time.
    pub(super) fn next(&mut self) -> Option<(f64, E)> {
        self.heap.pop().map(|Reverse(Due { at, event, .. })| (at, event))
    }
}
