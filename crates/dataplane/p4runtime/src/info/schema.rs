//! The schema for entries: the program, and the ids of keys, parameters and value sets on the wire.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

use causeway_p4::p4info::words_of;
use causeway_switch::driver::{Action, Counter, Key, MatchKind, Meter, Parameter, Program, Register, Table};
use foldhash::fast::RandomState;
use prost::Message;

use super::{Inconsistency, InfoError, UnsupportedFeature};
use crate::wire::{ActionScope, MatchType, P4Info, Preamble, RegisterInfo, TableInfo, TypeInfo, TypeSpec};

/// The most bits of all keys of a table.
const MOST_KEY_BITS: u32 = 384;

/// The most entries of a table, and the most counters, meters and cells of registers of a program.
const MOST: usize = 1 << 23;

/// A program with its ids on the wire.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Schema {
    pub(crate) program: Program,
    /// For each table or action, the ids of its keys or parameters in their order.
    ids: HashMap<u32, Vec<u32>, RandomState>,
    pub(crate) value_sets: Vec<ValueSet>,
    /// Ids of the registers whose cells are structs; those of the others are numbers.
    pub(crate) structs: Vec<u32>,
}

/// A value set of a parser.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ValueSet {
    pub(crate) id: u32,
    pub(crate) name: String,
    /// What it holds, if that is known.
    pub(crate) addresses: Option<Addresses>,
    pub(crate) size: usize,
    /// Its only key, and that key's id.
    pub(crate) key: (u32, Key),
}

/// The UPF's addresses that a value set holds, or words of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Addresses {
    /// IPv4 addresses at which GTP-U arrives.
    Gtpu,
    /// IPv4 addresses at which VXLAN arrives.
    Underlay,
    /// The first and the second 32 bits of IPv6 addresses at which VXLAN arrives.
    UnderlayHigh,
    UnderlayLow,
}

impl Addresses {
    fn named(name: &str) -> Option<Self> {
        match name {
            "local_ipv4" => Some(Self::Gtpu),
            "local_underlay" => Some(Self::Underlay),
            "local_underlay_high" => Some(Self::UnderlayHigh),
            "local_underlay_low" => Some(Self::UnderlayLow),
            _ => None,
        }
    }

    /// The members of the set, each once.
    pub(crate) fn values(self, gtpu: &[Ipv4Addr], underlay: &[IpAddr]) -> Vec<u128> {
        let word = |address: &IpAddr| match (self, address) {
            (Self::Underlay, IpAddr::V4(address)) => Some(u32::from(*address)),
            (Self::UnderlayHigh, IpAddr::V6(address)) => Some((address.to_bits() >> 96) as u32),
            (Self::UnderlayLow, IpAddr::V6(address)) => Some((address.to_bits() >> 64) as u32),
            _ => None,
        };
        let mut values: Vec<u128> = match self {
            Self::Gtpu => gtpu.iter().map(|address| u32::from(*address).into()).collect(),
            _ => underlay.iter().filter_map(word).map(u128::from).collect(),
        };
        values.sort_unstable();
        values.dedup();
        values
    }
}

impl Schema {
    /// The schema of an encoded P4Info.
    ///
    /// # Errors
    /// It is invalid, or has a feature that Causeway's programs do not have.
    pub(crate) fn of_encoded(encoded: &[u8]) -> Result<Self, InfoError> {
        let info = P4Info::decode(encoded).map_err(InfoError::Encoding)?;
        if !info.packet_metadata.is_empty() {
            return Err(UnsupportedFeature::ControllerHeaders.into());
        }
        let mut schema = Self {
            program: Program::default(),
            ids: HashMap::default(),
            value_sets: Vec::new(),
            structs: Vec::new(),
        };
        info.tables.iter().try_for_each(|table| schema.add_table(table))?;
        for action in &info.actions {
            let (id, name) = preamble(action.preamble.as_ref())?;
            let params = action.params.iter().map(|param| {
                Ok(Parameter { name: param.name.clone(), width: width(&name, param.bitwidth)? })
            });
            let parameters = params.collect::<Result<_, InfoError>>()?;
            schema.add_ids(&name, id, action.params.iter().map(|param| param.id).collect())?;
            schema.program.actions.push(Action { id, name, parameters });
        }
        for counter in &info.counters {
            let (id, name) = preamble(counter.preamble.as_ref())?;
            let size = size(&name, counter.size)?;
            schema.program.counters.push(Counter { id, name, size, table: None });
        }
        for counter in &info.direct_counters {
            let (id, name) = preamble(counter.preamble.as_ref())?;
            let table = Some(counter.direct_table_id);
            schema.program.counters.push(Counter { id, name, size: 0, table });
        }
        for meter in &info.meters {
            let (id, name) = preamble(meter.preamble.as_ref())?;
            schema.program.meters.push(Meter { id, size: size(&name, meter.size)?, name });
        }
        let types = info.types.unwrap_or_default();
        info.registers.iter().try_for_each(|register| schema.add_register(register, &types))?;
        for set in &info.value_sets {
            let (id, name) = preamble(set.preamble.as_ref())?;
            let [field] = set.match_fields.as_slice() else {
                return Err(UnsupportedFeature::ValueSetKeys(name).into());
            };
            let key = Key {
                name: field.name.clone(),
                width: width(&name, field.bitwidth)?,
                kind: MatchKind::Exact,
            };
            schema.value_sets.push(ValueSet {
                id,
                size: size(&name, set.size.into())?,
                addresses: Addresses::named(&name),
                name,
                key: (field.id, key),
            });
        }
        schema.check()?;
        Ok(schema)
    }

    /// The ids of a table's keys, in their order.
    pub(crate) fn ids(&self, table_or_action: u32) -> &[u32] {
        self.ids.get(&table_or_action).map_or(&[], Vec::as_slice)
    }

    fn add_table(&mut self, table: &TableInfo) -> Result<(), InfoError> {
        let (id, name) = preamble(table.preamble.as_ref())?;
        if table.implementation_id != 0 {
            return Err(UnsupportedFeature::ActionProfile(name).into());
        }
        let mut keys = Vec::new();
        for field in &table.match_fields {
            let kind = match MatchType::try_from(field.match_type) {
                Ok(MatchType::Exact) => MatchKind::Exact,
                Ok(MatchType::Lpm) => MatchKind::Lpm,
                Ok(MatchType::Ternary) => MatchKind::Ternary,
                _ => {
                    return Err(UnsupportedFeature::MatchKind { table: name, key: field.name.clone() }.into());
                }
            };
            keys.push(Key { name: field.name.clone(), width: width(&name, field.bitwidth)?, kind });
        }
        let prefixes = keys.iter().filter(|key| key.kind == MatchKind::Lpm).count();
        let is_ternary = keys.iter().any(|key| key.kind == MatchKind::Ternary);
        if keys.iter().map(|key| u32::from(key.width)).sum::<u32>() > MOST_KEY_BITS {
            return Err(UnsupportedFeature::KeyBits { table: name, most: MOST_KEY_BITS }.into());
        }
        if prefixes > 1 || prefixes == 1 && is_ternary {
            return Err(UnsupportedFeature::PrefixBesideMasks(name).into());
        }
        let for_entries = table
            .action_refs
            .iter()
            .filter(|action| ActionScope::try_from(action.scope) != Ok(ActionScope::DefaultOnly));
        let actions = for_entries.map(|action| action.id).collect();
        self.add_ids(&name, id, table.match_fields.iter().map(|field| field.id).collect())?;
        let size = size(&name, table.size)?;
        self.program.tables.push(Table { id, name, size, keys, actions, is_const: table.is_const_table });
        Ok(())
    }

    fn add_register(&mut self, register: &RegisterInfo, types: &TypeInfo) -> Result<(), InfoError> {
        let (id, name) = preamble(register.preamble.as_ref())?;
        let spec = register.type_spec.as_ref();
        let structure = spec.and_then(|spec| spec.structure.as_ref());
        let bits = |spec: Option<&TypeSpec>| u64::try_from(bits(spec)).unwrap_or(0);
        let widths: Vec<u64> = match structure {
            None => {
                let annotations = register.preamble.iter().flat_map(|preamble| &preamble.annotations);
                words_of(bits(spec), annotations.map(String::as_str))
            }
            Some(structure) => {
                let found = types.structs.iter().find(|known| known.name == structure.name);
                let members = found.and_then(|found| found.members.as_ref());
                members.iter().flat_map(|it| &it.members).map(|it| bits(it.type_spec.as_ref())).collect()
            }
        };
        let word = |width: &u64| u8::try_from(*width).ok().filter(|width| (1..=32).contains(width));
        let words = widths.iter().map(word).collect::<Option<Vec<u8>>>();
        let (first, second) = match words.as_deref() {
            Some([first]) => (*first, None),
            Some([first, second]) => (*first, Some(*second)),
            _ => return Err(UnsupportedFeature::RegisterCells(name).into()),
        };
        if structure.is_some() {
            self.structs.push(id);
        }
        let size = size(&name, register.size.into())?;
        self.program.registers.push(Register { id, name, size, first, second });
        Ok(())
    }

    fn add_ids(&mut self, name: &str, id: u32, ids: Vec<u32>) -> Result<(), InfoError> {
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() != ids.len() || self.ids.insert(id, ids).is_some() {
            return Err(Inconsistency::SameId(name.to_owned()).into());
        }
        Ok(())
    }

    /// Checks that referenced actions and tables exist, and that counters, meters and registers have ids of their own.
    fn check(&self) -> Result<(), InfoError> {
        let program = &self.program;
        for table in &program.tables {
            if let Some(id) = table.actions.iter().find(|id| program.action(**id).is_none()) {
                return Err(Inconsistency::NoAction { table: table.name.clone(), action: *id }.into());
            }
        }
        let counted = program.counters.iter().filter_map(|counter| Some((&counter.name, counter.table?)));
        for (name, table) in counted {
            if program.table(table).is_none() {
                return Err(Inconsistency::NoTable { counter: name.clone(), table }.into());
            }
        }
        let sizes = program.counters.iter().map(|counter| counter.size);
        let sizes = sizes.chain(program.meters.iter().map(|meter| meter.size));
        let together: usize = sizes.chain(program.registers.iter().map(|register| register.size)).sum();
        if together > MOST {
            return Err(UnsupportedFeature::TooManyCounters { count: together, most: MOST }.into());
        }
        let counters = program.counters.iter().map(|counter| counter.id);
        let others = counters.chain(program.meters.iter().map(|meter| meter.id));
        let others = others.chain(program.registers.iter().map(|register| register.id));
        let mut others: Vec<u32> = others.chain(self.value_sets.iter().map(|set| set.id)).collect();
        others.sort_unstable();
        if others.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err(Inconsistency::SharedId.into());
        }
        Ok(())
    }
}

fn preamble(preamble: Option<&Preamble>) -> Result<(u32, String), InfoError> {
    match preamble {
        Some(preamble) if preamble.id != 0 => {
            let name = if preamble.alias.is_empty() { &preamble.name } else { &preamble.alias };
            Ok((preamble.id, name.clone()))
        }
        _ => Err(Inconsistency::NoId.into()),
    }
}

/// The width of a number; zero for any other type.
fn bits(spec: Option<&TypeSpec>) -> i32 {
    spec.and_then(|spec| spec.bits?.unsigned).map_or(0, |width| width.bitwidth)
}

fn width(of: &str, bits: i32) -> Result<u8, InfoError> {
    let width = u8::try_from(bits).ok().filter(|width| (1..=128).contains(width));
    width.ok_or_else(|| UnsupportedFeature::Width { of: of.to_owned(), bits }.into())
}

fn size(of: &str, size: i64) -> Result<usize, InfoError> {
    let size = usize::try_from(size).ok().filter(|size| *size <= MOST);
    size.ok_or_else(|| Inconsistency::Size(of.to_owned()).into())
}
