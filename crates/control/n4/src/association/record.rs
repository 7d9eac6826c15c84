//! An association as another member of a chain of UPFs had it.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::CpFeatures;
use causeway_types::{NodeId, NtpSeconds, Time, transfer_fields};

use super::{Association, Associations, Contact};
use crate::left_out::LeftOut;
use crate::output::Outputs;
use crate::transaction::Transactions;

/// What is known of a peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AssociationRecord {
    pub(crate) node: NodeId,
    peer: SocketAddr,
    source: SocketAddr,
    addresses: Vec<IpAddr>,
    alternatives: Vec<(IpAddr, bool)>,
    cp_features: u32,
    smf_set: Option<String>,
    recovery: NtpSeconds,
    /// The Recovery Time Stamps of its other PFCP entities.
    entities: BTreeMap<IpAddr, NtpSeconds>,
    refuses_paging_policy: bool,
    left_out: u8,
}

transfer_fields! {
    AssociationRecord {
        node, peer, source, addresses, alternatives, cp_features, smf_set, recovery, entities,
        refuses_paging_policy, left_out,
    }
}

impl AssociationRecord {
    /// The record of an association.
    pub(crate) fn of(association: &Association) -> Self {
        let Contact { peer, source, addresses, alternatives, cp_features, smf_set, recovery } =
            association.contact();
        Self {
            node: association.node.clone(),
            peer,
            source,
            addresses,
            alternatives,
            cp_features: cp_features.bits(),
            smf_set,
            recovery,
            entities: association.entities.clone(),
            refuses_paging_policy: association.refuses_paging_policy,
            left_out: association.left_out.bits(),
        }
    }
}

impl Associations {
    /// Begins an association that another member had.
    pub(crate) fn restore(
        &mut self,
        now: Time,
        record: AssociationRecord,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        let contact = Contact {
            peer: record.peer,
            source: record.source,
            addresses: record.addresses,
            alternatives: record.alternatives,
            cp_features: CpFeatures::from_bits_retain(record.cp_features),
            smf_set: record.smf_set,
            recovery: record.recovery,
        };
        let id = match self.of_node(&record.node) {
            Some(known) => {
                self.renew(now, known, contact);
                known
            }
            None => self.begin(now, &record.node, contact, transactions, out),
        };
        let left_out = LeftOut::from_bits(record.left_out);
        if let Some(association) = self.get_mut(id) {
            association.entities = record.entities;
            association.refuses_paging_policy = record.refuses_paging_policy;
        }
        self.leave_out(id, left_out, out);
    }
}
