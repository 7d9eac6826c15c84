//! Operations and timers that wait for counter readings.

use std::collections::HashMap;

use causeway_types::{Direction, Seid};
use foldhash::fast::RandomState;

use crate::SwitchPdr;
use crate::backend::operation::Operation;

/// The waiter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::backend) enum Waiter {
    /// An operation, for usage that it reports.
    Operation(Operation),
    /// A due timer of a session.
    Timer(Seid),
    /// The rate of a session's packets in a direction.
    Flow(Seid, Direction),
}

/// A counter: a number and a side.
type Counter = (SwitchPdr, usize);

#[derive(Clone, Copy, Debug)]
struct CounterWait {
    by: u64,
    /// Only a pass with a higher number satisfies it.
    after: u64,
}

/// Counters with waiters.
#[derive(Debug, Default)]
pub(super) struct CounterWaits {
    /// How many counters each waiter still needs.
    open: HashMap<u64, (Waiter, usize), RandomState>,
    next: u64,
    wanted: HashMap<Counter, Vec<CounterWait>, RandomState>,
}

impl CounterWaits {
    /// Adds a waiter for these counters, each to be read by a pass after the given one of its side. `false`: there are
    /// none.
    pub(super) fn add(&mut self, waiter: Waiter, counters: &[Counter], passes: [u64; 2]) -> bool {
        if counters.is_empty() {
            return false;
        }
        let by = self.next;
        self.next += 1;
        self.open.insert(by, (waiter, counters.len()));
        for counter in counters {
            let after = passes.get(counter.1).copied().unwrap_or_default();
            self.wanted.entry(*counter).or_default().push(CounterWait { by, after });
        }
        true
    }

    /// A pass with this number has read a counter: returns the waiters that are complete now.
    pub(super) fn read(&mut self, counter: Counter, pass: u64) -> Vec<Waiter> {
        let Some(wanted) = self.wanted.get_mut(&counter) else { return Vec::new() };
        let mut served = Vec::new();
        wanted.retain(|wanted| {
            let is_served = pass > wanted.after;
            served.extend(is_served.then_some(wanted.by));
            !is_served
        });
        if wanted.is_empty() {
            self.wanted.remove(&counter);
        }
        served.into_iter().filter_map(|by| self.serve(by)).collect()
    }

    /// A counter was removed, after its last reading.
    pub(super) fn gone(&mut self, counter: Counter) -> Vec<Waiter> {
        self.read(counter, u64::MAX)
    }

    /// Counters of a side that have waiters.
    pub(super) fn of_side(&self, side: usize) -> impl Iterator<Item = SwitchPdr> {
        self.wanted.keys().filter(move |(_, of)| *of == side).map(|(number, _)| *number)
    }

    fn serve(&mut self, by: u64) -> Option<Waiter> {
        let (waiter, remaining) = self.open.get_mut(&by)?;
        *remaining -= 1;
        let waiter = *waiter;
        if *remaining > 0 {
            return None;
        }
        self.open.remove(&by);
        Some(waiter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a waiter needs two counters after pass 3; one is read by passes 3 and 4, the other retires.
    // Output: that ends the wait; pass 3, which had begun before, does not.
    #[test]
    fn a_wait_ends_with_its_last_counter() {
        let mut waits = CounterWaits::default();
        let waiter = Waiter::Timer(Seid(1));
        let counters = [(SwitchPdr(1), 0), (SwitchPdr(2), 1)];
        assert!(waits.add(waiter, &counters, [3, 0]) && !waits.add(waiter, &[], [0, 0]));
        assert_eq!(waits.read(counters[0], 3), []);
        assert_eq!(waits.read(counters[0], 4), []);
        assert_eq!(waits.of_side(1).collect::<Vec<_>>(), [SwitchPdr(2)]);
        assert_eq!((waits.gone(counters[1]), waits.of_side(0).count()), (vec![waiter], 0));
    }
}
