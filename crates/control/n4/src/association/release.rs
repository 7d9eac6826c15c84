//! Update and release of an association (TS 29.244 clauses 6.2.7 and 6.2.8).

use causeway_pfcp::{
    AssociationReleaseRequest, AssociationReleaseResponse, AssociationUpdateFlags, AssociationUpdateRequest,
    AssociationUpdateResponse, Cause, NodeId,
};
use causeway_types::{Seid, Time};

use super::contact::set_name;
use super::table::Contact;
use super::{AssociationId, RecoveryClaim};
use crate::session::{PendingRequests, PurgeFilter, Session};
use crate::transaction::RequestKey;
use crate::transaction::RequestRefusal;
use crate::{DownReason, N4, Notice};

impl N4 {
    /// Applies the update of a peer, and begins the enhanced release of the association if it is requested (clause
    /// 6.2.7.2.2).
    pub(crate) fn association_update(
        &mut self,
        now: Time,
        key: RequestKey,
        request: &AssociationUpdateRequest<'_>,
    ) {
        let Some(id) = self.association_named(now, key, &request.node_id) else { return };
        self.update(id, request);
        let node = self.config.node.clone();
        let cause = Cause::RequestAccepted;
        let response = AssociationUpdateResponse {
            up_function_features: Some(self.up_features()),
            ..AssociationUpdateResponse::new(NodeId::from(&node), cause)
        };
        self.answer(now, key, Seid(0), Some(cause), &response.into());
        if request.flags.is_some_and(|flags| flags.contains(AssociationUpdateFlags::PARPS)) {
            self.begin_graceful_release(now, id);
        }
    }

    fn update(&mut self, id: AssociationId, request: &AssociationUpdateRequest<'_>) {
        let Some(association) = self.associations.get_mut(id) else { return };
        association.update(request);
        // As in a setup, unauthorized information is removed.
        let mut claimed = association.contact();
        if let Some(set) = &request.smf_set_id {
            claimed.smf_set = Some(set_name(set));
        }
        let node = association.node.clone();
        let Contact { addresses, alternatives, smf_set, .. } = self.authorized_contact(&node, claimed);
        if let Some(association) = self.associations.get_mut(id) {
            (association.addresses, association.alternatives) = (addresses, alternatives);
            association.smf_set = smf_set;
        }
    }

    /// Ends an association and removes its sessions, without reports (clause 6.2.8.2).
    pub(crate) fn association_release(
        &mut self,
        now: Time,
        key: RequestKey,
        request: &AssociationReleaseRequest<'_>,
    ) {
        let Some(id) = self.association_named(now, key, &request.node_id) else { return };
        let node = self.config.node.clone();
        let cause = Cause::RequestAccepted;
        let response = AssociationReleaseResponse::new(NodeId::from(&node), cause);
        self.end_association(now, id, DownReason::Released);
        self.answer(now, key, Seid(0), Some(cause), &response.into());
    }

    /// Ends an association: nothing more is sent to the peer, and its sessions are removed.
    pub(crate) fn end_association(&mut self, now: Time, id: AssociationId, reason: DownReason) {
        self.forget_answers(id);
        let purged = self.purge_sessions(now, vec![id], PurgeFilter::All, PendingRequests::Forget);
        self.transactions.cancel_of(id, |_| true);
        self.targets.lost(id, now + self.config.associate_retry);
        self.reports.forget_association(id);
        if let Some(association) = self.associations.remove(id) {
            if let Some(key) = association.claim.as_ref().and_then(RecoveryClaim::held) {
                self.transactions.forget(&key);
            }
            self.transactions.forget_epochs(&association.addresses);
            self.notify_purged(purged, Notice::AssociationDown { node: association.node, reason, purged: 0 });
        }
        self.check_shutdown(now);
    }

    /// A new restart epoch of a peer begins: cached responses of the last epoch are void, even if a request of the new
    /// epoch has the same octets.
    pub(crate) fn forget_answers(&mut self, id: AssociationId) {
        self.reports.forget_paths(id, &mut self.transactions);
        for ip in self.associations.get(id).into_iter().flat_map(|association| &association.addresses) {
            self.transactions.forget_answers(*ip);
        }
    }

    /// The sessions of an association in the order of their SEIDs, without those marked for removal.
    pub(crate) fn sessions_of(&self, id: AssociationId) -> Vec<Seid> {
        let goes_on = |session: &&Session| !session.marked_for_removal && !self.sessions.is_in_purge(session);
        let of_it = self.sessions.of_association(id).filter(goes_on);
        let mut sessions: Vec<_> = of_it.map(|session| session.seid).collect();
        sessions.sort_unstable();
        sessions
    }

    /// The association of the Node ID in a request, if its sender is authorized for that node; otherwise the request is
    /// rejected.
    pub(super) fn association_named(
        &mut self,
        now: Time,
        key: RequestKey,
        node: &NodeId<'_>,
    ) -> Option<AssociationId> {
        let node = node.to_owned();
        // Some SMFs send an unspecified address, which means the only association of their host.
        let is_nobody = matches!(&node, causeway_types::NodeId::Ip(ip) if ip.to_canonical().is_unspecified());
        let named = self.associations.of_node(&node);
        let id = named.or_else(|| self.associations.identify(key.from).filter(|_| is_nobody));
        let association = id.and_then(|id| self.associations.get(id));
        if association.is_some_and(|association| association.uses_address(key.from.ip())) {
            return id;
        }
        let refusal = RequestRefusal::new(
            Cause::NoEstablishedAssociation,
            "the Node ID has no association from this host",
        );
        self.transactions.refuse_node(now, key, refusal, &mut self.out);
        None
    }
}
