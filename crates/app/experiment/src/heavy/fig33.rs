//! Figure 33: octets between switch and controller.

use causeway_show::{Cell, Column, Progress, Table};

use super::contest::{Contest, FlowOf, Results, Score};
use super::design::{Design, Method, Target, unit};
use super::trace::Profile;
use super::truth::Amount;
use super::tuning::{Purpose, Search};
use super::{COMPETITORS, Size};
use crate::ExperimentError;
use crate::cli::Common;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;
use crate::spread::Spread;

/// The memory in KiB.
const MEMORY: usize = 144;
/// Octets of a report: the 5-tuple of an IPv4 flow.
const REPORT: f64 = 13.0;
/// Thresholds in Mbit/s, with how many times first reports are to be below polling, if there is a goal.
const THRESHOLDS: [(u64, Option<f64>); 3] = [(1, Some(40.0)), (5, Some(100.0)), (10, None)];
/// Seconds between two pollings.
const INTERVALS: [u32; 3] = [1, 5, 10];

/// What was measured at a threshold: the detectors with their numbers, and the results of each seed.
#[derive(Clone, Debug, Default)]
struct Measured {
    designs: Vec<(Method, Design)>,
    results: Vec<Results>,
}

/// Those of the methods that can count up to the target. Units of one packet have a row of their own where those of a running UPF are larger.
fn counting(methods: &[Method], octets: usize, target: Target) -> Vec<Method> {
    let is_single = unit(target).is_ok_and(|unit| unit.shift() == 0);
    let can_count = |method: &&Method| {
        let mut designs = method.designs().into_iter();
        designs.all(|design| design.build(octets, target, 0).is_ok())
            && !(is_single && **method == Method::Single)
    };
    methods.iter().filter(can_count).copied().collect()
}

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when a method's name is unknown, or results cannot be written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let size = Size::of(common)?;
    let profile = size.profile(Profile::BACKBONE);
    let seconds = [size.seconds[2]];
    let octets = size.octets(MEMORY);
    let all = [&Method::ALL[..], &[Method::Single]].concat();
    let methods = common.rows_by_name(&all, |method| method.name())?;
    let mut search = Search::default();
    let measured: Vec<Measured> = rows.measure(
        &THRESHOLDS,
        |(megabits, _)| {
            let target = Target::megabits(Amount::Packets, *megabits);
            let methods = counting(&methods, octets, target);
            let purpose = Purpose { profile: &profile, flow: FlowOf::FiveTuple, target, octets };
            let designs = search.best(&format!("{megabits} Mbit/s"), purpose, &methods, &size, progress)?;
            let mut results = Vec::new();
            for seed in &size.seeds {
                progress.stage(format!("{megabits} Mbit/s: seed {seed}"));
                let built: Result<Vec<_>, _> =
                    designs.iter().map(|design| design.build(octets, target, *seed)).collect();
                let contest = Contest {
                    profile: &profile,
                    seed: *seed,
                    flow: FlowOf::FiveTuple,
                    target,
                    seconds: &seconds,
                };
                results.push(contest.run(built?, progress));
            }
            Ok(Measured { designs: methods.into_iter().zip(designs).collect(), results })
        },
        |measured| table(measured, &size),
    )?;
    Ok(Outcome {
        name: "hh-fig33",
        title: "Control traffic (thesis, figure 33)".into(),
        conditions: vec![
            ("trace", format!("{}, {} s", size.traces_in_words("backbone (like CAIDA16)"), seconds[0])),
            ("memory", format!("{MEMORY} KiB, which polling transfers in full each time")),
            ("report", format!("{REPORT} octets: the 5-tuple of an IPv4 flow")),
            ("seeds", size.seeds_in_words()),
        ],
        table: table(&measured, &size),
        goals: size.goals(goals(&measured, &size)),
        notes: vec![
            "The thesis: two orders of magnitude below polling at 1 Mbit/s. First reports are those of flows that were not reported before; \
             a flow is reported again when it becomes heavy again. The delay is from the packet with which a sliding second is heavy \
             to the report; a report that comes before counts as none. At 5 Mbit/s a running UPF has units of 4 packets, at 10 Mbit/s of 8; which packets have one is \
             drawn by chance. A detector that cannot count up to a threshold has no row there: the P4 block at 10 Mbit/s, and units of one packet, which at 1 Mbit/s \
             are those of a running UPF.".into(),
            size.note(),
            COMPETITORS.into(),
        ],
        charts: Vec::new(),
        details: vec![("Search".into(), search.table())],
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

fn table(measured: &[Measured], size: &Size) -> Table {
    let mut table = Table::new(vec![
        Column::of("threshold", "Mbit/s"),
        Column::new("how"),
        Column::new("numbers"),
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
    for ((megabits, _), Measured { designs, results }) in THRESHOLDS.iter().zip(measured) {
        for interval in INTERVALS {
            let how = format!("polling, each {interval} s");
            let rate = memory / f64::from(interval) / 1e3;
            let none = || Cell::Missing;
            table.row([
                Cell::Count(*megabits),
                how.into(),
                none(),
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
        for (place, (method, design)) in designs.iter().enumerate() {
            let [reports, first, median, most] = figures(results, place, size.seconds[2]);
            let score = |of: fn(&Score) -> f64| -> Spread {
                results.iter().filter_map(|results| results.scores.get(place)?.last()).map(of).collect()
            };
            table.row([
                Cell::Count(*megabits),
                method.name().into(),
                Cell::Text(design.to_string()),
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

fn goals(measured: &[Measured], size: &Size) -> Vec<Goal> {
    let mut goals = Vec::new();
    let memory = size.octets(MEMORY) as f64;
    for ((megabits, times), Measured { designs, results }) in THRESHOLDS.iter().zip(measured) {
        let Some(place) = designs.iter().position(|(method, _)| *method == Method::Sliding) else { continue };
        let [_, first, median, most] = figures(results, place, size.seconds[2]);
        let name = |what: &str| format!("{what}, Causeway, {megabits} Mbit/s, each seed");
        let found = memory / (first.most() * REPORT).max(1e-9);
        let below = |times| Goal::at_least(&name("first reports below polling"), times, found, "times");
        goals.extend(times.map(below));
        if *megabits == 1 {
            goals.push(Goal::at_most(&name("delay, median"), 20.0, median.most(), "ms"));
            goals.push(Goal::at_most(&name("delay, 90 %"), 400.0, most.most(), "ms"));
        }
    }
    goals
}
