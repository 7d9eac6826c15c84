//! Which sessions conflict with an address or a framed route.
//!
//! Packets of a data network go to the session with the longest prefix that contains their destination. A session
//! takes packets of another one if its prefix equals a prefix of the other or lies inside one. If its prefix
//! contains that of the other, it takes none as long as the other exists. N4, which knows the SMFs, decides which
//! sessions may overlap.

use std::collections::BTreeSet;

use causeway_collections::SortedSet;
use causeway_model::RuleSet;
use causeway_types::{IpNet, Seid};

use super::prefix_map::{Family, Prefix};
use super::{Addresses, ClaimError, ClaimedPrefix, Network, PrefixKind};

/// The other sessions whose addresses overlap those of a request, by the kind of overlap.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OverlappingSessions {
    /// Their UE address and a requested one are equal, or one contains the other: for one SMF they belong to the
    /// same UE.
    pub same_ue: BTreeSet<Seid>,
    /// One route contains the other, or a UE address: each session keeps the packets of its own longer prefix.
    pub nested: BTreeSet<Seid>,
    /// The request takes their packets, or they would take its packets.
    pub taken: BTreeSet<Seid>,
    /// The framed routes that the request adds to the session.
    pub new_routes: Vec<IpNet>,
    /// The number of framed routes of the session after the request.
    pub routes: usize,
    /// The rules of the session after the request.
    pub rules: RuleSet,
}

impl OverlappingSessions {
    /// All of them; one may occur more than once.
    pub fn all(&self) -> impl Iterator<Item = Seid> {
        self.taken.iter().chain(&self.nested).chain(&self.same_ue).copied()
    }

    fn add(&mut self, relation: Relation, owner: Seid) {
        let of = match relation {
            Relation::SameUe => &mut self.same_ue,
            Relation::Nested => &mut self.nested,
            Relation::Conflict => &mut self.taken,
        };
        of.insert(owner);
    }
}

/// The maximum numbers of framed routes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteLimits {
    /// Of all sessions.
    pub total: usize,
    /// Of one session.
    pub per_session: usize,
}

impl Default for RouteLimits {
    fn default() -> Self {
        Self { total: 16_384, per_session: 64 }
    }
}

/// The relation of a requested prefix to an overlapping one of another session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relation {
    SameUe,
    Nested,
    Conflict,
}

impl Relation {
    fn between(requested: (PrefixKind, Prefix), held: (PrefixKind, Prefix)) -> Self {
        let (longer, shorter) =
            if requested.1.len > held.1.len { (requested, held) } else { (held, requested) };
        match (longer.0, shorter.0) {
            (PrefixKind::Ue, PrefixKind::Ue) => Self::SameUe,
            (_, PrefixKind::Route) if longer.1.len != shorter.1.len => Self::Nested,
            _ => Self::Conflict,
        }
    }
}

impl Network {
    /// Each prefix of another session that overlaps this one, with the relation and its session.
    fn overlaps(
        &self,
        session: Seid,
        kind: PrefixKind,
        net: &IpNet,
    ) -> impl Iterator<Item = (Relation, Seid)> {
        let (block, version) = match Family::of(net) {
            Family::V4 => (Prefix::of(net), &self.v4),
            Family::V6 => (Prefix::of(net), &self.v6),
        };
        let all = [(PrefixKind::Ue, &version.used), (PrefixKind::Route, &version.routes)].into_iter();
        all.flat_map(move |(held, claims)| {
            claims.overlapping(block).flat_map(move |(found, users)| {
                let relation = Relation::between((kind, block), (held, found));
                users.iter().filter(move |user| **user != session).map(move |user| (relation, *user))
            })
        })
    }
}

impl Addresses {
    /// Lets the next change overlap these sessions: their prefixes lie inside its own, or contain them.
    pub(crate) fn allow_overlaps(&mut self, sessions: BTreeSet<Seid>) {
        self.allowed_overlaps = sessions;
    }

    /// Another session has the prefix, or one that overlaps it.
    pub(super) fn is_in_use(&self, session: Seid, held: &ClaimedPrefix, net: &IpNet) -> bool {
        self.searched(held).any(|network| network.overlaps(session, held.kind, net).next().is_some())
    }

    fn searched(&self, held: &ClaimedPrefix) -> impl Iterator<Item = &Network> {
        let (one, all) = match held.all_networks {
            true => (None, Some(self.networks.values())),
            false => (self.networks.get(&held.network), None),
        };
        one.into_iter().chain(all.into_iter().flatten())
    }

    /// # Errors
    /// The conflicts with other sessions, the worst first; or too many framed routes.
    pub(super) fn check(
        &self,
        session: Seid,
        taken: &[ClaimedPrefix],
        new: &SortedSet<ClaimedPrefix>,
    ) -> Result<(), ClaimError> {
        let is_route = |held: &&ClaimedPrefix| held.kind == PrefixKind::Route;
        let new_routes = taken.iter().filter(is_route).map(|held| held.net).collect();
        let routes = new.iter().filter(is_route).count();
        let mut owners = OverlappingSessions { new_routes, routes, ..OverlappingSessions::default() };
        let mut worst: Option<(Relation, &ClaimedPrefix)> = None;
        for held in taken {
            for (relation, owner) in
                self.searched(held).flat_map(|network| network.overlaps(session, held.kind, &held.net))
            {
                if relation == Relation::Nested && self.allowed_overlaps.contains(&owner) {
                    continue;
                }
                owners.add(relation, owner);
                if worst.is_none_or(|(known, _)| (relation as u8) > (known as u8)) {
                    worst = Some((relation, held));
                }
            }
        }
        self.check_routes(&owners)?;
        match worst {
            Some((_, held)) => Err(ClaimError::InUse { held: held.clone(), owners: Box::new(owners) }),
            None => Ok(()),
        }
    }

    /// # Errors
    /// There would be too many framed routes, even without those of the same UE.
    fn check_routes(&self, owners: &OverlappingSessions) -> Result<(), ClaimError> {
        let (more, RouteLimits { total, per_session }) = (owners.new_routes.len(), self.limits);
        if more > 0 && owners.routes > per_session {
            return Err(ClaimError::TooMany { what: "framed routes in the session", limit: per_session });
        }
        let freed: usize = owners.same_ue.iter().filter_map(|owner| self.routed.get(owner)).sum();
        if more > 0 && self.routes + more > total + freed {
            return Err(ClaimError::TooMany { what: "framed routes of all sessions", limit: total });
        }
        Ok(())
    }
}
