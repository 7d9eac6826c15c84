//! The state of a switch: tables, counters, meters and registers, which batches change all or nothing.

use std::collections::HashMap;

use causeway_types::Time;
use foldhash::fast::RandomState;

use super::meter::{Colour, TrTcm};
use super::register::{Array, RegisterAction, RegisterError, Side};
use super::table::{Row, Table};
use crate::Count;
use crate::driver::{Entry, EntryKey, Program, Rates, RegisterValue, Rejected, Update, WriteError};

/// The state of the switch.
#[derive(Clone, Debug)]
pub struct State {
    program: Program,
    tables: HashMap<u32, Table, RandomState>,
    counters: HashMap<u32, Vec<Count>, RandomState>,
    meters: HashMap<u32, Vec<Option<TrTcm>>, RandomState>,
    registers: HashMap<u32, Array, RandomState>,
    /// The number of the packet's pass through a side, and the side.
    pass: (u64, Side),
    /// The first access of this pass that no switch can make.
    bad_access: Option<RegisterError>,
}

/// How to undo an update.
enum Undo {
    Delete(EntryKey),
    Modify(Entry),
    Restore(u32, Row),
    Meter(u32, u32, Option<TrTcm>),
    Register(u32, u32, RegisterValue),
}

impl State {
    /// Empty tables, counters and registers at zero, meters that pass all packets.
    pub fn new(program: Program) -> Self {
        let tables = program.tables.iter().map(|info| (info.id, Table::new(&program, info))).collect();
        let indexed = program.counters.iter().filter(|counter| counter.table.is_none());
        let counters = indexed.map(|counter| (counter.id, vec![Count::ZERO; counter.size])).collect();
        let meters = program.meters.iter().map(|meter| (meter.id, vec![None; meter.size])).collect();
        let registers =
            program.registers.iter().map(|register| (register.id, Array::new(register.clone()))).collect();
        let (pass, bad_access) = ((0, Side::Ingress), None);
        Self { program, tables, counters, meters, registers, pass, bad_access }
    }

    /// The program.
    pub const fn program(&self) -> &Program {
        &self.program
    }

    /// The action and parameters of the entry that a packet with these keys matches; the packet's octets are counted if
    /// the table's entries have counters. `None` if none matches, or there is no such table.
    pub fn apply_table(&mut self, table: u32, keys: &[u128], octets: u64) -> Option<&Entry> {
        self.apply_many(table, keys, Count { octets, packets: 1 })
    }

    /// As [`State::apply_table`], for any number of packets with the same keys.
    pub fn apply_many(&mut self, table: u32, keys: &[u128], packets: Count) -> Option<&Entry> {
        self.tables.get_mut(&table)?.look_up(keys, packets).map(|row| &row.entry)
    }

    /// Counts a packet. Without effect beyond the counter's size, as on a switch.
    pub fn count(&mut self, counter: u32, index: u32, octets: u64) {
        self.count_many(counter, index, Count { octets, packets: 1 });
    }

    /// As [`State::count`], for any number of packets. Returns whether there is such a counter.
    pub fn count_many(&mut self, counter: u32, index: u32, packets: Count) -> bool {
        let cells = self.counters.get_mut(&counter);
        let cell = cells.and_then(|cells| cells.get_mut(index as usize));
        cell.map(|cell| *cell += packets).is_some()
    }

    /// Marks a packet. Green where no rates are set.
    pub fn mark(&mut self, now: Time, meter: u32, index: u32, octets: u64) -> Colour {
        let cells = self.meters.get_mut(&meter);
        let meter = cells.and_then(|cells| cells.get_mut(index as usize)).and_then(Option::as_mut);
        meter.map_or(Colour::Green, |meter| meter.mark(now, octets))
    }

    /// Accesses a cell of a register: one step that no other packet comes between. Returns what the action outputs.
    ///
    /// # Errors
    /// The packet has accessed the register before on its way through this side, the register is accessed on the other
    /// side too, or it has no such cell. Nothing was written then. A [`Model`](super::Model) refuses the packet.
    pub fn access(
        &mut self,
        action: &RegisterAction,
        index: u32,
        inputs: [u32; 2],
    ) -> Result<u32, RegisterError> {
        let found = self.registers.get_mut(&action.register());
        let array = found.ok_or(RegisterError::Unknown(action.register()));
        let outcome = array.and_then(|array| array.access(self.pass, action, index, inputs));
        outcome.inspect_err(|error| _ = self.bad_access.get_or_insert_with(|| error.clone()))
    }

    /// A packet begins its way through a side.
    pub(crate) fn begin_pass(&mut self, side: Side) {
        self.pass = (self.pass.0 + 1, side);
        self.bad_access = None;
    }

    /// The first access of the pass that no switch can make.
    pub(super) const fn bad_access(&mut self) -> Option<RegisterError> {
        self.bad_access.take()
    }

    /// A cell of a register; `None` if it does not exist.
    pub fn register(&self, register: u32, index: u32) -> Option<RegisterValue> {
        self.registers.get(&register)?.get(index)
    }

    /// Makes all updates, in their order.
    ///
    /// # Errors
    /// The first update that cannot be made; none has been made then.
    pub fn write(&mut self, now: Time, updates: &[Update]) -> Result<(), Rejected> {
        let mut undo = Vec::with_capacity(updates.len());
        for (place, update) in updates.iter().enumerate() {
            match self.update(now, update) {
                Ok(step) => undo.push(step),
                Err(error) => {
                    undo.into_iter().rev().for_each(|step| self.undo(step));
                    return Err(Rejected { update: place, error });
                }
            }
        }
        Ok(())
    }

    /// The counter of an entry; `None` if it is not there.
    pub fn direct_count(&self, key: &EntryKey) -> Option<Count> {
        self.tables.get(&key.table)?.count(key)
    }

    /// A counter by index; `None` if it is not there.
    pub fn indexed_count(&self, counter: u32, index: u32) -> Option<Count> {
        self.counters.get(&counter)?.get(index as usize).copied()
    }

    /// The rates of a meter, `None` where it passes all packets; `None` as a whole if it does not exist.
    pub fn rates(&self, meter: u32, index: u32) -> Option<Option<Rates>> {
        let meter = self.meters.get(&meter)?.get(index as usize)?;
        Some(meter.as_ref().map(TrTcm::rates))
    }

    /// All entries of a table, in no order.
    pub fn entries(&self, table: u32) -> Option<impl Iterator<Item = &Entry>> {
        self.tables.get(&table).map(Table::entries)
    }

    /// Resets the state, as after a restart of the switch.
    pub fn clear(&mut self) {
        self.tables.values_mut().for_each(Table::clear);
        self.counters.values_mut().flatten().for_each(|count| *count = Count::ZERO);
        self.meters.values_mut().flatten().for_each(|meter| *meter = None);
        self.registers.values_mut().for_each(Array::clear);
    }

    fn update(&mut self, now: Time, update: &Update) -> Result<Undo, WriteError> {
        match update {
            Update::Insert(entry) => {
                let (program, table) = self.table(entry.key.table)?;
                table.insert(program, entry.clone())?;
                Ok(Undo::Delete(entry.key.clone()))
            }
            Update::Modify(entry) => {
                let (program, table) = self.table(entry.key.table)?;
                table.modify(program, entry.clone()).map(Undo::Modify)
            }
            Update::Delete(key) => {
                let (_, table) = self.table(key.table)?;
                table.delete(key).map(|row| Undo::Restore(key.table, row))
            }
            Update::SetMeter { meter, index, rates } => self.set_meter(now, *meter, *index, *rates),
            Update::SetRegister { register, index, value } => {
                let unknown = || WriteError::UnknownRegister { register: *register, index: *index };
                let array = self.registers.get_mut(register).ok_or_else(unknown)?;
                let before = array.set(*index, *value)?;
                Ok(Undo::Register(*register, *index, before))
            }
        }
    }

    fn set_meter(
        &mut self,
        now: Time,
        meter: u32,
        index: u32,
        rates: Option<Rates>,
    ) -> Result<Undo, WriteError> {
        let cells = self.meters.get_mut(&meter);
        let cell = cells.and_then(|cells| cells.get_mut(index as usize));
        let cell = cell.ok_or(WriteError::UnknownMeter { meter, index })?;
        if rates.is_some_and(|rates| rates.peak < rates.committed) {
            return Err(WriteError::MeterRates);
        }
        let before = std::mem::replace(cell, rates.map(|rates| TrTcm::new(rates, now)));
        Ok(Undo::Meter(meter, index, before))
    }

    fn undo(&mut self, step: Undo) {
        match step {
            Undo::Delete(key) => {
                if let Some(table) = self.tables.get_mut(&key.table) {
                    let _gone = table.delete(&key);
                }
            }
            Undo::Modify(entry) => {
                if let Ok((program, table)) = self.table(entry.key.table) {
                    let _after = table.modify(program, entry);
                }
            }
            Undo::Restore(table, row) => {
                if let Some(table) = self.tables.get_mut(&table) {
                    table.restore(row);
                }
            }
            Undo::Register(register, index, before) => {
                if let Some(array) = self.registers.get_mut(&register) {
                    let _after = array.set(index, before);
                }
            }
            Undo::Meter(meter, index, before) => {
                let cells = self.meters.get_mut(&meter);
                if let Some(cell) = cells.and_then(|cells| cells.get_mut(index as usize)) {
                    *cell = before;
                }
            }
        }
    }

    fn table(&mut self, id: u32) -> Result<(&Program, &mut Table), WriteError> {
        let table = self.tables.get_mut(&id).ok_or(WriteError::UnknownTable(id))?;
        Ok((&self.program, table))
    }
}
