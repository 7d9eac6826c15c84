//! Reconciliation after the switch came back, or when it does not have the desired state: all tables are read, and the
//! differences are written.
//!
//! Meanwhile the switch gets only frames. It waits for requests in flight: a change of which a part may have been done
//! is completed with its session, and one of which nothing was done is tried again afterwards.

mod closed;
mod desired_state;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use causeway_dataplane::{HostReachability, Settings, Topology};
use causeway_types::{Seid, Span, Time};

use super::config::Config;
use super::firewall;
use super::layout::Layout;
use super::notice::{Cause, Notice, ReconcileResult};
use super::requests::{InFlight, Requests};
use super::session_state::PlacedRule;
use super::sessions::Sessions;
use super::start::StartError;
use crate::driver::{
    DriverError, Entry, Outcome, Rejected, Reply, Request, SwitchDriver, Update, WriteError,
};

pub(super) use desired_state::{AtomicUpdate, DesiredState, EntryOwner, ReadEntries};

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
    retry: Option<Time>,
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

/// The next step of a reconciliation.
#[derive(Debug)]
pub(super) enum Step {
    /// No earlier request is in flight: updates with unknown outcome become part of the reconciliation, and all tables
    /// are read.
    ReadAll,
    /// These tables are read again.
    Read(BTreeSet<u32>),
    /// All tables were read.
    Compare,
    /// Differences are written.
    Write,
    /// The switch has the desired state.
    End,
}

/// What follows from the end of a write.
#[derive(Debug)]
pub(super) enum UnitsEnd {
    /// The entries of these owners are written.
    Written(Vec<EntryOwner>),
    /// The switch has refused those of this owner.
    Refused(EntryOwner, Rejected),
    /// It is tried again.
    Again,
}

/// Compares the switch with the desired state.
#[derive(Debug)]
pub(super) struct Recovery {
    layout: Arc<Layout>,
    config: Arc<Config>,
    /// The local addresses, and those that UEs must not reach.
    topology: Topology,
    /// Entries that belong to no session and never change.
    fixed: Vec<Entry>,
    /// Entries for the addresses that UEs must not reach.
    closed: Vec<Entry>,
    /// Rows of the model of application classes.
    class_rows: Vec<Entry>,
    /// Rows of the detector of heavy hitters.
    heavy_rows: Vec<Entry>,
    /// Entries of the firewall, in the order in which they match.
    firewall: Vec<Entry>,
    reconcile: Option<Reconcile>,
    /// When the last reconciliation ended.
    compared: Option<Time>,
    reconciliations: u64,
    restarted_counters: u64,
}

impl Recovery {
    /// Recovery of a switch that has these entries, which never change, and those of the configuration's topology.
    ///
    /// # Errors
    /// The addresses that UEs must not reach, or the firewall, exceed the tables.
    pub(super) fn new(
        layout: &Arc<Layout>,
        config: &Arc<Config>,
        fixed: Vec<Entry>,
    ) -> Result<Self, StartError> {
        let topology = &config.topology;
        let closed = closed::entries(layout, config, topology);
        if let Some((room, needed)) = closed::lacks_room(layout, &closed) {
            return Err(StartError::Closed { needed, room });
        }
        let firewall = firewall::entries(layout, topology.firewall.as_deref())?;
        Ok(Self {
            layout: Arc::clone(layout),
            config: Arc::clone(config),
            topology: topology.clone(),
            fixed,
            closed,
            class_rows: Vec::new(),
            heavy_rows: Vec::new(),
            firewall,
            reconcile: None,
            compared: None,
            reconciliations: 0,
            restarted_counters: 0,
        })
    }

    /// Reconciliations that have ended, and the counters that started from zero then.
    pub(super) const fn counts(&self) -> [u64; 2] {
        [self.reconciliations, self.restarted_counters]
    }

    /// The entries that belong to no session, in the order in which they are written.
    pub(super) fn base_entries(&self) -> Vec<Entry> {
        self.fixed.iter().chain(self.changing()).cloned().collect()
    }

    /// Sets the rows of the detector of heavy hitters: returns the updates.
    pub(super) fn set_heavy_rows(&mut self, rows: Vec<Entry>) -> Vec<Update> {
        let updates = closed::changes(&self.heavy_rows, &rows);
        self.heavy_rows = rows;
        updates
    }

    /// Sets the rows of the model of application classes: returns the updates.
    pub(super) fn set_class_rows(&mut self, rows: Vec<Entry>) -> Vec<Update> {
        let updates = closed::changes(&self.class_rows, &rows);
        self.class_rows = rows;
        updates
    }

    /// Whether sessions must not be written before the entries that belong to none.
    pub(super) fn has_firewall(&self) -> bool {
        !self.firewall.is_empty()
    }

    /// The settings with the present firewall if the switch cannot have theirs, and then the notice for the operator.
    pub(super) fn possible(&self, settings: &Arc<Settings>) -> (Arc<Settings>, Option<Notice>) {
        match firewall::entries(&self.layout, settings.firewall.as_deref()) {
            Ok(_) => (Arc::clone(settings), None),
            Err(error) => {
                let firewall = self.topology.firewall.clone();
                (Arc::new(Settings { firewall, ..(**settings).clone() }), Some(Notice::Firewall(error)))
            }
        }
    }

    /// The entries that belong to no session and may change: those that close addresses of the host, those of the firewall, of the model of
    /// application classes, and of heavy hitters.
    pub(super) fn changing(&self) -> impl Iterator<Item = &Entry> {
        self.closed.iter().chain(&self.firewall).chain(&self.class_rows).chain(&self.heavy_rows)
    }

    /// Sets the host's addresses: returns the updates, of which new closed addresses are written before newly open
    /// ones.
    ///
    /// # Errors
    /// The switch has no space for all: the earlier entries stay, and the operator gets the notice.
    pub(super) fn close(&mut self, host: &HostReachability) -> Result<Vec<Update>, Notice> {
        self.topology.host.clone_from(host);
        self.update_closed()
    }

    /// Puts settings into force that are [`Recovery::possible`], as [`Recovery::close`]; and the updates of the firewall.
    pub(super) fn reconfigure(&mut self, settings: &Settings) -> (Vec<Update>, Result<Vec<Update>, Notice>) {
        self.topology.set(settings);
        let mut updates = Vec::new();
        if let Ok(wanted) = firewall::entries(&self.layout, settings.firewall.as_deref()) {
            updates = firewall::replacement(&self.layout, &self.firewall, &wanted);
            self.firewall = wanted;
        }
        (updates, self.update_closed())
    }

    fn update_closed(&mut self) -> Result<Vec<Update>, Notice> {
        let closed = closed::entries(&self.layout, &self.config, &self.topology);
        if let Some((room, needed)) = closed::lacks_room(&self.layout, &closed) {
            return Err(Notice::Closed { needed, room });
        }
        let updates = closed::changes(&self.closed, &closed);
        self.closed = closed;
        Ok(updates)
    }

    /// Whether a reconciliation is in progress.
    pub(super) const fn is_in_progress(&self) -> bool {
        self.reconcile.is_some()
    }

    /// When a failed request of the reconciliation is tried again.
    pub(super) fn next_retry(&self) -> Option<Time> {
        self.reconcile.as_ref()?.retry
    }

    /// Begins to compare the switch's state with the desired state; from the start, if that is in progress.
    pub(super) fn start(&mut self, now: Time, cause: Cause) {
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

    /// An error of the switch indicates missing state. Returns whether a reconciliation is in progress now; their rate
    /// is limited.
    pub(super) fn suspect(&mut self, now: Time) -> bool {
        if self.reconcile.is_some() {
            return true;
        }
        let is_due = self.compared.is_none_or(|at| now >= at + PAUSE);
        if is_due {
            self.start(now, Cause::Missing);
        }
        is_due
    }

    /// The next step, when all requests have been answered; `None`: a retry is not due, or no reconciliation is in
    /// progress.
    pub(super) fn next_step(&mut self, now: Time) -> Option<Step> {
        let reconcile = self.reconcile.as_mut().filter(|it| it.retry.is_none_or(|at| at <= now))?;
        reconcile.retry = None;
        Some(match &reconcile.phase {
            Phase::Draining => Step::ReadAll,
            Phase::Reading(remaining) if remaining.is_empty() => Step::Compare,
            Phase::Reading(remaining) => Step::Read(remaining.clone()),
            Phase::Writing if reconcile.units.is_empty() => Step::End,
            Phase::Writing => Step::Write,
        })
    }

    /// Reads all tables that only the backend fills.
    pub(super) fn read_all<D: SwitchDriver>(&mut self, now: Time, requests: &mut Requests<D>) {
        let tables = self.layout.filled().map(|table| table.id).collect();
        self.read(now, tables, requests);
    }

    /// Reads tables.
    pub(super) fn read<D: SwitchDriver>(
        &mut self,
        now: Time,
        tables: BTreeSet<u32>,
        requests: &mut Requests<D>,
    ) {
        for table in &tables {
            requests.send(now, Request::ReadEntries { table: *table }, InFlight::Table(*table));
        }
        if let Some(reconcile) = &mut self.reconcile {
            reconcile.phase = Phase::Reading(tables);
        }
    }

    /// A table was read, or its reading failed, and is repeated at that time.
    pub(super) fn table_read(&mut self, table: u32, outcome: Outcome, again: Time) {
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

    /// Whether the switch has reported that it was empty.
    pub(super) fn is_emptied(&self) -> bool {
        self.reconcile.as_ref().is_some_and(|reconcile| reconcile.report.cause == Cause::Emptied)
    }

    /// The sessions of whose rules the switch has lost entries, when all tables were read.
    pub(super) fn lost_sessions(&self, sessions: &Sessions) -> BTreeSet<Seid> {
        let Some(reconcile) = &self.reconcile else { return BTreeSet::new() };
        let is_lost =
            |placed: &PlacedRule| placed.wanted.rows.iter().any(|row| !reconcile.found.contains_key(row));
        let states = sessions.states();
        let lost = states.filter(|(_, state)| self.is_emptied() || state.placed.values().any(is_lost));
        lost.map(|(seid, _)| seid).collect()
    }

    /// Compares the tables that were read with the desired state: the differences are to be written.
    pub(super) fn compare(&mut self, desired: &mut DesiredState<'_>) {
        let Some(mut reconcile) = self.reconcile.take() else { return };
        let is_emptied = reconcile.report.cause == Cause::Emptied;
        let found = std::mem::take(&mut reconcile.found);
        let mut report = ReconcileResult::new(reconcile.report.cause);
        reconcile.units = self.differences(desired, found, is_emptied, &mut report);
        if !std::mem::replace(&mut reconcile.is_counted, true) {
            reconcile.report = report;
        }
        reconcile.phase = Phase::Writing;
        self.reconcile = Some(reconcile);
    }

    /// The writes for a switch with these entries.
    pub(super) fn differences(
        &self,
        desired: &mut DesiredState<'_>,
        found: ReadEntries,
        is_emptied: bool,
        report: &mut ReconcileResult,
    ) -> VecDeque<AtomicUpdate> {
        let base = self.fixed.iter().chain(&self.closed).chain(&self.class_rows).chain(&self.heavy_rows);
        let base = base.cloned().collect();
        desired.differences(&self.layout, (base, &self.firewall), found, is_emptied, report)
    }

    /// Writes differences: as many as fit into a batch, each whole. `false`: there are none to write, as if that had
    /// succeeded.
    pub(super) fn write<D: SwitchDriver>(&mut self, now: Time, requests: &mut Requests<D>) -> bool {
        let Some(reconcile) = &mut self.reconcile else { return true };
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
        let has_updates = !updates.is_empty();
        if has_updates {
            requests.send(now, Request::Write(updates), InFlight::Units);
        }
        has_updates
    }

    /// The write of differences has ended; if the switch was unreachable, it is repeated at that time.
    pub(super) fn write_ended(&mut self, outcome: Result<(), DriverError>, again: Time) -> UnitsEnd {
        let Some(reconcile) = self.reconcile.as_mut().filter(|it| matches!(it.phase, Phase::Writing)) else {
            return UnitsEnd::Again;
        };
        let units = std::mem::take(&mut reconcile.under_way);
        match outcome {
            Ok(()) => return UnitsEnd::Written(units.into_iter().map(|unit| unit.of).collect()),
            Err(DriverError::Uncertain) => self.restart(),
            Err(DriverError::Rejected(rejected)) if units.len() <= 1 => {
                let of = units.first().map_or(EntryOwner::Foreign, |unit| unit.of);
                return self.refused(of, rejected);
            }
            Err(error) => {
                let is_refused = matches!(error, DriverError::Rejected(_));
                reconcile.one_by_one = if is_refused { units.len() } else { reconcile.one_by_one };
                reconcile.retry = (!is_refused).then_some(again);
                units.into_iter().rev().for_each(|unit| reconcile.units.push_front(unit));
            }
        }
        UnitsEnd::Again
    }

    fn refused(&mut self, of: EntryOwner, rejected: Rejected) -> UnitsEnd {
        let Some(reconcile) = &mut self.reconcile else { return UnitsEnd::Again };
        let differs = matches!(rejected.error, WriteError::Exists(_) | WriteError::Missing(_));
        if differs && reconcile.rounds < ROUNDS {
            // Another controller writes, or the switch has lost it again.
            reconcile.rounds += 1;
            self.restart();
            return UnitsEnd::Again;
        }
        match of {
            EntryOwner::Foreign | EntryOwner::Base => {}
            EntryOwner::Session => reconcile.report.refused += 1,
            // The session's earlier entries are restored.
            EntryOwner::Operation(_) => self.restart(),
        }
        UnitsEnd::Refused(of, rejected)
    }

    /// Compares again, after a part was written.
    fn restart(&mut self) {
        let Some(reconcile) = &mut self.reconcile else { return };
        reconcile.phase = Phase::Draining;
        reconcile.one_by_one = 0;
        reconcile.units.clear();
        reconcile.under_way.clear();
    }

    /// The switch has the desired state.
    pub(super) fn end(&mut self, now: Time) -> Option<ReconcileResult> {
        let Reconcile { mut report, began, .. } = self.reconcile.take()?;
        report.took = now.since(began);
        self.compared = Some(now);
        self.reconciliations += 1;
        self.restarted_counters += report.counters as u64;
        Some(report)
    }
}
