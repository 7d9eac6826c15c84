//! What counters by index held before a rule is counted there, where the switch was there before its controller.
//!
//! A number's counters are read before its first rule is written, and its rule starts from what they held: side by side for changes that wait,
//! and once for each number.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use causeway_types::Time;
use foldhash::fast::RandomState;

use super::operation::Operation;
use super::outcomes::{InFlight, Retry};
use super::switch::{Switch, TICK};
use crate::SwitchPdr;
use crate::driver::{DriverError, Link, Outcome, Reply, Request, SwitchDriver};
use crate::pendulum::Side;

/// A counter: of a number, before or after QoS enforcement.
type Counter = (SwitchPdr, usize);

/// Which counters are known.
#[derive(Debug, Default)]
pub(super) struct CounterBases {
    /// The switch was there for us once.
    is_attached: bool,
    /// Its counters may hold what was counted before that.
    is_unknown: bool,
    /// It was compared with what it should hold, so rules of others are gone; packets that they had under way are counted by then.
    settled: Option<Time>,
    known: HashSet<Counter, RandomState>,
    asked: HashSet<Counter, RandomState>,
    /// Operations that are not written before they are known.
    waiting: BTreeSet<Operation>,
}

impl CounterBases {
    /// News of the way to the switch.
    pub(super) const fn handle_link(&mut self, link: Link) {
        let Link::Up { emptied } = link else { return };
        self.is_unknown |= !emptied && !self.is_attached;
        self.is_attached = true;
    }

    /// Nobody knows what the counters hold, nor has anything of ours been on the switch.
    pub(super) const fn is_new(&self) -> bool {
        self.is_unknown && self.settled.is_none()
    }

    /// All counters start from zero.
    pub(super) fn reset(&mut self) {
        self.is_unknown = false;
        self.known.clear();
        self.asked.clear();
    }

    /// The switch holds what it should; what other rules had under way is counted then.
    pub(super) fn reconciled(&mut self, drained: Time) {
        self.settled.get_or_insert(drained);
    }
}

impl<D: SwitchDriver> Switch<D> {
    /// Reads what the counters of these numbers hold, if that is not known; whether all of it is.
    pub(super) fn read_bases(&mut self, now: Time, numbers: &[SwitchPdr]) -> bool {
        let Some(cells) = self.layout.cells.as_ref().filter(|_| self.bases.is_unknown) else { return true };
        let may_ask = self.bases.settled.is_some_and(|at| now >= at);
        let mut banks: BTreeMap<(usize, u32), (Vec<SwitchPdr>, Vec<u32>)> = BTreeMap::new();
        let mut is_known = true;
        for (number, side) in numbers.iter().flat_map(|number| [(*number, 0), (*number, 1)]) {
            let cell = cells.cell(side, number.0).filter(|_| !self.bases.known.contains(&(number, side)));
            let Some((counter, index)) = cell else { continue };
            is_known = false;
            if may_ask && self.bases.asked.insert((number, side)) {
                let (numbers, indices) = banks.entry((side, counter)).or_default();
                numbers.push(number);
                indices.push(index);
            }
        }
        for ((side, counter), (numbers, indices)) in banks {
            self.send_request(
                now,
                Request::ReadIndexed { counter, indices },
                InFlight::CounterBases(side, numbers),
            );
        }
        is_known
    }

    /// The counters of an operation's new numbers are known. Else it goes on when they are.
    pub(super) fn has_bases(&mut self, now: Time, operation: Operation) -> bool {
        if !self.bases.is_unknown {
            return true;
        }
        let numbers = self.operations.get(&operation).map(|pending| pending.change.add.clone());
        if self.read_bases(now, &numbers.unwrap_or_default()) {
            self.bases.waiting.remove(&operation);
            return true;
        }
        match self.bases.settled {
            Some(at) if now >= at => drop(self.bases.waiting.insert(operation)),
            settled => {
                self.laters += 1;
                let at = settled.unwrap_or(now + self.config.retry.max(TICK));
                self.later.insert((at, self.laters), Retry::Write(operation));
            }
        }
        false
    }

    /// Counters were read for what they held before, or could not be.
    pub(super) fn bases_ended(&mut self, now: Time, side: usize, numbers: &[SwitchPdr], outcome: Outcome) {
        for number in numbers {
            self.bases.asked.remove(&(*number, side));
        }
        let is_read = matches!(outcome, Ok(Reply::Counts(_)));
        if let Ok(Reply::Counts(counts)) = outcome {
            for (number, count) in numbers.iter().zip(counts) {
                self.access.set_base(Side::ALL[side], *number, count.unwrap_or_default());
                self.bases.known.insert((*number, side));
            }
        }
        for operation in std::mem::take(&mut self.bases.waiting) {
            if self.refill.is_some() {
                self.retry(now, Retry::Write(operation));
            } else if is_read {
                self.write_remaining(now, operation);
            } else if let Some(pending) = self.operations.get_mut(&operation) {
                pending.attempts += 1;
                self.write_ended(now, operation, Err(DriverError::Unavailable));
            }
        }
    }
}
