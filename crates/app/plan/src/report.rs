//! A placement for output: by stage, with names and shares.

use serde::Serialize;

use crate::architecture::Architecture;
use crate::pipeline::Pipeline;
use crate::place::{Part, Placement, Reason};
use crate::stage::Resource;
use crate::table::Gress;

/// A placement by stage.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The pipeline's name.
    pub target: &'static str,
    /// Whether the stages suffice.
    pub fits: bool,
    /// Stages that the pipeline has.
    pub stages_available: usize,
    /// The stages that are needed, in order.
    pub stages: Vec<Stage>,
    /// Use of the memories of all existing stages.
    pub totals: Vec<Level>,
}

/// One stage.
#[derive(Clone, Debug, Serialize)]
pub struct Stage {
    /// Its number, from 0.
    pub number: usize,
    /// The use of each resource.
    pub levels: Vec<Level>,
    /// The tables in it.
    pub tables: Vec<Entry>,
    /// Tables that their dependencies allowed here, whole or with more entries, and why they were not placed.
    pub waiting: Vec<Waiting>,
}

/// The use of a resource.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Level {
    /// The resource.
    pub resource: Resource,
    /// The used amount.
    pub used: u32,
    /// The available amount.
    pub available: u32,
}

impl Level {
    /// Percentage of the resource that is used, rounded down.
    pub const fn percent(&self) -> u32 {
        match self.available {
            0 => 0,
            available => self.used * 100 / available,
        }
    }
}

/// A table, or a part of it, in a stage.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// The table.
    pub name: String,
    /// Whether it is in the egress half.
    pub egress: bool,
    /// Its entries in this stage.
    pub entries: u32,
    /// All its entries.
    pub of: u32,
    /// SRAM blocks of keys, action data and the words that TCAM matches read.
    pub srams: u32,
    /// SRAM blocks of counters and meters.
    pub two_port: u32,
    /// TCAM blocks.
    pub tcams: u32,
    /// Map RAMs.
    pub map_rams: u32,
}

/// Why a table was not placed into a stage.
#[derive(Clone, Debug, Serialize)]
pub struct Waiting {
    /// The table.
    pub name: String,
    /// The reason, as text.
    pub why: String,
    /// The missing resource, if that is the reason.
    pub resource: Option<Resource>,
}

impl Report {
    /// Makes a report of a placement.
    pub fn new(arch: &Architecture, pipeline: &Pipeline, placement: &Placement) -> Self {
        let stages: Vec<_> =
            (0..placement.stages.len()).map(|n| stage(arch, pipeline, placement, n)).collect();
        Self {
            target: arch.name,
            fits: placement.fits(arch),
            stages_available: arch.stages,
            totals: totals(arch, &stages),
            stages,
        }
    }
}

fn totals(arch: &Architecture, stages: &[Stage]) -> Vec<Level> {
    let of = arch.stages as u32;
    let memories =
        [(Resource::Sram, arch.srams()), (Resource::Tcam, arch.tcams), (Resource::MapRam, arch.map_rams())];
    let total = |(resource, available): (Resource, u32)| {
        let levels = stages.iter().flat_map(|stage| &stage.levels).filter(|level| level.resource == resource);
        Level { resource, used: levels.map(|level| level.used).sum(), available: available * of }
    };
    memories.map(total).to_vec()
}

fn stage(arch: &Architecture, pipeline: &Pipeline, placement: &Placement, number: usize) -> Stage {
    let used = placement.stages[number].levels(arch);
    let levels = used.map(|(resource, used, available)| Level { resource, used, available }).to_vec();
    let parts = placement.parts.iter().filter(|part| part.stage == number);
    let name = |table: usize| pipeline.tables()[table].name.clone();
    let waiting = placement.waits.iter().filter(|wait| wait.stage == number).map(|wait| match wait.reason {
        Reason::Lacking(short) => Waiting {
            name: name(wait.table),
            why: format!("{} {} needed, {} there", short.needed, short.resource, short.available),
            resource: Some(short.resource),
        },
        Reason::OtherFirst(other) => Waiting {
            name: name(wait.table),
            why: format!("{} has to be complete first", name(other)),
            resource: None,
        },
    });
    Stage {
        number,
        levels,
        tables: parts.map(|part| entry(pipeline, part)).collect(),
        waiting: waiting.collect(),
    }
}

fn entry(pipeline: &Pipeline, part: &Part) -> Entry {
    let table = &pipeline.tables()[part.table];
    let demand = &part.demand;
    let two_port = demand.counter_srams + demand.meter_srams;
    Entry {
        name: table.name.clone(),
        egress: table.gress == Gress::Egress,
        entries: part.entries,
        of: table.entries,
        srams: demand.srams() - two_port,
        two_port,
        tcams: demand.tcams,
        map_rams: demand.map_rams(),
    }
}
