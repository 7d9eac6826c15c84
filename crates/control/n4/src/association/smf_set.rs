//! SMF sets, whose members may all control a session (TS 29.244 clause 5.22).

use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::CpFeatures;

use super::{Association, AssociationId, Associations};

impl Associations {
    /// Both are the same association, or of SMFs of one set (clause 5.22.3).
    pub(crate) fn are_of_one_set(&self, one: AssociationId, other: AssociationId) -> bool {
        let set = |id| self.get(id).and_then(|association| association.smf_set.as_deref());
        one == other || set(one).is_some_and(|name| set(other) == Some(name))
    }

    /// The host belongs to the SMF of an association, or to another SMF of its set.
    pub(crate) fn is_authorized_for(&self, id: AssociationId, ip: IpAddr) -> bool {
        let Some(it) = self.get(id) else { return false };
        // Most SMFs belong to no set.
        it.uses_address(ip)
            || it.smf_set.is_some() && self.of_set(id).any(|association| association.uses_address(ip))
    }

    /// The associations of the SMF set that this one belongs to, this one first.
    pub(crate) fn of_set(&self, id: AssociationId) -> impl Iterator<Item = &Association> {
        let others = self.iter().filter(move |other| other.id != id && self.are_of_one_set(id, other.id));
        self.get(id).into_iter().chain(others)
    }

    /// Another association of the set whose path is up.
    pub(crate) fn available_set_member(&self, id: AssociationId) -> Option<AssociationId> {
        self.of_set(id).skip(1).find(|association| association.path_up).map(|association| association.id)
    }

    /// The associations of the SMF set that this one belongs to, this one first.
    pub(crate) fn ids_of_set(&self, id: AssociationId) -> Vec<AssociationId> {
        self.of_set(id).map(|association| association.id).collect()
    }

    /// The next destination of a session request that got no response at `current`: other entities of the SMF, the
    /// preferred ones first, then other SMFs of the set. None that was tried already.
    pub(crate) fn next_peer(
        &self,
        id: AssociationId,
        current: SocketAddr,
        has_tried: impl Fn(IpAddr) -> bool,
    ) -> Option<SocketAddr> {
        let association = self.get(id)?;
        let of_sets = CpFeatures::SSET | CpFeatures::MPAS;
        if !association.cp_features.intersects(of_sets) {
            return None;
        }
        let entities = |preferred| {
            let all =
                association.alternatives.iter().filter(move |(_, is_preferred)| *is_preferred == preferred);
            all.map(|(ip, _)| SocketAddr::new(*ip, association.peer.port()))
        };
        let siblings = self.of_set(id).filter(|it| it.path_up).map(|it| it.peer);
        let mut all = entities(true).chain(entities(false)).chain(siblings);
        all.find(|peer| !has_tried(peer.ip()) && peer.ip() != current.ip())
    }
}
