//! Application classes: the sessions that the switch measures, each with its place and the class that the switch says, and the rows of the model.
//!
//! A session asks for the class of its traffic when one of its PDRs names an application that is a class. PDRs of other classes than the one
//! that it has match no packet, so they have no entries; when the class changes, the session is compiled again. A session that the switch cannot
//! measure is in the software as a whole, which measures it itself.
//!
//! Nothing is written to registers, which not every switch permits. A place that is given back rests for [`REST`] windows without packets, and
//! so does every session when the model is replaced, with a switch that says `other` for each window: what was before counts no more then.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use causeway_model::{Applications, Pdr, PduSessionType, RuleSet};
use causeway_types::{Seid, Span, Time};
use foldhash::fast::RandomState;

use super::requests::{InFlight, Requests};
use crate::classes::{self, ModelRefused};
use crate::driver::{DriverError, Entry, Outcome, Program, Reply, Request, SwitchDriver, Update};

/// After so many windows nothing of the earlier ones counts: two are looked at, and one has begun.
const REST: u32 = 4;

/// The longest window, rounded up.
const LONGEST: Span = Span::from_millis(1074);

/// The least time between two readings of classes.
const LEAST_INTERVAL: Span = Span::from_millis(20);

/// The most places of one reading.
const MOST_READ: usize = 500;

/// How the rules of a session that name applications are compiled.
#[derive(Clone, Copy, Debug)]
pub(super) enum ClassView<'a> {
    /// The program has no application classes: such rules are refused.
    Unknown,
    /// PDRs of this class match packets, and those of other applications none.
    Of {
        applications: &'a Applications,
        class: u8,
        /// Where its forwarded packets are measured, if it asks.
        place: Option<u32>,
    },
    /// The software has all packets of the session.
    InSoftware,
}

/// The class for which the entries of a session were made, and the place where it is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Measured {
    pub(super) place: u32,
    pub(super) class: u8,
}

impl ClassView<'_> {
    /// Packets may match the PDR.
    pub(super) fn matches(&self, pdr: &Pdr) -> bool {
        match (self, &pdr.pdi.application) {
            (Self::Of { applications, class, .. }, Some(id)) => applications.class_of(id) == Some(*class),
            _ => true,
        }
    }

    /// Rules that name applications are known.
    pub(super) const fn knows_applications(&self) -> bool {
        !matches!(self, Self::Unknown)
    }

    pub(super) const fn is_in_software(&self) -> bool {
        matches!(self, Self::InSoftware)
    }

    /// What is measured of the session.
    pub(super) const fn measured(&self) -> Option<Measured> {
        match *self {
            Self::Of { class, place: Some(place), .. } => Some(Measured { place, class }),
            _ => None,
        }
    }
}

/// Why a session that asks is in the software.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reason {
    /// All places are taken, or rest.
    NoPlace,
    /// Its rules, or the model, need the software.
    Needed,
}

/// What the switch has said of a session.
#[derive(Clone, Copy, Debug)]
struct Known {
    place: u32,
    class: u8,
    /// The register has been seen to be the session's: it was 0, or the switch has sent a copy. Before, it may have what an earlier session at the place
    /// left there.
    is_sure: bool,
}

/// The replacement of a model.
#[derive(Debug)]
enum Model {
    /// Its rows are those of the switch.
    InForce,
    /// Its rows are, but for cells, from the background batch with this number on: no window has a class.
    Stopping { batch: u64 },
    /// The same, until then.
    Resting { until: Time },
}

/// Counters since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ClassCounts {
    /// Changes of a session's class.
    pub(super) changes: u64,
    /// Those that were found by reading, as the copy was lost.
    pub(super) found_by_reading: u64,
    /// Sessions that asked when no place was free.
    pub(super) without_place: u64,
    /// Sessions that asked, with rules or a model that need the software.
    pub(super) in_software: u64,
}

/// The sessions that are measured, and the model.
#[derive(Debug)]
pub(super) struct ApplicationClasses {
    /// The program finds application classes.
    are_there: bool,
    /// The register with the class of each place, if it can be read.
    register: Option<u32>,
    applications: Arc<Applications>,
    /// The model in force, or the next one, can be on the switch.
    has_model: bool,
    model: Model,
    /// The rows of the next model.
    next: Vec<Entry>,
    /// The time in which all places forget.
    rest: Span,
    sessions: HashMap<Seid, Known, RandomState>,
    /// Sessions of which one gets the next free place; all sessions that are in the software.
    waiting: BTreeSet<Seid>,
    excluded: BTreeSet<Seid>,
    places: u32,
    used: u32,
    /// Places that were given back, with the time from which on they may be used.
    free: VecDeque<(Time, u32)>,
    /// From then on places that were never used may be.
    fresh_from: Time,
    /// The switch may have measured for another controller.
    takes_over: bool,
    is_attached: bool,
    interval: Option<Span>,
    next_read: Time,
    /// Sessions of which a copy has come while classes are being read.
    reading: Option<BTreeSet<Seid>>,
    /// The last session of the last reading.
    last_read: Option<Seid>,
    counts: ClassCounts,
}

impl ApplicationClasses {
    /// For a switch with this program, whose classes are read at this interval.
    pub(super) fn new(program: &Program, interval: Option<Span>) -> Self {
        let register = classes::of_sessions(program);
        let places = register.map_or(classes::PLACES, |register| register.size);
        Self {
            are_there: classes::are_in(program),
            register: register.map(|register| register.id),
            applications: Arc::default(),
            has_model: false,
            model: Model::InForce,
            next: Vec::new(),
            rest: LONGEST * REST,
            sessions: HashMap::default(),
            waiting: BTreeSet::new(),
            excluded: BTreeSet::new(),
            places: u32::try_from(places).unwrap_or(u32::MAX),
            used: 0,
            free: VecDeque::new(),
            fresh_from: Time::default(),
            takes_over: false,
            is_attached: false,
            interval,
            next_read: Time::default(),
            reading: None,
            last_read: None,
            counts: ClassCounts::default(),
        }
    }

    /// The program finds application classes.
    pub(super) const fn are_there(&self) -> bool {
        self.are_there
    }

    /// The class of each place can be read.
    pub(super) const fn can_be_read(&self) -> bool {
        self.register.is_some()
    }

    pub(super) const fn counts(&self) -> ClassCounts {
        self.counts
    }

    /// The applications.
    pub(super) fn applications(&self) -> Arc<Applications> {
        Arc::clone(&self.applications)
    }

    pub(super) const fn set_interval(&mut self, interval: Span) {
        self.interval = Some(interval);
    }

    /// The place and the class of a session with these rules; its place is new if it has none. `fits`: the switch can do all that its rules ask for,
    /// whatever class it has. `None`: it is for the software.
    pub(super) fn place_of(
        &mut self,
        now: Time,
        seid: Seid,
        rules: &RuleSet,
        fits: bool,
    ) -> Option<Option<Measured>> {
        let mut named = rules.pdrs.values().filter_map(|pdr| pdr.pdi.application.as_ref()).peekable();
        if named.peek().is_none() {
            return Some(None);
        }
        let named: Vec<_> = named.collect();
        let is_class = |id: &&_| self.applications.class_of(id).is_some();
        let asks = rules.pdu_type == PduSessionType::Ip && named.iter().any(is_class);
        if named.iter().any(|id| self.applications.has_pfds(id)) || asks && !(fits && self.has_model) {
            self.exclude(seid, Reason::Needed);
            return None;
        }
        if !asks {
            return Some(None);
        }
        if let Some(Known { place, class, .. }) = self.sessions.get(&seid).copied() {
            return Some(Some(Measured { place, class }));
        }
        let Some(place) = self.take_place(now) else {
            self.exclude(seid, Reason::NoPlace);
            return None;
        };
        self.waiting.remove(&seid);
        self.excluded.remove(&seid);
        self.sessions.insert(seid, Known { place, class: 0, is_sure: false });
        Some(Some(Measured { place, class: 0 }))
    }

    /// The table of members has no space for the rules of a session: its next change tries again.
    pub(super) fn exclude_full(&mut self, seid: Seid) {
        self.exclude(seid, Reason::NoPlace);
        self.waiting.remove(&seid);
    }

    fn exclude(&mut self, seid: Seid, reason: Reason) {
        let is_new = u64::from(self.excluded.insert(seid));
        match reason {
            Reason::NoPlace => {
                self.waiting.insert(seid);
                self.counts.without_place += is_new;
            }
            Reason::Needed => {
                self.waiting.remove(&seid);
                self.counts.in_software += is_new;
            }
        }
    }

    fn take_place(&mut self, now: Time) -> Option<u32> {
        if let Some((_, place)) = self.free.front().filter(|(from, _)| *from <= now).copied() {
            self.free.pop_front();
            return Some(place);
        }
        let is_fresh = !self.takes_over && self.used < self.places && self.fresh_from <= now;
        is_fresh.then(|| {
            self.used += 1;
            self.used - 1
        })
    }

    /// The switch has these entries of a session, or keeps them: a place that they do not use is given back.
    pub(super) fn settle(&mut self, now: Time, seid: Seid, measured: Option<Measured>, is_there: bool) {
        if !is_there {
            self.waiting.remove(&seid);
            self.excluded.remove(&seid);
        }
        let Some(known) = self.sessions.get(&seid) else { return };
        if measured.is_none_or(|measured| measured.place != known.place) {
            self.free.push_back((now + self.rest, known.place));
            self.sessions.remove(&seid);
        }
    }

    /// The class of a session that is measured.
    pub(super) fn class_of(&self, seid: Seid) -> Option<u8> {
        self.sessions.get(&seid).map(|known| known.class)
    }

    /// The switch has sent a copy: the session has this class. `false`: the copy says nothing.
    pub(super) fn class_changed(&mut self, seid: Seid, class: u16) -> bool {
        if let Some(changed) = &mut self.reading {
            changed.insert(seid);
        }
        self.set_class(seid, class.into(), true)
    }

    fn set_class(&mut self, seid: Seid, class: u32, is_sure: bool) -> bool {
        let most = self.applications.classes().map_or(0, |classes| classes.model().classes().len());
        let is_known = usize::try_from(class).is_ok_and(|class| class < most);
        let Some(known) = self.sessions.get_mut(&seid).filter(|_| is_known) else { return false };
        if !matches!(self.model, Model::InForce) {
            return false;
        }
        known.is_sure |= is_sure || class == 0;
        if known.is_sure && u32::from(known.class) != class {
            known.class = class as u8;
            self.counts.changes += 1;
            self.counts.found_by_reading += u64::from(!is_sure);
        }
        true
    }

    /// All sessions are of other traffic: their windows begin anew.
    fn forget(&mut self) {
        self.sessions.values_mut().for_each(|known| (known.class, known.is_sure) = (0, false));
    }

    /// The switch was emptied, or may have been another controller's.
    pub(super) fn attached(&mut self, emptied: bool) {
        if emptied {
            self.forget();
        }
        self.takes_over |= !emptied && !self.is_attached;
        self.is_attached = true;
    }

    /// The switch has the desired state. Returns the sessions that are measured.
    pub(super) fn reconciled(&mut self, now: Time) -> Vec<Seid> {
        if std::mem::take(&mut self.takes_over) {
            self.fresh_from = now + self.rest;
        }
        self.sessions.keys().copied().collect()
    }

    /// Replaces the applications. Returns whether the model is another one, in which case the switch gets its rows in steps.
    ///
    /// # Errors
    /// The switch cannot decide as the model does: the software measures all sessions that ask.
    pub(super) fn set_applications(
        &mut self,
        program: &Program,
        applications: &Arc<Applications>,
    ) -> Result<bool, ModelRefused> {
        let is_other = self.applications.classes() != applications.classes();
        self.applications = Arc::clone(applications);
        if !is_other {
            return Ok(false);
        }
        self.forget();
        self.has_model = false;
        self.next.clear();
        if let Some(classes) = applications.classes() {
            let updates = classes::entries(program, classes.model())?;
            self.next = updates.into_iter().filter_map(Update::into_entry).collect();
            // The switch's windows are up to half a millisecond longer.
            self.rest = (classes.model().window() + Span::from_millis(1)) * REST;
            self.has_model = true;
        }
        Ok(true)
    }

    /// The rows of the next model that the switch is to have at once: without cells, where sessions are measured.
    pub(super) fn begin_replacement(&mut self, cells: Option<u32>) -> Vec<Entry> {
        let is_measured = !self.sessions.is_empty() && !self.next.is_empty();
        self.model = if is_measured { Model::Stopping { batch: u64::MAX } } else { Model::InForce };
        self.next.iter().filter(|entry| !is_measured || Some(entry.key.table) != cells).cloned().collect()
    }

    /// They are the background batch with this number.
    pub(super) fn replacement_began(&mut self, number: u64) {
        if let Model::Stopping { batch } = &mut self.model {
            *batch = number;
        }
    }

    /// The rows of the next model, if the switch is to have all of them now.
    pub(super) fn step(&mut self, now: Time, written: u64) -> Option<Vec<Entry>> {
        if let Model::Stopping { batch } = self.model
            && batch <= written
        {
            self.model = Model::Resting { until: now + self.rest };
        }
        match self.model {
            Model::Resting { until } if until <= now => {
                self.model = Model::InForce;
                Some(self.next.clone())
            }
            _ => None,
        }
    }

    /// A session that may get a place now.
    pub(super) fn next_waiting(&self, now: Time) -> Option<Seid> {
        let is_free = self.free.front().is_some_and(|(from, _)| *from <= now)
            || !self.takes_over && self.used < self.places && self.fresh_from <= now;
        self.waiting.first().copied().filter(|_| is_free)
    }

    /// It is compiled again, and waits again if the place is taken by then.
    pub(super) fn stop_waiting(&mut self, seid: Seid) {
        self.waiting.remove(&seid);
    }

    /// Reads the classes of some sessions, if that is due.
    pub(super) fn start_reading<D: SwitchDriver>(&mut self, now: Time, requests: &mut Requests<D>) -> bool {
        if self.next_reading().is_none_or(|at| at > now) {
            return false;
        }
        let (Some(register), Some(interval)) = (self.register, self.interval) else { return false };
        let mut seids: Vec<Seid> = self.sessions.keys().copied().collect();
        seids.sort_unstable();
        let behind = self.last_read.map_or(0, |last| seids.partition_point(|seid| *seid <= last));
        seids.rotate_left(behind);
        seids.truncate(MOST_READ);
        self.last_read = seids.last().copied();
        let placed = |seid: &Seid| Some((*seid, self.sessions.get(seid)?.place));
        let read: Vec<(Seid, u32)> = seids.iter().filter_map(placed).collect();
        let indices = read.iter().map(|(_, place)| *place).collect();
        self.reading = Some(BTreeSet::new());
        self.next_read = now + interval.max(LEAST_INTERVAL);
        requests.send(now, Request::ReadRegister { register, indices }, InFlight::Classes(read));
        true
    }

    fn next_reading(&self) -> Option<Time> {
        let is_wanted = self.register.is_some() && !self.sessions.is_empty() && self.interval.is_some();
        (is_wanted && self.reading.is_none() && matches!(self.model, Model::InForce))
            .then_some(self.next_read)
    }

    /// Classes were read. Returns the sessions that may have another one.
    ///
    /// # Errors
    /// The switch cannot read registers, and why.
    pub(super) fn reading_ended(
        &mut self,
        read: &[(Seid, u32)],
        outcome: Outcome,
    ) -> Result<Vec<Seid>, String> {
        let changed = self.reading.take().unwrap_or_default();
        let values = match outcome {
            Ok(Reply::Registers(values)) => values,
            Err(DriverError::Rejected(rejected)) => {
                self.register = None;
                return Err(rejected.to_string());
            }
            _ => return Ok(Vec::new()),
        };
        let mut seids = Vec::new();
        for ((seid, place), [class, _]) in read.iter().zip(values) {
            let is_same = self.sessions.get(seid).is_some_and(|known| known.place == *place);
            if is_same && !changed.contains(seid) && self.set_class(*seid, class, false) {
                seids.push(*seid);
            }
        }
        Ok(seids)
    }

    /// When there is something to do without an event, if sessions without an operation may get a place.
    pub(super) fn next_deadline(&self, is_at_rest: impl Fn(Seid) -> bool) -> Option<Time> {
        let rested = match self.model {
            Model::Resting { until } => Some(until),
            _ => None,
        };
        let is_fresh = !self.takes_over && self.used < self.places;
        let free = self.free.front().map(|(from, _)| *from);
        let place = free.into_iter().chain(is_fresh.then_some(self.fresh_from)).min();
        let place = place.filter(|_| self.waiting.first().is_some_and(|seid| is_at_rest(*seid)));
        [rested, place, self.next_reading()].into_iter().flatten().min()
    }
}
