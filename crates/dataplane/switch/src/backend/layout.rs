//! The tables, counters and meters of a program that sessions' rules need, found by name.

use causeway_p4::names::{action, counter, key, parameter, table};
use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::pattern::{Inexpressible, Pattern};
use super::segments::Tenant;
use crate::SwitchPdr;
use crate::armed::Arming;
use crate::classes;
use crate::driver::{Action, Entry, EntryKey, FieldMatch, Program, Table};
use crate::heavy_hitters;
use crate::indexed_counters::IndexedCounters;
use crate::meters::Meters;
use crate::tables::TABLES;

/// A program that the backend cannot fill.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnknownLayout {
    /// An object of every profile is missing.
    #[error("the program has no {0}: it is none of the UPF's")]
    Missing(&'static str),
}

/// Where a profile stores the properties of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Profile {
    /// In tables by the rule's number.
    Baseline,
    /// In the rule's entry; three tables of rules.
    Red,
    /// In the rule's entry; seven tables of rules.
    RedSpt,
    /// In templates by ranges of numbers; seven tables of rules.
    Hip4,
    /// In templates by number, or in the rule's entry; most rules are found by the number of their session.
    Direct,
}

impl Profile {
    /// Its name, as in `p4/`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Red => "red",
            Self::RedSpt => "red-spt",
            Self::Hip4 => "hip4",
            Self::Direct => "direct",
        }
    }

    /// Rules are in tables by direction and interface.
    pub(super) const fn is_split(self) -> bool {
        matches!(self, Self::RedSpt | Self::Hip4)
    }
}

/// Tables that the backend does not fill.
const UNFILLED: [&str; 4] =
    [table::QUEUE_ASSIGNMENT, table::TUNNEL_EXACT, table::NETWORK_EXACT, table::PUNT_PORTS];

/// The tables of templates, in the order of [`super::Template`]'s numbers.
pub(super) const TEMPLATES: [&str; 3] =
    [table::UL_TO_N6_TEMPLATE, table::UL_TO_N9_N3_TEMPLATE, table::DL_TEMPLATE];

/// The accounting tables by side and partition.
pub(super) const ACCOUNTING: [[&str; 2]; 2] =
    [[table::PRE_QOS_A, table::PRE_QOS_B], [table::POST_QOS_A, table::POST_QOS_B]];

/// A program with its tables by name.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) program: Program,
    pub(super) profile: Profile,
    tables: HashMap<&'static str, usize, RandomState>,
    names: HashMap<u32, &'static str, RandomState>,
    actions: HashMap<u32, usize, RandomState>,
    pub(super) drops: u32,
    pub(super) meters: Meters,
    /// Meters of sessions' simple rules, if they are separate.
    pub(super) session_meters: Option<Meters>,
    /// The counters of rules, if they are by index.
    pub(super) cells: Option<IndexedCounters>,
}

impl Layout {
    pub(super) fn new(program: &Program) -> Result<Self, UnknownLayout> {
        let mut tables: HashMap<&'static str, usize, RandomState> = HashMap::default();
        let mut names: HashMap<u32, &'static str, RandomState> = HashMap::default();
        let of_classes = if classes::are_in(program) { &classes::TABLES[..] } else { &[][..] };
        let of_heavy = if heavy_hitters::are_in(program) { &heavy_hitters::TABLES[..] } else { &[][..] };
        for name in TABLES.iter().chain(of_classes).chain(of_heavy).copied() {
            if let Some(place) = program.tables.iter().position(|table| table.name == name) {
                tables.insert(name, place);
                names.insert(program.tables[place].id, name);
            }
        }
        let has = |name: &str| tables.contains_key(name);
        let profile = match () {
            () if has(table::UL_SESSIONS_LOW) => Profile::Direct,
            () if has(table::UL_TO_N6_TEMPLATE) => Profile::Hip4,
            () if has(table::UL_TO_N6_SIMPLE) => Profile::RedSpt,
            () if has(table::FAR) => Profile::Baseline,
            () if has(table::UL_SIMPLE) => Profile::Red,
            () => return Err(UnknownLayout::Missing("table ul_to_n6_simple or ul_simple")),
        };
        let needed: &[&'static str] = match profile {
            Profile::Direct => &[table::UE_POOLS, table::DL_SESSIONS_LOW, table::DL_TEMPLATE],
            _ => &[table::PRE_QOS_A, table::POST_QOS_A],
        };
        let needed =
            needed.iter().chain(&[table::SOURCE_GUARD, table::TUNNEL_LPM, table::NETWORK_LPM, table::CLOSED]);
        if let Some(missing) = needed.copied().find(|name| !has(name)) {
            return Err(UnknownLayout::Missing(missing));
        }
        let cells = IndexedCounters::of(program);
        if profile == Profile::Direct && cells.is_none() {
            return Err(UnknownLayout::Missing("counter pre_qos_0"));
        }
        let drops = program.counters.iter().find(|counter| counter.name == counter::DROPS);
        let meters = Meters::of_rules(program).ok_or(UnknownLayout::Missing("meter rule_meters"))?;
        let actions = program.actions.iter().enumerate().map(|(place, action)| (action.id, place)).collect();
        Ok(Self {
            profile,
            tables,
            names,
            actions,
            drops: drops.ok_or(UnknownLayout::Missing("counter drops"))?.id,
            meters,
            session_meters: Meters::of_sessions(program),
            cells,
            program: program.clone(),
        })
    }

    /// The name of the program, as in `p4/`.
    pub(super) fn profile_name(&self) -> &'static str {
        if self.table(table::SOFTWARE_PORTS).is_some() { "hip4-hybrid" } else { self.profile.name() }
    }

    /// Meters of a session's simple rules, or of other rules.
    pub(super) fn meters(&self, are_simple: bool) -> Meters {
        self.session_meters.filter(|_| are_simple).unwrap_or(self.meters)
    }

    /// A table, if the profile has it.
    pub(super) fn table(&self, name: &str) -> Option<&Table> {
        self.program.tables.get(*self.tables.get(name)?)
    }

    /// The tables that only the backend fills.
    pub(super) fn filled(&self) -> impl Iterator<Item = &Table> {
        let is_ours = |table: &&Table| self.tables.contains_key(table.name.as_str()) && !table.is_const;
        self.program.tables.iter().filter(is_ours).filter(|table| !UNFILLED.contains(&table.name.as_str()))
    }

    /// The name of a table.
    pub(super) fn name(&self, table: u32) -> &'static str {
        self.names.get(&table).copied().unwrap_or("a table")
    }

    /// The action with that name, if entries of the table may have it.
    pub(super) fn action(&self, table: &Table, name: &str) -> Option<&Action> {
        let mut actions =
            table.actions.iter().filter_map(|id| self.program.actions.get(*self.actions.get(id)?));
        actions.find(|action| action.name == name)
    }

    /// The key of an entry in a table of rules.
    pub(super) fn row(
        &self,
        table: &str,
        pattern: &Pattern,
        priority: i32,
    ) -> Result<EntryKey, Inexpressible> {
        let found = self.table(table).ok_or(Inexpressible("the program has no table for such rules"))?;
        let priority = if found.has_priority() { priority } else { 0 };
        Ok(EntryKey { table: found.id, fields: pattern.fields(found)?, priority })
    }

    /// An entry whose action parameters are given by name; missing ones are zero. `None`: there is no such table or
    /// action.
    pub(super) fn entry(&self, key: EntryKey, action: &str, parameters: &[(&str, u128)]) -> Option<Entry> {
        let table = self.table(self.names.get(&key.table)?)?;
        let action = self.action(table, action)?;
        let value =
            |name: &str| parameters.iter().find(|(given, _)| *given == name).map_or(0, |given| given.1);
        let parameters = action.parameters.iter().map(|parameter| value(&parameter.name)).collect();
        Some(Entry { key, action: action.id, parameters })
    }

    /// An entry of a table whose keys are given in the order of the program.
    pub(super) fn plain(
        &self,
        table: &str,
        fields: Vec<FieldMatch>,
        action: &str,
        parameters: &[(&str, u128)],
    ) -> Option<Entry> {
        let found = self.table(table)?;
        let priority = i32::from(found.has_priority());
        self.entry(EntryKey { table: found.id, fields, priority }, action, parameters)
    }

    /// The keys of an entry of a table for packets of a tenant, where the program has tenants there.
    pub(super) fn of_tenant(&self, table: &str, tenant: Tenant, fields: Vec<FieldMatch>) -> Vec<FieldMatch> {
        let has_tenants =
            self.table(table).is_some_and(|table| table.keys.iter().any(|key| key.name == key::TENANT));
        has_tenants.then_some(FieldMatch::Exact(tenant.0.into())).into_iter().chain(fields).collect()
    }

    /// The entry with the meter of a rule, where neither its rule entries nor its FAR entry name the meter.
    pub(super) fn metered(&self, key: Vec<FieldMatch>, meter: u32) -> Option<Entry> {
        let (table, index) = self.meters.row(meter);
        let action = *self.table(table)?.actions.first()?;
        let key = EntryKey { table: self.table(table)?.id, fields: key, priority: 0 };
        Some(Entry { key, action, parameters: vec![index.into()] })
    }

    /// The key of a number in the table of armed rules; `None`: the program has none.
    pub(super) fn armed_key(&self, number: SwitchPdr) -> Option<EntryKey> {
        let table = self.table(table::ARMED_RULES)?.id;
        Some(EntryKey { table, fields: vec![FieldMatch::Exact(number.0.into())], priority: 0 })
    }

    /// The entry of a number in the table of armed rules.
    pub(super) fn armed_entry(&self, number: SwitchPdr, arming: Arming) -> Option<Entry> {
        let parameters =
            [(parameter::GENERATION, arming.generation.into()), (parameter::GAP, arming.units())];
        self.entry(self.armed_key(number)?, action::ARM, &parameters)
    }

    /// Entries of the accounting tables of a side.
    pub(super) fn accounting_capacity(&self, side: usize) -> u64 {
        let tables = ACCOUNTING.get(side).into_iter().flatten().filter_map(|name| self.table(name));
        tables.map(|table| table.size as u64).sum()
    }

    /// The key of a number's entry in the accounting table of a side and partition.
    pub(super) fn accounting_key(&self, side: usize, partition: usize, number: u32) -> Option<EntryKey> {
        let table = self.table(ACCOUNTING.get(side)?.get(partition)?)?;
        Some(EntryKey { table: table.id, fields: vec![FieldMatch::Exact(number.into())], priority: 0 })
    }

    /// The entry of a number in the accounting table of a side and partition.
    pub(super) fn accounting_entry(&self, side: usize, partition: usize, number: u32) -> Option<Entry> {
        let key = self.accounting_key(side, partition, number)?;
        let table = self.table(ACCOUNTING.get(side)?.get(partition)?)?;
        Some(Entry { key, action: *table.actions.first()?, parameters: Vec::new() })
    }
}
