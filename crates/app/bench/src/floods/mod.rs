//! Unwanted packets, in memory: the cost of each kind, compared with valid ones.
//!
//! As in `pipeline`, packets are created while the clock is stopped. All kinds take turns, so that the ratio to valid packets of the
//! same direction does not depend on other work of the host.

mod malform;
mod packet_kinds;

use std::time::Duration;

use clap::Args;
use packet_kinds::Kind;

use crate::kit::{Count, MAX_TIME_MS, Progress, Samples, count, within};
use crate::pipeline::{BenchSetup, Direction, Mix, Size};
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::world::{self, Backend, Founding, Populated, Population, Rules, Shape};
use crate::{BenchError, Common};

/// What to measure.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Sessions; each packet is of a random one, or names one
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().sessions)]
    pub sessions: Vec<Count>,
    /// What sessions have beside PDRs and FARs
    #[arg(long, value_enum, default_value_t = Options::default().rules)]
    pub rules: Rules,
    /// Only kinds of packets in whose names one of these occurs, beside good ones
    #[arg(long, value_delimiter = ',', value_name = "WORDS")]
    pub kinds: Vec<String>,
    /// Milliseconds of CPU time for each row
    #[arg(long, value_name = "MS", default_value_t = Options::default().time)]
    pub time: u64,
    /// Exactly so many packets for each row, rounded up to whole chunks of 1024, however long it takes
    #[arg(long, value_name = "N")]
    pub packets: Option<Count>,
}

impl Default for Options {
    fn default() -> Self {
        Self { sessions: vec![count(10_000)], rules: Rules::Full, kinds: vec![], time: 300, packets: None }
    }
}

/// Measures all kinds of packets.
///
/// # Errors
/// [`BenchError`], for example when a number is out of range or good packets do not get through.
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    let mut options = options.clone();
    if common.quick {
        (options.sessions, options.time) = (vec![count(1000)], 1);
        options.packets = None;
    }
    world::check_sessions(&options.sessions)?;
    within("--time", [options.time], 1..=MAX_TIME_MS)?;
    let is_known = |words: &&String| Kind::ALL.iter().any(|kind| kind.name().contains(&***words));
    if let Some(words) = options.kinds.iter().find(|words| !is_known(words)) {
        return Err(BenchError::NoSuchKind(words.clone()));
    }
    let conditions = Conditions::here(IoCost::Net)
        .with(
            "packets",
            "of the named kind, each of a random session; good ones are UDP over IPv4, 64 octets; UEs have IPv6, too",
        )
        .with("time", format!("{} ms of CPU time for each row, interleaved", options.time));
    let title = "Floods: unwanted packets, compared with good ones";
    let mut report = Report::new("floods", title, conditions, columns());
    let mut progress = Progress::new();
    for sessions in &options.sessions {
        measure(*sessions, &options, common, &mut progress, &mut report)?;
    }
    Ok(vec![report])
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("sessions"),
        Column::new("direction"),
        Column::new("packets"),
        Column::of("p10", "ns"),
        Column::of("median", "ns"),
        Column::of("of good ones", "times"),
        Column::of("forwarded", "%"),
        Column::of("slow path", "%"),
    ]
}

/// Packets of one kind, with what was measured of them so far.
struct Flood {
    kind: Kind,
    packets: Samples,
    used: Duration,
    sent: u64,
    forwarded: u64,
    hot: u64,
}

fn measure(
    sessions: Count,
    options: &Options,
    common: &Common,
    progress: &mut Progress,
    report: &mut Report,
) -> Result<(), BenchError> {
    progress.stage(format!("floods: {sessions} sessions"));
    let mut bench = BenchSetup::new(common.seed);
    let shape = Shape::dual(options.rules);
    // It is checked: below 2^24.
    let number = sessions.0 as u32;
    let founding = Founding { backend: Backend::Fastpath, sessions: number, shape: &shape, now: bench.now() };
    let mut population = match founding.populate(progress)? {
        Populated::Done(population) => population,
        Populated::TooLarge(why) => {
            report.skip(format_args!("{sessions} sessions"), why);
            return Ok(());
        }
    };
    for way in [Direction::Uplink, Direction::Downlink] {
        bench.warm_up(&mut population, Mix { way, size: Size::Small, pdrs: 1 })?;
    }
    let is_wanted = |kind: &Kind| {
        let kinds = &options.kinds;
        kind.is_good() || kinds.is_empty() || kinds.iter().any(|words| kind.name().contains(&**words))
    };
    let mut floods: Vec<_> = Kind::ALL
        .iter()
        .filter(|kind| is_wanted(kind))
        .map(|kind| Flood {
            kind: *kind,
            packets: Samples::default(),
            used: Duration::ZERO,
            sent: 0,
            forwarded: 0,
            hot: 0,
        })
        .collect();
    let is_pending = |flood: &Flood| match options.packets {
        Some(packets) => flood.sent < packets.0,
        None => flood.used < Duration::from_millis(options.time),
    };
    while floods.iter().any(is_pending) {
        for flood in floods.iter_mut().filter(|flood| is_pending(flood)) {
            flood.step(&mut bench, &mut population)?;
        }
    }
    let medians = |flood: &Flood| flood.packets.summary().map_or(0.0, |summary| summary.median);
    for flood in &floods {
        let good = floods.iter().find(|other| other.kind.is_good() && other.kind.way() == flood.kind.way());
        let share = |of: u64| Cell::Number(of as f64 * 100.0 / flood.sent.max(1) as f64, 1);
        report.row([
            sessions.into(),
            flood.kind.way().to_string().into(),
            flood.kind.name().into(),
            flood.packets.summary().map(|summary| Cell::nanos(summary.p10)).into(),
            flood.packets.summary().map(|summary| Cell::nanos(summary.median)).into(),
            good.map(|good| Cell::Number(medians(flood) / medians(good).max(0.1), 1)).into(),
            share(flood.forwarded),
            share(flood.sent - flood.hot.min(flood.sent)),
        ]);
    }
    Ok(())
}

impl Flood {
    /// A chunk of its packets through the data plane.
    fn step(&mut self, bench: &mut BenchSetup, population: &mut Population) -> Result<(), BenchError> {
        let mix = Mix { way: self.kind.way(), size: Size::Small, pdrs: 1 };
        bench.fill(mix, &population.teids, |frame, random| self.kind.spoil(frame, random))?;
        let before = (population.worker.counters().forwarded, population.worker.fast_path_packets());
        let (sent, elapsed) = bench.run(population);
        self.used += elapsed;
        self.packets.add(elapsed.as_secs_f64() * 1e9 / sent as f64);
        self.sent += sent;
        self.forwarded += population.worker.counters().forwarded - before.0;
        self.hot += population.worker.fast_path_packets() - before.1;
        population.worker.forget_events();
        Ok(())
    }
}
