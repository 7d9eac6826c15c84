//! `Read`.

use std::sync::Arc;

use causeway_switch::Count;
use causeway_switch::driver::{Counter, Entry, EntryKey, Outcome, Reply, Request, Table};
use tokio::sync::oneshot;
use tonic::{Code, Status};

use super::Host;
use crate::convert::{Refusal, index_of, wire_count, wire_rates};
use crate::info::Schema;
use crate::wire::{
    CounterEntry, DirectCounterEntry, Entity, Index, MeterEntry, RegisterEntry, ReplicationKind, TableEntry,
    ValueSetEntry, What,
};

/// Entities in one message of a response.
const CHUNK: usize = 500;

/// A read: its source, and its output.
pub(super) struct Reading<'h, S> {
    host: &'h Host,
    schema: Arc<Schema>,
    reads_registers: bool,
    sink: S,
    chunk: Vec<Entity>,
}

/// Takes messages of a response; false when the receiver has gone.
pub(super) trait Sink {
    async fn take(&mut self, entities: Vec<Entity>) -> bool;
}

impl<'h, S: Sink> Reading<'h, S> {
    pub(super) fn new(host: &'h Host, device_id: u64, role: &str, sink: S) -> Result<Self, Refusal> {
        let mut device = host.device();
        device.check_device(device_id)?;
        if !role.is_empty() {
            return Err(Refusal::new(Code::NotFound, format!("there is no role {role:?}")));
        }
        let (schema, reads_registers) =
            (Arc::clone(&device.running()?.schema), device.options.reads_registers);
        drop(device);
        Ok(Self { host, schema, reads_registers, sink, chunk: Vec::new() })
    }

    /// Reads the requested entities; returns the result of each.
    pub(super) async fn read(mut self, asked: &[Entity]) -> Result<Vec<Result<(), Refusal>>, Status> {
        let mut ends = Vec::with_capacity(asked.len());
        for entity in asked {
            ends.push(match &entity.what {
                None => Err(Refusal::invalid("a reading of nothing")),
                Some(what) => self.entity(what).await?,
            });
        }
        self.flush().await?;
        Ok(ends)
    }

    async fn entity(&mut self, what: &What) -> Result<Result<(), Refusal>, Status> {
        match what {
            What::Table(entry) => self.tables(entry).await,
            What::DirectCounter(entry) => self.direct_counters(entry).await,
            What::Counter(entry) => self.counters(entry).await,
            What::Meter(entry) => self.meters(entry).await,
            What::Register(entry) => self.registers(entry).await,
            What::ValueSet(entry) => self.value_sets(entry).await,
            What::DirectMeter(entry) => {
                Ok(nothing(entry.table_entry.as_ref().map_or(0, |entry| entry.table_id)))
            }
            What::Extern(thing)
            | What::ProfileMember(thing)
            | What::ProfileGroup(thing)
            | What::Digest(thing) => Ok(nothing(thing.id)),
            What::Replication(entry) => Ok(match &entry.kind {
                Some(ReplicationKind::Clone(session)) => nothing(session.session_id),
                Some(ReplicationKind::Multicast(group)) => nothing(group.id),
                None => Err(Refusal::invalid("neither groups nor sessions are asked for")),
            }),
        }
    }

    async fn tables(&mut self, asked: &TableEntry) -> Result<Result<(), Refusal>, Status> {
        if asked.is_default_action {
            return Ok(Err(Refusal::new(Code::Unimplemented, "default actions are those of the program")));
        }
        let tables = match self.asked_tables(asked, |_| true) {
            Ok(tables) => tables,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let wanted = match Wanted::of(&self.schema, asked) {
            Ok(wanted) => wanted,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let schema = Arc::clone(&self.schema);
        for table in tables {
            let entries = self.entries(table.id, &wanted).await?;
            let is_counted = asked.counter_data.is_some() && schema.program.has_counters(table.id);
            let counts = if is_counted { self.direct(&entries).await? } else { Vec::new() };
            for (place, entry) in entries.iter().enumerate() {
                let counter_data = counts.get(place).copied().flatten().map(wire_count);
                let entry = TableEntry { counter_data, ..schema.wire_entry(entry) };
                self.give(What::Table(entry)).await?;
            }
        }
        Ok(Ok(()))
    }

    async fn direct_counters(&mut self, asked: &DirectCounterEntry) -> Result<Result<(), Refusal>, Status> {
        let asked = asked.table_entry.clone().unwrap_or_default();
        let schema = Arc::clone(&self.schema);
        let found = self.asked_tables(&asked, |table| schema.program.has_counters(table.id));
        let (tables, wanted) = match found.and_then(|tables| Ok((tables, Wanted::of(&self.schema, &asked)?)))
        {
            Ok(found) => found,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if asked.table_id != 0 && tables.is_empty() {
            return Ok(Err(Refusal::invalid("the table's entries have no counters")));
        }
        let mut found = 0;
        for table in tables {
            let entries = match &wanted.fields {
                // Only this entry, without a scan of the table.
                Some(key) => vec![Entry { key: key.clone(), action: 0, parameters: Vec::new() }],
                None => self.entries(table.id, &wanted).await?,
            };
            let counts = self.direct(&entries).await?;
            for (entry, count) in entries.iter().zip(counts) {
                let Some(count) = count else { continue };
                found += 1;
                let (table_entry, data) = (Some(schema.wire_key(&entry.key)), Some(wire_count(count)));
                self.give(What::DirectCounter(DirectCounterEntry { table_entry, data })).await?;
            }
        }
        let is_missing = wanted.fields.is_some() && found == 0;
        Ok(if is_missing { Err(Refusal::new(Code::NotFound, "there is no such entry")) } else { Ok(()) })
    }

    async fn counters(&mut self, asked: &CounterEntry) -> Result<Result<(), Refusal>, Status> {
        let schema = Arc::clone(&self.schema);
        let by_index = schema.program.counters.iter().filter(|counter| counter.table.is_none());
        let counters: Vec<&Counter> =
            by_index.filter(|counter| asked.counter_id == 0 || asked.counter_id == counter.id).collect();
        if counters.is_empty() && asked.counter_id != 0 {
            return Ok(Err(Refusal::invalid(format!("there is no counter {:#x}", asked.counter_id))));
        }
        for counter in counters {
            let indices = match asked.index.filter(|_| asked.counter_id != 0) {
                None => (0..u32::try_from(counter.size).unwrap_or(u32::MAX)).collect(),
                Some(index) => match index_of(index, counter.size) {
                    Ok(index) => vec![index],
                    Err(refusal) => return Ok(Err(refusal)),
                },
            };
            let request = Request::ReadIndexed { counter: counter.id, indices: indices.clone() };
            let Reply::Counts(counts) = self.ask(request).await? else { continue };
            for (index, count) in indices.into_iter().zip(counts) {
                let (index, data) = (Some(Index { index: index.into() }), count.map(wire_count));
                self.give(What::Counter(CounterEntry { counter_id: counter.id, index, data })).await?;
            }
        }
        Ok(Ok(()))
    }

    async fn meters(&mut self, asked: &MeterEntry) -> Result<Result<(), Refusal>, Status> {
        let schema = Arc::clone(&self.schema);
        let meters = schema.program.meters.iter();
        let meters: Vec<_> =
            meters.filter(|meter| asked.meter_id == 0 || asked.meter_id == meter.id).collect();
        if meters.is_empty() && asked.meter_id != 0 {
            return Ok(Err(Refusal::invalid(format!("there is no meter {:#x}", asked.meter_id))));
        }
        for meter in meters {
            let size = u32::try_from(meter.size).unwrap_or(u32::MAX);
            let indices = match asked.index.filter(|_| asked.meter_id != 0) {
                None => 0..size,
                Some(index) => match index_of(index, meter.size) {
                    Ok(index) => index..index.saturating_add(1),
                    Err(refusal) => return Ok(Err(refusal)),
                },
            };
            for index in indices {
                let rates = {
                    let mut device = self.host.device();
                    let running = device.running().map_err(Status::from)?;
                    running.model.state().rates(meter.id, index).flatten()
                };
                let (index, config) = (Some(Index { index: index.into() }), rates.map(wire_rates));
                let entry = MeterEntry { meter_id: meter.id, index, config, counter_data: None };
                self.give(What::Meter(entry)).await?;
            }
        }
        Ok(Ok(()))
    }

    async fn registers(&mut self, asked: &RegisterEntry) -> Result<Result<(), Refusal>, Status> {
        if !self.reads_registers {
            return Err(Status::unimplemented("registers are not read"));
        }
        let schema = Arc::clone(&self.schema);
        let id = asked.register_id;
        let registers: Vec<_> = match schema.register_of(id) {
            Ok(register) => vec![register],
            Err(_) if id == 0 => schema.program.registers.iter().collect(),
            Err(refusal) => return Ok(Err(refusal)),
        };
        for register in registers {
            let indices: Vec<u32> = match asked.index.filter(|_| id != 0) {
                None => (0..u32::try_from(register.size).unwrap_or(u32::MAX)).collect(),
                Some(index) => match index_of(index, register.size) {
                    Ok(index) => vec![index],
                    Err(refusal) => return Ok(Err(refusal)),
                },
            };
            let request = Request::ReadRegister { register: register.id, indices: indices.clone() };
            let Reply::Registers(values) = self.ask(request).await? else { continue };
            for (index, value) in indices.into_iter().zip(values) {
                let (index, data) =
                    (Some(Index { index: index.into() }), Some(schema.wire_data(register, value)));
                self.give(What::Register(RegisterEntry { register_id: register.id, index, data })).await?;
            }
        }
        Ok(Ok(()))
    }

    async fn value_sets(&mut self, asked: &ValueSetEntry) -> Result<Result<(), Refusal>, Status> {
        let id = asked.value_set_id;
        let members = self.host.device().running().map_err(Status::from)?.sets.clone();
        let schema = Arc::clone(&self.schema);
        let mut found = id == 0;
        for (set, members) in schema.value_sets.iter().zip(members) {
            if id == 0 || id == set.id {
                found = true;
                self.give(What::ValueSet(set.to_wire(&members))).await?;
            }
        }
        let unknown = || Refusal::invalid(format!("there is no value set {id:#x}"));
        Ok(if found { Ok(()) } else { Err(unknown()) })
    }

    /// The tables of a key.
    fn asked_tables(
        &self,
        asked: &TableEntry,
        is_one: impl Fn(&Table) -> bool,
    ) -> Result<Vec<Table>, Refusal> {
        let program = &self.schema.program;
        if asked.table_id != 0 {
            let table = self.schema.table_of(asked.table_id)?;
            return Ok(Some(table.clone()).into_iter().filter(is_one).collect());
        }
        if !asked.matches.is_empty() || asked.priority != 0 || asked.action.is_some() {
            return Err(Refusal::invalid("all tables are asked for, with a key"));
        }
        Ok(program.tables.iter().filter(|table| is_one(table)).cloned().collect())
    }

    async fn entries(&self, table: u32, wanted: &Wanted) -> Result<Vec<Entry>, Status> {
        let Reply::Entries(entries) = self.ask(Request::ReadEntries { table }).await? else {
            return Ok(Vec::new());
        };
        Ok(entries.into_iter().filter(|entry| wanted.is(entry)).collect())
    }

    async fn direct(&self, entries: &[Entry]) -> Result<Vec<Option<Count>>, Status> {
        let keys = entries.iter().map(|entry| entry.key.clone()).collect();
        let Reply::Counts(counts) = self.ask(Request::ReadDirect(keys)).await? else { return Ok(Vec::new()) };
        Ok(counts)
    }

    /// Sends a request to the model, as long as it runs the program with which the read began.
    async fn ask(&self, request: Request) -> Result<Reply, Status> {
        let another = || Status::aborted("another program was set");
        let outcome: oneshot::Receiver<Outcome> = {
            let mut device = self.host.device();
            let running = device.running().map_err(Status::from)?;
            if !Arc::ptr_eq(&running.schema, &self.schema) {
                return Err(another());
            }
            let outcome = running.submit(self.host.now(), request);
            self.host.pump(&mut device);
            outcome
        };
        let outcome = outcome.await.map_err(|_| another())?;
        outcome.map_err(|error| Status::internal(error.to_string()))
    }

    async fn give(&mut self, what: What) -> Result<(), Status> {
        self.chunk.push(what.into());
        if self.chunk.len() >= CHUNK { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> Result<(), Status> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::take(&mut self.chunk);
        self.host.device().totals.read += chunk.len() as u64;
        let is_wanted = self.sink.take(chunk).await;
        if is_wanted { Ok(()) } else { Err(Status::cancelled("the response has no reader")) }
    }
}

/// A wildcard read of a missing kind is empty; a read of one by id fails.
fn nothing(id: u32) -> Result<(), Refusal> {
    if id == 0 { Ok(()) } else { Err(Refusal::invalid(format!("the program has no such object: {id:#x}"))) }
}

/// The selected entries.
pub(super) struct Wanted {
    pub(super) fields: Option<EntryKey>,
    priority: i32,
    action: Option<u32>,
    /// The request has properties that no entry has.
    nothing: bool,
}

impl Wanted {
    /// The selection of a read.
    pub(super) fn of(schema: &Schema, asked: &TableEntry) -> Result<Self, Refusal> {
        let fields = if asked.matches.is_empty() { None } else { Some(schema.key_of(asked)?) };
        let action = asked.action.as_ref().and_then(|action| action.action.as_ref());
        let nothing = asked.controller_metadata != 0 || !asked.metadata.is_empty();
        let action = action.map(|action| action.action_id).filter(|action| *action != 0);
        Ok(Self { fields, priority: asked.priority, action, nothing })
    }

    pub(super) fn is(&self, entry: &Entry) -> bool {
        !self.nothing
            && self.fields.as_ref().is_none_or(|key| key.fields == entry.key.fields)
            && (self.priority == 0 || self.priority == entry.key.priority)
            && self.action.is_none_or(|action| action == entry.action)
    }
}
