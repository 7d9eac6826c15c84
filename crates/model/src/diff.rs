//! Computes the writes between two rule sets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use causeway_types::{FTeid, FarId, QerId, Seid, UrrId};

use crate::{ExtendedBuffering, Op, PduSessionType, Plan, RuleMap, RuleSet, UeMac, UrrPart};

/// The requests of a modification beside the rules themselves.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlanOptions {
    /// URRs of the old rules to report before any change. One that is removed is not reported twice.
    pub queries: BTreeSet<UrrId>,
    /// The parts of URRs that are provisioned again and so start over, even if they are equal (TS 29.244 clause
    /// 5.2.2.3.1).
    pub renewed: BTreeMap<UrrId, BTreeSet<UrrPart>>,
    /// QERs of the old rules whose packet rate status is to be reported before any change.
    pub packet_rates: BTreeSet<QerId>,
    /// The old tunnels of FARs that are to be sent an End Marker.
    pub end_markers: Vec<(FarId, FTeid)>,
    /// Drop buffered packets before any other write (DROBU).
    pub drop_buffered: bool,
    /// FARs whose action is provisioned again, even if it is equal.
    pub reissued: BTreeSet<FarId>,
    /// Extended buffering of BARs.
    pub extended: Vec<ExtendedBuffering>,
    /// MAC addresses of the session's old anchor.
    pub macs: Vec<UeMac>,
    /// The inactivity timer is provisioned again, even if it is equal.
    pub inactivity_timer: bool,
}

/// The writes of a new session with these rules. O(rules).
pub(crate) fn installation(new: &RuleSet) -> Vec<Op> {
    let rules = new.bars.len() + new.urrs.len() + new.qers.len() + new.fars.len() + new.pdrs.len();
    let mut ops = Vec::with_capacity(1 + rules);
    if new.pdu_type != PduSessionType::default() {
        ops.push(Op::SetPduType(new.pdu_type));
    }
    put_changed(&RuleSet::default(), new, &PlanOptions::default(), &mut ops);
    ops
}

/// Plans the change from `old` to `new`: only differences are written.
///
/// The plan is O(changed rules); finding them is O(rules of the session).
pub fn plan_modification(session: Seid, old: &RuleSet, new: &RuleSet, extras: &PlanOptions) -> Plan {
    let kept = |urr: &&UrrId| new.urrs.contains_key(urr);
    let mut ops: Vec<_> = extras.drop_buffered.then_some(Op::DropBuffered).into_iter().collect();
    ops.extend(extras.queries.iter().filter(kept).copied().map(Op::QueryUrr));
    ops.extend(extras.packet_rates.iter().copied().map(Op::QueryPacketRate));
    put_changed(old, new, extras, &mut ops);
    remove_gone(old, new, &mut ops);
    if !extras.macs.is_empty() {
        ops.push(Op::TakeMacs(extras.macs.clone()));
    }
    Plan::update(session, ops)
}

fn put_changed(old: &RuleSet, new: &RuleSet, extras: &PlanOptions, ops: &mut Vec<Op>) {
    if old.slice != new.slice {
        ops.push(Op::SetSlice(new.slice));
    }
    if old.paging != new.paging {
        ops.push(Op::SetPaging(new.paging.clone()));
    }
    ops.extend(changed(&old.bars, &new.bars).cloned().map(Op::PutBar));
    ops.extend(changed(&old.qers, &new.qers).cloned().map(Op::PutQer));
    for far in changed(&old.fars, &new.fars) {
        ops.push(Op::PutFar(Arc::clone(far)));
        let tunnels = extras.end_markers.iter().filter(|(id, _)| *id == far.id).map(|(_, tunnel)| *tunnel);
        ops.extend(tunnels.map(|tunnel| Op::SendEndMarker { far: far.id, tunnel }));
    }
    put_urrs(old, new, extras, ops);
    ops.extend(changed(&old.pdrs, &new.pdrs).cloned().map(Op::PutPdr));
    ops.extend(notified_again(old, new, extras));
    ops.extend(extras.extended.iter().copied().map(Op::ExtendBuffering));
    if extras.inactivity_timer || old.inactivity_timer != new.inactivity_timer {
        ops.push(Op::SetInactivityTimer(new.inactivity_timer));
    }
}

/// FARs whose Apply Action is provisioned again without a change, and is to buffer.
fn notified_again<'a>(
    old: &'a RuleSet,
    new: &'a RuleSet,
    extras: &'a PlanOptions,
) -> impl Iterator<Item = Op> + 'a {
    let buffering = extras.reissued.iter().filter_map(|id| new.fars.get(id)).filter(|far| far.buffers());
    let same = buffering.filter(|far| old.fars.get(&far.id).is_some_and(|held| held.acts_like(far)));
    same.map(|far| Op::NotifyAgain(far.id))
}

/// After the FARs, which they may refer to.
fn put_urrs(old: &RuleSet, new: &RuleSet, extras: &PlanOptions, ops: &mut Vec<Op>) {
    ops.extend(changed(&old.urrs, &new.urrs).cloned().map(Op::PutUrr));
    let kept = |urr: &UrrId| old.urrs.contains_key(urr) && new.urrs.contains_key(urr);
    for (urr, parts) in extras.renewed.iter().filter(|(urr, parts)| kept(urr) && !parts.is_empty()) {
        ops.push(Op::RenewUrr { urr: *urr, parts: parts.clone() });
    }
}

fn remove_gone(old: &RuleSet, new: &RuleSet, ops: &mut Vec<Op>) {
    ops.extend(gone(&old.pdrs, &new.pdrs).map(Op::RemovePdr));
    ops.extend(gone(&old.urrs, &new.urrs).map(Op::RemoveUrr));
    ops.extend(gone(&old.fars, &new.fars).map(Op::RemoveFar));
    ops.extend(gone(&old.qers, &new.qers).map(Op::RemoveQer));
    ops.extend(gone(&old.bars, &new.bars).map(Op::RemoveBar));
}

fn changed<'a, I: Ord, R: Eq>(
    old: &'a RuleMap<I, R>,
    new: &'a RuleMap<I, R>,
) -> impl Iterator<Item = &'a Arc<R>> + 'a {
    let is_new = |(id, rule): &(&I, &Arc<R>)| old.get_shared(id) != Some(*rule);
    new.keys().zip(new.shared()).filter(is_new).map(|(_, rule)| rule)
}

fn gone<'a, I: Ord + Copy, R>(
    old: &'a RuleMap<I, R>,
    new: &'a RuleMap<I, R>,
) -> impl Iterator<Item = I> + 'a {
    old.keys().filter(|id| !new.contains_key(id)).copied()
}
