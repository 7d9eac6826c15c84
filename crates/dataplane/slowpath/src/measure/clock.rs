//! Measured time: when it runs and when it pauses (TS 29.244 clause 5.2.2.2.1).

use causeway_model::{BaseInterval, Urr};
use causeway_types::{Span, Time};

use crate::lease::{BadRecord, RecordReader, RecordWriter};

/// When a running time measurement pauses by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TimeMeasurement {
    /// Never.
    Continuous,
    /// This time after the last packet (Inactivity Detection Time).
    UntilIdle(Span),
    /// At the end of the first interval without packets, counted from the first packet (CTP).
    Intervals(Span),
    /// At the end of the interval that the first packet began (DTP).
    OneInterval(Span),
}

impl TimeMeasurement {
    pub(super) fn of(urr: &Urr) -> Self {
        match (urr.base_interval, urr.inactivity_detection) {
            (Some(BaseInterval::Continuous(length)), _) => Self::Intervals(length),
            (Some(BaseInterval::Discrete(length)), _) => Self::OneInterval(length),
            (None, Some(idle)) => Self::UntilIdle(idle),
            (None, None) => Self::Continuous,
        }
    }

    /// A packet that arrives while the clock runs only changes when it ends.
    pub(super) const fn is_additive(self) -> bool {
        matches!(self, Self::Continuous | Self::UntilIdle(_))
    }
}

/// The time measured by a URR. It only grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct UsageTimer {
    /// The time measured before the last start.
    accumulated: Span,
    running: Option<Running>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Running {
    since: Time,
    last_packet: Time,
}

impl Running {
    /// When it pauses without a further packet.
    fn end(&self, measurement: TimeMeasurement) -> Option<Time> {
        match measurement {
            TimeMeasurement::Continuous => None,
            TimeMeasurement::UntilIdle(idle) => Some(self.last_packet + idle),
            TimeMeasurement::OneInterval(length) => Some(self.since + length),
            TimeMeasurement::Intervals(length) => {
                let busy = self.last_packet.since(self.since).as_nanos() / length.as_nanos().max(1);
                let intervals = u32::try_from(busy + 2).unwrap_or(u32::MAX);
                Some(self.since + length.saturating_mul(intervals))
            }
        }
    }

    fn measured(&self, now: Time, measurement: TimeMeasurement) -> Span {
        self.end(measurement).map_or(now, |end| end.min(now)).since(self.since)
    }
}

impl UsageTimer {
    /// Appends the timer to a record.
    pub(super) fn write(&self, out: &mut RecordWriter<'_>) {
        out.span(self.accumulated);
        out.option(self.running, |out, running| {
            out.time(running.since);
            out.time(running.last_packet);
        });
    }

    /// Reads a timer from a record.
    pub(super) fn read(octets: &mut RecordReader<'_>) -> Result<Self, BadRecord> {
        let accumulated = octets.span()?;
        let running =
            octets.option(|octets| Ok(Running { since: octets.time()?, last_packet: octets.time()? }))?;
        Ok(Self { accumulated, running })
    }

    /// It can have been read at a time not far from this one: no sum of its times overflows.
    pub(super) fn is_plausible(&self, now: Time, longest: Span) -> bool {
        let is_near = |at: Time| at.since(now).max(now.since(at)) <= longest;
        self.accumulated <= longest
            && self.running.is_none_or(|running| is_near(running.since) && is_near(running.last_packet))
    }

    /// At least so much was measured until now.
    pub(super) fn reach(&mut self, total: Span, now: Time, measurement: TimeMeasurement) {
        self.accumulated += total.saturating_sub(self.total(now, measurement));
    }

    /// All the time measured until now.
    pub(super) fn total(&self, now: Time, measurement: TimeMeasurement) -> Span {
        self.accumulated + self.running.map_or(Span::ZERO, |running| running.measured(now, measurement))
    }

    /// It runs and has not paused by itself.
    pub(super) fn is_running(&self, now: Time, measurement: TimeMeasurement) -> bool {
        self.running.is_some_and(|running| running.end(measurement).is_none_or(|end| now < end))
    }

    /// Records a measured packet: the clock continues or starts again.
    pub(super) fn packet(&mut self, now: Time, measurement: TimeMeasurement) {
        if !self.is_running(now, measurement) {
            self.start(now, measurement);
        } else if let Some(running) = &mut self.running {
            running.last_packet = now;
        }
    }

    /// The last packet since it was started.
    pub(super) fn last_packet(&self) -> Option<Time> {
        self.running.map(|running| running.last_packet)
    }

    /// Records packets until this time, while it ran.
    pub(super) fn extend_to(&mut self, at: Time) {
        if let Some(running) = &mut self.running {
            running.last_packet = running.last_packet.max(at);
        }
    }

    /// Starts the clock immediately, unless it runs.
    pub(super) fn start(&mut self, now: Time, measurement: TimeMeasurement) {
        if !self.is_running(now, measurement) {
            self.stop(now, measurement);
            self.running = Some(Running { since: now, last_packet: now });
        }
    }

    /// Stops until it is started or a packet arrives.
    pub(super) fn stop(&mut self, now: Time, measurement: TimeMeasurement) {
        self.accumulated = self.total(now, measurement);
        self.running = None;
    }

    /// Changes the type of measurement.
    pub(super) fn change_pace(&mut self, now: Time, old: TimeMeasurement, new: TimeMeasurement) {
        if self.is_running(now, old) {
            self.stop(now, old);
            self.start(now, new);
        } else {
            self.stop(now, old);
        }
    }

    /// When it pauses by itself.
    pub(super) fn end(&self, measurement: TimeMeasurement) -> Option<Time> {
        self.running?.end(measurement)
    }

    /// When the total will be reached, if nothing stops the clock. Where packets only add up, they may delay a pause
    /// without being recorded one by one: the result is then the earliest time, at which it must be computed again.
    pub(super) fn reaches(&self, total: Span, measurement: TimeMeasurement) -> Option<Time> {
        let running = self.running?;
        let at = running.since + total.saturating_sub(self.accumulated);
        Some(at)
            .filter(|at| measurement.is_additive() || running.end(measurement).is_none_or(|end| *at <= end))
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
    fn measured(measurement: TimeMeasurement, packets: &[u64], until: u64) -> u64 {
        let mut clock = UsageTimer::default();
        for packet in packets {
            clock.packet(at(*packet), measurement);
        }
        clock.total(at(until), measurement).as_secs()
    }

    // Input: packets at 0, 5 and 50 s, seen at 100 s.
    // Output: 100 s without a pause; with one after 10 s idle, 15 s and then 10 s.
    #[test]
    fn idle_time_is_measured_up_to_its_detection() {
        assert_eq!(measured(TimeMeasurement::Continuous, &[0, 5, 50], 100), 100);
        assert_eq!(measured(TimeMeasurement::UntilIdle(secs(10)), &[0, 5, 50], 100), 25);
        assert_eq!(measured(TimeMeasurement::UntilIdle(secs(10)), &[0, 5, 14, 22], 24), 24);
    }

    // Input: packets at 0, 15 and 50 s, base intervals of 10 s.
    // Output: CTP: 0 to 30 s, the last interval being empty, and 50 to 70 s; DTP: ten seconds from each.
    #[test]
    fn base_intervals_are_measured_whole() {
        assert_eq!(measured(TimeMeasurement::Intervals(secs(10)), &[0, 15, 50], 100), 50);
        assert_eq!(measured(TimeMeasurement::OneInterval(secs(10)), &[0, 15, 50], 100), 30);
        assert_eq!(measured(TimeMeasurement::OneInterval(secs(10)), &[0, 3, 9, 10], 12), 12);
    }

    // Input: nothing; a start without packets; a change of the type in the middle.
    // Output: no time; time from the start; no second lost or measured twice.
    #[test]
    fn a_clock_starts_stops_and_changes() {
        let measurement = TimeMeasurement::Continuous;
        let mut clock = UsageTimer::default();
        assert_eq!(clock.total(at(9), measurement), Span::ZERO);
        clock.start(at(10), measurement);
        assert_eq!(clock.reaches(secs(7), measurement), Some(at(17)));
        clock.change_pace(at(13), measurement, TimeMeasurement::UntilIdle(secs(5)));
        assert_eq!(clock.total(at(40), TimeMeasurement::UntilIdle(secs(5))), secs(8));
        assert_eq!(clock.reaches(secs(9), TimeMeasurement::UntilIdle(secs(5))), Some(at(19)));
        assert_eq!(clock.reaches(secs(9), TimeMeasurement::OneInterval(secs(5))), None);
        clock.stop(at(41), TimeMeasurement::UntilIdle(secs(5)));
        assert_eq!(clock.total(at(99), measurement), secs(8));
    }
}
