//! Measured usage that goes on in the data plane of another host.

use causeway_dataplane::RestoredUrr;
use causeway_slowpath::SlowPath;
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
        let (state, spent) = match prior {
            Some(PriorState { lease, measured }) => {
                let last = lease.as_ref().and_then(|lease| lease.last_arrival(&self.table));
                if since > Time::default() && last.max(measured.last_packet()).is_none_or(|last| last < since)
                {
                    return None;
                }
                let spent = lease.as_ref().map(|lease| lease.spent(&self.table));
                (Some(measured), spent.unwrap_or_default())
            }
            None if since > Time::default() || self.dormant.cold_slot(seid).is_some() => return None,
            None => (None, Vec::new()),
        };
        SlowPath::usage_snapshot_of(now, profile.rules(), begin, state, &spent)
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
