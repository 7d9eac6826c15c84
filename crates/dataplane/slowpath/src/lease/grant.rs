//! How much traffic a session may have before the slow path must be consulted.

use std::collections::BTreeMap;

use causeway_model::{ApplyAction, Gate, Pdr};
use causeway_types::{Direction, PdrId, QerId, Seid, Span, Time, UrrId};

use super::offload_spec::GrantKey;
use crate::enforcer::QerState;
use crate::engine::SlowPath;
use crate::session::{Session, direction_of};

/// What the packets of one rule may use before the slow path must be consulted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    /// Octets of user packets that may pass: fewer than reach a threshold or a quota, divided among the rules that
    /// count for it.
    pub budget: u64,
    /// When the last packet arrived, for [`super::OffloadRule::idle_limit`].
    pub last_packet: Time,
    /// The token buckets of its meters, in the order of [`super::OffloadRule::meters`].
    pub meters: Vec<MeterGrant>,
}

/// A token bucket, as in the slow path: it fills with the rate up to the volume of the burst, or of the last packet
/// if that is more; a packet passes while the bucket is not empty, and takes its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeterGrant {
    /// The QER.
    pub qer: QerId,
    /// The tokens, in micro-bits: kbit/s times nanoseconds. Negative after a packet larger than the tokens.
    pub tokens: i64,
    /// The size of the last packet that passed, in micro-bits.
    pub last: i64,
    /// When it was last filled.
    pub updated: Time,
}

impl SlowPath {
    /// The grants of these rules of a session, in their order. `None`: the slow path must handle the next packet of
    /// that rule.
    pub fn grants<'a>(
        &self,
        seid: Seid,
        rules: impl Iterator<Item = &'a GrantKey> + Clone,
        now: Time,
    ) -> Vec<Option<Grant>> {
        let none = || rules.clone().map(|_| None).collect();
        let burst = self.shared.burst();
        let Some(session) = self.sessions.get(&seid) else { return none() };
        let has_reported = session.inactivity.is_some_and(|inactivity| inactivity.has_reported());
        if has_reported || !session.buffer.is_empty() || session.has_rewritten_flows() {
            return none();
        }
        let awaited = self.awaited_class_packets(session);
        let last_packets: Vec<_> = rules.clone().map(|rule| quiet_since(session, rule.pdr, now)).collect();
        let mut sharers: BTreeMap<UrrId, u64> = BTreeMap::new();
        for (rule, _) in rules.clone().zip(&last_packets).filter(|(_, last_packets)| last_packets.is_some()) {
            let pdr = session.rules.pdrs.get(&rule.pdr);
            pdr.into_iter().flat_map(|pdr| &pdr.urrs).for_each(|urr| *sharers.entry(*urr).or_default() += 1);
        }
        let grant = |(rule, last_packets): (&GrantKey, Option<Time>)| {
            let quiet_since = last_packets?;
            if awaited.contains(&Some(rule.direction)) && may_forward(session, rule) {
                return None;
            }
            let budget = budget(session, rule.pdr, &sharers);
            let meters = rule.meters.iter().map(|qer| meter_of(session, *qer, rule.direction, burst));
            let meters = meters.collect::<Option<Vec<_>>>()?;
            Some(Grant { budget, last_packet: quiet_since, meters })
        };
        rules.zip(last_packets).map(grant).collect()
    }
}

/// Some packet may be forwarded by the rule.
fn may_forward(session: &Session, rule: &GrantKey) -> bool {
    let is_open = |pdr: &Pdr| {
        let far = session.rules.fars.get(&pdr.far);
        far.is_some_and(|far| far.action != ApplyAction::Drop)
            && session.qers_of(pdr).all(|qer| qer.gate(rule.direction) == Gate::Open)
    };
    session.rules.pdrs.get(&rule.pdr).is_some_and(is_open)
}

/// When the last packet of a rule arrived. `None`: a URR of the PDR requires its next packet.
fn quiet_since(session: &Session, pdr: PdrId, now: Time) -> Option<Time> {
    let pdr = session.rules.pdrs.get(&pdr)?;
    let mut last_packets = now;
    for id in &pdr.urrs {
        let since = session.look_at_urr(*id, |measurement, urr| measurement.may_offload(urr, pdr, now));
        last_packets = last_packets.min(since??);
    }
    Some(last_packets)
}

/// The rule's share of the remaining volume of its URRs.
fn budget(session: &Session, pdr: PdrId, sharers: &BTreeMap<UrrId, u64>) -> u64 {
    let share = |pdr: &Pdr, id: &UrrId| {
        let remaining =
            session.look_at_urr(*id, |measurement, urr| measurement.remaining(urr, direction_of(pdr)))?;
        Some(remaining / sharers.get(id).copied().unwrap_or(1).max(1))
    };
    let pdr = session.rules.pdrs.get(&pdr);
    let shares = pdr.into_iter().flat_map(|pdr| pdr.urrs.iter().filter_map(|id| share(pdr, id)));
    shares.min().unwrap_or(u64::MAX)
}

fn meter_of(session: &Session, qer: QerId, direction: Direction, burst: Span) -> Option<MeterGrant> {
    let rule = session.rules.qers.get(&qer)?;
    let level = |enforcer: &QerState| Some(enforcer.direction(direction).meter.peak()?.level());
    let enforcer = session.enforcers.get(&qer)?;
    let (tokens, last, updated) = enforcer.inspect(|begin| QerState::new(rule, burst, begin), level)?;
    Some(MeterGrant { qer, tokens, last, updated })
}
