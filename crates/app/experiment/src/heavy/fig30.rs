//! Figure 30: heavy hitters that are missed because windows are disjoint.

use causeway_show::{Cell, Column, Progress, Table};

use super::contest::{Contest, FlowOf, Score};
use super::design::{Method, Target};
use super::trace::Profile;
use super::truth::Amount;
use super::tuning::{Purpose, Search};
use super::{COMPETITORS, Size, methods};
use crate::ExperimentError;
use crate::cli::Common;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;
use crate::spread::Spread;

/// The memory in KiB: so much that what is missed is missed because of windows.
const MEMORY: usize = 2048;

const PROFILES: [Profile; 3] = [Profile::BACKBONE, Profile::WIDE, Profile::DATA_CENTRE];

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when a method's name is unknown, or results cannot be written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let size = Size::of(common)?;
    let methods = methods(common)?;
    let target = Target::megabits(Amount::Packets, 1);
    let seconds = [size.seconds[2]];
    let profiles = size.profiles(&PROFILES);
    let mut search = Search::default();
    // For each profile, method and seed.
    let measured: Vec<Vec<Vec<Score>>> = rows.measure(
        &profiles,
        |profile| {
            let (name, profile) = (profile.name, size.profile(*profile));
            let octets = size.octets(MEMORY);
            let purpose = Purpose { profile: &profile, flow: FlowOf::FiveTuple, target, octets };
            let designs = search.best(name, purpose, &methods, &size, progress)?;
            let mut scores = vec![Vec::new(); methods.len()];
            for seed in &size.seeds {
                progress.stage(format!("{name}: seed {seed}"));
                let built: Result<Vec<_>, _> =
                    designs.iter().map(|design| design.build(octets, target, *seed)).collect();
                let contest = Contest {
                    profile: &profile,
                    seed: *seed,
                    flow: FlowOf::FiveTuple,
                    target,
                    seconds: &seconds,
                };
                let results = contest.run(built?, progress);
                for (scores, found) in scores.iter_mut().zip(results.scores) {
                    scores.push(found.last().copied().unwrap_or_default());
                }
            }
            Ok(scores)
        },
        |measured| table(&methods, &profiles, measured),
    )?;
    Ok(Outcome {
        name: "hh-fig30",
        title: "Heavy hitters missed because of windows (thesis, figure 30)".into(),
        conditions: vec![
            ("traces", size.traces_in_words("as many packets and flows as CAIDA16, MAWI20 and IMC10")),
            ("heavy", "at least 125 packets in any second".into()),
            ("memory", format!("{MEMORY} KiB, so that little is missed for want of it")),
            ("time", format!("{} s", seconds[0])),
            ("seeds", size.seeds_in_words()),
        ],
        table: table(&methods, &profiles, &measured),
        goals: size.goals(goals(&methods, &measured)),
        notes: vec![
            "The thesis has 0.2 to 5 % for its detector, and up to 20 % for others; it does not say how many of the reports were wrong.".into(),
            size.note(),
            COMPETITORS.into(),
        ],
        charts: Vec::new(),
        details: vec![("Search".into(), search.table())],
    })
}

fn missed(scores: &[Score]) -> Spread {
    scores.iter().map(|score| (1.0 - score.recall()) * 100.0).collect()
}

fn table(methods: &[Method], profiles: &[Profile], measured: &[Vec<Vec<Score>>]) -> Table {
    let mut columns = vec![Column::new("detector")];
    for profile in profiles.iter().take(measured.len()) {
        columns.push(Column::of(&format!("missed, {}", profile.name), "%"));
        columns.push(Column::of("all seeds", "%"));
        columns.push(Column::of("wrong reports", "%"));
    }
    let mut table = Table::new(columns);
    for (place, method) in methods.iter().enumerate() {
        let mut cells: Vec<Cell> = vec![method.name().into()];
        for scores in measured.iter().filter_map(|profile| profile.get(place)) {
            let wrong: Spread = scores.iter().map(|score| (1.0 - score.precision()) * 100.0).collect();
            cells.extend([missed(scores).cell(2), missed(scores).range(2), wrong.cell(2)]);
        }
        table.row(cells);
    }
    table
}

fn goals(methods: &[Method], measured: &[Vec<Vec<Score>>]) -> Vec<Goal> {
    let place = |wanted: Method| methods.iter().position(|method| *method == wanted);
    let mut goals = Vec::new();
    for (profile, all) in PROFILES.iter().zip(measured) {
        let of = |method: Method| place(method).and_then(|place| all.get(place)).map(|scores| missed(scores));
        let Some(ours) = of(Method::Sliding) else { continue };
        goals.push(Goal::at_most(&format!("missed, {}, each seed", profile.name), 3.0, ours.most(), "%"));
        let Some(exact) = of(Method::Exact) else { continue };
        let ratio = ours.0.iter().zip(&exact.0).map(|(ours, exact)| ours / exact).fold(0.0, f64::max);
        let goal = format!(
            "missed, {}, as a part of what exact counts in disjoint seconds miss, each seed",
            profile.name
        );
        goals.push(Goal::at_most(&goal, 0.999, ratio, ""));
    }
    goals
}
