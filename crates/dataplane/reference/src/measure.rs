//! Usage measurement of one URR.

use causeway_rules::{Urr, Usage, UsageReason};
use causeway_types::{Direction, Time, Volume};

/// What a URR has counted since its last report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Measurement {
    volume: Volume,
    /// Since the threshold was armed: what a query reported counts on towards it.
    armed: Volume,
    start: Time,
    first_packet: Option<Time>,
    last_packet: Option<Time>,
}

impl Measurement {
    /// Nothing counted yet.
    pub(crate) fn new(now: Time) -> Self {
        Self { volume: Volume::ZERO, armed: Volume::ZERO, start: now, first_packet: None, last_packet: None }
    }

    /// Lets the threshold count from zero.
    pub(crate) fn rearm(&mut self) {
        self.armed = Volume::ZERO;
    }

    /// Counts a packet, and reports when that reaches the URR's volume threshold.
    pub(crate) fn count(
        &mut self,
        urr: &Urr,
        now: Time,
        direction: Direction,
        octets: usize,
    ) -> Option<Usage> {
        if urr.method.volume {
            self.volume.count(direction, octets as u64);
            self.armed.count(direction, octets as u64);
        }
        self.first_packet.get_or_insert(now);
        self.last_packet = Some(now);
        self.threshold_report(urr, now)
    }

    /// The report that is due if the volume threshold is reached, which a lowered threshold can be at once.
    pub(crate) fn threshold_report(&mut self, urr: &Urr, now: Time) -> Option<Usage> {
        let limit = urr.volume_threshold.filter(|_| urr.triggers.volume_threshold)?;
        limit.is_reached_by(&self.armed).then(|| self.report(urr, UsageReason::VolumeThreshold, now))
    }

    /// Reports what was counted since the last report. Only a report that the threshold caused arms it again
    /// (TS 29.244 clause 5.2.2.3.1).
    pub(crate) fn report(&mut self, urr: &Urr, reason: UsageReason, now: Time) -> Usage {
        let ended = std::mem::replace(self, Self::new(now));
        if reason != UsageReason::VolumeThreshold {
            self.armed = ended.armed;
        }
        Usage {
            urr: urr.id,
            reason,
            volume: ended.volume,
            start: ended.start,
            end: now,
            first_packet: ended.first_packet,
            last_packet: ended.last_packet,
        }
    }
}

#[cfg(test)]
mod tests {
    use causeway_rules::{DirectionalLimit, MeasurementMethod, UrrTriggers};
    use causeway_types::UrrId;

    use super::*;

    fn urr(total: u64) -> Urr {
        let method = MeasurementMethod { volume: true, duration: false };
        Urr {
            triggers: UrrTriggers { volume_threshold: true },
            volume_threshold: Some(DirectionalLimit { total: Some(total), ..Default::default() }),
            ..Urr::new(UrrId(1), method)
        }
    }

    // Input: packets of 400 octets against a threshold of 1000.
    // Output: the third packet reports all 1200, the sixth another 1200: the threshold arms itself again.
    #[test]
    fn the_threshold_arms_itself_again() {
        let (urr, mut measurement) = (urr(1000), Measurement::new(Time::from_secs(1)));
        let mut reports = Vec::new();
        for second in 2..8 {
            reports.extend(measurement.count(&urr, Time::from_secs(second), Direction::Uplink, 400));
        }
        assert_eq!(reports.iter().map(|usage| usage.volume.uplink).collect::<Vec<_>>(), [1200, 1200]);
        assert_eq!(
            (reports[1].start, reports[1].first_packet),
            (Time::from_secs(4), Some(Time::from_secs(5)))
        );
    }

    // Input: a threshold of 1000, 400 octets, a query, 400 more, 400 more; the same with the threshold given anew.
    // Output: the query's 400 count towards the threshold, so the report has 800; given anew, nothing is due yet.
    #[test]
    fn what_a_query_reports_still_counts_towards_the_threshold() {
        for given_anew in [false, true] {
            let (urr, mut measurement) = (urr(1000), Measurement::new(Time::default()));
            let count = |measurement: &mut Measurement| {
                measurement.count(&urr, Time::default(), Direction::Uplink, 400)
            };
            count(&mut measurement);
            assert_eq!(measurement.report(&urr, UsageReason::Queried, Time::default()).volume.uplink, 400);
            if given_anew {
                measurement.rearm();
            }
            assert_eq!(count(&mut measurement), None);
            let due = count(&mut measurement).map(|usage| usage.volume.uplink);
            assert_eq!(due, (!given_anew).then_some(800));
        }
    }

    // Input: a threshold without the VOLTH trigger.
    // Output: nothing is reported unasked; the final report has everything.
    #[test]
    fn without_the_trigger_the_threshold_is_silent() {
        let mut urr = urr(1);
        urr.triggers.volume_threshold = false;
        let mut measurement = Measurement::new(Time::default());
        assert_eq!(measurement.count(&urr, Time::default(), Direction::Downlink, 9), None);
        assert_eq!(measurement.report(&urr, UsageReason::Removed, Time::default()).volume.downlink, 9);
    }
}
