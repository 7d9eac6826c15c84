//! What of a request is not as it should be, and carried out all the same.

use causeway_types::QerId;
use thiserror::Error;

use crate::edits::{Edits, HasRuleId, RequestedChanges};
use crate::{RuleId, RuleMap, RuleSet};

/// Something that an SMF sends in good faith and that does no harm.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum Leniency {
    /// The maximum rate is what holds.
    #[error("{} guarantees more than its maximum rate; the maximum rate holds", RuleId::Qer(*.0))]
    GuaranteeAboveMaximum(QerId),
    /// What was asked for is so already.
    #[error("{0} is to be removed and does not exist")]
    AlreadyRemoved(RuleId),
}

/// Takes the removals out of the changes that have nothing to remove.
pub(crate) fn drop_absent_removals(changes: &mut RequestedChanges, rules: &RuleSet) -> Vec<Leniency> {
    let mut absent = Vec::new();
    forget(&mut changes.pdrs, &rules.pdrs, &mut absent);
    forget(&mut changes.fars, &rules.fars, &mut absent);
    forget(&mut changes.qers, &rules.qers, &mut absent);
    forget(&mut changes.urrs, &rules.urrs, &mut absent);
    forget(&mut changes.bars, &rules.bars, &mut absent);
    absent
}

fn forget<C: HasRuleId, U, R>(
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

/// The QERs that guarantee more than they allow, and did not before.
pub(crate) fn guarantees(old: &RuleSet, new: &RuleSet) -> Vec<Leniency> {
    if old.qers == new.qers {
        return Vec::new();
    }
    let exceeds =
        |rules: &RuleSet, id: &QerId| rules.qers.get(id).is_some_and(|qer| qer.guarantees_too_much());
    let fresh = new.qers.keys().filter(|id| exceeds(new, id) && !exceeds(old, id));
    fresh.map(|id| Leniency::GuaranteeAboveMaximum(*id)).collect()
}
