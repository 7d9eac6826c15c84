//! What N4 says and does, as log lines.

use causeway_dataplane::{Op, Plan};
use causeway_n4::{Level, Notice};
use tracing::{debug, error, info, warn};

/// A notice, at its level.
pub(super) fn notice(notice: &Notice) {
    match notice.level() {
        Level::Debug => debug!("{notice}"),
        Level::Info => info!("{notice}"),
        Level::Warn => warn!("{notice}"),
        Level::Error => error!("{notice}"),
    }
}

/// The notice says that the shutdown is complete.
pub(super) fn is_end(notice: &Notice) -> bool {
    matches!(notice, Notice::Finished)
}

/// A change of a session, on its way to the data plane.
pub(super) fn plan(plan: &Plan) {
    debug!("session {}: {}, {} writes", plan.session, what(plan), plan.ops.len());
}

fn what(plan: &Plan) -> &'static str {
    match (plan.ops.first(), plan.ops.last()) {
        (Some(Op::CreateSession), _) => "established",
        (_, Some(Op::RemoveSession)) => "removed",
        _ => "modified",
    }
}

#[cfg(test)]
mod tests {
    use causeway_types::Seid;

    use super::*;

    #[test]
    fn a_plan_is_named_by_what_it_does_to_its_session() {
        let of = |ops: Vec<Op>| what(&Plan { session: Seid(1), ops });
        assert_eq!(of(vec![Op::CreateSession]), "established");
        assert_eq!(of(vec![Op::RemoveSession]), "removed");
        assert_eq!(of(vec![]), "modified");
    }
}
