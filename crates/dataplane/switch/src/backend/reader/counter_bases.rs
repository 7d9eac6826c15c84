//! Initial values of counters by index before a rule is counted there, where the switch ran before its controller.
//!
//! A number's counters are read before its first rule is written, and the rule counts from those values: concurrently
//! for waiting changes, and once for each number.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use causeway_types::Time;
use foldhash::fast::RandomState;

use crate::SwitchPdr;
use crate::backend::operation::Operation;
use crate::backend::requests::{InFlight, Requests, Retry};
use crate::driver::{Link, Request, SwitchDriver};
use crate::indexed_counters::IndexedCounters;

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

    /// Counters may hold earlier counts.
    pub(super) const fn is_unknown(&self) -> bool {
        self.is_unknown
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

    /// Reads the initial counter values of these numbers, if they are unknown; returns whether all are known.
    pub(super) fn read<D: SwitchDriver>(
        &mut self,
        now: Time,
        cells: Option<&IndexedCounters>,
        numbers: &[SwitchPdr],
        requests: &mut Requests<D>,
    ) -> bool {
        let Some(cells) = cells.filter(|_| self.is_unknown) else { return true };
        let may_ask = self.settled.is_some_and(|at| now >= at);
        let mut banks: BTreeMap<(usize, u32), (Vec<SwitchPdr>, Vec<u32>)> = BTreeMap::new();
        let mut is_known = true;
        for (number, side) in numbers.iter().flat_map(|number| [(*number, 0), (*number, 1)]) {
            let cell = cells.cell(side, number.0).filter(|_| !self.known.contains(&(number, side)));
            let Some((counter, index)) = cell else { continue };
            is_known = false;
            if may_ask && self.asked.insert((number, side)) {
                let (numbers, indices) = banks.entry((side, counter)).or_default();
                numbers.push(number);
                indices.push(index);
            }
        }
        for ((side, counter), (numbers, indices)) in banks {
            let flight = InFlight::CounterBases(side, numbers);
            requests.send(now, Request::ReadIndexed { counter, indices }, flight);
        }
        is_known
    }

    /// The operation continues when the values of its counters are known: by a retry, or after the next reading.
    pub(super) fn wait<D>(&mut self, now: Time, operation: Operation, requests: &mut Requests<D>) {
        match self.settled {
            Some(at) if now >= at => drop(self.waiting.insert(operation)),
            settled => {
                let at = settled.unwrap_or_else(|| requests.later(now));
                requests.retry_at(at, Retry::Write(operation));
            }
        }
    }

    /// The operation need not wait.
    pub(super) fn is_ready(&mut self, operation: Operation) {
        self.waiting.remove(&operation);
    }

    /// Initial values of a side were read, or the reading failed. Returns the operations that waited.
    pub(super) fn ended(&mut self, side: usize, numbers: &[SwitchPdr], is_read: bool) -> BTreeSet<Operation> {
        for number in numbers {
            self.asked.remove(&(*number, side));
            if is_read {
                self.known.insert((*number, side));
            }
        }
        std::mem::take(&mut self.waiting)
    }
}
