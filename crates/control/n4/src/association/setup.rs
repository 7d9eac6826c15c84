//! Association setup initiated by the SMF (TS 29.244 clause 6.2.6.2).

use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::{
    AssociationSetupRequest, AssociationSetupResponse, AssociationSetupResponseFlags, Cause, Header, Message,
    NodeId, RecoveryTimeStamp, SessionRetentionInformation,
};
use causeway_types::{Seid, Time};

use super::AssociationId;
use super::contact::{addresses, alternatives, set_name};
use super::pools::pool_information;
use super::recovery::PendingSetup;
use super::table::Contact;
use crate::config::{PFCP_PORT, RequestPort};
use crate::session::{PendingRequests, PurgeCount, PurgeFilter, Session};
use crate::transaction::Purpose;
use crate::transaction::RequestKey;
use crate::transaction::RequestRefusal;
use crate::{N4, Notice, SetupFailure};

impl N4 {
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
            let refusal = RequestRefusal::new(Cause::RequestRejected, "this UPF is shutting down");
            return self.transactions.refuse_node(now, key, refusal, &mut self.out);
        }
        let node = request.node_id.to_owned();
        if let Some(refusal) = self.setup_refusal(key.from.ip(), &node) {
            return self.transactions.refuse_node(now, key, refusal, &mut self.out);
        }
        let alternatives = alternatives(request.alternative_smf_ip_addresses.iter());
        let contact = Contact {
            peer: self.request_address(key.from),
            source: key.from,
            addresses: addresses(key.from, &node, alternatives.iter().map(|(ip, _)| *ip)),
            alternatives,
            cp_features: request.cp_function_features.unwrap_or_default(),
            smf_set: request.smf_set_id.as_ref().map(set_name),
            recovery: request.recovery_time_stamp.0,
        };
        let contact = self.authorized_contact(&node, contact);
        let kept = match self.associations.of_node(&node) {
            Some(id) => {
                let retained = request.session_retention_information.as_ref().map(retained);
                match self.renew_setup(now, id, key, PendingSetup { contact, retained }) {
                    Some(kept) => kept,
                    None => return,
                }
            }
            None if !self.evict_if_full(now) => {
                let most = self.config.limits.associations;
                self.out.notice(Notice::AssociationFailed {
                    peer: key.from,
                    reason: SetupFailure::TooMany(most),
                });
                let refusal =
                    RequestRefusal::new(Cause::NoResourcesAvailable, "there are too many associations");
                return self.transactions.refuse_node(now, key, refusal, &mut self.out);
            }
            None => {
                self.begin_association(now, &node, contact);
                false
            }
        };
        self.accept_setup(now, key, kept);
        if let Some(id) = self.associations.of_node(&node) {
            self.check_claim(now, id);
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
        let association = self.associations.get(id)?;
        let asks = new.retained.is_some();
        let is_configured = self.is_configured_at(&association.node, key.from.ip());
        let some_stay = if !association.uses_address(key.from.ip()) && !is_configured {
            if association.path_up {
                self.defer_moved_setup(now, id, key, new);
                return None;
            }
            self.apply_setup(now, id, new, None)
        } else if new.contact.recovery == association.recovery {
            let unwanted = new.retained.filter(|kept| !kept.is_empty()).map(PurgeFilter::NotAt);
            self.renew(now, id, new.contact, None, unwanted)
        } else if association.sessions > 0 {
            let is_retained = |kept: &Vec<IpAddr>| kept.is_empty() || self.has_sessions_at(id, kept);
            let some_stay = new.retained.as_ref().is_some_and(is_retained);
            self.defer_setup(now, id, new);
            some_stay
        } else {
            self.apply_setup(now, id, new, None)
        };
        Some(asks && some_stay)
    }

    fn has_sessions_at(&self, id: AssociationId, ips: &[IpAddr]) -> bool {
        let mut sessions = self.sessions.of_association(id);
        sessions
            .any(|session| !session.marked_for_removal && ips.iter().any(|ip| session.cp.addr.contains(*ip)))
    }

    /// The reason to reject a setup that is not even cached, so that unassociated peers cannot evict the responses to
    /// SMFs: it adds a node when the limit of associations is reached.
    pub(crate) fn setup_refusal_when_full(
        &self,
        key: &RequestKey,
        header: &Header,
        body: &[u8],
    ) -> Option<RequestRefusal> {
        let is_full = self.associations.len() >= self.config.limits.associations;
        if !is_full || self.associations.knows(key.from.ip()) || self.eviction_candidate().is_some() {
            return None;
        }
        let is_new = match Message::decode(header, body) {
            Ok(Message::AssociationSetupRequest(request)) => {
                self.associations.of_node(&request.node_id.to_owned()).is_none()
            }
            _ => true,
        };
        is_new.then(|| RequestRefusal::new(Cause::NoResourcesAvailable, "there are too many associations"))
    }

    pub(super) fn accept_setup(&mut self, now: Time, key: RequestKey, retained: bool) {
        let node = self.config.node.clone();
        let pools = self.config.address_pools.clone();
        let cause = Cause::RequestAccepted;
        let response = AssociationSetupResponse {
            recovery_time_stamp: Some(RecoveryTimeStamp(self.recovery)),
            up_function_features: Some(self.up_features()),
            flags: retained.then_some(AssociationSetupResponseFlags::PSREI),
            ue_ip_address_pool_information: pool_information(&pools).into(),
            ..AssociationSetupResponse::new(NodeId::from(&node), cause)
        };
        self.answer(now, key, Seid(0), Some(cause), &response.into());
    }

    /// Creates an association for a node that has none.
    pub(crate) fn begin_association(
        &mut self,
        now: Time,
        node: &causeway_types::NodeId,
        contact: Contact,
    ) -> AssociationId {
        let peer = contact.peer;
        let id = self.associations.insert(now, node, contact);
        self.schedule_heartbeat(now, id);
        self.cancel_setup(peer, id);
        // Few associations are left: the SMF has to prove that it responds.
        if self.is_half_full()
            && let Some(association) = self.associations.get_mut(id)
        {
            association.clock.recheck_at(now);
        }
        self.out.notice(Notice::AssociationUp { node: node.clone(), peer });
        id
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
        let Some(association) = self.associations.get(id) else { return false };
        let restarted = association.recovery != contact.recovery;
        let addresses = contact.addresses.clone();
        let Some(association) = self.associations.renew(now, id, contact) else { return false };
        let node = association.node.clone();
        let open = if restarted { PendingRequests::Forget } else { PendingRequests::Answer };
        let before = association.sessions;
        let stays = |session: &Session| unwanted.as_ref().is_none_or(|unwanted| !unwanted.covers(session));
        let goes_on = |session: &&Session| !session.marked_for_removal && !self.sessions.is_in_purge(session);
        let may_stay =
            !matches!(unwanted, Some(PurgeFilter::All | PurgeFilter::Before { retained: None, .. }));
        let some_stay = may_stay && self.sessions.of_association(id).filter(goes_on).any(stays);
        let purged = match unwanted {
            None => PurgeCount::Counted(0),
            Some(unwanted) => self.purge_sessions(now, vec![id], unwanted, open),
        };
        self.reports.forget_paths(id, &mut self.transactions);
        if restarted && epoch.is_none() {
            self.transactions.begin_epoch(&addresses);
        }
        self.wake_ready_sessions(now, id);
        self.schedule_heartbeat(now, id);
        self.cancel_setup(peer, id);
        self.notify_purged(purged, Notice::AssociationRenewed { node, peer, retained: before, purged: 0 });
        some_stay
    }

    /// Cancels the setup that the UPF initiated with this peer, and the outstanding heartbeats.
    fn cancel_setup(&mut self, peer: SocketAddr, id: AssociationId) {
        let asked = self.targets.reached(peer, id);
        self.transactions.cancel_of(id, |purpose| matches!(purpose, Purpose::Heartbeat(_)));
        if let Some(asked) = asked {
            self.transactions.cancel(|purpose| matches!(purpose, Purpose::Setup(target) if *target == asked));
        }
    }

    /// The destination of requests to a peer with this source address.
    fn request_address(&self, from: SocketAddr) -> SocketAddr {
        let mut peer = from;
        if self.config.request_port == RequestPort::Standard {
            peer.set_port(PFCP_PORT);
        }
        peer
    }
}

/// The CP entities whose sessions are retained; empty: all.
fn retained(retention: &SessionRetentionInformation<'_>) -> Vec<IpAddr> {
    let entities = retention.cp_entity_ip_addresses.iter();
    entities.flat_map(|entity| entity.0.iter().collect::<Vec<_>>()).collect()
}
