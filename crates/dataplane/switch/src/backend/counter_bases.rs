//! Initial values of counters by index before a rule is counted there, where the switch ran before its controller.
//!
//! A number's counters are read before its first rule is written, and the rule counts from those values: concurrently
//! for waiting changes, and once for each number.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use causeway_types::Time;
use foldhash::fast::RandomState;

use super::operation::Operation;
use super::outcomes::{InFlight, Retry};
use super::switch::{Switch, TICK};
use crate::SwitchPdr;
use crate::driver::{DriverError, Link, Outcome, Reply, Request, SwitchDriver};
use crate::pendulum::Side;

/// A counter: its number, before or after QoS enforcement.
type Counter = (SwitchPdr, usize);

/// The counters whose initial values are known.
#[derive(Debug, Default)]
pub(super) struct CounterBases {
    /// The switch was attached before.
    is_attached: bool,
    /// Its counters may hold earlier counts.
    is_unknown: bool,
    /// The switch was reconciled, so foreign rules are removed; their packets in flight are counted by this time.
    settled: Option<Time>,
    known: HashSet<Counter, RandomState>,
    asked: HashSet<Counter, RandomState>,
    /// Operations that wait for initial values.
    waiting: BTreeSet<Operation>,
}

impl CounterBases {
    /// Handles a change of the connection to the switch.
    pub(super) const fn handle_link(&mut self, link: Link) {
        let Link::Up { emptied } = link else { return };
        self.is_unknown |= !emptied && !self.is_attached;
        self.is_attached = true;
    }

    /// The counter values are unknown, and the switch has never held our entries.
    pub(super) const fn is_new(&self) -> bool {
        self.is_unknown && self.settled.is_none()
    }

    /// All counters start from zero.
    pub(super) fn reset(&mut self) {
        self.is_unknown = false;
        self.known.clear();
        self.asked.clear();
    }

    /// The switch was reconciled; packets of foreign rules are counted by `drained`.
    pub(super) fn reconciled(&mut self, drained: Time) {
        self.settled.get_or_insert(drained);
    }
}

impl<D: SwitchDriver> Switch<D> {
    /// Reads the initial counter values of these numbers, if they are unknown; returns whether all are known.
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

    /// Whether the counters of an operation's new numbers are known. Otherwise it continues when they are.
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

    /// Initial values were read, or the reading failed.
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
            if self.reconcile.is_some() {
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
