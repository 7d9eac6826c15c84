//! Timers: one queue for all timers of all sessions.

use std::collections::BTreeSet;

use arrayvec::ArrayVec;
use causeway_types::{BarId, Seid, Time, UrrId, WallClock, WallTime};

use crate::buffering_duration::ExtendedUntil;
use crate::engine::SlowPath;
use crate::inactivity::Inactivity;
use crate::router_advertisement::Advertised;
use crate::session::Session;

/// Sessions whose timers expire in one call, at most: packets wait meanwhile. Many sessions may have one at the same time, such as the
/// monitoring time of a change of tariff. Those of the others are due in the next call, at once.
pub const SESSIONS_AT_A_TIME: usize = 64;

/// The sessions whose timers expire in one call.
#[derive(Debug, Default)]
pub struct ExpiringSessions(ArrayVec<Seid, SESSIONS_AT_A_TIME>);

impl ExpiringSessions {
    /// Timers of this session may expire in this call, too.
    pub fn admits(&mut self, seid: Seid) -> bool {
        self.0.contains(&seid) || self.0.try_push(seid).is_ok()
    }
}

/// The timers of a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Timer {
    /// The notification delay of a BAR ends.
    Notification,
    /// The buffering time of a packet ends.
    BufferTime,
    /// Extended buffering ends.
    ExtendedBuffering(BarId),
    /// No packet has arrived for long.
    Inactivity,
    /// A MAC address has been inactive for long.
    MacInactivity,
    /// A window of the application class ends.
    Class,
    /// The UPF advertises itself to the UE again.
    Advertisement,
    /// Something of a URR is due.
    Usage(UrrId),
    /// A monitoring time of a URR, by the wall clock.
    Monitoring(WallTime, UrrId),
}

/// The timers of all sessions, the earliest first. Each holder of a timer has at most one in the queue, and knows its time: an earlier
/// one replaces it, and the end of the session or of the rule removes it. One that is no longer needed may stay until it expires:
/// each handler checks whether the timer still applies.
///
/// Wall-clock timers are stored by wall-clock time: when the clock is set they are due at other times without a
/// change of the queue.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    steady: BTreeSet<(Time, Seid, Timer)>,
    wall: BTreeSet<(WallTime, Seid, UrrId)>,
    /// Sessions whose state is elsewhere, by their next timer: they must return before it expires.
    away: BTreeSet<(Time, Seid)>,
    away_wall: BTreeSet<(WallTime, Seid)>,
    /// None of them is named before this time.
    away_from: Time,
}

/// The timers of a session that no rule holds, each with the time in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SessionTimers {
    pub(crate) notification: Option<Time>,
    pub(crate) buffer_time: Option<Time>,
    pub(crate) mac_inactivity: Option<Time>,
}

/// The next timers of a session whose state is elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct NextTimers {
    pub(crate) steady: Option<Time>,
    pub(crate) wall: Option<WallTime>,
}

impl NextTimers {
    /// Those of these timers and of others.
    pub(crate) fn and(self, steady: Option<Time>, wall: Option<WallTime>) -> Self {
        Self {
            steady: self.steady.into_iter().chain(steady).min(),
            wall: self.wall.into_iter().chain(wall).min(),
        }
    }

    /// When the first of them expires.
    pub(crate) fn first(self, clock: WallClock) -> Option<Time> {
        self.steady.into_iter().chain(self.wall.map(|at| clock.reaches(at))).min()
    }
}

impl Timers {
    /// Sets a timer of a session.
    pub(crate) fn set(&mut self, at: Time, session: Seid, timer: Timer) {
        self.steady.insert((at, session, timer));
    }

    /// Sets the timer for a monitoring time.
    pub(crate) fn set_monitoring(&mut self, at: WallTime, session: Seid, urr: UrrId) {
        self.wall.insert((at, session, urr));
    }

    /// Sets a timer of which there is one alone, unless it is set to an earlier time: `held` is the one that is set.
    pub(crate) fn set_one(&mut self, held: &mut Option<Time>, at: Time, session: Seid, timer: Timer) {
        if held.is_some_and(|held| held <= at) {
            return;
        }
        if let Some(later) = held.replace(at) {
            self.remove(later, session, timer);
        }
        self.set(at, session, timer);
    }

    /// Removes a timer that was set to this time.
    pub(crate) fn remove(&mut self, at: Time, session: Seid, timer: Timer) {
        self.take(&(at, session, timer));
    }

    /// Removes the timers of a session that is here no longer.
    #[inline]
    pub(crate) fn forget(&mut self, seid: Seid, session: &Session) {
        if !(self.steady.is_empty() && self.wall.is_empty()) {
            self.forget_some(seid, session);
        }
    }

    #[inline(never)]
    fn forget_some(&mut self, seid: Seid, session: &Session) {
        steady_of(session).for_each(|(at, timer)| self.remove(at, seid, timer));
        for (at, id) in monitoring_of(session) {
            self.wall.remove(&(at, seid, id));
        }
    }

    /// Removes the next timer of a session that is due, without a look at those of others. `class`: the end of its window, if its application
    /// class is measured.
    fn expire_of_session(
        &mut self,
        now: Time,
        (seid, session): (Seid, &Session),
        class: Option<Time>,
        clock: WallClock,
    ) -> Option<(Time, Seid, Timer)> {
        let class = class.map(|at| (at, Timer::Class));
        let wall = monitoring_of(session).map(|(at, id)| (clock.reaches(at), Timer::Monitoring(at, id)));
        let all = steady_of(session).chain(class).chain(wall);
        let due = all.filter(|(at, _)| *at <= now).map(|(at, timer)| (at, seid, timer));
        let first = due.filter(|one| self.has(one)).min()?;
        self.take(&first);
        Some(first)
    }

    fn has(&self, one: &(Time, Seid, Timer)) -> bool {
        match one {
            (_, session, Timer::Monitoring(at, urr)) => self.wall.contains(&(*at, *session, *urr)),
            steady => self.steady.contains(steady),
        }
    }

    /// Removes the timers of a URR: that of this time, and that for this monitoring time.
    pub(crate) fn forget_urr(&mut self, session: Seid, id: UrrId, set: (Option<Time>, Option<WallTime>)) {
        let (at, monitoring) = set;
        at.into_iter().for_each(|at| self.remove(at, session, Timer::Usage(id)));
        if let Some(at) = monitoring {
            self.wall.remove(&(at, session, id));
        }
    }

    /// When the next timer is due.
    pub(crate) fn next(&self, clock: WallClock) -> Option<Time> {
        self.next_here(clock).into_iter().chain(self.next_away(clock)).min()
    }

    fn next_here(&self, clock: WallClock) -> Option<Time> {
        let wall = self.wall.first().map(|(at, ..)| clock.reaches(*at));
        self.steady.first().map(|(at, ..)| *at).into_iter().chain(wall).min()
    }

    fn next_away(&self, clock: WallClock) -> Option<Time> {
        let wall = self.away_wall.first().map(|(at, _)| *at);
        let first = NextTimers { steady: self.away.first().map(|(at, _)| *at), wall }.first(clock);
        first.map(|at| at.max(self.away_from))
    }

    /// No session whose state is elsewhere is named before this time.
    pub(crate) fn postpone_away(&mut self, until: Time) {
        self.away_from = until;
    }

    /// The state of a session with these timers is elsewhere from now on.
    pub(crate) fn leave(&mut self, session: Seid, next: NextTimers) {
        self.away.extend(next.steady.map(|at| (at, session)));
        self.away_wall.extend(next.wall.map(|at| (at, session)));
    }

    /// It is here again.
    pub(crate) fn come_back(&mut self, session: Seid, next: NextTimers) {
        if let Some(at) = next.steady {
            self.away.remove(&(at, session));
        }
        if let Some(at) = next.wall {
            self.away_wall.remove(&(at, session));
        }
    }

    /// The timers of sessions that are here.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.steady.len() + self.wall.len()
    }

    /// Whether the state of a session with a timer is elsewhere.
    #[inline]
    pub(crate) fn are_some_away(&self) -> bool {
        !(self.away.is_empty() && self.away_wall.is_empty())
    }

    /// Takes out the first session whose state is elsewhere and whose timer is due.
    pub(crate) fn take_due_away(&mut self, now: Time, clock: WallClock) -> Option<Seid> {
        if now < self.away_from {
            return None;
        }
        if let Some((_, session)) = self.away.first().filter(|(at, _)| *at <= now).copied() {
            self.away.pop_first();
            return Some(session);
        }
        let (_, session) = self.away_wall.first().filter(|(at, _)| clock.reaches(*at) <= now).copied()?;
        self.away_wall.pop_first();
        Some(session)
    }

    /// The session of the next timer, if it is due.
    #[inline]
    pub(crate) fn first_due(&self, now: Time, clock: WallClock) -> Option<Seid> {
        self.first(now, clock).map(|(_, session, _)| session)
    }

    /// The sessions of the timers that are due, in their order; one for each timer.
    pub(crate) fn due(&self, now: Time, clock: WallClock) -> impl Iterator<Item = Seid> {
        self.due_ones(now, clock).map(|(_, session, _)| session)
    }

    /// Removes the next timer that is due, with the time it was set to.
    fn expire(&mut self, now: Time, clock: WallClock) -> Option<(Time, Seid, Timer)> {
        let found = self.first(now, clock)?;
        self.take(&found);
        Some(found)
    }

    /// Most sessions have no timers: the call is frequent and costs nothing without timers.
    #[inline]
    fn first(&self, now: Time, clock: WallClock) -> Option<(Time, Seid, Timer)> {
        if self.steady.is_empty() && self.wall.is_empty() { None } else { self.first_of_some(now, clock) }
    }

    #[inline(never)]
    fn first_of_some(&self, now: Time, clock: WallClock) -> Option<(Time, Seid, Timer)> {
        if self.next_here(clock)? > now { None } else { self.due_ones(now, clock).next() }
    }

    fn take(&mut self, one: &(Time, Seid, Timer)) {
        match one {
            (_, session, Timer::Monitoring(at, urr)) => self.wall.remove(&(*at, *session, *urr)),
            steady => self.steady.remove(steady),
        };
    }

    /// The timers that are due, in their order.
    fn due_ones(&self, now: Time, clock: WallClock) -> impl Iterator<Item = (Time, Seid, Timer)> {
        let steady = self.steady.iter().copied().take_while(move |(at, ..)| *at <= now);
        let when = move |(at, session, urr): &(WallTime, Seid, UrrId)| {
            (clock.reaches(*at), *session, Timer::Monitoring(*at, *urr))
        };
        let wall = self.wall.iter().map(when).take_while(move |(at, ..)| *at <= now);
        let (mut steady, mut wall) = (steady.peekable(), wall.peekable());
        std::iter::from_fn(move || match (steady.peek(), wall.peek()) {
            (Some(one), Some(other)) if one <= other => steady.next(),
            (_, Some(_)) => wall.next(),
            _ => steady.next(),
        })
    }
}

/// The timers that a session has set, but for its monitoring times and its application class.
fn steady_of(session: &Session) -> impl Iterator<Item = (Time, Timer)> {
    let usage = session
        .measurements
        .iter()
        .filter_map(|(id, measurement)| Some((measurement.get()?.timers_set().0?, Timer::Usage(*id))));
    let extended = session.extended.iter().filter_map(|(bar, extended)| match extended.until {
        Some(ExtendedUntil::Time(at)) => Some((at, Timer::ExtendedBuffering(*bar))),
        _ => None,
    });
    let inactivity = session.inactivity.as_ref().and_then(Inactivity::timer_set);
    let SessionTimers { notification, buffer_time, mac_inactivity } = session.timers;
    let own = [
        (session.advertised.and_then(Advertised::timer_set), Timer::Advertisement),
        (inactivity, Timer::Inactivity),
        (notification, Timer::Notification),
        (buffer_time, Timer::BufferTime),
        (mac_inactivity, Timer::MacInactivity),
    ];
    usage.chain(extended).chain(own.into_iter().filter_map(|(at, timer)| Some((at?, timer))))
}

/// The monitoring times for which a session has set timers.
fn monitoring_of(session: &Session) -> impl Iterator<Item = (WallTime, UrrId)> {
    let measurements = session.measurements.iter();
    measurements.filter_map(|(id, measurement)| Some((measurement.get()?.timers_set().1?, *id)))
}

impl SlowPath {
    /// Expires timers that are due, in their order: those of [`SESSIONS_AT_A_TIME`] sessions at most.
    #[inline]
    pub(crate) fn expire(&mut self, now: Time) {
        if self.leaves_timers {
            return;
        }
        let mut sessions = ExpiringSessions::default();
        while let Some(seid) = self.expired_session(now) {
            if !sessions.admits(seid) {
                self.has_late_timers = true;
                return;
            }
            self.expire_one(now);
        }
        self.has_late_timers = false;
    }

    /// Expires the timers of these sessions that are due, if [`SlowPath::expire`] has left some: a packet or a plan of a session comes behind
    /// its timers.
    pub(crate) fn expire_late(&mut self, now: Time, seids: impl FnOnce(&Self) -> Vec<Seid>) {
        if self.has_late_timers {
            for seid in seids(self) {
                while self.expire_one_of(now, seid) {}
            }
        }
    }

    /// Expires the first timer of a session that is due; `false` when none is.
    pub fn expire_one_of(&mut self, now: Time, seid: Seid) -> bool {
        let Some(session) = self.sessions.get(&seid) else { return false };
        let (class, wall) = (self.class_pairs.window_end(session.class), self.shared.wall);
        let Some((at, seid, timer)) = self.timers.expire_of_session(now, (seid, session), class, wall) else {
            return false;
        };
        self.act_on_timer(at, seid, timer);
        true
    }

    /// Expires the first timer that is due; `false` when none is.
    pub fn expire_one(&mut self, now: Time) -> bool {
        let Some((at, session, timer)) = self.timers.expire(now, self.shared.wall) else { return false };
        self.act_on_timer(at, session, timer);
        true
    }

    /// Executes the action of a timer of this time.
    pub(crate) fn act_on_timer(&mut self, at: Time, session: Seid, timer: Timer) {
        match timer {
            Timer::Notification => self.send_notification(at, session),
            Timer::BufferTime => self.expire_waiting(at, session),
            Timer::ExtendedBuffering(bar) => self.end_extended(at, session, bar),
            Timer::Inactivity => self.check_inactivity(at, session),
            Timer::MacInactivity => self.expire_macs(at, session),
            Timer::Class => self.end_class_window(at, session),
            Timer::Advertisement => self.advertise_by_timer(at, session),
            Timer::Usage(urr) => self.usage_due(at, session, urr),
            Timer::Monitoring(monitoring, urr) => self.monitoring_due(at, monitoring, session, urr),
        }
    }
}

#[cfg(test)]
mod tests {
    use causeway_dataplane::{Dataplane, Event, Op, Plan, Topology};
    use causeway_model::{
        Bar, BufferingDuration, ExtendedBuffering, MeasurementMethod, Monitoring, RuleSet, Urr, UsageLimits,
    };
    use causeway_types::{ReportingTriggers, Span};

    use super::*;
    use crate::Limits;

    const SESSION: Seid = Seid(1);
    const DAY: Span = Span::from_secs(86_400);

    fn plane() -> SlowPath {
        SlowPath::new(Topology::default(), Limits::default())
    }

    fn at(seconds: u64) -> Time {
        Time::from_secs(1_000_000 + seconds)
    }

    /// Reports each day, with a quota that is valid for a day, and a monitoring time.
    fn timed_urr(id: u32) -> Urr {
        let method = MeasurementMethod { volume: true, ..Default::default() };
        let (thresholds, quotas) = (UsageLimits::default(), UsageLimits::default());
        let monitoring = Monitoring { at: WallTime::from_secs(2_000_000), thresholds, quotas };
        Urr {
            triggers: ReportingTriggers::PERIO | ReportingTriggers::QUVTI,
            period: Some(DAY),
            validity_time: Some(DAY),
            monitoring: Some(monitoring),
            ..Urr::new(UrrId(id), method)
        }
    }

    fn with_timers() -> RuleSet {
        let urrs = [timed_urr(1), timed_urr(2)];
        RuleSet {
            inactivity_timer: Some(DAY),
            urrs: urrs.into_iter().map(|urr| (urr.id, urr)).collect(),
            ..RuleSet::default()
        }
    }

    // Input:  a thousand sessions, each with a User Plane Inactivity Timer and two URRs with a period, a validity time and a
    //         monitoring time, all of a day; each is deleted a second later.
    // Output: five timers while a session lasts, and none afterwards.
    #[test]
    fn a_session_takes_its_timers_with_it() {
        let mut plane = plane();
        for number in 0..1000 {
            plane.apply(at(number), &Plan::install(Seid(number), with_timers())).unwrap();
            assert_eq!(plane.timers.len(), 5);
            plane.apply(at(number + 1), &Plan::removal(Seid(number))).unwrap();
            assert_eq!(plane.timers.len(), 0);
        }
    }

    // Input:  a session whose User Plane Inactivity Timer is set again each second, to the longest time and then to a shorter
    //         one each time; it is removed, and set once more.
    // Output: one timer at most, and none without one; the SMF is notified when the last one has ended.
    #[test]
    fn a_session_has_one_inactivity_timer_however_often_it_is_set() {
        let mut plane = plane();
        plane.apply(at(0), &Plan::install(SESSION, RuleSet::default())).unwrap();
        let set = |plane: &mut SlowPath, now, limit| {
            plane.apply(at(now), &Plan::update(SESSION, vec![Op::SetInactivityTimer(limit)])).unwrap();
            plane.timers.len()
        };
        for now in 0..1000 {
            assert_eq!(set(&mut plane, now, Some(Span::from_secs(u32::MAX.into()))), 1);
        }
        for now in 1000..2000 {
            assert_eq!(set(&mut plane, now, Some(Span::from_secs(100_000 - 2 * now))), 1);
        }
        assert_eq!(set(&mut plane, 2000, None), 0);
        assert_eq!(set(&mut plane, 2000, Some(Span::from_secs(10))), 1);
        assert_eq!(set(&mut plane, 2005, Some(Span::from_secs(10))), 1);
        plane.advance(at(2014));
        assert_eq!(plane.poll_event(), None);
        plane.advance(at(2015));
        assert_eq!(plane.poll_event(), Some(Event::Inactivity { session: SESSION }));
        assert_eq!(plane.timers.len(), 0);
    }

    // Input:  a URR with a period, a validity time and a monitoring time that is removed and created again, a thousand times;
    //         then one whose period becomes shorter each time.
    // Output: two timers, as with the URR that was created once.
    #[test]
    fn a_urr_takes_its_timers_with_it() {
        let mut plane = plane();
        plane.apply(at(0), &Plan::install(SESSION, RuleSet::default())).unwrap();
        for now in 0..1000 {
            plane.apply(at(now), &Plan::update(SESSION, vec![Op::PutUrr(timed_urr(1).into())])).unwrap();
            assert_eq!(plane.timers.len(), 2);
            plane.apply(at(now), &Plan::update(SESSION, vec![Op::RemoveUrr(UrrId(1))])).unwrap();
            assert_eq!(plane.timers.len(), 0);
        }
        for now in 1000..2000 {
            let urr = Urr { period: Some(Span::from_secs(50_000 - 2 * now)), ..timed_urr(1) };
            plane.apply(at(now), &Plan::update(SESSION, vec![Op::PutUrr(urr.into())])).unwrap();
            assert_eq!(plane.timers.len(), 2);
        }
    }

    // Input:  extended buffering of a day that is requested again each second, is stopped, is requested again, and whose BAR
    //         is removed; and once more until the session ends.
    // Output: one timer at most, and none after each end.
    #[test]
    fn extended_buffering_has_one_timer() {
        let mut plane = plane();
        plane.apply(at(0), &Plan::install(SESSION, RuleSet::default())).unwrap();
        let bar = BarId(1);
        let extend = |duration| {
            Op::ExtendBuffering(ExtendedBuffering { bar, duration: Some(duration), packets: None })
        };
        let apply = |plane: &mut SlowPath, now, ops| {
            plane.apply(at(now), &Plan::update(SESSION, ops)).unwrap();
            plane.timers.len()
        };
        let put = || Op::PutBar(Bar::new(bar).into());
        for now in 0..1000 {
            assert_eq!(apply(&mut plane, now, vec![put(), extend(BufferingDuration::For(DAY))]), 1);
        }
        assert_eq!(apply(&mut plane, 1000, vec![extend(BufferingDuration::Stopped)]), 0);
        assert_eq!(apply(&mut plane, 1001, vec![extend(BufferingDuration::For(DAY))]), 1);
        assert_eq!(apply(&mut plane, 1002, vec![Op::RemoveBar(bar)]), 0);
        assert_eq!(apply(&mut plane, 1003, vec![put(), extend(BufferingDuration::For(DAY))]), 1);
        plane.apply(at(1004), &Plan::removal(SESSION)).unwrap();
        assert_eq!(plane.timers.len(), 0);
    }

    // Input:  two hundred sessions whose reports are due at the same time; a plan for one of the last of them then.
    // Output: each step makes 64 reports at most, and the next step is due at once; the plan comes behind the report of its session.
    #[test]
    fn timers_that_many_sessions_share_expire_some_at_a_time() {
        let mut plane = plane();
        let method = MeasurementMethod { volume: true, ..Default::default() };
        for seid in 1..=200 {
            let urr =
                Urr { period: Some(DAY), triggers: ReportingTriggers::PERIO, ..Urr::new(UrrId(1), method) };
            plane.apply(at(0), &Plan::install(Seid(seid), RuleSet::default())).unwrap();
            plane.apply(at(0), &Plan::update(Seid(seid), vec![Op::PutUrr(urr.into())])).unwrap();
        }
        let due = at(0) + DAY;
        let reported = |plane: &mut SlowPath| {
            let events = std::iter::from_fn(|| plane.poll_event());
            let sessions = events.map(|event| match event {
                Event::Usage { session, .. } => session.0,
                other => panic!("{other:?}"),
            });
            sessions.collect::<Vec<_>>()
        };
        plane.apply(due, &Plan::update(Seid(190), vec![Op::RemoveUrr(UrrId(1))])).unwrap();
        let first: Vec<_> = (1..=64).chain([190]).collect();
        assert_eq!(reported(&mut plane), first);
        let mut steps = Vec::new();
        while plane.next_deadline().is_some_and(|next| next <= due) {
            plane.advance(due);
            steps.push(reported(&mut plane));
        }
        let of = |seids: std::ops::RangeInclusive<u64>| seids.filter(|seid| *seid != 190).collect::<Vec<_>>();
        assert_eq!(steps, [of(65..=128), of(129..=193), of(194..=200)]);
    }
}
