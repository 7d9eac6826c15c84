//! Figure 10: capacity in UEs, by the planner.

use causeway_plan::architecture::Architecture;
use causeway_plan::profiles::{Population, Profile, Program, Ratio};
use causeway_plan::search::largest;
use causeway_show::{Bar, Bars, Cell, Column, Progress, Table};

use crate::ExperimentError;
use crate::outcome::{Goal, Outcome};

/// Complex to simple UEs, with the paper's baseline and the gain of its full optimisation in percent.
const RATIOS: [(u16, u32, f64); 4] =
    [(5, 52_838, 97.6), (10, 67_584, 116.6), (20, 80_640, 98.6), (50, 83_558, 95.0)];

/// UEs at each ratio.
struct Row {
    architecture: &'static Architecture,
    program: Program,
    ues: [u32; 4],
}

impl Row {
    fn name(&self) -> String {
        format!("{} on {}", self.profile(), self.architecture.name)
    }

    fn profile(&self) -> String {
        let halves = if self.program.halves { ", in halves" } else { "" };
        format!("{}{halves}", self.program.profile.name())
    }
}

/// Plans.
///
/// # Errors
/// [`ExperimentError::Plan`].
pub fn run(progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let (one, two) = (&Architecture::TOFINO1, &Architecture::TOFINO2);
    let mut rows = Vec::new();
    for (architecture, profiles) in [(one, &Profile::ALL[..]), (two, &[Profile::Hip4, Profile::Direct][..])] {
        for profile in profiles {
            let own = Program::of(*profile);
            rows.push(row(architecture, own, progress)?);
            if *profile == Profile::Hip4 {
                let halves = Program { halves: true, ..own };
                if architecture.name == two.name {
                    rows.push(row(architecture, halves, progress)?);
                }
                rows.push(row(architecture, Program { partitions: 2, ..own }, progress)?);
            }
        }
    }
    let direct = |architecture: &Architecture| {
        let found = rows
            .iter()
            .find(|row| row.program.profile == Profile::Direct && row.architecture.name == architecture.name);
        found.map_or(0, |row| row.ues[3])
    };
    let goals = vec![
        Goal::at_least("UEs at 1:50 on Tofino 1, direct", 160_000.0, direct(one).into(), "UEs"),
        Goal::at_least("UEs at 1:50 on Tofino 2, direct", 1_000_000.0, direct(two).into(), "UEs"),
    ];
    Ok(Outcome {
        name: "hip4-fig10",
        title: "Capacity in UEs (HiP4-UPF, figure 10)".into(),
        conditions: vec![
            ("UEs", "complex to simple as in the column heads; 2,048 of the simple ones use N9".into()),
            ("by", "the planner, which comes within a few percent of a compiler (docs/planner.md)".into()),
        ],
        table: table(&rows),
        goals,
        notes: vec![
            "No time is in this table. Capacities are with one accounting partition on each side, as in the paper, unless it says two: \
             that is what pendulum access needs. Counters by index need one.".into(),
            "In halves: the one partition is in two tables by a bit of the number. A table has one counter in a stage, which on Tofino 2 reaches half \
             of the map RAMs only; two partitions are two tables too, and at 1:5 and 1:10 there is more space for them than for one table.".into(),
        ],
        details: Vec::new(),
        charts: vec![("ues", chart(&rows).into())],
    })
}

fn row(
    architecture: &'static Architecture,
    program: Program,
    progress: &mut Progress,
) -> Result<Row, ExperimentError> {
    let mut ues = [0; 4];
    for ((simple, ..), ues) in RATIOS.iter().zip(&mut ues) {
        progress.stage(format!("planning {} on {} at 1:{simple}", program.profile.name(), architecture.name));
        let fit = largest(architecture, &program, Ratio::one_to(*simple), Population::N9)?;
        *ues = fit.map_or(0, |fit| fit.population.ues());
    }
    Ok(Row { architecture, program, ues })
}

/// The paper's UEs of a profile.
fn paper(row: &Row) -> [Option<f64>; 4] {
    RATIOS.map(|(_, baseline, gain)| {
        let is_paper = row.architecture.name == Architecture::TOFINO1.name && row.program.partitions == 1;
        match row.program.profile {
            Profile::Baseline if is_paper => Some(baseline.into()),
            Profile::Hip4 if is_paper => Some(f64::from(baseline) * (1.0 + gain / 100.0)),
            _ => None,
        }
    })
}

fn table(rows: &[Row]) -> Table {
    let mut columns = vec![Column::new("profile"), Column::new("switch"), Column::new("partitions")];
    for (simple, ..) in RATIOS {
        columns.extend([
            Column::of(&format!("1:{simple}"), "UEs, planned"),
            Column::of("paper, compiled", "UEs"),
        ]);
    }
    let mut table = Table::new(columns);
    for row in rows {
        let mut cells: Vec<Cell> = vec![
            row.profile().into(),
            row.architecture.name.into(),
            Cell::Count(row.program.partitions.into()),
        ];
        for (ues, paper) in row.ues.iter().zip(paper(row)) {
            cells.extend([Cell::Count((*ues).into()), paper.map(|ues| Cell::Number(ues, 0)).into()]);
        }
        table.rows.push(cells);
    }
    table
}

fn chart(rows: &[Row]) -> Bars {
    let planned = |row: &Row| Bar {
        name: format!("{}, partitions: {}", row.name(), row.program.partitions),
        values: row.ues.map(|ues| Some(ues.into())).into(),
        is_of_others: false,
    };
    let of_paper = |row: &Row| Bar {
        name: format!("{}: paper, compiled", row.name()),
        values: paper(row).into(),
        is_of_others: true,
    };
    let bars = rows.iter().map(of_paper).chain(rows.iter().map(planned));
    Bars {
        title: "Capacity in UEs, planned".into(),
        x: "complex UEs to simple ones".into(),
        groups: RATIOS.map(|(simple, ..)| format!("1:{simple}")).into(),
        y: "UEs".into(),
        bars: bars.filter(|bar| bar.values.iter().any(Option::is_some)).collect(),
    }
}
