//! What is written to the switch: the updates of each operation, in order, after the templates that they need.
//!
//! An operation's batch is prepared until its templates are written, then queued with the accounting tables, then in
//! flight. If its outcome is unknown, the tables are read back, and the rest is written.

mod background_writes;
mod read_back;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use causeway_dataplane::{ApplyError, BackendError};
use causeway_types::{Seid, Time};
use foldhash::fast::RandomState;

use super::allocator::Change;
use super::layout::Layout;
use super::operation::Operation;
use super::requests::{InFlight, Requests, Retry, WriteOwner};
use crate::SwitchPdr;
use crate::armed::Arming;
use crate::driver::{DriverError, Outcome, Rejected, Reply, Request, SwitchDriver, Update};
use crate::pendulum::{Batch, Command, Partition};
use read_back::ReadBack;

pub(super) use background_writes::{BackgroundWrites, template_entry, template_updates};

/// The write of an operation that has not ended.
#[derive(Debug)]
pub(super) struct PendingWrite {
    pub(super) session: Seid,
    pub(super) change: Change,
    /// The partitions of its new numbers' entries in the accounting tables of both sides.
    pub(super) partitions: [Partition; 2],
    /// A part of the updates may have been made.
    pub(super) is_uncertain: bool,
    /// Updates that the switch has not confirmed.
    updates: Vec<Update>,
    attempts: u32,
    read_back: Option<ReadBack>,
}

/// The next step of an operation whose templates are written.
#[derive(Debug)]
pub(super) enum Prepared {
    /// There is nothing to write.
    Written(Operation),
    /// It waits for its turn at the accounting tables.
    Queue(Command<Operation>),
    /// The switch refuses its templates.
    Refused(Operation, ApplyError),
}

/// What follows from the response to a write.
#[derive(Debug)]
pub(super) enum WriteEnd {
    /// The switch has carried it out.
    Written,
    /// The switch has refused it.
    Refused(Rejected),
    /// It was tried often enough, and nothing of it was made.
    Failed(ApplyError),
    /// The rest is to be written.
    Incomplete,
}

/// The writes of operations, and those that belong to no session.
#[derive(Debug)]
pub(super) struct Writer {
    layout: Arc<Layout>,
    /// How often a write is tried while the switch is unreachable.
    max_attempts: u32,
    background: BackgroundWrites,
    /// All operations wait for the first background batch, which has the firewall.
    is_guarded: bool,
    /// Operations that wait for templates to be written.
    prepared: VecDeque<Operation>,
    /// Operations that have begun and are not written.
    writes: BTreeMap<Operation, PendingWrite>,
    read_backs: u64,
    refused_backgrounds: u64,
}

impl Writer {
    pub(super) fn new(layout: &Arc<Layout>, max_attempts: u32) -> Self {
        Self {
            layout: Arc::clone(layout),
            max_attempts,
            background: BackgroundWrites::default(),
            is_guarded: false,
            prepared: VecDeque::new(),
            writes: BTreeMap::new(),
            read_backs: 0,
            refused_backgrounds: 0,
        }
    }

    /// Writes that precede those of operations.
    pub(super) const fn background(&mut self) -> &mut BackgroundWrites {
        &mut self.background
    }

    /// Whether the switch has a firewall: no session is written before it, or while the switch refuses it.
    pub(super) const fn guard(&mut self, has_firewall: bool) {
        self.is_guarded = has_firewall;
    }

    /// Whether operations have begun that are not written.
    pub(super) fn has_writes(&self) -> bool {
        !self.writes.is_empty()
    }

    /// Batches whose outcome had to be read from the switch, and writes of templates and routes that it refused.
    pub(super) const fn counts(&self) -> [u64; 2] {
        [self.read_backs, self.refused_backgrounds]
    }

    /// An operation is to be written, when its templates are.
    pub(super) fn begin(
        &mut self,
        operation: Operation,
        session: Seid,
        change: Change,
        updates: Vec<Update>,
    ) {
        let write = PendingWrite {
            session,
            change,
            partitions: [Partition(0); 2],
            is_uncertain: false,
            updates,
            attempts: 0,
            read_back: None,
        };
        self.writes.insert(operation, write);
        self.prepared.push_back(operation);
    }

    /// The write of an operation has ended, successfully or not.
    pub(super) fn take(&mut self, operation: Operation) -> Option<PendingWrite> {
        self.writes.remove(&operation)
    }

    /// Whether a part of an operation may have been made.
    pub(super) fn is_uncertain(&self, operation: Operation) -> bool {
        self.writes.get(&operation).is_some_and(|write| write.is_uncertain)
    }

    /// A part of an operation may have been made.
    pub(super) fn set_uncertain(&mut self, operation: Operation) {
        if let Some(write) = self.writes.get_mut(&operation) {
            write.is_uncertain = true;
        }
    }

    /// Arms the rules that writes in progress add to sessions whose entries the switch has lost.
    pub(super) fn rearm(
        &mut self,
        layout: &Layout,
        lost: &BTreeSet<Seid>,
        arm: &mut dyn FnMut(SwitchPdr) -> Arming,
    ) {
        for write in self.writes.values_mut().filter(|write| lost.contains(&write.session)) {
            write.change.rearm(layout, arm, &mut write.updates);
        }
    }

    /// Operations of which a part may have been made, by session.
    pub(super) fn uncertain(&self) -> HashMap<Seid, (Operation, &PendingWrite), RandomState> {
        let uncertain = self.writes.iter().filter(|(_, write)| write.is_uncertain);
        uncertain.map(|(operation, write)| (write.session, (*operation, write))).collect()
    }

    /// The next operation whose templates are written, in the order of the operations; `None` while it waits for them.
    pub(super) fn next_prepared(&mut self) -> Option<Prepared> {
        while let Some(operation) = self.prepared.front().copied() {
            let Some(write) = self.writes.get(&operation) else {
                self.prepared.pop_front();
                continue;
            };
            let needed = write.change.after_background.max(u64::from(self.is_guarded));
            if let Some(error) = self.background.refused().filter(|_| needed > 0) {
                self.prepared.pop_front();
                return Some(Prepared::Refused(operation, error.clone()));
            }
            if needed > self.background.written() {
                return None;
            }
            self.prepared.pop_front();
            let Change { add, expire, .. } = &write.change;
            if write.updates.is_empty() && add.is_empty() && expire.is_empty() {
                return Some(Prepared::Written(operation));
            }
            let (add, expire) = (add.clone(), expire.clone());
            return Some(Prepared::Queue(Command { add, expire, writes: operation }));
        }
        None
    }

    /// It is the turn of an operation: the entries that count its new numbers become part of its updates.
    pub(super) fn add_counters(&mut self, batch: &Batch<Operation>) {
        let Some(write) = self.writes.get_mut(&batch.writes) else { return };
        let mut updates = Vec::new();
        write.partitions = [Partition(0); 2];
        for insertion in &batch.insertions {
            let (side, partition) = (insertion.side as usize, insertion.partition);
            write.partitions[side] = partition;
            let numbers = insertion.numbers.iter();
            let entry =
                |number: &SwitchPdr| self.layout.accounting_entry(side, usize::from(partition.0), number.0);
            updates.extend(numbers.filter_map(entry).map(Update::Insert));
        }
        updates.append(&mut write.updates);
        write.updates = updates;
    }

    /// The numbers that an operation adds to the accounting tables.
    pub(super) fn added(&self, operation: Operation) -> Option<Vec<SwitchPdr>> {
        self.writes.get(&operation).map(|write| write.change.add.clone())
    }

    /// The numbers that stay, of rules whose action an operation changes.
    pub(super) fn altered(&self, operation: Operation) -> Vec<SwitchPdr> {
        self.writes.get(&operation).map(|write| write.change.altered.clone()).unwrap_or_default()
    }

    /// Writes the updates of an operation that the switch has not confirmed. `false`: there are none.
    pub(super) fn write_remaining<D: SwitchDriver>(
        &mut self,
        now: Time,
        operation: Operation,
        requests: &mut Requests<D>,
    ) -> bool {
        let Some(write) = self.writes.get_mut(&operation).filter(|write| !write.updates.is_empty()) else {
            return false;
        };
        write.attempts += 1;
        requests.send(now, Request::Write(write.updates.clone()), InFlight::Write(operation));
        true
    }

    /// The values that the counters of an operation have before it could not be read: that is an attempt, too.
    pub(super) fn count_attempt(&mut self, operation: Operation) {
        if let Some(write) = self.writes.get_mut(&operation) {
            write.attempts += 1;
        }
    }

    /// The write of an operation has ended, with or without a response. `None`: more follows.
    pub(super) fn write_ended<D: SwitchDriver>(
        &mut self,
        now: Time,
        operation: Operation,
        outcome: Result<(), DriverError>,
        requests: &mut Requests<D>,
    ) -> Option<WriteEnd> {
        let write = self.writes.get_mut(&operation)?;
        match outcome {
            Ok(()) => Some(WriteEnd::Written),
            Err(DriverError::Uncertain) => {
                write.is_uncertain = true;
                let read_back = ReadBack::of(&write.updates);
                let tables = read_back.left.clone();
                write.read_back = Some(read_back);
                self.read_tables(now, WriteOwner::Operation(operation), &tables, requests)
                    .map(|_| WriteEnd::Incomplete)
            }
            Err(DriverError::Rejected(rejected)) => Some(WriteEnd::Refused(rejected)),
            // A partly done batch must be completed, however long that takes.
            Err(_) if write.is_uncertain || write.attempts < self.max_attempts => {
                requests.retry(now, Retry::Write(operation));
                None
            }
            Err(error) => Some(WriteEnd::Failed(backend_error(&error).into())),
        }
    }

    /// Writes background batches, one after the other. `false`: there is none to write.
    pub(super) fn write_background<D: SwitchDriver>(
        &mut self,
        now: Time,
        requests: &mut Requests<D>,
    ) -> bool {
        let Some(updates) = self.background.begin() else { return false };
        requests.send(now, Request::Write(updates), InFlight::BackgroundWrite);
        true
    }

    /// The first background batch is to be written again.
    pub(super) const fn restart_background(&mut self) {
        self.background.restart();
    }

    /// The write of the first background batch has ended. `Some`: the switch has refused it.
    pub(super) fn background_ended<D: SwitchDriver>(
        &mut self,
        now: Time,
        outcome: Result<(), DriverError>,
        requests: &mut Requests<D>,
    ) -> Option<Rejected> {
        match outcome {
            Ok(()) => self.background.done(),
            Err(DriverError::Uncertain) => {
                let tables = self.background.read_back();
                let _nothing_to_write = self.read_tables(now, WriteOwner::BackgroundWrite, &tables, requests);
            }
            Err(DriverError::Rejected(rejected)) => return Some(rejected),
            Err(_) => requests.retry(now, Retry::BackgroundWrite),
        }
        None
    }

    /// The switch refuses templates or routes: returns the operations that wait for them, and whether it did not refuse
    /// any before.
    pub(super) fn refuse_background(&mut self, error: ApplyError) -> (Vec<Operation>, bool) {
        self.refused_backgrounds += 1;
        let is_new = self.background.refuse(error);
        let needs_templates = |operation: &Operation| {
            let write = self.writes.get(operation);
            write.is_some_and(|write| self.is_guarded || write.change.after_background > 0)
        };
        let (refused, others): (Vec<Operation>, Vec<Operation>) =
            std::mem::take(&mut self.prepared).into_iter().partition(needs_templates);
        self.prepared = others.into();
        (refused, is_new)
    }

    /// Reads tables, to find out which updates were made. Returns the operation whose rest is to be written already.
    fn read_tables<D: SwitchDriver>(
        &mut self,
        now: Time,
        whose: WriteOwner,
        tables: &[u32],
        requests: &mut Requests<D>,
    ) -> Option<Operation> {
        self.read_backs += 1;
        for table in tables {
            read_table(now, whose, *table, requests);
        }
        tables.is_empty().then(|| self.read_back_done(whose))?
    }

    /// A table was read, or its reading failed. Returns the operation whose rest is to be written now.
    pub(super) fn table_read<D: SwitchDriver>(
        &mut self,
        now: Time,
        whose: WriteOwner,
        table: u32,
        outcome: Outcome,
        requests: &mut Requests<D>,
    ) -> Option<Operation> {
        let Ok(Reply::Entries(entries)) = outcome else {
            requests.retry(now, Retry::ReadBack(whose, table));
            return None;
        };
        let read_back = match whose {
            WriteOwner::Operation(operation) => self.writes.get_mut(&operation)?.read_back.as_mut()?,
            WriteOwner::BackgroundWrite => self.background.read_back_mut()?,
        };
        read_back.read(table, entries);
        read_back.left.is_empty().then(|| self.read_back_done(whose))?
    }

    fn read_back_done(&mut self, whose: WriteOwner) -> Option<Operation> {
        match whose {
            WriteOwner::BackgroundWrite => {
                self.background.read_back_done();
                None
            }
            WriteOwner::Operation(operation) => {
                let write = self.writes.get_mut(&operation)?;
                let read_back = write.read_back.take()?;
                write.updates = read_back.rest(&write.updates);
                Some(operation)
            }
        }
    }

    /// Tables are no longer read to find out which updates were made: all tables are compared.
    pub(super) fn forget_read_backs(&mut self) {
        self.writes.values_mut().for_each(|write| write.read_back = None);
        self.background.forget_read_back();
    }
}

/// The error for the control plane.
fn backend_error(error: &DriverError) -> BackendError {
    match error {
        DriverError::Unavailable => BackendError::Unreachable,
        DriverError::Superseded => BackendError::Superseded,
        DriverError::Uncertain => BackendError::TimedOut,
        DriverError::Rejected(rejected) => BackendError::Refused { reason: rejected.to_string() },
    }
}

/// Reads a table, to find out which updates were made.
pub(super) fn read_table<D: SwitchDriver>(
    now: Time,
    whose: WriteOwner,
    table: u32,
    requests: &mut Requests<D>,
) {
    requests.send(now, Request::ReadEntries { table }, InFlight::ReadBack(whose, table));
}
