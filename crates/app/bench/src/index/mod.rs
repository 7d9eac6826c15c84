//! The cost to find flow entries: by TEID slot, by pool offset, by cuckoo table, and by the standard library's hash table.
//!
//! A lookup ends with the comparison of the whole key in the flow entry and a count in it. Entries are looked up in random
//! order, in batches as in the pipeline; the methods take turns.

mod lookup_methods;
mod population;

use clap::Args;

use crate::kit::{Count, CpuTimer, Progress, Samples, count, within};
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::{BenchError, Common};
use lookup_methods::WAYS;
use population::{BATCH, Population};

/// Batches of one way between two looks at the clock.
const TURN: usize = 64;

/// Lines are numbered with 24 bits, of which zero is none.
const MAX_ENTRIES: u64 = (1 << 24) - 1;

/// Every number of entries is measured in each way.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Lines that there are to find
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().entries)]
    pub entries: Vec<Count>,
    /// Turns of each way, of 2048 lookups each
    #[arg(long, value_name = "N", default_value_t = Options::default().turns)]
    pub turns: Count,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            entries: vec![count(10_000), count(100_000), count(1_000_000), count(10_000_000)],
            turns: count(1000),
        }
    }
}

impl Options {
    /// The same in little time.
    fn quick(self) -> Self {
        Self { entries: vec![count(1000)], turns: count(3) }
    }

    fn check(&self) -> Result<(), BenchError> {
        within("--entries", self.entries.iter().map(|entries| entries.0), BATCH as u64..=MAX_ENTRIES)?;
        within("--turns", [self.turns.0], 1..=1_000_000)
    }
}

/// Measures all numbers of entries.
///
/// # Errors
/// [`BenchError`], for example when a number is out of range or a lookup does not find its line.
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    let options = if common.quick { options.clone().quick() } else { options.clone() };
    options.check()?;
    let lookups =
        format!("in batches of {BATCH}, random; the key in the flow entry is compared and a count raised");
    let conditions = Conditions::here(IoCost::Net)
        .with("lookups", lookups)
        .with("time", format!("{} turns of {} lookups each, interleaved", options.turns, TURN * BATCH));
    let columns = vec![
        Column::new("entries"),
        Column::new("found by"),
        Column::of("p10", "ns"),
        Column::of("median", "ns"),
        Column::of("p90", "ns"),
    ];
    let mut report = Report::new("index", "Index: the cost to find a flow entry", conditions, columns);
    let mut progress = Progress::new();
    for entries in &options.entries {
        progress.stage(format!("index: {entries} entries"));
        measure(*entries, options.turns.0, &mut progress, &mut report)?;
    }
    Ok(vec![report])
}

fn measure(
    entries: Count,
    turns: u64,
    progress: &mut Progress,
    report: &mut Report,
) -> Result<(), BenchError> {
    // The options are checked: it is below 2^24.
    let mut population = Population::new(entries.0 as u32)?;
    let mut samples = WAYS.map(|_| Samples::default());
    for turn in 0..turns {
        for ((_, way), samples) in WAYS.iter().zip(&mut samples) {
            let timer = CpuTimer::start();
            for _ in 0..TURN {
                population.advance();
                way(&mut population);
            }
            samples.add(timer.elapsed().as_secs_f64() * 1e9 / (TURN * BATCH) as f64);
        }
        progress.set_progress(turn, turns);
    }
    let expected = turns * (WAYS.len() * TURN * BATCH) as u64;
    let found = population.hits();
    if found != expected {
        return Err(BenchError::NotFound { found, of: expected });
    }
    for ((way, _), samples) in WAYS.iter().zip(&samples) {
        let summary = samples.summary();
        report.row([
            entries.into(),
            (*way).into(),
            summary.map(|summary| Cell::nanos(summary.p10)).into(),
            summary.map(|summary| Cell::nanos(summary.median)).into(),
            summary.map(|summary| Cell::nanos(summary.p90)).into(),
        ]);
    }
    Ok(())
}
