//! Checks of one URR.

use crate::reject::refuse_if;
use crate::{Capabilities, DirectionalLimit, Reason, Urr, ie};

use super::require;

pub(super) fn check(urr: &Urr, capabilities: &Capabilities) -> Result<(), Reason> {
    let Urr { method, triggers, volume_threshold, .. } = urr;
    if !method.volume && !method.duration {
        return incorrect(ie::MEASUREMENT_METHOD, "neither volume nor duration is measured");
    }
    refuse_if(method.volume && !capabilities.volume_measurement, ie::MEASUREMENT_METHOD, "volume")?;
    if triggers.volume_threshold && !method.volume {
        return incorrect(ie::MEASUREMENT_METHOD, "a volume threshold without volume measurement");
    }
    let there = volume_threshold.is_some() || !triggers.volume_threshold;
    require(there, ie::VOLUME_THRESHOLD, "the reporting triggers name it")?;
    match volume_threshold {
        Some(_) if !triggers.volume_threshold => {
            incorrect(ie::REPORTING_TRIGGERS, "a volume threshold without its trigger")
        }
        Some(threshold) => check_threshold(threshold),
        None => Ok(()),
    }
}

/// A threshold of zero would be reached by nothing at all, over and over.
fn check_threshold(threshold: &DirectionalLimit) -> Result<(), Reason> {
    let limits = [threshold.total, threshold.uplink, threshold.downlink];
    if limits.contains(&Some(0)) {
        return incorrect(ie::VOLUME_THRESHOLD, "a threshold of zero octets");
    }
    if limits.iter().all(Option::is_none) {
        return incorrect(ie::VOLUME_THRESHOLD, "no volume in it");
    }
    Ok(())
}

fn incorrect(ie: u16, why: &'static str) -> Result<(), Reason> {
    Err(Reason::Incorrect { ie, why })
}
