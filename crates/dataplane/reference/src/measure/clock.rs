//! Measured time: when it runs and when it pauses (TS 29.244 clause 5.2.2.2.1).

use causeway_rules::{BaseInterval, Urr};
use causeway_types::{Span, Time};

/// When a running measurement of time pauses by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pace {
    /// Never.
    Continuous,
    /// So long after the last packet (Inactivity Detection Time).
    UntilIdle(Span),
    /// At the end of the first interval without packets, counted from the first packet (CTP).
    Intervals(Span),
    /// At the end of the interval that the first packet began (DTP).
    OneInterval(Span),
}

impl Pace {
    pub(super) fn of(urr: &Urr) -> Self {
        match (urr.base_interval, urr.inactivity_detection) {
            (Some(BaseInterval::Continuous(length)), _) => Self::Intervals(length),
            (Some(BaseInterval::Discrete(length)), _) => Self::OneInterval(length),
            (None, Some(idle)) => Self::UntilIdle(idle),
            (None, None) => Self::Continuous,
        }
    }

    /// A packet that comes while the clock runs changes no more than when it will end.
    pub(super) const fn adds_up(self) -> bool {
        matches!(self, Self::Continuous | Self::UntilIdle(_))
    }
}

/// The time measured by a URR. It only grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Clock {
    /// Measured before it last started.
    banked: Span,
    running: Option<Running>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Running {
    since: Time,
    last_packet: Time,
}

impl Running {
    /// When it pauses unless a packet comes first.
    fn end(&self, pace: Pace) -> Option<Time> {
        match pace {
            Pace::Continuous => None,
            Pace::UntilIdle(idle) => Some(self.last_packet + idle),
            Pace::OneInterval(length) => Some(self.since + length),
            Pace::Intervals(length) => {
                let busy = self.last_packet.since(self.since).as_nanos() / length.as_nanos().max(1);
                let intervals = u32::try_from(busy + 2).unwrap_or(u32::MAX);
                Some(self.since + length.saturating_mul(intervals))
            }
        }
    }

    fn measured(&self, now: Time, pace: Pace) -> Span {
        self.end(pace).map_or(now, |end| end.min(now)).since(self.since)
    }
}

impl Clock {
    /// All the time measured until now.
    pub(super) fn total(&self, now: Time, pace: Pace) -> Span {
        self.banked + self.running.map_or(Span::ZERO, |running| running.measured(now, pace))
    }

    /// It runs, and has not paused by itself.
    pub(super) fn is_running(&self, now: Time, pace: Pace) -> bool {
        self.running.is_some_and(|running| running.end(pace).is_none_or(|end| now < end))
    }

    /// A packet was measured: it goes on, or starts again.
    pub(super) fn packet(&mut self, now: Time, pace: Pace) {
        if !self.is_running(now, pace) {
            self.start(now, pace);
        } else if let Some(running) = &mut self.running {
            running.last_packet = now;
        }
    }

    /// The last packet since it was started.
    pub(super) fn last_packet(&self) -> Option<Time> {
        self.running.map(|running| running.last_packet)
    }

    /// Packets came until this time, while it ran.
    pub(super) fn prolong_to(&mut self, at: Time) {
        if let Some(running) = &mut self.running {
            running.last_packet = running.last_packet.max(at);
        }
    }

    /// Starts at once, unless it runs.
    pub(super) fn start(&mut self, now: Time, pace: Pace) {
        if !self.is_running(now, pace) {
            self.stop(now, pace);
            self.running = Some(Running { since: now, last_packet: now });
        }
    }

    /// Stops until it is started or a packet comes.
    pub(super) fn stop(&mut self, now: Time, pace: Pace) {
        self.banked = self.total(now, pace);
        self.running = None;
    }

    /// Goes on by another pace.
    pub(super) fn change_pace(&mut self, now: Time, old: Pace, new: Pace) {
        if self.is_running(now, old) {
            self.stop(now, old);
            self.start(now, new);
        } else {
            self.stop(now, old);
        }
    }

    /// When it pauses by itself.
    pub(super) fn end(&self, pace: Pace) -> Option<Time> {
        self.running?.end(pace)
    }

    /// When so much time will have been measured, if nothing stops it. Packets may put off a pause without being seen here one by one,
    /// where they only add up: it is then the earliest time, at which it has to be looked at again.
    pub(super) fn reaches(&self, total: Span, pace: Pace) -> Option<Time> {
        let running = self.running?;
        let at = running.since + total.saturating_sub(self.banked);
        Some(at).filter(|at| pace.adds_up() || running.end(pace).is_none_or(|end| *at <= end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Time {
        Time::from_secs(1000 + secs)
    }

    fn secs(secs: u64) -> Span {
        Span::from_secs(secs)
    }

    /// The seconds measured after packets at these seconds.
    fn measured(pace: Pace, packets: &[u64], until: u64) -> u64 {
        let mut clock = Clock::default();
        for packet in packets {
            clock.packet(at(*packet), pace);
        }
        clock.total(at(until), pace).as_secs()
    }

    // Input: packets at 0, 5 and 50 s, seen at 100 s.
    // Output: 100 s without a pause; with one after 10 s idle, 15 s and then 10 s.
    #[test]
    fn idle_time_is_measured_up_to_its_detection() {
        assert_eq!(measured(Pace::Continuous, &[0, 5, 50], 100), 100);
        assert_eq!(measured(Pace::UntilIdle(secs(10)), &[0, 5, 50], 100), 25);
        assert_eq!(measured(Pace::UntilIdle(secs(10)), &[0, 5, 14, 22], 24), 24);
    }

    // Input: packets at 0, 15 and 50 s, base intervals of 10 s.
    // Output: CTP: 0 to 30 s, the last interval being empty, and 50 to 70 s; DTP: ten seconds from each.
    #[test]
    fn base_intervals_are_measured_whole() {
        assert_eq!(measured(Pace::Intervals(secs(10)), &[0, 15, 50], 100), 50);
        assert_eq!(measured(Pace::OneInterval(secs(10)), &[0, 15, 50], 100), 30);
        assert_eq!(measured(Pace::OneInterval(secs(10)), &[0, 3, 9, 10], 12), 12);
    }

    // Input: nothing; a start without packets; a change of pace in the middle.
    // Output: no time; time from the start; no second lost or measured twice.
    #[test]
    fn a_clock_starts_stops_and_changes() {
        let pace = Pace::Continuous;
        let mut clock = Clock::default();
        assert_eq!(clock.total(at(9), pace), Span::ZERO);
        clock.start(at(10), pace);
        assert_eq!(clock.reaches(secs(7), pace), Some(at(17)));
        clock.change_pace(at(13), pace, Pace::UntilIdle(secs(5)));
        assert_eq!(clock.total(at(40), Pace::UntilIdle(secs(5))), secs(8));
        assert_eq!(clock.reaches(secs(9), Pace::UntilIdle(secs(5))), Some(at(19)));
        assert_eq!(clock.reaches(secs(9), Pace::OneInterval(secs(5))), None);
        clock.stop(at(41), Pace::UntilIdle(secs(5)));
        assert_eq!(clock.total(at(99), pace), secs(8));
    }
}
