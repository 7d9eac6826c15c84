//! Plans with a small defect.

use causeway_dataplane::Plan;
use causeway_model::Op;

/// What of a change is carried out at once, and what of its FARs is not.
pub(super) fn later(plan: &Plan) -> (Plan, Option<Plan>) {
    let is_change = plan.ops.first() != Some(&Op::CreateSession);
    let (late, at_once): (Vec<_>, Vec<_>) =
        plan.ops.iter().cloned().partition(|op| is_change && matches!(op, Op::PutFar(_)));
    // What is new is needed by others.
    if late.is_empty() || at_once.iter().any(|op| matches!(op, Op::PutPdr(_))) {
        return (plan.clone(), None);
    }
    let of = |ops: Vec<Op>| Plan { session: plan.session, ops: ops.into() };
    (of(at_once), Some(of(late)))
}
