//! Purges of the sessions of associations, in all parts.

use std::sync::Arc;

use causeway_types::Time;

use super::N4;
use crate::Notice;
use crate::association::AssociationId;
use crate::session::{PendingRequests, PurgeCount, PurgeFilter, PurgeTally};

/// Removed sessions, and the parts whose purge goes on.
#[derive(Debug, Default)]
pub(super) struct Purged {
    sessions: usize,
    later: Vec<usize>,
}

impl Purged {
    /// No session was removed.
    pub(super) fn none() -> Self {
        Self::default()
    }
}

impl N4 {
    /// Removes sessions of these associations: for SMFs they no longer exist. A few are removed immediately, many in
    /// batches; the notice with their number follows at the end.
    pub(super) fn purge_sessions(
        &mut self,
        now: Time,
        associations: &[AssociationId],
        unwanted: &PurgeFilter,
        open: PendingRequests,
    ) -> Purged {
        let mut purged = Purged::none();
        for part in 0..self.part_count() {
            match self.turn(part).purge_sessions(now, associations, unwanted, open) {
                PurgeCount::Counted(sessions) => purged.sessions += sessions,
                PurgeCount::Later => purged.later.push(part),
            }
        }
        self.order_outputs();
        purged
    }

    /// Emits the notice with the number of removed sessions, when that is known.
    pub(super) fn notify_purged(&mut self, purged: Purged, notice: Notice) {
        let Purged { sessions, later } = purged;
        if later.is_empty() {
            return self.first.out.notice(notice.with_purged(sessions));
        }
        let tally = Arc::new(PurgeTally::new(notice, later.len(), sessions));
        for part in later {
            if let Some(purge) = self.turn(part).part.sessions.last_purge() {
                purge.tally = Some(Arc::clone(&tally));
            }
        }
    }
}
