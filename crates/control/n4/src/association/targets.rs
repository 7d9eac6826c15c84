//! Peers with which the UPF initiates an association.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use causeway_pfcp::{AssociationSetupRequest, AssociationSetupResponse, NodeId, RecoveryTimeStamp};
use causeway_types::Time;

use super::contact::{Contact, addresses, alternatives, set_name};
use super::setup::pool_information;
use super::{AssociationId, Associations};
use crate::output::Outputs;
use crate::transaction::{Purpose, Transactions};
use crate::{Notice, SetupFailure};

/// The state of an association setup that the UPF initiates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// The request is in flight.
    Pending,
    /// It failed; the next attempt is at this time.
    RetryAt(Time),
    /// The association exists, whichever side initiated it.
    Up(AssociationId),
}

/// All such peers, by destination address.
#[derive(Debug, Default)]
pub(super) struct Targets(BTreeMap<SocketAddr, Target>);

impl Targets {
    /// Sets the state of a peer.
    pub(super) fn set(&mut self, peer: SocketAddr, target: Target) {
        self.0.insert(peer, target);
    }

    /// The UPF initiates an association with this peer.
    pub(super) fn contains(&self, peer: SocketAddr) -> bool {
        self.0.contains_key(&peer)
    }

    /// The peer with this association, if the UPF initiates it.
    pub(super) fn of(&self, id: AssociationId) -> Option<SocketAddr> {
        self.0.iter().find(|(_, target)| **target == Target::Up(id)).map(|(peer, _)| *peer)
    }

    /// An association was created: no further setup is sent to its peer, or one of its host. Returns the destination of
    /// a setup in flight.
    pub(super) fn reached(&mut self, peer: SocketAddr, id: AssociationId) -> Option<SocketAddr> {
        let waits = |(address, target): &(&SocketAddr, &Target)| {
            address.ip() == peer.ip() && !matches!(target, Target::Up(_))
        };
        let address = if self.contains(peer) { peer } else { *self.0.iter().find(waits)?.0 };
        let before = self.0.insert(address, Target::Up(id));
        (before == Some(Target::Pending)).then_some(address)
    }

    /// An association ended: its setup is retried at that time.
    pub(super) fn lost(&mut self, id: AssociationId, again: Time) {
        for target in self.0.values_mut().filter(|target| **target == Target::Up(id)) {
            *target = Target::RetryAt(again);
        }
    }

    /// When the next setup is retried.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        let again = |target: &Target| if let Target::RetryAt(again) = target { Some(*again) } else { None };
        self.0.values().filter_map(again).min()
    }

    /// The peers whose retry delay has passed.
    pub(super) fn due(&self, now: Time) -> Vec<SocketAddr> {
        let is_due = |target: &Target| matches!(target, Target::RetryAt(again) if *again <= now);
        self.0.iter().filter(|(_, target)| is_due(target)).map(|(peer, _)| *peer).collect()
    }

    /// Removes those that this list does not contain.
    pub(super) fn retain(&mut self, peers: &[SocketAddr]) {
        self.0.retain(|peer, _| peers.contains(peer));
    }

    /// Removes all of them.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Association setup initiated by the UPF (TS 29.244 clause 6.2.6.3).
impl Associations {
    /// Initiates an association with this peer, now and whenever it is lost. No effect if that is already so.
    pub(crate) fn associate(
        &mut self,
        now: Time,
        peer: SocketAddr,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        if self.targets.contains(peer) {
            return;
        }
        let there = self.iter().find(|association| association.peer == peer);
        match there.map(|association| association.id) {
            Some(id) => self.targets.set(peer, Target::Up(id)),
            None => self.send_association_setup(now, peer, transactions, out),
        }
    }

    /// The UPF initiates associations with these peers, and with no others. Existing associations stay.
    pub(crate) fn set_targets(
        &mut self,
        now: Time,
        peers: &[SocketAddr],
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        self.targets.retain(peers);
        for peer in peers {
            self.associate(now, *peer, transactions, out);
        }
    }

    /// Retries the setups whose delay has passed.
    pub(crate) fn retry_targets(&mut self, now: Time, transactions: &mut Transactions, out: &mut Outputs) {
        for peer in self.targets.due(now) {
            self.send_association_setup(now, peer, transactions, out);
        }
    }

    fn send_association_setup(
        &mut self,
        now: Time,
        peer: SocketAddr,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        self.targets.set(peer, Target::Pending);
        let request = AssociationSetupRequest {
            up_function_features: Some(self.features),
            ue_ip_address_pool_information: pool_information(&self.config.address_pools).into(),
            ..AssociationSetupRequest::new(NodeId::from(&self.config.node), RecoveryTimeStamp(self.recovery))
        };
        transactions.request(now, peer, &request.into(), Purpose::Setup(peer), out);
    }

    /// A setup that the UPF initiated failed: it is retried later.
    pub(crate) fn setup_failed(
        &mut self,
        now: Time,
        peer: SocketAddr,
        reason: SetupFailure,
        out: &mut Outputs,
    ) {
        if self.targets.contains(peer) {
            self.targets.set(peer, Target::RetryAt(now + self.config.associate_retry));
        }
        out.notice(Notice::AssociationFailed { peer, reason });
    }

    /// The SMF of this association has lost it: the setup is sent again, if the UPF initiates it.
    pub(crate) fn set_up_again(
        &mut self,
        now: Time,
        id: AssociationId,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        if let Some(peer) = self.targets.of(id) {
            self.send_association_setup(now, peer, transactions, out);
        }
    }

    /// Initiates no more associations.
    pub(crate) fn forget_targets(&mut self, transactions: &mut Transactions) {
        self.targets.clear();
        transactions.cancel(|purpose| matches!(purpose, Purpose::Setup(_)));
    }

    /// What the response of a peer to a setup announces about it.
    ///
    /// # Errors
    /// It rejects the setup, or is malformed.
    pub(crate) fn answered_contact(
        peer: SocketAddr,
        from: SocketAddr,
        node: &causeway_types::NodeId,
        answer: &AssociationSetupResponse<'_>,
    ) -> Result<Contact, SetupFailure> {
        if !answer.cause.is_accepted() {
            return Err(SetupFailure::Refused(answer.cause));
        }
        let recovery = answer.recovery_time_stamp.ok_or(SetupFailure::Malformed)?;
        let alternatives = alternatives(answer.alternative_smf_ip_addresses.iter());
        Ok(Contact {
            peer,
            source: from,
            addresses: addresses(from, node, alternatives.iter().map(|(ip, _)| *ip)),
            alternatives,
            cp_features: answer.cp_function_features.unwrap_or_default(),
            smf_set: answer.smf_set_id.as_ref().map(set_name),
            recovery: recovery.0,
        })
    }
}
