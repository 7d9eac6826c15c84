//! Which sessions stand in the way of an address or a framed route.
//!
//! Packets of a data network go to the session with the longest prefix around their destination. So a session takes
//! packets away from another one where its prefix is the same or lies in the other's. Where it lies around the other's,
//! it takes none while the other is there. Who may stand beside whom is decided by N4, which knows the SMFs.

use std::collections::BTreeSet;

use causeway_types::{IpNet, Seid};

use super::blocks::{Block, Family};
use super::{Addresses, Held, KeepError, Network, Title};
use crate::SortedSet;

/// The other sessions that have something of what a session asks for, by how it overlaps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Owners {
    /// Their UE address and one that is asked for are the same, or one lies in the other: they are of the same UE, as
    /// far as one SMF is concerned.
    pub same_ue: BTreeSet<Seid>,
    /// A route lies in a longer one, or around a UE address: each keeps the packets of its own longer prefix.
    pub nested: BTreeSet<Seid>,
    /// What is asked for takes packets of theirs, or they would take its packets.
    pub taken: BTreeSet<Seid>,
    /// The framed routes that the session asks for and has not had.
    pub new_routes: Vec<IpNet>,
    /// How many framed routes it would have.
    pub routes: usize,
}

impl Owners {
    /// All of them; one may come more than once.
    pub fn all(&self) -> impl Iterator<Item = Seid> {
        self.taken.iter().chain(&self.nested).chain(&self.same_ue).copied()
    }

    fn add(&mut self, relation: Relation, owner: Seid) {
        let of = match relation {
            Relation::SameUe => &mut self.same_ue,
            Relation::Nested => &mut self.nested,
            Relation::Taken => &mut self.taken,
        };
        of.insert(owner);
    }
}

/// How many framed routes there may be.
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

/// How a prefix that is asked for overlaps one that another session has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relation {
    SameUe,
    Nested,
    Taken,
}

impl Relation {
    fn between(asked: (Title, Block), held: (Title, Block)) -> Self {
        let (longer, shorter) = if asked.1.len > held.1.len { (asked, held) } else { (held, asked) };
        match (longer.0, shorter.0) {
            (Title::Ue, Title::Ue) => Self::SameUe,
            (_, Title::Route) if longer.1.len != shorter.1.len => Self::Nested,
            _ => Self::Taken,
        }
    }
}

impl Network {
    /// Each prefix of another session that overlaps this one, with how it does and whose it is.
    fn rivals(&self, session: Seid, title: Title, net: &IpNet) -> impl Iterator<Item = (Relation, Seid)> {
        let (block, version) = match Family::of(net) {
            Family::V4 => (Block::of(net), &self.v4),
            Family::V6 => (Block::of(net), &self.v6),
        };
        let all = [(Title::Ue, &version.used), (Title::Route, &version.routes)].into_iter();
        all.flat_map(move |(held, claims)| {
            claims.overlapping(block).flat_map(move |(found, users)| {
                let relation = Relation::between((title, block), (held, found));
                users.iter().filter(move |user| **user != session).map(move |user| (relation, *user))
            })
        })
    }
}

impl Addresses {
    /// The sessions of these may be beside the next change: their prefixes lie in its own, or around them.
    pub(crate) fn let_be(&mut self, sessions: BTreeSet<Seid>) {
        self.beside = sessions;
    }

    /// Another session has it, or what overlaps it.
    pub(super) fn is_disputed(&self, session: Seid, held: &Held, net: &IpNet) -> bool {
        self.searched(held).any(|network| network.rivals(session, held.title, net).next().is_some())
    }

    fn searched(&self, held: &Held) -> impl Iterator<Item = &Network> {
        let (one, all) = match held.everywhere {
            true => (None, Some(self.networks.values())),
            false => (self.networks.get(&held.network), None),
        };
        one.into_iter().chain(all.into_iter().flatten())
    }

    /// # Errors
    /// What the session would take that others have, the worst first; or too many framed routes.
    pub(super) fn check(
        &self,
        session: Seid,
        taken: &[Held],
        new: &SortedSet<Held>,
    ) -> Result<(), KeepError> {
        let is_route = |held: &&Held| held.title == Title::Route;
        let new_routes = taken.iter().filter(is_route).map(|held| held.net).collect();
        let routes = new.iter().filter(is_route).count();
        let mut owners = Owners { new_routes, routes, ..Owners::default() };
        let mut worst: Option<(Relation, &Held)> = None;
        for held in taken {
            for (relation, owner) in
                self.searched(held).flat_map(|network| network.rivals(session, held.title, &held.net))
            {
                if relation == Relation::Nested && self.beside.contains(&owner) {
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
            Some((_, held)) => Err(KeepError::Disputed { held: held.clone(), owners: Box::new(owners) }),
            None => Ok(()),
        }
    }

    /// # Errors
    /// There would be too many framed routes, even without those of the same UE.
    fn check_routes(&self, owners: &Owners) -> Result<(), KeepError> {
        let (more, RouteLimits { total, per_session }) = (owners.new_routes.len(), self.limits);
        if more > 0 && owners.routes > per_session {
            return Err(KeepError::TooMany { what: "framed routes in the session", limit: per_session });
        }
        let freed: usize = owners.same_ue.iter().filter_map(|owner| self.routed.get(owner)).sum();
        if more > 0 && self.routes + more > total + freed {
            return Err(KeepError::TooMany { what: "framed routes of all sessions", limit: total });
        }
        Ok(())
    }
}
