//! Passes over counters by index: one request for each bank, concurrently.

use std::collections::BTreeMap;

use causeway_types::Time;

use super::outcomes::{InFlight, Retry};
use super::switch::Switch;
use crate::driver::{Outcome, Reply, Request, SwitchDriver};
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

impl<D: SwitchDriver> Switch<D> {
    /// Reads the counters of these numbers.
    pub(super) fn read_cells(&mut self, now: Time, side: usize, numbers: &[SwitchPdr]) {
        let Some(cells) = &self.layout.cells else { return };
        let mut banks: BTreeMap<u32, (Vec<usize>, Vec<u32>)> = BTreeMap::new();
        for (place, number) in numbers.iter().enumerate() {
            let Some((counter, index)) = cells.cell(side, number.0) else { continue };
            let (places, indices) = banks.entry(counter).or_default();
            places.push(place);
            indices.push(index);
        }
        self.parts[side] = IndexedPass { open: banks.len(), counts: vec![None; numbers.len()], failed: None };
        for (counter, (places, indices)) in banks {
            self.send_request(now, Request::ReadIndexed { counter, indices }, InFlight::Cells(side, places));
        }
    }

    /// One request of a pass was answered; the last one ends the pass.
    pub(super) fn part_ended(&mut self, now: Time, side: usize, places: &[usize], outcome: Outcome) {
        let parts = &mut self.parts[side];
        parts.open = parts.open.saturating_sub(1);
        match outcome {
            Ok(Reply::Counts(counts)) => {
                for (place, count) in places.iter().zip(counts) {
                    if let Some(known) = parts.counts.get_mut(*place) {
                        *known = count;
                    }
                }
            }
            outcome => parts.failed = Some(outcome),
        }
        if parts.open > 0 {
            return;
        }
        let IndexedPass { counts, failed, .. } = std::mem::take(parts);
        let Some(failed) = failed else { return self.pass_ended(now, side, Ok(Reply::Counts(counts))) };
        let numbers = std::mem::take(&mut self.reading[side]).into_iter().zip(counts);
        let (numbers, counts): (Vec<_>, Vec<_>) = numbers.filter(|(_, count)| count.is_some()).unzip();
        if numbers.is_empty() {
            return self.pass_ended(now, side, failed);
        }
        // The switch may lose these values before they are requested again, so they are kept as read.
        self.reading[side] = numbers;
        self.pass_ended(now, side, Ok(Reply::Counts(counts)));
        self.readers[side].is_reading = true;
        self.retry(now, Retry::Pass(side));
    }
}
