//! Checks changes against the existing rules: no duplicates, no new rule that exists, no change of one that does
//! not.

use causeway_collections::SortedSet;

use crate::{Reason, Rejection, ie};
use causeway_model::{RuleMap, RuleSet};

use super::{Edits, HasRuleId, RequestedChanges};

/// # Errors
/// [`Reason::DuplicateRule`], [`Reason::RuleExists`] or [`Reason::RuleUnknown`], with the rule.
pub(super) fn check(changes: &RequestedChanges, rules: &RuleSet) -> Result<(), Rejection> {
    check_kind(&changes.pdrs, &rules.pdrs)?;
    check_kind(&changes.fars, &rules.fars)?;
    check_kind(&changes.qers, &rules.qers)?;
    check_kind(&changes.urrs, &rules.urrs)?;
    check_kind(&changes.bars, &rules.bars)?;
    for qer in &changes.query_packet_rates {
        let current = rules.qers.get(qer).ok_or_else(|| Reason::RuleUnknown.of(*qer))?;
        if current.packet_rate.is_none() {
            let reason = "the QER limits no packet rate";
            return Err(Reason::Incorrect { ie: ie::QUERY_PACKET_RATE_STATUS, why: reason }.of(*qer));
        }
    }
    match changes.query.iter().find(|urr| !rules.urrs.contains_key(urr)) {
        Some(urr) => Err(Reason::RuleUnknown.of(*urr)),
        None => Ok(()),
    }
}

fn check_kind<C: HasRuleId, U: HasRuleId<Id = C::Id>, R>(
    edits: &Edits<C::Id, C, U>,
    current: &RuleMap<C::Id, R>,
) -> Result<(), Rejection> {
    let mut seen = SortedSet::new();
    let mut once = |id: C::Id| if seen.insert(id) { Ok(()) } else { Err(Reason::DuplicateRule.of(id)) };
    let known = |id: C::Id| if current.contains_key(&id) { Ok(()) } else { Err(Reason::RuleUnknown.of(id)) };
    for id in edits.remove.iter().copied().chain(edits.update.iter().map(HasRuleId::id)) {
        once(id)?;
        known(id)?;
    }
    for id in edits.create.iter().map(HasRuleId::id) {
        once(id)?;
        if current.contains_key(&id) {
            return Err(Reason::RuleExists.of(id));
        }
    }
    Ok(())
}
