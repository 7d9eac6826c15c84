//! What a peer announced about itself.

use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::{AlternativeSmfIpAddress, AssociationUpdateRequest, CpFeatures, SmfSetId};
use causeway_types::NtpSeconds;

use super::{Association, AssociationId, Associations};
use crate::output::Outputs;

/// The contents of an association setup about the peer.
#[derive(Debug)]
pub(crate) struct Contact {
    pub(crate) peer: SocketAddr,
    pub(crate) source: SocketAddr,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) alternatives: Vec<(IpAddr, bool)>,
    pub(crate) cp_features: CpFeatures,
    pub(crate) smf_set: Option<String>,
    pub(crate) recovery: NtpSeconds,
}

/// The most alternative addresses of a peer that are stored.
const MAX_ALTERNATIVE_ADDRESSES: usize = 16;

/// The alternative addresses of a peer, and which of them are preferred (TS 29.244 clause 8.2.129).
pub(super) fn alternatives(ies: impl Iterator<Item = AlternativeSmfIpAddress>) -> Vec<(IpAddr, bool)> {
    let all = ies.flat_map(|ie| ie.addr.iter().map(move |ip| (ip, ie.preferred)));
    all.filter(|(ip, _)| !ip.is_unspecified()).take(MAX_ALTERNATIVE_ADDRESSES).collect()
}

/// The name of an SMF set, in the form in which names are compared, regardless of case.
pub(super) fn set_name(set: &SmfSetId<'_>) -> String {
    set.0.to_string().to_ascii_lowercase()
}

/// The source addresses of a peer.
pub(crate) fn addresses(
    from: SocketAddr,
    node: &causeway_types::NodeId,
    alternatives: impl Iterator<Item = IpAddr>,
) -> Vec<IpAddr> {
    let mut addresses = vec![from.ip()];
    let own = if let causeway_types::NodeId::Ip(ip) = node { Some(*ip) } else { None };
    for ip in own.into_iter().chain(alternatives) {
        if !addresses.contains(&ip) && !ip.is_unspecified() {
            addresses.push(ip);
        }
    }
    addresses
}

impl Associations {
    /// Applies the update of a peer. Returns the addresses that it had.
    pub(crate) fn update(
        &mut self,
        id: AssociationId,
        request: &AssociationUpdateRequest<'_>,
        out: &mut Outputs,
    ) -> Vec<IpAddr> {
        let Some(association) = self.get_mut(id) else { return Vec::new() };
        let had = association.addresses.clone();
        association.update(request);
        // As in a setup, unauthorized information is removed.
        let mut claimed = association.contact();
        if let Some(set) = &request.smf_set_id {
            claimed.smf_set = Some(set_name(set));
        }
        let node = association.node.clone();
        let Contact { addresses, alternatives, smf_set, .. } = self.authorized_contact(&node, claimed, out);
        if let Some(association) = self.get_mut(id) {
            (association.addresses, association.alternatives) = (addresses, alternatives);
            association.smf_set = smf_set;
            let Association { entities, addresses, .. } = association;
            entities.retain(|ip, _| addresses.contains(ip));
        }
        had
    }
}
