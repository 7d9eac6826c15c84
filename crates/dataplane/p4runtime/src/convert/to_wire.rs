//! Converts entries and updates to messages.

use causeway_switch::Count;
use causeway_switch::driver::{
    Entry, EntryKey, FieldMatch, Rates, Register, RegisterValue, Update, WriteError,
};

use crate::bytes::canonical;
use crate::info::Schema;
use crate::wire;

impl Schema {
    /// The key of an entry that fits the program. Matches of any value are omitted.
    pub(crate) fn wire_key(&self, key: &EntryKey) -> wire::TableEntry {
        let fields = self.ids(key.table).iter().zip(&key.fields);
        let matches = fields.filter_map(|(id, field)| {
            Some(wire::FieldMatch { field_id: *id, kind: Some(wire_match(*field)?) })
        });
        wire::TableEntry {
            table_id: key.table,
            matches: matches.collect(),
            priority: key.priority,
            ..wire::TableEntry::default()
        }
    }

    /// An entry that fits the program.
    pub(crate) fn wire_entry(&self, entry: &Entry) -> wire::TableEntry {
        let params = self.ids(entry.action).iter().zip(&entry.parameters);
        let params =
            params.map(|(id, value)| wire::Param { param_id: *id, value: canonical(*value) }).collect();
        let action = wire::Action { action_id: entry.action, params };
        wire::TableEntry {
            action: Some(wire::TableAction { action: Some(action) }),
            ..self.wire_key(&entry.key)
        }
    }

    /// Checks that an update fits the program.
    ///
    /// # Errors
    /// It does not: a switch would refuse it too.
    pub(crate) fn check_update(&self, update: &Update) -> Result<(), WriteError> {
        match update {
            Update::Insert(entry) | Update::Modify(entry) => self.program.check_entry(entry),
            Update::Delete(key) => {
                let table = self.program.table(key.table).ok_or(WriteError::UnknownTable(key.table))?;
                table.check_key(key)
            }
            Update::SetMeter { meter, index, rates } => {
                let known = self.program.meters.iter().find(|known| known.id == *meter);
                if known.is_none_or(|known| *index as usize >= known.size) {
                    return Err(WriteError::UnknownMeter { meter: *meter, index: *index });
                }
                if rates.is_some_and(|rates| rates.peak < rates.committed) {
                    return Err(WriteError::MeterRates);
                }
                Ok(())
            }
            Update::SetRegister { register, index, value } => {
                let known = self.program.registers.iter().find(|known| known.id == *register);
                let known = known.filter(|known| (*index as usize) < known.size);
                let unknown = || WriteError::UnknownRegister { register: *register, index: *index };
                let known = known.ok_or_else(unknown)?;
                if !known.holds(*value) {
                    return Err(WriteError::RegisterValue { register: known.name.clone(), value: *value });
                }
                Ok(())
            }
        }
    }

    /// An update that fits the program.
    pub(crate) fn wire_update(&self, update: &Update) -> wire::Update {
        let (kind, what) = match update {
            Update::Insert(entry) => (wire::UpdateKind::Insert, wire::What::Table(self.wire_entry(entry))),
            Update::Modify(entry) => (wire::UpdateKind::Modify, wire::What::Table(self.wire_entry(entry))),
            Update::Delete(key) => (wire::UpdateKind::Delete, wire::What::Table(self.wire_key(key))),
            Update::SetMeter { meter, index, rates } => {
                (wire::UpdateKind::Modify, wire::What::Meter(wire_meter(*meter, *index, *rates)))
            }
            Update::SetRegister { register, index, value } => {
                let known = self.program.registers.iter().find(|known| known.id == *register);
                let data = known.map(|known| self.wire_data(known, *value));
                let index = Some(wire::Index { index: (*index).into() });
                let entry = wire::RegisterEntry { register_id: *register, index, data };
                (wire::UpdateKind::Modify, wire::What::Register(entry))
            }
        };
        wire::Update { kind: kind as i32, entity: Some(what.into()) }
    }
}

impl Schema {
    /// The contents of a register's cell.
    pub(crate) fn wire_data(&self, register: &Register, [first, second]: RegisterValue) -> wire::Data {
        let kind = if self.structs.contains(&register.id) {
            let words = [Some(first), register.second.map(|_| second)];
            let member = |word: u32| wire::MemberData { bits: Some(canonical(word.into())) };
            let members = words.into_iter().flatten().map(member).collect();
            wire::DataKind::Struct(wire::StructData { members })
        } else {
            let value = u128::from(second) << register.first | u128::from(first);
            wire::DataKind::Bits(canonical(value))
        };
        wire::Data { kind: Some(kind) }
    }
}

fn wire_meter(meter: u32, index: u32, rates: Option<Rates>) -> wire::MeterEntry {
    wire::MeterEntry {
        meter_id: meter,
        index: Some(wire::Index { index: index.into() }),
        config: rates.map(wire_rates),
        counter_data: None,
    }
}

/// `None` for a match of any value.
fn wire_match(field: FieldMatch) -> Option<wire::Match> {
    Some(match field {
        FieldMatch::Exact(value) => wire::Match::Exact(wire::Exact { value: canonical(value) }),
        FieldMatch::Ternary { mask: 0, .. } | FieldMatch::Lpm { prefix: 0, .. } => return None,
        FieldMatch::Ternary { value, mask } => {
            wire::Match::Ternary(wire::Ternary { value: canonical(value), mask: canonical(mask) })
        }
        FieldMatch::Lpm { value, prefix } => {
            wire::Match::Lpm(wire::Lpm { value: canonical(value), prefix_len: prefix.into() })
        }
    })
}

/// Rates. Values beyond the numbers of P4Runtime are capped, which has no effect in practice.
pub(crate) fn wire_rates(rates: Rates) -> wire::MeterConfig {
    let cut = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    wire::MeterConfig {
        cir: cut(rates.committed),
        cburst: cut(rates.committed_burst),
        pir: cut(rates.peak),
        pburst: cut(rates.peak_burst),
        eburst: 0,
    }
}

/// A count.
pub(crate) fn wire_count(count: Count) -> wire::CounterData {
    let cut = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    wire::CounterData { byte_count: cut(count.octets), packet_count: cut(count.packets) }
}
