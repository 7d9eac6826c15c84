//! The state of one session beside its rules.

use std::collections::VecDeque;

use causeway_rules::StoredRules;
use causeway_types::{FSeid, Seid, Time, UrrId};
use thin_vec::ThinVec;

use super::SessionSets;
use super::in_flight::{InFlight, InFlightPlan, QueuedWork};
use super::usage_marks::{MarkChange, UsageMarks};
use crate::association::AssociationId;
use crate::memory::Footprint;
use crate::transaction::RequestKey;

/// One PFCP session (TS 29.244 clause 5.2).
#[derive(Debug)]
pub(crate) struct Session {
    /// The UPF's SEID.
    pub(super) seid: Seid,
    /// Its association. Changed through [`super::Sessions::set_association`].
    pub(super) association: AssociationId,
    /// Its number among the sessions of its association.
    pub(super) number: u32,
    /// The number of purges that had begun when it joined its association: those do not concern it.
    pub(super) purges_before: u32,
    /// The memory that it may need. Changed through [`super::Sessions::set_footprint`].
    pub(super) footprint: Footprint,
    /// The CP F-SEID: the SEID of messages to the SMF, and the destination of reports.
    pub(super) cp: FSeid,
    /// The rules as applied in the data plane.
    pub(super) rules: StoredRules,
    /// The value of the User ID IE, which no rule depends on; empty: there was none.
    pub(super) user: ThinVec<u8>,
    /// When it was established.
    pub(super) since: Time,
    /// The plan in flight.
    pub(super) in_flight: Option<InFlightPlan>,
    /// It is marked for removal: the data plane removes it as soon as possible.
    pub(super) marked_for_removal: bool,
    /// The UPF ends it, with reports; the data plane is to remove it.
    pub(super) releasing: bool,
    /// The data plane has removed it; its last reports are in flight.
    pub(super) ended: bool,
    /// The request that established it.
    pub(super) origin: RequestKey,
    /// State that few sessions have.
    extras: Option<Box<SessionExtras>>,
}

/// State that few sessions have.
#[derive(Debug, Default)]
pub(crate) struct SessionExtras {
    /// Work queued while a plan is in flight, the oldest first.
    pub(super) queued: VecDeque<QueuedWork>,
    /// The session sets that it belongs to.
    pub(super) membership: SessionSets,
    /// Which measurement of each URR goes on.
    pub(super) marks: UsageMarks,
    /// What the plan in flight changes of them.
    pub(super) mark_changes: Vec<MarkChange>,
}

impl Session {
    pub(crate) fn new(
        now: Time,
        seid: Seid,
        association: AssociationId,
        cp: FSeid,
        origin: RequestKey,
        footprint: Footprint,
    ) -> Self {
        Self {
            seid,
            association,
            number: 0,
            purges_before: 0,
            footprint,
            cp,
            rules: StoredRules::default(),
            user: ThinVec::new(),
            since: now,
            in_flight: None,
            marked_for_removal: false,
            releasing: false,
            ended: false,
            origin,
            extras: None,
        }
    }

    /// The same with these rules.
    pub(crate) fn with_rules(self, rules: StoredRules) -> Self {
        Self { rules, ..self }
    }

    pub(crate) const fn seid(&self) -> Seid {
        self.seid
    }

    /// Its association.
    pub(crate) const fn association(&self) -> AssociationId {
        self.association
    }

    /// The CP F-SEID.
    pub(crate) const fn cp(&self) -> FSeid {
        self.cp
    }

    /// The rules as applied in the data plane.
    pub(crate) const fn rules(&self) -> &StoredRules {
        &self.rules
    }

    /// The value of the User ID IE; empty: there was none.
    pub(crate) fn user(&self) -> &[u8] {
        &self.user
    }

    /// Sets the value of the User ID IE.
    pub(crate) fn set_user(&mut self, value: &[u8]) {
        self.user = ThinVec::from(value);
    }

    /// Octets that N4 alone keeps of it, in number as its SMF chooses.
    pub(crate) fn octets(&self) -> usize {
        self.user.len() + self.membership().map_or(0, SessionSets::octets)
    }

    /// When it was established.
    pub(crate) const fn since(&self) -> Time {
        self.since
    }

    /// The request that established it.
    pub(crate) const fn origin(&self) -> &RequestKey {
        &self.origin
    }

    /// The data plane has removed it; its last reports are in flight.
    pub(crate) const fn has_ended(&self) -> bool {
        self.ended
    }

    /// The data plane removes it as soon as possible.
    pub(crate) const fn is_marked_for_removal(&self) -> bool {
        self.marked_for_removal
    }

    /// A plan of it is in flight.
    pub(crate) const fn has_plan(&self) -> bool {
        self.in_flight.is_some()
    }

    /// It may report: it is established or has ended, and no plan of it is in flight.
    pub(crate) fn may_report(&self) -> bool {
        let is_there = self.is_established() || self.ended && !self.marked_for_removal;
        is_there && !self.has_plan()
    }

    /// Sets its session sets.
    pub(crate) fn set_membership(&mut self, membership: SessionSets) {
        self.get_or_create_extras().membership = membership;
    }

    /// The state that few sessions have, if this one has it.
    fn extras(&self) -> Option<&SessionExtras> {
        self.extras.as_deref()
    }

    /// The same, mutable.
    pub(super) fn extras_mut(&mut self) -> Option<&mut SessionExtras> {
        self.extras.as_deref_mut()
    }

    /// The same; created if missing.
    pub(super) fn get_or_create_extras(&mut self) -> &mut SessionExtras {
        self.extras.get_or_insert_default()
    }

    /// The session sets that it belongs to.
    pub(crate) fn membership(&self) -> Option<&SessionSets> {
        self.extras().map(|it| &it.membership)
    }

    /// Its URRs, with the plan in flight.
    pub(crate) fn urrs(&self) -> Vec<UrrId> {
        match self.plan() {
            Some(InFlight { change, .. }) => change.urrs(),
            None => self.rules.urrs(),
        }
    }

    /// Which measurement of each URR goes on.
    pub(crate) fn marks(&self) -> UsageMarks {
        self.extras().map(|it| it.marks.clone()).unwrap_or_default()
    }

    /// The session of another member goes on with its marks.
    pub(super) fn restore_marks(&mut self, marks: UsageMarks) {
        if marks != UsageMarks::default() {
            self.get_or_create_extras().marks = marks;
        }
    }

    /// The plan in flight is applied.
    pub(super) fn apply_marks(&mut self) {
        if let Some(extras) = self.extras_mut() {
            let changes = std::mem::take(&mut extras.mark_changes);
            extras.marks.apply(&changes);
        }
    }

    /// Work queued behind its plan in flight, the oldest first.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &QueuedWork> {
        self.extras().into_iter().flat_map(|it| &it.queued)
    }

    /// Its plan in flight.
    pub(crate) fn plan(&self) -> Option<&InFlight> {
        self.in_flight.as_deref()?.1.as_ref()
    }

    /// It is not being released, and no work is queued.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.releasing && self.waiting().next().is_none()
    }

    /// It is in the data plane, and is not ending.
    pub(crate) fn is_established(&self) -> bool {
        let establishing = self.plan().is_some_and(InFlight::establishes);
        !self.is_ending() && !establishing
    }

    /// For its SMF it no longer exists, or it is about to end without a request.
    pub(crate) const fn is_ending(&self) -> bool {
        self.marked_for_removal || self.releasing || self.ended
    }
}
