//! For a data plane that keeps the rules elsewhere, on a switch, and uses the slow path for the functions that the
//! switch lacks: it buffers, responds, keeps time and reports, and receives the usage that the switch has counted.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::Poll;

use causeway_dataplane::{ApplyError, Ingress, PacketEngine, Plan, PlanId};
use causeway_model::{Pdr, RuleSet, Usage};
use causeway_types::{NetworkInstance, PdrId, Seid, Time, UrrId};

use super::Destination;
use crate::engine::SlowPath;
use crate::matching::matches_network;
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

/// A data plane that can stand behind a switch: it has every rule, and learns what the switch has counted.
///
/// It expires no session's timers by itself any more after [`Software::leave_timers`]: the switch's backend reads the
/// session's counters first, then calls [`Software::expire_session`].
pub trait Software: PacketEngine + std::fmt::Debug + Send {
    /// From now on timers of sessions expire by [`Software::expire_session`] alone.
    fn leave_timers(&mut self);

    /// The result of a plan, without applying it.
    ///
    /// # Errors
    /// Those of applying it.
    fn preview_plan(&mut self, now: Time, plan: &Plan) -> Result<PlanPreview, ApplyError>;

    /// The rules of a session; `None`: there is no such session.
    fn rules_of(&mut self, now: Time, seid: Seid) -> Option<&RuleSet>;

    /// Whether there is such a session.
    fn has_session(&self, seid: Seid) -> bool;

    /// The URRs of a session whose quota is exhausted.
    fn exhausted_of(&mut self, now: Time, seid: Seid) -> BTreeSet<UrrId>;

    /// Adds usage that was counted elsewhere; reports that become due are events.
    fn add_usage(&mut self, now: Time, seid: Seid, readings: &[CounterReading<'_>]);

    /// Records packets of a session that were counted elsewhere, for no URR.
    fn record_activity(&mut self, now: Time, seid: Seid);

    /// The application class of a session that the switch measures from now on; `None`: it does not, so the software does if the session
    /// asks.
    fn set_class(&mut self, now: Time, seid: Seid, class: Option<u8>);

    /// The first sessions with timers that are due, each once, in the order of their first timer, at most `most`.
    fn due_sessions(&self, now: Time, most: usize) -> Vec<Seid>;

    /// Expires the timers of a session that are due. `false`: the state of the session is not in memory, and its timers expire when it is.
    fn expire_session(&mut self, now: Time, seid: Seid) -> bool;

    /// When the next timer of a session expires.
    fn next_session_timer(&self) -> Option<Time>;

    /// Expires the timers of GTP-U paths that are due.
    fn advance_paths(&mut self, now: Time);

    /// When the next timer of a GTP-U path expires.
    fn next_path_timer(&self) -> Option<Time>;

    /// When [`causeway_dataplane::Dataplane::advance`] looks for idle sessions next, or a plan that waits is given up; `None`: never.
    fn next_idle_step(&self) -> Option<Time> {
        None
    }

    /// Before a plan is applied or previewed: whether the state of its session is in memory. `Pending`: it is being read from a disk, and the plan comes
    /// from [`Software::poll_plan`]; so does every later plan of the session until then.
    fn wait_for_state(&mut self, _now: Time, _id: PlanId, _plan: &Plan) -> Poll<Result<(), ApplyError>> {
        Poll::Ready(Ok(()))
    }

    /// The next plan that has waited, which goes on now, or is refused.
    fn poll_plan(&mut self, _now: Time) -> Option<(PlanId, Plan, Result<(), ApplyError>)> {
        None
    }

    /// The other sessions with a UE address that overlaps one of this session.
    fn overlapping_sessions(&self, seid: Seid) -> Vec<Seid>;

    /// The destination of a packet. `None`: its address belongs to no session.
    fn destination_of(&self, ingress: &Ingress, packet: &[u8]) -> Option<Destination>;

    /// The session of a destination to which a packet was just processed that came from this data network, or in a tunnel; `None`: none, or
    /// several.
    fn only_session_of(&self, destination: &Destination, network: Option<&NetworkInstance>) -> Option<Seid>;
}

impl Software for SlowPath {
    fn leave_timers(&mut self) {
        Self::leave_timers(self);
    }

    fn preview_plan(&mut self, now: Time, plan: &Plan) -> Result<PlanPreview, ApplyError> {
        Self::preview_plan(self, now, plan)
    }

    fn rules_of(&mut self, _: Time, seid: Seid) -> Option<&RuleSet> {
        Self::rules_of(self, seid)
    }

    fn has_session(&self, seid: Seid) -> bool {
        Self::rules_of(self, seid).is_some()
    }

    fn exhausted_of(&mut self, _: Time, seid: Seid) -> BTreeSet<UrrId> {
        Self::exhausted_of(self, seid)
    }

    fn add_usage(&mut self, now: Time, seid: Seid, readings: &[CounterReading<'_>]) {
        Self::add_usage(self, now, seid, readings);
    }

    fn record_activity(&mut self, now: Time, seid: Seid) {
        Self::record_activity(self, now, seid);
    }

    fn set_class(&mut self, now: Time, seid: Seid, class: Option<u8>) {
        Self::set_class(self, now, seid, class);
    }

    fn due_sessions(&self, now: Time, most: usize) -> Vec<Seid> {
        Self::due_sessions(self, now, most)
    }

    fn expire_session(&mut self, now: Time, seid: Seid) -> bool {
        Self::expire_session(self, now, seid);
        true
    }

    fn next_session_timer(&self) -> Option<Time> {
        Self::next_session_timer(self)
    }

    fn advance_paths(&mut self, now: Time) {
        Self::advance_paths(self, now);
    }

    fn next_path_timer(&self) -> Option<Time> {
        Self::next_path_timer(self)
    }

    fn overlapping_sessions(&self, seid: Seid) -> Vec<Seid> {
        Self::overlapping_sessions(self, seid)
    }

    fn destination_of(&self, ingress: &Ingress, packet: &[u8]) -> Option<Destination> {
        Self::destination_of(self, ingress, packet)
    }

    fn only_session_of(&self, destination: &Destination, network: Option<&NetworkInstance>) -> Option<Seid> {
        Self::only_session_of(self, destination, network)
    }
}

impl SlowPath {
    /// From now on timers of sessions expire by [`SlowPath::expire_session`], [`SlowPath::expire_one`] and [`SlowPath::expire_one_of`] alone.
    pub const fn leave_timers(&mut self) {
        self.leaves_timers = true;
    }

    /// The session whose rules packets to a destination from this data network, or in a tunnel, concern; `None`: none, or several.
    pub fn only_session_of(
        &self,
        destination: &Destination,
        network: Option<&NetworkInstance>,
    ) -> Option<Seid> {
        match self.sessions_of(destination).as_slice() {
            [] => None,
            [one] => Some(*one),
            several => {
                let takes = |pdr: &Pdr| pdr.pdi.tunnel.is_none() && matches_network(&pdr.pdi, network);
                let takes =
                    |seid: &&Seid| self.rules_of(**seid).is_some_and(|it| it.pdrs.values().any(takes));
                let mut takers = several.iter().filter(takes);
                takers.next().copied().filter(|_| takers.next().is_none())
            }
        }
    }

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

    /// The first sessions with timers that are due, each once, in the order of their first timer, at most `most`.
    pub fn due_sessions(&self, now: Time, most: usize) -> Vec<Seid> {
        let mut seen = BTreeSet::new();
        self.timers.due(now, self.shared.wall).filter(|seid| seen.insert(*seid)).take(most).collect()
    }

    /// Expires the timers of a session that are due. O(timers of the session). One that the state of the session does not
    /// name expires when those of other sessions before it have.
    pub fn expire_session(&mut self, now: Time, seid: Seid) {
        while self.expire_one_of(now, seid) {}
        while self.expired_session(now) == Some(seid) {
            self.expire_one(now);
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
