//! Authorization of SMFs and their addresses.

use std::cmp::Reverse;
use std::net::{IpAddr, Ipv4Addr};

use causeway_pfcp::{Cause, Ie, OffendingIe};
use causeway_types::{DualIp, FSeid, IpNet, NodeId, Time};

use super::contact::Contact;
use super::table::is_same_node;
use super::{Association, AssociationId, Associations};
use crate::output::Outputs;
use crate::transaction::{RequestKey, RequestRefusal, Transactions};
use crate::{KnownSmf, Notice, RefusalReason};

fn is_in(nets: &[IpNet], ip: IpAddr) -> bool {
    nets.iter().any(|net| net.contains(&ip.to_canonical()) || net.contains(&ip))
}

impl Associations {
    fn known_smf(&self, node: &NodeId) -> Option<&KnownSmf> {
        self.config.smfs.iter().find(|smf| is_same_node(&super::canonical(&smf.node), node))
    }

    /// This host may be an SMF.
    fn is_allowed_smf(&self, ip: IpAddr) -> bool {
        let known = self.config.smfs.iter().any(|smf| is_in(&smf.addresses, ip));
        self.config.allow.is_empty() || is_in(&self.config.allow, ip) || known
    }

    /// The reason to reject an association setup from this host with this Node ID, if there is one.
    pub(crate) fn setup_refusal(&self, from: IpAddr, node: &NodeId) -> Option<RequestRefusal> {
        let reason = if !self.is_allowed_smf(from) {
            RefusalReason::HostNotAllowed
        } else if self.known_smf(node).is_some_and(|smf| !is_in(&smf.addresses, from)) {
            RefusalReason::NodeElsewhere
        } else {
            return None;
        };
        Some(RequestRefusal::new(Cause::RequestRejected, reason))
    }

    /// The configuration lists this host for this Node ID.
    pub(crate) fn is_configured_at(&self, node: &NodeId, from: IpAddr) -> bool {
        self.known_smf(node).is_some_and(|smf| is_in(&smf.addresses, from))
    }

    /// Removes unauthorized information from a setup: an SMF set to which the SMF is not known to belong, and addresses
    /// that may not be an SMF's, or are those of another SMF.
    pub(crate) fn authorized_contact(
        &self,
        node: &NodeId,
        mut contact: Contact,
        out: &mut Outputs,
    ) -> Contact {
        if let Some(set) = contact.smf_set.take_if(|set| !self.may_join_set(node, set)) {
            out.notice(Notice::SmfSetRejected { node: node.clone(), peer: contact.peer, set });
        }
        let (own, set) = (contact.source.ip(), contact.smf_set.clone());
        let is_other = |it: &Association, ip| {
            let same_set = set.is_some() && it.smf_set == set;
            !is_same_node(&it.node, node) && it.source.ip() == ip && !same_set
        };
        let may =
            |ip: IpAddr| ip == own || self.is_allowed_smf(ip) && !self.iter().any(|it| is_other(it, ip));
        contact.addresses.retain(|ip| may(*ip));
        contact.alternatives.retain(|(ip, _)| may(*ip));
        contact
    }

    /// The SMF with this Node ID may belong to this set.
    pub(super) fn may_join_set(&self, node: &NodeId, set: &str) -> bool {
        let known = self.known_smf(node).and_then(|smf| smf.set.as_deref());
        known.map_or(self.config.any_set, |known| known.eq_ignore_ascii_case(set))
    }

    /// The host is known to belong to the SMF of an association, or to another SMF of its set: by the accepted contents
    /// of their setups, or by the configuration.
    pub(crate) fn is_host_of(&self, id: AssociationId, ip: IpAddr) -> bool {
        if self.is_authorized_for(id, ip) {
            return true;
        }
        let Some(association) = self.get(id) else { return false };
        let set = association.smf_set.as_deref();
        let is_of_set = |smf: &KnownSmf| {
            smf.set.as_deref().zip(set).is_some_and(|(known, set)| known.eq_ignore_ascii_case(set))
        };
        let is_it =
            |smf: &&KnownSmf| is_same_node(&association.node, &super::canonical(&smf.node)) || is_of_set(smf);
        self.config.smfs.iter().filter(is_it).any(|smf| is_in(&smf.addresses, ip))
    }

    /// The CP F-SEID in a message from this host. Reports are sent to its address, so that must be the sender's or
    /// another one of the SMF or its set. An address of the other IP version that belongs to no known SMF is removed:
    /// SMFs with both versions send both, and use one.
    ///
    /// # Errors
    /// None of its addresses is the SMF's, or one is another SMF's.
    #[inline]
    pub(crate) fn end_of(&self, id: AssociationId, from: IpAddr, cp: FSeid) -> Result<FSeid, RequestRefusal> {
        // Most SMFs send their source address, and no other.
        let is_sender = match (cp.addr, from) {
            (DualIp { v4: Some(ip), v6: None }, IpAddr::V4(from)) => ip == from,
            (DualIp { v4: None, v6: Some(ip) }, IpAddr::V6(from)) => ip == from,
            _ => false,
        };
        if is_sender { Ok(cp) } else { self.end_elsewhere(id, from, cp) }
    }

    #[inline(never)]
    fn end_elsewhere(&self, id: AssociationId, from: IpAddr, cp: FSeid) -> Result<FSeid, RequestRefusal> {
        let mut known = DualIp::default();
        for ip in cp.addr.iter() {
            match ip {
                _ if ip != from && !self.is_host_of(id, ip) => {
                    if self.knows(ip) {
                        return Err(foreign_end(ip));
                    }
                }
                IpAddr::V4(ip) => known.v4 = Some(ip),
                IpAddr::V6(ip) => known.v6 = Some(ip),
            }
        }
        match known.preferred() {
            Some(_) => Ok(FSeid { addr: known, ..cp }),
            None => Err(foreign_end(cp.addr.preferred().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)))),
        }
    }

    /// The association to evict when the limit is reached and another one is set up: one without sessions. Those whose
    /// SMF never responded are evicted first, then those of hosts that have many. The only association of a host stays
    /// if its SMF responds or the configuration lists it.
    pub(crate) fn eviction_candidate(&self) -> Option<AssociationId> {
        let answers = |it: &Association| it.is_proven && it.path_up;
        let may_go =
            |it: &&Association| it.sessions() == 0 && it.claim.is_none() && (!answers(it) || it.of_host > 1);
        let rank = |it: &Association| (answers(it), Reverse(it.of_host), it.since, it.id);
        let mut first: Option<&Association> = None;
        // This runs for each setup while the limit is reached.
        for it in self.iter().filter(may_go) {
            if first.is_none_or(|first| rank(it) < rank(first)) && !self.is_named(it) {
                first = Some(it);
            }
        }
        first.map(|it| it.id)
    }

    /// The configuration lists the SMF, or its host alone.
    fn is_named(&self, it: &Association) -> bool {
        let is_host = |net: &IpNet| net.prefix_len() == net.max_prefix_len() && net.contains(&it.source.ip());
        self.known_smf(&it.node).is_some()
            || self.targets.of(it.id).is_some()
            || it.of_host == 1 && self.config.allow.iter().any(is_host)
    }

    /// The limit of associations is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.config.limits.associations
    }

    /// New sessions are rejected while the association is being released (clause 5.18.1).
    pub(crate) fn refuse_while_releasing(&self, association: AssociationId) -> Result<(), RequestRefusal> {
        let is_leaving = self.get(association).is_some_and(|it| it.is_leaving());
        if is_leaving {
            return Err(RequestRefusal::new(Cause::NoResourcesAvailable, RefusalReason::AssociationReleased));
        }
        Ok(())
    }

    /// The association of the Node ID in the request, if the sender is authorized for that node.
    pub(crate) fn authorized_association(
        &self,
        key: RequestKey,
        node: &NodeId,
    ) -> Result<AssociationId, RequestRefusal> {
        self.spoken_for(key.from.ip(), node).ok_or_else(|| {
            RequestRefusal::new(Cause::NoEstablishedAssociation, RefusalReason::NodeNotAssociated)
        })
    }

    /// The association of this node, if this host is authorized for it.
    #[inline]
    pub(super) fn spoken_for(&self, from: IpAddr, node: &NodeId) -> Option<AssociationId> {
        let association = self.at_node(node).filter(|it| it.uses_address(from));
        association.map(|association| association.id)
    }

    /// The association of the requesting SMF, if that may control the sessions of the current one.
    pub(crate) fn authorized_successor(
        &self,
        key: RequestKey,
        held: AssociationId,
        node: &NodeId,
    ) -> Option<AssociationId> {
        let is_able = |id: &AssociationId| {
            self.are_of_one_set(held, *id) && self.get(*id).is_some_and(|it| it.uses_address(key.from.ip()))
        };
        self.of_node(node).filter(is_able)
    }

    /// The association of the Node ID in a request, if its sender is authorized for that node; otherwise the request is
    /// rejected.
    pub(crate) fn named(
        &self,
        now: Time,
        key: RequestKey,
        node: &NodeId,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) -> Option<AssociationId> {
        // Some SMFs send an unspecified address, which means the only association of their host.
        let is_nobody = matches!(node, NodeId::Ip(ip) if ip.to_canonical().is_unspecified());
        let named = self.of_node(node);
        let id = named.or_else(|| self.identify(key.from).filter(|_| is_nobody));
        let association = id.and_then(|id| self.get(id));
        if association.is_some_and(|association| association.uses_address(key.from.ip())) {
            return id;
        }
        let refusal = RequestRefusal::new(Cause::NoEstablishedAssociation, RefusalReason::NodeNotAssociated);
        transactions.refuse_node(now, key, refusal, out);
        None
    }

    /// At least half of the limit of associations is in use.
    pub(super) fn is_half_full(&self) -> bool {
        self.len() >= self.config.limits.associations / 2
    }
}

fn foreign_end(ip: IpAddr) -> RequestRefusal {
    RequestRefusal {
        offending_ie: Some(OffendingIe(FSeid::TYPE)),
        ..RequestRefusal::new(Cause::MandatoryIeIncorrect, RefusalReason::UnknownFSeidAddress(ip))
    }
}
