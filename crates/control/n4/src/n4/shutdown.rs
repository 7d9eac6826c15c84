//! Graceful shutdown: SMFs are requested to release their associations first. Draining: no new sessions.

use causeway_pfcp::Cause;
use causeway_types::Time;

use super::N4;
use crate::association::AssociationId;
use crate::{DownReason, Notice};

/// The phase of the shutdown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// No shutdown.
    Running,
    /// SMFs may release their associations until then.
    Releasing(Time),
    /// The deadline has passed; the data plane removes the remaining sessions.
    Removing,
    /// The shutdown is complete.
    Finished,
}

impl Phase {
    pub(crate) fn deadline(self) -> Option<Time> {
        if let Self::Releasing(deadline) = self { Some(deadline) } else { None }
    }
}

impl N4 {
    /// Shuts down gracefully: requests each SMF to release its association (TS 29.244 clause 6.2.7.2), waits for
    /// [`crate::Config::release_period`], and removes the remaining sessions. New associations and sessions are
    /// rejected. The shutdown lasts until [`N4::is_finished`].
    pub fn shutdown(&mut self, now: Time) {
        if self.phase != Phase::Running {
            return;
        }
        self.phase = Phase::Releasing(now + self.node.config.release_period);
        self.node.is_stopping = true;
        self.node.associations.forget_targets(&mut self.first.transactions);
        for id in self.node.associations.ids() {
            self.node.associations.request_release(
                now,
                id,
                &mut self.first.transactions,
                &mut self.first.out,
            );
        }
        self.check_shutdown(now);
    }

    /// Begins or ends draining. While it lasts, new sessions are rejected with cause 75 (No resources available), and the
    /// load sent to SMFs is 100 % (TS 29.244 clause 6.2.3). Associations and existing sessions stay.
    pub const fn set_draining(&mut self, is_draining: bool) {
        self.node.is_draining = is_draining;
    }

    /// Whether new sessions are rejected because the UPF is being drained.
    pub const fn is_draining(&self) -> bool {
        self.node.is_draining
    }

    /// The shutdown is complete: no association, no session, nothing to send.
    pub fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.node.is_stopping
    }

    /// The response of the peer: it will, or will not, release the association.
    pub(crate) fn release_answered(&mut self, now: Time, id: AssociationId, cause: Cause) {
        if !cause.is_accepted() {
            self.release_unanswered(now, id);
        }
    }

    /// The response to the announcement of the release: the sessions end. A peer that rejects it does not know the
    /// enhanced release; its association ends without it.
    pub(crate) fn announcement_answered(&mut self, now: Time, id: AssociationId, cause: Cause) {
        match cause.is_accepted() {
            true => self.begin_graceful_release(now, id),
            false => self.release_unanswered(now, id),
        }
    }

    /// Enters the next phase if it is due.
    pub(crate) fn check_shutdown(&mut self, now: Time) {
        if self.phase.deadline().is_some_and(|deadline| deadline <= now) {
            self.phase = Phase::Removing;
            for id in self.node.associations.ids() {
                self.end_association(now, id, DownReason::Shutdown);
            }
        }
        let is_empty = self.node.associations.len() == 0 && self.session_count() == 0;
        if self.is_stopping() && !self.is_finished() && is_empty {
            self.phase = Phase::Finished;
            self.first.out.notice(Notice::Finished);
        }
    }
}
