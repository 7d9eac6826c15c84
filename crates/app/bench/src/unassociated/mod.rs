//! Unwanted PFCP datagrams, in memory: the cost of each for N4, compared with those of an SMF, and the state that remains.
//!
//! Datagrams are created in chunks while the clock is stopped. All kinds take turns, so that the ratio to valid ones does not depend
//! on other work of the host.

mod kinds;
mod world;

use clap::Args;
use kinds::Kind;
use world::Environment;

use crate::kit::{Count, CpuTimer, Progress, Samples, count, resident_memory, within};
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::{BenchError, Common};

/// Datagrams that are measured as one.
const CHUNK: u32 = 256;

/// What to measure.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Sessions that an SMF has meanwhile
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().sessions)]
    pub sessions: Vec<Count>,
    /// Datagrams of each kind
    #[arg(long, value_name = "N", default_value_t = Options::default().datagrams)]
    pub datagrams: Count,
}

impl Default for Options {
    fn default() -> Self {
        Self { sessions: vec![count(10_000)], datagrams: count(100_000) }
    }
}

/// Measures all kinds of datagrams.
///
/// # Errors
/// [`BenchError`], for example when a number is out of range or a request of the SMF is not accepted.
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    let mut options = options.clone();
    if common.quick {
        (options.sessions, options.datagrams) = (vec![count(1000)], count(512));
    }
    within("--sessions", options.sessions.iter().map(|count| count.0), 1..=4_000_000)?;
    within("--datagrams", [options.datagrams.0], 256..=100_000_000)?;
    let conditions = Conditions::here(IoCost::Net)
        .with("N4", "requests and responses in memory; a data plane that accepts every plan")
        .with("senders", "an SMF if named, else one host without association, or a new one each time")
        .with("datagrams", format!("{} of each kind, interleaved", options.datagrams));
    let title = "Unassociated peers: unwanted PFCP datagrams, compared with those of an SMF";
    let mut report = Report::new("unassociated-peers", title, conditions, columns());
    let mut progress = Progress::new();
    for sessions in &options.sessions {
        progress.stage(format!("unassociated-peers: {sessions} sessions"));
        measure(*sessions, options.datagrams.0, &mut report)?;
    }
    Ok(vec![report])
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("sessions"),
        Column::new("datagrams"),
        Column::of("size", "B"),
        Column::of("p10", "ns"),
        Column::of("median", "ns"),
        Column::of("of good ones", "times"),
        Column::of("answers", "each"),
        Column::of("answered", "B"),
    ]
}

/// What was measured of one kind.
struct Flood {
    kind: Kind,
    cost: Samples,
    sent: u64,
    octets: u64,
    answers: u64,
    answered: u64,
}

fn measure(sessions: Count, datagrams: u64, report: &mut Report) -> Result<(), BenchError> {
    // It is checked: below 2^32.
    let mut world = Environment::new(sessions.0 as u32)?;
    let flood = |kind| Flood { kind, cost: Samples::default(), sent: 0, octets: 0, answers: 0, answered: 0 };
    let mut floods = Kind::ALL.map(flood);
    let (mut turn, mut resident) = (0, None);
    while floods.iter().any(|flood| flood.sent < datagrams) {
        for flood in &mut floods {
            flood.step(&mut world, turn)?;
            turn += CHUNK;
        }
        // Tables and buffers have their size when each kind has had a turn or two.
        if resident.is_none() && floods.iter().all(|flood| flood.sent >= datagrams / 2) {
            resident = resident_memory();
        }
    }
    let median = |flood: &Flood| flood.cost.summary().map_or(0.0, |summary| summary.median);
    let good = floods.first().map_or(0.0, median);
    for flood in &floods {
        let each = |of: u64| of as f64 / flood.sent.max(1) as f64;
        report.row([
            sessions.into(),
            flood.kind.name().into(),
            Cell::Number(each(flood.octets), 0),
            flood.cost.summary().map(|summary| Cell::nanos(summary.p10)).into(),
            flood.cost.summary().map(|summary| Cell::nanos(summary.median)).into(),
            Cell::Number(median(flood) / good.max(0.1), 2),
            Cell::Number(each(flood.answers), 1),
            Cell::Number(each(flood.answered), 0),
        ]);
    }
    let grown = resident_memory().zip(resident).map(|(now, before)| now.saturating_sub(before) / 1024);
    let grown = grown.map_or_else(|| "an unknown amount".into(), |kib| format!("{kib} KiB"));
    let occupancy = world.occupancy();
    report.note(format!(
        "{sessions} sessions: in the second half of it the process grew by {grown}; at the end there are {} associations, and {} \
         requests are remembered.",
        occupancy.associations, occupancy.remembered_requests
    ));
    Ok(())
}

impl Flood {
    /// A chunk of its datagrams through N4.
    fn step(&mut self, world: &mut Environment, turn: u32) -> Result<(), BenchError> {
        let datagrams: Vec<_> =
            (turn..turn + CHUNK).map(|turn| self.kind.datagram(turn, world.seid(turn))).collect();
        let timer = CpuTimer::start();
        let answers = world.serve(&datagrams);
        self.cost.add(timer.elapsed().as_secs_f64() * 1e9 / f64::from(CHUNK));
        self.sent += u64::from(CHUNK);
        self.octets += datagrams.iter().map(|(_, octets)| octets.len() as u64).sum::<u64>();
        self.answers += answers.len() as u64;
        self.answered += answers.iter().map(|octets| octets.len() as u64).sum::<u64>();
        if self.kind == Kind::Establishment {
            world.end(&answers, turn)?;
        }
        world.recycle(answers);
        Ok(())
    }
}
