//! Association setup initiated by the UPF (TS 29.244 clause 6.2.6.3).

use std::net::SocketAddr;

use causeway_pfcp::{AssociationSetupRequest, AssociationSetupResponse, NodeId, RecoveryTimeStamp};
use causeway_types::{NtpSeconds, Time};

use super::contact::{addresses, alternatives, set_name};
use super::pools::pool_information;
use super::table::Contact;
use super::{AssociationId, Target};
use crate::session::PurgeFilter;
use crate::transaction::Purpose;
use crate::{N4, Notice, SetupFailure};

impl N4 {
    /// Initiates an association with this peer, now and whenever it is lost. No effect if that is already so, or while
    /// shutting down.
    pub fn associate(&mut self, now: Time, peer: SocketAddr) {
        if self.is_stopping() || self.targets.contains(peer) {
            return;
        }
        let there = self.associations.iter().find(|association| association.peer == peer);
        match there.map(|association| association.id) {
            Some(id) => self.targets.set(peer, Target::Up(id)),
            None => self.send_association_setup(now, peer),
        }
    }

    /// Retries the setups whose delay has passed.
    pub(crate) fn retry_targets(&mut self, now: Time) {
        for peer in self.targets.due(now) {
            self.send_association_setup(now, peer);
        }
    }

    pub(crate) fn send_association_setup(&mut self, now: Time, peer: SocketAddr) {
        self.targets.set(peer, Target::Pending);
        let node = self.config.node.clone();
        let pools = self.config.address_pools.clone();
        let request = AssociationSetupRequest {
            up_function_features: Some(self.up_features()),
            ue_ip_address_pool_information: pool_information(&pools).into(),
            ..AssociationSetupRequest::new(NodeId::from(&node), RecoveryTimeStamp(self.recovery))
        };
        self.transactions.request(now, peer, &request.into(), Purpose::Setup(peer), &mut self.out);
    }

    pub(crate) fn setup_unanswered(&mut self, now: Time, peer: SocketAddr) {
        self.setup_failed(now, peer, SetupFailure::NoAnswer);
    }

    pub(crate) fn setup_answered(
        &mut self,
        now: Time,
        peer: SocketAddr,
        from: SocketAddr,
        answer: &AssociationSetupResponse<'_>,
    ) {
        if !answer.cause.is_accepted() {
            return self.setup_failed(now, peer, SetupFailure::Refused(answer.cause));
        }
        let Some(recovery) = answer.recovery_time_stamp else {
            return self.setup_failed(now, peer, SetupFailure::Malformed);
        };
        let node = answer.node_id.to_owned();
        let alternatives = alternatives(answer.alternative_smf_ip_addresses.iter());
        let contact = Contact {
            peer,
            source: from,
            addresses: addresses(from, &node, alternatives.iter().map(|(ip, _)| *ip)),
            alternatives,
            cp_features: answer.cp_function_features.unwrap_or_default(),
            smf_set: answer.smf_set_id.as_ref().map(set_name),
            recovery: recovery.0,
        };
        let contact = self.authorized_contact(&node, contact);
        let most = self.config.limits.associations;
        match self.associations.of_node(&node).and_then(|id| self.known(id)) {
            // The node also sent a setup, which arrived first: only a restart removes its sessions.
            Some((id, before)) => {
                let same = before == contact.recovery;
                let unwanted = (!same).then_some(PurgeFilter::All);
                self.renew(now, id, contact, None, unwanted);
            }
            None if !self.evict_if_full(now) => {
                self.setup_failed(now, peer, SetupFailure::TooMany(most));
            }
            None => {
                let id = self.begin_association(now, &node, contact);
                self.send_first_heartbeat(now, id);
            }
        }
    }

    /// The id and Recovery Time Stamp of an association.
    pub(crate) fn known(&self, id: AssociationId) -> Option<(AssociationId, NtpSeconds)> {
        self.associations.get(id).map(|association| (association.id, association.recovery))
    }

    fn setup_failed(&mut self, now: Time, peer: SocketAddr, reason: SetupFailure) {
        let again = now + self.config.associate_retry;
        self.targets.set(peer, Target::RetryAt(again));
        self.out.notice(Notice::AssociationFailed { peer, reason });
    }
}
