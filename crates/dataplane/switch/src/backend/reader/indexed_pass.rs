//! Passes over counters by index: one request for each bank, concurrently.

use std::collections::BTreeMap;

use causeway_types::Time;

use crate::backend::requests::{InFlight, Requests};
use crate::driver::{Outcome, Reply, Request, SwitchDriver};
use crate::indexed_counters::IndexedCounters;
use crate::{Count, SwitchPdr};

/// A pass with unanswered requests.
#[derive(Debug, Default)]
pub(super) struct IndexedPass {
    /// Requests in flight.
    open: usize,
    counts: Vec<Option<Count>>,
    /// A request that failed, and its outcome.
    failed: Option<Outcome>,
}

impl IndexedPass {
    /// Reads the counters of these numbers.
    pub(super) fn start<D: SwitchDriver>(
        now: Time,
        side: usize,
        numbers: &[SwitchPdr],
        cells: &IndexedCounters,
        requests: &mut Requests<D>,
    ) -> Self {
        let mut banks: BTreeMap<u32, (Vec<usize>, Vec<u32>)> = BTreeMap::new();
        for (place, number) in numbers.iter().enumerate() {
            let Some((counter, index)) = cells.cell(side, number.0) else { continue };
            let (places, indices) = banks.entry(counter).or_default();
            places.push(place);
            indices.push(index);
        }
        let open = banks.len();
        for (counter, (places, indices)) in banks {
            let flight = InFlight::Cells(side, places);
            requests.send(now, Request::ReadIndexed { counter, indices }, flight);
        }
        Self { open, counts: vec![None; numbers.len()], failed: None }
    }

    /// One request was answered. Returns all counters, and the outcome of a request that failed, when all requests were.
    pub(super) fn ended(
        &mut self,
        places: &[usize],
        outcome: Outcome,
    ) -> Option<(Vec<Option<Count>>, Option<Outcome>)> {
        self.open = self.open.saturating_sub(1);
        match outcome {
            Ok(Reply::Counts(counts)) => {
                for (place, count) in places.iter().zip(counts) {
                    if let Some(known) = self.counts.get_mut(*place) {
                        *known = count;
                    }
                }
            }
            outcome => self.failed = Some(outcome),
        }
        if self.open > 0 {
            return None;
        }
        let Self { counts, failed, .. } = std::mem::take(self);
        Some((counts, failed))
    }
}
