//! Sessions with traffic and little state: they can be dormant as well.

use causeway_collections::SortedMap;
use causeway_dataplane::Topology;
use causeway_model::{RuleSet, Urr};
use causeway_types::{Direction, QerId, Seid, Span, Time, UrrId};

use super::dormancy::is_independent;
use super::record::{BadRecord, RecordReader, RecordWriter};
use crate::application_class::SessionClass;
use crate::application_detection::Detector;
use crate::bucket::Bucket;
use crate::buffer::Buffer;
use crate::downlink_notification::NotificationState;
use crate::enforcer::QerState;
use crate::engine::SlowPath;
use crate::enrich::EnrichedFlows;
use crate::inactivity::{Inactivity, InactivityState};
use crate::lazy::Lazy;
use crate::measure::{Measurement, UrrState};
use crate::meter::Meter;
use crate::router_advertisement::Advertised;
use crate::session::Session;
use crate::steer::RedirectedFlows;
use crate::timers::{NextTimers, Timer};

/// The state that packets have created in a session, beside its rules and its time of establishment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MeasuredState {
    urrs: SortedMap<UrrId, UrrState>,
    qers: SortedMap<QerId, BucketLevels>,
    /// The same of guaranteed bit rates, where there are some.
    guaranteed: SortedMap<QerId, BucketLevels>,
    /// When the URRs and QERs were created that are younger than the session.
    begins: SortedMap<MeasuringRule, Time>,
    /// The User Plane Inactivity Timer.
    inactivity: Option<Box<InactivityState>>,
    /// When the UPF advertises itself to the UE again.
    advertised: Option<Advertised>,
}

/// Which state of a session is kept when the session leaves the slow path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// Of sessions without timers.
    Untimed,
    /// Timers as well, of which none is due until a time: [`SlowPath::take_due_away`] says later which session must return.
    Timers {
        /// A session with a timer until this time stays.
        stays_until: Time,
    },
}

/// A rule that measures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum MeasuringRule {
    Urr(UrrId),
    Qer(QerId),
}

/// The token buckets of the maximum bit rate of a QER, uplink and downlink: tokens, size of the last packet, and time
/// of the last fill.
type BucketLevels = [Option<(i64, i64, Time)>; 2];

const DIRECTIONS: [Direction; 2] = [Direction::Uplink, Direction::Downlink];

impl MeasuredState {
    /// `None`: the session has more state.
    fn of(session: &Session, since: Time, burst: Span, kept: Kept) -> Option<Self> {
        let Session {
            rules,
            enforcers,
            measurements,
            buffer,
            detector,
            class,
            refused_tunnels,
            notified,
            extended,
            redirected,
            enriched,
            inactivity,
            advertised,
            timers: _,
        } = session;
        let is_quiet = *buffer == Buffer::default()
            && *detector == Detector::default()
            && *class == SessionClass::default()
            && refused_tunnels.is_empty()
            && *notified == NotificationState::default()
            && extended.is_empty()
            && *redirected == RedirectedFlows::default()
            && *enriched == EnrichedFlows::default()
            && (kept != Kept::Untimed || inactivity.is_none() && advertised.is_none());
        let mut state = is_quiet.then(Self::default)?;
        state.advertised = *advertised;
        if let Some(inactivity) = inactivity {
            state.inactivity = Some(Box::new(inactivity.state()));
            let again = Inactivity::restored(rules.inactivity_timer?, inactivity.state());
            (again == *inactivity).then_some(())?;
        }
        for (id, measurement) in measurements.iter() {
            let (urr, begin) = (rules.urrs.get(id)?, measurement.begin());
            if kept == Kept::Untimed && !is_quiet_when_new(urr, since) {
                return None;
            }
            state.set_begin(MeasuringRule::Urr(*id), begin, since);
            if let Some(measurement) = measurement.get() {
                let urr_state = measurement.measured_state(urr, begin)?;
                if kept == Kept::Untimed && urr_state.is_timed() {
                    return None;
                }
                state.urrs.insert(*id, urr_state);
            }
        }
        for (id, enforcer) in enforcers.iter() {
            let (qer, begin) = (rules.qers.get(id)?, enforcer.begin());
            state.set_begin(MeasuringRule::Qer(*id), begin, since);
            if let Some(enforcer) = enforcer.get() {
                let (levels, guaranteed) =
                    (levels_of(enforcer, Meter::peak), levels_of(enforcer, Meter::committed));
                let mut again = QerState::new(qer, burst, begin);
                set_levels(&mut again, &levels, Meter::peak_mut);
                set_levels(&mut again, &guaranteed, Meter::committed_mut);
                state.qers.insert(*id, (again == *enforcer).then_some(levels)?);
                if guaranteed != BucketLevels::default() {
                    state.guaranteed.insert(*id, guaranteed);
                }
            }
        }
        Some(state)
    }

    fn set_begin(&mut self, rule: MeasuringRule, begin: Time, since: Time) {
        if begin != since {
            self.begins.insert(rule, begin);
        }
    }
}

/// A new session with this URR has neither a report nor a timer by it.
fn is_quiet_when_new(urr: &Urr, now: Time) -> bool {
    let fresh = Measurement::new(urr, now);
    fresh.is_quiet(urr, now)
}

impl MeasuredState {
    /// Appends the state as octets. `since`: when the session was established.
    pub fn write(&self, since: Time, out: &mut Vec<u8>) {
        let mut out = RecordWriter::new(out, since);
        out.number(self.urrs.len() as u64);
        for (id, state) in self.urrs.iter() {
            out.number(id.0);
            state.write(&mut out);
        }
        for qers in [&self.qers, &self.guaranteed] {
            out.number(qers.len() as u64);
            for (id, levels) in qers.iter() {
                out.number(id.0);
                for level in levels {
                    out.option(*level, |out, (tokens, last, updated)| {
                        out.signed(tokens);
                        out.signed(last);
                        out.time(updated);
                    });
                }
            }
        }
        out.number(self.begins.len() as u64);
        for (rule, begin) in self.begins.iter() {
            let (is_qer, id) = match rule {
                MeasuringRule::Urr(id) => (0_u8, id.0),
                MeasuringRule::Qer(id) => (1, id.0),
            };
            out.number(is_qer);
            out.number(id);
            out.time(*begin);
        }
        out.option(self.inactivity.as_deref(), |out, (last, notified, set)| {
            out.time(*last);
            out.number(*notified);
            out.option(*set, RecordWriter::time);
        });
        out.option(self.advertised, |out, advertised| out.option(advertised.timer_set(), RecordWriter::time));
    }

    /// The state that [`MeasuredState::write`] has written, of a session established at `since`.
    ///
    /// # Errors
    /// [`BadRecord`] when no state is written so.
    pub fn read(octets: &[u8], since: Time) -> Result<Self, BadRecord> {
        let mut octets = RecordReader::new(octets, since);
        let mut state = Self::default();
        for _ in 0..octets.number::<u32>()? {
            let id = UrrId(octets.number()?);
            if state.urrs.insert(id, UrrState::read(&mut octets)?).is_some() {
                return Err(BadRecord);
            }
        }
        for qers in [&mut state.qers, &mut state.guaranteed] {
            for _ in 0..octets.number::<u32>()? {
                let id = QerId(octets.number()?);
                let mut level =
                    || octets.option(|octets| Ok((octets.signed()?, octets.signed()?, octets.time()?)));
                let levels = [level()?, level()?];
                if qers.insert(id, levels).is_some() {
                    return Err(BadRecord);
                }
            }
        }
        for _ in 0..octets.number::<u32>()? {
            let rule = match octets.number::<u8>()? {
                0 => MeasuringRule::Urr(UrrId(octets.number()?)),
                1 => MeasuringRule::Qer(QerId(octets.number()?)),
                _ => return Err(BadRecord),
            };
            let begin = octets.time()?;
            if begin == since || state.begins.insert(rule, begin).is_some() {
                return Err(BadRecord);
            }
        }
        let inactivity = octets
            .option(|octets| Ok((octets.time()?, octets.flag()?, octets.option(RecordReader::time)?)))?;
        state.inactivity = inactivity.map(Box::new);
        let advertised = octets.option(|octets| octets.option(RecordReader::time))?;
        state.advertised = advertised.map(|at| at.map_or(Advertised::Owed, Advertised::Again));
        octets.end()?;
        Ok(state)
    }

    /// The next timers of a session with these rules.
    fn next_timers(&self, rules: &RuleSet) -> NextTimers {
        let limit = rules.inactivity_timer;
        let inactivity = self.inactivity.as_deref().zip(limit);
        let inactivity = inactivity.map(|(state, limit)| Inactivity::restored(limit, *state));
        let advertised = self.advertised.and_then(Advertised::timer_set);
        let none =
            NextTimers { steady: inactivity.and_then(|it| it.end()), wall: None }.and(advertised, None);
        self.urrs.values().map(UrrState::timers_set).fold(none, |next, (at, wall)| next.and(at, wall))
    }

    /// Measurements alone.
    pub(crate) fn of_urrs(urrs: SortedMap<UrrId, UrrState>) -> Self {
        Self { urrs, ..Self::default() }
    }

    /// When a URR of a session that was established at `since` was created.
    pub(crate) fn begin_of(&self, id: UrrId, since: Time) -> Time {
        self.begins.get(&MeasuringRule::Urr(id)).copied().unwrap_or(since)
    }

    /// The state of a URR; `None`: that of a new one.
    pub(crate) fn urr(&self, id: UrrId) -> Option<&UrrState> {
        self.urrs.get(&id)
    }

    /// When the last packet arrived; `None`: there was none that a URR measures.
    pub fn last_packet(&self) -> Option<Time> {
        self.urrs.values().filter_map(UrrState::last_arrival).max()
    }
}

fn levels_of(enforcer: &QerState, bucket: impl Fn(&Meter) -> Option<&Bucket>) -> BucketLevels {
    DIRECTIONS.map(|direction| Some(bucket(&enforcer.direction(direction).meter)?.level()))
}

fn set_levels(
    enforcer: &mut QerState,
    levels: &BucketLevels,
    bucket: impl Fn(&mut Meter) -> Option<&mut Bucket>,
) {
    for (direction, level) in DIRECTIONS.into_iter().zip(levels) {
        if let (Some(bucket), Some((tokens, last, updated))) =
            (bucket(&mut enforcer.direction_mut(direction).meter), level)
        {
            bucket.set_level(*tokens, *last, *updated);
        }
    }
}

impl SlowPath {
    /// The state of a session that was established at `since`, and its next timers. `None`: it must stay.
    fn state_to_keep(&self, seid: Seid, since: Time, kept: Kept) -> Option<(MeasuredState, NextTimers)> {
        let session = self.sessions.get(&seid)?;
        let state = MeasuredState::of(session, since, self.shared.burst(), kept)?;
        let next = state.next_timers(&session.rules);
        let is_due = |at| matches!(kept, Kept::Timers { stays_until } if at <= stays_until);
        (!next.first(self.shared.wall).is_some_and(is_due)).then_some((state, next))
    }

    /// Removes a session that was established at `since`, if the returned state and its rules are all its state: from
    /// both, and the time, [`SlowPath::restore_session`] restores it. `None`: it must stay.
    pub fn remove_for_dormancy(
        &mut self,
        seid: Seid,
        since: Time,
        now: Time,
        kept: Kept,
    ) -> Option<MeasuredState> {
        let (state, next) = self.state_to_keep(seid, since, kept)?;
        let session = self.sessions.remove(&seid)?;
        let none = RuleSet::default();
        self.index.update(seid, &session.rules, &none);
        self.shared.update(seid, &session.rules, &none, now);
        self.paths.update(now, &session.rules, &none, &self.topology);
        self.timers.forget(seid, &session);
        self.timers.leave(seid, next);
        self.counters.sessions = self.sessions.len() as u64;
        Some(state)
    }

    /// Whether a session that was established at `since` has no state beside its rules but what [`MeasuredState`] keeps.
    pub fn has_measured_state_alone(&self, seid: Seid, since: Time, kept: Kept) -> bool {
        self.state_to_keep(seid, since, kept).is_some()
    }

    /// Restores a session that was established at `since`, with its rules and its state. Its timers continue. Those without state start now: their
    /// state is lost.
    pub fn restore_session(
        &mut self,
        now: Time,
        seid: Seid,
        since: Time,
        rules: RuleSet,
        state: &MeasuredState,
    ) {
        let mut are_some_lost = false;
        let urrs = rules.urrs.iter().map(|(id, urr)| {
            let begin = state.begin_of(*id, since);
            let is_lost = state.urr(*id).is_none() && !is_quiet_when_new(urr, begin);
            are_some_lost |= is_lost;
            (*id, Lazy::since(if is_lost { now } else { begin }))
        });
        let measurements = urrs.collect();
        let begin_of_qer = |id: &QerId| state.begins.get(&MeasuringRule::Qer(*id)).copied().unwrap_or(since);
        let enforcers = rules.qers.keys().map(|id| (*id, Lazy::since(begin_of_qer(id)))).collect();
        let inactivity = rules.inactivity_timer.map(|limit| match state.inactivity.as_deref() {
            Some(state) => Inactivity::restored(limit, *state),
            None => Inactivity::new(limit, now),
        });
        let next = state.next_timers(&rules);
        let advertised = state.advertised;
        let session =
            Session { rules, measurements, enforcers, inactivity, advertised, ..Session::default() };
        self.timers.come_back(seid, next);
        self.sessions.insert(seid, Box::new(session));
        self.restore_measured_state(seid, state);
        if let Some(session) = self.sessions.get(&seid) {
            let none = RuleSet::default();
            self.index.update(seid, &none, &session.rules);
            self.shared.update(seid, &none, &session.rules, now);
            self.paths.update(now, &none, &session.rules, &self.topology);
        }
        for (id, urr) in state.urrs.iter() {
            let (at, wall) = urr.timers_set();
            at.into_iter().for_each(|at| self.timers.set(at, seid, Timer::Usage(*id)));
            wall.into_iter().for_each(|at| self.timers.set_monitoring(at, seid, *id));
        }
        if are_some_lost {
            self.check_usage(now, seid);
        }
        // The timer that is in the queue, so that there is one alone, however often the session comes and goes.
        match state.inactivity.as_deref() {
            Some((.., set)) => set.iter().for_each(|at| self.timers.set(*at, seid, Timer::Inactivity)),
            None => self.schedule_inactivity(seid),
        }
        if let Some(at) = advertised.and_then(Advertised::timer_set) {
            self.timers.set(at, seid, Timer::Advertisement);
        }
        self.counters.sessions = self.sessions.len() as u64;
    }

    fn restore_measured_state(&mut self, seid: Seid, state: &MeasuredState) {
        let burst = self.shared.burst();
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let Session { rules, measurements, enforcers, .. } = &mut **session;
        for (id, urr_state) in state.urrs.iter() {
            if let (Some(measurement), Some(urr)) = (measurements.get_mut(id), rules.urrs.get(id)) {
                measurement.get_or_create(|begin| Measurement::restored(urr, begin, urr_state));
            }
        }
        for (id, levels) in state.qers.iter() {
            if let (Some(enforcer), Some(qer)) = (enforcers.get_mut(id), rules.qers.get(id)) {
                let enforcer = enforcer.get_or_create(|begin| QerState::new(qer, burst, begin));
                set_levels(enforcer, levels, Meter::peak_mut);
                if let Some(guaranteed) = state.guaranteed.get(id) {
                    set_levels(enforcer, guaranteed, Meter::committed_mut);
                }
            }
        }
    }

    /// Whether the state of a session with a timer is elsewhere.
    #[inline]
    pub fn are_some_away(&self) -> bool {
        self.timers.are_some_away()
    }

    /// No session whose state is elsewhere is named before this time, due or not.
    pub fn postpone_due_away(&mut self, until: Time) {
        self.timers.postpone_away(until);
    }

    /// The next session whose state is elsewhere and whose timer is due: it is to return, or to be named again by [`SlowPath::remind_of`].
    pub fn take_due_away(&mut self, now: Time) -> Option<Seid> {
        self.timers.take_due_away(now, self.shared.wall)
    }

    /// A session whose timer is due cannot return yet: it is named again at this time.
    pub fn remind_of(&mut self, seid: Seid, at: Time) {
        self.timers.leave(seid, NextTimers { steady: Some(at), wall: None });
    }

    /// When the last packet arrived that a URR of the session measures; `None`: there was none. Packets that flow entries have handled since
    /// their grant are not among them.
    pub fn last_packet_of(&self, seid: Seid) -> Option<Time> {
        let measurements = self.sessions.get(&seid)?.measurements.values();
        measurements.filter_map(|measurement| measurement.get()?.last_packet()).max()
    }

    /// A session with the rules of this one shares nothing with others: it can be dormant if others with its URRs and
    /// QERs can.
    pub fn is_independent(&self, seid: Seid) -> bool {
        self.sessions
            .get(&seid)
            .is_some_and(|session| is_independent_of_topology(&session.rules, &self.topology))
    }
}

/// These rules share no state with other sessions.
pub(super) fn is_independent_of_topology(rules: &RuleSet, topology: &Topology) -> bool {
    !rules.slice.is_some_and(|slice| topology.is_limited(slice)) && is_independent(rules)
}

#[cfg(test)]
mod tests {
    use causeway_dataplane::{Dataplane, Event, Plan};

    use super::*;
    use crate::{Limits, SlowPath};

    // Input:  a session with a User Plane Inactivity Timer of an hour and a packet every twenty minutes, which leaves the slow path after each packet
    //         and comes back before the next one, for ten hours; then no packet any more.
    // Output: it never has more than one timer in the queue, and the SMF is notified once, an hour after the last packet.
    #[test]
    fn a_session_that_comes_and_goes_has_one_inactivity_timer() {
        let at = |minutes: u64| Time::from_secs(60 * minutes);
        let limit = Span::from_secs(3600);
        let (seid, rules) = (Seid(1), RuleSet { inactivity_timer: Some(limit), ..RuleSet::default() });
        let mut plane = SlowPath::new(Topology::default(), Limits::default());
        plane.apply(at(0), &Plan::install(seid, rules.clone())).unwrap();
        let kept = |now| Kept::Timers { stays_until: now };
        for minutes in (0..600).step_by(20) {
            plane.record_activity(at(minutes), seid);
            let state = plane.remove_for_dormancy(seid, at(0), at(minutes), kept(at(minutes))).unwrap();
            plane.advance(at(minutes + 10));
            plane.restore_session(at(minutes + 10), seid, at(0), rules.clone(), &state);
            assert!(plane.timers.len() <= 1, "{} timers", plane.timers.len());
        }
        plane.advance(at(580 + 59));
        assert_eq!(plane.poll_event(), None);
        plane.advance(at(580 + 60));
        assert_eq!(plane.poll_event(), Some(Event::Inactivity { session: seid }));
        plane.advance(at(2000));
        assert_eq!((plane.poll_event(), plane.timers.len()), (None, 0));
    }
}
