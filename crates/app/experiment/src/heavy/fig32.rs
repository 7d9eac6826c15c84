//! Figure 32: other traces, and other definitions of a flow.

use causeway_show::{Cell, Column, Progress, Table};

use super::contest::{Contest, FlowOf, Score};
use super::design::{Method, Target};
use super::trace::Profile;
use super::truth::Amount;
use super::tuning::{Purpose, Search};
use super::{COMPETITORS, Size, methods};
use crate::ExperimentError;
use crate::cli::Common;
use crate::outcome::Outcome;
use crate::row_writer::Rows;
use crate::spread::Spread;

/// The memory in KiB.
const MEMORY: usize = 144;

/// The traces with what a flow is.
const CASES: [(Profile, FlowOf); 7] = [
    (Profile::BACKBONE, FlowOf::Source),
    (Profile::BACKBONE, FlowOf::Destination),
    (Profile::WIDE, FlowOf::FiveTuple),
    (Profile::WIDE, FlowOf::Source),
    (Profile::DATA_CENTRE, FlowOf::FiveTuple),
    (Profile::DATA_CENTRE, FlowOf::Source),
    (Profile::DATA_CENTRE, FlowOf::Destination),
];

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when a method's name is unknown, or results cannot be written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let size = Size::of(common)?;
    let methods = methods(common)?;
    let target = Target::megabits(Amount::Packets, 1);
    let seconds = [size.seconds[1]];
    let cases = match size.given {
        Some(given) => FlowOf::ALL.map(|flow| (given, flow)).to_vec(),
        None => CASES.to_vec(),
    };
    let mut search = Search::default();
    let measured: Vec<Vec<Vec<Score>>> = rows.measure(
        &cases,
        |(profile, flow)| {
            let (name, profile) = (format!("{}, {}", profile.name, flow.name()), size.profile(*profile));
            let octets = size.octets(MEMORY);
            let purpose = Purpose { profile: &profile, flow: *flow, target, octets };
            let designs = search.best(&name, purpose, &methods, &size, progress)?;
            let mut scores = vec![Vec::new(); methods.len()];
            for seed in &size.seeds {
                progress.stage(format!("{name}: seed {seed}"));
                let built: Result<Vec<_>, _> =
                    designs.iter().map(|design| design.build(octets, target, *seed)).collect();
                let contest =
                    Contest { profile: &profile, seed: *seed, flow: *flow, target, seconds: &seconds };
                let results = contest.run(built?, progress);
                for (scores, found) in scores.iter_mut().zip(results.scores) {
                    scores.push(found.last().copied().unwrap_or_default());
                }
            }
            Ok(scores)
        },
        |measured| table(&methods, &cases, measured),
    )?;
    Ok(Outcome {
        name: "hh-fig32",
        title: "Other traces, and other definitions of a flow (thesis, figure 32)".into(),
        conditions: vec![
            ("traces", size.traces_in_words("as many packets and flows as CAIDA16, MAWI20 and IMC10")),
            ("heavy", "at least 125 packets in any second".into()),
            ("memory", format!("{MEMORY} KiB")),
            ("time", format!("{} s", seconds[0])),
            ("seeds", size.seeds_in_words()),
        ],
        table: table(&methods, &cases, &measured),
        goals: Vec::new(),
        notes: vec![
            "The thesis has \"high accuracy\" for both other traces, without figures in its text.".into(),
            size.note(),
            COMPETITORS.into(),
        ],
        charts: Vec::new(),
        details: vec![("Search".into(), search.table())],
    })
}

fn table(methods: &[Method], cases: &[(Profile, FlowOf)], measured: &[Vec<Vec<Score>>]) -> Table {
    let mut table = Table::new(
        ["trace", "flow", "detector", "precision", "recall", "F1", "F1, all seeds"].map(Column::new).into(),
    );
    for ((profile, flow), all) in cases.iter().zip(measured) {
        for (method, scores) in methods.iter().zip(all) {
            let spread = |of: fn(&Score) -> f64| -> Spread { scores.iter().map(of).collect() };
            let cells: [Cell; 7] = [
                profile.name.into(),
                flow.name().into(),
                method.name().into(),
                spread(Score::precision).cell(3),
                spread(Score::recall).cell(3),
                spread(Score::f1).cell(3),
                spread(Score::f1).range(3),
            ];
            table.row(cells);
        }
    }
    table
}
