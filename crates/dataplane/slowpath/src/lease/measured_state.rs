//! Sessions with traffic and little state: they can be dormant as well.

use causeway_collections::SortedMap;
use causeway_dataplane::Topology;
use causeway_model::RuleSet;
use causeway_types::{Direction, QerId, Seid, Span, Time, UrrId};

use super::dormancy::is_independent;
use super::record::{BadRecord, RecordReader, RecordWriter};
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

impl MeasuredState {
    /// Appends the state as octets. `since`: when the session was established.
    pub fn write(&self, since: Time, out: &mut Vec<u8>) {
        let mut out = RecordWriter::new(out, since);
        out.number(self.urrs.len() as u64);
        for (id, state) in self.urrs.iter() {
            out.number(id.0);
            state.write(&mut out);
        }
        out.number(self.qers.len() as u64);
        for (id, levels) in self.qers.iter() {
            out.number(id.0);
            for level in levels {
                out.option(*level, |out, (tokens, last, updated)| {
                    out.signed(tokens);
                    out.signed(last);
                    out.time(updated);
                });
            }
        }
    }

    /// The state that [`MeasuredState::write`] has written, of a session established at `since`.
    ///
    /// # Errors
    /// [`BadRecord`] when no state is written so.
    pub fn read(octets: &[u8], since: Time) -> Result<Self, BadRecord> {
        let mut octets = RecordReader::new(octets, since);
        let mut state = Self::default();
        for _ in 0..octets.number::<u32>()? {
            let id = UrrId(octets.number()?);
            if state.urrs.insert(id, UrrState::read(&mut octets)?).is_some() {
                return Err(BadRecord);
            }
        }
        for _ in 0..octets.number::<u32>()? {
            let id = QerId(octets.number()?);
            let mut level =
                || octets.option(|octets| Ok((octets.signed()?, octets.signed()?, octets.time()?)));
            let levels = [level()?, level()?];
            if state.qers.insert(id, levels).is_some() {
                return Err(BadRecord);
            }
        }
        octets.end()?;
        Ok(state)
    }

    /// Measurements alone.
    pub(crate) fn of_urrs(urrs: SortedMap<UrrId, UrrState>) -> Self {
        Self { urrs, qers: SortedMap::new() }
    }

    /// The state of a URR; `None`: that of a new one.
    pub(crate) fn urr(&self, id: UrrId) -> Option<&UrrState> {
        self.urrs.get(&id)
    }

    /// When the last packet arrived; `None`: there was none that a URR measures.
    pub fn last_packet(&self) -> Option<Time> {
        self.urrs.values().filter_map(UrrState::last_arrival).max()
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

    /// When the last packet arrived that a URR of the session measures; `None`: there was none. Packets that flow entries have handled since
    /// their grant are not among them.
    pub fn last_packet_of(&self, seid: Seid) -> Option<Time> {
        let measurements = self.sessions.get(&seid)?.measurements.values();
        measurements.filter_map(|measurement| measurement.get()?.last_packet()).max()
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
