//! Figure 11: the latency of volume reports.

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

/// A row with the paper's mean in milliseconds, and its shares within 0.5 s and 1 s.
type Row = (Variant, Option<f64>, Option<[f64; 2]>);

const ROWS: [Row; 5] = [
    (Variant::UNSELECTIVE, Some(3120.0), None),
    (Variant::HIP4, Some(480.0), Some([73.8, 93.1])),
    (Variant::CAUSEWAY, None, None),
    (Variant::INDEXED, None, None),
    (Variant::BANKED, None, None),
];

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when the workload does not fit.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let ues = common.ues(UES);
    let plan = |(variant, ..): &Row| Plan {
        variant: *variant,
        costs: Costs::PAPER,
        ues,
        load: Load::Rates(100, 600),
        before: common.before(Span::from_secs(10)),
        handovers: 0,
        reports: common.seconds(),
    };
    let all = common.rows(&ROWS, |(variant, ..)| *variant)?;
    let measured: Vec<Measured> =
        rows.measure(&all, |row| plan(row).measure(common, progress), |measured| table(&all, measured))?;
    let mut goals = Vec::new();
    for (goal, limit, wanted) in [
        ("report, mean, pendulum and selective pulling", 100.0, Variant::CAUSEWAY),
        ("report, mean, indexed accounting in one table per side", 10.0, Variant::INDEXED),
        ("report, mean, indexed accounting in banks", 10.0, Variant::BANKED),
    ] {
        if let Some((_, measured)) = all.iter().zip(&measured).find(|((variant, ..), _)| *variant == wanted) {
            goals.push(Goal::at_most(goal, limit, measured.reports.mean() * 1e3, "ms"));
        }
    }
    let lost = lost_octets(measured.iter().map(|measured| measured.ledger));
    goals.push(Goal::at_most("lost, all rows", 0.0, lost, "octets"));
    Ok(Outcome {
        name: "hip4-fig11",
        title: "Volume report latency (HiP4-UPF, figure 11)".into(),
        conditions: vec![
            ("UEs", format!("{ues}, two rules and a URR each; a threshold of 400 kB to 2.8 MB uplink")),
            ("traffic", "uplink, 100 to 600 kbit/s each, varying from zero to twice the rate every half second".into()),
            ("measured", format!("{} s after {} s", common.seconds().as_secs_f64(), common.before(Span::from_secs(10)).as_secs_f64())),
            ("seed", common.seed.to_string()),
        ],
        table: table(&all, &measured),
        goals,
        notes: vec![
            MODEL.into(),
            "A report's latency is from the packet that reached the threshold to the moment at which the reader has its counter, and \
             so the report.".into(),
        ],
        details: Vec::new(),
        charts: vec![("cdf", chart(&all, &measured).into())],
    })
}

fn table(rows: &[Row], measured: &[Measured]) -> Table {
    let ms = |name| Column::of(name, "ms, modelled");
    let share = |name| Column::of(name, "%, modelled");
    let mut columns = vec![
        Column::new("counters are read by"),
        Column::new("reports"),
        ms("mean"),
        ms("median"),
        ms("99 %"),
    ];
    columns.extend([share("in 0.5 s"), share("in 1 s"), Column::of("paper, measured: mean", "ms")]);
    columns.extend(["paper, measured: in 0.5 s", "in 1 s"].map(|name| Column::of(name, "%")));
    columns.extend(["counters read", "passes"].map(|name| Column::of(name, "1/s, modelled")));
    columns.extend(balance_columns());
    let mut table = Table::new(columns);
    for ((variant, mean, shares), Measured { reports, effort, ledger, .. }) in rows.iter().zip(measured) {
        let [sent, reported, lost] = ledger_cells(ledger);
        table.row([
            variant.name.into(),
            Cell::Count(reports.count() as u64),
            millis(reports.mean()),
            millis(reports.percentile(50.0)),
            millis(reports.percentile(99.0)),
            Cell::Number(reports.within(0.5), 1),
            Cell::Number(reports.within(1.0), 1),
            given(*mean, 0),
            given(shares.map(|[half, _]| half), 1),
            given(shares.map(|[_, one]| one), 1),
            Cell::Number(effort.counters_a_second(), 0),
            Cell::Number(effort.passes_a_second(), 1),
            sent,
            reported,
            lost,
        ]);
    }
    table
}

fn chart(rows: &[Row], measured: &[Measured]) -> Chart {
    let curve = |((variant, ..), measured): (&Row, &Measured)| {
        let points = measured.reports.distribution();
        let points = points.into_iter().map(|(seconds, share)| (seconds * 1e3, share)).collect();
        Curve { name: format!("{}: modelled", variant.name), points, is_dashed: false }
    };
    let mut curves: Vec<Curve> = rows.iter().zip(measured).map(curve).collect();
    let points = vec![(500.0, 0.738), (1000.0, 0.931)];
    curves.push(Curve { name: "HiP4-UPF: paper, measured".into(), points, is_dashed: true });
    Chart {
        title: "Volume reports: distribution of the latency".into(),
        x: "ms (Causeway: model time; the paper: measured)".into(),
        is_logarithmic: true,
        y: "share of reports".into(),
        curves,
    }
}
