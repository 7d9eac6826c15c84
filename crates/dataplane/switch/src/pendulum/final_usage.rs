//! Completion of usage.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;

use crate::SwitchPdr;

/// Detects when all numbers of a session or a URR have retired: its last report must wait for them.
///
/// A rule has a new number after each modification, and older ones may retire later than newer ones.
#[derive(Clone, Debug)]
pub struct FinalUsage<K> {
    waiting: HashMap<K, Waiting, RandomState>,
    keys: HashMap<SwitchPdr, Vec<K>, RandomState>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// Numbers that have not retired.
    numbers: usize,
    /// No more numbers will be assigned.
    is_closed: bool,
}

impl<K> Default for FinalUsage<K> {
    fn default() -> Self {
        Self { waiting: HashMap::default(), keys: HashMap::default() }
    }
}

impl<K: Copy + Eq + Hash> FinalUsage<K> {
    /// The number counts for the key from now on. Without effect if it does already, or if the key is closed.
    pub fn assign(&mut self, key: K, number: SwitchPdr) {
        let waiting = self.waiting.entry(key).or_default();
        let keys = self.keys.entry(number).or_default();
        if !waiting.is_closed && !keys.contains(&key) {
            keys.push(key);
            waiting.numbers += 1;
        }
    }

    /// No more numbers will count for the key. True if its usage is complete now: all its numbers have retired.
    pub fn close(&mut self, key: K) -> bool {
        let waiting = self.waiting.entry(key).or_default();
        waiting.is_closed = true;
        self.complete(key)
    }

    /// The number has retired; returns the keys whose usage is complete with it.
    pub fn retired(&mut self, number: SwitchPdr) -> Vec<K> {
        let mut keys = self.keys.remove(&number).unwrap_or_default();
        for key in &keys {
            if let Some(waiting) = self.waiting.get_mut(key) {
                waiting.numbers -= 1;
            }
        }
        keys.retain(|key| self.complete(*key));
        keys
    }

    /// How many numbers of the key have not retired.
    pub fn open(&self, key: K) -> usize {
        self.waiting.get(&key).map_or(0, |waiting| waiting.numbers)
    }

    fn complete(&mut self, key: K) -> bool {
        let is_complete =
            self.waiting.get(&key).is_some_and(|waiting| waiting.is_closed && waiting.numbers == 0);
        if is_complete {
            self.waiting.remove(&key);
        }
        is_complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a session with number 10, after a handover 20; it ends, and 20 retires before 10.
    // Output: its usage is complete with 10, not earlier.
    #[test]
    fn numbers_retire_in_any_order() {
        let mut finals = FinalUsage::default();
        finals.assign('s', SwitchPdr(10));
        finals.assign('s', SwitchPdr(20));
        assert!(!finals.close('s'));
        assert_eq!((finals.retired(SwitchPdr(20)), finals.open('s')), (vec![], 1));
        assert_eq!(finals.retired(SwitchPdr(10)), ['s']);
        assert_eq!((finals.retired(SwitchPdr(10)), finals.open('s')), (vec![], 0));
    }

    // Input:  two URRs count the same number, one also another; a number retires while both continue.
    // Output: each is complete when it is closed and its own numbers have retired; one without numbers is complete
    //         immediately.
    #[test]
    fn a_number_counts_for_several() {
        let mut finals = FinalUsage::default();
        finals.assign(1, SwitchPdr(10));
        finals.assign(2, SwitchPdr(10));
        finals.assign(2, SwitchPdr(10));
        finals.assign(2, SwitchPdr(11));
        assert!(finals.retired(SwitchPdr(10)).is_empty());
        assert!(finals.close(1) && !finals.close(2) && finals.close(3));
        assert_eq!(finals.retired(SwitchPdr(11)), [2]);
    }
}
