//! Plans of sessions: submitted, in force or abandoned.

use causeway_dataplane::Applied;
use causeway_model::{Far, Op, Plan, Usage};
use causeway_pfcp::{SessionReportResponse, UsageReport};
use causeway_rules::{Change, Instructions, PendingChange, PlannedChange, Rejection};
use causeway_types::{FarId, PdrId, Seid, Time, WallClock};

use super::in_flight::PlanPurpose;
use super::{Session, Sessions};
use crate::output::Outputs;
use crate::transaction::RequestKey;
use crate::{Notice, Output, RefusalReason};

impl Sessions {
    /// Has the data plane apply a change of a session. No other plan of the session may be in flight.
    #[inline]
    pub(crate) fn submit(&mut self, purpose: PlanPurpose, planned: PlannedChange, out: &mut Outputs) {
        tolerate(planned.plan.session, &planned.pending, out);
        if let Some((id, plan)) = self.start(purpose, planned) {
            out.push(Output::Apply { id, plan });
        }
    }

    /// Has the data plane remove a session at the request of its SMF.
    #[inline]
    pub(crate) fn submit_deletion(&mut self, seid: Seid, key: RequestKey, out: &mut Outputs) {
        let Some(session) = self.get(seid) else { return };
        let planned = PlannedChange::removal(seid, &session.rules);
        self.submit(PlanPurpose::Delete(key), planned, out);
    }

    /// Has the data plane remove a session that is marked for removal, when it has no plan in flight.
    pub(crate) fn purge(&mut self, seid: Seid, out: &mut Outputs) {
        if self.get(seid).is_some_and(|session| session.in_flight.is_none()) {
            self.submit_removal(seid, PlanPurpose::Purge, out);
        }
    }

    /// Has the data plane remove a session that is being released, when it has no plan in flight.
    pub(crate) fn continue_release(&mut self, seid: Seid, out: &mut Outputs) {
        if self.get(seid).is_some_and(|session| session.releasing && session.in_flight.is_none()) {
            self.submit_removal(seid, PlanPurpose::Release, out);
        }
    }

    fn submit_removal(&mut self, seid: Seid, purpose: PlanPurpose, out: &mut Outputs) {
        let Some(session) = self.get(seid) else { return };
        let planned = PlannedChange::removal(seid, &session.rules);
        self.removals_in_flight += 1;
        self.submit(purpose, planned, out);
    }

    /// The data plane failed to remove the session: it is retried later.
    pub(crate) fn retry_removal(&mut self, now: Time, seid: Seid, change: PendingChange) {
        self.abandon(seid, change);
        self.removals.insert((now + self.config.removal_retry, seid));
    }

    /// Retries removals that the data plane failed to apply.
    pub(crate) fn retry_removals(&mut self, now: Time, out: &mut Outputs) {
        while let Some((_, seid)) = self.removals.first().copied().filter(|(time, _)| *time <= now) {
            self.removals.pop_first();
            self.purge(seid, out);
        }
    }

    /// The UPF ends a session, with reports: for its SMF it no longer exists. False: it is ending already.
    pub(crate) fn begin_release(&mut self, seid: Seid) -> bool {
        let Some(session) = self.get_mut(seid).filter(|session| !session.is_ending()) else { return false };
        session.releasing = true;
        self.forget_cp(seid);
        true
    }

    /// The same, or the UPF ends the session already. False: it is marked for removal, or has ended.
    pub(crate) fn begin_or_continue_release(&mut self, seid: Seid) -> bool {
        let is_releasing = |session: &Session| session.releasing && !session.marked_for_removal;
        self.begin_release(seid) || self.get(seid).is_some_and(is_releasing)
    }

    /// The data plane has removed a session that the UPF ends. False: there is no such session.
    pub(crate) fn end_release(&mut self, seid: Seid) -> bool {
        let session = self.get_mut(seid);
        session.map(|session| (session.releasing, session.ended) = (false, true)).is_some()
    }

    /// The PDRs whose first packet the data plane reports again after this plan: their FAR acts in another way, starts a
    /// new buffering period, or is another one.
    pub(crate) fn notified_again(&self, seid: Seid, plan: &Plan) -> Vec<PdrId> {
        let Some(session) = self.get(seid) else { return Vec::new() };
        let before = session.rules.rules();
        let acts_alike = |far: &Far| before.fars.get(&far.id).is_some_and(|held| held.acts_like(far));
        let of_far = |id: FarId| before.pdrs.values().filter(move |pdr| pdr.far == id).map(|pdr| pdr.id);
        let mut all = Vec::new();
        for op in plan.ops().iter() {
            match op {
                Op::NotifyAgain(far) | Op::RemoveFar(far) => all.extend(of_far(*far)),
                Op::PutFar(far) if !acts_alike(far) => all.extend(of_far(far.id)),
                Op::PutPdr(pdr) if before.pdrs.get(&pdr.id).is_none_or(|held| held.far != pdr.far) => {
                    all.push(pdr.id);
                }
                Op::RemovePdr(pdr) => all.push(*pdr),
                _ => {}
            }
        }
        all
    }

    /// The plan reports usage: it queries or removes a URR, or takes one from a PDR, perhaps its last one.
    pub(crate) fn reports_usage(&self, seid: Seid, plan: &Plan) -> bool {
        let Some(session) = self.get(seid) else { return false };
        let before = session.rules.rules();
        plan.ops().iter().any(|op| match op {
            Op::QueryUrr(_) | Op::RemoveUrr(_) | Op::RemovePdr(_) => true,
            Op::PutPdr(pdr) => before.pdrs.get(&pdr.id).is_some_and(|held| held.urrs != pdr.urrs),
            _ => false,
        })
    }

    /// A change is in force.
    #[inline]
    pub(crate) fn commit(&mut self, seid: Seid, change: PendingChange) {
        let Some(index) = self.index_of(seid) else { return };
        self.touch(index);
        let Self { all, resources, .. } = self;
        if let Some(session) = all.get_mut(index) {
            change.commit(seid, &mut session.rules, resources);
            session.apply_marks();
        }
    }

    /// A change is not in force.
    #[inline]
    pub(crate) fn abandon(&mut self, seid: Seid, change: PendingChange) {
        change.abandon(seid, &mut self.resources);
    }

    /// A change that was planned is not submitted.
    pub(crate) fn discard(&mut self, change: Change) {
        self.resources.abandon(change.resources);
    }

    /// A session has ended by this change.
    #[inline]
    pub(crate) fn free_resources(&mut self, seid: Seid, change: PendingChange) {
        let Some(index) = self.index_of(seid) else { return };
        let Self { all, resources, .. } = self;
        if let Some(session) = all.get(index) {
            change.end(seid, &session.rules, resources);
        }
    }

    /// The usage reports of a change that yielded this usage, numbered after those of usage that was queued.
    pub(crate) fn usage_reports(
        &mut self,
        seid: Seid,
        change: &mut PendingChange,
        queued: &[Usage],
        applied: &Applied,
        clock: WallClock,
    ) -> Vec<UsageReport<'static>> {
        let Some(session) = self.get_mut(seid) else { return Vec::new() };
        let rules = &mut session.rules;
        let mut reports = Vec::with_capacity(queued.len() + applied.usage.len());
        reports.extend(queued.iter().map(|usage| change.usage_report(rules, usage, clock)));
        reports.extend(change.usage_reports(rules, &applied.usage, clock));
        reports
    }

    /// Applies the instructions in a report response after earlier work. A response cannot be rejected: if the
    /// instructions are wrong, a notice says so and none is applied.
    pub(crate) fn take_instructions(
        &mut self,
        seid: Seid,
        answer: &SessionReportResponse<'_>,
        out: &mut Outputs,
    ) {
        match Instructions::of(answer) {
            Ok(None) => {}
            Ok(Some(instructions)) => match self.get(seid) {
                Some(session) if session.in_flight.is_some() => self.wait_with(seid, instructions),
                _ => self.instruct(seid, &instructions, out),
            },
            Err(rejection) => refuse_instructions(seid, rejection, out),
        }
    }

    /// Begins to apply instructions. No plan of the session is in flight.
    pub(crate) fn instruct(&mut self, seid: Seid, instructions: &Instructions, out: &mut Outputs) {
        let Some(index) = self.index_of(seid) else { return };
        let Self { all, planning, resources, .. } = self;
        // The response to a final report changes nothing: the data plane has removed the session, or will.
        let Some(session) = all.get(index).filter(|session| !session.is_ending()) else { return };
        let rules = session.rules.to_rules();
        match causeway_rules::instruct(&rules, instructions, seid, &planning.context(), resources) {
            Err(rejection) => refuse_instructions(seid, rejection, out),
            Ok(change) if change.plan.change.is_empty() => {
                self.commit(seid, PlannedChange::from(change).pending);
            }
            Ok(change) => self.submit(PlanPurpose::Instruct, change.into(), out),
        }
    }
}

fn refuse_instructions(session: Seid, rejection: Rejection, out: &mut Outputs) {
    out.notice(Notice::InstructionsFailed { session, reason: RefusalReason::Rules(Box::new(rejection)) });
}

/// Emits notices of the accepted deviations of a request.
pub(crate) fn tolerate(session: Seid, change: &PendingChange, out: &mut Outputs) {
    for what in change.tolerated() {
        out.notice(Notice::Tolerated { session, what: *what });
    }
}
