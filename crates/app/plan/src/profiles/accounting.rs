//! Counters of PDRs before and after QoS enforcement.

use super::fields::{PDR_ID, key};
use super::{Counting, Program};
use crate::error::PlanError;
use crate::pipeline::{Dependency, Pipeline};
use crate::table::{Gress, Match, Table};

/// Sizes of counters addressed by index, in turn: four of these make the best use of a stage, as three fill two rows of
/// blocks each, and the last the remaining row.
const INSTANCES: [u32; 4] = [22_528, 22_528, 22_528, 10_240];

/// Adds the counters of `pdrs` PDRs on both sides. The ingress ones follow the tables that find PDRs.
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
            // Half of the PDRs and an eighth more: the time of arrival determines the partition of an entry.
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
        // Without dependencies, the counters of the egress side would be placed last: early stages are requested.
        let stage = (gress == Gress::Egress).then_some(usize::from(number) / INSTANCES.len());
        let range = Table::new(name, gress, Match::Always, entries).counted().when("counter range", number);
        pipeline.add(range.at_stage(stage), after)?;
        left -= entries;
    }
    Ok(())
}
