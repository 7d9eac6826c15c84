//! Reconciliation after the switch came back, or when it does not have the desired state: all tables are read, and the
//! differences are written.
//!
//! Meanwhile the switch gets only frames. It waits for requests in flight: a change of which a part may have been done
//! is completed with its session, and one of which nothing was done is tried again afterwards.

use std::collections::{BTreeSet, VecDeque};

use causeway_types::{Span, Time};

use super::desired_state::{AtomicUpdate, ReadEntries, WriteOwner};
use super::notice::{Cause, Notice, ReconcileResult};
use super::operation::Operation;
use super::outcomes::{InFlight, Retry};
use super::switch::{Switch, TICK};
use crate::driver::{DriverError, Link, Outcome, Rejected, Reply, Request, SwitchDriver, WriteError};

/// The approximate number of updates of one batch: as many sessions as fit, each whole.
const BATCH: usize = 500;

/// How often tables are read again when the switch reports a different state.
const ROUNDS: u32 = 3;

/// The pause between two reconciliations that only errors of the switch caused.
const PAUSE: Span = Span::from_secs(10);

/// A reconciliation in progress.
#[derive(Debug)]
pub(super) struct Reconcile {
    began: Time,
    phase: Phase,
    /// When a failed request is tried again.
    pub(super) retry: Option<Time>,
    found: ReadEntries,
    units: VecDeque<AtomicUpdate>,
    under_way: Vec<AtomicUpdate>,
    /// This many units are written one by one: the switch has refused them together.
    one_by_one: usize,
    rounds: u32,
    report: ReconcileResult,
    /// The report contains the first differences.
    is_counted: bool,
}

#[derive(Debug)]
enum Phase {
    /// Earlier requests are in flight.
    Draining,
    /// These tables have not been read.
    Reading(BTreeSet<u32>),
    Writing,
}

impl<D: SwitchDriver> Switch<D> {
    /// Handles a change of the connection to the switch.
    pub(super) fn handle_link(&mut self, now: Time, link: Link) {
        self.drop_counters.handle_link(link);
        self.bases.handle_link(link);
        match link {
            Link::Down => self.notices.push_back(Notice::Down),
            Link::Superseded => self.notices.push_back(Notice::Superseded),
            Link::Up { emptied: true } => self.start_reconcile(now, Cause::Emptied),
            Link::Up { emptied: false } => self.start_reconcile(now, Cause::Up),
        }
    }

    /// Begins to compare the switch's state with the desired state; from the start, if that is in progress.
    pub(super) fn start_reconcile(&mut self, now: Time, cause: Cause) {
        self.reconcile = Some(Reconcile {
            began: now,
            phase: Phase::Draining,
            retry: None,
            found: ReadEntries::default(),
            units: VecDeque::new(),
            under_way: Vec::new(),
            one_by_one: 0,
            rounds: 0,
            report: ReconcileResult::new(cause),
            is_counted: false,
        });
    }

    /// Compares again, after a part was written.
    fn restart_comparison(&mut self) {
        let Some(reconcile) = &mut self.reconcile else { return };
        reconcile.phase = Phase::Draining;
        reconcile.one_by_one = 0;
        reconcile.units.clear();
        reconcile.under_way.clear();
    }

    /// An error of the switch indicates missing state. Returns whether a reconciliation starts, which is limited in
    /// rate.
    pub(super) fn check_suspicion(&mut self, now: Time) -> bool {
        if self.reconcile.is_some() {
            return true;
        }
        let is_due = self.compared.is_none_or(|at| now >= at + PAUSE);
        if is_due {
            self.start_reconcile(now, Cause::Missing);
        }
        is_due
    }

    /// Whether all requests but frames have been answered.
    pub(super) fn is_idle(&self) -> bool {
        self.flights.values().all(|flight| matches!(flight, InFlight::Frame))
    }

    /// The next step of a reconciliation; `false`: it waits for the switch, or none is in progress.
    pub(super) fn continue_reconcile(&mut self, now: Time) -> bool {
        let is_idle = self.is_idle();
        let Some(reconcile) =
            self.reconcile.as_mut().filter(|it| is_idle && it.retry.is_none_or(|at| at <= now))
        else {
            return false;
        };
        reconcile.retry = None;
        match &reconcile.phase {
            Phase::Draining => self.read_all(now),
            Phase::Reading(remaining) if remaining.is_empty() => self.compute_difference(now),
            Phase::Reading(remaining) => {
                let remaining = remaining.clone();
                self.read_tables(now, remaining);
            }
            Phase::Writing if reconcile.units.is_empty() => self.reconcile_done(now),
            Phase::Writing => self.write_units(now),
        }
        true
    }

    /// Handles the response to a request before or of the reconciliation.
    pub(super) fn handle_during_reconcile(&mut self, now: Time, flight: InFlight, outcome: Outcome) {
        match flight {
            InFlight::Write(operation) => {
                self.write_ended_during_reconcile(now, operation, outcome.map(drop));
            }
            InFlight::Pass(side) => self.pass_ended(now, side, outcome),
            InFlight::Cells(side, places) => self.part_ended(now, side, &places, outcome),
            InFlight::Removal(side, numbers) => {
                let removed = if outcome.is_ok() { numbers } else { Vec::new() };
                self.removal_ended(now, side, &removed);
            }
            InFlight::CounterBases(side, numbers) => self.bases_ended(now, side, &numbers, outcome),
            InFlight::Table(table) => self.take_whole_table(now, table, outcome),
            // They are read again.
            InFlight::Drops => self.drop_counters.read_failed(),
            InFlight::Units => self.units_ended(now, outcome.map(drop)),
            // All templates are compared, and all updates with unknown outcome.
            InFlight::BackgroundWrite | InFlight::ReadBack(..) | InFlight::Frame => {}
        }
    }

    fn write_ended_during_reconcile(
        &mut self,
        now: Time,
        operation: Operation,
        outcome: Result<(), DriverError>,
    ) {
        let Some(pending) = self.operations.get_mut(&operation) else { return };
        match outcome {
            Ok(()) => self.write_ended(now, operation, Ok(())),
            Err(DriverError::Uncertain) => pending.is_uncertain = true,
            Err(_) if pending.is_uncertain => {}
            // It may have been refused because of state that the switch has lost.
            Err(DriverError::Rejected(_)) => self.retry(now, Retry::Write(operation)),
            Err(error) => self.write_ended(now, operation, Err(error)),
        }
    }

    /// No request is in flight: unknown outcomes and pending rewrites become part of the reconciliation.
    fn read_all(&mut self, now: Time) {
        for pending in self.operations.values_mut() {
            pending.read_back = None;
        }
        self.background_writes.read_back = None;
        let operations = &self.operations;
        let is_in_doubt = |id: &Operation| operations.get(id).is_some_and(|pending| pending.is_uncertain);
        self.later.retain(|_, later| match later {
            Retry::Write(operation) => !is_in_doubt(operation),
            Retry::ReadBack(..) | Retry::BackgroundWrite | Retry::Reconcile => false,
            Retry::Pass(_) | Retry::Rewrite(_) => true,
        });
        self.read_tables(now, self.layout.filled().map(|table| table.id).collect());
    }

    fn read_tables(&mut self, now: Time, tables: BTreeSet<u32>) {
        for table in &tables {
            self.send_request(now, Request::ReadEntries { table: *table }, InFlight::Table(*table));
        }
        if let Some(reconcile) = &mut self.reconcile {
            reconcile.phase = Phase::Reading(tables);
        }
    }

    fn take_whole_table(&mut self, now: Time, table: u32, outcome: Outcome) {
        let again = self.again(now);
        let Some(reconcile) = &mut self.reconcile else { return };
        let Phase::Reading(remaining) = &mut reconcile.phase else { return };
        match outcome {
            Ok(Reply::Entries(entries)) => {
                remaining.remove(&table);
                reconcile.found.extend(entries.into_iter().map(|entry| (entry.key.clone(), entry)));
            }
            _ => reconcile.retry = Some(again),
        }
    }

    fn compute_difference(&mut self, now: Time) {
        let Some(mut reconcile) = self.reconcile.take() else { return };
        let is_emptied = reconcile.report.cause == Cause::Emptied;
        if is_emptied {
            self.drop_counters.reset();
        }
        let found = std::mem::take(&mut reconcile.found);
        let mut report = ReconcileResult::new(reconcile.report.cause);
        reconcile.units = self.differences(found, is_emptied, &mut report);
        if !std::mem::replace(&mut reconcile.is_counted, true) {
            reconcile.report = report;
        }
        reconcile.phase = Phase::Writing;
        self.reconcile = Some(reconcile);
        self.write_units(now);
    }

    fn write_units(&mut self, now: Time) {
        let Some(reconcile) = &mut self.reconcile else { return };
        let mut updates = Vec::new();
        while let Some(unit) = reconcile.units.pop_front() {
            updates.extend(unit.updates.iter().cloned());
            reconcile.under_way.push(unit);
            let is_alone = reconcile.one_by_one > 0;
            reconcile.one_by_one = reconcile.one_by_one.saturating_sub(1);
            if is_alone || updates.len() >= BATCH {
                break;
            }
        }
        if updates.is_empty() {
            return self.units_ended(now, Ok(()));
        }
        self.send_request(now, Request::Write(updates), InFlight::Units);
    }

    fn units_ended(&mut self, now: Time, outcome: Result<(), DriverError>) {
        let again = self.again(now);
        let Some(reconcile) = self.reconcile.as_mut().filter(|it| matches!(it.phase, Phase::Writing)) else {
            return;
        };
        let units = std::mem::take(&mut reconcile.under_way);
        match outcome {
            Ok(()) => units.into_iter().for_each(|unit| self.unit_written(now, unit.of)),
            Err(DriverError::Uncertain) => self.restart_comparison(),
            Err(DriverError::Rejected(rejected)) if units.len() <= 1 => {
                let of = units.first().map_or(WriteOwner::Foreign, |unit| unit.of);
                self.unit_refused(now, of, &rejected);
            }
            Err(error) => {
                let is_refused = matches!(error, DriverError::Rejected(_));
                reconcile.one_by_one = if is_refused { units.len() } else { reconcile.one_by_one };
                reconcile.retry = (!is_refused).then_some(again);
                units.into_iter().rev().for_each(|unit| reconcile.units.push_front(unit));
            }
        }
    }

    fn unit_written(&mut self, now: Time, of: WriteOwner) {
        match of {
            WriteOwner::Operation(operation) => self.write_ended(now, operation, Ok(())),
            WriteOwner::Base => self.background_writes.refused = None,
            WriteOwner::Session | WriteOwner::Foreign => {}
        }
    }

    fn unit_refused(&mut self, now: Time, of: WriteOwner, rejected: &Rejected) {
        let Some(reconcile) = &mut self.reconcile else { return };
        let differs = matches!(rejected.error, WriteError::Exists(_) | WriteError::Missing(_));
        if differs && reconcile.rounds < ROUNDS {
            // Another controller writes, or the switch has lost it again.
            reconcile.rounds += 1;
            return self.restart_comparison();
        }
        match of {
            WriteOwner::Foreign => {}
            WriteOwner::Base => self.reject_templates(now, self.refusal(rejected)),
            WriteOwner::Session => reconcile.report.refused += 1,
            // The session's earlier entries are restored.
            WriteOwner::Operation(operation) => {
                self.access.written(now, false);
                self.reject(now, operation, self.refusal(rejected));
                self.restart_comparison();
            }
        }
    }

    fn reconcile_done(&mut self, now: Time) {
        let Some(mut reconcile) = self.reconcile.take() else { return };
        reconcile.report.took = now.since(reconcile.began);
        self.compared = Some(now);
        self.bases.reconciled(now + self.config.drain);
        self.send_held(now);
        self.statistics.reconciliations += 1;
        self.statistics.restarted_counters += reconcile.report.counters as u64;
        self.notices.push_back(Notice::Reconciled(reconcile.report));
    }

    fn again(&self, now: Time) -> Time {
        now + self.config.retry.max(TICK)
    }
}
