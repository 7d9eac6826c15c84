//! Usage of a whole session: the URRs that a packet concerns, the effect of an exhausted quota, and linked reports
//! (TS 29.244 clauses 5.2.2.3 and 5.2.2.4).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use causeway_model::{Far, Pdr, Urr, UrrPart, Usage};
use causeway_packet::UserPacket;
use causeway_types::{
    Direction, FarId, PdrId, ReportingTriggers, Seid, Span, Teid, Time, UrrId, UsageReportTrigger, WallTime,
};

use crate::apply_far::Matched;
use crate::engine::SlowPath;
use crate::filter;
use crate::lazy::Lazy;
use crate::measure::Measurement;
use crate::session::{Session, direction_of};
use crate::timers::Timer;

/// What URRs are to report, in the order of their ids.
pub(crate) type Due = BTreeMap<UrrId, UsageReportTrigger>;

/// The effect of an exhausted quota on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QuotaAction {
    /// This FAR applies instead of the PDR's (FAR ID for Quota Action).
    By(FarId),
    /// It is not forwarded.
    Entirely,
}

/// What these exhausted quotas do with a packet; `None`: there are none. A quota without a FAR of its own stops the packet,
/// whatever FARs others have (TS 29.244 clause 5.2.2.2.1).
fn quota_action<'u>(exhausted: impl Iterator<Item = &'u Urr>) -> Option<QuotaAction> {
    let mut fars = exhausted.map(|urr| urr.quota_far);
    let first = fars.next()?;
    let stops = first.is_none() || fars.any(|far| far.is_none());
    Some(first.filter(|_| !stops).map_or(QuotaAction::Entirely, QuotaAction::By))
}

impl Session {
    /// Creates the URR, or replaces the one of its id.
    pub(crate) fn replace_urr(&mut self, urr: &Arc<Urr>, now: Time) {
        let old = self.rules.urrs.insert(urr.id, Arc::clone(urr));
        match (old, self.measurements.get_mut(&urr.id)) {
            (Some(old), Some(measurement)) => {
                measurement.get_or_create(|begin| Measurement::new(&old, begin)).update(&old, urr, now);
            }
            _ => drop(self.measurements.insert(urr.id, Lazy::since(now))),
        }
    }

    /// The SMF has sent these parts of the URR again.
    pub(crate) fn renew_urr(&mut self, id: UrrId, parts: &BTreeSet<UrrPart>, now: Time) {
        self.with_urr(id, |measurement, urr| measurement.renew(urr, parts, now));
    }

    /// The URR has lost its last PDR.
    pub(crate) fn reset_urr(&mut self, id: UrrId, now: Time) {
        self.with_urr(id, |measurement, urr| measurement.reset(urr, now));
    }

    fn with_urr<R>(&mut self, id: UrrId, act: impl FnOnce(&mut Measurement, &Urr) -> R) -> Option<R> {
        let (measurement, urr) = (self.measurements.get_mut(&id)?, self.rules.urrs.get(&id)?);
        Some(act(measurement.get_or_create(|begin| Measurement::new(urr, begin)), urr))
    }

    /// Reads the measurement of a URR.
    pub(crate) fn look_at_urr<R>(
        &self,
        id: UrrId,
        inspect: impl FnOnce(&Measurement, &Urr) -> R,
    ) -> Option<R> {
        let (measurement, urr) = (self.measurements.get(&id)?, self.rules.urrs.get(&id)?);
        Some(
            measurement
                .inspect(|begin| Measurement::new(urr, begin), |measurement| inspect(measurement, urr)),
        )
    }

    /// Creates the measurements that have a report or a timer due. The others stay unused.
    fn create_due_measurements(&mut self, now: Time) {
        for (id, measurement) in self.measurements.iter_mut() {
            if let (Some(begin), Some(urr)) = (measurement.begin_if_unused(), self.rules.urrs.get(id)) {
                let fresh = Measurement::new(urr, begin);
                if !fresh.is_quiet(urr, now) {
                    measurement.get_or_create(|_| fresh);
                }
            }
        }
    }

    /// The URRs with a measurement or a timer.
    fn active_urrs(&self) -> Vec<UrrId> {
        let busy =
            self.measurements.iter().filter(|(_, measurement)| measurement.begin_if_unused().is_none());
        busy.map(|(id, _)| *id).collect()
    }

    /// Reports a URR, and the linked ones that are not in `reported` yet.
    pub(crate) fn report_once(
        &mut self,
        id: UrrId,
        triggers: UsageReportTrigger,
        now: Time,
        reported: &mut BTreeSet<UrrId>,
    ) -> Vec<Usage> {
        reported.insert(id);
        let mut due = VecDeque::from([(id, triggers)]);
        let mut usages = Vec::new();
        while let Some((id, triggers)) = due.pop_front() {
            let report = |measurement: &mut Measurement, urr: &Urr| measurement.report(urr, triggers, now);
            usages.extend(self.with_urr(id, report).into_iter().flatten());
            let linked = self.linked_to(id).into_iter().filter(|urr| reported.insert(*urr));
            due.extend(linked.map(|urr| (urr, UsageReportTrigger::LIUSA)));
        }
        usages
    }

    fn linked_to(&self, id: UrrId) -> Vec<UrrId> {
        let links = |urr: &&Urr| urr.triggers.contains(ReportingTriggers::LIUSA) && urr.linked.contains(&id);
        let may = |urr: &&Urr| self.look_at_urr(urr.id, Measurement::is_active).unwrap_or(false);
        self.rules.urrs.values().filter(links).filter(may).map(|urr| urr.id).collect()
    }

    /// Applies a function to each URR of a PDR, and reports what it triggers.
    pub(crate) fn each_urr(
        &mut self,
        pdr: &Pdr,
        now: Time,
        reports: &mut Vec<Usage>,
        act: impl FnMut(&mut Measurement, &Urr) -> UsageReportTrigger,
    ) {
        let mut due = Due::new();
        self.trigger(&pdr.urrs, &mut due, act);
        reports.extend(self.report_all(due, now));
    }

    /// Applies a function to each of these URRs, and adds what it triggers.
    pub(crate) fn trigger(
        &mut self,
        urrs: &[UrrId],
        due: &mut Due,
        mut act: impl FnMut(&mut Measurement, &Urr) -> UsageReportTrigger,
    ) {
        for id in urrs {
            let triggers = self.with_urr(*id, &mut act).filter(|triggers| !triggers.is_empty());
            if let Some(triggers) = triggers {
                *due.entry(*id).or_default() |= triggers;
            }
        }
    }

    /// Reports URRs for their triggers, and those linked to them: each once.
    pub(crate) fn report_all(&mut self, due: Due, now: Time) -> Vec<Usage> {
        let mut reported = due.keys().copied().collect();
        let report = |(id, triggers)| self.report_once(id, triggers, now, &mut reported);
        due.into_iter().flat_map(report).collect()
    }

    /// A packet matched its PDR: traffic starts or goes on.
    pub(crate) fn start_traffic(&mut self, matched: &Matched<'_>, now: Time, reports: &mut Vec<Usage>) {
        let pdr = matched.pdr;
        self.each_urr(pdr, now, reports, |measurement, urr| measurement.arrived(urr, now, pdr));
    }

    /// A packet counts before QoS enforcement.
    pub(crate) fn count_arrival(&mut self, matched: &Matched<'_>, now: Time, due: &mut Due) {
        let (direction, octets) = (direction_of(matched.pdr), matched.packet.len());
        if self.counts_before_qos(matched.pdr) {
            self.trigger(&matched.pdr.urrs, due, |measurement, urr| {
                measurement.arrived_before_qos(urr, now, direction, octets)
            });
        }
    }

    /// The disposition of a packet is decided: adds the limits it reached that count before QoS enforcement.
    pub(crate) fn check_arrival(&mut self, pdr: &Pdr, now: Time, due: &mut Due) {
        if self.counts_before_qos(pdr) {
            self.trigger(&pdr.urrs, due, |measurement, urr| measurement.check_before_qos(urr, now));
        }
    }

    fn counts_before_qos(&self, pdr: &Pdr) -> bool {
        pdr.urrs.iter().any(|id| self.rules.urrs.get(id).is_some_and(|urr| urr.before_qos))
    }

    /// Checks which quotas are exhausted from the start.
    pub(crate) fn check_urrs(&mut self, now: Time) {
        self.create_due_measurements(now);
        let urrs = self.active_urrs();
        self.trigger(&urrs, &mut Due::new(), |measurement, urr| measurement.check(urr, now));
    }

    /// A packet passes.
    pub(crate) fn count_passage(&mut self, matched: &Matched<'_>, now: Time, due: &mut Due) {
        let (direction, octets) = (direction_of(matched.pdr), matched.packet.len());
        self.trigger(&matched.pdr.urrs, due, |measurement, urr| {
            measurement.passed(urr, now, direction, octets)
        });
    }

    /// The URRs of the PDR whose quota is exhausted.
    fn exhausted_urrs<'s>(&'s self, pdr: &'s Pdr) -> impl Iterator<Item = &'s Urr> {
        let is_exhausted = |id: &&UrrId| self.look_at_urr(**id, |it, _| it.is_exhausted()).unwrap_or(false);
        pdr.urrs.iter().filter(is_exhausted).filter_map(|id| self.rules.urrs.get(id))
    }

    /// The FAR of an exhausted quota that replaces the PDR's.
    pub(crate) fn quota_far(&self, pdr: &Pdr) -> Option<&Far> {
        match quota_action(self.exhausted_urrs(pdr))? {
            QuotaAction::By(far) => self.rules.fars.get(&far),
            QuotaAction::Entirely => None,
        }
    }

    /// The effect of the exhausted quotas of its PDR on a packet, unless it is exempt from them.
    pub(crate) fn blocked(&self, pdr: &Pdr, packet: &[u8]) -> Option<QuotaAction> {
        quota_action(self.exhausted_urrs(pdr).filter(|urr| !is_exempted(urr, pdr, packet)))
    }

    /// The FAR that such an effect leads to. A quota without a FAR leaves that of the PDR, which must not forward.
    pub(crate) fn far_by(&self, pdr: &Pdr, blocked: Option<QuotaAction>) -> Option<Arc<Far>> {
        let far = match blocked {
            Some(QuotaAction::By(far)) => far,
            Some(QuotaAction::Entirely) | None => pdr.far,
        };
        self.rules.fars.get_shared(&far).cloned()
    }

    /// Checks whether a packet that passed QoS enforcement exceeds a quota. From then on the quota is exhausted, and
    /// the packet must be decided anew.
    pub(crate) fn exceeds_quota(&mut self, matched: &Matched<'_>, now: Time, due: &mut Due) -> bool {
        let (direction, octets) = (direction_of(matched.pdr), matched.packet.len());
        let is_too_much = |id: &&UrrId| {
            let is = |measurement: &Measurement, urr: &Urr| {
                !urr.before_qos && !measurement.is_exhausted() && measurement.exceeds(urr, direction, octets)
            };
            self.look_at_urr(**id, is).unwrap_or(false)
        };
        let Some(id) = matched.pdr.urrs.iter().find(is_too_much).copied() else { return false };
        self.trigger(&[id], due, |measurement, urr| measurement.exhaust_volume(urr, now));
        true
    }
}

fn is_exempted(urr: &Urr, pdr: &Pdr, packet: &[u8]) -> bool {
    if urr.exempted_filters.is_empty() {
        return false;
    }
    let Ok(user) = UserPacket::parse(packet) else { return false };
    let direction = direction_of(pdr);
    let is_assigned = |ip| pdr.pdi.covers_ue(ip);
    urr.exempted_filters.iter().any(|wanted| filter::matches(wanted, &user.flow, direction, is_assigned))
}

impl SlowPath {
    /// Reports what became due by a plan, and sets the timers of the session's URRs.
    pub(crate) fn check_usage(&mut self, now: Time, seid: Seid) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        session.create_due_measurements(now);
        let urrs = session.active_urrs();
        let mut due = Due::new();
        session.trigger(&urrs, &mut due, |measurement, urr| measurement.check(urr, now));
        let usages = session.report_all(due, now);
        self.report(seid, usages);
        self.schedule_usage(now, seid);
    }

    /// Sets the timer of each URR that is due before its current timer.
    pub(crate) fn schedule_usage(&mut self, now: Time, seid: Seid) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let wall = self.shared.wall.at(now);
        for (id, urr) in session.rules.urrs.iter() {
            let Some(measurement) = session.measurements.get_mut(id).and_then(Lazy::get_mut) else {
                continue;
            };
            let (later, later_monitoring) = measurement.timers_set();
            if let Some(at) = measurement.timer_to_set(urr, now, wall) {
                self.timers.forget_urr(seid, *id, (later, None));
                self.timers.set(at, seid, Timer::Usage(*id));
            }
            if let Some(at) = measurement.monitoring_to_set(urr, wall) {
                self.timers.forget_urr(seid, *id, (None, later_monitoring));
                self.timers.set_monitoring(at, seid, *id);
            }
        }
    }

    /// The timer of a URR has expired.
    pub(crate) fn usage_due(&mut self, at: Time, seid: Seid, id: UrrId) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let is_set =
            session.measurements.get_mut(&id).and_then(Lazy::get_mut).is_some_and(|it| it.timer_expired(at));
        if is_set {
            self.urr_due(at, seid, id);
        }
    }

    /// The timer for a monitoring time of a URR has expired, at this time.
    pub(crate) fn monitoring_due(&mut self, at: Time, monitoring: WallTime, seid: Seid, id: UrrId) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let measurement = session.measurements.get_mut(&id).and_then(Lazy::get_mut);
        if measurement.is_some_and(|it| it.monitoring_expired(monitoring)) {
            self.urr_due(at, seid, id);
        }
    }

    fn urr_due(&mut self, at: Time, seid: Seid, id: UrrId) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let (wall, soon) = (self.shared.wall.at(at), report_jitter(seid));
        let mut due = Due::new();
        session.trigger(&[id], &mut due, |measurement, urr| measurement.due(urr, at, wall, soon));
        let usages = session.report_all(due, at);
        self.report(seid, usages);
        self.schedule_usage(at, seid);
    }

    /// A packet that a PDR matched was dropped. Only downlink packets count.
    pub(crate) fn count_dropped(&mut self, now: Time, seid: Seid, pdr: PdrId, octets: usize) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let Some(pdr) = session.rules.pdrs.get_shared(&pdr).cloned() else { return };
        if direction_of(&pdr) != Direction::Downlink {
            return;
        }
        let mut usages = Vec::new();
        session.each_urr(&pdr, now, &mut usages, |measurement, urr| measurement.dropped(urr, octets));
        self.report(seid, usages);
    }

    /// An End Marker was received from a tunnel (REEMR, TS 29.244 clause 5.2.2.5).
    pub(crate) fn report_end_marker(&mut self, now: Time, seid: Seid, teid: Teid, local: IpAddr) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let of_tunnel = |pdr: &&Pdr| {
            pdr.pdi.tunnel.is_some_and(|tunnel| tunnel.teid == teid && tunnel.addr.contains(local))
        };
        let urrs: BTreeSet<_> =
            session.rules.pdrs.values().filter(of_tunnel).flat_map(|pdr| pdr.urrs.clone()).collect();
        let urrs: Vec<_> = urrs.into_iter().collect();
        let mut due = Due::new();
        session.trigger(&urrs, &mut due, |measurement, urr| measurement.end_marker(urr));
        let usages = session.report_all(due, now);
        self.report(seid, usages);
        self.schedule_usage(now, seid);
    }
}

/// The maximum delay of reports after a monitoring time: 1 to 10 s, different for each session, so that they do not
/// all report together at a change of tariff (TS 29.244 clause 5.2.2.3.1 note 4).
fn report_jitter(seid: Seid) -> Span {
    Span::from_millis(1000 + seid.0 % 9000)
}
