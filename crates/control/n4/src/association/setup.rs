//! Association setup asked for by the SMF (TS 29.244 clause 6.2.6.2).

use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::{
    AssociationSetupRequest, AssociationSetupResponse, AssociationSetupResponseFlags, Cause, Header, Message,
    NodeId, RecoveryTimeStamp, SessionRetentionInformation,
};
use causeway_types::{Seid, Time};

use super::AssociationId;
use super::contact::{addresses, alternatives, set_name};
use super::pools::pool_information;
use super::table::Contact;
use crate::answer::Refusal;
use crate::config::{PFCP_PORT, RequestPort};
use crate::node::Purpose;
use crate::session::{OpenRequests, Purged, Session, Unwanted};
use crate::transaction::RequestKey;
use crate::{N4, Notice, SetupFailure};

impl N4 {
    /// Sets up an association, or sets up anew the one that the node has.
    ///
    /// Sessions of a node that has an association stay if it asks for them to be retained, whether it has restarted
    /// or not (clause 6.2.6.2.2).
    pub(crate) fn association_setup(
        &mut self,
        now: Time,
        key: RequestKey,
        request: &AssociationSetupRequest<'_>,
    ) {
        if self.is_stopping() {
            let refusal = Refusal::new(Cause::RequestRejected, "this UPF is shutting down");
            return self.refuse(now, key, Seid(0), refusal);
        }
        let allow = &self.config.allow;
        if !allow.is_empty() && !allow.iter().any(|net| net.contains(&key.from.ip())) {
            let refusal = Refusal::new(Cause::RequestRejected, "this host may not set up an association");
            return self.refuse(now, key, Seid(0), refusal);
        }
        let node = request.node_id.to_owned();
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
        let kept = match self.associations.of_node(&node).and_then(|id| self.known(id)) {
            Some((id, _)) => {
                let retention = request.session_retention_information.as_ref();
                let retained = retention.map(retained);
                self.renew(now, id, contact, retained)
            }
            None if self.associations.len() >= self.config.limits.associations => {
                let most = self.config.limits.associations;
                self.notice(Notice::AssociationFailed {
                    peer: key.from,
                    reason: SetupFailure::TooMany(most),
                });
                let refusal = Refusal::new(Cause::NoResourcesAvailable, "there are too many associations");
                return self.refuse(now, key, Seid(0), refusal);
            }
            None => {
                self.begin_association(now, &node, contact);
                false
            }
        };
        self.accept_setup(now, key, kept);
    }

    /// Why a setup is refused whose sender is not even remembered, lest strangers displace the answers to SMFs: it is no more than
    /// another node, where there are as many as may be.
    pub(crate) fn no_room_for(&self, key: &RequestKey, header: &Header, body: &[u8]) -> Option<Refusal> {
        if self.associations.len() < self.config.limits.associations || self.associations.knows(key.from.ip())
        {
            return None;
        }
        let is_new = match Message::decode(header, body) {
            Ok(Message::AssociationSetupRequest(request)) => {
                self.associations.of_node(&request.node_id.to_owned()).is_none()
            }
            _ => true,
        };
        is_new.then(|| Refusal::new(Cause::NoResourcesAvailable, "there are too many associations"))
    }

    fn accept_setup(&mut self, now: Time, key: RequestKey, retained: bool) {
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

    /// A node that had no association has one now.
    pub(crate) fn begin_association(
        &mut self,
        now: Time,
        node: &causeway_types::NodeId,
        contact: Contact,
    ) -> AssociationId {
        let peer = contact.peer;
        let id = self.associations.insert(now, node, contact);
        self.schedule_heartbeat(now, id);
        self.stop_asking(peer, id);
        self.notice(Notice::AssociationUp { node: node.clone(), peer });
        id
    }

    /// Sets up anew the association that a node has: all it said before is overwritten, and those of its
    /// sessions are removed that are not retained: of these CP entities, or all if none is named. Says whether some stay.
    pub(crate) fn renew(
        &mut self,
        now: Time,
        id: AssociationId,
        contact: Contact,
        retained: Option<Vec<IpAddr>>,
    ) -> bool {
        let peer = contact.peer;
        let Some(association) = self.associations.get_mut(id) else { return false };
        let restarted = association.recovery != contact.recovery;
        association.renew(now, contact);
        let node = association.node.clone();
        let open = if restarted { OpenRequests::Forget } else { OpenRequests::Answer };
        let before = association.sessions;
        let unwanted = match retained {
            None => Some(Unwanted::All),
            Some(entities) if entities.is_empty() => None,
            Some(entities) => Some(Unwanted::NotAt(entities)),
        };
        let stays = |session: &Session| unwanted.as_ref().is_none_or(|unwanted| !unwanted.covers(session));
        let goes_on = |session: &&Session| !session.doomed && !self.sessions.is_condemned(session);
        let some_stay =
            unwanted != Some(Unwanted::All) && self.sessions.of_association(id).filter(goes_on).any(stays);
        let purged = match unwanted {
            None => Purged::Counted(0),
            Some(unwanted) => self.purge_sessions(now, vec![id], unwanted, open),
        };
        if restarted || purged.are_some() {
            self.forget_answers(id);
        }
        self.call_ready(now, id);
        self.schedule_heartbeat(now, id);
        self.stop_asking(peer, id);
        self.tell_purged(purged, Notice::AssociationRenewed { node, peer, kept: before, purged: 0 });
        some_stay
    }

    /// Nobody needs to ask for an association with this peer any more, nor for heartbeats so far.
    fn stop_asking(&mut self, peer: SocketAddr, id: AssociationId) {
        let asked = self.targets.reached(peer, id);
        self.outbound.cancel(|purpose| match purpose {
            Purpose::Setup(target) => asked == Some(*target),
            Purpose::Heartbeat(association) => *association == id,
            _ => false,
        });
    }

    /// Where our requests to a peer go that spoke from this address.
    fn request_address(&self, from: SocketAddr) -> SocketAddr {
        let mut peer = from;
        if self.config.request_port == RequestPort::Standard {
            peer.set_port(PFCP_PORT);
        }
        peer
    }
}

/// The CP entities whose sessions are to be retained; none: of all.
fn retained(retention: &SessionRetentionInformation<'_>) -> Vec<IpAddr> {
    let entities = retention.cp_entity_ip_addresses.iter();
    entities.flat_map(|entity| entity.0.iter().collect::<Vec<_>>()).collect()
}
