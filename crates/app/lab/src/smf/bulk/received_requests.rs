//! Served requests of the UPF: a repeated one receives the same response, and causes no event.

use std::collections::{HashSet, VecDeque};

/// How many are remembered: more than a UPF sends while it may still send one of them again.
const MAX_TRACKED: usize = 1 << 17;

/// The sequence numbers of the requests that were served last.
#[derive(Debug, Default)]
pub(super) struct ReceivedRequests {
    known: HashSet<u32>,
    order: VecDeque<u32>,
    again: u64,
}

impl ReceivedRequests {
    /// A request came. `false`: not for the first time.
    pub(super) fn is_new(&mut self, sequence: u32) -> bool {
        if !self.known.insert(sequence) {
            self.again += 1;
            return false;
        }
        self.order.push_back(sequence);
        if self.order.len() > MAX_TRACKED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }

    /// How many came again.
    pub(super) const fn duplicates(&self) -> u64 {
        self.again
    }
}
