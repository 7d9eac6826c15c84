//! Places tables into stages: in the order of their urgency, as early as their dependencies allow, spread over stages
//! if one stage is too small.

mod blocks;
mod part;

use crate::architecture::Architecture;
use crate::pack::{Demand, Layout, layouts};
use crate::pipeline::{Edge, Pipeline};
use crate::stage::{Shortage, StageUse};
use blocks::Block;
use part::Fitting;

/// A table, or a part of it, in a stage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Part {
    /// The table, by its index in the pipeline.
    pub table: usize,
    /// The stage, from 0.
    pub stage: usize,
    /// Entries of the table in this stage, at least.
    pub entries: u32,
    /// Their layout.
    pub layout: Layout,
    /// Their resources.
    pub demand: Demand,
}

/// The placement of all tables.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Placement {
    /// The parts of tables, by stage.
    pub parts: Vec<Part>,
    /// The use of each required stage; there may be more of them than the pipeline has.
    pub stages: Vec<StageUse>,
    /// Why tables, or their rests, were not placed into earlier stages.
    pub waits: Vec<Postponement>,
}

/// Why a table, or the rest of it, was not placed into a stage that its dependencies allowed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Postponement {
    /// The table.
    pub table: usize,
    /// The stage.
    pub stage: usize,
    /// Why.
    pub reason: Reason,
}

/// See [`Postponement`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reason {
    /// The stage lacked resources.
    Lacking(Shortage),
    /// Another table must be placed first: no other table may run between its parts, or within its block.
    OtherFirst(usize),
}

impl Placement {
    /// Whether the required stages exist.
    pub fn fits(&self, arch: &Architecture) -> bool {
        self.stages.len() <= arch.stages
    }
}

/// A table that fits into no stage, even an empty one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TooLarge {
    /// The table.
    pub table: usize,
    /// The missing resource.
    pub shortage: Shortage,
}

/// Places the tables of a pipeline. If necessary, more stages are used than the pipeline has.
///
/// # Errors
/// [`TooLarge`] when a table cannot be spread over stages and does not fit into one.
pub fn place(arch: &Architecture, pipeline: &Pipeline) -> Result<Placement, TooLarge> {
    Ok(Placer::new(arch, pipeline).run(MAX_STAGES)?.0)
}

/// Places the tables within the existing stages; stops as soon as they do not suffice.
pub fn place_within(arch: &Architecture, pipeline: &Pipeline) -> Option<Placement> {
    let (placement, complete) = Placer::new(arch, pipeline).run(arch.stages).ok()?;
    complete.then_some(placement)
}

/// The limit of stages: a program that needs more is not considered.
const MAX_STAGES: usize = 4096;

/// The placement progress of a table.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// Entries that are not placed.
    left: u32,
    /// The stage of the last part.
    last: Option<usize>,
    /// Whether all is placed.
    done: bool,
}

struct Placer<'a> {
    arch: &'a Architecture,
    pipeline: &'a Pipeline,
    layouts: Vec<Vec<Layout>>,
    before: Vec<Vec<Edge>>,
    blocks: Vec<Block>,
    ranks: Vec<usize>,
    progress: Vec<Progress>,
    placement: Placement,
}

impl<'a> Placer<'a> {
    fn new(arch: &'a Architecture, pipeline: &'a Pipeline) -> Self {
        let tables = pipeline.tables();
        let layouts: Vec<_> = tables.iter().map(|table| layouts(arch, table)).collect();
        let mut before = pipeline.before();
        Self {
            arch,
            pipeline,
            blocks: if arch.long_branches { Vec::new() } else { blocks::blocks(pipeline) },
            ranks: ranks(pipeline),
            layouts,
            before: (0..tables.len()).map(|table| before.remove(&table).unwrap_or_default()).collect(),
            progress: tables.iter().map(|t| Progress { left: t.entries, last: None, done: false }).collect(),
            placement: Placement { parts: Vec::new(), stages: Vec::new(), waits: Vec::new() },
        }
    }

    /// Fills up to `limit` stages. Returns whether all tables are placed.
    fn run(mut self, limit: usize) -> Result<(Placement, bool), TooLarge> {
        let mut order: Vec<usize> = (0..self.pipeline.tables().len()).collect();
        let pinned = |table: usize| self.pipeline.tables()[table].stage.is_none();
        order.sort_by_key(|table| (pinned(*table), std::cmp::Reverse(self.ranks[*table]), *table));
        for stage in 0..limit {
            if self.progress.iter().all(|progress| progress.done) {
                break;
            }
            self.placement.stages.push(StageUse::default());
            let before = self.placement.parts.len();
            // A placed table may allow others in the same stage, so the most urgent one is determined each time.
            while let Some(()) = order.iter().find_map(|table| self.step(*table, stage)) {}
            if self.placement.parts.len() == before
                && let Some(stuck) = self.unplaceable_table(stage)
            {
                return Err(stuck);
            }
        }
        let complete = self.progress.iter().all(|progress| progress.done);
        Ok((self.placement, complete))
    }

    /// Places as much of a table as possible in a stage; nothing if it is not allowed there.
    fn step(&mut self, table: usize, stage: usize) -> Option<()> {
        if self.progress[table].done || self.progress[table].last == Some(stage) || !self.ready(table, stage)
        {
            return None;
        }
        if let Some(other) = self.blocking_table(table) {
            self.wait(table, stage, Reason::OtherFirst(other));
            return None;
        }
        match self.fit(table, stage) {
            Fitting::All(part) => {
                self.placement.waits.retain(|wait| wait.table != table || wait.stage != stage);
                self.put(part);
                Some(())
            }
            Fitting::Some(part, shortage) => {
                self.wait(table, stage, Reason::Lacking(shortage));
                self.put(part);
                Some(())
            }
            Fitting::None(shortage) => {
                self.wait(table, stage, Reason::Lacking(shortage));
                None
            }
        }
    }

    /// Whether all tables on which it depends are placed early enough.
    fn ready(&self, table: usize, stage: usize) -> bool {
        let asked = self.pipeline.tables()[table].stage.is_none_or(|asked| asked <= stage);
        asked
            && self.before[table].iter().all(|edge| {
                let earlier = &self.progress[edge.from];
                earlier.done && earlier.last.is_none_or(|last| last + edge.kind.stages() <= stage)
            })
    }

    /// A table that must be placed before this one: it is spread over stages and incomplete, or it is the rest of a
    /// block that has begun.
    fn blocking_table(&self, table: usize) -> Option<usize> {
        if self.arch.long_branches {
            return None;
        }
        let tables = self.pipeline.tables();
        let open = |other: &usize| {
            let progress = &self.progress[*other];
            *other != table
                && progress.last.is_some()
                && !progress.done
                && !tables[*other].excludes(&tables[table])
        };
        (0..tables.len()).find(open).or_else(|| self.blocks.iter().find_map(|block| self.rest(block, table)))
    }

    /// A table for which this one must wait because of a block: the rest of one that has begun, if this one may not run
    /// within it; or a prerequisite of one that this table would begin.
    fn rest(&self, block: &Block, table: usize) -> Option<usize> {
        let open = |other: &usize| !self.progress[*other].done;
        let begun = block.members.iter().any(|member| self.progress[*member].last.is_some());
        if begun && block.holds_up(table, self.pipeline.tables()) {
            return block.members.iter().copied().find(open);
        }
        if !begun && block.members.contains(&table) {
            return block.needs.iter().copied().find(open);
        }
        None
    }

    fn put(&mut self, part: Part) {
        let progress = &mut self.progress[part.table];
        progress.left = progress.left.saturating_sub(part.entries);
        progress.last = Some(part.stage);
        progress.done = progress.left == 0;
        let stage = &mut self.placement.stages[part.stage];
        if let Ok(next) = stage.with(self.arch, &self.pipeline.tables()[part.table], &part.demand) {
            *stage = next;
        }
        self.placement.parts.push(part);
    }

    fn wait(&mut self, table: usize, stage: usize, reason: Reason) {
        let waits = &mut self.placement.waits;
        match waits.iter_mut().rev().find(|wait| wait.table == table && wait.stage == stage) {
            Some(wait) => wait.reason = reason,
            None => waits.push(Postponement { table, stage, reason }),
        }
    }

    /// The table that did not even fit into an empty stage.
    fn unplaceable_table(&self, stage: usize) -> Option<TooLarge> {
        let mut waits = self.placement.waits.iter().rev().filter(|wait| wait.stage == stage);
        waits.find_map(|wait| match wait.reason {
            Reason::Lacking(shortage) => Some(TooLarge { table: wait.table, shortage }),
            Reason::OtherFirst(_) => None,
        })
    }
}

/// The urgency of each table: the fewest stages that its dependent tables take, one after the other.
fn ranks(pipeline: &Pipeline) -> Vec<usize> {
    let mut ranks = vec![0; pipeline.tables().len()];
    // Dependencies go forward, so one pass from the end visits each table after all its dependents.
    for table in (0..ranks.len()).rev() {
        let behind = pipeline.edges().iter().filter(|edge| edge.from == table);
        ranks[table] = behind.map(|edge| ranks[edge.to] + edge.kind.stages()).max().unwrap_or(0);
    }
    ranks
}
