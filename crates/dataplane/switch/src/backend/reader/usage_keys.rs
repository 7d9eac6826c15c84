//! URRs and rules for usage pulling.

use std::collections::BTreeMap;
use std::sync::Arc;

use causeway_model::{DirectionalLimit, RuleSet, Urr};
use causeway_types::{Direction, ReportingTriggers, Seid, Time, UrrId};

use super::Reader;
use crate::SwitchPdr;
use crate::backend::allocator::Change;
use crate::backend::sessions::Sessions;
use crate::pendulum::{Partition, Side};
use crate::pulling::{self, Limit, Measured};

/// What is measured for a session.
#[derive(Debug, Default)]
pub(super) struct Measurement {
    /// URRs as usage pulling has them.
    urrs: BTreeMap<UrrId, Arc<Urr>>,
    /// Whether its inactivity is supervised.
    pub(super) watches_activity: bool,
}

/// The purpose of a reading.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::backend) enum Measure {
    /// A URR, before QoS enforcement or after it.
    Urr(Seid, UrrId),
    /// Traffic that passes without counting for the session's URRs with exhausted quotas.
    Beside(Seid),
    /// The inactivity of a session.
    Activity(Seid),
}

impl Reader {
    /// Adds the URRs of a session, in their future state.
    pub(in crate::backend) fn add_urrs(&mut self, now: Time, seid: Seid, rules: &RuleSet) {
        let measured = self.measured.entry(seid).or_default();
        for urr in rules.urrs.shared() {
            if measured.urrs.get(&urr.id) == Some(urr) {
                continue;
            }
            self.pulling.provision(now, Measure::Urr(seid, urr.id), asked(urr));
            measured.urrs.insert(urr.id, Arc::clone(urr));
        }
        if rules.inactivity_timer.is_some() && !measured.watches_activity {
            measured.watches_activity = true;
            self.pulling.provision(now, Measure::Activity(seid), pulling::Urr::new(Side::Ingress));
        }
    }

    /// Removes the URRs that a session with these rules no longer has; without rules the session has ended.
    pub(in crate::backend) fn remove_urrs(&mut self, seid: Seid, rules: Option<&RuleSet>) {
        let Some(measured) = self.measured.get_mut(&seid) else { return };
        let is_there = |id: &UrrId| rules.is_some_and(|rules| rules.urrs.contains_key(id));
        let gone: Vec<UrrId> = measured.urrs.keys().filter(|id| !is_there(id)).copied().collect();
        for id in gone {
            measured.urrs.remove(&id);
            self.pulling.remove(Measure::Urr(seid, id));
        }
        if rules.is_none() {
            self.pulling.remove(Measure::Beside(seid));
        }
        if rules.is_none() && measured.watches_activity {
            measured.watches_activity = false;
            self.pulling.remove(Measure::Activity(seid));
        }
    }

    /// The session has ended, and all its counters were read.
    pub(in crate::backend) fn forget_session(&mut self, seid: Seid) {
        self.measured.remove(&seid);
    }

    /// New numbers of a change count from now on.
    pub(in crate::backend) fn add_numbers(
        &mut self,
        now: Time,
        change: &Change,
        partitions: &[Partition; 2],
        sessions: &Sessions,
    ) {
        let replaced: BTreeMap<_, SwitchPdr> =
            change.gone.iter().filter_map(|number| Some((sessions.rule(*number)?.pdr, *number))).collect();
        for (pdr, number) in &change.fresh {
            let Some(rule) = sessions.rule(*number).filter(|rule| rule.content.is_counted) else { continue };
            let seid = rule.session;
            let Some(measured) = self.measured.get(&seid) else { continue };
            let mut urrs = Vec::new();
            for id in &rule.content.urrs {
                if measured.urrs.contains_key(id) && !rule.content.uncounted.contains(id) {
                    urrs.push(Measure::Urr(seid, *id));
                }
            }
            urrs.extend(measured.watches_activity.then_some(Measure::Activity(seid)));
            if !rule.content.uncounted.is_empty() {
                // It is read only to detect traffic.
                self.pulling.provision(now, Measure::Beside(seid), pulling::Urr::new(Side::Egress));
                urrs.push(Measure::Beside(seid));
            }
            let direction = match rule.content.template.is_uplink {
                true => Direction::Uplink,
                false => Direction::Downlink,
            };
            let replaces = replaced.get(pdr).copied();
            let cells = self.layout.cells.as_ref();
            let banks =
                [0, 1].map(|side| cells.and_then(|cells| cells.place(side, number.0)).unwrap_or_default());
            let measured = Measured {
                number: *number,
                direction,
                partitions: *partitions,
                banks,
                urrs: &urrs,
                replaces,
            };
            let _all_are_known = self.pulling.enter(now, &measured);
        }
    }
}

/// The volume-dependent part of a URR. The software handles the time-dependent part: its timer causes counter readings.
fn asked(urr: &Urr) -> pulling::Urr {
    let threshold = urr.thresholds.volume.filter(|_| urr.triggers.contains(ReportingTriggers::VOLTH));
    pulling::Urr {
        volume_threshold: threshold.map(limit),
        volume_quota: urr.quotas.volume.map(limit),
        ..pulling::Urr::new(if urr.before_qos { Side::Ingress } else { Side::Egress })
    }
}

const fn limit(limit: DirectionalLimit) -> Limit {
    Limit { total: limit.total, uplink: limit.uplink, downlink: limit.downlink }
}
