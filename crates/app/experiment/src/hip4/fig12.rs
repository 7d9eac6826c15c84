//! Figure 12: the latency of handovers while usage is read.

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

/// UEs in the paper.
const UES: u32 = 150_000;

/// The paper's medians and 99th percentiles in milliseconds.
const PAPER_SINGLE: [f64; 2] = [9.0, 361.0];
const PAPER_BASELINE: [f64; 2] = [4.0, 1300.0];
const PAPER_HIP4: [f64; 2] = [1.0, 6.4];

/// A row: the access to the tables, the cost of requests, and the paper's median and 99th percentile in milliseconds.
type Row = (Variant, Costs, Option<[f64; 2]>);

fn all() -> Vec<Row> {
    let baseline = |name, beta| (Variant::baseline(name, beta), Costs::PAPER);
    let paper = |(variant, costs), figures| (variant, costs, figures);
    vec![
        paper((Variant::SINGLE, Costs::PAPER), Some(PAPER_SINGLE)),
        paper(baseline("baseline, beta 25 %", 0.25), Some(PAPER_BASELINE)),
        paper(baseline("baseline, beta 50 %", 0.5), None),
        paper(baseline("baseline, beta 75 %", 0.75), None),
        paper((Variant::HIP4, Costs::PAPER), Some(PAPER_HIP4)),
        paper((Variant::HIP4, Costs::SLOW), Some(PAPER_HIP4)),
        paper((Variant::CAUSEWAY, Costs::PAPER), None),
        paper((Variant::CAUSEWAY, Costs::SLOW), None),
        paper((Variant::INDEXED, Costs::PAPER), None),
        paper((Variant::INDEXED, Costs::SLOW), None),
        paper((Variant::BANKED, Costs::PAPER), None),
    ]
}

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when the workload does not fit.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let (ues, runs) = (common.ues(UES), common.runs());
    let plan = |(variant, costs, _): &Row| Plan {
        variant: *variant,
        costs: *costs,
        ues,
        load: Load::Emulator,
        before: common.before(Span::from_secs(3)),
        handovers: runs,
        reports: Span::ZERO,
    };
    let all = common.rows(&all(), |(variant, ..)| *variant)?;
    let measured: Vec<Measured> =
        rows.measure(&all, |row| plan(row).measure(common, progress), |measured| table(&all, measured))?;
    let mut goals = Vec::new();
    for (name, wanted) in [("keyed", Variant::CAUSEWAY), ("indexed", Variant::INDEXED)] {
        let is_wanted = |(variant, costs, _): &Row| *variant == wanted && *costs == Costs::PAPER;
        let Some((_, measured)) = all.iter().zip(&measured).find(|(row, _)| is_wanted(row)) else { continue };
        for (rank, percent, limit) in [("median", 50.0, 0.2), ("99th percentile", 99.0, 1.0)] {
            let goal = format!("handover, {rank}, {name} accounting");
            goals.push(Goal::at_most(&goal, limit, measured.handovers.percentile(percent) * 1e3, "ms"));
        }
    }
    let lost = lost_octets(measured.iter().map(|measured| measured.ledger));
    goals.push(Goal::at_most("lost, all rows", 0.0, lost, "octets"));
    Ok(Outcome {
        name: "hip4-fig12",
        title: "Handover response under reporting load (HiP4-UPF, figure 12)".into(),
        conditions: vec![
            ("UEs", format!("{ues}, two rules and a URR each")),
            ("handovers", format!("two every 10 ms for a second, {runs} times")),
            ("traffic", "a packet of 200 to 1,200 octets every 100 ms with probability 85 %, both directions, each UE".into()),
            ("seed", common.seed.to_string()),
        ],
        table: table(&all, &measured),
        goals,
        notes: vec![
            MODEL.into(),
            "paper's driver costs, modelled: the driver's costs from the paper's figures; slowest writes, modelled: all of its table 4 is attributed to the driver.".into(),
            "The paper does not state the beta of the baseline in its figure 12; its figures are in the row of 25 %.".into(),
        ],
        details: Vec::new(),
        charts: vec![("cdf", chart(&all, &measured).into())],
    })
}

fn table(rows: &[Row], measured: &[Measured]) -> Table {
    let ms = |name| Column::of(name, "ms, modelled");
    let mut columns = vec![Column::new("table access"), Column::new("driver"), Column::new("handovers")];
    columns.extend([ms("mean"), ms("median"), ms("99 %"), ms("longest")]);
    columns.extend([Column::of("paper, measured: median", "ms"), Column::of("paper, measured: 99 %", "ms")]);
    columns.extend(balance_columns());
    let mut table = Table::new(columns);
    for ((variant, costs, paper), Measured { handovers, ledger, .. }) in rows.iter().zip(measured) {
        let [sent, reported, lost] = ledger_cells(ledger);
        table.row([
            variant.name.into(),
            costs.name.into(),
            Cell::Count(handovers.count() as u64),
            millis(handovers.mean()),
            millis(handovers.percentile(50.0)),
            millis(handovers.percentile(99.0)),
            millis(handovers.longest()),
            given(paper.map(|[median, _]| median), 1),
            given(paper.map(|[_, late]| late), 1),
            sent,
            reported,
            lost,
        ]);
    }
    table
}

fn chart(rows: &[Row], measured: &[Measured]) -> Chart {
    let curve = |((variant, costs, _), measured): (&Row, &Measured)| {
        let points = measured.handovers.distribution();
        let points = points.into_iter().map(|(seconds, share)| (seconds * 1e3, share)).collect();
        Curve { name: format!("{} ({})", variant.name, costs.name), points, is_dashed: false }
    };
    let mut curves: Vec<Curve> = rows.iter().zip(measured).map(curve).collect();
    let paper = |name: &str, [median, late]: [f64; 2]| Curve {
        name: format!("{name}: paper, measured"),
        points: vec![(median, 0.5), (late, 0.99)],
        is_dashed: true,
    };
    curves.extend([
        paper("single thread", PAPER_SINGLE),
        paper("baseline", PAPER_BASELINE),
        paper("HiP4-UPF", PAPER_HIP4),
    ]);
    Chart {
        title: "Handover response: distribution".into(),
        x: "ms (Causeway: model time; the paper: measured)".into(),
        is_logarithmic: true,
        y: "share of handovers".into(),
        curves,
    }
}
