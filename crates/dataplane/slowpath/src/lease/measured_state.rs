//! Sessions with traffic and little state: they can be dormant as well.

use causeway_collections::SortedMap;
use causeway_dataplane::Topology;
use causeway_model::RuleSet;
use causeway_types::{Direction, QerId, Seid, Span, Time, UrrId};

use super::dormancy::is_independent;
use crate::application_class::SessionClass;
use crate::application_detection::Detector;
use crate::buffer::Buffer;
use crate::downlink_notification::NotificationState;
use crate::enforcer::QerState;
use crate::engine::SlowPath;
use crate::enrich::EnrichedFlows;
use crate::measure::{Measurement, UrrState};
use crate::session::Session;
use crate::steer::RedirectedFlows;

/// The state that packets have created in a session, beside its rules and its time of establishment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MeasuredState {
    urrs: SortedMap<UrrId, UrrState>,
    qers: SortedMap<QerId, BucketLevels>,
}

/// The token buckets of the maximum bit rate of a QER, uplink and downlink: tokens, size of the last packet, and time
/// of the last fill.
type BucketLevels = [Option<(i64, i64, Time)>; 2];

const DIRECTIONS: [Direction; 2] = [Direction::Uplink, Direction::Downlink];

impl MeasuredState {
    /// `None`: the session has more state, or a timer.
    fn of(session: &Session, since: Time, burst: Span) -> Option<Self> {
        let Session {
            rules,
            enforcers,
            measurements,
            buffer,
            detector,
            class,
            refused_tunnels,
            notified,
            extended,
            redirected,
            enriched,
            inactivity,
        } = session;
        let is_quiet = *buffer == Buffer::default()
            && *detector == Detector::default()
            && *class == SessionClass::default()
            && refused_tunnels.is_empty()
            && *notified == NotificationState::default()
            && extended.is_empty()
            && *redirected == RedirectedFlows::default()
            && *enriched == EnrichedFlows::default()
            && inactivity.is_none();
        let mut state = is_quiet.then(Self::default)?;
        for (id, measurement) in measurements.iter() {
            let urr = rules.urrs.get(id).filter(|_| measurement.begin() == since)?;
            if let Some(measurement) = measurement.get() {
                state.urrs.insert(*id, measurement.measured_state(urr, since)?);
            }
        }
        for (id, enforcer) in enforcers.iter() {
            let qer = rules.qers.get(id).filter(|_| enforcer.begin() == since)?;
            if let Some(enforcer) = enforcer.get() {
                let levels = levels_of(enforcer);
                let mut again = QerState::new(qer, burst, since);
                set_levels(&mut again, &levels);
                state.qers.insert(*id, (again == *enforcer).then_some(levels)?);
            }
        }
        Some(state)
    }
}

fn levels_of(enforcer: &QerState) -> BucketLevels {
    DIRECTIONS.map(|direction| Some(enforcer.direction(direction).meter.peak()?.level()))
}

fn set_levels(enforcer: &mut QerState, levels: &BucketLevels) {
    for (direction, level) in DIRECTIONS.into_iter().zip(levels) {
        if let (Some(bucket), Some((tokens, last, updated))) =
            (enforcer.direction_mut(direction).meter.peak_mut(), level)
        {
            bucket.set_level(*tokens, *last, *updated);
        }
    }
}

impl SlowPath {
    /// Removes a session that was established at `since`, if the returned state and its rules are all its state: from
    /// both, and the time, [`SlowPath::restore_measured_state`] restores it. `None`: it must stay.
    pub fn remove_for_dormancy(&mut self, seid: Seid, since: Time, now: Time) -> Option<MeasuredState> {
        let state = MeasuredState::of(self.sessions.get(&seid)?, since, self.shared.burst())?;
        let session = self.sessions.remove(&seid)?;
        let none = RuleSet::default();
        self.index.update(seid, &session.rules, &none);
        self.shared.update(seid, &session.rules, &none, now);
        self.paths.update(now, &session.rules, &none, &self.topology);
        self.counters.sessions = self.sessions.len() as u64;
        Some(state)
    }

    /// Restores the state of a session that was established again as of its original time.
    pub fn restore_measured_state(&mut self, seid: Seid, state: &MeasuredState) {
        let burst = self.shared.burst();
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let Session { rules, measurements, enforcers, .. } = &mut **session;
        for (id, urr_state) in state.urrs.iter() {
            if let (Some(measurement), Some(urr)) = (measurements.get_mut(id), rules.urrs.get(id)) {
                measurement.get_or_create(|begin| Measurement::restored(urr, begin, urr_state));
            }
        }
        for (id, levels) in state.qers.iter() {
            if let (Some(enforcer), Some(qer)) = (enforcers.get_mut(id), rules.qers.get(id)) {
                set_levels(enforcer.get_or_create(|begin| QerState::new(qer, burst, begin)), levels);
            }
        }
    }

    /// A session with the rules of this one shares nothing with others: it can be dormant if others with its URRs and
    /// QERs can.
    pub fn is_independent(&self, seid: Seid) -> bool {
        self.sessions
            .get(&seid)
            .is_some_and(|session| is_independent_of_topology(&session.rules, &self.topology))
    }
}

/// These rules share no state with other sessions.
pub(super) fn is_independent_of_topology(rules: &RuleSet, topology: &Topology) -> bool {
    !rules.slice.is_some_and(|slice| topology.is_limited(slice)) && is_independent(rules)
}
