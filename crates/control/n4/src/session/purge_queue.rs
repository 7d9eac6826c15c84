//! Sessions that are to go, many at a time: to their SMFs they are gone at once, and they are worked on a few at a time.

use std::collections::VecDeque;
use std::net::IpAddr;

use causeway_types::Seid;

use super::session_sets::Csid;
use super::state::Session;
use super::{PendingRequests, Sessions};
use crate::Notice;
use crate::association::AssociationId;

/// Which sessions of associations are to go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PurgeFilter {
    /// All.
    All,
    /// Those whose SMF's end is at none of these addresses.
    NotAt(Vec<IpAddr>),
    /// Those of these sets.
    In(Vec<Csid>),
    /// Those that were established before this life of their SMF, of the end at one address if there is one, but for those whose end is
    /// at one of the kept addresses; none: all are kept.
    Before {
        /// The life that has begun.
        epoch: u32,
        /// The address.
        at: Option<IpAddr>,
        /// Where sessions are kept.
        retained: Option<Vec<IpAddr>>,
    },
}

impl PurgeFilter {
    /// The session is to go.
    pub(crate) fn covers(&self, session: &Session) -> bool {
        match self {
            Self::All => true,
            Self::NotAt(kept) => !kept.iter().any(|ip| session.cp.addr.contains(*ip)),
            Self::Before { epoch, at, retained: kept } => {
                let is_at = |ip: &IpAddr| session.cp.addr.contains(*ip);
                let is_kept = |kept: &Vec<IpAddr>| kept.is_empty() || kept.iter().any(is_at);
                session.origin.epoch < *epoch
                    && at.as_ref().is_none_or(is_at)
                    && !kept.as_ref().is_some_and(is_kept)
            }
            Self::In(sets) => session.membership().is_some_and(|of| of.is_in(sets)),
        }
    }
}

/// What becomes of the sessions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RemovalMode {
    /// To their SMF they are gone already; this becomes of their requests.
    Purged(PendingRequests),
    /// Their SMF hears of each when that ends.
    Released,
}

/// Sessions that are to go.
#[derive(Debug)]
pub(crate) struct Purge {
    /// What is told when all have been met.
    pub(crate) notice: Option<Notice>,
    /// How many have been met that are to go.
    pub(crate) purged: usize,
    associations: VecDeque<AssociationId>,
    unwanted: PurgeFilter,
    fate: RemovalMode,
    /// The number of the purge: sessions that came later stay.
    number: u32,
    /// The sessions of the first association from this one on have been met.
    at: usize,
}

/// What comes of a look at the next session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PurgeStep {
    /// It is to go so.
    Remove(Seid, RemovalMode),
    /// It stays, or goes already.
    Keep,
}

impl Sessions {
    /// These sessions are to go from now on.
    pub(crate) fn begin_purge(
        &mut self,
        associations: Vec<AssociationId>,
        unwanted: PurgeFilter,
        fate: RemovalMode,
    ) {
        self.purges_begun = self.purges_begun.wrapping_add(1);
        let at = associations.first().map_or(0, |id| self.members.of(*id).len());
        self.purges.push_back(Purge {
            notice: None,
            purged: 0,
            associations: associations.into(),
            unwanted,
            fate,
            number: self.purges_begun,
            at,
        });
    }

    /// The last purge that has begun, and is not over.
    pub(crate) fn last_purge(&mut self) -> Option<&mut Purge> {
        self.purges.back_mut()
    }

    /// Some sessions are still to be worked on.
    pub(crate) fn has_purges(&self) -> bool {
        !self.purges.is_empty()
    }

    /// How many purges are not over.
    pub(crate) fn purges_under_way(&self) -> usize {
        self.purges.len()
    }

    /// Looks at one more session of the purge that began first. `None`: all of them have been met, and that is over.
    pub(crate) fn next_purge_step(&mut self) -> Option<PurgeStep> {
        let Self { purges, members, all, .. } = self;
        let purge = purges.front_mut()?;
        let of_it = members.of(*purge.associations.front()?);
        // What has left has made room for the last ones, which had been met.
        purge.at = purge.at.min(of_it.len());
        let Some(next) = purge.at.checked_sub(1) else {
            purge.associations.pop_front();
            purge.at = purge.associations.front().map_or(0, |id| members.of(*id).len());
            return (!purge.associations.is_empty()).then_some(PurgeStep::Keep);
        };
        purge.at = next;
        let session = of_it.get(next).and_then(|index| all.get(*index));
        let next =
            session.filter(|it| !it.marked_for_removal && purge.was_present(it) && purge.unwanted.covers(it));
        purge.purged += usize::from(next.is_some());
        Some(next.map_or(PurgeStep::Keep, |session| PurgeStep::Remove(session.seid, purge.fate)))
    }

    /// The purge that began first is over.
    pub(crate) fn end_purge(&mut self) -> Option<Purge> {
        self.purges.pop_front()
    }

    /// To its SMF the session is gone, although nothing has been done about it.
    #[inline]
    pub(crate) fn is_in_purge(&self, session: &Session) -> bool {
        !self.purges.is_empty() && self.purge_mode(session).is_some()
    }

    /// The same, and what becomes of its requests.
    pub(crate) fn purge_mode(&self, session: &Session) -> Option<PendingRequests> {
        self.purges.iter().find_map(|purge| purge.selects(session))
    }

    /// The same; it is not among those that its association counts any more, since all of its sessions go.
    pub(crate) fn is_uncounted(&self, session: &Session) -> bool {
        let all = |purge: &&Purge| purge.unwanted == PurgeFilter::All;
        self.purges.iter().filter(all).any(|purge| purge.selects(session).is_some())
    }

    /// To its SMF the session is gone, or about to go without its asking.
    #[inline]
    pub(crate) fn is_ending(&self, session: &Session) -> bool {
        session.is_ending() || self.is_in_purge(session)
    }
}

impl Purge {
    fn selects(&self, session: &Session) -> Option<PendingRequests> {
        let RemovalMode::Purged(open) = self.fate else { return None };
        let is_of_it = self.associations.contains(&session.association);
        (is_of_it && self.was_present(session) && self.unwanted.covers(session)).then_some(open)
    }

    /// The session was there when the purge began.
    const fn was_present(&self, session: &Session) -> bool {
        // The numbers begin again after 2^32.
        (self.number.wrapping_sub(session.purges_before) as i32) > 0
    }
}
