//! Timers: one queue for all timers of all sessions.

use std::collections::BTreeSet;

use causeway_types::{BarId, Seid, Time, UrrId, WallClock, WallTime};

use crate::engine::SlowPath;

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
    /// Something of a URR is due.
    Usage(UrrId),
    /// A monitoring time of a URR, by the wall clock.
    Monitoring(WallTime, UrrId),
}

/// The timers of all sessions, the earliest first. No timer is removed when a session changes: each handler checks
/// whether the timer still applies.
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

    /// Removes the next timer of a session that is due.
    pub(crate) fn expire_of(
        &mut self,
        now: Time,
        wanted: Seid,
        clock: WallClock,
    ) -> Option<(Time, Seid, Timer)> {
        let found = self.due_ones(now, clock).find(|(_, session, _)| *session == wanted)?;
        self.take(&found);
        Some(found)
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

impl SlowPath {
    /// Expires the timers that are due, in their order.
    #[inline]
    pub(crate) fn expire(&mut self, now: Time) {
        while self.expired_session(now).is_some() && self.expire_one(now) {}
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
            Timer::Usage(urr) => self.usage_due(at, session, urr),
            Timer::Monitoring(monitoring, urr) => self.monitoring_due(at, monitoring, session, urr),
        }
    }
}
