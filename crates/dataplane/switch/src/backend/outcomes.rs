//! What the switch answers, and what is tried again.

use causeway_types::{Seid, Time};

use super::notice::Cause;
use super::operation::Operation;
use super::recovery::ReadBack;
use super::switch::Switch;
use crate::SwitchPdr;
use crate::driver::{DriverError, Outcome, Reply, Request, SwitchDriver, Ticket, WriteError};

/// A request under way.
#[derive(Clone, Debug)]
pub(super) enum Flight {
    /// The updates of an operation.
    Write(Operation),
    /// The batch at the front of the chores.
    Chore,
    /// A table, to learn what became of updates.
    ReadBack(Whose, u32),
    /// A pass of a side, and its counters.
    Pass(usize),
    /// Some of the counters of a pass of a side, by their places in it.
    Cells(usize, Vec<usize>),
    /// What counters of a side held before numbers are used.
    Bases(usize, Vec<SwitchPdr>),
    /// The removal of entries that a pass of a side has read for the last time.
    Removal(usize, Vec<SwitchPdr>),
    /// A frame.
    Frame,
    /// The counters of drops.
    Tally,
    /// A table, to compare it.
    Table(u32),
    /// What a comparison found missing.
    Units,
}

/// Whose updates are in doubt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Whose {
    /// Those of an operation.
    Operation(Operation),
    /// The chore at the front.
    Chore,
}

/// What is tried again later.
#[derive(Clone, Copy, Debug)]
pub(super) enum Later {
    /// To write what is left of an operation.
    Write(Operation),
    /// To write what is left of the chore at the front.
    Chore,
    /// To read a table.
    ReadBack(Whose, u32),
    /// To read counters of a side.
    Pass(usize),
    /// To write the rules of a session again, as they are.
    Rewrite(Seid),
    /// To compare all that the switch holds with what it should.
    Refill,
}

impl<D: SwitchDriver> Switch<D> {
    pub(super) fn ask(&mut self, now: Time, request: Request, flight: Flight) {
        let ticket = self.driver.submit(now, request);
        self.flights.insert(ticket, flight);
    }

    pub(super) fn take_outcome(&mut self, now: Time, ticket: Ticket, outcome: Outcome) {
        let Some(flight) = self.flights.remove(&ticket) else { return };
        self.statistics.unavailable += u64::from(outcome == Err(DriverError::Unavailable));
        if self.refill.is_some() {
            return self.take_refilling(now, flight, outcome);
        }
        match flight {
            Flight::Write(operation) => self.write_ended(now, operation, outcome.map(drop)),
            Flight::Chore => self.chore_ended(now, outcome.map(drop)),
            Flight::ReadBack(whose, table) => self.take_table(now, whose, table, outcome),
            Flight::Pass(side) => self.pass_ended(now, side, outcome),
            Flight::Cells(side, places) => self.part_ended(now, side, &places, outcome),
            Flight::Removal(side, numbers) => {
                let removed = if outcome.is_ok() { numbers } else { Vec::new() };
                self.removal_ended(now, side, &removed);
            }
            Flight::Bases(side, numbers) => self.bases_ended(now, side, &numbers, outcome),
            Flight::Tally => self.tally_ended(outcome),
            // A comparison is under way as long as it waits for these.
            Flight::Frame | Flight::Table(_) | Flight::Units => {}
        }
    }

    /// Something that failed is tried again, if it is time for it.
    pub(super) fn try_later(&mut self, now: Time) -> bool {
        let Some(entry) = self.later.first_entry().filter(|entry| entry.key().0 <= now) else { return false };
        match entry.remove() {
            Later::Write(operation) => self.write_rest(now, operation),
            Later::Chore => self.chores.is_under_way = false,
            Later::ReadBack(whose, table) => {
                self.ask(now, Request::ReadEntries { table }, Flight::ReadBack(whose, table));
            }
            Later::Pass(side) => self.readers[side].is_reading = false,
            Later::Rewrite(seid) => self.rewrite(seid),
            Later::Refill if self.chores.refused.is_some() => self.start_refill(now, Cause::Refused),
            Later::Refill => {}
        }
        true
    }

    /// Writes what belongs to no session, one batch after the other.
    pub(super) fn do_chore(&mut self, now: Time) -> bool {
        if self.chores.is_under_way {
            return false;
        }
        let Some(updates) = self.chores.front().cloned() else { return false };
        self.chores.is_under_way = true;
        self.ask(now, Request::Write(updates), Flight::Chore);
        true
    }

    fn chore_ended(&mut self, now: Time, outcome: Result<(), DriverError>) {
        match outcome {
            Ok(()) => self.chores.done(),
            Err(DriverError::Uncertain) => {
                let read_back = ReadBack::of(self.chores.front().map_or(&[], Vec::as_slice));
                let tables = read_back.left.clone();
                self.chores.read_back = Some(read_back);
                self.read_back(now, Whose::Chore, &tables);
            }
            Err(DriverError::Rejected(rejected)) => {
                let differs = matches!(rejected.error, WriteError::Exists(_) | WriteError::Missing(_));
                if !differs && self.classes_refused() {
                    return;
                }
                self.refuse_templates(now, self.refusal(&rejected));
                self.start_refill(now, Cause::Refused);
            }
            Err(_) => self.try_again(now, Later::Chore),
        }
    }

    /// Reads tables, to learn what became of updates.
    pub(super) fn read_back(&mut self, now: Time, whose: Whose, tables: &[u32]) {
        self.statistics.read_back += 1;
        for table in tables {
            self.ask(now, Request::ReadEntries { table: *table }, Flight::ReadBack(whose, *table));
        }
        if tables.is_empty() {
            self.read_back_done(now, whose);
        }
    }

    fn take_table(&mut self, now: Time, whose: Whose, table: u32, outcome: Outcome) {
        let Ok(Reply::Entries(entries)) = outcome else {
            return self.try_again(now, Later::ReadBack(whose, table));
        };
        let read_back = match whose {
            Whose::Operation(operation) => {
                self.operations.get_mut(&operation).and_then(|pending| pending.read_back.as_mut())
            }
            Whose::Chore => self.chores.read_back.as_mut(),
        };
        let Some(read_back) = read_back else { return };
        read_back.read(table, entries);
        if read_back.left.is_empty() {
            self.read_back_done(now, whose);
        }
    }

    fn read_back_done(&mut self, now: Time, whose: Whose) {
        match whose {
            Whose::Chore => {
                let Some(read_back) = self.chores.read_back.take() else { return };
                let rest = self.chores.front().map(|updates| read_back.rest(updates)).unwrap_or_default();
                if rest.is_empty() {
                    self.chores.done();
                } else {
                    self.chores.set_front(rest);
                    self.chores.is_under_way = false;
                }
            }
            Whose::Operation(operation) => {
                let Some(pending) = self.operations.get_mut(&operation) else { return };
                let Some(read_back) = pending.read_back.take() else { return };
                pending.unwritten = read_back.rest(&pending.unwritten);
                self.write_rest(now, operation);
            }
        }
    }
}
