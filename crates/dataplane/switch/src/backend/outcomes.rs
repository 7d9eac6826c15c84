//! Responses of the switch, and retries.

use causeway_types::{Seid, Time};

use super::notice::Cause;
use super::operation::Operation;
use super::recovery::ReadBack;
use super::switch::Switch;
use crate::SwitchPdr;
use crate::driver::{DriverError, Outcome, Reply, Request, SwitchDriver, Ticket, WriteError};

/// A request in flight.
#[derive(Clone, Debug)]
pub(super) enum InFlight {
    /// The updates of an operation.
    Write(Operation),
    /// The first background batch.
    BackgroundWrite,
    /// A table, to find out which updates were made.
    ReadBack(WriteOwner, u32),
    /// A pass of a side, and its counters.
    Pass(usize),
    /// Some of the counters of a pass of a side, by their indices in it.
    Cells(usize, Vec<usize>),
    /// Initial counter values of a side, before the numbers are used.
    CounterBases(usize, Vec<SwitchPdr>),
    /// The removal of entries that a pass of a side has read for the last time.
    Removal(usize, Vec<SwitchPdr>),
    /// A frame.
    Frame,
    /// The counters of drops.
    Drops,
    /// A table, for a reconciliation.
    Table(u32),
    /// The missing entries of a reconciliation.
    Units,
}

/// The owner of updates whose outcome is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WriteOwner {
    /// An operation.
    Operation(Operation),
    /// The first background batch.
    BackgroundWrite,
}

/// A retry.
#[derive(Clone, Copy, Debug)]
pub(super) enum Retry {
    /// Writes the remaining updates of an operation.
    Write(Operation),
    /// Writes the remaining updates of the first background batch.
    BackgroundWrite,
    /// Reads a table.
    ReadBack(WriteOwner, u32),
    /// Reads counters of a side.
    Pass(usize),
    /// Writes the rules of a session again, unchanged.
    Rewrite(Seid),
    /// Reconciles the switch with the desired state.
    Reconcile,
}

impl<D: SwitchDriver> Switch<D> {
    pub(super) fn send_request(&mut self, now: Time, request: Request, flight: InFlight) {
        let ticket = self.driver.submit(now, request);
        self.flights.insert(ticket, flight);
    }

    pub(super) fn handle_outcome(&mut self, now: Time, ticket: Ticket, outcome: Outcome) {
        let Some(flight) = self.flights.remove(&ticket) else { return };
        self.statistics.unavailable += u64::from(outcome == Err(DriverError::Unavailable));
        if self.reconcile.is_some() {
            return self.handle_during_reconcile(now, flight, outcome);
        }
        match flight {
            InFlight::Write(operation) => self.write_ended(now, operation, outcome.map(drop)),
            InFlight::BackgroundWrite => self.background_write_ended(now, outcome.map(drop)),
            InFlight::ReadBack(whose, table) => self.handle_table(now, whose, table, outcome),
            InFlight::Pass(side) => self.pass_ended(now, side, outcome),
            InFlight::Cells(side, places) => self.part_ended(now, side, &places, outcome),
            InFlight::Removal(side, numbers) => {
                let removed = if outcome.is_ok() { numbers } else { Vec::new() };
                self.removal_ended(now, side, &removed);
            }
            InFlight::CounterBases(side, numbers) => self.bases_ended(now, side, &numbers, outcome),
            InFlight::Drops => self.drop_read_ended(outcome),
            // A reconciliation is in progress while it waits for these.
            InFlight::Frame | InFlight::Table(_) | InFlight::Units => {}
        }
    }

    /// Starts the next retry that is due.
    pub(super) fn poll_retries(&mut self, now: Time) -> bool {
        let Some(entry) = self.later.first_entry().filter(|entry| entry.key().0 <= now) else { return false };
        match entry.remove() {
            Retry::Write(operation) => self.write_remaining(now, operation),
            Retry::BackgroundWrite => self.background_writes.is_under_way = false,
            Retry::ReadBack(whose, table) => {
                self.send_request(now, Request::ReadEntries { table }, InFlight::ReadBack(whose, table));
            }
            Retry::Pass(side) => self.readers[side].is_reading = false,
            Retry::Rewrite(seid) => self.rewrite_session(seid),
            Retry::Reconcile if self.background_writes.refused.is_some() => {
                self.start_reconcile(now, Cause::Refused);
            }
            Retry::Reconcile => {}
        }
        true
    }

    /// Writes background batches, one after the other.
    pub(super) fn write_background(&mut self, now: Time) -> bool {
        if self.background_writes.is_under_way {
            return false;
        }
        let Some(updates) = self.background_writes.front().cloned() else { return false };
        self.background_writes.is_under_way = true;
        self.send_request(now, Request::Write(updates), InFlight::BackgroundWrite);
        true
    }

    fn background_write_ended(&mut self, now: Time, outcome: Result<(), DriverError>) {
        match outcome {
            Ok(()) => self.background_writes.done(),
            Err(DriverError::Uncertain) => {
                let read_back = ReadBack::of(self.background_writes.front().map_or(&[], Vec::as_slice));
                let tables = read_back.left.clone();
                self.background_writes.read_back = Some(read_back);
                self.read_back(now, WriteOwner::BackgroundWrite, &tables);
            }
            Err(DriverError::Rejected(rejected)) => {
                let differs = matches!(rejected.error, WriteError::Exists(_) | WriteError::Missing(_));
                if !differs && self.classes_refused() {
                    return;
                }
                self.reject_templates(now, self.refusal(&rejected));
                self.start_reconcile(now, Cause::Refused);
            }
            Err(_) => self.retry(now, Retry::BackgroundWrite),
        }
    }

    /// Reads tables, to find out which updates were made.
    pub(super) fn read_back(&mut self, now: Time, whose: WriteOwner, tables: &[u32]) {
        self.statistics.read_back += 1;
        for table in tables {
            self.send_request(now, Request::ReadEntries { table: *table }, InFlight::ReadBack(whose, *table));
        }
        if tables.is_empty() {
            self.read_back_done(now, whose);
        }
    }

    fn handle_table(&mut self, now: Time, whose: WriteOwner, table: u32, outcome: Outcome) {
        let Ok(Reply::Entries(entries)) = outcome else {
            return self.retry(now, Retry::ReadBack(whose, table));
        };
        let read_back = match whose {
            WriteOwner::Operation(operation) => {
                self.operations.get_mut(&operation).and_then(|pending| pending.read_back.as_mut())
            }
            WriteOwner::BackgroundWrite => self.background_writes.read_back.as_mut(),
        };
        let Some(read_back) = read_back else { return };
        read_back.read(table, entries);
        if read_back.left.is_empty() {
            self.read_back_done(now, whose);
        }
    }

    fn read_back_done(&mut self, now: Time, whose: WriteOwner) {
        match whose {
            WriteOwner::BackgroundWrite => {
                let Some(read_back) = self.background_writes.read_back.take() else { return };
                let rest =
                    self.background_writes.front().map(|updates| read_back.rest(updates)).unwrap_or_default();
                if rest.is_empty() {
                    self.background_writes.done();
                } else {
                    self.background_writes.set_front(rest);
                    self.background_writes.is_under_way = false;
                }
            }
            WriteOwner::Operation(operation) => {
                let Some(pending) = self.operations.get_mut(&operation) else { return };
                let Some(read_back) = pending.read_back.take() else { return };
                pending.unwritten = read_back.rest(&pending.unwritten);
                self.write_remaining(now, operation);
            }
        }
    }
}
