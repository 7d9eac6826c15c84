//! Instructions of the SMF in its response to a report (TS 29.244 clause 7.5.9).

use causeway_pfcp::SessionReportResponse;
use causeway_rules::{Instructions, PendingChange, PlannedChange, Rejection};
use causeway_types::Seid;

use super::in_flight::PlanPurpose;
use crate::{N4, Notice};

impl N4 {
    /// Applies the instructions in a report response after earlier work. A response cannot be rejected: if the
    /// instructions are wrong, a notice says so and none is applied.
    pub(crate) fn take_instructions(&mut self, seid: Seid, answer: &SessionReportResponse<'_>) {
        match Instructions::of(answer) {
            Ok(None) => {}
            Ok(Some(instructions)) => match self.sessions.get(seid) {
                Some(session) if session.in_flight.is_some() => self.sessions.wait_with(seid, instructions),
                _ => self.instruct(seid, &instructions),
            },
            Err(rejection) => self.refuse_instructions(seid, &rejection),
        }
    }

    /// Begins to apply instructions. No plan of the session is in flight.
    pub(crate) fn instruct(&mut self, seid: Seid, instructions: &Instructions) {
        let (context, sessions, resources) = self.planning();
        let Some(session) = sessions.get(seid) else { return };
        match causeway_rules::instruct(&session.rules.to_rules(), instructions, seid, &context, resources) {
            Err(rejection) => self.refuse_instructions(seid, &rejection),
            Ok(change) if change.plan.change.is_empty() => {
                self.instructed(seid, PlannedChange::from(change).pending);
            }
            Ok(change) => self.submit_plan(PlanPurpose::Instruct, change.into()),
        }
    }

    /// The instructions are applied.
    pub(crate) fn instructed(&mut self, seid: Seid, change: PendingChange) {
        self.commit(seid, change);
    }

    fn refuse_instructions(&mut self, session: Seid, rejection: &Rejection) {
        self.out.notice(Notice::InstructionsFailed { session, detail: rejection.to_string() });
    }
}
