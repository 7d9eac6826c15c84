//! The writer: one request at a time, with one or more commands.

use causeway_switch::SwitchPdr;
use causeway_switch::driver::{Request, SwitchDriver, Update};
use causeway_switch::pendulum::{Batch, Command, Partition, Side, WriterTurn};
use causeway_switch::pulling::Measured;
use causeway_types::Direction;

use super::Simulation;
use super::operation::{CompletedOperation, Kind, Operation, Ue};
use super::program::{accounting, bank_of, counting};
use crate::ExperimentError;

/// The request in flight.
#[derive(Debug)]
pub(super) struct Writing {
    batches: Vec<Batch<Operation>>,
}

impl Simulation {
    /// Starts the writer's next request, if one is possible.
    pub(super) fn start_write(&mut self) -> Result<bool, ExperimentError> {
        if self.writing.is_some() {
            return Ok(false);
        }
        let batch = match self.access.poll_write(self.now) {
            None => return Ok(false),
            Some(WriterTurn::Refuse { full, .. }) => return Err(full.into()),
            Some(WriterTurn::Write(batch)) => batch,
        };
        let mut batches = vec![batch];
        while batches.len() < self.setting.variant.joined
            && let Some(batch) = self.access.poll_more(self.now)
        {
            batches.push(batch);
        }
        let updates = batches.iter().flat_map(updates).collect();
        let ticket = self.model.submit(self.now, Request::Write(updates));
        self.writing = Some((ticket, Writing { batches }));
        Ok(true)
    }

    /// The request has ended.
    pub(super) fn written(&mut self) -> Result<(), ExperimentError> {
        let Some((_, Writing { batches })) = self.writing.take() else { return Ok(()) };
        self.access.written(self.now, true);
        batches.iter().try_for_each(|batch| self.answer(batch))
    }

    fn answer(&mut self, batch: &Batch<Operation>) -> Result<(), ExperimentError> {
        let Operation { of: Some((kind, ue)), asked, rules, .. } = batch.writes else { return Ok(()) };
        let before = self.ues.get(ue as usize).and_then(|ue| ue.rules);
        let partitions = Side::ALL.map(|side| {
            let insertions = batch.insertions.iter();
            insertions.filter(|insertion| insertion.side == side).map(|insertion| insertion.partition).next()
        });
        let partitions = partitions.map(|partition| partition.unwrap_or(Partition(0)));
        match kind {
            Kind::Register => self.pulling.provision(self.now, ue, self.urr(ue)),
            Kind::Deregister | Kind::Handover => {}
        }
        let new = |number: &SwitchPdr| !before.is_some_and(|before| before.contains(number));
        for number in rules.iter().flatten().copied().filter(new) {
            let replaces = before.map(|[_, down]| down);
            let is_uplink = rules.is_some_and(|[up, _]| up == number);
            let direction = if is_uplink { Direction::Uplink } else { Direction::Downlink };
            let banks = [bank_of(self.setting.variant.bank, number.0); 2];
            self.pulling
                .enter(self.now, &Measured { number, direction, partitions, banks, urrs: &[ue], replaces })?;
            self.finals.assign(ue, number);
        }
        let gone = |number: &SwitchPdr| !rules.is_some_and(|rules| rules.contains(number));
        before.iter().flatten().copied().filter(gone).for_each(|number| self.pulling.expire(number));
        let is_ending = kind == Kind::Deregister && !self.finals.close(ue);
        if let Some(ue) = self.ues.get_mut(ue as usize) {
            *ue = Ue { rules, is_busy: false, is_ending };
        }
        self.done.push(CompletedOperation { kind, ue, asked, answered: self.now });
        Ok(())
    }

    /// Fills the template tables at the start, which takes no time.
    pub(super) fn write_templates(&mut self, updates: Vec<Update>) -> Result<(), ExperimentError> {
        if updates.is_empty() {
            return Ok(());
        }
        let ticket = self.model.submit(self.now, Request::Write(updates));
        self.now = self.model.next_event().unwrap_or(self.now);
        match self.model.poll(self.now) {
            Some((done, outcome)) if done == ticket => outcome.map(drop).map_err(Into::into),
            _ => Err(ExperimentError::Answer),
        }
    }

    /// Changes of the template tables after numbers were released.
    pub(super) fn rewrite_templates(&mut self, updates: Vec<Update>) -> Result<(), ExperimentError> {
        if !updates.is_empty() {
            let writes = Operation { of: None, asked: self.now, updates, rules: None };
            self.access.submit(self.now, Command { add: vec![], expire: vec![], writes })?;
        }
        Ok(())
    }
}

/// All updates of a command: accounting first, so that no packet has an uncounted number.
fn updates(batch: &Batch<Operation>) -> Vec<Update> {
    let insertions = batch.insertions.iter().flat_map(|insertion| {
        let table = accounting(insertion.side, insertion.partition);
        insertion.numbers.iter().map(move |number| Update::Insert(counting(table, *number)))
    });
    insertions.chain(batch.writes.updates.iter().cloned()).collect()
}
