//! The memory of sessions, without and with packets, and the time to set them up.

use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use crate::kit::{Count, Progress, count};
use crate::pipeline::{BenchSetup, Direction, Mix, Size};
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::world::{self, Backend, Founding, Populated, Rules, Shape};
use crate::{BenchError, Common, separate_process};

/// Every list is measured in all combinations with the others.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Data planes
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().backend)]
    pub backend: Vec<Backend>,
    /// Sessions
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().sessions)]
    pub sessions: Vec<Count>,
    /// PDRs of each direction, distinguished by SDF filters
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().pdrs)]
    pub pdrs: Vec<u16>,
    /// Rules of sessions in addition to PDRs and FARs
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().rules)]
    pub rules: Vec<Rules>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            backend: vec![Backend::Fastpath],
            sessions: vec![count(10_000), count(100_000), count(1_000_000)],
            pdrs: vec![1],
            rules: vec![Rules::Full],
        }
    }
}

/// One row.
#[derive(Clone, Copy)]
struct Case {
    backend: Backend,
    sessions: Count,
    pdrs: u16,
    rules: Rules,
}

/// Measures all combinations. Each of several runs in a separate process: memory that a process returned to its allocator
/// would make the next figure too low.
///
/// # Errors
/// [`BenchError`], for example when a number is out of range.
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    world::check_sessions(&options.sessions)?;
    world::check_pdrs(&options.pdrs)?;
    let cases = if common.quick { vec![QUICK] } else { cases(options) };
    let conditions = Conditions::here(IoCost::Net).with(
        "memory",
        "growth of the resident memory of the process, without the session state of N4 and the rules",
    );
    let title = "Memory: memory of sessions, and time to set them up";
    let mut report = Report::new("memory", title, conditions, columns());
    let mut progress = Progress::new();
    for case in &cases {
        progress.stage(format!("memory: {} sessions in {}", case.sessions, case.backend));
        match cases.len() {
            1 => case.measure(common, &mut progress, &mut report)?,
            _ => separate_process::measure("memory", &case.flags(), common, &mut report)?,
        }
    }
    Ok(vec![report])
}

const QUICK: Case = Case { backend: Backend::Fastpath, sessions: Count(1000), pdrs: 1, rules: Rules::Full };

fn cases(options: &Options) -> Vec<Case> {
    let mut cases = Vec::new();
    for backend in &options.backend {
        for rules in &options.rules {
            for pdrs in &options.pdrs {
                for sessions in &options.sessions {
                    cases.push(Case { backend: *backend, sessions: *sessions, pdrs: *pdrs, rules: *rules });
                }
            }
        }
    }
    cases
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("backend"),
        Column::new("sessions"),
        Column::new("PDRs"),
        Column::new("rules"),
        Column::of("memory", "B/session"),
        Column::of("with packets", "B/session"),
        Column::of("afterwards", "B/session"),
        Column::of("rules", "us/session"),
        Column::of("data plane", "us/session"),
        Column::of("CPU", "s"),
        Column::of("wall", "s"),
    ]
}

impl Case {
    /// The arguments that select this case alone.
    fn flags(&self) -> [(&'static str, String); 4] {
        [
            ("--backend", self.backend.to_string()),
            ("--sessions", self.sessions.to_string()),
            ("--pdrs", self.pdrs.to_string()),
            ("--rules", self.rules.to_string()),
        ]
    }

    fn measure(
        &self,
        common: &Common,
        progress: &mut Progress,
        report: &mut Report,
    ) -> Result<(), BenchError> {
        let shape = Shape::new(self.pdrs, self.rules);
        // The options are checked: it is below 2^24.
        let sessions = self.sessions.0 as u32;
        let mut bench = BenchSetup::new(common.seed);
        let founding = Founding { backend: self.backend, sessions, shape: &shape, now: bench.now() };
        let start = Instant::now();
        let mut population = match founding.populate(progress)? {
            Populated::Done(population) => *population,
            Populated::TooLarge(why) => {
                report.skip(format_args!("{} with {} sessions", self.backend, self.sessions), why);
                return Ok(());
            }
        };
        let wall = start.elapsed();
        let idle = population.memory();
        let mix = Mix { way: Direction::Both, size: Size::Small, pdrs: self.pdrs };
        bench.warm_up(&mut population, mix)?;
        let with_packets = population.memory();
        population.end(bench.now())?;
        let afterwards = settled(|| population.memory());
        let octets =
            |gained: Option<u64>| gained.map(|octets| Cell::Count(octets / u64::from(sessions))).into();
        let each = |seconds: f64| Cell::Number(seconds * 1e6 / f64::from(sessions), 2);
        let cpu = population.ruling + population.applying;
        report.row([
            self.backend.to_string().into(),
            self.sessions.into(),
            Cell::Count(self.pdrs.into()),
            self.rules.to_string().into(),
            octets(idle),
            octets(with_packets),
            octets(afterwards),
            each(population.ruling.as_secs_f64()),
            each(population.applying.as_secs_f64()),
            Cell::Number(cpu.as_secs_f64(), 3),
            Cell::Number(wall.as_secs_f64(), 3),
        ]);
        Ok(())
    }
}

/// The value when it has stopped falling: allocators return memory some seconds after it was freed.
fn settled(measure: impl Fn() -> Option<u64>) -> Option<u64> {
    const TIMEOUT: Duration = Duration::from_secs(3);
    let (mut least, mut since) = (measure()?, Instant::now());
    while since.elapsed() < TIMEOUT {
        thread::sleep(TIMEOUT / 30);
        let now = measure()?;
        if now < least - least / 100 {
            since = Instant::now();
        }
        least = least.min(now);
    }
    Some(least)
}
