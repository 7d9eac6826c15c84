//! Converts messages to entries and numbers. Input is untrusted on both sides.

use causeway_switch::Count;
use causeway_switch::driver::{
    Entry, EntryKey, FieldMatch, Key, MatchKind, Rates, Register, RegisterValue, Table, WriteError,
};
use tonic::Code;

use super::Refusal;
use crate::bytes::{canonical, number};
use crate::info::{Schema, ValueSet};
use crate::wire;

impl Schema {
    /// The table of a message.
    pub(crate) fn table_of(&self, id: u32) -> Result<&Table, Refusal> {
        self.program.table(id).ok_or_else(|| (&WriteError::UnknownTable(id)).into())
    }

    /// The key of an entry.
    pub(crate) fn key_of(&self, entry: &wire::TableEntry) -> Result<EntryKey, Refusal> {
        let table = self.table_of(entry.table_id)?;
        let ids = self.ids(table.id);
        let mut given: Vec<Option<FieldMatch>> = vec![None; ids.len()];
        for field in &entry.matches {
            let place = ids.iter().position(|id| *id == field.field_id);
            let known = place.and_then(|place| Some((table.keys.get(place)?, given.get_mut(place)?)));
            let (key, slot) = known.ok_or_else(|| {
                Refusal::invalid(format!("table {}: no key has id {}", table.name, field.field_id))
            })?;
            if slot.replace(match_of(key, field).map_err(|error| error.of(table, &key.name))?).is_some() {
                return Err(Refusal::invalid(format!(
                    "table {}: key {} is there twice",
                    table.name, key.name
                )));
            }
        }
        let fields = given.into_iter().zip(&table.keys).map(|(field, key)| match (field, key.kind) {
            (Some(field), _) => Ok(field),
            (None, MatchKind::Ternary) => Ok(FieldMatch::ANY),
            (None, MatchKind::Lpm) => Ok(FieldMatch::Lpm { value: 0, prefix: 0 }),
            (None, MatchKind::Exact) => {
                Err(Refusal::invalid(format!("table {}: key {} is missing", table.name, key.name)))
            }
        });
        Ok(EntryKey { table: table.id, fields: fields.collect::<Result<_, _>>()?, priority: entry.priority })
    }

    /// An entry with its action.
    pub(crate) fn entry_of(&self, entry: &wire::TableEntry) -> Result<Entry, Refusal> {
        let key = self.key_of(entry)?;
        let table = self.table_of(key.table)?;
        let action = entry.action.as_ref().and_then(|action| action.action.as_ref());
        let action =
            action.ok_or_else(|| Refusal::invalid(format!("table {}: no action is given", table.name)))?;
        let (action, parameters) = self.action_of(table, action)?;
        Ok(Entry { key, action, parameters })
    }

    /// The register of a message.
    pub(crate) fn register_of(&self, id: u32) -> Result<&Register, Refusal> {
        let known = self.program.registers.iter().find(|register| register.id == id);
        known.ok_or_else(|| Refusal::invalid(format!("there is no register {id:#x}")))
    }

    /// The contents of a register's cell.
    pub(crate) fn cell_of(&self, register: &Register, data: &wire::Data) -> Result<RegisterValue, Refusal> {
        let invalid = |what: &str| Refusal::invalid(format!("register {}: {what}", register.name));
        let word =
            |octets: &[u8], width: u8| number(octets, width).map_err(|error| invalid(&error.to_string()));
        match (&data.kind, self.structs.contains(&register.id)) {
            (Some(wire::DataKind::Bits(octets)), false) => {
                let width = register.first + register.second.unwrap_or(0);
                let value = word(octets, width)?;
                Ok(match register.second {
                    None => [value as u32, 0],
                    // The lower half is the first word.
                    Some(_) => [value as u32, (value >> register.first) as u32],
                })
            }
            (Some(wire::DataKind::Struct(data)), true) => {
                let widths = [Some(register.first), register.second];
                let widths: Vec<u8> = widths.into_iter().flatten().collect();
                if data.members.len() != widths.len() {
                    return Err(invalid(&format!("{} members of {}", data.members.len(), widths.len())));
                }
                let mut value = [0; 2];
                for ((cell, member), width) in value.iter_mut().zip(&data.members).zip(widths) {
                    let octets =
                        member.bits.as_deref().ok_or_else(|| invalid("a member that is no number"))?;
                    *cell = word(octets, width)? as u32;
                }
                Ok(value)
            }
            (None, _) => Err(invalid("no value is given, or one that is neither a number nor a struct")),
            (Some(_), true) => Err(invalid("its cells are structs")),
            (Some(_), false) => Err(invalid("its cells are numbers")),
        }
    }

    fn action_of(&self, table: &Table, action: &wire::Action) -> Result<(u32, Vec<u128>), Refusal> {
        let id = action.action_id;
        let unknown = || Refusal::from(&WriteError::UnknownAction { table: table.name.clone(), action: id });
        let known = self.program.action(id).filter(|_| table.actions.contains(&id)).ok_or_else(unknown)?;
        let ids = self.ids(id);
        let mut values = vec![None; ids.len()];
        for param in &action.params {
            let place = ids.iter().position(|id| *id == param.param_id);
            let found = place.and_then(|place| Some((known.parameters.get(place)?, values.get_mut(place)?)));
            let (parameter, slot) = found.ok_or_else(|| {
                Refusal::invalid(format!("action {}: no parameter has id {}", known.name, param.param_id))
            })?;
            let value = number(&param.value, parameter.width);
            let value = value.map_err(|error| Refusal::from(error).of(table, &parameter.name))?;
            if slot.replace(value).is_some() {
                let what = format!("action {}: parameter {} is there twice", known.name, parameter.name);
                return Err(Refusal::invalid(what));
            }
        }
        let missing = || Refusal::invalid(format!("action {}: a parameter is missing", known.name));
        Ok((id, values.into_iter().collect::<Option<_>>().ok_or_else(missing)?))
    }
}

impl ValueSet {
    /// The values of the set's members: each once, and within its size.
    pub(crate) fn members_of(&self, members: &[wire::ValueSetMember]) -> Result<Vec<u128>, Refusal> {
        let name = &self.name;
        if members.len() > self.size {
            let what = format!("value set {name} holds {} members", self.size);
            return Err(Refusal::new(Code::ResourceExhausted, what));
        }
        let mut values = Vec::with_capacity(members.len());
        let mut seen = std::collections::BTreeSet::new();
        for member in members {
            let [field] = member.matches.as_slice() else {
                return Err(Refusal::invalid(format!("value set {name}: a member without its one key")));
            };
            if field.field_id != self.key.0 {
                let what = format!("value set {name}: no key has id {}", field.field_id);
                return Err(Refusal::invalid(what));
            }
            let FieldMatch::Exact(value) = match_of(&self.key.1, field)? else {
                return Err(Refusal::invalid(format!("value set {name}: its key is exact")));
            };
            if !seen.insert(value) {
                return Err(Refusal::new(Code::AlreadyExists, format!("value set {name}: a member twice")));
            }
            values.push(value);
        }
        Ok(values)
    }

    /// The set with these members.
    pub(crate) fn to_wire(&self, values: &[u128]) -> wire::ValueSetEntry {
        let member = |value: &u128| wire::ValueSetMember {
            matches: vec![wire::FieldMatch {
                field_id: self.key.0,
                kind: Some(wire::Match::Exact(wire::Exact { value: canonical(*value) })),
            }],
        };
        wire::ValueSetEntry { value_set_id: self.id, members: values.iter().map(member).collect() }
    }
}

impl Refusal {
    /// The same, with the table and the key or parameter.
    fn of(self, table: &Table, name: &str) -> Self {
        Self { message: format!("table {}, {name}: {}", table.name, self.message), ..self }
    }
}

fn match_of(key: &Key, field: &wire::FieldMatch) -> Result<FieldMatch, Refusal> {
    let matched = match (key.kind, &field.kind) {
        (MatchKind::Exact, Some(wire::Match::Exact(exact))) => {
            FieldMatch::Exact(number(&exact.value, key.width)?)
        }
        (MatchKind::Ternary, Some(wire::Match::Ternary(ternary))) => {
            let value = number(&ternary.value, key.width)?;
            let mask = number(&ternary.mask, key.width)?;
            if mask == 0 {
                return Err(Refusal::invalid("a mask of zeros: omit the match for any value"));
            }
            FieldMatch::Ternary { value, mask }
        }
        (MatchKind::Lpm, Some(wire::Match::Lpm(lpm))) => {
            let value = number(&lpm.value, key.width)?;
            let prefix = u8::try_from(lpm.prefix_len).ok().filter(|prefix| (1..=key.width).contains(prefix));
            let prefix = prefix.ok_or_else(|| {
                Refusal::invalid(format!("a prefix of {} bits, of 1 to {}", lpm.prefix_len, key.width))
            })?;
            FieldMatch::Lpm { value, prefix }
        }
        (_, None) => return Err(Refusal::invalid("no value is given")),
        (kind, Some(_)) => return Err(Refusal::invalid(format!("it is matched as {kind:?}"))),
    };
    if !matched.fits(key.kind, key.width) {
        return Err(Refusal::invalid("bits are set outside the mask"));
    }
    Ok(matched)
}

/// Rates of a trTCM.
pub(crate) fn rates_of(config: &wire::MeterConfig) -> Result<Rates, Refusal> {
    let part = |name: &str, value: i64| {
        u64::try_from(value).map_err(|_| Refusal::invalid(format!("{name} is {value}")))
    };
    if config.eburst != 0 {
        return Err(Refusal::invalid("a meter of two rates has no excess burst"));
    }
    Ok(Rates {
        committed: part("cir", config.cir)?,
        committed_burst: part("cburst", config.cburst)?,
        peak: part("pir", config.pir)?,
        peak_burst: part("pburst", config.pburst)?,
    })
}

/// A count; a negative value counts as zero.
pub(crate) fn count_of(data: &wire::CounterData) -> Count {
    let part = |value: i64| u64::try_from(value).unwrap_or_default();
    Count { octets: part(data.byte_count), packets: part(data.packet_count) }
}

/// An index below the given size.
pub(crate) fn index_of(index: wire::Index, size: usize) -> Result<u32, Refusal> {
    let wanted = index.index;
    if wanted < 0 {
        return Err(Refusal::invalid(format!("index {wanted}")));
    }
    let known = u32::try_from(wanted).ok().filter(|index| (*index as usize) < size);
    known.ok_or_else(|| Refusal::new(Code::OutOfRange, format!("index {wanted} of {size}")))
}
