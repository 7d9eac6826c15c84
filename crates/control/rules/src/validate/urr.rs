//! Checks of one URR.

use causeway_model::{Capabilities, DirectionalLimit, RuleSet, Urr, UsageLimits};
use causeway_types::ReportingTriggers;

use crate::rejection::refuse_if;
use crate::{Reason, ie};

use super::{ethernet, require};

pub(super) fn check(urr: &Urr, rules: &RuleSet, capabilities: &Capabilities) -> Result<(), Reason> {
    let method = urr.method;
    refuse_if(method.volume && !capabilities.volume_measurement, ie::MEASUREMENT_METHOD, "volume")?;
    check_control(urr, capabilities)?;
    check_volume(urr)?;
    check_time(urr)?;
    check_events(urr)?;
    check_timers(urr)?;
    ethernet::check_urr(urr, rules.pdu_type)?;
    check_subsequent(urr)?;
    if urr.linked.contains(&urr.id) {
        return incorrect(ie::LINKED_URR_ID, "it is linked to itself");
    }
    if let Some(missing) = urr.linked.iter().find(|id| !rules.urrs.contains_key(id)) {
        return Err(Reason::DanglingReference((*missing).into()));
    }
    match urr.quota_far.filter(|id| !rules.fars.contains_key(id)) {
        Some(missing) => Err(Reason::DanglingReference(missing.into())),
        None => Ok(()),
    }
}

/// Without usage control a data plane counts, and reports volume thresholds.
fn check_control(urr: &Urr, capabilities: &Capabilities) -> Result<(), Reason> {
    if capabilities.usage_control {
        return Ok(());
    }
    let method = urr.method;
    refuse_if(method.events, ie::MEASUREMENT_METHOD, "measurement of events")?;
    refuse_if(urr.before_qos || urr.inactive, ie::MEASUREMENT_INFORMATION, "MBQE and INAM")?;
    let more = !urr.triggers.difference(ReportingTriggers::VOLTH).is_empty();
    refuse_if(more, ie::REPORTING_TRIGGERS, "a trigger other than VOLTH")?;
    let timed = urr.holding_time.is_some() || urr.validity_time.is_some();
    refuse_if(urr.quotas != UsageLimits::default() || timed, ie::VOLUME_QUOTA, "quotas")?;
    refuse_if(!urr.monitoring_times().is_empty(), ie::MONITORING_TIME, "monitoring times")?;
    let paced = urr.inactivity_detection.is_some() || urr.base_interval.is_some();
    refuse_if(paced, ie::INACTIVITY_DETECTION_TIME, "pauses of the measurement of time")?;
    refuse_if(urr.number_of_reports.is_some(), ie::NUMBER_OF_REPORTS, "a number of reports")
}

fn check_volume(urr: &Urr) -> Result<(), Reason> {
    let (threshold, quota) = (urr.thresholds.volume, urr.quotas.volume);
    measured(urr.method.volume, threshold.is_some() || quota.is_some(), "a limit of volume without VOLUM")?;
    let triggers = (ReportingTriggers::VOLTH, ReportingTriggers::VOLQU);
    check_triggers(urr, triggers.0, threshold.is_some(), ie::VOLUME_THRESHOLD, true)?;
    check_triggers(urr, triggers.1, quota.is_some(), ie::VOLUME_QUOTA, false)?;
    threshold.map_or(Ok(()), check_threshold)?;
    quota.map_or(Ok(()), |quota| check_volumes(quota, ie::VOLUME_QUOTA))
}

fn check_time(urr: &Urr) -> Result<(), Reason> {
    let (threshold, quota) = (urr.thresholds.time, urr.quotas.time);
    let paced = urr.inactivity_detection.is_some() || urr.base_interval.is_some();
    let timed = threshold.is_some() || quota.is_some() || paced;
    measured(urr.method.duration, timed, "a limit of time without DURAT")?;
    check_triggers(urr, ReportingTriggers::TIMTH, threshold.is_some(), ie::TIME_THRESHOLD, true)?;
    check_triggers(urr, ReportingTriggers::TIMQU, quota.is_some(), ie::TIME_QUOTA, false)?;
    if threshold.is_some_and(|threshold| threshold.is_zero()) {
        return incorrect(ie::TIME_THRESHOLD, "a time threshold of zero");
    }
    let closes = urr.triggers.contains(ReportingTriggers::ENVCL);
    measured(urr.method.duration, closes, "envelopes without DURAT")?;
    let reason = "the reporting triggers contain the closure of envelopes";
    require(!closes || paced, ie::TIME_QUOTA_MECHANISM, reason)
}

fn check_events(urr: &Urr) -> Result<(), Reason> {
    let (threshold, quota) = (urr.thresholds.events, urr.quotas.events);
    measured(urr.method.events, threshold.is_some() || quota.is_some(), "a limit of events without EVENT")?;
    check_triggers(urr, ReportingTriggers::EVETH, threshold.is_some(), ie::EVENT_THRESHOLD, true)?;
    check_triggers(urr, ReportingTriggers::EVEQU, quota.is_some(), ie::EVENT_QUOTA, false)?;
    if threshold == Some(0) { incorrect(ie::EVENT_THRESHOLD, "an event threshold of zero") } else { Ok(()) }
}

/// A trigger requires its timer. A timer without its trigger is accepted and causes no report: SMFs leave it behind
/// when they remove the trigger.
fn check_timers(urr: &Urr) -> Result<(), Reason> {
    let named = [
        (ReportingTriggers::PERIO, urr.period.is_some(), ie::MEASUREMENT_PERIOD),
        (ReportingTriggers::QUHTI, urr.holding_time.is_some(), ie::QUOTA_HOLDING_TIME),
        (ReportingTriggers::QUVTI, urr.validity_time.is_some(), ie::QUOTA_VALIDITY_TIME),
        (ReportingTriggers::UPINT, urr.inactivity_timer.is_some(), ie::USER_PLANE_INACTIVITY_TIMER),
        (ReportingTriggers::DROTH, urr.dropped_threshold.is_some(), ie::DROPPED_DL_TRAFFIC_THRESHOLD),
    ];
    for (trigger, there, ie) in named {
        check_triggers(urr, trigger, there, ie, false)?;
    }
    let zero = |span: Option<causeway_types::Span>| span.is_some_and(|span| span.is_zero());
    if urr.triggers.contains(ReportingTriggers::PERIO) && zero(urr.period) {
        return incorrect(ie::MEASUREMENT_PERIOD, "a period of zero length");
    }
    let dropped = urr.dropped_threshold.map(|limit| [limit.packets, limit.octets]);
    let empty = dropped.is_some_and(|limits| limits == [None, None] || limits.contains(&Some(0)));
    if empty { incorrect(ie::DROPPED_DL_TRAFFIC_THRESHOLD, "no traffic in it") } else { Ok(()) }
}

/// Limits after a monitoring time require their method, too.
fn check_subsequent(urr: &Urr) -> Result<(), Reason> {
    for monitoring in urr.monitoring_times() {
        for limits in [monitoring.thresholds, monitoring.quotas] {
            let reason = "a subsequent limit without its measurement method";
            measured(urr.method.volume, limits.volume.is_some(), reason)?;
            measured(urr.method.duration, limits.time.is_some(), reason)?;
            measured(urr.method.events, limits.events.is_some(), reason)?;
        }
        monitoring.thresholds.volume.map_or(Ok(()), check_threshold)?;
        monitoring.quotas.volume.map_or(Ok(()), |quota| check_volumes(quota, ie::VOLUME_QUOTA))?;
    }
    Ok(())
}

fn measured(is: bool, needed: bool, reason: &'static str) -> Result<(), Reason> {
    if is || !needed { Ok(()) } else { incorrect(ie::MEASUREMENT_METHOD, reason) }
}

/// A trigger requires its limit; with `both`, a limit also requires its trigger.
fn check_triggers(
    urr: &Urr,
    trigger: ReportingTriggers,
    there: bool,
    ie: u16,
    both: bool,
) -> Result<(), Reason> {
    let named = urr.triggers.contains(trigger);
    require(there || !named, ie, "the reporting triggers require it")?;
    if both && there && !named {
        return incorrect(ie::REPORTING_TRIGGERS, "a threshold without its trigger");
    }
    Ok(())
}

/// A threshold of zero would be reached continuously without traffic.
fn check_threshold(threshold: DirectionalLimit) -> Result<(), Reason> {
    check_volumes(threshold, ie::VOLUME_THRESHOLD)?;
    let limits = [threshold.total, threshold.uplink, threshold.downlink];
    if limits.contains(&Some(0)) {
        return incorrect(ie::VOLUME_THRESHOLD, "a threshold of zero octets");
    }
    Ok(())
}

fn check_volumes(limit: DirectionalLimit, ie: u16) -> Result<(), Reason> {
    if limit == DirectionalLimit::default() { incorrect(ie, "no volume in it") } else { Ok(()) }
}

fn incorrect(ie: u16, reason: &'static str) -> Result<(), Reason> {
    Err(Reason::Incorrect { ie, why: reason })
}
