//! Random Usage Reporting Rules and changes to them.

use std::num::NonZeroU16;

use causeway_types::{FarId, ReportingTriggers, Span, UrrId, WallTime};
use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;

use crate::edits::{LimitsUpdate, Measuring, MonitoringUpdate, UrrDraft, UrrUpdate};
use causeway_model::{
    BaseInterval, DirectionalLimit, DroppedLimit, Far, MeasurementMethod, Monitoring, RuleMap, Urr,
    UsageLimits,
};

use super::{IDS, setting};

fn volume() -> impl Strategy<Value = DirectionalLimit> {
    let some = 1..u64::MAX;
    (some.clone(), option::of(some.clone()), option::of(some))
        .prop_map(|(total, uplink, downlink)| DirectionalLimit { total: Some(total), uplink, downlink })
}

fn seconds() -> impl Strategy<Value = Span> {
    (1..100_u64).prop_map(Span::from_secs)
}

fn limits() -> impl Strategy<Value = UsageLimits> {
    (option::of(volume()), option::of(seconds()), option::of(1..9_u32))
        .prop_map(|(volume, time, events)| UsageLimits { volume, time, events })
}

fn monitoring() -> impl Strategy<Value = Monitoring> {
    let at = (0..1_000_u64).prop_map(WallTime::from_secs);
    (at, limits(), limits()).prop_map(|(at, thresholds, quotas)| Monitoring { at, thresholds, quotas })
}

fn base_interval() -> impl Strategy<Value = BaseInterval> {
    prop_oneof![seconds().prop_map(BaseInterval::Continuous), seconds().prop_map(BaseInterval::Discrete)]
}

fn dropped() -> impl Strategy<Value = DroppedLimit> {
    (1..9_u64, option::of(1..9_u64))
        .prop_map(|(packets, octets)| DroppedLimit { packets: Some(packets), octets })
}

/// A legal URR that measures everything, without links and without a FAR for its quota.
pub(super) fn urr(id: u32) -> impl Strategy<Value = Urr> {
    let limits = (limits(), limits());
    let timers = (option::of(seconds()), option::of(seconds()), option::of(seconds()), option::of(seconds()));
    let pace = (option::of(seconds()), option::of(base_interval()));
    let monitoring = (option::of(monitoring()), vec(monitoring(), 0..3));
    let rest = (option::of(dropped()), option::of(1..9_u16), any::<[bool; 4]>());
    (limits, timers, pace, monitoring, rest).prop_map(move |(limits, timers, pace, monitoring, rest)| {
        let method = MeasurementMethod { volume: true, duration: true, events: true };
        let mut urr = Urr {
            thresholds: limits.0,
            quotas: limits.1,
            period: timers.0,
            holding_time: timers.1,
            validity_time: timers.2,
            inactivity_timer: timers.3,
            inactivity_detection: pace.0,
            base_interval: pace.1,
            monitoring: monitoring.0,
            additional_monitoring: monitoring.1,
            dropped_threshold: rest.0,
            number_of_reports: rest.1.and_then(NonZeroU16::new),
            before_qos: rest.2[0],
            immediate_start: rest.2[1],
            ..Urr::new(UrrId(id), method)
        };
        urr.triggers = triggers(&urr, rest.2[2], rest.2[3]);
        urr
    })
}

/// The triggers that its thresholds need, and optional ones.
fn triggers(urr: &Urr, quotas: bool, timers: bool) -> ReportingTriggers {
    use ReportingTriggers as Trigger;
    let paced = urr.inactivity_detection.is_some() || urr.base_interval.is_some();
    let triggers = [
        (urr.thresholds.volume.is_some(), Trigger::VOLTH),
        (urr.thresholds.time.is_some(), Trigger::TIMTH),
        (urr.thresholds.events.is_some(), Trigger::EVETH),
        (quotas && urr.quotas.volume.is_some(), Trigger::VOLQU),
        (quotas && urr.quotas.time.is_some(), Trigger::TIMQU),
        (quotas && urr.quotas.events.is_some(), Trigger::EVEQU),
        (timers && urr.period.is_some(), Trigger::PERIO),
        (timers && urr.holding_time.is_some(), Trigger::QUHTI),
        (timers && urr.validity_time.is_some(), Trigger::QUVTI),
        (timers && urr.inactivity_timer.is_some(), Trigger::UPINT),
        (timers && urr.dropped_threshold.is_some(), Trigger::DROTH),
        (timers && paced, Trigger::ENVCL),
        (timers, Trigger::START | Trigger::STOPT | Trigger::REEMR),
    ];
    let chosen = triggers.into_iter().filter(|(is, _)| *is);
    chosen.fold(Trigger::empty(), |triggers, (_, trigger)| triggers | trigger)
}

/// The URRs by id; each except the first is linked to the first, and has the first FAR for its quota.
pub(super) fn linked(urrs: &[Urr], fars: &[Far]) -> RuleMap<UrrId, Urr> {
    let first = urrs.first().map(|urr| urr.id);
    let link = |urr: &Urr| Urr {
        linked: first.into_iter().filter(|id| *id != urr.id).collect(),
        triggers: urr.triggers
            | if first == Some(urr.id) { ReportingTriggers::empty() } else { ReportingTriggers::LIUSA },
        quota_far: fars.first().map(|far| far.id).filter(|_| first != Some(urr.id)),
        ..urr.clone()
    };
    urrs.iter().map(|urr| (urr.id, link(urr))).collect()
}

pub(super) fn any_urr() -> impl Strategy<Value = UrrDraft> {
    (0..IDS).prop_flat_map(urr).prop_map(UrrDraft::of)
}

fn limits_update() -> impl Strategy<Value = LimitsUpdate> {
    (setting(volume()), setting(seconds()), setting(1..9_u32))
        .prop_map(|(volume, time, events)| LimitsUpdate { volume, time, events })
}

fn monitoring_update() -> impl Strategy<Value = MonitoringUpdate> {
    (setting((0..99_u64).prop_map(WallTime::from_secs)), limits_update(), limits_update())
        .prop_map(|(at, thresholds, quotas)| MonitoringUpdate { at, thresholds, quotas })
}

fn measuring() -> impl Strategy<Value = Measuring> {
    any::<[bool; 4]>().prop_map(|flags| Measuring {
        before_qos: false,
        inactive: flags[0],
        immediate_start: flags[1],
        packets: flags[2],
        reduced_detection: flags[3],
    })
}

pub(super) fn any_urr_update() -> impl Strategy<Value = UrrUpdate> {
    let limits = (limits_update(), limits_update(), monitoring_update());
    let timers = (setting(seconds()), setting(seconds()), setting(seconds()), setting(seconds()));
    let links = (setting(btree_set((0..IDS).prop_map(UrrId), 1..3)), setting((0..IDS).prop_map(FarId)));
    let rest = (
        option::of(any::<u32>().prop_map(ReportingTriggers::from_bits_truncate)),
        setting(dropped()),
        setting((1..9_u16).prop_filter_map("not zero", NonZeroU16::new)),
        option::of(measuring()),
        setting(vec(monitoring(), 1..3)),
    );
    (0..IDS, limits, timers, links, rest).prop_map(|(id, limits, timers, links, rest)| UrrUpdate {
        thresholds: limits.0,
        quotas: limits.1,
        monitoring: limits.2,
        period: timers.0,
        holding_time: timers.1,
        validity_time: timers.2,
        inactivity_timer: timers.3,
        linked: links.0,
        quota_far: links.1,
        triggers: rest.0,
        dropped_threshold: rest.1,
        number_of_reports: rest.2,
        measuring: rest.3,
        additional_monitoring: rest.4,
        ..UrrUpdate::new(UrrId(id))
    })
}
