//! Purges: for SMFs all their sessions no longer exist; the data plane removes them in batches.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use causeway_types::{Seid, Time};

use super::Sessions;
use super::session_sets::Csid;
use super::state::Session;
use crate::Notice;
use crate::association::AssociationId;
use crate::transaction::RequestKey;

/// The most plans in flight that remove sessions without a request of their SMF, where there are many.
const MAX_REMOVALS_IN_FLIGHT: usize = 64;

/// The number of sessions removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PurgeCount {
    /// This number.
    Counted(usize),
    /// Known only after all have been examined.
    Later,
}

/// What the parts of N4 have purged together, until the last of them has ended its purge.
#[derive(Debug)]
pub(crate) struct PurgeTally {
    notice: Notice,
    /// The purges in progress, and the sessions removed by the others.
    sums: Mutex<(usize, usize)>,
}

impl PurgeTally {
    /// So many purges are in progress, and so many sessions have been removed already.
    pub(crate) const fn new(notice: Notice, purges: usize, purged: usize) -> Self {
        Self { notice, sums: Mutex::new((purges, purged)) }
    }

    /// A purge has ended, which removed so many sessions. Returns the notice if it was the last.
    pub(crate) fn end(&self, more: usize) -> Option<Notice> {
        // A panic while they were locked ends the process.
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let (purges, purged) = &mut *sums;
        *purges = purges.saturating_sub(1);
        *purged += more;
        (*purges == 0).then(|| self.notice.clone().with_purged(*purged))
    }
}

/// Treatment of the pending requests of a session that ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PendingRequests {
    /// Their SMF still waits: they get a response.
    Answer,
    /// They are discarded: the SMF has restarted or released the association, and may reuse their sequence numbers.
    Forget,
}

/// The sessions of a purge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PurgeFilter {
    /// All.
    All,
    /// Those whose CP F-SEID has none of these addresses.
    NotAt(Vec<IpAddr>),
    /// Those of these session sets.
    In(BTreeSet<Csid>),
    /// Those established before this restart epoch of their SMF, only with this address in the CP F-SEID if there is
    /// one, except those with a retained address; none: all are retained.
    Before {
        /// The restart epoch that has begun.
        epoch: u32,
        /// The address.
        at: Option<IpAddr>,
        /// The retained addresses.
        retained: Option<Vec<IpAddr>>,
    },
}

impl PurgeFilter {
    /// The session is part of the purge.
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

/// The kind of removal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RemovalMode {
    /// For their SMF they no longer exist; their requests are treated so.
    Purged(PendingRequests),
    /// Each is reported to its SMF when it ends.
    Released,
}

/// A purge in progress.
#[derive(Debug)]
pub(crate) struct Purge {
    /// The sum of the purges of all parts, and the notice to emit at the end.
    pub(crate) tally: Option<Arc<PurgeTally>>,
    /// The number of sessions found so far.
    pub(crate) purged: usize,
    associations: VecDeque<AssociationId>,
    unwanted: PurgeFilter,
    fate: RemovalMode,
    /// The number of the purge: sessions created later are not part of it.
    number: u32,
    /// The sessions of the first association from this position on have been examined.
    at: usize,
}

/// The result of examining the next session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PurgeStep {
    /// It is removed in this way.
    Remove(Seid, RemovalMode),
    /// It stays, or is being removed already.
    Keep,
}

impl Sessions {
    /// The sessions of an association, without those marked for removal.
    pub(crate) fn going_on(&self, id: AssociationId) -> impl Iterator<Item = &Session> {
        let goes_on = |session: &&Session| !session.marked_for_removal && !self.is_in_purge(session);
        self.of_association(id).filter(goes_on)
    }

    /// The same in the order of their SEIDs.
    pub(crate) fn seids_of(&self, id: AssociationId) -> Vec<Seid> {
        let mut sessions: Vec<_> = self.going_on(id).map(|session| session.seid).collect();
        sessions.sort_unstable();
        sessions
    }

    /// The association has a session whose CP F-SEID has one of these addresses.
    pub(crate) fn has_sessions_at(&self, id: AssociationId, ips: &[IpAddr]) -> bool {
        let mut sessions = self.of_association(id);
        sessions
            .any(|session| !session.marked_for_removal && ips.iter().any(|ip| session.cp.addr.contains(*ip)))
    }

    /// The treatment of one request about such a session: an SMF that has restarted waits for responses to requests of
    /// its new epoch.
    pub(crate) fn open_request(
        &self,
        seid: Seid,
        key: &RequestKey,
        open: PendingRequests,
    ) -> PendingRequests {
        let is_later = |session: &Session| key.epoch > session.origin.epoch;
        if self.get(seid).is_some_and(is_later) { PendingRequests::Answer } else { open }
    }

    /// The session is part of a purge that has not reached it: for its SMF it no longer exists.
    pub(crate) fn is_seid_in_purge(&self, seid: Seid) -> bool {
        self.has_purges() && self.get(seid).is_some_and(|session| self.is_in_purge(session))
    }

    /// The same, and its association no longer counts it.
    pub(crate) fn is_uncounted(&self, seid: Seid) -> bool {
        self.has_purges() && self.get(seid).is_some_and(|session| self.does_not_count(session))
    }

    /// Marks a session for removal: for its SMF it no longer exists. Its UE addresses are released immediately. `None`: it
    /// is marked already.
    pub(crate) fn mark_for_removal(&mut self, seid: Seid) -> Option<&Session> {
        let session = self.get_mut(seid).filter(|session| !session.marked_for_removal)?;
        session.marked_for_removal = true;
        self.forget_cp(seid);
        self.release_addresses(seid);
        self.get(seid)
    }

    /// Purges may continue: few plans that remove sessions are in flight.
    pub(crate) fn may_continue_purge(&self) -> bool {
        self.has_purges() && self.removals_in_flight < MAX_REMOVALS_IN_FLIGHT
    }

    /// Schedules the next part of the purges, unless they wait for a plan in flight.
    pub(crate) fn schedule_purge(&mut self, now: Time) {
        self.purge_due = self.may_continue_purge().then_some(now);
    }

    /// Purges continue at that time.
    pub(crate) const fn continue_purge_at(&mut self, at: Time) {
        self.purge_due = Some(at);
    }

    /// When purges continue, or removals are retried.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        self.removals.first().map(|(time, _)| *time).into_iter().chain(self.purge_due).min()
    }

    /// Begins a purge of these sessions.
    pub(crate) fn begin_purge(
        &mut self,
        associations: Vec<AssociationId>,
        unwanted: PurgeFilter,
        fate: RemovalMode,
    ) {
        self.purges_begun = self.purges_begun.wrapping_add(1);
        let at = associations.first().map_or(0, |id| self.members.of(*id).len());
        self.purges.push_back(Purge {
            tally: None,
            purged: 0,
            associations: associations.into(),
            unwanted,
            fate,
            number: self.purges_begun,
            at,
        });
    }

    /// The last purge that began, if it has not ended.
    pub(crate) fn last_purge(&mut self) -> Option<&mut Purge> {
        self.purges.back_mut()
    }

    /// A purge is in progress.
    pub(crate) fn has_purges(&self) -> bool {
        !self.purges.is_empty()
    }

    /// The number of purges in progress.
    pub(crate) fn purges_under_way(&self) -> usize {
        self.purges.len()
    }

    /// Examines one more session of the oldest purge. `None`: all were examined, and the purge is complete.
    pub(crate) fn next_purge_step(&mut self) -> Option<PurgeStep> {
        let Self { purges, members, all, .. } = self;
        let purge = purges.front_mut()?;
        let of_it = members.of(*purge.associations.front()?);
        // Removed sessions were replaced by the last ones of the list, which had been examined.
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

    /// Ends the oldest purge.
    pub(crate) fn end_purge(&mut self) -> Option<Purge> {
        self.purges.pop_front()
    }

    /// The session is part of a purge that has not reached it: for its SMF it no longer exists.
    #[inline]
    pub(crate) fn is_in_purge(&self, session: &Session) -> bool {
        !self.purges.is_empty() && self.purge_mode(session).is_some()
    }

    /// The same, with the treatment of its requests.
    pub(crate) fn purge_mode(&self, session: &Session) -> Option<PendingRequests> {
        self.purges.iter().find_map(|purge| purge.selects(session))
    }

    /// The same, and its association no longer counts it, since all of its sessions are removed.
    pub(crate) fn does_not_count(&self, session: &Session) -> bool {
        let all = |purge: &&Purge| purge.unwanted == PurgeFilter::All;
        self.purges.iter().filter(all).any(|purge| purge.selects(session).is_some())
    }

    /// The session is ending or part of a purge.
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

    /// The session existed when the purge began.
    const fn was_present(&self, session: &Session) -> bool {
        // The numbers wrap after 2^32.
        (self.number.wrapping_sub(session.purges_before) as i32) > 0
    }
}
