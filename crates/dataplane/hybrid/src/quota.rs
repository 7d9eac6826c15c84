//! Quotas near their end: the software must count each packet then.

use causeway_slowpath::lease::Software;
use causeway_types::{Seid, Time};

use crate::config::Config;

/// Whether a quota of the session can end before the switch's counters are read again.
pub(crate) fn is_near_quota(software: &mut dyn Software, now: Time, session: Seid, config: &Config) -> bool {
    let Some(rules) = software.rules_of(now, session) else { return false };
    if !rules.has_quota() {
        return false;
    }
    let Some(state) = software.session_state(now, session) else { return true };
    state.usage.iter().any(|urr| {
        let left = urr.until_quota;
        let volume = left.volume.is_some_and(|limit| {
            [limit.total, limit.uplink, limit.downlink]
                .into_iter()
                .flatten()
                .any(|it| it < config.quota_margin)
        });
        let time = left.time.is_some_and(|left| left < config.quota_time_margin);
        urr.is_exhausted || volume || time || left.events.is_some()
    })
}
