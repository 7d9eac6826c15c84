//! Measured usage that goes on in the data plane of another host.

use causeway_dataplane::RestoredUrr;
use causeway_slowpath::SlowPath;
use causeway_slowpath::lease::MeasuredState;
use causeway_types::{Seid, Time};

use crate::FastPath;
use crate::session::dormant::PriorState;

impl FastPath {
    /// The snapshot of what a session has measured, in flow entries too. One in cold storage has had no packet for long.
    pub(crate) fn snapshot_usage(&self, now: Time, seid: Seid, since: Time) -> Option<Vec<u8>> {
        let Some((begin, profile, prior)) = self.dormant.state_of(seid) else {
            let spent = self.leases.get(&seid).map(|lease| lease.spent(&self.table)).unwrap_or_default();
            return self.slow_path.usage_snapshot_with(now, seid, since, &spent);
        };
        if self.dormant.cold_slot(seid).is_some() {
            return None;
        }
        let (rules, measured) = (profile.rules(), prior.map(|prior| &prior.measured));
        let lease = prior.and_then(|prior| prior.lease.as_ref());
        if since > Time::default() {
            let last = lease.and_then(|lease| lease.last_arrival(&self.table));
            let last = last.max(measured.and_then(MeasuredState::last_packet));
            if last.is_none_or(|last| last < since)
                && !SlowPath::has_measured_time((since, now), rules, begin, measured)
            {
                return None;
            }
        }
        let spent = lease.map(|lease| lease.spent(&self.table)).unwrap_or_default();
        // One that has been active without a packet has measured nothing.
        let measured = measured.filter(|it| **it != MeasuredState::default() || !spent.is_empty());
        SlowPath::usage_snapshot_of(now, rules, begin, measured, &spent)
    }

    /// A session goes on with what was measured elsewhere. It stays dormant if it needs no timer.
    pub(crate) fn go_on_with_usage(
        &mut self,
        now: Time,
        seid: Seid,
        snapshot: &[u8],
        urrs: &[RestoredUrr],
    ) -> bool {
        if let Some((begin, profile, None)) = self.dormant.state_of(seid)
            && self.dormant.cold_slot(seid).is_none()
        {
            match SlowPath::measured_state_from((begin, now), profile.rules(), snapshot, urrs) {
                Err(_) => return false,
                Ok(Some(measured)) => {
                    return self.dormant.set_prior(seid, PriorState { lease: None, measured });
                }
                Ok(None) => {}
            }
        }
        if self.activate(seid, now).is_err() {
            return false;
        }
        self.settle_lease(seid);
        let is_restored = self.slow_path.restore_usage_of(now, seid, snapshot, urrs);
        self.grant_lease(seid, now);
        self.limit_active(now);
        is_restored
    }
}
