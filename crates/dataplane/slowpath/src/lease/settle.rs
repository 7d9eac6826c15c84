//! Adds the traffic that a faster data plane has handled to a session.

use causeway_types::{Direction, PdrId, QerId, Seid, Time};

use crate::enforcer::QerState;
use crate::engine::SlowPath;
use crate::measure::Measurement;
use crate::session::direction_of;

/// What the packets of one rule used of its grant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleUsage {
    /// The PDR.
    pub pdr: PdrId,
    /// When the last packet arrived, passed or not.
    pub last_arrival: Time,
    /// The packets that passed.
    pub passed: Option<ForwardedUsage>,
    /// Packets that were dropped after they had been counted before QoS enforcement.
    pub dropped_packets: u64,
    /// Their octets.
    pub dropped_octets: u64,
}

/// Packets that passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForwardedUsage {
    /// How many.
    pub packets: u64,
    /// Octets of the user packets.
    pub octets: u64,
    /// When the last one passed.
    pub last: Time,
}

/// The state of the token bucket of a QER in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeterState {
    /// The QER.
    pub qer: QerId,
    /// The direction.
    pub direction: Direction,
    /// The tokens, in micro-bits.
    pub tokens: i64,
    /// The size of the last packet that passed, in micro-bits.
    pub last: i64,
    /// When it was last filled.
    pub updated: Time,
}

impl SlowPath {
    /// Adds the usage of a session since its grants, which end with this call.
    pub fn settle(&mut self, seid: Seid, spent: &[RuleUsage], meters: &[MeterState]) {
        let burst = self.shared.burst();
        let Self { sessions, class_pairs, .. } = self;
        let Some(session) = sessions.get_mut(&seid) else { return };
        for rule in spent {
            let Some(pdr) = session.rules.pdrs.get(&rule.pdr) else { continue };
            let direction = direction_of(pdr);
            for id in &pdr.urrs {
                if let (Some(urr), Some(measurement)) =
                    (session.rules.urrs.get(id), session.measurements.get_mut(id))
                {
                    let measurement = measurement.get_or_create(|begin| Measurement::new(urr, begin));
                    measurement.settle(urr, pdr, direction, rule);
                }
            }
            if let Some(inactivity) = &mut session.inactivity {
                inactivity.note(rule.last_arrival);
            }
            if let Some(passed) = &rule.passed {
                class_pairs.add(session.class, direction, passed);
            }
        }
        for meter in meters {
            let (Some(enforcer), Some(qer)) =
                (session.enforcers.get_mut(&meter.qer), session.rules.qers.get(&meter.qer))
            else {
                continue;
            };
            let enforcer = enforcer.get_or_create(|begin| QerState::new(qer, burst, begin));
            if let Some(bucket) = enforcer.direction_mut(meter.direction).meter.peak_mut() {
                bucket.set_level(meter.tokens, meter.last, meter.updated);
            }
        }
    }
}
