//! A data plane that applies plans immediately, later, or not at all. It stores no rules, only sessions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use causeway_dataplane::{Applied, ApplyError};
use causeway_n4::ApplyId;
use causeway_rules::{Op, Plan, Usage, UsageReportTrigger};
use causeway_types::{Seid, Span, Time, UrrId, Volume};

/// When plans are applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pace {
    /// As soon as they are submitted.
    AtOnce,
    /// When the test says so.
    Held,
}

#[derive(Debug)]
pub(crate) struct Plane {
    pub(crate) pace: Pace,
    /// The errors of the next plans.
    pub(crate) failures: VecDeque<ApplyError>,
    pub(crate) held: VecDeque<(ApplyId, Plan)>,
    /// Every plan that was applied.
    pub(crate) done: Vec<Plan>,
    /// Ends of sessions yield one kind of usage after the other.
    pub(crate) is_varied: bool,
    sessions: BTreeMap<Seid, BTreeSet<UrrId>>,
}

impl Plane {
    pub(crate) fn new() -> Self {
        Self {
            pace: Pace::AtOnce,
            failures: VecDeque::new(),
            held: VecDeque::new(),
            done: Vec::new(),
            is_varied: false,
            sessions: BTreeMap::new(),
        }
    }

    pub(crate) fn sessions(&self) -> usize {
        self.sessions.len()
    }

    pub(crate) fn has(&self, seid: Seid) -> bool {
        self.sessions.contains_key(&seid)
    }

    /// Applies a plan, or fails as configured.
    pub(crate) fn apply(&mut self, now: Time, plan: Plan) -> Result<Applied, ApplyError> {
        if let Some(error) = self.failures.pop_front() {
            return Err(error);
        }
        let creates = matches!(plan.ops.first(), Some(Op::CreateSession));
        let exists = self.sessions.contains_key(&plan.session);
        assert_eq!(creates, !exists, "a session is created once, before anything else: {plan:?}");
        let urrs = self.sessions.entry(plan.session).or_default();
        let mut usage = Vec::new();
        for op in &plan.ops {
            match op {
                Op::PutUrr(urr) => drop(urrs.insert(urr.id)),
                Op::QueryUrr(urr) => usage.push(used(now, *urr, 10, UsageReportTrigger::IMMER)),
                Op::RemoveUrr(urr) => {
                    urrs.remove(urr);
                    usage.push(used(now, *urr, 20, UsageReportTrigger::TERMR));
                }
                Op::RemoveSession => {
                    let kind = if self.is_varied { self.done.len() } else { 0 };
                    usage.extend(urrs.iter().map(|urr| used_at_the_end(now, *urr, kind)));
                }
                _ => {}
            }
        }
        if matches!(plan.ops.last(), Some(Op::RemoveSession)) {
            self.sessions.remove(&plan.session);
        }
        self.done.push(plan);
        Ok(Applied { usage, ..Applied::default() })
    }
}

/// Usage of this many octets from the UE.
pub(crate) fn used(now: Time, urr: UrrId, octets: u64, triggers: UsageReportTrigger) -> Usage {
    Usage {
        volume: Some(Volume { uplink: octets, uplink_packets: 1, ..Volume::ZERO }),
        first_packet: Some(now),
        last_packet: Some(now),
        ..Usage::new(urr, triggers, now, now)
    }
}

/// Kinds of usage that differ in values only when reported to an SMF, and one that does not.
fn used_at_the_end(now: Time, urr: UrrId, kind: usize) -> Usage {
    let all = used(now, urr, 30 + kind as u64, UsageReportTrigger::TERMR);
    match kind % 5 {
        0 | 1 => all,
        2 => Usage { volume: Some(Volume::ZERO), first_packet: None, last_packet: None, ..all },
        3 => Usage {
            duration: Some(Span::from_millis(1500 * kind as u64)),
            start: now,
            end: now + Span::from_secs(9),
            ..all
        },
        _ => Usage { events: vec![now], ..all },
    }
}
