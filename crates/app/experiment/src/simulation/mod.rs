//! UEs, an SMF, the two controllers and a modelled switch, in model time.
//!
//! The mechanisms are those of `causeway-switch`: they allocate numbers, control access to the accounting tables, and
//! select the counters to read. The model of its driver determines the time of each request. This module has only the
//! loop that passes requests and outcomes between them, and the workload. Only the driver takes time: messages,
//! decoding and decisions take none.

mod effort;
mod flow;
mod ledger;
mod numbers;
mod operation;
mod program;
mod reader;
mod traffic;
mod writer;

use std::collections::BTreeSet;

use causeway_switch::SwitchPdr;
use causeway_switch::driver::{SwitchDriver, Ticket};
use causeway_switch::model::{Config, Model, Timing};
use causeway_switch::pendulum::{self, FinalUsage, RoundRobin, Side, TableAccess};
use causeway_switch::pulling::{self, Pulling};
use causeway_types::{Span, Time};

use crate::ExperimentError;
use crate::variant::{CounterSelection, Variant};
pub use effort::ReadStatistics;
pub use flow::Load;
pub use ledger::OctetBalance;
use numbers::Numbers;
pub use operation::{CompletedOperation, Kind};
use operation::{Operation, Ue};
use reader::Reading;
use traffic::Traffic;
use writer::Writing;

/// The interval at which a reader without work polls again.
const IDLE: Span = Span::from_millis(1);

/// Concurrent registrations while the first sessions are established.
const LOADING: u32 = 32;

/// The configuration of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct SimulationConfig {
    /// The access to the accounting tables.
    pub variant: Variant,
    /// The cost of requests.
    pub timing: Timing,
    /// The most UEs with a session at the same time.
    pub ues: u32,
    /// Their traffic.
    pub load: Load,
    /// The seed of the random numbers.
    pub seed: u64,
}

/// A simulation.
#[derive(Debug)]
pub struct Simulation {
    pub(crate) setting: SimulationConfig,
    now: Time,
    random: fastrand::Rng,
    model: Model<Traffic>,
    access: TableAccess<Operation>,
    pulling: Pulling<u32>,
    numbers: Numbers,
    finals: FinalUsage<u32>,
    ues: Vec<Ue>,
    writing: Option<(Ticket, Writing)>,
    reading: [Option<Reading>; 2],
    robins: [RoundRobin; 2],
    /// Numbers that are still to be read at the end, once it has begun, by side and partition.
    rest: Option<[[BTreeSet<SwitchPdr>; 2]; 2]>,
    /// The end of the traffic.
    ended: Option<Time>,
    /// When idle readers poll again.
    wake: Option<Time>,
    ledger: OctetBalance,
    effort: ReadStatistics,
    done: Vec<CompletedOperation>,
    /// The times of volume reports: of the packet that reached the threshold, and of the report.
    reports: Vec<(Time, Time)>,
    /// Readers are stopped while the first sessions are established, where that has no effect on the tables.
    is_loading: bool,
}

impl Simulation {
    /// A switch without sessions.
    ///
    /// # Errors
    /// [`ExperimentError`] when the workload does not fit.
    pub fn new(setting: SimulationConfig) -> Result<Self, ExperimentError> {
        let SimulationConfig { variant, timing, ues, load, seed } = setting;
        let bank = variant.is_indexed().then_some(variant.bank);
        // Two rules for each UE; each of two partitions has an eighth more than its half, as in the planner.
        let rules = ues as usize * 2;
        let capacity =
            if variant.has_partitions() { (rules * 5).div_ceil(8) } else { rules + rules / 8 }.max(4096);
        let (numbers, templates) = Numbers::new(ues, bank.is_some())?;
        let config = Config { timing, cpu_port: 64, port_rate: None, queue_room: 0 };
        let traffic = Traffic::new(ues, load, seed, bank);
        let access = pendulum::Config { mode: variant.mode, capacity: [capacity; 2], drain: Span::ZERO };
        let pulling = match variant.choice {
            CounterSelection::Needed(pulling) => pulling,
            CounterSelection::All | CounterSelection::RoundRobin | CounterSelection::Urgent => {
                pulling::Config::default()
            }
        };
        let mut world = Self {
            setting,
            now: Time::from_secs(0),
            random: fastrand::Rng::with_seed(seed),
            model: Model::new(program::program(ues, capacity, bank), traffic, config),
            access: TableAccess::new(access),
            pulling: Pulling::new(pulling),
            numbers,
            finals: FinalUsage::default(),
            ues: vec![Ue::default(); ues as usize],
            writing: None,
            reading: [None, None],
            robins: [RoundRobin::default(); 2],
            rest: None,
            ended: None,
            wake: None,
            ledger: OctetBalance::default(),
            effort: ReadStatistics::default(),
            done: Vec::new(),
            reports: Vec::new(),
            is_loading: false,
        };
        world.write_templates(templates)?;
        Ok(world)
    }

    /// The present time.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Advances to a time, or to the first at which operations end, if that is earlier. Returns the operations that
    /// ended.
    ///
    /// # Errors
    /// [`ExperimentError`] when the model refuses a request, which it never does.
    pub fn run(&mut self, until: Time) -> Result<Vec<CompletedOperation>, ExperimentError> {
        self.handle_outcomes()?;
        while self.done.is_empty() {
            let next = self.next_event().filter(|next| *next <= until);
            self.now = self.now.max(next.unwrap_or(until));
            if next.is_none() {
                break;
            }
            self.handle_outcomes()?;
        }
        Ok(std::mem::take(&mut self.done))
    }

    /// Establishes sessions for this many UEs, as fast as the writer can; then traffic begins. Readers are stopped if
    /// there is one partition, whose content does not depend on them.
    ///
    /// # Errors
    /// As [`Simulation::run`].
    pub fn load(&mut self, ues: u32, mut progress: impl FnMut(u64, u64)) -> Result<(), ExperimentError> {
        self.is_loading = !self.setting.variant.has_partitions();
        let (mut asked, mut answered) = (0, 0);
        while answered < ues {
            while asked < ues && asked < answered + LOADING {
                self.start_operation(Kind::Register, asked)?;
                asked += 1;
            }
            answered += self.run(self.now + Span::from_secs(1))?.len() as u32;
            progress(answered.into(), ues.into());
        }
        self.is_loading = false;
        self.model.pipeline_mut().from = self.now;
        Ok(())
    }

    /// Volume reports since the last call: the time at which the threshold was reached, and the time of the report.
    pub fn take_reports(&mut self) -> Vec<(Time, Time)> {
        std::mem::take(&mut self.reports)
    }

    /// Statistics of the readers since the last call.
    pub fn take_effort(&mut self) -> ReadStatistics {
        let since = std::mem::replace(&mut self.effort.since, self.now);
        let next = ReadStatistics { since: self.now, ..ReadStatistics::default() };
        ReadStatistics { since, until: self.now, ..std::mem::replace(&mut self.effort, next) }
    }

    /// Ends the traffic, reads all counters once more, and computes the balance.
    ///
    /// # Errors
    /// As [`Simulation::run`].
    pub fn finish(mut self) -> Result<OctetBalance, ExperimentError> {
        self.ended = Some(self.now);
        self.model.pipeline_mut().until = self.ended;
        let unread = |side, partition| self.access.members(side, partition).iter().copied().collect();
        self.rest =
            Some(Side::ALL.map(|side| [0, 1].map(|partition| unread(side, pendulum::Partition(partition)))));
        while self.rest.iter().flatten().flatten().any(|rest| !rest.is_empty()) || self.writing.is_some() {
            self.run(self.now + Span::from_secs(1))?;
        }
        let ues = 0..self.setting.ues;
        let held = ues.filter_map(|ue| self.pulling.counted(ue)).map(|volume| volume.total()).sum();
        let traffic = self.model.pipeline_mut();
        Ok(OctetBalance { sent: traffic.sent.octets, held, ..self.ledger })
    }

    fn next_event(&self) -> Option<Time> {
        let events = [self.model.next_event(), self.access.next_deadline(self.now), self.wake];
        events.into_iter().flatten().min()
    }

    /// Takes all outcomes up to now, and starts all work that is possible, until nothing remains.
    fn handle_outcomes(&mut self) -> Result<(), ExperimentError> {
        if self.wake.is_some_and(|wake| wake <= self.now) {
            self.wake = None;
        }
        loop {
            let mut has_happened = self.start_write()?;
            for side in Side::ALL {
                has_happened |= self.start_reading(side)?;
            }
            while let Some((ticket, outcome)) = self.model.poll(self.now) {
                has_happened = true;
                if self.writing.as_ref().is_some_and(|(writing, _)| *writing == ticket) {
                    outcome?;
                    self.written()?;
                } else {
                    self.reader_is_done(ticket, outcome?)?;
                }
            }
            if !has_happened {
                return Ok(());
            }
        }
    }
}
