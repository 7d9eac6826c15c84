//! Several workers in parallel, each with a separate data plane and sessions: the cost that they cause each other.
//!
//! As in `pipeline`, packets are created while the clock is stopped, and the figures are CPU time of each worker. Workers share
//! caches and memory bandwidth. They share no flow entry and no counter, so any extra cost of a packet comes from the memory.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::time::Duration;

use clap::Args;

use crate::kit::{self, Count, MAX_TIME_MS, Progress, count, within};
use crate::pipeline::{Direction, Size, StepwiseOptions, StepwisePipeline};
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::world::{Backend, Rules};
use crate::{BenchError, Common};

/// CPU time of a worker between two synchronizations.
const SLICE: Duration = Duration::from_millis(20);

/// The lists are measured in all combinations.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of parallel workers, interleaved, each on a separate core
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().workers)]
    pub workers: Vec<Count>,
    /// Sessions of each worker; each packet is of a random one
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().sessions)]
    pub sessions: Vec<Count>,
    /// Rules of sessions in addition to PDRs and FARs
    #[arg(long, value_enum, default_value_t = Options::default().rules)]
    pub rules: Rules,
    /// The user's IP packets
    #[arg(long, value_enum, default_value_t = Options::default().size)]
    pub size: Size,
    /// Milliseconds of CPU time of each worker for each row
    #[arg(long, value_name = "MS", default_value_t = Options::default().time)]
    pub time: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            workers: vec![count(1), count(2)],
            sessions: vec![count(10_000), count(100_000), count(1_000_000)],
            rules: Rules::Full,
            size: Size::Small,
            time: 1000,
        }
    }
}

/// Measures all combinations.
///
/// # Errors
/// [`BenchError`], for example when a number is out of range or packets are not forwarded.
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    let mut options = options.clone();
    if common.quick {
        (options.sessions, options.time) = (vec![count(1000)], 1);
    }
    within("--workers", options.workers.iter().map(|workers| workers.0), 1..=1024)?;
    within("--time", [options.time], 1..=MAX_TIME_MS)?;
    let conditions = Conditions::here(IoCost::Net)
        .with("packets", "UDP over IPv4 in both directions, each of a random session of its worker")
        .with("time", format!("{} ms of CPU time of each worker for each row, interleaved", options.time));
    let title = "Workers: packets through several data planes in parallel, in memory";
    let mut report = Report::new("workers", title, conditions, columns());
    let cores = kit::cores()?;
    let fits = |workers: &&Count| (1..=cores.len() as u64).contains(&workers.0);
    let counts: Vec<usize> = options.workers.iter().filter(fits).map(|workers| workers.0 as usize).collect();
    for workers in options.workers.iter().filter(|workers| !fits(workers)) {
        let why = format!("this process may use {} cores", cores.len());
        report.skip(format_args!("{workers} workers"), why);
    }
    let mut progress = Progress::new();
    for sessions in &options.sessions {
        Setting { options: &options, sessions: *sessions, counts: &counts, cores: &cores }.run(
            common,
            &mut progress,
            &mut report,
        )?;
    }
    Ok(vec![report])
}

fn columns() -> Vec<Column> {
    vec![
        Column::of("sessions", "each"),
        Column::new("workers"),
        Column::of("median", "ns"),
        Column::of("slowest", "ns"),
        Column::of("rate", "Mpps"),
        Column::of("of the first row", "times"),
        Column::of("loss", "packets"),
    ]
}

/// The parameters for which data planes are filled again.
struct Setting<'a> {
    options: &'a Options,
    sessions: Count,
    /// The number of parallel workers of each row.
    counts: &'a [usize],
    cores: &'a [usize],
}

impl Setting<'_> {
    fn run(&self, common: &Common, progress: &mut Progress, report: &mut Report) -> Result<(), BenchError> {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        let mut lanes = Vec::new();
        for number in 0..most {
            progress.stage(format!("workers: {} sessions of worker {number}", self.sessions));
            lanes.push(self.lane(common.seed + number as u64, progress)?);
        }
        progress.stage(format!("workers: {} sessions each", self.sessions));
        let meeting = Barrier::new(most);
        std::thread::scope(|scope| {
            let threads: Vec<_> = lanes
                .iter_mut()
                .zip(self.cores)
                .enumerate()
                .map(|(number, (lane, core))| {
                    let meeting = &meeting;
                    scope.spawn(move || self.work(number, *core, lane, meeting))
                })
                .collect();
            let ended =
                threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            ended.collect::<Result<(), _>>()
        })?;
        self.report(&lanes, report);
        Ok(())
    }

    /// Every row is a way of its own, all of the same packets.
    fn lane(&self, seed: u64, progress: &mut Progress) -> Result<StepwisePipeline, BenchError> {
        let Options { rules, size, .. } = *self.options;
        let options = StepwiseOptions {
            backend: Backend::Fastpath,
            sessions: self.sessions,
            pdrs: 1,
            rules,
            size,
            seed,
        };
        StepwisePipeline::new(&options, &vec![Direction::Both; self.counts.len()], progress)
    }

    /// The loop of one worker.
    fn work(
        &self,
        number: usize,
        core: usize,
        lane: &mut StepwisePipeline,
        meeting: &Barrier,
    ) -> Result<(), BenchError> {
        let pinned = kit::pin(core);
        let rounds = Duration::from_millis(self.options.time).as_nanos().div_ceil(SLICE.as_nanos());
        let rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
        in_step(meeting, rounds, self.counts.len(), pinned, |round, row| {
            let is_busy = self.counts.get(row).is_some_and(|workers| number < *workers);
            while is_busy && lane.used(row) < SLICE * round {
                lane.step(row)?;
            }
            Ok(())
        })
    }

    fn report(&self, lanes: &[StepwisePipeline], report: &mut Report) {
        let mut first = None;
        for (row, workers) in self.counts.iter().enumerate() {
            let medians = lanes.iter().take(*workers).filter_map(|lane| Some(lane.summary(row)?.median));
            let medians: Vec<f64> = medians.collect();
            let rate: f64 = medians.iter().map(|nanos| 1e3 / nanos).sum();
            let mean = medians.iter().sum::<f64>() / medians.len().max(1) as f64;
            let slowest = medians.iter().copied().fold(0.0, f64::max);
            let lost: u64 = lanes.iter().take(*workers).map(|lane| lane.lost(row)).sum();
            report.row([
                self.sessions.to_string().into(),
                Cell::Count(*workers as u64),
                Cell::nanos(mean),
                Cell::nanos(slowest),
                Cell::Number(rate, 2),
                Cell::Number(rate / *first.get_or_insert(rate), 2),
                Cell::Count(lost),
            ]);
        }
    }
}

/// Takes a slice of each row in each round, from 1 on. All workers synchronize before each slice, also those that are idle or
/// have failed: the others wait for them.
fn in_step(
    meeting: &Barrier,
    rounds: u32,
    rows: usize,
    begun: Result<(), BenchError>,
    mut slice: impl FnMut(u32, usize) -> Result<(), BenchError>,
) -> Result<(), BenchError> {
    let mut done = Ok(begun);
    for round in 1..=rounds {
        for row in 0..rows {
            meeting.wait();
            if let Ok(Ok(())) = done {
                done = catch_unwind(AssertUnwindSafe(|| slice(round, row)));
            }
        }
    }
    done.unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  two workers with two rounds of two rows; the second slice of one of them panics, or fails.
    // Output: the other takes all its slices; the panic, or the failure, comes at the end instead of an endless wait.
    #[test]
    fn a_worker_that_fails_lets_the_others_end() {
        let run =
            |fails: fn() -> Result<(), BenchError>| {
                let meeting = Barrier::new(2);
                std::thread::scope(|scope| {
                    let failing =
                        scope.spawn(|| {
                            in_step(&meeting, 2, 2, Ok(()), |round, row| {
                                if (round, row) == (1, 1) { fails() } else { Ok(()) }
                            })
                        });
                    let mut slices = Vec::new();
                    let whole = in_step(&meeting, 2, 2, Ok(()), |round, row| {
                        slices.push((round, row));
                        Ok(())
                    });
                    assert!(whole.is_ok() && slices == [(1, 0), (1, 1), (2, 0), (2, 1)], "{slices:?}");
                    failing.join()
                })
            };
        let panic = run(|| panic!("no packet")).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"no packet"));
        let error = run(|| Err(BenchError::NotForwarded { sent: 1, forwarded: 0 })).unwrap().unwrap_err();
        assert!(matches!(error, BenchError::NotForwarded { sent: 1, .. }), "{error}");
    }
}
