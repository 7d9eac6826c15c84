//! Counters of PDRs before and after QoS enforcement.

use super::fields::{PDR_ID, key};
use super::{Counting, Program};
use crate::error::PlanError;
use crate::pipeline::{Dependency, Pipeline};
use crate::table::{Gress, Match, Table};

/// Sizes of counters addressed by index, again and again: with four of them a stage holds the most, as three fill two
/// rows of blocks each, and the last the row that is left.
const INSTANCES: [u32; 4] = [22_528, 22_528, 22_528, 10_240];

/// Adds the counters of `pdrs` PDRs on both sides. The ingress ones come after the tables that find PDRs.
pub(super) fn add(
    pipeline: &mut Pipeline,
    program: &Program,
    pdrs: u32,
    found: &[(&str, Dependency)],
) -> Result<(), PlanError> {
    if program.counting == Counting::Both {
        side(pipeline, program, pdrs, Gress::Ingress, found)?;
    }
    side(pipeline, program, pdrs, Gress::Egress, &[])
}

pub(super) fn side(
    pipeline: &mut Pipeline,
    program: &Program,
    pdrs: u32,
    gress: Gress,
    after: &[(&str, Dependency)],
) -> Result<(), PlanError> {
    if program.index_accounting() {
        return instances(pipeline, pdrs, gress, after);
    }
    let tables = if program.halves { 2 } else { program.partitions };
    for part in 1..=tables {
        let (name, entries) = match (tables, program.halves) {
            (1, _) => (format!("accounting_{gress}"), pdrs),
            (_, true) => (format!("accounting_{gress}_{part}"), pdrs.div_ceil(2)),
            // Half of the PDRs and an eighth more: which partition takes entries is a matter of when they come.
            (_, false) => (format!("accounting_{gress}_{part}"), (pdrs / 2 + pdrs / 8).max(1)),
        };
        pipeline.add(Table::new(name, gress, Match::Exact(key(&[PDR_ID])), entries).counted(), after)?;
    }
    Ok(())
}

fn instances(
    pipeline: &mut Pipeline,
    pdrs: u32,
    gress: Gress,
    after: &[(&str, Dependency)],
) -> Result<(), PlanError> {
    let mut left = pdrs;
    for (number, size) in (0..).zip(INSTANCES.into_iter().cycle()) {
        if left == 0 {
            break;
        }
        let entries = left.min(size);
        let name = format!("counters_{gress}_{}", number + 1);
        // Nothing precedes egress, and counters left to themselves would come after all else: early stages are asked for.
        let stage = (gress == Gress::Egress).then_some(usize::from(number) / INSTANCES.len());
        let range = Table::new(name, gress, Match::Always, entries).counted().when("counter range", number);
        pipeline.add(range.at_stage(stage), after)?;
        left -= entries;
    }
    Ok(())
}
