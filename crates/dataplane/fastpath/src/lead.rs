//! Handovers of sessions in the lines: where their packets lead to is written anew, and what they were granted goes on.

use causeway_dataplane::Plan;
use causeway_types::{Seid, Time};

use crate::engine::FastPath;

impl FastPath {
    /// Carries out a plan by which a session's packets leave by other tunnels, and nothing else: its lines go on with what they were
    /// granted. `false`: the plan does more; nothing has happened.
    pub(crate) fn lead(&mut self, now: Time, plan: &Plan) -> bool {
        let seid = plan.session;
        if !(self.is_alone(seid) && self.slow.lead(now, plan)) {
            return false;
        }
        if !self.follow_lead(seid) {
            self.leave(seid);
            self.enter(seid, true, now);
        }
        true
    }

    /// `false`: the session is like none that is known now.
    fn follow_lead(&mut self, seid: Seid) -> bool {
        let Some(candidate) = self.kinds.candidate(&self.slow, seid) else { return false };
        let Some(pattern) = self.kinds.find(&self.slow, seid, &candidate) else { return false };
        let Some(lease) = self.leases.get_mut(&seid) else { return false };
        let held = lease.lead(pattern, candidate.own.remote, &mut self.table);
        let is_led = held.is_some();
        held.into_iter().for_each(|held| self.compiler().forget_pattern(held));
        is_led
    }
}
