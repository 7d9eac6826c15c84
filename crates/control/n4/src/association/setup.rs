//! Association setup initiated by the SMF (TS 29.244 clause 6.2.6.2).

use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::{
    AssociationSetupRequest, AssociationSetupResponse, AssociationSetupResponseFlags, Cause, Header,
    IpVersion, Message, NetworkInstance, NodeId, Octets, RecoveryTimeStamp, SessionRetentionInformation,
    UeIpAddressPoolIdentity, UeIpAddressPoolInformation,
};
use causeway_rules::AddressPool;
use causeway_types::{IpNet, Time};

use super::contact::{Contact, addresses, alternatives, set_name};
use super::{AssociationId, Associations};
use crate::config::{PFCP_PORT, RequestPort};
use crate::output::Outputs;
use crate::transaction::{Purpose, RequestKey, RequestRefusal, Response, Transactions};
use crate::{Notice, RefusalReason};

impl Associations {
    /// What a setup request announces about its sender.
    pub(crate) fn requested_contact(
        &self,
        from: SocketAddr,
        node: &causeway_types::NodeId,
        request: &AssociationSetupRequest<'_>,
    ) -> Contact {
        let alternatives = alternatives(request.alternative_smf_ip_addresses.iter());
        Contact {
            peer: self.request_address(from),
            source: from,
            addresses: addresses(from, node, alternatives.iter().map(|(ip, _)| *ip)),
            alternatives,
            cp_features: request.cp_function_features.unwrap_or_default(),
            smf_set: request.smf_set_id.as_ref().map(set_name),
            recovery: request.recovery_time_stamp.0,
        }
    }

    /// The reason to reject a setup that is not even cached, so that unassociated peers cannot evict the responses to
    /// SMFs: it adds a node when the limit of associations is reached.
    pub(crate) fn setup_refusal_when_full(
        &self,
        key: &RequestKey,
        header: &Header,
        body: &[u8],
    ) -> Option<RequestRefusal> {
        if !self.is_full() || self.knows(key.from.ip()) || self.eviction_candidate().is_some() {
            return None;
        }
        let is_new = match Message::decode(header, body) {
            Ok(Message::AssociationSetupRequest(request)) => {
                self.of_node(&request.node_id.to_owned()).is_none()
            }
            _ => true,
        };
        is_new.then(|| RequestRefusal::new(Cause::NoResourcesAvailable, RefusalReason::TooManyAssociations))
    }

    /// Responds to a setup. `retained`: sessions are retained as requested.
    pub(crate) fn accept_setup(
        &self,
        now: Time,
        key: RequestKey,
        retained: bool,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        let cause = Cause::RequestAccepted;
        let response = AssociationSetupResponse {
            recovery_time_stamp: Some(RecoveryTimeStamp(self.recovery)),
            up_function_features: Some(self.features),
            flags: retained.then_some(AssociationSetupResponseFlags::PSREI),
            ue_ip_address_pool_information: pool_information(&self.config.address_pools).into(),
            ..AssociationSetupResponse::new(NodeId::from(&self.config.node), cause)
        };
        let message = response.into();
        transactions.answer(now, key, Response::accepting(&message), out);
    }

    /// Creates an association for a node that has none.
    pub(crate) fn begin(
        &mut self,
        now: Time,
        node: &causeway_types::NodeId,
        contact: Contact,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) -> AssociationId {
        let peer = contact.peer;
        let id = self.insert(now, node, contact);
        self.schedule_heartbeat(now, id);
        self.cancel_setup(peer, id, transactions);
        // Few associations are left: the SMF has to prove that it responds.
        if self.is_half_full()
            && let Some(association) = self.get_mut(id)
        {
            association.clock.recheck_at(now);
        }
        out.notice(Notice::AssociationUp { node: node.clone(), peer });
        id
    }

    /// The association ended: its setup is retried later, if the UPF initiates it.
    pub(crate) fn lost(&mut self, now: Time, id: AssociationId) {
        self.targets.lost(id, now + self.config.associate_retry);
    }

    /// Cancels the setup that the UPF initiated with this peer, and the outstanding heartbeats.
    pub(crate) fn cancel_setup(
        &mut self,
        peer: SocketAddr,
        id: AssociationId,
        transactions: &mut Transactions,
    ) {
        let asked = self.targets.reached(peer, id);
        transactions.cancel_of(id, |purpose| matches!(purpose, Purpose::Heartbeat(_)));
        if let Some(asked) = asked {
            transactions.cancel(|purpose| matches!(purpose, Purpose::Setup(target) if *target == asked));
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
pub(crate) fn retained(retention: &SessionRetentionInformation<'_>) -> Vec<IpAddr> {
    let entities = retention.cp_entity_ip_addresses.iter();
    entities.flat_map(|entity| entity.0.iter().collect::<Vec<_>>()).collect()
}

/// UE address pools that the UPF announces to SMFs (TS 29.244 clause 7.4.4.1.1): one entry for each pool with a name, by
/// which an SMF can select it.
pub(super) fn pool_information(pools: &[AddressPool]) -> Vec<UeIpAddressPoolInformation<'_>> {
    let named = pools.iter().filter_map(|pool| pool.name.as_ref().map(|name| (pool, name)));
    let information = named.map(|(pool, name)| UeIpAddressPoolInformation {
        network_instance: Some(NetworkInstance::from(&pool.network)),
        ip_version: Some(match pool.range {
            IpNet::V4(_) => IpVersion::V4,
            IpNet::V6(_) => IpVersion::V6,
        }),
        ..UeIpAddressPoolInformation::new([UeIpAddressPoolIdentity(Octets(name.as_bytes()))])
    });
    information.collect()
}
