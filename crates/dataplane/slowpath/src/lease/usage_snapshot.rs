//! Measured usage of a session that goes on in the data plane of another host.

use causeway_collections::SortedMap;
use causeway_dataplane::RestoredUrr;
use causeway_model::{RuleSet, Urr};
use causeway_types::{Seid, Time, UrrId};

use super::{BadRecord, MeasuredState, RuleUsage};
use crate::engine::SlowPath;
use crate::lazy::Lazy;
use crate::measure::{Measurement, SnapshotReader, begin_snapshot};
use crate::session::direction_of;

/// URRs in a snapshot, at most.
const MOST: usize = 1 << 16;

/// Time passes for the URR without a packet.
fn runs_by_itself(urr: &Urr) -> bool {
    urr.immediate_start && urr.method.duration
}

/// The URRs that measure time.
fn timed(rules: &RuleSet) -> impl Iterator<Item = &Urr> {
    rules.urrs.values().filter(|urr| urr.method.duration)
}

/// The measurement of a session that is not in the slow path; `None`: it has not begun.
fn measurement_of(urr: &Urr, since: Time, state: Option<&MeasuredState>) -> Option<Measurement> {
    let begin = state.map_or(since, |state| state.begin_of(urr.id, since));
    match state.and_then(|state| state.urr(urr.id)) {
        Some(state) => Some(Measurement::restored(urr, begin, state)),
        None => (state.is_some() || runs_by_itself(urr)).then(|| Measurement::new(urr, begin)),
    }
}

/// The snapshot of these measurements, with what flow entries have counted since their grants; `None`: there are none.
fn snapshot_of(
    now: Time,
    rules: &RuleSet,
    mut measurements: Vec<(&Urr, Measurement)>,
    spent: &[RuleUsage],
) -> Option<Vec<u8>> {
    if measurements.is_empty() {
        return None;
    }
    for rule in spent {
        let Some(pdr) = rules.pdrs.get(&rule.pdr) else { continue };
        let direction = direction_of(pdr);
        for (urr, measurement) in measurements.iter_mut().filter(|(urr, _)| pdr.urrs.contains(&urr.id)) {
            measurement.settle(urr, pdr, direction, rule);
        }
    }
    let mut octets = Vec::with_capacity(128);
    let mut out = begin_snapshot(&mut octets, now);
    out.number(measurements.len() as u64);
    for (urr, measurement) in measurements {
        out.number(urr.id.0);
        measurement.write_snapshot(urr, &mut out);
    }
    Some(octets)
}

/// The measurements in a snapshot that go on; of the others the octets are read alone.
fn read_snapshot(
    (begin, now): (Time, Time),
    rules: &RuleSet,
    octets: &[u8],
    restored: &[RestoredUrr],
) -> Result<Vec<(UrrId, Measurement)>, BadRecord> {
    let mut reader = SnapshotReader::new(octets, now)?;
    let count: usize = reader.number()?;
    if count > MOST {
        return Err(BadRecord);
    }
    let mut read = Vec::with_capacity(count.min(restored.len()));
    for _ in 0..count {
        let id = UrrId(reader.number()?);
        let wanted = restored.iter().find(|it| it.urr == id);
        let urr = rules.urrs.get(&id);
        let none = RestoredUrr::unchanged(id);
        let absent = Urr::new(id, causeway_model::MeasurementMethod::default());
        let (wanted_or_none, urr_or_absent) = (wanted.unwrap_or(&none), urr.unwrap_or(&absent));
        let measurement = Measurement::read_snapshot(urr_or_absent, begin, &mut reader, wanted_or_none)?;
        if urr.is_some() && wanted.is_some() && !read.iter().any(|(known, _)| *known == id) {
            read.push((id, measurement));
        }
    }
    reader.end()?;
    Ok(read)
}

impl SlowPath {
    /// The snapshot of a session of which flow entries have counted this since their grants; `None`: nothing has changed since this time, or there is
    /// nothing to go on with.
    pub fn usage_snapshot_with(
        &self,
        now: Time,
        seid: Seid,
        since: Time,
        spent: &[RuleUsage],
    ) -> Option<Vec<u8>> {
        let session = self.sessions.get(&seid)?;
        let rules = &session.rules;
        if since > Time::default() {
            let last = session.measurements.values().filter_map(|it| it.get()?.last_packet()).max();
            let last = spent.iter().map(|rule| rule.last_arrival).max().max(last);
            let has_measured_time = |urr: &Urr| {
                let held = session.measurements.get(&urr.id);
                held.is_some_and(|held| {
                    held.inspect(
                        |begin| Measurement::new(urr, begin),
                        |it| it.has_measured_time(urr, since, now),
                    )
                })
            };
            let has_changed = last.is_some_and(|last| last >= since) || timed(rules).any(has_measured_time);
            if !has_changed {
                return None;
            }
        }
        let of = |(id, measurement): (&UrrId, &Lazy<Measurement>)| {
            let urr = rules.urrs.get(id)?;
            let spends =
                || spent.iter().any(|it| rules.pdrs.get(&it.pdr).is_some_and(|pdr| pdr.urrs.contains(id)));
            if measurement.get().is_none() && !runs_by_itself(urr) && !spends() {
                return None;
            }
            Some((urr, measurement.inspect(|begin| Measurement::new(urr, begin), Clone::clone)))
        };
        let measurements = session.measurements.iter().filter_map(of).collect();
        snapshot_of(now, rules, measurements, spent)
    }

    /// The same of a session that is not in the slow path, with these rules, established at `begin`, and with this state beside them.
    pub fn usage_snapshot_of(
        now: Time,
        rules: &RuleSet,
        begin: Time,
        state: Option<&MeasuredState>,
        spent: &[RuleUsage],
    ) -> Option<Vec<u8>> {
        let urrs = rules.urrs.values();
        let measurements = urrs.filter_map(|urr| Some((urr, measurement_of(urr, begin, state)?))).collect();
        snapshot_of(now, rules, measurements, spent)
    }

    /// A URR of such a session has measured time since this time. O(URRs).
    pub fn has_measured_time(
        (since, now): (Time, Time),
        rules: &RuleSet,
        begin: Time,
        state: Option<&MeasuredState>,
    ) -> bool {
        timed(rules).any(|urr| {
            measurement_of(urr, begin, state).is_some_and(|it| it.has_measured_time(urr, since, now))
        })
    }

    /// What a session with these rules that was established at `begin` goes on with, if that is all that it will have beside its rules: it needs no timer, and
    /// nothing is due. `Ok(None)`: it is more.
    ///
    /// # Errors
    /// [`BadRecord`] when the octets are no snapshot.
    pub fn measured_state_from(
        (begin, now): (Time, Time),
        rules: &RuleSet,
        octets: &[u8],
        restored: &[RestoredUrr],
    ) -> Result<Option<MeasuredState>, BadRecord> {
        let mut urrs = SortedMap::new();
        for (id, mut measurement) in read_snapshot((begin, now), rules, octets, restored)? {
            let Some(urr) = rules.urrs.get(&id) else { continue };
            let needs_timer =
                measurement.next_deadline(urr).is_some() || measurement.next_monitoring(urr).is_some();
            if needs_timer || !measurement.check(urr, now).is_empty() {
                return Ok(None);
            }
            let Some(state) = measurement.measured_state(urr, begin) else { return Ok(None) };
            urrs.insert(id, state);
        }
        Ok(Some(MeasuredState::of_urrs(urrs)))
    }

    /// A session goes on with the measurements in a snapshot. `false`: there is no such session, or the octets are none.
    pub fn restore_usage_of(
        &mut self,
        now: Time,
        seid: Seid,
        octets: &[u8],
        restored: &[RestoredUrr],
    ) -> bool {
        let Some(session) = self.sessions.get_mut(&seid) else { return false };
        let Ok(read) = read_snapshot((now, now), &session.rules, octets, restored) else { return false };
        for (id, measurement) in read {
            if let Some(held) = session.measurements.get_mut(&id) {
                let set = held.get().map_or((None, None), Measurement::timers_set);
                self.timers.forget_urr(seid, id, set);
                held.set(measurement);
            }
        }
        self.check_usage(now, seid);
        true
    }
}
