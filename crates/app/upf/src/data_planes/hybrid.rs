//! Builds the fast path behind the model of a switch.

use std::sync::Arc;

use causeway_hybrid::{ByRate, Config, Hybrid, HybridError, Thresholds};
use causeway_p4::profiles;
use causeway_switch::backend::{LocalSwitch, Notice};
use causeway_switch::driver::{FaultInjector, FaultRates, Program};
use causeway_switch::model::Timing;
use causeway_types::{Bitrate, Span};
use tracing::{info, warn};

use super::{BoxedDataPlane, Parts, cold_storage};
use crate::config::{DriverTiming, HybridKeys};
use crate::error::StartError;

/// The delay before a request that the switch has not carried out is tried again.
const RETRY: Span = Span::from_millis(10);

/// The longest delay of an answer that is late.
const LATENESS: Span = Span::from_millis(50);

/// The seed of injected faults: a trial can be repeated.
const FAULT_SEED: u64 = 1;

/// The hybrid UPF of a configuration.
///
/// # Errors
/// The tables of the fast path need more memory than there is, or the switch does not support the topology.
pub(super) fn build(parts: &Parts<'_>) -> Result<BoxedDataPlane, StartError> {
    let keys = &parts.config.upf.hybrid;
    let software = Box::new(cold_storage::fast_path(parts)?);
    let config = Config {
        capacity: keys.capacity as usize,
        changes_per_second: keys.changes_per_second,
        longest_stay: keys.longest_stay,
        least_gap: Config::default().least_gap.min(keys.longest_stay),
        strict: keys.strict,
        read_interval: Some(keys.read_interval),
        ..Config::default()
    };
    let placement = Box::new(ByRate::new(thresholds(keys)));
    let timing = match keys.model.timing {
        DriverTiming::Instant => Timing::INSTANT,
        DriverTiming::Paper => Timing::PAPER_ALL_DRIVER,
    };
    let program = Program::from(&profiles::HIP4);
    let mut local = LocalSwitch::in_front_of_software(&program, &parts.topology, parts.limits, timing)
        .map_err(HybridError::from)?;
    local.config.retry = RETRY;
    let driver = |model| FaultInjector::new(model, faults(keys.model.faults), LATENESS, FAULT_SEED);
    let hybrid =
        Hybrid::with_driver(local, driver, software, placement, config).map_err(HybridError::from)?;
    Ok(Box::new(hybrid.as_part(Arc::clone(parts.switch), parts.number).with_notices(log)))
}

fn log(notice: &Notice) {
    match notice {
        Notice::Reconciled(_) => info!("{notice}"),
        Notice::Down | Notice::Superseded | Notice::Refused { .. } | Notice::Closed { .. } => {
            warn!("{notice}");
        }
    }
}

fn thresholds(keys: &HybridKeys) -> Thresholds {
    let octets = |rate: Bitrate| rate.kbps().saturating_mul(1000) / 8;
    Thresholds {
        up: octets(keys.promote_at),
        down: octets(keys.lower_rate()),
        hold: keys.demote_after,
        ..Thresholds::at(0)
    }
}

/// A quarter of the faults of each kind, the rest unreachable.
const fn faults(of_thousand: u16) -> FaultRates {
    let quarter = of_thousand / 4;
    FaultRates {
        unavailable: of_thousand - 3 * quarter,
        unanswered: quarter,
        half: quarter,
        late: quarter,
        restart: 0,
    }
}
