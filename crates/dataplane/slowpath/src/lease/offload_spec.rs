//! The rules of a session as a faster data plane applies them.

use causeway_model::{Applications, Pdr, PduSessionType, SdfFilter};
use causeway_types::{Bitrate, Direction, PdrId, QerId, QfiSet, ReportingTriggers, Seid, Span, UrrId};

use super::lookup::LookupEntry;
use super::rule_action::{RuleAction, action_of};
use crate::enforcer::window;
use crate::engine::SlowPath;
use crate::measure::stopped_after;
use crate::session::{Session, direction_of};

/// The rules of a session as a faster data plane applies them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OffloadSpec {
    /// The rules in the order in which they are tried.
    pub rules: Vec<OffloadRule>,
    /// The lookup entries of its packets. Packets with other keys are for the slow path.
    pub lookups: Vec<LookupEntry>,
}

/// The key of a grant: a rule and the rates that limit it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GrantKey {
    /// The PDR.
    pub pdr: PdrId,
    /// The direction of its packets.
    pub direction: Direction,
    /// The QERs with a maximum bit rate, each once.
    pub meters: Vec<QerId>,
}

/// One PDR with what it refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OffloadRule {
    /// The rule.
    pub key: GrantKey,
    /// The QFIs that it matches; empty is any.
    pub qfis: QfiSet,
    /// SDF filters of which one must match; none matches all.
    pub filters: Vec<SdfFilter>,
    /// The URRs that count its packets.
    pub urrs: Vec<UrrId>,
    /// The action on its packets.
    pub action: RuleAction,
    /// The maximum bit rates that limit its packets, in the order of the key.
    pub meters: Vec<OffloadMeter>,
    /// After this time without packets the slow path must handle the next one.
    pub idle_limit: Span,
    /// A URR counts dropped packets, or they must be reported: the slow path must handle them.
    pub reports_drops: bool,
    /// Usage before QoS enforcement is measured.
    pub counts_before_qos: bool,
    /// The rule's PDR, if a URR reports the start or stop of its traffic by PDR and application: then its packets are counted
    /// apart from those of other rules.
    pub reports_traffic: Option<PdrId>,
}

impl OffloadRule {
    /// The rules differ only in how they match packets: they may share one grant.
    pub fn has_same_action(&self, other: &Self) -> bool {
        let what =
            |rule: &Self| (rule.key.direction, rule.idle_limit, rule.reports_drops, rule.counts_before_qos);
        let with = |rule: &Self| (rule.key.meters.clone(), rule.meters.clone(), rule.urrs.clone());
        self.reports_traffic == other.reports_traffic
            && what(self) == what(other)
            && with(self) == with(other)
            && self.action == other.action
    }
}

/// The maximum bit rate of a QER.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OffloadMeter {
    /// The QER.
    pub qer: QerId,
    /// The rate in the direction of the rule.
    pub rate: Bitrate,
    /// What may pass together after a pause, as time at the full rate.
    pub burst: Span,
}

impl SlowPath {
    /// The offload spec of a session; `None` where all of its packets are for the slow path.
    pub fn offload_spec(&self, seid: Seid) -> Option<OffloadSpec> {
        if self.asks_for_class(seid) { None } else { self.offload_spec_of_class(seid) }
    }

    /// The same, also of a session that asks for the class of its traffic, as long as it has the class that it has now: for a data plane
    /// that asks again when [`SlowPath::class_of`] changes.
    pub fn offload_spec_of_class(&self, seid: Seid) -> Option<OffloadSpec> {
        let applications = &*self.applications;
        let session = self.sessions.get(&seid).filter(|session| is_offloadable(session, applications))?;
        let mut pdrs = session.pdrs_in_order();
        // Those of other classes match no packet, as long as the session's class is what it is now.
        pdrs.retain(|pdr| {
            let id = pdr.pdi.application.as_ref();
            id.is_none_or(|id| applications.class_of(id) == Some(session.class.verdict))
        });
        if pdrs.len() > usize::from(u8::MAX) {
            return None;
        }
        let rules = pdrs.iter().map(|pdr| self.offload_rule(session, pdr)).collect();
        let mut lookups = self.tunnel_lookups(&pdrs);
        lookups.extend(self.ue_lookups(seid, &pdrs));
        Some(OffloadSpec { rules, lookups })
    }

    fn offload_rule(&self, session: &Session, pdr: &Pdr) -> OffloadRule {
        let direction = direction_of(pdr);
        let urrs = || pdr.urrs.iter().filter_map(|id| session.rules.urrs.get(id));
        let mut meters: Vec<OffloadMeter> = Vec::new();
        for qer in session.qers_of(pdr) {
            let rate = qer.mbr.map(|mbr| mbr.rate(direction));
            if let Some(rate) = rate.filter(|_| meters.iter().all(|meter| meter.qer != qer.id)) {
                meters.push(OffloadMeter { qer: qer.id, rate, burst: window(qer, self.shared.burst()) });
            }
        }
        let key = GrantKey { pdr: pdr.id, direction, meters: meters.iter().map(|meter| meter.qer).collect() };
        OffloadRule {
            key,
            idle_limit: urrs().map(stopped_after).min().unwrap_or(Span::MAX),
            qfis: pdr.pdi.qfis,
            filters: pdr.pdi.filters.clone(),
            urrs: pdr.urrs.clone(),
            action: action_of(session, pdr, &self.topology),
            meters,
            reports_drops: direction == Direction::Downlink
                && urrs().any(|urr| urr.dropped_threshold.is_some()),
            counts_before_qos: urrs().any(|urr| urr.before_qos),
            reports_traffic: urrs()
                .any(|urr| urr.triggers.intersects(ReportingTriggers::START | ReportingTriggers::STOPT))
                .then_some(pdr.id),
        }
    }
}

/// All its packets are IP, and none needs inspection or state beyond its headers and the class of its session.
fn is_offloadable(session: &Session, applications: &Applications) -> bool {
    let rules = &session.rules;
    let is_plain = |pdr: &Pdr| {
        pdr.pdi.application.as_ref().is_none_or(|id| applications.is_class_alone(id))
            && pdr.predefined.is_empty()
            && pdr.active_from.is_none()
            && pdr.active_until.is_none()
    };
    let is_stateless = |forwarding: &causeway_model::Forwarding| {
        forwarding.enrichment.is_empty() && forwarding.steering == causeway_model::Steering::default()
    };
    rules.pdu_type == PduSessionType::Ip
        && rules.pdrs.values().all(is_plain)
        && rules.fars.values().filter_map(|far| far.forwarding.as_ref()).all(is_stateless)
}
