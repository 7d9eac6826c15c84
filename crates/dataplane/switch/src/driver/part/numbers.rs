//! Numbers of rules, meters and armings: as a part has them, and as the switch has them.

use std::collections::HashSet;

use causeway_p4::names::{key, parameter};
use foldhash::fast::RandomState;

use crate::driver::{Entry, EntryKey, FieldMatch, Program, Update, ones};

/// Bits of a rule's number on the switch.
const BITS: u8 = 24;

/// A part of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    number: u8,
    of: u8,
}

impl Part {
    /// A part of a switch with 1 to 64. A number beyond stands for the last one.
    pub(super) fn new(number: usize, of: usize) -> Self {
        let of = u8::try_from(of.clamp(1, super::MOST)).unwrap_or(1);
        Self { number: u8::try_from(number).unwrap_or(u8::MAX).min(of - 1), of }
    }

    /// From zero.
    pub(super) const fn number(self) -> usize {
        self.number as usize
    }

    /// The bits that hold the number of a part.
    const fn bits(self) -> u8 {
        (u8::BITS - self.of.saturating_sub(1).leading_zeros()) as u8
    }

    /// The bits of a rule's number in a part.
    pub(super) const fn number_bits(self) -> u8 {
        BITS - self.bits()
    }

    /// The first bits of its rules' numbers on the switch, and the mask of such bits.
    fn prefix(self) -> (u128, u128) {
        let low = self.number_bits();
        (u128::from(self.number) << low, ones(self.bits()) << low)
    }

    /// A rule's number, or a value of which some bits are compared, on the switch.
    fn rule_on_switch(self, number: u128) -> u128 {
        number | self.prefix().0
    }

    /// The number of a meter or arming on the switch, of so many bits: those of the parts alternate. Zero stands for none.
    fn index_on_switch(self, index: u128, width: u8) -> u128 {
        if index == 0 { 0 } else { (index << self.bits() | u128::from(self.number)) & ones(width) }
    }

    /// Its inverse. The number of another part becomes one that no part has.
    fn index_of_part(self, index: u128, width: u8) -> u128 {
        match index {
            0 => 0,
            _ if index & ones(self.bits()) == u128::from(self.number) => index >> self.bits(),
            _ => index | 1 << width,
        }
    }
}

/// Where a program has numbers that differ between the parts.
#[derive(Debug)]
pub(super) struct Numbers {
    program: Program,
    /// The tables whose rows have rules' numbers.
    of_rules: HashSet<u32, RandomState>,
}

/// What a parameter is.
enum Kind {
    Rule,
    Index,
}

fn kind_of(name: &str) -> Option<Kind> {
    match name {
        parameter::RULE => Some(Kind::Rule),
        parameter::METER_INDEX | parameter::GENERATION => Some(Kind::Index),
        _ => None,
    }
}

impl Numbers {
    pub(super) fn new(program: &Program) -> Self {
        let of_rules = program.tables.iter().filter(|table| program.has_rules(table));
        let of_rules = of_rules.map(|table| table.id).collect();
        Self { program: program.clone(), of_rules }
    }

    /// The program as a part has it.
    pub(super) fn program_of(&self, part: Part) -> Program {
        let mut program = self.program.clone();
        let of = usize::from(part.of);
        let of_rules = program.tables.iter_mut().filter(|table| self.has_rules(table.id));
        of_rules.for_each(|table| table.size /= of);
        program.meters.iter_mut().for_each(|meter| meter.size >>= part.bits());
        program
    }

    /// Whether rows of the table have rules' numbers: each is a row of one part.
    pub(super) fn has_rules(&self, table: u32) -> bool {
        self.of_rules.contains(&table)
    }

    /// Whether an update concerns a rule of one part.
    pub(super) fn are_rules(&self, update: &Update) -> bool {
        match update {
            Update::Insert(Entry { key, .. }) | Update::Modify(Entry { key, .. }) | Update::Delete(key) => {
                self.has_rules(key.table)
            }
            Update::SetMeter { .. } | Update::SetRegister { .. } => true,
        }
    }

    pub(super) fn update_on_switch(&self, part: Part, update: Update) -> Update {
        match update {
            Update::Insert(entry) => Update::Insert(self.entry_on_switch(part, entry)),
            Update::Modify(entry) => Update::Modify(self.entry_on_switch(part, entry)),
            Update::Delete(key) => Update::Delete(self.key_on_switch(part, key)),
            Update::SetMeter { meter, index, rates } => {
                let index = part.index_on_switch(index.into(), 32) as u32;
                Update::SetMeter { meter, index, rates }
            }
            other @ Update::SetRegister { .. } => other,
        }
    }

    fn entry_on_switch(&self, part: Part, mut entry: Entry) -> Entry {
        self.with_parameters(&mut entry, |kind, value, width| match kind {
            Kind::Rule => part.rule_on_switch(value),
            Kind::Index => part.index_on_switch(value, width),
        });
        Entry { key: self.key_on_switch(part, entry.key), ..entry }
    }

    pub(super) fn key_on_switch(&self, part: Part, mut key: EntryKey) -> EntryKey {
        let (prefix, mask) = part.prefix();
        if let Some(field) = self.rule_field(&mut key) {
            *field = match *field {
                FieldMatch::Exact(value) => FieldMatch::Exact(value | prefix),
                FieldMatch::Ternary { value, mask: bits } if bits & mask == mask => {
                    FieldMatch::Ternary { value: value | prefix, mask: bits }
                }
                // What part 0 has read of no part.
                other => other,
            };
        }
        key
    }

    /// A row of the switch as a part has it; `None`: it is another's. Part 0 has those of no part.
    pub(super) fn entry_of_part(&self, part: Part, mut entry: Entry) -> Option<Entry> {
        let (prefix, mask) = part.prefix();
        let owner = self.owner_of(part, &mut entry);
        if owner != Some(part.number()) {
            return (owner.is_none() && part.number == 0).then_some(entry);
        }
        if let Some(field) = self.rule_field(&mut entry.key) {
            *field = match *field {
                FieldMatch::Exact(value) => FieldMatch::Exact(value & !mask),
                FieldMatch::Ternary { value, mask: bits } => {
                    FieldMatch::Ternary { value: value & !mask, mask: bits }
                }
                other @ FieldMatch::Lpm { .. } => other,
            };
        }
        self.with_parameters(&mut entry, |kind, value, width| match kind {
            Kind::Rule => value ^ prefix,
            Kind::Index => part.index_of_part(value, width),
        });
        Some(entry)
    }

    /// The part whose number is in the row's rule; `None`: there is none.
    fn owner_of(&self, part: Part, entry: &mut Entry) -> Option<usize> {
        let (_, mask) = part.prefix();
        let mut number = None;
        self.with_parameters(entry, |kind, value, _| {
            if let Kind::Rule = kind {
                number = Some(value);
            }
            value
        });
        let number = match self.rule_field(&mut entry.key) {
            Some(FieldMatch::Exact(value)) => Some(*value),
            Some(FieldMatch::Ternary { value, mask: bits }) => (*bits & mask == mask).then_some(*value),
            Some(FieldMatch::Lpm { .. }) => None,
            None => number,
        };
        let owner = usize::try_from((number? & mask) >> part.number_bits()).ok()?;
        (owner < usize::from(part.of)).then_some(owner)
    }

    /// The field of a key that has a rule's number.
    fn rule_field<'a>(&self, entry: &'a mut EntryKey) -> Option<&'a mut FieldMatch> {
        let keys = &self.program.table(entry.table)?.keys;
        let place = keys.iter().position(|it| it.name == key::RULE)?;
        entry.fields.get_mut(place)
    }

    /// Replaces the parameters of an entry that differ between the parts.
    fn with_parameters(&self, entry: &mut Entry, mut replace: impl FnMut(Kind, u128, u8) -> u128) {
        let Some(action) = self.program.action(entry.action) else { return };
        for (known, value) in action.parameters.iter().zip(&mut entry.parameters) {
            if let Some(kind) = kind_of(&known.name) {
                *value = replace(kind, *value, known.width);
            }
        }
    }
}
