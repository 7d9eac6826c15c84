//! The resource use of the tables of one stage, and whether one more fits.

mod rows;

use std::fmt;

use serde::Serialize;

use crate::architecture::Architecture;
use crate::pack::Demand;
use crate::table::{Field, Match, Table};
use rows::TwoPort;

/// A limited resource of a stage.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// SRAM blocks.
    Sram,
    /// TCAM blocks.
    Tcam,
    /// Map RAMs.
    MapRam,
    /// Rows of blocks below the ALUs of counters.
    CounterRows,
    /// Rows of blocks below the ALUs of meters.
    MeterRows,
    /// ALUs of counters.
    StatsAlu,
    /// ALUs of meters.
    MeterAlu,
    /// Logical tables.
    LogicalTable,
    /// Ternary tables.
    TernaryTable,
    /// Tables with separate action data.
    ActionTable,
    /// Octets of exact keys.
    ExactCrossbar,
    /// Octets of ternary keys.
    TernaryCrossbar,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sram => "SRAM blocks",
            Self::Tcam => "TCAM blocks",
            Self::MapRam => "map RAMs",
            Self::CounterRows => "blocks in the rows below a statistics ALU",
            Self::MeterRows => "blocks in the rows below a meter ALU",
            Self::StatsAlu => "statistics ALUs",
            Self::MeterAlu => "meter ALUs",
            Self::LogicalTable => "logical tables",
            Self::TernaryTable => "ternary tables",
            Self::ActionTable => "tables of action data",
            Self::ExactCrossbar => "octets of the exact crossbar",
            Self::TernaryCrossbar => "octets of the ternary crossbar",
        })
    }
}

/// A resource that is exceeded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shortage {
    /// The resource.
    pub resource: Resource,
    /// The amount that would be used.
    pub needed: u32,
    /// The available amount.
    pub available: u32,
}

impl Shortage {
    /// No shortage.
    pub(crate) const NOTHING: Self = Self { resource: Resource::LogicalTable, needed: 0, available: 0 };
}

/// The use of one stage.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StageUse {
    /// SRAM blocks.
    pub srams: u32,
    /// TCAM blocks.
    pub tcams: u32,
    /// Map RAMs.
    pub map_rams: u32,
    two_port: Vec<TwoPort>,
    /// Logical tables.
    pub tables: u32,
    /// Ternary tables.
    pub ternary_tables: u32,
    /// Tables with separate action data.
    pub action_tables: u32,
    exact: Vec<Field>,
    ternary: Vec<Field>,
}

impl StageUse {
    /// Octets of keys of exact tables.
    pub fn exact_octets(&self) -> u32 {
        self.exact.iter().map(Field::octets).sum()
    }

    /// Octets of keys of ternary tables.
    pub fn ternary_octets(&self) -> u32 {
        self.ternary.iter().map(Field::octets).sum()
    }

    /// Counters, each with an ALU.
    pub fn counters(&self) -> u32 {
        self.two_port.iter().filter(|group| matches!(group, TwoPort::Counter(_))).count() as u32
    }

    /// Meters, each with an ALU.
    pub fn meters(&self) -> u32 {
        self.two_port.iter().filter(|group| matches!(group, TwoPort::Meter(..))).count() as u32
    }

    /// The use of each resource, with the available amount.
    pub fn levels(&self, arch: &Architecture) -> [(Resource, u32, u32); 10] {
        [
            (Resource::Sram, self.srams, arch.srams()),
            (Resource::Tcam, self.tcams, arch.tcams),
            (Resource::MapRam, self.map_rams, arch.map_rams()),
            (Resource::StatsAlu, self.counters(), arch.stats_alus),
            (Resource::MeterAlu, self.meters(), arch.meter_alus),
            (Resource::LogicalTable, self.tables, arch.logical_tables),
            (Resource::TernaryTable, self.ternary_tables, arch.ternary_tables),
            (Resource::ActionTable, self.action_tables, arch.action_tables),
            (Resource::ExactCrossbar, self.exact_octets(), arch.exact_crossbar),
            (Resource::TernaryCrossbar, self.ternary_octets(), arch.ternary_crossbar),
        ]
    }

    /// The use with an additional part of a table.
    ///
    /// # Errors
    /// The first [`Shortage`].
    pub fn with(&self, arch: &Architecture, table: &Table, demand: &Demand) -> Result<Self, Shortage> {
        let mut next = self.clone();
        next.add(table, demand);
        for (resource, needed, available) in next.levels(arch) {
            if needed > available {
                return Err(Shortage { resource, needed, available });
            }
        }
        if next.two_port.len() > self.two_port.len() && !rows::arrange(arch, next.two_port.clone()) {
            return Err(self.rows_short(arch, demand));
        }
        Ok(next)
    }

    /// The shortage of rows for a counter or a meter.
    fn rows_short(&self, arch: &Architecture, demand: &Demand) -> Shortage {
        let short = |resource, group: TwoPort, needed| Shortage {
            resource,
            needed,
            available: rows::largest(arch, &self.two_port, group),
        };
        match (demand.counter_srams, demand.meter_srams) {
            (needed, 0) => short(Resource::CounterRows, TwoPort::Counter(needed), needed),
            (_, needed) => short(Resource::MeterRows, TwoPort::Meter(needed, demand.color_maps), needed),
        }
    }

    fn add(&mut self, table: &Table, demand: &Demand) {
        self.srams += demand.srams();
        self.tcams += demand.tcams;
        self.map_rams += demand.map_rams();
        if demand.counter_srams > 0 {
            self.two_port.push(TwoPort::Counter(demand.counter_srams));
        }
        if demand.meter_srams > 0 {
            self.two_port.push(TwoPort::Meter(demand.meter_srams, demand.color_maps));
        }
        self.tables += 1;
        self.action_tables += u32::from(demand.action_srams > 0);
        let seen = match &table.matching {
            Match::Ternary(_) => {
                self.ternary_tables += 1;
                &mut self.ternary
            }
            Match::Exact(_) | Match::Index(_) | Match::Always => &mut self.exact,
        };
        for field in table.matching.fields() {
            if !seen.contains(field) {
                seen.push(field.clone());
            }
        }
    }
}
