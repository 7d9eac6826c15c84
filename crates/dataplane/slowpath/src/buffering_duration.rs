//! The end of buffering: the buffering time of a packet, and extended buffering (TS 29.244 clause 5.2.4.2).

use causeway_model::{BufferingDuration, ExtendedBuffering};
use causeway_types::{BarId, Seid, Time};

use crate::buffer::BufferedPacket;
use crate::engine::SlowPath;
use crate::session::Session;
use crate::timers::Timer;

/// Extended buffering, while it lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ExtendedBufferingState {
    /// Until when packets are buffered without notifying the SMF of new ones. `None`: only the number of packets is
    /// set.
    pub(crate) until: Option<ExtendedUntil>,
    /// The maximum number of packets.
    pub(crate) packets: Option<u16>,
}

/// The end of extended buffering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExtendedUntil {
    /// At this time.
    Time(Time),
    /// When the SMF ends it.
    UntilSmf,
}

impl Session {
    /// Starts, changes or stops extended buffering.
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

    /// Packets of the BAR are buffered for as long as the SMF requested, without notifications of new ones.
    pub(crate) fn is_extended(&self, bar: Option<BarId>) -> bool {
        bar.and_then(|bar| self.extended.get(&bar)).is_some_and(|extended| extended.until.is_some())
    }

    /// The number of packets that the FARs of a BAR may buffer: while buffering is extended, the number for that
    /// time.
    pub(crate) fn suggested_packets(&self, bar: BarId) -> Option<usize> {
        let extended = self.extended.get(&bar).and_then(|extended| extended.packets);
        let usual = || self.rules.bars.get(&bar).and_then(|bar| bar.suggested_packets);
        extended.or_else(usual).map(usize::from)
    }
}

impl SlowPath {
    /// Sets the timers for the end of the buffering time of a session's packets.
    pub(crate) fn schedule_expiry(&mut self, seid: Seid) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        if let Some(limit) = self.limits.buffer_time {
            let is_limited = |buffered: &&BufferedPacket| !session.is_extended(session.bar_of(buffered));
            let oldest = session.buffer.iter().find(is_limited);
            if let Some(end) = oldest.map(|oldest| oldest.buffered_at + limit) {
                self.timers.set_one(&mut session.timers.buffer_time, end, seid, Timer::BufferTime);
            }
        }
        for (bar, extended) in session.extended.iter() {
            if let Some(ExtendedUntil::Time(at)) = extended.until {
                self.timers.set(at, seid, Timer::ExtendedBuffering(*bar));
            }
        }
    }

    /// The buffering time of packets may have ended.
    pub(crate) fn expire_waiting(&mut self, at: Time, seid: Seid) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        session.timers.buffer_time.take_if(|set| *set == at);
        if let Some(limit) = self.limits.buffer_time {
            self.discard_expired(at, seid, |session, buffered| {
                buffered.buffered_at + limit <= at && !session.is_extended(session.bar_of(buffered))
            });
        }
        self.schedule_expiry(seid);
    }

    /// Extended buffering may have ended. The buffered packets are discarded, and the SMF is notified of the next
    /// packet.
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
        self.discard_expired(at, seid, |session, buffered| session.bar_of(buffered) == Some(bar));
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let fars: Vec<_> =
            session.rules.fars.values().filter(|far| far.bar == Some(bar)).map(|far| far.id).collect();
        for far in fars {
            session.reset_buffered_notifications(far);
        }
    }
}
