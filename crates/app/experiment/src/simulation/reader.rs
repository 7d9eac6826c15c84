//! The readers, one for each side: their passes, and the resulting reports.

use std::collections::BTreeMap;

use causeway_switch::driver::{Reply, Request, SwitchDriver, Ticket, Update};
use causeway_switch::pendulum::{self, Partition, Pass, Sample, Side, everything};
use causeway_switch::pulling::Triggers;
use causeway_switch::{Count, SwitchPdr};
use causeway_types::Time;

use super::program::{accounting, cell, counter};
use super::{IDLE, Simulation};
use crate::ExperimentError;
use crate::variant::CounterSelection;

/// The activity of a reader.
#[derive(Debug)]
pub(super) enum Reading {
    /// It reads: requests in flight, and the values so far, with their times, by the indices of its numbers.
    Pass(Pass, Vec<Part>, Vec<Option<(Count, Time)>>),
    /// It removes entries that were read for the last time.
    Removal(Ticket, Side, Vec<SwitchPdr>),
}

/// A request of a pass: the indices that it reads, in this order.
#[derive(Debug)]
pub(super) struct Part {
    ticket: Ticket,
    places: Vec<usize>,
}

impl Simulation {
    /// Starts a reader's next pass, if one is possible.
    pub(super) fn start_reading(&mut self, side: Side) -> Result<bool, ExperimentError> {
        if self.is_loading || self.reading[side as usize].is_some() {
            return Ok(false);
        }
        let (now, choice) = (self.now, self.setting.variant.choice);
        let (pulling, robin, rest) = (&mut self.pulling, &mut self.robins[side as usize], &self.rest);
        let pick = |partition: Partition, members: &[SwitchPdr], budget: usize| match (rest, choice) {
            (Some(rest), _) => {
                let unread = rest[side as usize].get(usize::from(partition.0));
                unread.into_iter().flatten().take(budget).copied().collect()
            }
            (None, CounterSelection::All) => everything(partition, members, budget),
            (None, CounterSelection::RoundRobin) => robin.pick(partition, members, budget),
            (None, CounterSelection::Urgent | CounterSelection::Needed(_)) => {
                pulling.pick(now, side, partition, budget)
            }
        };
        let Some(pass) = self.access.poll_pass(now, side, pick).cloned() else {
            let wake = now + IDLE;
            self.wake = Some(self.wake.map_or(wake, |before| before.min(wake)));
            return Ok(false);
        };
        self.effort.add(pass.numbers.len());
        let parts = self.ask_for(&pass);
        let counts = vec![None; pass.numbers.len()];
        self.reading[side as usize] = Some(Reading::Pass(pass, parts, counts));
        Ok(true)
    }

    /// The requests of a pass: one for each bank, concurrently, or one for a table.
    fn ask_for(&mut self, pass: &Pass) -> Vec<Part> {
        let variant = self.setting.variant;
        if !variant.is_indexed() {
            let table = accounting(pass.side, pass.partition);
            let keys = pass.numbers.iter().map(|number| counter(table, *number)).collect();
            let ticket = self.model.submit(self.now, Request::ReadDirect(keys));
            return vec![Part { ticket, places: (0..pass.numbers.len()).collect() }];
        }
        let mut banks: BTreeMap<u32, (Vec<usize>, Vec<u32>)> = BTreeMap::new();
        for (place, number) in pass.numbers.iter().enumerate() {
            let (counter, index) = cell(pass.side, variant.bank, number.0);
            let (places, indices) = banks.entry(counter).or_default();
            places.push(place);
            indices.push(index);
        }
        let part = |(counter, (places, indices))| {
            let ticket = self.model.submit(self.now, Request::ReadIndexed { counter, indices });
            Part { ticket, places }
        };
        banks.into_iter().map(part).collect()
    }

    /// A request of a reader has ended.
    pub(super) fn reader_is_done(&mut self, ticket: Ticket, reply: Reply) -> Result<(), ExperimentError> {
        let timing = self.setting.timing;
        for reader in &mut self.reading {
            match reader {
                Some(Reading::Pass(pass, parts, counts)) => {
                    let Some(part) = parts.iter().position(|part| part.ticket == ticket) else { continue };
                    let Part { places, .. } = parts.swap_remove(part);
                    let Reply::Counts(read) = reply else { return Err(ExperimentError::Answer) };
                    for ((nth, place), count) in (1..).zip(places).zip(read) {
                        let at = pass.started + timing.read_call + timing.read_entry * nth;
                        if let (Some(known), Some(count)) = (counts.get_mut(place), count) {
                            *known = Some((count, at));
                        }
                    }
                    let is_over = parts.is_empty();
                    return match reader.take_if(|_| is_over) {
                        Some(Reading::Pass(pass, _, counts)) => self.has_read(&pass, &counts),
                        _ => Ok(()),
                    };
                }
                Some(Reading::Removal(removal, side, numbers)) if *removal == ticket => {
                    let (side, numbers) = (*side, std::mem::take(numbers));
                    *reader = None;
                    return self.removed(side, &numbers);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn has_read(&mut self, pass: &Pass, counts: &[Option<(Count, Time)>]) -> Result<(), ExperimentError> {
        let counts: Option<Vec<(Count, Time)>> = counts.iter().copied().collect();
        let counts = counts.ok_or(ExperimentError::Answer)?;
        let samples = pass.numbers.iter().zip(&counts);
        let samples: Vec<Sample> =
            samples.map(|(number, (count, _))| Sample { number: *number, count: *count }).collect();
        let (readings, leaving) = self.access.read(pass.side, &samples);
        for ((_, at), reading) in counts.into_iter().zip(&readings) {
            self.ledger.add_reading(pass.side as usize, reading.usage);
            if let Some(rest) = self.rest.as_mut().filter(|_| Some(at) > self.ended) {
                rest[pass.side as usize].iter_mut().for_each(|rest| _ = rest.remove(&reading.number));
            }
            self.report(at, reading);
        }
        if leaving.is_empty() || self.setting.variant.is_indexed() {
            return self.removed(pass.side, &leaving);
        }
        let table = accounting(pass.side, pass.partition);
        let updates = leaving.iter().map(|number| Update::Delete(counter(table, *number))).collect();
        let ticket = self.model.submit(self.now, Request::Write(updates));
        self.reading[pass.side as usize] = Some(Reading::Removal(ticket, pass.side, leaving));
        Ok(())
    }

    /// Usage that was read at a time, and is known now.
    fn report(&mut self, at: Time, reading: &pendulum::Reading) {
        for report in self.pulling.readings(at, std::slice::from_ref(reading)) {
            self.ledger.reported += report.usage.total();
            if !report.triggers.contains(Triggers::VOLUME_THRESHOLD) {
                continue;
            }
            let threshold = self.urr(report.key).volume_threshold.and_then(|limit| limit.uplink);
            let excess = report.usage.uplink.saturating_sub(threshold.unwrap_or_default());
            if let Some(reached) = self.model.pipeline_mut().reached(report.key, at, excess) {
                self.reports.push((reached, self.now));
            }
        }
    }

    fn removed(&mut self, side: Side, numbers: &[SwitchPdr]) -> Result<(), ExperimentError> {
        if let Some(rest) = &mut self.rest {
            for rest in &mut rest[side as usize] {
                numbers.iter().for_each(|number| _ = rest.remove(number));
            }
        }
        for number in self.access.removed(self.now, side, numbers) {
            self.pulling.retire(number);
            let updates = self.numbers.release(number);
            self.rewrite_templates(updates)?;
            for ue in self.finals.retired(number) {
                let rest = self.pulling.remove(ue).unwrap_or_default();
                self.ledger.reported += rest.total();
                if let Some(ue) = self.ues.get_mut(ue as usize) {
                    ue.is_ending = false;
                }
            }
        }
        Ok(())
    }
}
