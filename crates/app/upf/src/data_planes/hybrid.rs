//! Builds the fast path behind a switch, or behind a model of one.

use std::sync::Arc;

use causeway_hybrid::{ByRate, Config, Hybrid, HybridError, Placement, Thresholds};
use causeway_slowpath::lease::Software;
use causeway_switch::backend::{LocalSwitch, Notice};
use causeway_switch::driver::{FaultInjector, FaultRates};
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
    if let Some((switch, address)) = parts.config.upf.switch_in_front() {
        return super::p4runtime::switch_in_front(switch, address, parts);
    }
    let keys = &parts.config.upf.hybrid;
    let (software, placement, config) = (software(parts)?, placement(parts), moves(parts));
    let timing = match keys.model.timing {
        DriverTiming::Instant => Timing::INSTANT,
        DriverTiming::Paper => Timing::PAPER_ALL_DRIVER,
    };
    let mut local = LocalSwitch::in_front_of_software(&parts.topology, parts.limits, timing)
        .map_err(HybridError::from)?;
    local.config.retry = RETRY;
    let driver = |model| FaultInjector::new(model, faults(keys.model.faults), LATENESS, FAULT_SEED);
    let hybrid =
        Hybrid::with_driver(local, driver, software, placement, config).map_err(HybridError::from)?;
    Ok(Box::new(hybrid.as_part(Arc::clone(&parts.common.switch), parts.number).with_notices(log)))
}

/// The software behind the switch.
///
/// # Errors
/// Its tables need more memory than there is.
pub(super) fn software(parts: &Parts<'_>) -> Result<Box<dyn Software>, StartError> {
    Ok(Box::new(cold_storage::fast_path(parts)?))
}

/// Which rules move.
pub(super) fn placement(parts: &Parts<'_>) -> Box<dyn Placement> {
    Box::new(ByRate::new(thresholds(&parts.config.upf.hybrid)))
}

/// How rules move.
pub(super) fn moves(parts: &Parts<'_>) -> Config {
    let keys = &parts.config.upf.hybrid;
    Config {
        capacity: keys.capacity as usize,
        changes_per_second: keys.changes_per_second,
        longest_stay: keys.longest_stay,
        least_gap: Config::default().least_gap.min(keys.longest_stay),
        strict: keys.strict,
        read_interval: Some(keys.read_interval),
        ..Config::default()
    }
}

/// Logs a state change of the switch.
pub(super) fn log(notice: &Notice) {
    match notice {
        Notice::Reconciled(_) => info!("{notice}"),
        Notice::Down
        | Notice::Superseded
        | Notice::Refused { .. }
        | Notice::Closed { .. }
        | Notice::Model { .. }
        | Notice::ClassesUnread { .. }
        | Notice::Firewall(_) => {
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
