use causeway_model::{DirectionalLimit, MeasurementMethod, Urr, UrrPart, Usage, UsageLimits};
use causeway_types::{Direction, ReportingTriggers, Time, UrrId, UsageReportTrigger as Trigger};

use super::Measurement;

fn urr(threshold: u64) -> Urr {
    let volume = Some(DirectionalLimit { total: Some(threshold), ..Default::default() });
    Urr {
        triggers: ReportingTriggers::VOLTH,
        thresholds: UsageLimits { volume, ..Default::default() },
        ..Urr::new(UrrId(1), MeasurementMethod { volume: true, ..Default::default() })
    }
}

/// Passes a packet of 400 octets; returns the reports of the URR.
fn passes(measurement: &mut Measurement, urr: &Urr, second: u64) -> Vec<Usage> {
    let now = Time::from_secs(second);
    let triggers = measurement.passed(urr, now, Direction::Uplink, 400);
    if triggers.is_empty() { Vec::new() } else { measurement.report(urr, triggers, now) }
}

fn uplink(usages: &[Usage]) -> Vec<u64> {
    usages.iter().map(|usage| usage.volume.map_or(0, |volume| volume.uplink)).collect()
}

// Input: packets of 400 octets against a threshold of 1000.
// Output: the third packet reports all 1200, the sixth another 1200: the threshold is re-armed.
#[test]
fn the_threshold_is_rearmed() {
    let urr = urr(1000);
    let mut measurement = Measurement::new(&urr, Time::from_secs(1));
    let reports: Vec<_> = (2..8).flat_map(|second| passes(&mut measurement, &urr, second)).collect();
    assert_eq!(uplink(&reports), [1200, 1200]);
    assert_eq!((reports[1].start, reports[1].first_packet), (Time::from_secs(4), Some(Time::from_secs(5))));
}

// Input: a threshold of 1000, 400 octets, a query, 400 more, 400 more; the same with the threshold given anew.
// Output: the query's 400 count towards the threshold, so the report has 800; given anew, nothing is due yet.
#[test]
fn queried_usage_still_counts_towards_the_threshold() {
    for given_anew in [false, true] {
        let urr = urr(1000);
        let mut measurement = Measurement::new(&urr, Time::default());
        passes(&mut measurement, &urr, 0);
        assert_eq!(uplink(&measurement.report(&urr, Trigger::IMMER, Time::default())), [400]);
        if given_anew {
            measurement.renew(&urr, &[UrrPart::VolumeThreshold].into(), Time::default());
        }
        assert_eq!(passes(&mut measurement, &urr, 0), []);
        let due = uplink(&passes(&mut measurement, &urr, 0));
        assert_eq!(due, if given_anew { vec![] } else { vec![800] });
    }
}

// Input: half a second of measured time at each of four reports.
// Output: whole seconds are reported, and no half is lost between them.
#[test]
fn parts_of_seconds_are_in_the_next_report() {
    let method = MeasurementMethod { duration: true, ..Default::default() };
    let urr = Urr { immediate_start: true, ..Urr::new(UrrId(1), method) };
    let mut measurement = Measurement::new(&urr, Time::default());
    let seconds: Vec<_> = (1..5_u64)
        .flat_map(|half| measurement.report(&urr, Trigger::IMMER, Time::from_nanos(half * 500_000_000)))
        .map(|usage| usage.duration.map_or(9, |duration| duration.as_secs()))
        .collect();
    assert_eq!(seconds, [0, 1, 0, 1]);
}

// Input: 600 starts of traffic against a threshold of 600 events, then another 600.
// Output: all are counted, and the 600th reaches the threshold; the report has the times of the first 512.
#[test]
fn the_times_of_many_events_are_left_out() {
    let method = MeasurementMethod { events: true, ..Default::default() };
    let urr = Urr {
        triggers: ReportingTriggers::EVETH,
        thresholds: UsageLimits { events: Some(600), ..Default::default() },
        ..Urr::new(UrrId(1), method)
    };
    let mut measurement = Measurement::new(&urr, Time::default());
    for first in [0, 600] {
        let starts = (first..first + 600).map(|second| {
            let now = Time::from_secs(second);
            (second, measurement.traffic_starts(&urr, now))
        });
        let reached: Vec<_> = starts.filter(|(_, triggers)| !triggers.is_empty()).collect();
        assert_eq!(reached, [(first + 599, Trigger::EVETH)]);
        let usages = measurement.report(&urr, Trigger::EVETH, Time::from_secs(first + 599));
        let expected: Vec<_> = (first..first + 512).map(Time::from_secs).collect();
        assert_eq!(usages.into_iter().map(|usage| usage.events).collect::<Vec<_>>(), [expected]);
    }
}
