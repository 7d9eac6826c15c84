//! Applies the operations of a plan to one session.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use causeway_dataplane::{ApplyError, Op, PacketRateReport, Plan, Usage};
use causeway_model::{ApplyAction, Far, RuleId, RuleSet, UeMac};
use causeway_types::{FTeid, PdrId, QerId, Time, UrrId, UsageReportTrigger, WallTime};

use crate::enforcer::QerState;
use crate::inactivity::Inactivity;
use crate::lazy::Lazy;
use crate::measure::Measurement;
use crate::qos::SharedLimits;
use crate::session::Session;

/// The results of a plan other than the changed session.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Usage that was requested or is final.
    pub(crate) usage: Vec<Usage>,
    /// The remaining packet rate, where it was requested.
    pub(crate) packet_rates: Vec<PacketRateReport>,
    /// Tunnels that are sent an End Marker, each with the FAR that sent packets into it.
    pub(crate) end_markers: Vec<(FTeid, Option<Arc<Far>>)>,
    /// Buffered packets are dropped first.
    pub(crate) drop_buffered: bool,
    /// MAC addresses that move to the session.
    pub(crate) macs: Vec<UeMac>,
    /// Timers of rules and settings that were removed.
    pub(crate) ended_timers: Vec<EndedTimer>,
    /// The session was removed.
    pub(crate) removed: bool,
    /// The URRs that the plan itself reports, and those linked to them: they are not reported again.
    reported: BTreeSet<UrrId>,
}

/// A timer whose holder was removed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EndedTimer {
    /// The User Plane Inactivity Timer.
    Inactivity(Time),
    /// Those of a URR.
    Urr(UrrId, (Option<Time>, Option<WallTime>)),
}

/// Applies the plan to a copy of the session, which replaces it only if all writes succeed.
pub(crate) fn apply_ops(
    session: &mut Session,
    shared: &SharedLimits,
    plan: &Plan,
    now: Time,
) -> Result<Effects, ApplyError> {
    let mut effects = Effects::default();
    if plan.change.is_removal() {
        remove_session(session, shared, now, &mut effects);
        return Ok(effects);
    }
    let (used_before, ops) = (session.urrs_in_use(), &*plan.ops());
    let dissociated = dissociated_by(session, &used_before, ops);
    effects.reported = reported_by(ops);
    effects.reported.extend(&dissociated);
    effects.end_markers = end_markers(session, ops);
    for op in ops {
        report_by_name(session, op, now, &mut effects);
    }
    for op in ops {
        write(session, shared, op, now, &mut effects);
    }
    check_references(plan, &session.rules)?;
    for urr in dissociated {
        report_dissociated(session, urr, now, &mut effects);
    }
    Ok(effects)
}

/// The URRs that lose their last PDR.
fn dissociated_by(session: &Session, used: &[UrrId], ops: &[Op]) -> Vec<UrrId> {
    let changes = |op: &Op| matches!(op, Op::PutPdr(_) | Op::RemovePdr(_));
    if used.is_empty() || !ops.iter().any(changes) {
        return Vec::new();
    }
    let mut after: BTreeMap<PdrId, &[UrrId]> =
        session.rules.pdrs.values().map(|pdr| (pdr.id, &*pdr.urrs)).collect();
    for op in ops {
        match op {
            Op::PutPdr(pdr) => drop(after.insert(pdr.id, &pdr.urrs)),
            Op::RemovePdr(id) => drop(after.remove(id)),
            _ => {}
        }
    }
    used.iter().copied().filter(|urr| !after.values().any(|urrs| urrs.contains(urr))).collect()
}

/// The End Markers that the plan requests. They follow the last packets that the FARs sent before the plan.
fn end_markers(session: &Session, ops: &[Op]) -> Vec<(FTeid, Option<Arc<Far>>)> {
    let marker = |op: &Op| match op {
        Op::SendEndMarker { far, tunnel } => Some((*tunnel, session.rules.fars.get_shared(far).cloned())),
        _ => None,
    };
    ops.iter().filter_map(marker).collect()
}

fn write(session: &mut Session, shared: &SharedLimits, op: &Op, now: Time, effects: &mut Effects) {
    let rules = &mut session.rules;
    match op {
        Op::SetPduType(pdu_type) => rules.pdu_type = *pdu_type,
        Op::TakeMacs(macs) => effects.macs.clone_from(macs),
        Op::SetSlice(slice) => rules.slice = *slice,
        Op::SetPaging(policies) => rules.paging.clone_from(policies),
        Op::PutBar(bar) => drop(rules.bars.insert(bar.id, Arc::clone(bar))),
        Op::PutUrr(urr) => session.replace_urr(urr, now),
        Op::RenewUrr { urr, parts } => session.renew_urr(*urr, parts, now),
        Op::PutQer(qer) => {
            let old = rules.qers.insert(qer.id, Arc::clone(qer));
            shared.provision(session, old.as_deref(), qer, now);
        }
        Op::PutFar(far) => {
            session.forget_error_indications(far.id);
            replace_far(session, far);
        }
        Op::NotifyAgain(far) => session.reset_notifications(*far),
        Op::ExtendBuffering(extended) => session.extend_buffering(extended, now),
        Op::DropBuffered => effects.drop_buffered = true,
        Op::SetInactivityTimer(limit) => {
            rules.inactivity_timer = *limit;
            let held = session.inactivity.take();
            session.inactivity = limit.map(|limit| Inactivity::new(limit, now).in_place_of(held));
            let ended = held.filter(|_| limit.is_none()).and_then(|held| held.timer_set());
            effects.ended_timers.extend(ended.map(EndedTimer::Inactivity));
        }
        Op::PutPdr(pdr) => drop(rules.pdrs.insert(pdr.id, Arc::clone(pdr))),
        Op::SendEndMarker { .. } => {}
        Op::QueryPacketRate(id) => report_packet_rate(session, shared, *id, now, effects),
        Op::QueryUrr(_) => {}
        Op::RemovePdr(id) => {
            rules.pdrs.remove(id);
            session.forget_pdr(*id);
        }
        Op::RemoveFar(id) => {
            session.forget_error_indications(*id);
            session.reset_notifications(*id);
            session.rules.fars.remove(id);
        }
        Op::RemoveQer(id) => {
            rules.qers.remove(id);
            session.enforcers.remove(id);
        }
        Op::RemoveUrr(id) => {
            rules.urrs.remove(id);
            let removed = session.measurements.remove(id);
            let set = removed.as_ref().and_then(Lazy::get).map(Measurement::timers_set);
            effects.ended_timers.extend(set.map(|set| EndedTimer::Urr(*id, set)));
        }
        Op::RemoveBar(id) => {
            rules.bars.remove(id);
            session.extended.remove(id);
        }
    }
}

/// A new action starts a new buffering period and ends extended buffering.
fn replace_far(session: &mut Session, far: &Arc<Far>) {
    let held = session.rules.fars.insert(far.id, Arc::clone(far));
    if !held.as_ref().is_some_and(|held| held.acts_like(far)) {
        session.reset_notifications(far.id);
    }
    let bar = far.bar.or(held.and_then(|held| held.bar));
    if let Some(bar) = bar.filter(|_| !far.buffers()) {
        session.extended.remove(&bar);
    }
}

fn remove_session(session: &mut Session, shared: &SharedLimits, now: Time, effects: &mut Effects) {
    let urrs: Vec<_> = session.rules.urrs.keys().copied().collect();
    effects.reported = urrs.iter().copied().collect();
    for urr in urrs {
        report(session, urr, UsageReportTrigger::TERMR, now, effects);
    }
    let reporting = session.rules.qers.values().filter(|qer| qer.reports_packet_rate);
    for qer in reporting.map(|qer| qer.id).collect::<Vec<_>>() {
        report_packet_rate(session, shared, qer, now, effects);
    }
    session.rules = RuleSet::default();
    effects.removed = true;
}

/// Reports nothing where the packet rate is not limited.
fn report_packet_rate(session: &Session, shared: &SharedLimits, id: QerId, now: Time, effects: &mut Effects) {
    let qer = session.rules.qers.get(&id);
    let status = |enforcer: &QerState| enforcer.packet_rate_status(now, shared.wall);
    let status = qer.and_then(|qer| shared.inspect(session, qer, status)).flatten();
    effects.packet_rates.extend(status.map(|status| PacketRateReport { qer: id, status }));
}

/// The URRs that the plan reports by name.
fn reported_by(ops: &[Op]) -> BTreeSet<UrrId> {
    let named = |op: &Op| match op {
        Op::QueryUrr(urr) | Op::RemoveUrr(urr) => Some(*urr),
        _ => None,
    };
    ops.iter().filter_map(named).collect()
}

/// Reports a URR that the plan names, by the rules before the plan: the plan may remove its links.
fn report_by_name(session: &mut Session, op: &Op, now: Time, effects: &mut Effects) {
    match op {
        Op::QueryUrr(id) => report(session, *id, UsageReportTrigger::IMMER, now, effects),
        Op::RemoveUrr(id) => report(session, *id, UsageReportTrigger::TERMR, now, effects),
        _ => {}
    }
}

fn report(session: &mut Session, id: UrrId, triggers: UsageReportTrigger, now: Time, effects: &mut Effects) {
    let usages = session.report_once(id, triggers, now, &mut effects.reported);
    effects.usage.extend(usages);
}

/// A URR that lost its last PDR ends its measurement (TERMR); the rule itself stays.
fn report_dissociated(session: &mut Session, urr: UrrId, now: Time, effects: &mut Effects) {
    if session.rules.urrs.contains_key(&urr) {
        report(session, urr, UsageReportTrigger::TERMR, now, effects);
        session.reset_urr(urr, now);
    }
}

/// Every referenced rule exists, and every FAR that forwards has a destination.
fn check_references(plan: &Plan, rules: &RuleSet) -> Result<(), ApplyError> {
    let dangling = |rule: RuleId| Err(ApplyError::DanglingReference { session: plan.session, rule });
    for pdr in rules.pdrs.values() {
        if !rules.fars.contains_key(&pdr.far) {
            return dangling(pdr.far.into());
        }
        if let Some(qer) = pdr.qers.iter().find(|id| !rules.qers.contains_key(id)) {
            return dangling((*qer).into());
        }
        if let Some(urr) = pdr.urrs.iter().find(|id| !rules.urrs.contains_key(id)) {
            return dangling((*urr).into());
        }
    }
    for urr in rules.urrs.values() {
        if let Some(far) = urr.quota_far.filter(|id| !rules.fars.contains_key(id)) {
            return dangling(far.into());
        }
        if let Some(linked) = urr.linked.iter().find(|id| !rules.urrs.contains_key(id)) {
            return dangling((*linked).into());
        }
    }
    for far in rules.fars.values() {
        if let Some(bar) = far.bar.filter(|id| !rules.bars.contains_key(id)) {
            return dangling(bar.into());
        }
        if far.action == ApplyAction::Forward && far.forwarding.is_none() {
            return Err(ApplyError::Unsupported("a FAR that forwards without Forwarding Parameters"));
        }
    }
    Ok(())
}
