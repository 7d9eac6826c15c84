//! The backend: its parts, and how it goes on.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use causeway_dataplane::{Applied, ApplyError, Event, Fate, Plan};
use causeway_reference::Reference;
use causeway_types::{IpNet, Seid, Span, Time};
use foldhash::fast::RandomState;

use super::chores::Chores;
use super::config::Config;
use super::held::{Held, Numbered};
use super::layout::{Layout, UnknownLayout};
use super::measure::Measure;
use super::operation::{Operation, Pending, Progress};
use super::outcomes::{Flight, Later};
use super::picture::Door;
use super::readers::Reader;
use super::start::{bootstrap, fixed_entries};
use super::template::Template;
use super::waits::Waits;
use crate::SwitchPdr;
use crate::driver::{Program, SwitchDriver, Ticket, Update};
use crate::pendulum::{self, TableAccess};
use crate::pulling::Pulling;
use crate::ranges::{BootstrapError, Ranges};

/// From one pass with nothing to read to the next, at least: time must go on in between.
const TICK: Span = Span::from_micros(10);

/// A backend that cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StartError {
    /// The program is not one that it can fill.
    #[error(transparent)]
    Layout(#[from] UnknownLayout),
    /// The templates of the configuration do not fit.
    #[error(transparent)]
    Ranges(#[from] BootstrapError),
    /// The UPF has no IPv4 address for GTP-U.
    #[error("the UPF has no IPv4 address for GTP-U: the program's tunnels are over IPv4")]
    NoAddress,
    /// A pool of UEs of the source guard is not IPv4, or larger than 2^24 addresses.
    #[error("a source guard for {0}: IPv4 pools of at most 2^24 addresses are possible")]
    Guard(IpNet),
}

/// What has happened since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Operations that came to be.
    pub done: u64,
    /// Operations that were refused.
    pub refused: u64,
    /// Batches whose outcome had to be read from the switch.
    pub read_back: u64,
    /// Requests that the switch could not be reached for.
    pub unavailable: u64,
    /// Counters of rules in use that were not there: the switch has lost them.
    pub lost_counters: u64,
    /// Frames for the control plane that nothing could be done with.
    pub ignored_frames: u64,
    /// Writes of templates and routes that the switch refused.
    pub refused_chores: u64,
}

/// A UPF on a switch.
#[derive(Debug)]
pub struct Switch<D> {
    pub(super) driver: D,
    pub(super) layout: Layout,
    pub(super) config: Config,
    pub(super) software: Reference,
    pub(super) ranges: Ranges<Template>,
    pub(super) access: TableAccess<Operation>,
    pub(super) pulling: Pulling<Measure>,
    pub(super) sessions: HashMap<Seid, Held, RandomState>,
    pub(super) rules: HashMap<SwitchPdr, Numbered, RandomState>,
    pub(super) doors: HashMap<Door, Seid, RandomState>,
    pub(super) next_meter: u32,
    pub(super) free_meters: Vec<u32>,
    /// Entries of each table that sessions have.
    pub(super) used: HashMap<u32, usize, RandomState>,
    pub(super) operations: HashMap<Operation, Pending, RandomState>,
    pub(super) submitted: u64,
    /// Operations that can begin, and those that wait for templates to be written.
    pub(super) ready: VecDeque<Operation>,
    pub(super) prepared: VecDeque<Operation>,
    /// Those that begun and are not written.
    pub(super) unwritten: BTreeSet<Operation>,
    pub(super) progress: VecDeque<Progress>,
    pub(super) chores: Chores,
    pub(super) flights: HashMap<Ticket, Flight, RandomState>,
    pub(super) later: BTreeMap<(Time, u64), Later>,
    pub(super) laters: u64,
    pub(super) waits: Waits,
    /// Sessions with a timer that is due, which waits for counters.
    pub(super) timing: BTreeSet<Seid>,
    pub(super) readers: [Reader; 2],
    /// What the pass of each side reads, and of which partition.
    pub(super) reading: [Vec<SwitchPdr>; 2],
    pub(super) reading_of: [usize; 2],
    /// Numbers that have expired and not retired.
    pub(super) expired: usize,
    /// What became of the packet that the software has handled last.
    pub(super) last_fate: Option<Fate>,
    pub(super) statistics: Statistics,
}

impl<D: SwitchDriver> Switch<D> {
    /// A UPF on an empty switch with this program. It begins to fill it with what belongs to no session; operations wait for that.
    ///
    /// # Errors
    /// The program or the configuration.
    pub fn new(driver: D, program: &Program, config: Config) -> Result<Self, StartError> {
        let layout = Layout::new(program)?;
        if !config.topology.gtpu.iter().any(|end| end.addr.v4.is_some()) {
            return Err(StartError::NoAddress);
        }
        if let Some(guard) = config.guards.iter().find(|guard| guard.pool().is_none()) {
            return Err(StartError::Guard(guard.pool));
        }
        let (ranges, templates) = bootstrap(&layout, &config)?;
        let capacity = |name: &str| layout.table(name).map_or(0, |table| table.size);
        let access = TableAccess::new(pendulum::Config {
            mode: config.mode,
            capacity: [capacity("pre_qos_a"), capacity("post_qos_a")],
            drain: config.drain,
        });
        let mut chores = Chores::default();
        let fixed = fixed_entries(&layout, &config);
        let mut used: HashMap<u32, usize, RandomState> = HashMap::default();
        for update in &fixed {
            if let Update::Insert(entry) = update {
                *used.entry(entry.key.table).or_default() += 1;
            }
        }
        chores.push(fixed);
        chores.push(templates);
        Ok(Self {
            software: Reference::new(config.topology.clone(), config.limits),
            pulling: Pulling::new(config.pulling),
            driver,
            layout,
            config,
            ranges,
            access,
            sessions: HashMap::default(),
            rules: HashMap::default(),
            doors: HashMap::default(),
            next_meter: 1,
            free_meters: Vec::new(),
            used,
            operations: HashMap::default(),
            submitted: 0,
            ready: VecDeque::new(),
            prepared: VecDeque::new(),
            unwritten: BTreeSet::new(),
            progress: VecDeque::new(),
            chores,
            flights: HashMap::default(),
            later: BTreeMap::new(),
            laters: 0,
            waits: Waits::default(),
            timing: BTreeSet::new(),
            readers: [Reader::default(); 2],
            reading: [Vec::new(), Vec::new()],
            reading_of: [0; 2],
            expired: 0,
            last_fate: None,
            statistics: Statistics::default(),
        })
    }

    /// Starts a change of a session. [`Switch::poll`] says what becomes of it; until then further ones of the session wait.
    pub fn submit(&mut self, now: Time, plan: &Plan) -> Operation {
        let operation = self.line_up(plan.session, Some(plan.clone()));
        self.drive(now);
        operation
    }

    /// What became of an operation by now, oldest first.
    pub fn poll(&mut self, now: Time) -> Option<Progress> {
        if self.progress.is_empty() {
            self.drive(now);
        }
        self.progress.pop_front()
    }

    /// Lets everything go on that can: answers of the switch, frames of its CPU port, writes, readings, timers.
    pub fn go_on(&mut self, now: Time) {
        self.drive(now);
        if self.software.next_path_timer().is_some_and(|at| at <= now) {
            self.software.advance_paths(now);
            self.send_from_software(now);
            self.drive(now);
        }
    }

    /// The same without the timers of GTP-U paths, which expire between packets and plans only.
    pub(super) fn drive(&mut self, now: Time) {
        while self.step(now) {}
    }

    /// When [`Switch::go_on`] has something to do by itself; answers of a driver without times of its own may come earlier.
    pub fn next_deadline(&self) -> Option<Time> {
        let awaited = self.expired > 0 || !self.waits.is_empty();
        let pace = self.config.pace.filter(|_| !self.rules.is_empty());
        let pace = pace.or(awaited.then_some(self.config.drain)).map(|pace| pace.max(TICK));
        let pass = |reader: &Reader| pace.map(|pace| reader.started + pace);
        let passes = self.readers.iter().filter(|reader| !reader.is_reading).filter_map(pass);
        let own = [
            self.driver.next_event(),
            self.software.next_session_timer().filter(|_| self.timing.is_empty()),
            self.software.next_path_timer(),
            self.pulling.next_deadline(),
            self.later.first_key_value().map(|((at, _), _)| *at),
            self.access.next_deadline(Time::default()),
        ];
        own.into_iter().flatten().chain(passes).min()
    }

    /// All counters that there are now are read as soon as can be.
    pub fn look(&mut self) {
        self.readers.iter_mut().for_each(|reader| reader.demand = 2);
    }

    /// What the control plane is to hear of, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        causeway_dataplane::Dataplane::poll_event(&mut self.software)
    }

    /// The driver.
    pub const fn driver(&mut self) -> &mut D {
        &mut self.driver
    }

    /// What has happened since the start.
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Sessions, and rules with numbers, those that have not retired included.
    pub fn len(&self) -> (usize, usize) {
        (self.sessions.len(), self.rules.len())
    }

    /// There is no session, and nothing of one is left.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.rules.is_empty() && self.operations.is_empty()
    }

    /// One thing goes on; `false`: nothing can.
    fn step(&mut self, now: Time) -> bool {
        if let Some((ticket, outcome)) = self.driver.poll(now) {
            self.take_outcome(now, ticket, outcome);
            return true;
        }
        if let Some(frame) = self.driver.poll_packet(now) {
            self.take_frame(now, frame);
            return true;
        }
        self.try_later(now)
            || self.do_chore(now)
            || self.begin(now)
            || self.hand_over(now)
            || self.write(now)
            || self.let_timers_expire(now)
            || self.start_passes(now)
    }

    pub(super) fn line_up(&mut self, seid: Seid, plan: Option<Plan>) -> Operation {
        let operation = Operation(self.submitted);
        self.submitted += 1;
        self.operations.insert(operation, Pending::new(seid, plan));
        match self.sessions.get_mut(&seid).filter(|held| held.busy.is_some()) {
            Some(held) => held.queue.push_back(operation),
            None => {
                self.sessions.entry(seid).or_default().busy = Some(operation);
                self.ready.push_back(operation);
            }
        }
        operation
    }

    /// The operation is over.
    pub(super) fn end(&mut self, operation: Operation, result: Result<Applied, ApplyError>) {
        let Some(pending) = self.operations.remove(&operation) else { return };
        self.unwritten.remove(&operation);
        match &result {
            Ok(_) => self.statistics.done += 1,
            Err(_) => self.statistics.refused += 1,
        }
        if pending.plan.is_some() && !pending.is_abandoned {
            self.progress.push_back(Progress::Done(operation, result));
        }
        let Some(held) = self.sessions.get_mut(&pending.session) else { return };
        held.busy = held.queue.pop_front();
        match held.busy {
            Some(next) => self.ready.push_back(next),
            None => self.forget_if_over(pending.session),
        }
    }

    /// Forgets a session of which nothing is left: no rules, no numbers, no operation.
    pub(super) fn forget_if_over(&mut self, seid: Seid) {
        let is_over = |held: &Held| held.numbers.is_empty() && held.busy.is_none() && held.placed.is_empty();
        if self.sessions.get(&seid).is_some_and(is_over) && self.software.rules_of(seid).is_none() {
            self.sessions.remove(&seid);
        }
    }

    /// Something is to be tried again after the usual time.
    pub(super) fn try_again(&mut self, now: Time, what: Later) {
        self.laters += 1;
        self.later.insert((now + self.config.retry, self.laters), what);
    }
}
