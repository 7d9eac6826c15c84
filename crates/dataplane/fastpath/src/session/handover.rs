//! Handovers in the flow table: the tunnels that packets are sent into are rewritten, and the grants continue.

use causeway_dataplane::Plan;
use causeway_types::{Seid, Time};

use crate::engine::FastPath;

impl FastPath {
    /// Applies a plan that only changes the tunnels that a session's packets are sent into; its flow entries keep their
    /// grants. `false`: the plan changes more; nothing has happened.
    pub(crate) fn hand_over(&mut self, now: Time, plan: &Plan) -> bool {
        let seid = plan.session;
        if !(self.has_no_overlap(seid) && self.slow_path.hand_over(now, plan)) {
            return false;
        }
        if !self.relearn_profile(seid) {
            self.remove_session(seid);
            self.insert_session(seid, true, now);
        }
        true
    }

    /// `false`: the session matches no known profile.
    fn relearn_profile(&mut self, seid: Seid) -> bool {
        let Some(candidate) = self.profile_cache.candidate(&self.slow_path, seid) else { return false };
        let Some(profile) = self.profile_cache.find(&self.slow_path, seid, &candidate) else { return false };
        let Some(lease) = self.leases.get_mut(&seid) else { return false };
        let held = lease.set_remote(profile, candidate.params.remote, &mut self.table);
        let is_handed_over = held.is_some();
        held.into_iter().for_each(|held| self.compiler().release_profile(held));
        is_handed_over
    }
}
