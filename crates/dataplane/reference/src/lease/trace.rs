//! Sessions that packets have come for, and of which little has to be kept all the same.

use causeway_dataplane::Topology;
use causeway_rules::{RuleSet, SortedMap};
use causeway_types::{Direction, QerId, Seid, Span, Time, UrrId};

use super::rest::is_alone;
use crate::buffer::Buffer;
use crate::detect::Detector;
use crate::enforcer::Enforcer;
use crate::engine::Reference;
use crate::enrich::EnrichedFlows;
use crate::measure::{Measurement, Trace};
use crate::session::Session;
use crate::steer::RedirectedFlows;
use crate::telling::Told;

/// All that packets have made of a session beside what its rules say and since when it is there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Traces {
    urrs: SortedMap<UrrId, Trace>,
    qers: SortedMap<QerId, Levels>,
}

/// What is in the buckets of the maximum bit rate of a QER, uplink and downlink: tokens, size of the last packet, and when it was
/// filled.
type Levels = [Option<(i64, i64, Time)>; 2];

const WAYS: [Direction; 2] = [Direction::Uplink, Direction::Downlink];

impl Traces {
    /// `None`: more than that has happened to the session, or something is due with time.
    fn of(session: &Session, since: Time, burst: Span) -> Option<Self> {
        let Session {
            rules,
            enforcers,
            measurements,
            buffer,
            detector,
            refused_tunnels,
            told,
            extended,
            redirected,
            enriched,
            inactivity,
        } = session;
        let is_quiet = *buffer == Buffer::default()
            && *detector == Detector::default()
            && refused_tunnels.is_empty()
            && *told == Told::default()
            && extended.is_empty()
            && *redirected == RedirectedFlows::default()
            && *enriched == EnrichedFlows::default()
            && inactivity.is_none();
        let mut traces = is_quiet.then(Self::default)?;
        for (id, measurement) in measurements.iter() {
            let urr = rules.urrs.get(id).filter(|_| measurement.begin() == since)?;
            if let Some(measurement) = measurement.made_already() {
                traces.urrs.insert(*id, measurement.trace(urr, since)?);
            }
        }
        for (id, enforcer) in enforcers.iter() {
            let qer = rules.qers.get(id).filter(|_| enforcer.begin() == since)?;
            if let Some(enforcer) = enforcer.made_already() {
                let levels = levels_of(enforcer);
                let mut again = Enforcer::new(qer, burst, since);
                set_levels(&mut again, &levels);
                traces.qers.insert(*id, (again == *enforcer).then_some(levels)?);
            }
        }
        Some(traces)
    }
}

fn levels_of(enforcer: &Enforcer) -> Levels {
    WAYS.map(|way| Some(enforcer.look(way).meter.peak()?.level()))
}

fn set_levels(enforcer: &mut Enforcer, levels: &Levels) {
    for (way, level) in WAYS.into_iter().zip(levels) {
        if let (Some(bucket), Some((tokens, last, updated))) = (enforcer.way(way).meter.peak_mut(), level) {
            bucket.set_level(*tokens, *last, *updated);
        }
    }
}

impl Reference {
    /// Lets go a session that was established at `since`, if its rules are all that there is to it beside what is returned: from both,
    /// and the time, [`Reference::retrace`] makes it whole again. `None`: it is to stay.
    pub fn put_to_rest(&mut self, seid: Seid, since: Time, now: Time) -> Option<Traces> {
        let traces = Traces::of(self.sessions.get(&seid)?, since, self.shared.burst())?;
        let session = self.sessions.remove(&seid)?;
        let none = RuleSet::default();
        self.index.follow(seid, &session.rules, &none);
        self.shared.follow(seid, &session.rules, &none, now);
        self.paths.follow(now, &session.rules, &none, &self.topology);
        self.counters.sessions = self.sessions.len() as u64;
        Some(traces)
    }

    /// Goes on with a session that was established again as of the time at which it was.
    pub fn retrace(&mut self, seid: Seid, traces: &Traces) {
        let burst = self.shared.burst();
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let Session { rules, measurements, enforcers, .. } = &mut **session;
        for (id, trace) in traces.urrs.iter() {
            if let (Some(measurement), Some(urr)) = (measurements.get_mut(id), rules.urrs.get(id)) {
                measurement.make(|begin| Measurement::retraced(urr, begin, trace));
            }
        }
        for (id, levels) in traces.qers.iter() {
            if let (Some(enforcer), Some(qer)) = (enforcers.get_mut(id), rules.qers.get(id)) {
                set_levels(enforcer.make(|begin| Enforcer::new(qer, burst, begin)), levels);
            }
        }
    }

    /// A session with the rules of this one has nothing to do with others: it may rest, if others may that have its URRs and QERs.
    pub fn is_alone(&self, seid: Seid) -> bool {
        self.sessions.get(&seid).is_some_and(|session| has_no_peers(&session.rules, &self.topology))
    }
}

/// Nothing of what these rules say is shared with other sessions.
pub(super) fn has_no_peers(rules: &RuleSet, topology: &Topology) -> bool {
    let is_limited = |slice| topology.slices.iter().any(|limit| limit.slice == slice);
    !rules.slice.is_some_and(is_limited) && is_alone(rules)
}
