//! Enhanced release of an association: all usage is reported first (TS 29.244 clause 5.18).

use causeway_pfcp::{
    AssociationUpdateFlags, AssociationUpdateRequest, CodedTimer, CpFeatures, GracefulReleasePeriod, NodeId,
    ReleaseRequestFlags,
};
use causeway_types::Time;

use super::{AssociationId, Associations};
use crate::DownReason;
use crate::output::Outputs;
use crate::transaction::{Purpose, Transactions};

/// The state of the release of an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ReleaseState {
    /// It is not being released.
    #[default]
    None,
    /// Its sessions are being ended and their usage is being reported; until then, if the operator requested the release.
    Reporting(Option<Time>),
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
            Self::None | Self::Reporting(None) => None,
            Self::Announced(at) => Some((at, DownReason::GracefulRelease)),
            Self::Requested(at) | Self::Reporting(Some(at)) => Some((at, DownReason::Operator)),
        }
    }
}

impl Associations {
    /// Begins the enhanced release of an association: its sessions are to end with reports. False: it has begun already.
    pub(crate) fn begin_graceful_release(&mut self, id: AssociationId) -> bool {
        let Some(association) = self.get_mut(id) else { return false };
        let deadline = match association.release {
            ReleaseState::None => None,
            ReleaseState::Requested(deadline) => Some(deadline),
            ReleaseState::Reporting(_) | ReleaseState::Announced(_) => return false,
        };
        association.release = ReleaseState::Reporting(deadline);
        true
    }

    /// Announces that all usage is reported, if that is so.
    pub(crate) fn check_graceful_release(
        &mut self,
        now: Time,
        id: AssociationId,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        let deadline = now + self.config.release_period;
        let Some(association) = self.get_mut(id) else { return };
        let ReleaseState::Reporting(until) = association.release else { return };
        if association.sessions() > 0 {
            return;
        }
        association.release = ReleaseState::Announced(until.map_or(deadline, |until| until.min(deadline)));
        let peer = association.peer;
        let request = AssociationUpdateRequest {
            association_release_request: Some(ReleaseRequestFlags::URSS),
            ..AssociationUpdateRequest::new(NodeId::from(&self.config.node))
        };
        transactions.request(now, peer, &request.into(), Purpose::GracefulRelease(id), out);
    }

    /// The release of an association waits for the end of its sessions.
    pub(crate) fn awaits_end_of_sessions(&self, id: AssociationId) -> bool {
        self.get(id).is_some_and(|it| matches!(it.release, ReleaseState::Reporting(_)))
    }

    /// The association ends: nothing is announced about its release any more.
    pub(crate) fn end_release(&mut self, id: AssociationId) {
        if let Some(association) = self.get_mut(id) {
            association.release = ReleaseState::None;
        }
    }

    /// Announces the release of an association whose SMF supports the enhanced release.
    fn announce_graceful_release(
        &self,
        now: Time,
        id: AssociationId,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        let Some(peer) = self.get(id).map(|association| association.peer) else { return };
        let period = CodedTimer::at_least(self.config.release_period);
        let request = AssociationUpdateRequest {
            graceful_release_period: Some(GracefulReleasePeriod(period)),
            flags: Some(AssociationUpdateFlags::PARPS),
            ..AssociationUpdateRequest::new(NodeId::from(&self.config.node))
        };
        transactions.request(now, peer, &request.into(), Purpose::Announcement(id), out);
    }

    /// The associations that the SMF did not release in time, and the reason of their end.
    pub(crate) fn overdue_releases(&self, now: Time) -> Vec<(AssociationId, DownReason)> {
        let deadlines = self.iter().filter_map(|it| Some((it.id, it.release.deadline()?)));
        let over = deadlines.filter(|(_, (deadline, _))| *deadline <= now);
        over.map(|(id, (_, reason))| (id, reason)).collect()
    }

    /// Requests the SMF to release its association (TS 29.244 clause 6.2.7.2).
    pub(crate) fn request_release(
        &self,
        now: Time,
        id: AssociationId,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        let Some(association) = self.get(id) else { return };
        if association.cp_features.contains(CpFeatures::EPFAR) {
            return self.announce_graceful_release(now, id, transactions, out);
        }
        let peer = association.peer;
        let period = CodedTimer::at_least(self.config.release_period);
        let request = AssociationUpdateRequest {
            association_release_request: Some(ReleaseRequestFlags::SARR),
            graceful_release_period: Some(GracefulReleasePeriod(period)),
            ..AssociationUpdateRequest::new(NodeId::from(&self.config.node))
        };
        transactions.request(now, peer, &request.into(), Purpose::Release(id), out);
    }

    /// The operator requests the release of an association, which ends in time, also if it has begun already. Returns
    /// whether it has not.
    pub(crate) fn begin_operator_release(&mut self, now: Time, id: AssociationId) -> bool {
        let deadline = now + self.config.release_period;
        let Some(association) = self.get_mut(id) else { return false };
        let is_new = !association.is_leaving();
        association.release = match association.release {
            ReleaseState::None => ReleaseState::Requested(deadline),
            ReleaseState::Reporting(None) => ReleaseState::Reporting(Some(deadline)),
            begun => begun,
        };
        is_new
    }

    /// Why an association ends whose SMF does not release it as requested.
    pub(crate) fn release_reason(&self, id: AssociationId) -> DownReason {
        let by_operator = self.get(id).is_some_and(|it| matches!(it.release, ReleaseState::Requested(_)));
        if by_operator { DownReason::Operator } else { DownReason::Shutdown }
    }
}
