//! Sessions without traffic (TS 29.244 clause 5.11.2).

use causeway_dataplane::Event;
use causeway_types::{Seid, Span, Time};

use crate::engine::SlowPath;
use crate::timers::Timer;

/// The User Plane Inactivity Timer of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Inactivity {
    /// The time without packets.
    limit: Span,
    /// When the last packet arrived, or the timer was started.
    last: Time,
    /// The SMF has been notified and no packet has arrived since.
    notified: bool,
    /// The timer in the queue. When it expires, a later packet sets another one.
    set: Option<Time>,
}

/// What [`Inactivity::restored`] needs: when the last packet arrived, whether the SMF has been notified, and the timer in the queue.
pub(crate) type InactivityState = (Time, bool, Option<Time>);

impl Inactivity {
    /// Starts now.
    pub(crate) fn new(limit: Span, now: Time) -> Self {
        Self { limit, last: now, notified: false, set: None }
    }

    /// With the state that it had.
    pub(crate) const fn restored(limit: Span, (last, notified, set): InactivityState) -> Self {
        Self { limit, last, notified, set }
    }

    /// The state from which [`Inactivity::restored`] creates it.
    pub(crate) const fn state(&self) -> InactivityState {
        (self.last, self.notified, self.set)
    }

    /// With the timer in the queue of the one that it replaces.
    pub(crate) const fn in_place_of(self, held: Option<Self>) -> Self {
        match held {
            Some(held) => Self { set: held.set, ..self },
            None => self,
        }
    }

    /// The timer in the queue.
    pub(crate) const fn timer_set(&self) -> Option<Time> {
        self.set
    }

    /// When the SMF is to be notified without a further packet.
    pub(crate) fn end(&self) -> Option<Time> {
        (!self.notified).then(|| self.last + self.limit)
    }

    /// The SMF has been notified; the next packet restarts the timer.
    pub(crate) const fn has_reported(&self) -> bool {
        self.notified
    }

    /// Records a packet at this time.
    pub(crate) fn note(&mut self, at: Time) {
        self.last = self.last.max(at);
    }
}

impl SlowPath {
    /// Sets the inactivity timer of a session, if it has one.
    pub(crate) fn schedule_inactivity(&mut self, seid: Seid) {
        let watching = self.sessions.get_mut(&seid).and_then(|session| session.inactivity.as_mut());
        if let Some(inactivity) = watching
            && let Some(end) = inactivity.end()
        {
            self.timers.set_one(&mut inactivity.set, end, seid, Timer::Inactivity);
        }
    }

    /// Records a packet of the session, whatever its disposition.
    pub(crate) fn record_activity_of(&mut self, now: Time, seid: Seid) {
        let watching = self.sessions.get_mut(&seid).and_then(|session| session.inactivity.as_mut());
        let Some(inactivity) = watching else { return };
        inactivity.last = now;
        if std::mem::take(&mut inactivity.notified) {
            self.schedule_inactivity(seid);
        }
    }

    /// The session may have been inactive for long enough.
    pub(crate) fn check_inactivity(&mut self, at: Time, seid: Seid) {
        let watching = self.sessions.get_mut(&seid).and_then(|session| session.inactivity.as_mut());
        let Some(inactivity) = watching else { return };
        if inactivity.set.take_if(|set| *set == at).is_none() || inactivity.notified {
            return;
        }
        if inactivity.last + inactivity.limit <= at {
            inactivity.notified = true;
            self.events.push_back(Event::Inactivity { session: seid });
        } else {
            self.schedule_inactivity(seid);
        }
    }
}
