//! Plans with a small defect.

use causeway_dataplane::Plan;
use causeway_model::Op;

/// What of a change is carried out at once, and what of its FARs is not.
pub(super) fn later(plan: &Plan) -> (Plan, Option<Plan>) {
    if plan.change.is_installation() || plan.change.is_removal() {
        return (plan.clone(), None);
    }
    let (late, at_once): (Vec<_>, Vec<_>) =
        plan.ops().iter().cloned().partition(|op| matches!(op, Op::PutFar(_)));
    // What is new is needed by others.
    if late.is_empty() || at_once.iter().any(|op| matches!(op, Op::PutPdr(_))) {
        return (plan.clone(), None);
    }
    let of = |ops: Vec<Op>| Plan::update(plan.session, ops);
    (of(at_once), Some(of(late)))
}
