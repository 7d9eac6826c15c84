//! Deviations of a request that are tolerated.

use causeway_types::QerId;
use thiserror::Error;

use crate::edits::{Edits, HasRuleId, RequestedChanges};
use causeway_model::{RuleId, RuleMap, RuleSet};

/// A harmless deviation from TS 29.244 in a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum Leniency {
    /// The guaranteed rate exceeds the maximum rate, which applies.
    #[error("the guaranteed rate of {} exceeds its maximum rate; the maximum rate applies", RuleId::Qer(*.0))]
    GuaranteeAboveMaximum(QerId),
    /// A rule to be removed does not exist.
    #[error("{0} does not exist; its removal is ignored")]
    AlreadyRemoved(RuleId),
}

/// Drops the removals of rules that do not exist.
pub(crate) fn drop_absent_removals(changes: &mut RequestedChanges, rules: &RuleSet) -> Vec<Leniency> {
    let mut absent = Vec::new();
    drop_absent(&mut changes.pdrs, &rules.pdrs, &mut absent);
    drop_absent(&mut changes.fars, &rules.fars, &mut absent);
    drop_absent(&mut changes.qers, &rules.qers, &mut absent);
    drop_absent(&mut changes.urrs, &rules.urrs, &mut absent);
    drop_absent(&mut changes.bars, &rules.bars, &mut absent);
    absent
}

fn drop_absent<C: HasRuleId, U, R>(
    edits: &mut Edits<C::Id, C, U>,
    held: &RuleMap<C::Id, R>,
    absent: &mut Vec<Leniency>,
) {
    edits.remove.retain(|id| {
        let is_there = held.contains_key(id);
        if !is_there {
            absent.push(Leniency::AlreadyRemoved((*id).into()));
        }
        is_there
    });
}

/// The QERs whose guaranteed rate exceeds the maximum, and did not before.
pub(crate) fn guarantees(old: &RuleSet, new: &RuleSet) -> Vec<Leniency> {
    if old.qers == new.qers {
        return Vec::new();
    }
    let exceeds =
        |rules: &RuleSet, id: &QerId| rules.qers.get(id).is_some_and(|qer| qer.guarantees_too_much());
    let fresh = new.qers.keys().filter(|id| exceeds(new, id) && !exceeds(old, id));
    fresh.map(|id| Leniency::GuaranteeAboveMaximum(*id)).collect()
}
