//! Enhanced release of an association: all usage is reported first (TS 29.244 clause 5.18).

use causeway_pfcp::{
    AssociationUpdateFlags, AssociationUpdateRequest, CodedTimer, GracefulReleasePeriod, NodeId,
    ReleaseRequestFlags,
};
use causeway_types::Time;

use super::AssociationId;
use crate::transaction::Purpose;
use crate::{DownReason, N4};

/// The state of the release of an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ReleaseState {
    /// It is not being released.
    #[default]
    None,
    /// Its sessions are being ended and their usage is being reported.
    Reporting,
    /// The SMF was notified that all usage is reported; if it does not release the association by then, it ends without
    /// it.
    Announced(Time),
    /// The operator requested the release; if the SMF does not release the association by then, it ends without it.
    Requested(Time),
}

impl ReleaseState {
    /// When the association ends without its SMF, and the reason.
    pub(crate) const fn deadline(self) -> Option<(Time, DownReason)> {
        match self {
            Self::None | Self::Reporting => None,
            Self::Announced(at) => Some((at, DownReason::GracefulRelease)),
            Self::Requested(at) => Some((at, DownReason::Operator)),
        }
    }
}

impl N4 {
    /// Ends every session of an association with reports, then announces that all usage is reported (clause 5.18.1). No
    /// effect if it has already begun.
    pub(crate) fn begin_graceful_release(&mut self, now: Time, id: AssociationId) {
        let is_new = |release| matches!(release, ReleaseState::None | ReleaseState::Requested(_));
        let Some(association) = self.associations.get_mut(id).filter(|it| is_new(it.release)) else {
            return;
        };
        association.release = ReleaseState::Reporting;
        self.release_sessions(now, id);
        self.check_graceful_release(now, id);
    }

    /// Announces that all usage is reported, if that is so.
    pub(crate) fn check_graceful_release(&mut self, now: Time, id: AssociationId) {
        let deadline = now + self.config.release_period;
        let Some(association) = self.associations.get_mut(id) else { return };
        if association.release != ReleaseState::Reporting || association.sessions > 0 {
            return;
        }
        association.release = ReleaseState::Announced(deadline);
        let peer = association.peer;
        let node = self.config.node.clone();
        let request = AssociationUpdateRequest {
            association_release_request: Some(ReleaseRequestFlags::URSS),
            ..AssociationUpdateRequest::new(NodeId::from(&node))
        };
        self.transactions.request(now, peer, &request.into(), Purpose::GracefulRelease(id), &mut self.out);
    }

    /// Announces the release of an association whose SMF supports the enhanced release.
    pub(crate) fn announce_graceful_release(&mut self, now: Time, id: AssociationId) {
        let Some(peer) = self.associations.get(id).map(|association| association.peer) else { return };
        let node = self.config.node.clone();
        let period = CodedTimer::at_least(self.config.release_period);
        let request = AssociationUpdateRequest {
            graceful_release_period: Some(GracefulReleasePeriod(period)),
            flags: Some(AssociationUpdateFlags::PARPS),
            ..AssociationUpdateRequest::new(NodeId::from(&node))
        };
        self.transactions.request(now, peer, &request.into(), Purpose::Announcement(id), &mut self.out);
    }

    /// Ends the associations that the SMF did not release in time.
    pub(crate) fn expire_graceful_releases(&mut self, now: Time) {
        let deadlines = self.associations.iter().filter_map(|it| Some((it.id, it.release.deadline()?)));
        let over = deadlines.filter(|(_, (deadline, _))| *deadline <= now);
        for (id, (_, reason)) in over.collect::<Vec<_>>() {
            self.end_association(now, id, reason);
        }
    }

    /// Ends the association of a node immediately and removes its sessions, without reports. Returns the number of
    /// sessions; `None`: the node has no association.
    pub fn end(&mut self, now: Time, node: &causeway_types::NodeId) -> Option<usize> {
        let id = self.associations.of_node(node)?;
        let sessions = self.associations.get(id)?.sessions;
        self.end_association(now, id, DownReason::Operator);
        Some(sessions)
    }

    /// Requests the SMF of a node to release its association (TS 29.244 clause 6.2.7.3), which accepts no new sessions
    /// from now on. If the SMF does not release it within [`crate::Config::release_period`], the association ends
    /// without it. `false`: the node has no association.
    pub fn release(&mut self, now: Time, node: &causeway_types::NodeId) -> bool {
        let Some(id) = self.associations.of_node(node) else { return false };
        let deadline = now + self.config.release_period;
        let Some(association) = self.associations.get_mut(id) else { return false };
        if !association.is_leaving() {
            association.release = ReleaseState::Requested(deadline);
            self.request_release(now, id);
        }
        true
    }
}
