//! Table 8: what a tree takes of a switch.

use causeway_plan::architecture::Architecture;
use causeway_show::{Cell, Column, Progress, Table};
use causeway_traffic::classes::{PairClass, TableLimits, Tables, Tree};

use super::{models, released, seconds};
use crate::ExperimentError;
use crate::cli::Common;
use crate::outcome::{Goal, Outcome};
use crate::resources::{Resource, beside};
use crate::row_writer::Rows;
use crate::training::TrainingError;

/// Rows of each range table in the released program; it has five, and a decision table with a range key.
const RELEASED_ROWS: u32 = 1024;

/// What the block `p4/blocks/application_classes.p4` takes of Tofino 1 by itself, with the table of the rules that are measured.
#[derive(Clone, Copy, Debug)]
struct Compiled {
    stages: u64,
    /// Blocks of SRAM and of TCAM.
    sram: u64,
    tcam: u64,
    /// Stateful ALUs.
    alus: u64,
}

/// As [`SOURCE`] says.
const BLOCK: Compiled = Compiled { stages: 8, sram: 115, tcam: 5, alus: 11 };

/// Where [`BLOCK`] comes from.
const SOURCE: &str = "scripts/p4 skeletons: p4c-barefoot 9.13.4, then bfas, 2026-11-29";

/// Stages of the thesis' program, and its SRAM and TCAM in percent (table 8): of the decision, of the features, and of both.
const THESIS: [[f64; 3]; 3] = [[3.0, 7.0, 10.0], [0.5, 3.4, 4.1], [12.2, 0.0, 12.2]];

/// The thesis' decision and features together, percent of the switch.
const THESIS_BOTH: [(Resource, f64); 6] = [
    (Resource::ResultBuses, 14.1),
    (Resource::SearchBuses, 9.4),
    (Resource::HashBits, 4.7),
    (Resource::Tables, 22.4),
    (Resource::Sram, 4.1),
    (Resource::Tcam, 12.2),
];

/// A tree with its tables.
#[derive(Clone, Debug)]
struct Placed {
    name: String,
    is_ours: bool,
    tree: Tree,
    tables: Tables,
}

impl Placed {
    /// TCAM blocks of its range tables, each with the rows that it needs and no more.
    fn blocks(&self, architecture: &Architecture) -> u64 {
        let of = |rows: usize, bits: u32| {
            // A block is 44 bits wide.
            (rows.div_ceil(architecture.tcam_entries as usize) as u64) * u64::from(bits.div_ceil(44))
        };
        self.tables.codes().iter().map(|table| of(table.ternary_rows(), table.feature.bits())).sum()
    }
}

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when a model is damaged.
pub fn run(common: &Common, _: &Rows, _: &mut Progress) -> Result<Outcome, ExperimentError> {
    let architecture = &Architecture::TOFINO1;
    let all = u64::from(architecture.tcams) * 12;
    let mut trees = Vec::new();
    for (window, model) in models()? {
        trees.push((format!("Causeway, {}", seconds(window)), true, model.tree().clone()));
    }
    let released = released::tree(1000).map_err(TrainingError::tree)?;
    trees.push(("released with the thesis".into(), false, released));
    let mut placed = Vec::new();
    for (name, is_ours, tree) in trees {
        let tables = Tables::new(&tree, &TableLimits::default()).map_err(TrainingError::from)?;
        placed.push(Placed { name, is_ours, tree, tables });
    }
    let mut table = Table::new(vec![
        Column::new("tree"),
        Column::new("depth"),
        Column::new("leaves"),
        Column::new("features"),
        Column::new("ranges"),
        Column::new("ternary rows"),
        Column::new("cells"),
        Column::new("exact rows"),
        Column::new("code bits"),
        Column::new("TCAM blocks"),
        Column::of("TCAM", "%, computed"),
        Column::of("TCAM, thesis", "%, compiled"),
    ]);
    let mut most: f64 = 0.0;
    for one in &placed {
        let blocks = one.blocks(architecture);
        let percent = blocks as f64 * 100.0 / all as f64;
        if one.is_ours {
            most = most.max(percent);
        }
        let (ranges, ternary) = one.tables.range_rows();
        let count = |value: usize| Cell::Count(value as u64);
        let thesis = if one.is_ours { Cell::Missing } else { Cell::Number(12.2, 1) };
        table.row([
            one.name.clone().into(),
            count(one.tree.depth()),
            count(one.tree.leaves()),
            count(one.tables.codes().len()),
            count(ranges),
            count(ternary),
            count(one.tables.cells()),
            count(one.tables.exact_rows()),
            Cell::Count(one.tables.code_bits().into()),
            Cell::Count(blocks),
            Cell::Number(percent, 1),
            thesis,
        ]);
    }
    Ok(Outcome {
        name: "gaming-table8",
        title: "Resources of the decision on Tofino 1 (thesis, table 8)".into(),
        conditions: vec![
            ("switch", format!("{} TCAM blocks of {} rows and 44 bits", all, architecture.tcam_entries)),
            ("tables", "a range table for each feature, and an exact table of codes beside each other".into()),
            ("state in software", format!("{} octets for each rule pair", size_of::<PairClass>())),
            ("seed", common.seed.to_string()),
        ],
        table,
        goals: vec![
            Goal::at_most("TCAM of our trees, computed", 3.0, most, "%"),
            Goal::at_most("TCAM of the P4 block, compiled", 3.0, BLOCK.tcam as f64 * 100.0 / all as f64, "%"),
            Goal::at_most("stages of the P4 block, compiled", 8.0, BLOCK.stages as f64, ""),
        ],
        notes: vec![
            format!(
                "Rows and TCAM of each tree are computed from it. The thesis compiled range tables of {RELEASED_ROWS} rows each and a decision \
                 table with a range key, which is more than its tree needs."
            ),
            format!(
                "The P4 block was compiled by {SOURCE}. It has tables for any model within its bounds, features, verdict, and the table of 65,536 rules with \
                 the places of 16,384 sessions, which the thesis' program has not: that keeps no key."
            ),
            "The thesis' other figures for the decision and the features apart: result bus 0.0 and 14.1 %, search bus 0.0 and 8.9, hash bits 0.0 and 4.7, table ids \
             3.1 and 19.3. It has none of stateful ALUs."
                .into(),
            "Gaps of the released program stop at 67 ms, so that its threshold of 172 ms divides nothing there: 19 ranges and 480 cells.".into(),
        ],
        details: vec![
            ("The P4 block beside the thesis' program, both compiled".into(), compiled(architecture)),
            (
                "All resources of the P4 block (docs/resources.csv)".into(),
                beside("skeleton-application_classes", "P4 block", "thesis", &THESIS_BOTH),
            ),
        ],
        charts: Vec::new(),
    })
}

/// The block beside the thesis' program.
fn compiled(architecture: &Architecture) -> Table {
    let stages = architecture.stages as u64;
    let of_all = |of_stage: u32| u64::from(of_stage) * stages;
    let sram = of_all(architecture.sram_rows * architecture.sram_columns);
    let mut table = Table::new(vec![
        Column::new("resource"),
        Column::new("P4 block"),
        Column::new("of"),
        Column::of("P4 block", "%"),
        Column::new("unit of the thesis"),
        Column::new("decision"),
        Column::new("features"),
        Column::new("both"),
    ]);
    let none = [Cell::Missing, Cell::Missing, Cell::Missing];
    let [in_stages, in_sram, in_tcam] = THESIS.map(|figures| figures.map(|figure| Cell::Number(figure, 1)));
    let rows = [
        ("stages", BLOCK.stages, stages, "stages", in_stages),
        ("SRAM blocks", BLOCK.sram, sram, "%", in_sram),
        ("TCAM blocks", BLOCK.tcam, of_all(architecture.tcams), "%", in_tcam),
        ("stateful ALUs", BLOCK.alus, of_all(architecture.meter_alus), "", none),
    ];
    for (name, taken, of, unit, thesis) in rows {
        let percent = taken as f64 * 100.0 / of as f64;
        let ours = [name.into(), Cell::Count(taken), Cell::Count(of), Cell::Number(percent, 1), unit.into()];
        table.row(ours.into_iter().chain(thesis));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  the figures of the compiled block, and docs/application-classes.md.
    // Output: the page has them; they are shares of 12 stages, 960 blocks of SRAM, 288 of TCAM and 48 stateful ALUs.
    #[test]
    fn the_compiled_block_is_that_of_the_page() {
        let Compiled { stages, sram, tcam, alus } = BLOCK;
        let page = include_str!("../../../../../docs/application-classes.md");
        let row = format!(
            "{stages} of 12 stages, {alus} of 48 stateful ALUs, {sram} blocks of SRAM, {tcam} of TCAM"
        );
        assert!(page.contains(&row), "docs/application-classes.md lacks: {row}");
        let table = compiled(&Architecture::TOFINO1);
        let of: Vec<String> = table.rows.iter().map(|cells| cells[2].to_string()).collect();
        assert_eq!(of, ["12", "960", "288", "48"]);
    }
}
