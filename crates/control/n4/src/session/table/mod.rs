//! The session table and its indices.

mod cp_seid_index;
mod prefetch;

use std::collections::VecDeque;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use causeway_collections::HashIndex;
use causeway_model::Plan;
use causeway_rules::{Instructions, PlannedChange};
use causeway_types::Seid;

use super::association_sessions::AssociationSessions;
use super::in_flight::{InFlight, InFlightPlan, PlanPurpose, QueuedRequest, QueuedWork};
use super::purge_queue::Purge;
use super::state::Session;
use crate::ApplyId;
use crate::association::AssociationId;
use crate::memory::{Footprint, Needed};
use crate::seid::SeidSequence;
use crate::slab::Slab;

/// The most buffers of completed plans that are kept for reuse.
const MAX_FREE_BOXES: usize = 256;

/// All sessions by the UPF's SEID, and the plans in flight.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    pub(super) all: Slab<Session>,
    /// The UPF's SEIDs, which contain the index of their sessions.
    seids: SeidSequence,
    /// The index found last: the same session is often looked up several times in a row.
    last: AtomicU32,
    /// Index by CP F-SEID, without sessions that are ending.
    by_cp: HashIndex,
    pub(super) members: AssociationSessions,
    /// The number of submitted plans.
    plans_submitted: u32,
    in_flight: usize,
    /// Buffers of completed plans, for reuse.
    free_boxes: Vec<InFlightPlan>,
    waiting_octets: usize,
    /// The memory that all sessions may need.
    needed: Needed,
    /// The purges in progress, the oldest first.
    pub(super) purges: VecDeque<Purge>,
    /// The number of purges begun, modulo 2^32.
    pub(super) purges_begun: u32,
}

impl Sessions {
    /// An empty table with this capacity: it never grows.
    pub(crate) fn with_capacity(sessions: usize, seids: SeidSequence) -> Self {
        let (all, by_cp) = (Slab::with_capacity(sessions), HashIndex::with_capacity(sessions));
        Self { all, seids, by_cp, ..Self::default() }
    }

    /// The SEID of the next session, which [`Sessions::insert`] allocates.
    pub(crate) fn next_seid(&self) -> Seid {
        self.seids.peek(self.all.vacant_index())
    }

    /// Inserts a session with [`Sessions::next_seid`]; no other was inserted since.
    pub(crate) fn insert(&mut self, session: Session) {
        let cp = session.cp;
        let index = self.enter(self.seids.index_of_seid(session.seid), session);
        self.index_cp(&cp, index);
    }

    /// The same for a session whose CP F-SEID no other session has.
    pub(super) fn insert_new(&mut self, session: Session) {
        let cp = session.cp;
        let index = self.enter(self.all.vacant_index(), session);
        cp.addr.iter().for_each(|ip| self.by_cp.insert((cp.seid, ip), index));
    }

    fn enter(&mut self, index: u32, mut session: Session) -> u32 {
        session.number = self.members.join(session.association, index);
        session.purges_before = self.purges_begun;
        self.needed.add(session.footprint);
        self.all.insert_at(index, session);
        self.seids.advance();
        self.last.store(index, Relaxed);
        index
    }

    #[inline]
    fn index_of(&self, seid: Seid) -> Option<u32> {
        let last = self.last.load(Relaxed);
        if self.is_at(last, seid) { Some(last) } else { self.find(seid) }
    }

    #[inline]
    fn is_at(&self, index: u32, seid: Seid) -> bool {
        self.all.get(index).is_some_and(|session| session.seid == seid)
    }

    /// The index of a session that was not the last one found.
    #[inline(never)]
    fn find(&self, seid: Seid) -> Option<u32> {
        let index = self.seids.index_of_seid(seid);
        let is_there = self.is_at(index, seid);
        is_there.then(|| self.last.store(index, Relaxed))?;
        Some(index)
    }

    #[inline]
    pub(crate) fn get(&self, seid: Seid) -> Option<&Session> {
        self.all.get(self.index_of(seid)?)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, seid: Seid) -> Option<&mut Session> {
        self.all.get_mut(self.index_of(seid)?)
    }

    /// Removes a session without a plan in flight.
    pub(crate) fn remove(&mut self, seid: Seid) -> Option<Session> {
        self.forget_cp(seid);
        let index = self.index_of(seid)?;
        let session = self.all.remove(index)?;
        self.leave(session.association, session.number);
        self.needed.remove(session.footprint);
        self.waiting_octets -= session.waiting().map(QueuedWork::octets).sum::<usize>();
        Some(session)
    }

    /// The memory that all sessions may need.
    pub(crate) const fn needed(&self) -> Needed {
        self.needed
    }

    /// The memory that a session may need.
    pub(super) fn footprint(&self, seid: Seid) -> Footprint {
        self.get(seid).map(|session| session.footprint).unwrap_or_default()
    }

    /// Sets the memory that the session may need.
    pub(super) fn set_footprint(&mut self, seid: Seid, footprint: Footprint) {
        let Some(index) = self.index_of(seid) else { return };
        let Some(session) = self.all.get_mut(index) else { return };
        let before = std::mem::replace(&mut session.footprint, footprint);
        self.needed.remove(before);
        self.needed.add(footprint);
    }

    /// Moves the session to another association. Returns the previous one.
    pub(crate) fn set_association(&mut self, seid: Seid, to: AssociationId) -> Option<AssociationId> {
        let index = self.index_of(seid)?;
        let (before, number) = self.all.get(index).map(|it| (it.association, it.number))?;
        self.leave(before, number);
        let number = self.members.join(to, index);
        let session = self.all.get_mut(index)?;
        (session.association, session.number) = (to, number);
        session.purges_before = self.purges_begun;
        Some(before)
    }

    fn leave(&mut self, association: AssociationId, number: u32) {
        let successor = self.members.leave(association, number);
        if let Some(successor) = successor.and_then(|index| self.all.get_mut(index)) {
            successor.number = number;
        }
    }

    /// The sessions of an association, in any order.
    pub(crate) fn of_association(&self, association: AssociationId) -> impl Iterator<Item = &Session> {
        self.members.of(association).iter().filter_map(|index| self.all.get(*index))
    }

    /// The number of sessions of an association, including those being removed.
    pub(crate) fn count_of(&self, association: AssociationId) -> usize {
        self.members.of(association).len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Session> {
        self.all.iter()
    }

    /// The session of a plan in flight, if the session is part of a purge.
    pub(crate) fn purged_session_of_plan(&self, id: ApplyId) -> Option<Seid> {
        if self.purges.is_empty() {
            return None;
        }
        let session = self.all.get(id.index_of()).filter(|session| !session.marked_for_removal)?;
        let is_its = session.in_flight.as_deref().is_some_and(|(known, _)| *known == id);
        (is_its && self.is_in_purge(session)).then_some(session.seid)
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// No session has this index, or a higher one.
    pub(crate) const fn len_upper_bound(&self) -> u32 {
        self.all.end()
    }

    /// The session with this index, if there is one.
    pub(crate) fn at(&self, index: u32) -> Option<&Session> {
        self.all.get(index)
    }

    /// Octets of the queued requests.
    pub(crate) const fn waiting_octets(&self) -> usize {
        self.waiting_octets
    }

    /// The number of plans in flight.
    pub(crate) const fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Stores a change of the session as in flight, and returns the plan for the data plane. No other plan of the
    /// session may be in flight.
    #[inline]
    pub(crate) fn start(&mut self, purpose: PlanPurpose, planned: PlannedChange) -> Option<(ApplyId, Plan)> {
        let PlannedChange { plan, pending } = planned;
        let id = self.begin(plan.session, InFlight { purpose, change: pending })?;
        Some((id, plan))
    }

    fn begin(&mut self, seid: Seid, in_flight: InFlight) -> Option<ApplyId> {
        let index = self.index_of(seid)?;
        self.plans_submitted = self.plans_submitted.wrapping_add(1);
        let id = ApplyId::new(self.plans_submitted, index);
        let session = self.all.get_mut(index)?;
        session.in_flight = Some(match self.free_boxes.pop() {
            Some(mut spare) => {
                *spare = (id, Some(in_flight));
                spare
            }
            None => Box::new((id, Some(in_flight))),
        });
        self.in_flight += 1;
        Some(id)
    }

    /// Ends a plan in flight: returns its session, whether that is marked for removal, and the plan.
    pub(crate) fn finish(&mut self, id: ApplyId) -> Option<(Seid, bool, InFlight)> {
        let session = self.all.get_mut(id.index_of())?;
        let mut held = session.in_flight.take_if(|held| held.0 == id)?;
        let in_flight = held.1.take()?;
        if self.free_boxes.len() < MAX_FREE_BOXES {
            self.free_boxes.push(held);
        }
        self.in_flight -= 1;
        self.last.store(id.index_of(), Relaxed);
        Some((session.seid, session.marked_for_removal, in_flight))
    }

    /// Queues a request. False: the queue is full.
    #[must_use]
    pub(crate) fn wait(
        &mut self,
        seid: Seid,
        waiting: QueuedRequest,
        per_session: usize,
        octets: usize,
    ) -> bool {
        let total = self.waiting_octets + waiting.body.len();
        let Some(session) = self.get_mut(seid) else { return false };
        if session.waiting().count() >= per_session || total > octets {
            return false;
        }
        session.get_or_create_extras().queued.push_back(QueuedWork::Request(waiting));
        self.waiting_octets = total;
        true
    }

    /// Queues the instructions in a report response. There is never more than one: no report is sent while a plan is in
    /// flight.
    pub(crate) fn wait_with(&mut self, seid: Seid, instructions: Instructions) {
        if let Some(session) = self.get_mut(seid) {
            session.get_or_create_extras().queued.push_back(QueuedWork::Answer(Box::new(instructions)));
        }
    }

    /// Takes the next queued work.
    pub(crate) fn next_waiting(&mut self, seid: Seid) -> Option<QueuedWork> {
        let waiting = self.get_mut(seid)?.extras_mut()?.queued.pop_front()?;
        self.waiting_octets -= waiting.octets();
        Some(waiting)
    }
}
