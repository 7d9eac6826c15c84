//! The largest part of a table that fits into a stage.

use super::{Part, Placer};
use crate::pack::Layout;
use crate::stage::Shortage;

/// The part of a table for a stage.
pub(super) enum Fitting {
    /// All that is left of it.
    All(Part),
    /// A part, and what the stage lacks for more.
    Some(Part, Shortage),
    /// Nothing, as the stage lacks a resource even for the smallest part.
    None(Shortage),
}

impl Placer<'_> {
    /// The whole rest of the table in the layout with the fewest SRAM blocks, or as many entries as fit.
    pub(super) fn fit(&self, table: usize, stage: usize) -> Fitting {
        let left = self.progress[table].left;
        let tries = |entries: u32| {
            move |layout: &Layout| self.try_fit(table, stage, layout, entries.min(left).max(left.min(1)))
        };
        let (parts, shortages) = parted(self.layouts[table].iter().map(tries(left)));
        if let Some(part) = parts.into_iter().min_by_key(|part| part.demand.srams()) {
            return Fitting::All(part);
        }
        let lacking = shortages.into_iter().next().unwrap_or(Shortage::NOTHING);
        if !self.pipeline.tables()[table].matching.splits() {
            return Fitting::None(lacking);
        }
        let parts = self.layouts[table].iter().filter_map(|layout| self.most(table, stage, layout, left));
        if let Some(part) = parts.max_by_key(|part| (part.entries, u32::MAX - part.demand.srams())) {
            let more = part.entries.saturating_add(part.layout.step(self.arch));
            let short = self.try_fit(table, stage, &part.layout, more).err();
            return Fitting::Some(part, short.unwrap_or(lacking));
        }
        let (_, smallest) = parted(self.layouts[table].iter().map(tries(1)));
        Fitting::None(smallest.into_iter().next().unwrap_or(lacking))
    }

    fn try_fit(&self, table: usize, stage: usize, layout: &Layout, entries: u32) -> Result<Part, Shortage> {
        let demand = layout.demand(self.arch, &self.pipeline.tables()[table], entries);
        self.placement.stages[stage].with(self.arch, &self.pipeline.tables()[table], &demand)?;
        Ok(Part { table, stage, entries, layout: *layout, demand })
    }

    /// The most entries, in whole rows of blocks, that fit.
    fn most(&self, table: usize, stage: usize, layout: &Layout, left: u32) -> Option<Part> {
        let step = layout.step(self.arch);
        let (mut low, mut high) = (0, left.div_ceil(step));
        let mut found = None;
        while low + 1 < high {
            let middle = low.midpoint(high);
            match self.try_fit(table, stage, layout, middle * step) {
                Ok(part) => (low, found) = (middle, Some(part)),
                Err(_) => high = middle,
            }
        }
        // A part has the capacity of its blocks, which may exceed the request.
        found.map(|part| Part { entries: part.demand.entries.min(left), ..part })
    }
}

fn parted(tries: impl Iterator<Item = Result<Part, Shortage>>) -> (Vec<Part>, Vec<Shortage>) {
    let (mut parts, mut shortages) = (Vec::new(), Vec::new());
    for attempt in tries {
        match attempt {
            Ok(part) => parts.push(part),
            Err(shortage) => shortages.push(shortage),
        }
    }
    (parts, shortages)
}
