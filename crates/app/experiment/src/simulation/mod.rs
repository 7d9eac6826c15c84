//! UEs, an SMF, the two controllers and a modelled switch, in model time.
//!
//! The mechanisms are those of `causeway-switch`: numbers, access to the accounting tables, and what is read when are decided there, and
//! the model of its driver says how long each request takes. Here are only the loop that carries requests and outcomes between
//! them, and the workload. Nothing takes time but the driver: messages, decoding and decisions are at once.

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

/// A reader that finds nothing to read looks again after this time.
const IDLE: Span = Span::from_millis(1);

/// Registrations at once while the first sessions come.
const LOADING: u32 = 32;

/// What an experiment is like.
#[derive(Clone, Copy, Debug)]
pub struct SimulationConfig {
    /// How the accounting tables are reached.
    pub variant: Variant,
    /// What requests cost.
    pub timing: Timing,
    /// The most UEs with a session at once.
    pub ues: u32,
    /// What they send.
    pub load: Load,
    /// Where random numbers start.
    pub seed: u64,
}

/// All of it.
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
    /// Numbers that are still to be read at the end, once it has come, by side and partition.
    rest: Option<[[BTreeSet<SwitchPdr>; 2]; 2]>,
    /// When traffic ended.
    ended: Option<Time>,
    /// When idle readers look again.
    wake: Option<Time>,
    ledger: OctetBalance,
    effort: ReadStatistics,
    done: Vec<CompletedOperation>,
    /// Moments of volume reports: when the packet came that reached the threshold, and when the report was made.
    reports: Vec<(Time, Time)>,
    /// Readers stand still while the first sessions come, where that changes nothing in the tables.
    is_loading: bool,
}

impl Simulation {
    /// A switch without sessions.
    ///
    /// # Errors
    /// [`ExperimentError`] when the workload has no room.
    pub fn new(setting: SimulationConfig) -> Result<Self, ExperimentError> {
        let SimulationConfig { variant, timing, ues, load, seed } = setting;
        let bank = variant.is_indexed().then_some(variant.bank);
        // Two rules for each UE; each of two partitions has an eighth more than its half, as the planner counts.
        let rules = ues as usize * 2;
        let room =
            if variant.has_partitions() { (rules * 5).div_ceil(8) } else { rules + rules / 8 }.max(4096);
        let (numbers, templates) = Numbers::new(ues, bank.is_some())?;
        let config = Config { timing, cpu_port: 64, port_rate: None, queue_room: 0 };
        let traffic = Traffic::new(ues, load, seed, bank);
        let access = pendulum::Config { mode: variant.mode, capacity: [room; 2], drain: Span::ZERO };
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
            model: Model::new(program::program(ues, room, bank), traffic, config),
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

    /// The moment that it is.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Lets time pass up to a moment, or to the first at which operations are done, if that is before. What was done is returned.
    ///
    /// # Errors
    /// [`ExperimentError`] when the model refuses something, which it never does.
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

    /// Sessions for so many UEs, as fast as the writer can; then traffic begins. Readers stand still where there is one partition: what is in it does not
    /// depend on them.
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

    /// Volume reports since the last call: when the threshold was reached, and when the report was made.
    pub fn take_reports(&mut self) -> Vec<(Time, Time)> {
        std::mem::take(&mut self.reports)
    }

    /// What readers have done since the last call.
    pub fn take_effort(&mut self) -> ReadStatistics {
        let since = std::mem::replace(&mut self.effort.since, self.now);
        let next = ReadStatistics { since: self.now, ..ReadStatistics::default() };
        ReadStatistics { since, until: self.now, ..std::mem::replace(&mut self.effort, next) }
    }

    /// Traffic ends; all counters are read once more, and everything is added up.
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

    /// Takes all outcomes that there are by now, and hands out all that can go on, until nothing happens any more.
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
