//! Table 8: what a tree takes of a switch.

use causeway_plan::architecture::Architecture;
use causeway_show::{Cell, Column, Progress, Table};
use causeway_traffic::classes::{PairClass, TableLimits, Tables, Tree};

use super::{models, released, seconds};
use crate::ExperimentError;
use crate::cli::Common;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;
use crate::training::TrainingError;

/// Rows of each range table in the released program; it has five, and a decision table with a range key.
const RELEASED_ROWS: u32 = 1024;

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
        goals: vec![Goal::at_most("TCAM of our trees, computed", 3.0, most, "%")],
        notes: vec![
            format!(
                "Computed from the rows, not compiled; there is no P4 block yet. The thesis compiled range tables of {RELEASED_ROWS} rows each and a decision \
                 table with a range key, which is more than its tree needs."
            ),
            "The thesis' other figures (%, decision, features, both): result bus 0.0, 14.1, 14.1; search bus 0.0, 8.9, 9.4; hash bits 0.0, 4.7, 4.7; table ids \
             3.1, 19.3, 22.4; SRAM 0.5, 3.4, 4.1; stages 3, 7, 10. Software alone shows nothing beside them."
                .into(),
            "Gaps of the released program stop at 67 ms, so that its threshold of 172 ms divides nothing there: 19 ranges and 480 cells.".into(),
        ],
        details: Vec::new(),
        charts: Vec::new(),
    })
}
