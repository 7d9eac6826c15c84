//! The readers, one for each side: what they read, and what follows.

use causeway_switch::SwitchPdr;
use causeway_switch::driver::{Reply, Request, SwitchDriver, Ticket, Update};
use causeway_switch::pendulum::{self, Partition, Pass, Sample, Side, everything};
use causeway_switch::pulling::Triggers;
use causeway_types::Time;

use super::program::{INDEXED, accounting, counter};
use super::{IDLE, World};
use crate::ExperimentError;
use crate::variant::Choice;

/// What a reader does.
#[derive(Debug)]
pub(super) enum Reading {
    /// It reads.
    Pass(Pass),
    /// It removes entries that were read for the last time.
    Removal(Side, Vec<SwitchPdr>),
}

impl World {
    /// Hands a reader its next pass, if it can have one.
    pub(super) fn start_reading(&mut self, side: Side) -> Result<bool, ExperimentError> {
        if self.is_loading || self.reading[side as usize].is_some() {
            return Ok(false);
        }
        let (now, choice) = (self.now, self.setting.variant.choice);
        let (pulling, robin, rest) = (&mut self.pulling, &mut self.robins[side as usize], &self.rest);
        let pick = |partition: Partition, members: &[SwitchPdr], budget: usize| match (rest, choice) {
            (Some(rest), _) => {
                let unread = members.iter().filter(|number| rest[side as usize].contains(number));
                unread.take(budget).copied().collect()
            }
            (None, Choice::Everything) => everything(partition, members, budget),
            (None, Choice::InTurns) => robin.pick(partition, members, budget),
            (None, Choice::Urgent | Choice::Needed(_)) => pulling.pick(now, side, partition, budget),
        };
        let Some(pass) = self.access.poll_pass(now, side, pick).cloned() else {
            let wake = now + IDLE;
            self.wake = Some(self.wake.map_or(wake, |before| before.min(wake)));
            return Ok(false);
        };
        let request = if self.setting.variant.is_indexed() {
            let indices = pass.numbers.iter().map(|number| number.0).collect();
            Request::ReadIndexed { counter: INDEXED[side as usize], indices }
        } else {
            let table = accounting(side, pass.partition);
            Request::ReadDirect(pass.numbers.iter().map(|number| counter(table, *number)).collect())
        };
        let ticket = self.model.submit(now, request);
        self.effort.add(pass.numbers.len());
        self.reading[side as usize] = Some((ticket, Reading::Pass(pass)));
        Ok(true)
    }

    /// A request of a reader is over.
    pub(super) fn reader_is_done(&mut self, ticket: Ticket, reply: Reply) -> Result<(), ExperimentError> {
        for reading in &mut self.reading {
            if let Some((_, reading)) = reading.take_if(|(reading, _)| *reading == ticket) {
                return match (reading, reply) {
                    (Reading::Pass(pass), Reply::Counts(counts)) => self.has_read(&pass, &counts),
                    (Reading::Removal(side, numbers), _) => self.removed(side, &numbers),
                    (Reading::Pass(_), _) => Err(ExperimentError::Answer),
                };
            }
        }
        Ok(())
    }

    fn has_read(
        &mut self,
        pass: &Pass,
        counts: &[Option<causeway_switch::Count>],
    ) -> Result<(), ExperimentError> {
        let numbers = pass.numbers.iter().copied().zip(counts);
        let sample = |(number, count): (SwitchPdr, &Option<_>)| Some(Sample { number, count: (*count)? });
        let samples: Vec<Sample> =
            numbers.map(sample).collect::<Option<_>>().ok_or(ExperimentError::Answer)?;
        let (readings, leaving) = self.access.read(pass.side, &samples);
        let timing = self.setting.timing;
        for (place, reading) in (1..).zip(&readings) {
            let at = pass.started + timing.read_call + timing.read_entry * place;
            self.ledger.add_reading(pass.side as usize, reading.usage);
            if let Some(rest) = self.rest.as_mut().filter(|_| Some(at) > self.ended) {
                rest[pass.side as usize].remove(&reading.number);
            }
            self.report(at, reading);
        }
        if leaving.is_empty() || self.setting.variant.is_indexed() {
            return self.removed(pass.side, &leaving);
        }
        let table = accounting(pass.side, pass.partition);
        let updates = leaving.iter().map(|number| Update::Delete(counter(table, *number))).collect();
        let ticket = self.model.submit(self.now, Request::Write(updates));
        self.reading[pass.side as usize] = Some((ticket, Reading::Removal(pass.side, leaving)));
        Ok(())
    }

    /// Usage that was found at a moment, and is known now.
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
            numbers.iter().for_each(|number| _ = rest[side as usize].remove(number));
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
