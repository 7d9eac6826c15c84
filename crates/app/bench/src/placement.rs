//! The placement of sessions on packet threads: the cost of a session that begins, is handed over, and ends.
//!
//! Plans are those of an SMF's requests. They are placed and completed as a packet thread does it, in batches, and are made while the clock is
//! stopped. What a data plane does with them is not included.

use std::fmt;

use causeway_dataplane::Capabilities;
use causeway_model::{
    Op, Plan, ProfileTransition, ProfiledSession, SessionChange, SessionParams, TransitionEffect,
};
use causeway_types::{FTeidV4, Seid, Teid};
use causeway_upf::worker::Placement;
use clap::Args;

use crate::kit::{Count, CpuTimer, Progress, Samples, count, within};
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::world::{Control, Rules, Shape, shape};
use crate::{BenchError, Common};

/// Plans that a packet thread has in one turn, at most.
const BATCH: usize = 64;

/// Plans between two looks at the clock.
const CHUNK: u32 = 8 * BATCH as u32;

/// Consecutive requests are about sessions that are this far apart.
const STRIDE: u64 = 7_368_787;

/// Every number of sessions is measured with every number of packet threads.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Sessions that there are
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().sessions)]
    pub sessions: Vec<Count>,
    /// Plans of each kind that are measured, at most
    #[arg(long, value_name = "N", default_value_t = Options::default().plans)]
    pub plans: Count,
    /// Packet threads
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = Options::default().workers)]
    pub workers: Vec<Count>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sessions: vec![count(50_000), count(1_000_000)],
            plans: count(100_000),
            workers: vec![count(2)],
        }
    }
}

impl Options {
    fn check(&self) -> Result<(), BenchError> {
        within("--sessions", self.sessions.iter().map(|sessions| sessions.0), u64::from(CHUNK)..=10_000_000)?;
        within("--plans", [self.plans.0], 1..=10_000_000)?;
        within("--workers", self.workers.iter().map(|workers| workers.0), 2..=62)
    }
}

/// Measures all numbers of sessions and packet threads.
///
/// # Errors
/// [`BenchError`], for example when a number is out of range or a session has no place.
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    let mut options = options.clone();
    if common.quick {
        (options.sessions, options.plans) = (vec![count(2000)], count(1));
    }
    options.check()?;
    let sessions = "a tunnel at the UPF, an IPv4 address of the UE and a tunnel at a gNB each";
    let conditions = Conditions::here(IoCost::Net)
        .with("sessions", sessions)
        .with("time", format!("CPU time of placing plans and completing them, in batches of {BATCH}"));
    let columns = vec![
        Column::new("sessions"),
        Column::new("packet threads"),
        Column::new("plan"),
        Column::of("p10", "ns"),
        Column::of("median", "ns"),
        Column::of("p90", "ns"),
        Column::of("rate", "k/s"),
    ];
    let title = "Placement: sessions that begin, are handed over and end, on several packet threads";
    let mut report = Report::new("placement", title, conditions, columns);
    let mut progress = Progress::new();
    for sessions in &options.sessions {
        for workers in &options.workers {
            progress.stage(format!("placement: {sessions} sessions on {workers} packet threads"));
            let mut bench = Bench::new(*sessions, *workers);
            for (kind, samples) in bench.run(options.plans, &mut progress)? {
                let Some(summary) = samples.summary() else { continue };
                report.row([
                    (*sessions).into(),
                    (*workers).into(),
                    kind.to_string().into(),
                    Cell::nanos(summary.p10),
                    Cell::nanos(summary.median),
                    Cell::nanos(summary.p90),
                    Cell::Number(1e6 / summary.median, 1),
                ]);
            }
        }
    }
    Ok(vec![report])
}

/// What a plan does.
#[derive(Clone, Copy)]
enum Kind {
    Install,
    HandOver,
    Remove,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Install => "install",
            Self::HandOver => "hand over",
            Self::Remove => "remove",
        })
    }
}

struct Bench {
    placement: Placement<u64>,
    sessions: u32,
    /// Each session, by its number.
    placed: Vec<ProfiledSession>,
    plans: u64,
}

impl Bench {
    fn new(sessions: Count, workers: Count) -> Self {
        // The options are checked.
        let (count, workers) = (sessions.0 as usize, workers.0 as usize);
        let placement = Placement::new(shape::topology(), count, workers, true);
        Self { placement, sessions: sessions.0 as u32, placed: Vec::with_capacity(count), plans: 0 }
    }

    /// All sessions, of which the last ones are measured; then plans for sessions all over the table.
    fn run(&mut self, plans: Count, progress: &mut Progress) -> Result<Vec<(Kind, Samples)>, BenchError> {
        let measured = u32::try_from(plans.0).unwrap_or(u32::MAX).clamp(CHUNK, self.sessions);
        let installed = self.install_all(measured, progress)?;
        let mut all = vec![(Kind::Install, installed)];
        for (kind, share) in [(Kind::HandOver, 1), (Kind::Remove, 2)] {
            let mut samples = Samples::default();
            for chunk in 0..(measured.min(self.sessions / share) / CHUNK).max(1) {
                let turns = (0..CHUNK).map(|at| u64::from(chunk * CHUNK + at));
                let plans: Vec<_> = turns
                    .map(|turn| self.plan(kind, (turn * STRIDE % u64::from(self.sessions)) as u32))
                    .collect::<Result<_, _>>()?;
                samples.add(self.place(plans)?);
            }
            all.push((kind, samples));
        }
        Ok(all)
    }

    fn install_all(&mut self, measured: u32, progress: &mut Progress) -> Result<Samples, BenchError> {
        let shape = Shape::new(1, Rules::Full);
        let capabilities = Capabilities::all(self.sessions, 64);
        let mut control = Control::new(&capabilities, self.sessions, &shape);
        let mut samples = Samples::default();
        for first in (0..self.sessions).step_by(CHUNK as usize) {
            let mut plans = Vec::new();
            for number in first..self.sessions.min(first + CHUNK) {
                let plan = control.establish(number, &Control::request(&shape, number))?.plan;
                if let SessionChange::Install(session) = &plan.change {
                    self.placed.push(session.clone());
                }
                plans.push(Plan { session: seid(number), change: plan.change });
            }
            let (count, spent) = (plans.len(), self.place(plans)?);
            if first >= self.sessions - measured && count == CHUNK as usize {
                samples.add(spent);
            }
            progress.set_progress(first.into(), self.sessions.into());
        }
        Ok(samples)
    }

    /// The next plan for a session.
    fn plan(&mut self, kind: Kind, number: u32) -> Result<Plan, BenchError> {
        let change = match (kind, self.placed.get_mut(number as usize)) {
            (Kind::HandOver, Some(session)) => {
                let (profile, before) = (session.profile().clone(), *session.params());
                let tunnel = FTeidV4 { addr: shape::gnb(number), teid: moved(number) };
                let after = SessionParams { remotes: [Some(tunnel), None], ..before };
                let far = profile.rules().fars.values().find(|far| far.id == shape::DOWNLINK_FAR).cloned();
                let ops = far.map(|far| Op::PutFar(far.into())).into_iter().collect();
                let policy = session.policy().cloned();
                *session = ProfiledSession::new(profile.clone(), after, policy.clone());
                let effect = TransitionEffect::new(profile.clone(), profile, ops);
                effect.map(|effect| ProfileTransition::new(effect.into(), before, after, policy).into())
            }
            _ => None,
        };
        Ok(Plan { session: seid(number), change: change.unwrap_or(SessionChange::Remove) })
    }

    /// Places plans and completes them; nanoseconds of a plan.
    fn place(&mut self, plans: Vec<Plan>) -> Result<f64, BenchError> {
        let plans: Vec<(u64, Plan)> = (self.plans..).zip(plans).collect();
        self.plans += plans.len() as u64;
        let mut results = Vec::with_capacity(plans.len());
        let timer = CpuTimer::start();
        for batch in plans.chunks(BATCH) {
            self.placement.assign_workers(batch, &mut results);
            self.placement.expect_results(batch.iter().map(|(key, _)| *key));
            for (key, _) in batch {
                self.placement.complete(*key, true);
            }
        }
        let spent = timer.elapsed();
        results.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(spent.as_secs_f64() * 1e9 / plans.len() as f64)
    }
}

/// The UPF's SEID of a session: as good as random, as those of N4 are.
fn seid(number: u32) -> Seid {
    Seid((u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The gNB's tunnel of a session after a handover.
fn moved(number: u32) -> Teid {
    Teid::new(number | 1 << 31).unwrap_or_else(|| shape::gnb_teid(number))
}
