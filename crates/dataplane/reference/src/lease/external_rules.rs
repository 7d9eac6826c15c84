//! For a data plane that keeps the rules elsewhere, on a switch, and has the reference for all that the switch cannot do: it
//! buffers, answers, keeps time and reports, and takes the usage that the switch has counted.

use std::collections::BTreeSet;
use std::sync::Arc;

use causeway_dataplane::{Applied, ApplyError, Disposition, Ingress, Plan};
use causeway_rules::{Pdr, RuleSet, Usage};
use causeway_types::{PdrId, Seid, Time, UrrId};

use crate::engine::Reference;
use crate::session::Session;

/// What the counters of a rule showed since they were read last, in user packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterReading<'a> {
    /// The rule.
    pub pdr: PdrId,
    /// Before QoS enforcement.
    pub arrived: PacketCount,
    /// After it.
    pub passed: PacketCount,
    /// The URRs that do not count these packets: their quotas are exhausted, so they are dropped or leave by another FAR.
    pub uncounted: &'a [UrrId],
}

/// Packets and their octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketCount {
    /// Packets.
    pub packets: u64,
    /// Octets of user packets.
    pub octets: u64,
}

/// What a plan would come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanPreview {
    /// The rules of the session afterwards; none if it is gone.
    pub rules: RuleSet,
    /// The URRs whose quota is exhausted then.
    pub exhausted: BTreeSet<UrrId>,
}

impl Reference {
    /// What a plan would come to, without doing it.
    ///
    /// # Errors
    /// Those of applying it.
    pub fn preview_plan(&self, now: Time, plan: &Plan) -> Result<PlanPreview, ApplyError> {
        let (mut session, _) = self.preview(now, plan)?;
        session.check_urrs(now);
        let exhausted = session.exhausted();
        Ok(PlanPreview { rules: session.rules, exhausted })
    }

    /// Applies a plan without letting timers expire first, of this session or others.
    ///
    /// # Errors
    /// As [`causeway_dataplane::Dataplane::apply`].
    pub fn apply_without_timers(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        self.apply_plan(now, plan)
    }

    /// Handles a packet without letting timers expire first. What leaves waits to be flushed.
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

    /// Takes usage that was counted elsewhere; what it makes due is an event.
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

    /// Packets of a session were counted elsewhere, for no URR.
    pub fn record_activity(&mut self, now: Time, seid: Seid) {
        self.record_activity_of(now, seid);
    }

    /// The sessions with timers that are due, each once, in the order of their first one.
    pub fn due_sessions(&self, now: Time) -> Vec<Seid> {
        let mut seen = BTreeSet::new();
        self.timers.due(now, self.shared.wall).filter(|seid| seen.insert(*seid)).collect()
    }

    /// Lets the timers of a session expire that are due.
    pub fn expire_session(&mut self, now: Time, seid: Seid) {
        while let Some((at, seid, timer)) = self.timers.expire_of(now, seid, self.shared.wall) {
            self.act_on_timer(at, seid, timer);
        }
    }

    /// Lets the timers of GTP-U paths expire that are due.
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
    /// Counters of PDRs were read. First is what began, for all of them: such reports, and those of linked URRs, have nothing in them that
    /// was read now, whatever the order of the PDRs.
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
        for (pdr, reading) in readings {
            self.each_urr(pdr, now, reports, |measurement, urr| {
                measurement.read_passed(urr, now, pdr, reading)
            });
        }
    }

    fn exhausted(&self) -> BTreeSet<UrrId> {
        let is = |id: &&UrrId| self.look_at_urr(**id, |it, _| it.is_exhausted()).unwrap_or(false);
        self.rules.urrs.keys().filter(is).copied().collect()
    }
}
