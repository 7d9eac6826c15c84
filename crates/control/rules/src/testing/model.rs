//! A data plane that only stores rules, and checks after each write that every reference resolves.

use std::sync::Arc;

use causeway_model::{Op, Plan, RuleId, RuleMap, RuleSet};

/// Applies a plan to `rules`; returns the first error in it.
pub(crate) fn apply(rules: &mut RuleSet, plan: &Plan) -> Result<(), String> {
    if plan.change.is_installation() && *rules != RuleSet::default() {
        return Err("the session is installed twice".into());
    }
    if plan.change.is_removal() {
        *rules = RuleSet::default();
    }
    for (index, op) in plan.ops().iter().enumerate() {
        let allowed = match op {
            Op::SetPduType(_) => index == 0 && plan.change.is_installation(),
            Op::QueryUrr(id) => rules.urrs.contains_key(id),
            Op::RenewUrr { urr, parts } => rules.urrs.contains_key(urr) && !parts.is_empty(),
            Op::QueryPacketRate(id) => rules.qers.get(id).is_some_and(|qer| qer.packet_rate.is_some()),
            Op::SendEndMarker { far, .. } | Op::NotifyAgain(far) => rules.fars.contains_key(far),
            Op::ExtendBuffering(extended) => rules.bars.contains_key(&extended.bar),
            Op::DropBuffered => index == 0,
            _ => true,
        };
        if !allowed {
            return Err(format!("{op:?} at {index}"));
        }
        write(rules, op)?;
        check_references(rules).map_err(|error| format!("after {op:?}: {error}"))?;
    }
    Ok(())
}

fn write(rules: &mut RuleSet, op: &Op) -> Result<(), String> {
    match op {
        Op::SendEndMarker { .. }
        | Op::QueryUrr(_)
        | Op::RenewUrr { .. }
        | Op::QueryPacketRate(_)
        | Op::NotifyAgain(_)
        | Op::ExtendBuffering(_)
        | Op::TakeMacs(_)
        | Op::DropBuffered => {}
        Op::SetSlice(slice) => rules.slice = *slice,
        Op::SetPaging(policies) => rules.paging.clone_from(policies),
        Op::SetInactivityTimer(timer) => rules.inactivity_timer = *timer,
        Op::SetPduType(pdu_type) => rules.pdu_type = *pdu_type,
        Op::PutBar(bar) => put(&mut rules.bars, bar.id, bar)?,
        Op::PutUrr(urr) => put(&mut rules.urrs, urr.id, urr)?,
        Op::PutQer(qer) => put(&mut rules.qers, qer.id, qer)?,
        Op::PutFar(far) => put(&mut rules.fars, far.id, far)?,
        Op::PutPdr(pdr) => put(&mut rules.pdrs, pdr.id, pdr)?,
        Op::RemovePdr(id) => remove(&mut rules.pdrs, *id)?,
        Op::RemoveFar(id) => remove(&mut rules.fars, *id)?,
        Op::RemoveQer(id) => remove(&mut rules.qers, *id)?,
        Op::RemoveUrr(id) => remove(&mut rules.urrs, *id)?,
        Op::RemoveBar(id) => remove(&mut rules.bars, *id)?,
    }
    Ok(())
}

/// A write that changes nothing is superfluous.
fn put<I: Ord + Into<RuleId>, R: Eq>(map: &mut RuleMap<I, R>, id: I, rule: &Arc<R>) -> Result<(), String> {
    if map.get_shared(&id) == Some(rule) {
        return Err(format!("{} is written without a change", id.into()));
    }
    map.insert(id, Arc::clone(rule));
    Ok(())
}

fn remove<I: Ord + Copy + Into<RuleId>, R>(map: &mut RuleMap<I, R>, id: I) -> Result<(), String> {
    map.remove(&id).map(drop).ok_or_else(|| format!("{} is removed and was not there", id.into()))
}

fn check_references(rules: &RuleSet) -> Result<(), String> {
    let missing = |user: RuleId, rule: RuleId| Err(format!("{user} refers to {rule}"));
    for pdr in rules.pdrs.values() {
        if !rules.fars.contains_key(&pdr.far) {
            return missing(pdr.id.into(), pdr.far.into());
        }
        if let Some(qer) = pdr.qers.iter().find(|id| !rules.qers.contains_key(id)) {
            return missing(pdr.id.into(), (*qer).into());
        }
        if let Some(urr) = pdr.urrs.iter().find(|id| !rules.urrs.contains_key(id)) {
            return missing(pdr.id.into(), (*urr).into());
        }
    }
    for far in rules.fars.values() {
        if let Some(bar) = far.bar.filter(|id| !rules.bars.contains_key(id)) {
            return missing(far.id.into(), bar.into());
        }
    }
    for urr in rules.urrs.values() {
        if let Some(far) = urr.quota_far.filter(|id| !rules.fars.contains_key(id)) {
            return missing(urr.id.into(), far.into());
        }
    }
    Ok(())
}
