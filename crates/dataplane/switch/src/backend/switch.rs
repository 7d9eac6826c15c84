//! The backend: its parts, and its main loop.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use causeway_dataplane::{Disposition, Event, Plan, PlanId, Topology};
use causeway_slowpath::SlowPath;
use causeway_types::{Seid, Span, Time};
use foldhash::fast::RandomState;

use super::background_writes::BackgroundWrites;
use super::closed;
use super::compile_session::LookupKey;
use super::config::Config;
use super::counter_bases::CounterBases;
use super::counter_waits::CounterWaits;
use super::direct;
use super::drop_counters::DropCounters;
use super::indexed_pass::IndexedPass;
use super::layout::Layout;
use super::notice::Notice;
use super::operation::{Operation, Pending, Progress};
use super::outcomes::{InFlight, Retry};
use super::readers::Reader;
use super::reconcile::Reconcile;
use super::session_state::{NumberRecord, SessionState};
use super::start::{StartError, access, bootstrap, fixed_entries};
use super::statistics::Statistics;
use super::template::Template;
use super::usage_keys::Measure;
use crate::SwitchPdr;
use crate::driver::{Entry, Program, SwitchDriver, Ticket, Update};
use crate::pendulum::{Side, TableAccess};
use crate::pulling::Pulling;
use crate::ranges::Ranges;

/// The minimum time between two passes with nothing to read, so that time advances in between.
pub(super) const TICK: Span = Span::from_micros(10);

/// A UPF on a switch.
#[derive(Debug)]
pub struct Switch<D> {
    pub(super) driver: D,
    pub(super) layout: Layout,
    pub(super) config: Config,
    pub(super) software: SlowPath,
    pub(super) ranges: Ranges<Template>,
    pub(super) access: TableAccess<Operation>,
    pub(super) pulling: Pulling<Measure>,
    pub(super) sessions: HashMap<Seid, SessionState, RandomState>,
    pub(super) rules: HashMap<SwitchPdr, NumberRecord, RandomState>,
    pub(super) keys: HashMap<LookupKey, Seid, RandomState>,
    /// The next meters of rules, and of simple rules of sessions where those are separate.
    pub(super) next_meter: [u32; 2],
    pub(super) free_meters: [Vec<u32>; 2],
    /// Numbers and classes of filters of profile `direct`.
    pub(super) numbers: direct::Numbers,
    pub(super) classes: direct::Classes,
    pub(super) bases: CounterBases,
    /// The number of entries of sessions in each table.
    pub(super) used: HashMap<u32, usize, RandomState>,
    pub(super) operations: HashMap<Operation, Pending, RandomState>,
    pub(super) submitted: u64,
    /// Operations that can begin, and those that wait for templates to be written.
    pub(super) ready: VecDeque<Operation>,
    pub(super) prepared: VecDeque<Operation>,
    /// Operations that have begun and are not written.
    pub(super) unwritten: BTreeSet<Operation>,
    pub(super) progress: VecDeque<Progress>,
    /// The numbers of plans in flight that the contract's caller gave them.
    pub(super) plan_ids: HashMap<Operation, PlanId, RandomState>,
    pub(super) background_writes: BackgroundWrites,
    /// Entries that belong to no session and never change.
    pub(super) fixed: Vec<Entry>,
    /// Addresses that UEs must not reach.
    pub(super) closed: Vec<Entry>,
    /// The reconciliation in progress.
    pub(super) reconcile: Option<Reconcile>,
    /// When the last one ended.
    pub(super) compared: Option<Time>,
    pub(super) notices: VecDeque<Notice>,
    pub(super) flights: HashMap<Ticket, InFlight, RandomState>,
    pub(super) later: BTreeMap<(Time, u64), Retry>,
    pub(super) laters: u64,
    pub(super) waits: CounterWaits,
    /// Sessions with a due timer that waits for counters.
    pub(super) timing: BTreeSet<Seid>,
    pub(super) readers: [Reader; 2],
    /// The numbers that the pass of each side reads, and their partition.
    pub(super) reading: [Vec<SwitchPdr>; 2],
    /// The readings so far, where a pass takes several requests.
    pub(super) parts: [IndexedPass; 2],
    pub(super) reading_of: [usize; 2],
    /// Frames of the software that wait for the routes of the switch.
    pub(super) held_frames: VecDeque<Vec<u8>>,
    /// The fate of the packet that the software has handled last.
    pub(super) last_fate: Option<Disposition>,
    pub(super) drop_counters: DropCounters,
    pub(super) statistics: Statistics,
}

impl<D: SwitchDriver> Switch<D> {
    /// A UPF on a switch with this program: an empty one, unless its driver reports otherwise
    /// ([`Link`](crate::driver::Link)). It begins to write the entries that belong to no session; operations wait for
    /// them.
    ///
    /// # Errors
    /// The program or the configuration is invalid.
    pub fn new(driver: D, program: &Program, config: Config) -> Result<Self, StartError> {
        let layout = Layout::new(program)?;
        if !config.topology.gtpu.iter().any(|end| end.addr.v4.is_some()) {
            return Err(StartError::NoAddress);
        }
        let (ranges, templates) = bootstrap(&layout, &config)?;
        let access = TableAccess::new(access(&layout, &config));
        let mut chores = BackgroundWrites::default();
        let fixed = fixed_entries(&layout, &config)?;
        let closed = closed::entries(&layout, &config.topology);
        if let Some((room, needed)) = closed::lacks_room(&layout, &closed) {
            return Err(StartError::Closed { needed, room });
        }
        let mut used: HashMap<u32, usize, RandomState> = HashMap::default();
        for entry in &fixed {
            *used.entry(entry.key.table).or_default() += 1;
        }
        chores.push(fixed.iter().chain(&closed).cloned().map(Update::Insert).collect());
        chores.push(templates);
        Ok(Self {
            software: SlowPath::new(config.topology.clone(), config.limits),
            pulling: Pulling::new(config.pulling),
            driver,
            numbers: direct::Numbers::new(&layout, &config.guards),
            classes: direct::Classes::new(&layout),
            bases: CounterBases::default(),
            layout,
            config,
            ranges,
            access,
            sessions: HashMap::default(),
            rules: HashMap::default(),
            keys: HashMap::default(),
            next_meter: [1; 2],
            free_meters: [Vec::new(), Vec::new()],
            used,
            operations: HashMap::default(),
            submitted: 0,
            ready: VecDeque::new(),
            prepared: VecDeque::new(),
            unwritten: BTreeSet::new(),
            progress: VecDeque::new(),
            plan_ids: HashMap::default(),
            background_writes: chores,
            fixed,
            closed,
            reconcile: None,
            compared: None,
            notices: VecDeque::new(),
            flights: HashMap::default(),
            later: BTreeMap::new(),
            laters: 0,
            waits: CounterWaits::default(),
            timing: BTreeSet::new(),
            readers: [Reader::default(); 2],
            reading: [Vec::new(), Vec::new()],
            parts: [IndexedPass::default(), IndexedPass::default()],
            reading_of: [0; 2],
            held_frames: VecDeque::new(),
            last_fate: None,
            drop_counters: DropCounters::default(),
            statistics: Statistics::default(),
        })
    }

    /// Starts a change of a session. [`Switch::poll`] returns its progress; until it ends, later ones of the session
    /// wait.
    pub fn submit(&mut self, now: Time, plan: &Plan) -> Operation {
        let operation = self.enqueue(plan.session, Some(plan.clone()));
        self.run_without_path_timers(now);
        operation
    }

    /// The next progress of an operation, oldest first.
    pub fn poll(&mut self, now: Time) -> Option<Progress> {
        if self.progress.is_empty() {
            self.run_without_path_timers(now);
        }
        self.progress.pop_front()
    }

    /// Abandons an operation: it is not carried out, unless it was already.
    pub fn abandon(&mut self, operation: Operation) {
        if let Some(pending) = self.operations.get_mut(&operation) {
            pending.is_abandoned = true;
        }
    }

    /// Makes all progress that is possible: responses of the switch, frames of its CPU port, writes, readings, timers.
    pub fn run(&mut self, now: Time) {
        self.run_without_path_timers(now);
        if self.software.next_path_timer().is_some_and(|at| at <= now) {
            self.software.advance_paths(now);
            self.send_from_software(now);
            self.run_without_path_timers(now);
        }
    }

    /// The same without the timers of GTP-U paths, which expire between packets and plans only.
    pub(super) fn run_without_path_timers(&mut self, now: Time) {
        self.wake_readers();
        while self.run_one(now) {}
    }

    /// An event occurred: readers may have work.
    fn wake_readers(&mut self) {
        self.readers.iter_mut().for_each(|reader| reader.idle = 0);
    }

    /// When [`Switch::run`] has work without new input; responses of a driver in real time may arrive earlier.
    pub fn next_deadline(&self) -> Option<Time> {
        self.next_step().into_iter().chain(self.software.next_path_timer()).min()
    }

    /// The same without the timers of GTP-U paths.
    pub(super) fn next_step(&self) -> Option<Time> {
        if let Some(reconcile) = &self.reconcile {
            let retry = reconcile.retry.filter(|_| self.is_idle());
            return self.driver.next_event().into_iter().chain(retry).min();
        }
        let paced = self.config.pace.filter(|_| !self.rules.is_empty());
        let pass = |(side, reader): (usize, &Reader)| {
            let retires = self.access.has_expired(Side::ALL[side]);
            let is_awaited = retires || self.waits.of_side(side).next().is_some();
            let pace = paced.or(is_awaited.then_some(self.config.drain))?;
            (!reader.is_reading).then(|| reader.started + pace.max(TICK))
        };
        let passes = self.readers.iter().enumerate().filter_map(pass);
        let own = [
            self.driver.next_event(),
            self.software.next_session_timer().filter(|_| self.timing.is_empty()),
            self.pulling.next_deadline(),
            self.later.first_key_value().map(|((at, _), _)| *at),
            self.access.next_deadline(Time::default()),
            self.next_drop_read(),
        ];
        own.into_iter().flatten().chain(passes).min()
    }

    /// Reads all present counters as soon as possible.
    pub fn read_all_counters(&mut self) {
        self.readers.iter_mut().for_each(|reader| reader.demand = 2);
    }

    /// The next event for the control plane, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        causeway_dataplane::Dataplane::poll_event(&mut self.software)
    }

    /// The next notice for the operator, oldest first.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// The topology that it was built with, with the present addresses of the host.
    pub fn topology(&self) -> &Topology {
        causeway_dataplane::PacketEngine::topology(&self.software)
    }

    /// The driver.
    pub const fn driver(&mut self) -> &mut D {
        &mut self.driver
    }

    /// The number of sessions, and of rule numbers including those that have not retired.
    pub fn len(&self) -> (usize, usize) {
        (self.sessions.len(), self.rules.len())
    }

    /// There is no session and no remaining state of one.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.rules.is_empty() && self.operations.is_empty()
    }

    /// Makes one step; `false`: none is possible.
    fn run_one(&mut self, now: Time) -> bool {
        if self.poll_without_readers(now) {
            self.wake_readers();
            return true;
        }
        self.reconcile.is_none() && self.start_passes(now)
    }

    /// The same except for passes of readers.
    fn poll_without_readers(&mut self, now: Time) -> bool {
        // Outcomes after a link change may be of another switch than before.
        if let Some(link) = self.driver.poll_link(now) {
            self.handle_link(now, link);
            return true;
        }
        if let Some((ticket, outcome)) = self.driver.poll(now) {
            self.handle_outcome(now, ticket, outcome);
            return true;
        }
        if let Some(frame) = self.driver.poll_packet(now) {
            self.handle_frame(now, frame);
            return true;
        }
        if self.reconcile.is_some() {
            return self.continue_reconcile(now);
        }
        self.poll_retries(now)
            || self.write_background(now)
            || self.begin(now)
            || self.hand_over(now)
            || self.write(now)
            || self.arrange_classes()
            || self.expire_due_timers(now)
            || self.start_drop_read(now)
    }
}
