//! For tests of other crates.

use std::sync::Arc;

use crate::{Op, RuleSet};

/// The rules that these writes make from none. Writes that put no rule are left out.
pub fn rules_of(ops: impl IntoIterator<Item = Op>) -> RuleSet {
    let mut rules = RuleSet::default();
    for op in ops {
        match op {
            Op::SetPduType(pdu_type) => rules.pdu_type = pdu_type,
            Op::SetSlice(slice) => rules.slice = slice,
            Op::SetPaging(paging) => rules.paging = paging,
            Op::SetInactivityTimer(timer) => rules.inactivity_timer = timer,
            Op::PutBar(bar) => drop(rules.bars.insert(bar.id, Arc::unwrap_or_clone(bar))),
            Op::PutUrr(urr) => drop(rules.urrs.insert(urr.id, Arc::unwrap_or_clone(urr))),
            Op::PutQer(qer) => drop(rules.qers.insert(qer.id, Arc::unwrap_or_clone(qer))),
            Op::PutFar(far) => drop(rules.fars.insert(far.id, Arc::unwrap_or_clone(far))),
            Op::PutPdr(pdr) => drop(rules.pdrs.insert(pdr.id, Arc::unwrap_or_clone(pdr))),
            _ => {}
        }
    }
    rules
}
