//! What becomes due without a packet: one queue for all timers of all sessions.

use std::collections::BTreeSet;

use causeway_types::{BarId, Seid, Time, UrrId};

use crate::engine::Reference;

/// What a session waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Timer {
    /// The notification delay of a BAR ends.
    Notification,
    /// A packet has waited for as long as it may.
    BufferTime,
    /// Buffering for longer than usual ends.
    ExtendedBuffering(BarId),
    /// No packet has come for long.
    Inactivity,
    /// A MAC address has been silent for long.
    MacInactivity,
    /// Something of a URR is due.
    Usage(UrrId),
}

/// The timers of all sessions, the earliest first. Nothing is taken out when a session changes: each
/// handler asks the session whether the timer still means anything.
#[derive(Debug, Default)]
pub(crate) struct Timers(BTreeSet<(Time, Seid, Timer)>);

impl Timers {
    /// Sets a timer of a session.
    pub(crate) fn set(&mut self, at: Time, session: Seid, timer: Timer) {
        self.0.insert((at, session, timer));
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Time> {
        self.0.first().map(|(at, ..)| *at)
    }

    /// The session of the next one, if it is due.
    pub(crate) fn first_due(&self, now: Time) -> Option<Seid> {
        self.0.first().filter(|(at, ..)| *at <= now).map(|(_, session, _)| *session)
    }

    /// The sessions of those that are due, in their order; one for each timer.
    pub(crate) fn due(&self, now: Time) -> impl Iterator<Item = Seid> {
        self.0.iter().take_while(move |(at, ..)| *at <= now).map(|(_, session, _)| *session)
    }

    /// Takes out the next one of a session that is due.
    pub(crate) fn expire_of(&mut self, now: Time, wanted: Seid) -> Option<(Time, Seid, Timer)> {
        let mut due = self.0.iter().take_while(|(at, ..)| *at <= now);
        let found = *due.find(|(_, session, _)| *session == wanted)?;
        self.0.take(&found)
    }

    /// Takes out the next one that is due, with the time it was set to.
    fn expire(&mut self, now: Time) -> Option<(Time, Seid, Timer)> {
        if self.next()? > now { None } else { self.0.pop_first() }
    }
}

impl Reference {
    /// Lets timers that are due expire, in their order.
    pub(crate) fn expire(&mut self, now: Time) {
        while self.expire_one(now) {}
    }

    /// Lets the first timer that is due expire; `false` when none is.
    pub fn expire_one(&mut self, now: Time) -> bool {
        let Some((at, session, timer)) = self.timers.expire(now) else { return false };
        self.act_on_timer(at, session, timer);
        true
    }

    /// Does what a timer of this time is there for.
    pub(crate) fn act_on_timer(&mut self, at: Time, session: Seid, timer: Timer) {
        match timer {
            Timer::Notification => self.notify(at, session),
            Timer::BufferTime => self.expire_waiting(at, session),
            Timer::ExtendedBuffering(bar) => self.end_extended(at, session, bar),
            Timer::Inactivity => self.check_inactivity(at, session),
            Timer::MacInactivity => self.expire_macs(at, session),
            Timer::Usage(urr) => self.usage_due(at, session, urr),
        }
    }
}
