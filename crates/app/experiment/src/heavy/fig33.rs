//! Figure 33: octets between switch and controller.

use causeway_show::{Cell, Column, Progress, Table};

use super::Size;
use super::contest::{Contest, FlowOf, Results, Score};
use super::design::{Design, Method, Target};
use super::trace::Profile;
use super::truth::Amount;
use crate::ExperimentError;
use crate::cli::Common;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;
use crate::spread::Spread;

/// The memory in KiB.
const MEMORY: usize = 144;
/// Octets of a report: the 5-tuple of an IPv4 flow.
const REPORT: f64 = 13.0;
/// Thresholds in Mbit/s, with how many times first reports are to be below polling.
const THRESHOLDS: [(u64, f64); 2] = [(1, 40.0), (5, 100.0)];
/// Seconds between two pollings.
const INTERVALS: [u32; 3] = [1, 5, 10];

const DESIGNS: [(Method, Design); 4] = [
    (Method::Published, Design::Published(0.98, 0.01, 1850)),
    (Method::Sliding, Design::Sliding(4, 4, causeway_traffic::Placement::Apart)),
    (Method::Switch, Design::Switch(2, 4)),
    (Method::Block, Design::Block),
];

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when results cannot be written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let size = Size::of(common)?;
    let profile = size.profile(Profile::BACKBONE);
    let seconds = [size.seconds[2]];
    let designs = common.rows_by_name(&DESIGNS, |(method, _)| method.name())?;
    // For each threshold and seed.
    let measured: Vec<Vec<Results>> = rows.measure(
        &THRESHOLDS,
        |(megabits, _)| {
            let target = Target::megabits(Amount::Packets, *megabits);
            let mut all = Vec::new();
            for seed in &size.seeds {
                progress.stage(format!("{megabits} Mbit/s: seed {seed}"));
                let built: Result<Vec<_>, _> = designs
                    .iter()
                    .map(|(_, design)| design.build(size.octets(MEMORY), target, *seed))
                    .collect();
                let contest = Contest {
                    profile: &profile,
                    seed: *seed,
                    flow: FlowOf::FiveTuple,
                    target,
                    seconds: &seconds,
                };
                all.push(contest.run(built?, progress));
            }
            Ok(all)
        },
        |measured| table(&designs, measured, &size),
    )?;
    Ok(Outcome {
        name: "hh-fig33",
        title: "Control traffic (thesis, figure 33)".into(),
        conditions: vec![
            ("trace", format!("{}, {} s", size.traces_in_words("backbone (like CAIDA16)"), seconds[0])),
            ("memory", format!("{MEMORY} KiB, which polling transfers in full each time")),
            ("report", format!("{REPORT} octets: the 5-tuple of an IPv4 flow")),
            ("seeds", size.trace_seeds_in_words()),
        ],
        table: table(&designs, &measured, &size),
        goals: size.goals(goals(&designs, &measured, &size)),
        notes: vec![
            "The thesis: two orders of magnitude below polling at 1 Mbit/s. First reports are those of flows that were not reported before; \
             a flow is reported again when it becomes heavy again. The delay is from the packet with which a sliding second is heavy \
             to the report; a report that comes before counts as none.".into(),
            size.note(),
        ],
        charts: Vec::new(),
        details: Vec::new(),
    })
}

/// Figures of a detector, by seed: reports and first reports a second, and the delay in milliseconds that half and nine tenths of
/// reports do not exceed.
fn figures(all: &[Results], place: usize, seconds: u32) -> [Spread; 4] {
    let rate = |of: fn(&(u64, u64)) -> u64| -> Spread {
        let reports = all.iter().filter_map(|results| results.reports.get(place));
        reports.map(|reports| of(reports) as f64 / f64::from(seconds)).collect()
    };
    let delay = |share: f64| -> Spread {
        let delays = all.iter().filter_map(|results| results.delays.get(place));
        let at = |delays: &Vec<f64>| {
            let rank = (delays.len() as f64 * share).ceil() as usize;
            delays.get(rank.saturating_sub(1)).map_or(0.0, |delay| delay * 1e3)
        };
        delays.map(at).collect()
    };
    [rate(|reports| reports.0), rate(|reports| reports.1), delay(0.5), delay(0.9)]
}

fn table(designs: &[(Method, Design)], measured: &[Vec<Results>], size: &Size) -> Table {
    let mut table = Table::new(vec![
        Column::of("threshold", "Mbit/s"),
        Column::new("how"),
        Column::of("reports", "1/s"),
        Column::of("first reports", "1/s"),
        Column::of("octets", "kB/s"),
        Column::of("octets of first reports", "kB/s"),
        Column::of("first reports below polling each second", "×"),
        Column::of("delay, median", "ms"),
        Column::of("delay, 90 %", "ms"),
        Column::new("precision"),
        Column::new("recall"),
    ]);
    let memory = size.octets(MEMORY) as f64;
    for ((megabits, _), all) in THRESHOLDS.iter().zip(measured) {
        for interval in INTERVALS {
            let how = format!("polling, each {interval} s");
            let rate = memory / f64::from(interval) / 1e3;
            let none = || Cell::Missing;
            table.row([
                Cell::Count(*megabits),
                how.into(),
                none(),
                none(),
                Cell::Number(rate, 1),
                none(),
                none(),
                none(),
                none(),
                none(),
                none(),
            ]);
        }
        for (place, (method, _)) in designs.iter().enumerate() {
            let [reports, first, median, most] = figures(all, place, size.seconds[2]);
            let score = |of: fn(&Score) -> f64| -> Spread {
                all.iter().filter_map(|results| results.scores.get(place)?.last()).map(of).collect()
            };
            table.row([
                Cell::Count(*megabits),
                method.name().into(),
                reports.cell(0),
                first.cell(0),
                Cell::Number(reports.mean() * REPORT / 1e3, 2),
                Cell::Number(first.mean() * REPORT / 1e3, 2),
                Cell::Number(memory / (first.mean() * REPORT).max(1e-9), 1),
                median.cell(1),
                most.cell(1),
                score(Score::precision).cell(3),
                score(Score::recall).cell(3),
            ]);
        }
    }
    table
}

fn goals(designs: &[(Method, Design)], measured: &[Vec<Results>], size: &Size) -> Vec<Goal> {
    let mut goals = Vec::new();
    let memory = size.octets(MEMORY) as f64;
    for ((megabits, times), all) in THRESHOLDS.iter().zip(measured) {
        let Some(place) = designs.iter().position(|(method, _)| *method == Method::Sliding) else { continue };
        let [_, first, median, most] = figures(all, place, size.seconds[2]);
        let name = |what: &str| format!("{what}, Causeway, {megabits} Mbit/s, each seed");
        let found = memory / (first.most() * REPORT).max(1e-9);
        goals.push(Goal::at_least(&name("first reports below polling"), *times, found, "times"));
        if *megabits == 1 {
            goals.push(Goal::at_most(&name("delay, median"), 20.0, median.most(), "ms"));
            goals.push(Goal::at_most(&name("delay, 90 %"), 400.0, most.most(), "ms"));
        }
    }
    goals
}
