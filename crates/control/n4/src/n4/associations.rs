//! Association messages and heartbeats, with their effects on sessions and reports.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use causeway_pfcp::{
    AssociationReleaseRequest, AssociationReleaseResponse, AssociationSetupRequest, AssociationSetupResponse,
    AssociationUpdateFlags, AssociationUpdateRequest, AssociationUpdateResponse, Cause, HeartbeatResponse,
    NodeId,
};
use causeway_types::{NtpSeconds, Time};

use super::N4;
use super::purges::Purged;
use crate::association::{AssociationId, Associations, Confirmed, Contact, PendingSetup, retained};
use crate::session::{PendingRequests, PurgeFilter, Session};

use crate::transaction::{RequestKey, RequestRefusal};
use crate::{DownReason, Notice, PathFailure, RefusalReason, SetupFailure};

/// Setup.
impl N4 {
    /// Initiates an association with this peer, now and whenever it is lost. No effect if that is already so, or while
    /// shutting down.
    pub fn associate(&mut self, now: Time, peer: SocketAddr) {
        if !self.is_stopping() {
            self.node.associations.associate(now, peer, &mut self.first.transactions, &mut self.first.out);
        }
    }

    /// Sets up an association, or renews the existing one of the node.
    ///
    /// Sessions of a node that has an association stay if it requests their retention, whether it has restarted or not
    /// (clause 6.2.6.2.2).
    pub(crate) fn association_setup(
        &mut self,
        now: Time,
        key: RequestKey,
        request: &AssociationSetupRequest<'_>,
    ) {
        if self.is_stopping() {
            let refusal = RequestRefusal::new(Cause::RequestRejected, RefusalReason::ShuttingDown);
            return self.first.transactions.refuse_node(now, key, refusal, &mut self.first.out);
        }
        let node = request.node_id.to_owned();
        if let Some(refusal) = self.node.associations.setup_refusal(key.from.ip(), &node) {
            return self.first.transactions.refuse_node(now, key, refusal, &mut self.first.out);
        }
        let contact = self.node.associations.requested_contact(key.from, &node, request);
        let contact = self.node.associations.authorized_contact(&node, contact, &mut self.first.out);
        let kept = match self.node.associations.of_node(&node) {
            Some(id) => {
                let retained = request.session_retention_information.as_ref().map(retained);
                match self.renew_setup(now, id, key, PendingSetup { contact, retained }) {
                    Some(kept) => kept,
                    None => return,
                }
            }
            None if !self.evict_if_full(now) => {
                let most = self.node.config.limits.associations;
                self.first.out.notice(Notice::AssociationFailed {
                    peer: key.from,
                    reason: SetupFailure::TooMany(most),
                });
                let refusal =
                    RequestRefusal::new(Cause::NoResourcesAvailable, RefusalReason::TooManyAssociations);
                return self.first.transactions.refuse_node(now, key, refusal, &mut self.first.out);
            }
            None => {
                self.node.associations.begin(
                    now,
                    &node,
                    contact,
                    &mut self.first.transactions,
                    &mut self.first.out,
                );
                false
            }
        };
        self.node.associations.accept_setup(
            now,
            key,
            kept,
            &mut self.first.transactions,
            &mut self.first.out,
        );
        if let Some(id) = self.node.associations.of_node(&node) {
            self.node.associations.check_claim(now, id, &mut self.first.transactions, &mut self.first.out);
        }
    }

    /// A setup of a node that has an association, from one of its hosts or another one. Returns whether sessions are
    /// retained as requested; `None`: the response is pending.
    ///
    /// A node whose time stamp shows no restart keeps its sessions, since it still knows them. TS 29.244 clause
    /// 6.2.6.2.2 would remove them, even for one forged datagram.
    fn renew_setup(
        &mut self,
        now: Time,
        id: AssociationId,
        key: RequestKey,
        new: PendingSetup,
    ) -> Option<bool> {
        let association = self.node.associations.get(id)?;
        let asks = new.retained.is_some();
        let is_configured = self.node.associations.is_configured_at(association.node(), key.from.ip());
        let some_stay = if !association.uses_address(key.from.ip()) && !is_configured {
            if association.is_path_up() {
                self.node.associations.defer_moved_setup(
                    now,
                    id,
                    key,
                    new,
                    &mut self.first.transactions,
                    &mut self.first.out,
                );
                return None;
            }
            self.apply_setup(now, id, new, None)
        } else if new.contact.recovery == association.recovery() {
            let unwanted = new.retained.filter(|kept| !kept.is_empty()).map(PurgeFilter::NotAt);
            self.renew(now, id, new.contact, None, unwanted)
        } else if association.sessions() > 0 {
            let has_some = |kept: &[IpAddr]| self.parts().any(|part| part.sessions.has_sessions_at(id, kept));
            let is_retained = |kept: &Vec<IpAddr>| kept.is_empty() || has_some(kept);
            let some_stay = new.retained.as_ref().is_some_and(is_retained);
            if let Some(new) = self.node.associations.defer_setup(id, new, &mut self.first.transactions) {
                self.apply_setup(now, id, new, None);
            }
            some_stay
        } else {
            self.apply_setup(now, id, new, None)
        };
        Some(asks && some_stay)
    }

    /// The response of a peer to a setup that the UPF initiated.
    pub(super) fn setup_answered(
        &mut self,
        now: Time,
        peer: SocketAddr,
        from: SocketAddr,
        answer: &AssociationSetupResponse<'_>,
    ) {
        let node = answer.node_id.to_owned();
        let contact = match Associations::answered_contact(peer, from, &node, answer) {
            Ok(contact) => self.node.associations.authorized_contact(&node, contact, &mut self.first.out),
            Err(reason) => {
                return self.node.associations.setup_failed(now, peer, reason, &mut self.first.out);
            }
        };
        if let Some(association) = self.node.associations.at_node(&node) {
            // The node also sent a setup, which arrived first: only a restart removes its sessions.
            let (id, has_restarted) = (association.id(), association.recovery() != contact.recovery);
            self.renew(now, id, contact, None, has_restarted.then_some(PurgeFilter::All));
        } else if self.evict_if_full(now) {
            let id = self.node.associations.begin(
                now,
                &node,
                contact,
                &mut self.first.transactions,
                &mut self.first.out,
            );
            self.node.associations.send_first_heartbeat(
                now,
                id,
                &mut self.first.transactions,
                &mut self.first.out,
            );
        } else {
            let reason = SetupFailure::TooMany(self.node.config.limits.associations);
            self.node.associations.setup_failed(now, peer, reason, &mut self.first.out);
        }
    }

    /// A setup takes effect: sessions of earlier epochs are removed, unless they are retained. Returns whether some
    /// are.
    fn apply_setup(&mut self, now: Time, id: AssociationId, new: PendingSetup, epoch: Option<u32>) -> bool {
        let PendingSetup { contact, retained } = new;
        let has_new = self.node.associations.get(id).is_some_and(|it| it.has_new_sessions());
        let unwanted = match (epoch.filter(|_| has_new), retained) {
            (Some(epoch), kept) => Some(PurgeFilter::Before { epoch, at: None, retained: kept }),
            (None, None) => Some(PurgeFilter::All),
            (None, Some(kept)) => (!kept.is_empty()).then_some(PurgeFilter::NotAt(kept)),
        };
        self.renew(now, id, contact, epoch, unwanted)
    }

    /// Renews the association of a node: its previous information is overwritten, and sessions that are not retained
    /// are removed. `retained` lists the CP entities whose sessions stay; empty: all. Returns whether some stay.
    pub(crate) fn renew(
        &mut self,
        now: Time,
        id: AssociationId,
        contact: Contact,
        epoch: Option<u32>,
        unwanted: Option<PurgeFilter>,
    ) -> bool {
        let peer = contact.peer;
        let Some(association) = self.node.associations.get(id) else { return false };
        let restarted = association.recovery() != contact.recovery;
        let (had, addresses) = (association.addresses().to_vec(), contact.addresses.clone());
        let Some(association) = self.node.associations.renew(now, id, contact) else { return false };
        let node = association.node().clone();
        let open = if restarted { PendingRequests::Forget } else { PendingRequests::Answer };
        let before = association.sessions();
        let stays = |session: &Session| unwanted.as_ref().is_none_or(|unwanted| !unwanted.covers(session));
        let may_stay =
            !matches!(unwanted, Some(PurgeFilter::All | PurgeFilter::Before { retained: None, .. }));
        let some_stay = may_stay && self.parts().any(|part| part.sessions.going_on(id).any(stays));
        let purged = match unwanted {
            None => Purged::none(),
            Some(unwanted) => self.purge_sessions(now, &[id], &unwanted, open),
        };
        self.first.reports.forget_paths(id, &mut self.first.transactions);
        if restarted && epoch.is_none() {
            self.first.transactions.begin_epoch(&addresses);
        }
        self.forget_unused_hosts(&had);
        self.each_turn(|turn| turn.wake_ready_sessions(now, id));
        self.node.associations.schedule_heartbeat(now, id);
        self.node.associations.cancel_setup(peer, id, &mut self.first.transactions);
        self.notify_purged(purged, Notice::AssociationRenewed { node, peer, retained: before, purged: 0 });
        some_stay
    }

    /// Evicts an association if the limit is reached.
    fn evict_if_full(&mut self, now: Time) -> bool {
        if !self.node.associations.is_full() {
            return true;
        }
        let Some(id) = self.node.associations.eviction_candidate() else { return false };
        if let Some(association) = self.node.associations.get(id) {
            let (node, peer) = (association.node().clone(), association.peer());
            self.first.out.notice(Notice::AssociationEvicted { node, peer });
        }
        self.end_association(now, id, DownReason::Evicted);
        true
    }
}

/// Heartbeats and restarts.
impl N4 {
    pub(super) fn heartbeat_answered(
        &mut self,
        now: Time,
        id: AssociationId,
        answer: &HeartbeatResponse<'_>,
    ) {
        let confirmed = self.node.associations.heartbeat_answered(
            now,
            id,
            answer,
            &mut self.first.transactions,
            &mut self.first.out,
        );
        self.confirmed(now, id, confirmed);
    }

    /// The last retransmission of a heartbeat got no response.
    pub(super) fn heartbeat_unanswered(&mut self, now: Time, id: AssociationId) {
        match self.node.config.on_path_failure {
            PathFailure::Keep => self.node.associations.path_is_down(now, id, &mut self.first.out),
            PathFailure::Purge => {
                self.hand_over_to_set(now, id, &PurgeFilter::All);
                self.end_association(now, id, DownReason::PathFailure);
            }
        }
    }

    /// An SMF has confirmed a restart or a setup, or not denied it in time.
    pub(super) fn confirmed(&mut self, now: Time, id: AssociationId, confirmed: Option<Confirmed>) {
        match confirmed {
            None => {}
            Some(Confirmed::Restart { entity, before, after, epoch }) => {
                self.restarted(now, id, entity, (before, after), epoch);
            }
            Some(Confirmed::Setup { setup, epoch, pending }) => {
                self.apply_setup(now, id, *setup, epoch);
                if let Some(key) = pending {
                    self.node.associations.accept_setup(
                        now,
                        key,
                        false,
                        &mut self.first.transactions,
                        &mut self.first.out,
                    );
                }
            }
        }
    }

    /// The PFCP entity at this address has restarted and lost its sessions of earlier epochs, which are removed, unless
    /// another SMF of the set may control them (clause 5.22.3).
    fn restarted(
        &mut self,
        now: Time,
        id: AssociationId,
        entity: IpAddr,
        (before, after): (NtpSeconds, NtpSeconds),
        epoch: Option<u32>,
    ) {
        let Some(association) = self.node.associations.get(id) else { return };
        let (node, is_set) = (association.node().clone(), association.represents_set());
        let is_main = association.source().ip() == entity;
        let are_all = is_main && !association.has_new_sessions();
        self.first.reports.forget_paths(id, &mut self.first.transactions);
        let (at, epoch) = ((!is_main).then_some(entity), epoch.unwrap_or(u32::MAX));
        let forgotten = match are_all {
            true => PurgeFilter::All,
            false => PurgeFilter::Before { epoch, at, retained: None },
        };
        if is_main {
            self.hand_over_to_set(now, id, &forgotten);
        }
        let purged = match is_set {
            true => Purged::none(),
            false => self.purge_sessions(now, &[id], &forgotten, PendingRequests::Forget),
        };
        self.node.associations.check_graceful_release(
            now,
            id,
            &mut self.first.transactions,
            &mut self.first.out,
        );
        self.each_turn(|turn| turn.wake_ready_sessions(now, id));
        self.notify_purged(purged, Notice::PeerRestarted { node, before, after, purged: 0 });
        // The SMF also lost an association that the UPF initiated, and waits for a new setup.
        if is_main {
            self.node.associations.set_up_again(now, id, &mut self.first.transactions, &mut self.first.out);
        }
    }

    /// Hands these sessions of an SMF, whose path is down or which has forgotten them, over to another SMF of the set
    /// whose path is up, if there is one.
    fn hand_over_to_set(&mut self, now: Time, id: AssociationId, which: &PurgeFilter) {
        let Some(sibling) = self.node.associations.available_set_member(id) else { return };
        let mut sessions = 0;
        self.each_turn(|turn| sessions += turn.hand_over(now, id, sibling, which));
        let name = |id| self.node.associations.get(id).map(|association| association.node().clone());
        if let (Some(from), Some(to)) = (name(id), name(sibling)) {
            self.first.out.notice(Notice::SessionsHandedOver { from, to, sessions });
        }
    }
}

/// Update and release.
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
        let had = self.node.associations.update(id, request, &mut self.first.out);
        self.forget_unused_hosts(&had);
        let config = Arc::clone(&self.node.config);
        let response = AssociationUpdateResponse {
            up_function_features: Some(self.node.features),
            ..AssociationUpdateResponse::new(NodeId::from(&config.node), Cause::RequestAccepted)
        };
        self.turn(0).accept(now, key, &response.into());
        if request.flags.is_some_and(|flags| flags.contains(AssociationUpdateFlags::PARPS)) {
            self.begin_graceful_release(now, id);
        }
    }

    /// Ends every session of an association with reports, then announces that all usage is reported (clause 5.18.1). No
    /// effect if it has already begun.
    pub(super) fn begin_graceful_release(&mut self, now: Time, id: AssociationId) {
        if self.node.associations.begin_graceful_release(id) {
            self.each_turn(|turn| turn.release_sessions(now, id));
            self.node.associations.check_graceful_release(
                now,
                id,
                &mut self.first.transactions,
                &mut self.first.out,
            );
        }
    }

    /// Ends the associations that the SMF did not release in time.
    pub(super) fn expire_graceful_releases(&mut self, now: Time) {
        for (id, reason) in self.node.associations.overdue_releases(now) {
            self.end_association(now, id, reason);
        }
    }

    /// The peer will not release the association, so it ends without it.
    pub(super) fn release_unanswered(&mut self, now: Time, id: AssociationId) {
        self.end_association(now, id, self.node.associations.release_reason(id));
    }

    /// Ends an association and removes its sessions, without reports (clause 6.2.8.2).
    pub(crate) fn association_release(
        &mut self,
        now: Time,
        key: RequestKey,
        request: &AssociationReleaseRequest<'_>,
    ) {
        let Some(id) = self.association_named(now, key, &request.node_id) else { return };
        self.end_association(now, id, DownReason::Released);
        let config = Arc::clone(&self.node.config);
        let node = NodeId::from(&config.node);
        let response = AssociationReleaseResponse::new(node, Cause::RequestAccepted);
        self.turn(0).accept(now, key, &response.into());
    }

    /// Ends an association: nothing more is sent to the peer, and its sessions are removed.
    pub(crate) fn end_association(&mut self, now: Time, id: AssociationId, reason: DownReason) {
        self.forget_answers(id);
        self.node.associations.end_release(id);
        let purged = self.purge_sessions(now, &[id], &PurgeFilter::All, PendingRequests::Forget);
        for part in self.parts_mut() {
            part.transactions.cancel_of(id, |_| true);
            part.reports.forget_association(id);
        }
        self.node.associations.lost(now, id);
        if let Some(association) = self.node.associations.remove(id) {
            if let Some(key) = association.held_request() {
                self.first.transactions.forget(&key);
            }
            self.forget_unused_hosts(association.addresses());
            let node = association.node().clone();
            self.notify_purged(purged, Notice::AssociationDown { node, reason, purged: 0 });
        }
        self.check_shutdown(now);
    }

    /// A new restart epoch of a peer begins: cached responses of the last epoch are void, even if a request of the new
    /// epoch has the same octets.
    fn forget_answers(&mut self, id: AssociationId) {
        self.first.reports.forget_paths(id, &mut self.first.transactions);
        let association = self.node.associations.get(id);
        let addresses = association.map(|association| association.addresses().to_vec()).unwrap_or_default();
        self.forget_answers_to(&addresses);
    }

    fn forget_answers_to(&mut self, hosts: &[IpAddr]) {
        for part in self.parts_mut() {
            hosts.iter().for_each(|ip| part.transactions.forget_answers(*ip));
        }
    }

    /// Forgets the restart epochs of those of these hosts that no peer uses any more, with their cached responses.
    fn forget_unused_hosts(&mut self, hosts: &[IpAddr]) {
        let unused: Vec<_> = hosts.iter().copied().filter(|ip| !self.node.associations.knows(*ip)).collect();
        self.forget_answers_to(&unused);
        self.first.transactions.forget_epochs(&unused);
        self.follow_epochs();
    }

    /// Ends the association of a node immediately and removes its sessions, without reports. Returns the number of
    /// sessions; `None`: the node has no association.
    pub fn end(&mut self, now: Time, node: &causeway_types::NodeId) -> Option<usize> {
        let id = self.node.associations.of_node(node)?;
        let sessions = self.node.associations.get(id)?.sessions();
        self.end_association(now, id, DownReason::Operator);
        Some(sessions)
    }

    /// Requests the SMF of a node to release its association (TS 29.244 clause 6.2.7.3), which accepts no new sessions
    /// from now on. If the SMF does not release it within [`crate::Config::release_period`], the association ends
    /// without it. `false`: the node has no association.
    pub fn release(&mut self, now: Time, node: &causeway_types::NodeId) -> bool {
        let Some(id) = self.node.associations.of_node(node) else { return false };
        if self.node.associations.begin_operator_release(now, id) {
            self.node.associations.request_release(
                now,
                id,
                &mut self.first.transactions,
                &mut self.first.out,
            );
        }
        true
    }

    /// The association of the Node ID in a request, if its sender is authorized for that node; otherwise the request is
    /// rejected.
    pub(super) fn association_named(
        &mut self,
        now: Time,
        key: RequestKey,
        node: &NodeId<'_>,
    ) -> Option<AssociationId> {
        self.node.associations.named(
            now,
            key,
            &node.to_owned(),
            &mut self.first.transactions,
            &mut self.first.out,
        )
    }
}
