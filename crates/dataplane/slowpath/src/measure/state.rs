//! The state of a measurement, for operators.

use std::time::Duration;

use causeway_dataplane::{UrrState, UsageTotals};
use causeway_model::{DirectionalLimit, Urr, UsageLimits};
use causeway_types::{Time, Volume};

use super::Measurement;
use super::totals::Totals;

impl Measurement {
    /// The usage of the URR at this time, and what is left of its limits.
    pub(crate) fn state(&self, urr: &Urr, now: Time) -> UrrState {
        let total = self.totals(urr, now);
        UrrState {
            urr: urr.id,
            since: self.closed.first().map_or(self.running.start, |part| part.start),
            unreported: self.unreported(&total),
            total: shown(&total),
            until_threshold: left_of(&self.thresholds, &total.since(&self.armed)),
            until_quota: left_of(&self.quotas, &total.since(&self.granted)),
            is_exhausted: self.is_exhausted(),
            is_active: self.is_active(urr),
        }
    }

    /// When the last packet matched one of its PDRs.
    pub(crate) const fn last_packet(&self) -> Option<Time> {
        self.last_packet
    }

    /// The usage for the next report, with the parts that monitoring times have ended.
    fn unreported(&self, total: &Totals) -> UsageTotals {
        let mut usage = shown(&total.since(&self.reported));
        for part in &self.closed {
            usage.volume += part.volume;
            usage.time += part.time;
            usage.events += part.events.len() as u64;
        }
        usage
    }
}

fn shown(totals: &Totals) -> UsageTotals {
    UsageTotals { volume: totals.volume, time: totals.time, events: totals.events }
}

/// What is left of limits of which this was used.
fn left_of(limits: &UsageLimits, used: &Totals) -> UsageLimits {
    let events = u32::try_from(used.events).unwrap_or(u32::MAX);
    UsageLimits {
        volume: limits.volume.map(|limit| left_of_volume(&limit, &used.volume)),
        time: limits.time.map(|limit: Duration| limit.saturating_sub(used.time)),
        events: limits.events.map(|limit| limit.saturating_sub(events)),
    }
}

fn left_of_volume(limit: &DirectionalLimit, used: &Volume) -> DirectionalLimit {
    DirectionalLimit {
        total: limit.total.map(|limit| limit.saturating_sub(used.total())),
        uplink: limit.uplink.map(|limit| limit.saturating_sub(used.uplink)),
        downlink: limit.downlink.map(|limit| limit.saturating_sub(used.downlink)),
    }
}
