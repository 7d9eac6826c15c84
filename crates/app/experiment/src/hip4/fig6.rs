//! Figure 6: the latency of handovers and reports, by the fraction of time that the baseline reads.

use causeway_show::{Cell, Chart, Column, Curve, Progress, Table};
use causeway_types::Span;

use super::{MODEL, balance_columns, given, ledger_cells, lost_octets, millis};
use crate::ExperimentError;
use crate::cli::Common;
use crate::measure::{Costs, Measured, Plan};
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;
use crate::simulation::Load;
use crate::variant::Variant;

/// The capacity of the paper's baseline in UEs; the paper does not state the number for this figure.
const UES: u32 = 84_000;

/// Beta in percent (0 for rows without), and the paper's means of report and handover, and the 99th percentile of
/// handovers, in milliseconds.
type Row = (Variant, u8, Option<[f64; 3]>);

const ROWS: [Row; 7] = [
    (Variant::baseline("baseline, beta 25 %", 0.25), 25, Some([3900.0, 60.0, 1500.0])),
    (Variant::baseline("baseline, beta 50 %", 0.5), 50, None),
    (Variant::baseline("baseline, beta 75 %", 0.75), 75, Some([1900.0, 230.0, 2700.0])),
    (Variant::HIP4, 0, None),
    (Variant::CAUSEWAY, 0, None),
    (Variant::INDEXED, 0, None),
    (Variant::BANKED, 0, None),
];

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when the workload does not fit.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let (ues, runs) = (common.ues(UES), common.runs());
    let plan = |(variant, ..): &Row| Plan {
        variant: *variant,
        costs: Costs::PAPER,
        ues,
        load: Load::Rates(100, 600),
        before: common.before(Span::from_secs(8)),
        handovers: runs,
        reports: Span::ZERO,
    };
    let all = common.rows(&ROWS, |(variant, ..)| *variant)?;
    let measured: Vec<Measured> =
        rows.measure(&all, |row| plan(row).measure(common, progress), |measured| table(&all, measured))?;
    Ok(Outcome {
        name: "hip4-fig6",
        title: "Latency of handovers and reports against beta (HiP4-UPF, figure 6)".into(),
        conditions: vec![
            ("UEs", format!("{ues}, two rules and a URR each; a threshold of 400 kB to 2.8 MB uplink")),
            ("handovers", format!("two every 10 ms for a second, {runs} times; reports of the same time")),
            ("traffic", "uplink, 100 to 600 kbit/s each".into()),
            ("seed", common.seed.to_string()),
        ],
        table: table(&all, &measured),
        goals: vec![Goal::at_most(
            "lost, all rows",
            0.0,
            lost_octets(measured.iter().map(|measured| measured.ledger)),
            "octets",
        )],
        notes: vec![
            MODEL.into(),
            "The paper gives the means at 25 % and 75 % without a number of UEs; here it is the capacity of its baseline.".into(),
        ],
        details: Vec::new(),
        charts: vec![("beta", chart(&all, &measured).into())],
    })
}

fn table(rows: &[Row], measured: &[Measured]) -> Table {
    let ms = |name| Column::of(name, "ms, modelled");
    let paper = || Column::of("paper, measured", "ms");
    let mut columns = vec![Column::new("table access"), Column::new("reports"), ms("report, mean")];
    columns.extend([paper(), Column::new("handovers"), ms("handover, mean"), paper()]);
    columns.extend([ms("handover, 99 %"), paper()]);
    columns.extend(balance_columns());
    let mut table = Table::new(columns);
    for ((variant, _, paper), Measured { handovers, reports, ledger, .. }) in rows.iter().zip(measured) {
        let [sent, reported, lost] = ledger_cells(ledger);
        table.row([
            variant.name.into(),
            Cell::Count(reports.count() as u64),
            millis(reports.mean()),
            given(paper.map(|figures| figures[0]), 0),
            Cell::Count(handovers.count() as u64),
            millis(handovers.mean()),
            given(paper.map(|figures| figures[1]), 0),
            millis(handovers.percentile(99.0)),
            given(paper.map(|figures| figures[2]), 0),
            sent,
            reported,
            lost,
        ]);
    }
    table
}

fn chart(all: &[Row], measured: &[Measured]) -> Chart {
    let rows = || all.iter().zip(measured).filter(|((_, beta, _), _)| *beta > 0);
    let ours = |name: &str, of: fn(&Measured) -> f64| Curve {
        name: format!("{name}: modelled"),
        points: rows().map(|((_, beta, _), measured)| (f64::from(*beta), of(measured))).collect(),
        is_dashed: false,
    };
    let paper = |name: &str, place: usize| Curve {
        name: format!("{name}: paper, measured"),
        points: rows()
            .filter_map(|((_, beta, paper), _)| Some((f64::from(*beta), *paper.as_ref()?.get(place)? / 1e3)))
            .collect(),
        is_dashed: true,
    };
    let curves = vec![
        ours("report, mean", |measured| measured.reports.mean()),
        paper("report, mean", 0),
        ours("handover, mean", |measured| measured.handovers.mean()),
        paper("handover, mean", 1),
        ours("handover, 99 %", |measured| measured.handovers.percentile(99.0)),
        paper("handover, 99 %", 2),
    ];
    Chart {
        title: "Baseline: latency against beta".into(),
        x: "beta, %".into(),
        is_logarithmic: false,
        y: "s (Causeway: model time; the paper: measured)".into(),
        curves,
    }
}
