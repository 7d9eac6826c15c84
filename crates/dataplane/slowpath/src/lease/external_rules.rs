//! For a data plane that keeps the rules elsewhere, on a switch, and uses the slow path for the functions that the
//! switch lacks: it buffers, responds, keeps time and reports, and receives the usage that the switch has counted.

use std::collections::BTreeSet;
use std::sync::Arc;

use causeway_dataplane::{Applied, ApplyError, Disposition, Ingress, Plan};
use causeway_model::{Pdr, RuleSet, Usage};
use causeway_types::{PdrId, Seid, Time, UrrId};

use crate::engine::SlowPath;
use crate::session::Session;
use crate::usage::Due;

/// The counters of a rule since the last reading, in user packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterReading<'a> {
    /// The rule.
    pub pdr: PdrId,
    /// Packets before QoS enforcement.
    pub arrived: PacketCount,
    /// Packets after it.
    pub passed: PacketCount,
    /// The URRs that do not count these packets: their quotas are exhausted, so the packets are dropped or forwarded
    /// by another FAR.
    pub uncounted: &'a [UrrId],
}

/// A number of packets and their octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketCount {
    /// Packets.
    pub packets: u64,
    /// Octets of user packets.
    pub octets: u64,
}

/// The result that a plan would have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanPreview {
    /// The rules of the session afterwards; none if it is removed.
    pub rules: RuleSet,
    /// The URRs whose quota is then exhausted.
    pub exhausted: BTreeSet<UrrId>,
}

impl SlowPath {
    /// The result of a plan, without applying it.
    ///
    /// # Errors
    /// Those of applying it.
    pub fn preview_plan(&self, now: Time, plan: &Plan) -> Result<PlanPreview, ApplyError> {
        let (mut session, _) = self.preview(now, plan)?;
        session.check_urrs(now);
        let exhausted = session.exhausted();
        Ok(PlanPreview { rules: session.rules, exhausted })
    }

    /// Applies a plan without expiring timers first, of this session or others.
    ///
    /// # Errors
    /// As [`causeway_dataplane::Dataplane::apply`].
    pub fn apply_without_timers(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        self.apply_plan(now, plan)
    }

    /// Handles a packet without expiring timers first. Transmitted packets are queued until a flush.
    pub fn process_without_timers(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Disposition {
        self.receive(now, ingress, packet)
    }

    /// The rules of a session.
    pub fn rules_of(&self, seid: Seid) -> Option<&RuleSet> {
        self.sessions.get(&seid).map(|session| &session.rules)
    }

    /// The URRs of a session whose quota is exhausted.
    pub fn exhausted_of(&self, seid: Seid) -> BTreeSet<UrrId> {
        self.sessions.get(&seid).map(|session| session.exhausted()).unwrap_or_default()
    }

    /// Adds usage that was counted elsewhere; reports that become due are events.
    pub fn add_usage(&mut self, now: Time, seid: Seid, readings: &[CounterReading<'_>]) {
        if readings.iter().any(|reading| reading.arrived.packets > 0 || reading.passed.packets > 0) {
            self.record_activity_of(now, seid);
        }
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let pdr_of =
            |reading: &CounterReading<'_>| session.rules.pdrs.get_shared(&reading.pdr).map(Arc::clone);
        let readings: Vec<_> =
            readings.iter().filter_map(|reading| Some((pdr_of(reading)?, reading))).collect();
        let mut usages = Vec::new();
        session.read_urrs(&readings, now, &mut usages);
        self.report(seid, usages);
        self.schedule_usage(now, seid);
    }

    /// Records packets of a session that were counted elsewhere, for no URR.
    pub fn record_activity(&mut self, now: Time, seid: Seid) {
        self.record_activity_of(now, seid);
    }

    /// The sessions with timers that are due, each once, in the order of their first timer.
    pub fn due_sessions(&self, now: Time) -> Vec<Seid> {
        let mut seen = BTreeSet::new();
        self.timers.due(now, self.shared.wall).filter(|seid| seen.insert(*seid)).collect()
    }

    /// Expires the timers of a session that are due.
    pub fn expire_session(&mut self, now: Time, seid: Seid) {
        while let Some((at, seid, timer)) = self.timers.expire_of(now, seid, self.shared.wall) {
            self.act_on_timer(at, seid, timer);
        }
    }

    /// Expires the timers of GTP-U paths that are due.
    pub fn advance_paths(&mut self, now: Time) {
        self.expire_paths(now);
    }

    /// When the next timer of a GTP-U path expires.
    pub fn next_path_timer(&self) -> Option<Time> {
        self.paths.next()
    }

    /// When the next timer of a session expires.
    pub fn next_session_timer(&self) -> Option<Time> {
        self.timers.next(self.shared.wall)
    }
}

impl Session {
    /// Reads the counters of PDRs. Measurements start first, for all of them: start reports, and those of linked
    /// URRs, contain no usage that was read now, whatever the order of the PDRs.
    fn read_urrs(
        &mut self,
        readings: &[(Arc<Pdr>, &CounterReading<'_>)],
        now: Time,
        reports: &mut Vec<Usage>,
    ) {
        for (pdr, reading) in readings {
            self.each_urr(pdr, now, reports, |measurement, urr| {
                measurement.read_arrived(urr, now, pdr, reading)
            });
        }
        let mut due = Due::new();
        for (pdr, reading) in readings {
            self.trigger(&pdr.urrs, &mut due, |measurement, urr| {
                measurement.read_passed(urr, now, pdr, reading)
            });
        }
        reports.extend(self.report_all(due, now));
    }

    fn exhausted(&self) -> BTreeSet<UrrId> {
        let is = |id: &&UrrId| self.look_at_urr(**id, |it, _| it.is_exhausted()).unwrap_or(false);
        self.rules.urrs.keys().filter(is).copied().collect()
    }
}
