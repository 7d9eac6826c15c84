//! What N4 says and does, as log lines. Peers cannot flood the log.

use causeway_dataplane::{Op, Plan};
use causeway_n4::{Level, Notice};
use causeway_types::{Span, Time};
use tracing::{debug, error, info, warn};

/// Warnings within [`PERIOD`], at most.
const WARNINGS: u32 = 20;

/// For how long warnings are counted together.
const PERIOD: Span = Span::from_secs(1);

/// Writes log lines; of warnings, which any peer can cause, only so many.
#[derive(Debug, Default)]
pub(super) struct Log {
    since: Time,
    warnings: u32,
}

impl Log {
    /// A notice, at its level.
    pub(super) fn notice(&mut self, now: Time, notice: &Notice) {
        match notice.level() {
            Level::Debug => debug!("{notice}"),
            Level::Info => info!("{notice}"),
            Level::Warn => self.warn(now, notice),
            Level::Error => error!("{notice}"),
        }
    }

    /// A warning, unless there were too many just now.
    pub(super) fn warn(&mut self, now: Time, what: &dyn std::fmt::Display) {
        let (left_out, may) = self.admit(now);
        if left_out > 0 {
            warn!("{left_out} more warnings were left out");
        }
        if may {
            warn!("{what}");
        }
    }

    /// How many warnings of the last period were left out, if that period is over, and whether one more may
    /// be written.
    fn admit(&mut self, now: Time) -> (u32, bool) {
        let mut left_out = 0;
        if now.since(self.since) >= PERIOD {
            left_out = self.warnings.saturating_sub(WARNINGS);
            (self.since, self.warnings) = (now, 0);
        }
        self.warnings = self.warnings.saturating_add(1);
        (left_out, self.warnings <= WARNINGS)
    }
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
        let of = |ops: Vec<Op>| what(&Plan { session: Seid(1), ops: ops.into() });
        assert_eq!(of(vec![Op::CreateSession]), "established");
        assert_eq!(of(vec![Op::RemoveSession]), "removed");
        assert_eq!(of(vec![]), "modified");
    }

    // Input:  a hundred warnings at once, one within the same second, one after it.
    // Output: the first of them are written; the last tells how many were not.
    #[test]
    fn a_flood_of_warnings_is_cut_and_counted() {
        let mut log = Log::default();
        let start = Time::from_secs(1_000);
        let written = (0..100).filter(|_| log.admit(start).1).count();
        assert_eq!(written, WARNINGS as usize);
        assert_eq!(log.admit(start + Span::from_millis(900)), (0, false));
        assert_eq!(log.admit(start + PERIOD), (101 - WARNINGS, true));
    }
}
