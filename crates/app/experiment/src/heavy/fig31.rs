//! Figure 31: precision and recall by memory and measuring time.

use causeway_show::{Cell, Chart, Column, Curve, Progress, Table};
use causeway_traffic::FlowKeys;
use causeway_types::{Span, Time};

use super::contest::{Contest, FlowOf, Score};
use super::design::{Design, Method, Seen, Target, block_octets};
use super::trace::Profile;
use super::truth::Amount;
use super::tuning::{Purpose, Search};
use super::{COMPETITORS, Size, methods};
use crate::ExperimentError;
use crate::cli::Common;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;
use crate::spread::Spread;

/// Memories in KiB. The thesis has 18 to 144 and more.
const MEMORIES: [usize; 4] = [18, 36, 72, 144];

/// Precision and recall of the thesis at 144 KB, on a capture.
const THESIS: [f64; 2] = [0.92, 0.95];

/// A method in a memory: its numbers, and for each seed its score after each time.
#[derive(Clone, Debug)]
struct Entry {
    method: Method,
    design: Design,
    memory: usize,
    scores: Vec<Vec<Score>>,
}

impl Entry {
    fn spread(&self, time: usize, of: fn(&Score) -> f64) -> Spread {
        self.scores.iter().filter_map(|scores| scores.get(time)).map(of).collect()
    }
}

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when a method's name is unknown, or results cannot be written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let size = Size::of(common)?;
    let methods = methods(common)?;
    let target = Target::megabits(Amount::Packets, 1);
    let profile = size.profile(Profile::BACKBONE);
    let mut search = Search::default();
    let measured = rows.measure(
        &MEMORIES,
        |memory| {
            let octets = size.octets(*memory);
            let purpose = Purpose { profile: &profile, flow: FlowOf::FiveTuple, target, octets };
            let designs = search.best(&format!("{memory} KiB"), purpose, &methods, &size, progress)?;
            let mut entries: Vec<Entry> = methods
                .iter()
                .zip(designs)
                .map(|(method, design)| Entry {
                    method: *method,
                    design,
                    memory: *memory,
                    scores: Vec::new(),
                })
                .collect();
            for seed in &size.seeds {
                progress.stage(format!("{memory} KiB: seed {seed}"));
                let built: Result<Vec<_>, _> =
                    entries.iter().map(|entry| entry.design.build(octets, target, *seed)).collect();
                let contest = Contest {
                    profile: &profile,
                    seed: *seed,
                    flow: FlowOf::FiveTuple,
                    target,
                    seconds: &size.seconds,
                };
                let results = contest.run(built?, progress);
                entries.iter_mut().zip(results.scores).for_each(|(entry, scores)| entry.scores.push(scores));
            }
            Ok(entries)
        },
        |measured| table(&measured.concat(), &size),
    )?;
    let all = measured.concat();
    let conditions = conditions(common, &size, progress)?;
    let mut goals = goals(&all, &size);
    goals.extend(conditions.1);
    Ok(Outcome {
        name: "hh-fig31",
        title: "Precision and recall by memory (thesis, figure 31)".into(),
        conditions: vec![
            ("trace", size.traces_in_words(&format!("{} (like {})", profile.name, profile.like))),
            ("heavy", "at least 125 packets in any second: 1 Mbit/s in packets of 1000 octets".into()),
            ("scores", "sets of flows over the whole time".into()),
            ("seeds", size.seeds_in_words()),
        ],
        table: table(&all, &size),
        goals: size.goals(goals),
        notes: vec![size.note(), COMPETITORS.into()],
        charts: size
            .seconds
            .iter()
            .enumerate()
            .map(|(time, seconds)| {
                (["short", "medium", "long"][time.min(2)], chart(&all, time, *seconds).into())
            })
            .collect(),
        details: vec![
            ("Causeway under other conditions".into(), conditions.0),
            ("One flow alone: reports in 20 s".into(), one_flow(&methods, target)?),
            ("Search".into(), search.table()),
        ],
    })
}

fn table(entries: &[Entry], size: &Size) -> Table {
    let mut columns: Vec<Column> = vec![
        Column::new("detector"),
        Column::new("numbers"),
        Column::of("memory", "KiB"),
        Column::of("time", "s"),
    ];
    columns.extend(["precision", "recall", "F1", "F1, all seeds", "thesis' P", "thesis' R"].map(Column::new));
    let mut table = Table::new(columns);
    for entry in entries {
        for (time, seconds) in size.seconds.iter().enumerate() {
            let thesis = (entry.method == Method::Published && entry.memory == 144).then_some(THESIS);
            let [precision, recall] =
                [0, 1].map(|place| thesis.map(|thesis| Cell::Number(thesis[place], 2)).into());
            let f1 = entry.spread(time, Score::f1);
            table.row([
                entry.method.name().into(),
                Cell::Text(entry.design.to_string()),
                Cell::Count(entry.memory as u64),
                Cell::Count((*seconds).into()),
                entry.spread(time, Score::precision).cell(3),
                entry.spread(time, Score::recall).cell(3),
                f1.cell(3),
                f1.range(3),
                precision,
                recall,
            ]);
        }
    }
    table
}

fn goals(entries: &[Entry], size: &Size) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (memory, limit) in [(36, 0.95), (18, 0.80)] {
        let entry = entries.iter().find(|entry| entry.method == Method::Sliding && entry.memory == memory);
        for time in [1, 2] {
            let Some((entry, seconds)) = entry.zip(size.seconds.get(time)) else { continue };
            let least = entry.spread(time, Score::f1).least();
            goals.push(Goal::at_least(
                &format!("F1 in {memory} KiB, {seconds} s, each seed"),
                limit,
                least,
                "",
            ));
        }
    }
    goals
}

/// The designs that goals are about, with their memories in KiB: fixed, so that their figures are those of one detector. The P4 block has the
/// memory that it has on a switch.
const OURS: [(Method, Design, usize, [f64; 2]); 3] = [
    (Method::Sliding, Design::Sliding(4, 4, causeway_traffic::Placement::Apart), 144, [0.99, 0.965]),
    (Method::Switch, Design::Switch(2, 4), 144, [0.99, 0.95]),
    (Method::Block, Design::Block, block_octets() / 1024, [0.99, 0.95]),
];

/// The flows of [`one_flow`]: their name, the packets of a burst, and microseconds between two bursts.
const ALONE: [(&str, u64, u64); 5] = [
    ("0.2 Mbit/s", 1, 40_000),
    ("0.3 Mbit/s", 1, 26_667),
    ("0.5 Mbit/s", 1, 16_000),
    ("0.67 Mbit/s, five each 60 ms", 5, 60_000),
    ("2 Mbit/s", 1, 4000),
];
/// Microseconds between the packets of a burst.
const IN_BURST: u64 = 120;
/// Microseconds that each of them lasts.
const ALONE_FOR: u64 = 20_000_000;

/// What single flows of packets of 1000 octets are reported for, below the threshold and above: HK-IPG and ours.
fn one_flow(methods: &[Method], target: Target) -> Result<Table, ExperimentError> {
    let flows = ALONE.map(|(name, ..)| Column::new(name));
    let mut table = Table::new(std::iter::once(Column::new("detector")).chain(flows).collect());
    let designs = [
        (Method::Published, Design::Published(0.99, 0.001, 1850)),
        (Method::Simulator, Design::Simulator(0.99, 0.001)),
        (Method::Program, Design::Program(0.0125)),
        (Method::Settled, Design::Settled(0.99, 0.001)),
        (Method::Sliding, Design::Sliding(4, 4, causeway_traffic::Placement::Apart)),
        (Method::Switch, Design::Switch(2, 4)),
        (Method::Block, Design::Block),
    ];
    for (method, design) in designs.iter().filter(|(method, _)| methods.contains(method)) {
        let mut cells: Vec<Cell> = vec![method.name().into()];
        for (_, packets, gap) in ALONE {
            let mut detector = design.build(16 << 10, target, 3)?;
            let key = FlowKeys::with_seed(3).rule_pair(1, 0);
            let bursts = (0..ALONE_FOR / gap)
                .flat_map(|burst| (0..packets).map(move |packet| burst * gap + packet * IN_BURST));
            let reports = bursts.filter(|micros| {
                let time = Time::from_secs(50) + Span::from_micros(*micros);
                detector.observe(&Seen { flow: 1, key, octets: 1000, time })
            });
            cells.push(Cell::Count(reports.count() as u64));
        }
        table.row(cells);
    }
    Ok(table)
}

/// Our forms with other shares of bursty flows, by packets and by octets, and the P4 block in its own window, too.
fn conditions(
    common: &Common,
    size: &Size,
    progress: &mut Progress,
) -> Result<(Table, Vec<Goal>), ExperimentError> {
    let wanted = methods(common)?;
    let mut columns = vec![
        Column::new("detector"),
        Column::of("memory", "KiB"),
        Column::of("bursty flows", "%"),
        Column::new("counted"),
        Column::of("window", "ms"),
        Column::of("time", "s"),
    ];
    columns.extend(["precision", "P, all seeds", "recall", "R, all seeds", "F1"].map(Column::new));
    let mut table = Table::new(columns);
    let mut goals = Vec::new();
    let packets = Target::megabits(Amount::Packets, 1);
    let targets = [packets, Target::megabits(Amount::Octets, 1), packets.in_block_window()];
    // The share of bursty flows of a user's trace is what it is.
    let shares: &[f64] = if size.given.is_some() { &[] } else { &[0.0, 0.5, 0.9] };
    for (bursty, target) in
        shares.iter().flat_map(|bursty| targets.iter().map(move |target| (bursty, *target)))
    {
        let counts = |method: Method| match target.amount {
            Amount::Octets => method.counts_octets(),
            Amount::Packets => target == packets || method == Method::Block,
        };
        let ours: Vec<_> =
            OURS.iter().filter(|(method, ..)| wanted.contains(method) && counts(*method)).collect();
        if ours.is_empty() {
            continue;
        }
        let profile = size.profile(Profile::BACKBONE).with_bursty(*bursty);
        let window = target.window.as_millis();
        let counted = match target.amount {
            Amount::Packets => "packets",
            Amount::Octets => "octets",
        };
        let mut scores: Vec<Vec<Vec<Score>>> = vec![Vec::new(); ours.len()];
        for seed in &size.seeds {
            progress.stage(format!("{} % bursty, {counted} in {window} ms: seed {seed}", bursty * 100.0));
            let built: Result<Vec<_>, _> = ours
                .iter()
                .map(|(_, design, memory, _)| design.build(size.octets(*memory), target, *seed))
                .collect();
            let seconds = &size.seconds[1..];
            let contest =
                Contest { profile: &profile, seed: *seed, flow: FlowOf::FiveTuple, target, seconds };
            let results = contest.run(built?, progress);
            scores.iter_mut().zip(results.scores).for_each(|(all, scores)| all.push(scores));
        }
        for ((method, _, memory, limits), scores) in ours.iter().zip(&scores) {
            for (time, seconds) in size.seconds.iter().skip(1).enumerate() {
                let spread = |of: fn(&Score) -> f64| -> Spread {
                    scores.iter().filter_map(|scores| scores.get(time)).map(of).collect()
                };
                let (precision, recall) = (spread(Score::precision), spread(Score::recall));
                let name = format!(
                    "{}, {memory} KiB, {} % bursty, {counted} in {window} ms, {seconds} s, each seed",
                    method.name(),
                    bursty * 100.0
                );
                goals.push(Goal::at_least(&format!("precision, {name}"), limits[0], precision.least(), ""));
                goals.push(Goal::at_least(&format!("recall, {name}"), limits[1], recall.least(), ""));
                table.row([
                    method.name().into(),
                    Cell::Count(*memory as u64),
                    Cell::Number(bursty * 100.0, 0),
                    counted.into(),
                    Cell::Number(target.window.as_secs_f64() * 1e3, 0),
                    Cell::Count((*seconds).into()),
                    precision.cell(4),
                    precision.range(4),
                    recall.cell(4),
                    recall.range(4),
                    spread(Score::f1).cell(4),
                ]);
            }
        }
    }
    Ok((table, goals))
}

fn chart(entries: &[Entry], time: usize, seconds: u32) -> Chart {
    let curve = |method: &Method| Curve {
        name: method.name().into(),
        points: entries
            .iter()
            .filter(|entry| entry.method == *method)
            .map(|entry| (entry.memory as f64, entry.spread(time, Score::f1).mean()))
            .collect(),
        is_dashed: matches!(method, Method::Published | Method::Simulator | Method::Program | Method::Exact),
    };
    Chart {
        title: format!("F1 by memory, {seconds} s"),
        x: "memory, KiB".into(),
        is_logarithmic: false,
        y: "F1".into(),
        curves: Method::ALL.iter().map(curve).filter(|curve| !curve.points.is_empty()).collect(),
    }
}
