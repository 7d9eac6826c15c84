//! The end of waiting: the time that a packet may wait, and buffering for longer than usual (TS 29.244 clause
//! 5.2.4.2).

use causeway_rules::{BufferingDuration, ExtendedBuffering};
use causeway_types::{BarId, Seid, Time};

use crate::engine::Reference;
use crate::session::Session;
use crate::timers::Timer;

/// Buffering for longer than usual, as long as it lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ExtendedBufferingState {
    /// Until when packets wait and the SMF is not told of new ones. `None`: only the number is said.
    pub(crate) until: Option<ExtendedUntil>,
    /// How many packets may wait.
    pub(crate) packets: Option<u16>,
}

/// The end of buffering for longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExtendedUntil {
    /// Then.
    Time(Time),
    /// When the SMF says so.
    UntilSmf,
}

impl Session {
    /// Begins, changes or stops buffering for longer.
    pub(crate) fn extend_buffering(&mut self, requested: &ExtendedBuffering, now: Time) {
        let until = match requested.duration {
            None => self.extended.get(&requested.bar).and_then(|extended| extended.until),
            Some(BufferingDuration::Unlimited) => Some(ExtendedUntil::UntilSmf),
            Some(BufferingDuration::For(span)) => Some(ExtendedUntil::Time(now + span)),
            Some(BufferingDuration::Stopped) => {
                self.extended.remove(&requested.bar);
                return;
            }
        };
        let held = self.extended.get(&requested.bar).and_then(|extended| extended.packets);
        self.extended
            .insert(requested.bar, ExtendedBufferingState { until, packets: requested.packets.or(held) });
    }

    /// Packets of the BAR wait for as long as the SMF asked, and it is not told of new ones.
    pub(crate) fn is_extended(&self, bar: Option<BarId>) -> bool {
        bar.and_then(|bar| self.extended.get(&bar)).is_some_and(|extended| extended.until.is_some())
    }

    /// How many packets may wait for the FARs of a BAR: while buffering is extended, the number for that time.
    pub(crate) fn suggested_packets(&self, bar: BarId) -> Option<usize> {
        let extended = self.extended.get(&bar).and_then(|extended| extended.packets);
        let usual = || self.rules.bars.get(&bar).and_then(|bar| bar.suggested_packets);
        extended.or_else(usual).map(usize::from)
    }
}

impl Reference {
    /// Sets the timers for the packets of a session that will have waited long enough.
    pub(crate) fn schedule_expiry(&mut self, seid: Seid) {
        let Some(session) = self.sessions.get(&seid) else { return };
        if let Some(limit) = self.limits.buffer_time {
            let is_limited = |pdr| !session.is_extended(session.bar_of(pdr));
            let oldest = session.buffer.iter().find(|buffered| is_limited(buffered.pdr));
            if let Some(oldest) = oldest {
                self.timers.set(oldest.buffered_at + limit, seid, Timer::BufferTime);
            }
        }
        for (bar, extended) in session.extended.iter() {
            if let Some(ExtendedUntil::Time(at)) = extended.until {
                self.timers.set(at, seid, Timer::ExtendedBuffering(*bar));
            }
        }
    }

    /// Packets may have waited for as long as they may.
    pub(crate) fn expire_waiting(&mut self, at: Time, seid: Seid) {
        if let Some(limit) = self.limits.buffer_time {
            self.discard_expired(at, seid, |session, buffered| {
                buffered.buffered_at + limit <= at && !session.is_extended(session.bar_of(buffered.pdr))
            });
        }
        self.schedule_expiry(seid);
    }

    /// Buffering for longer may have ended. What waits goes, and the SMF will be told of the next packet.
    pub(crate) fn end_extended(&mut self, at: Time, seid: Seid, bar: BarId) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let is_over = session
            .extended
            .get(&bar)
            .is_some_and(|extended| extended.until == Some(ExtendedUntil::Time(at)));
        if !is_over {
            return;
        }
        session.extended.remove(&bar);
        self.discard_expired(at, seid, |session, buffered| session.bar_of(buffered.pdr) == Some(bar));
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let fars: Vec<_> =
            session.rules.fars.values().filter(|far| far.bar == Some(bar)).map(|far| far.id).collect();
        for far in fars {
            session.reset_buffered_notifications(far);
        }
    }
}
