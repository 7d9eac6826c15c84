//! Which measurement of a URR usage belongs to, for a standby that keeps snapshots of usage.
//!
//! A snapshot of a URR goes on after a take-over only if the URR is not another one with the same id, and without the usage that was taken out of the
//! measurement since. So no usage is counted twice, whatever the order in which snapshots and changes of a session reach the standby, and quotas go on.

use std::collections::BTreeMap;

use causeway_dataplane::{Op, Plan, RestoredUrr, UsageTotals};
use causeway_model::{SessionChange, Urr, UrrPart, Usage};
use causeway_types::{Seid, Span, UrrId, UsageReportTrigger, Volume, transfer_fields};

use super::Sessions;

/// What the data plane has measured of a session since its last reports, for another member of a chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsageSnapshot {
    /// The UPF's SEID.
    pub session: Seid,
    marks: UsageMarks,
    /// The octets of the data plane.
    pub octets: Vec<u8>,
}

impl UsageSnapshot {
    /// A snapshot of the data plane, with the marks that the session has now.
    pub(crate) const fn new(session: Seid, marks: UsageMarks, octets: Vec<u8>) -> Self {
        Self { session, marks, octets }
    }

    /// The marks that the session had.
    pub(crate) const fn marks(&self) -> &UsageMarks {
        &self.marks
    }
}

/// The measurement of one URR. Numbers of one session only grow; zero is that of its establishment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct UrrMark {
    /// When the URR was created, or lost all its PDRs.
    measurement: u32,
    /// When usage was last taken out of its measurement.
    reported: u32,
    /// When its SMF last gave thresholds, and a quota.
    thresholds: u32,
    quotas: u32,
    /// All usage that was taken out of the measurement.
    taken: Taken,
}

/// Usage that was taken out of a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Taken {
    volume: Volume,
    time: Span,
    events: u64,
}

/// The marks of the URRs of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct UsageMarks {
    /// The highest number that was given.
    last: u32,
    /// Those with another mark than zero.
    urrs: BTreeMap<UrrId, UrrMark>,
}

transfer_fields! {
    UrrMark { measurement, reported, thresholds, quotas, taken }
    Taken { volume, time, events }
    UsageMarks { last, urrs }
    UsageSnapshot { session, marks, octets }
}

/// A part of a plan that changes marks, once the plan is applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MarkChange {
    Created(UrrId),
    Removed(UrrId),
    Thresholds(UrrId),
    Quotas(UrrId),
}

impl UsageMarks {
    fn next(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.last
    }

    /// Usage was taken out of measurements. A report of a start, or of dropped traffic, leaves its usage for the next one.
    pub(crate) fn take(&mut self, usage: &[Usage]) {
        let leaves = UsageReportTrigger::START | UsageReportTrigger::DROTH;
        for usage in usage.iter().filter(|usage| !usage.triggers.difference(leaves).is_empty()) {
            let number = self.next();
            let mark = self.urrs.entry(usage.urr).or_default();
            mark.reported = number;
            mark.taken.add(usage);
            if usage.triggers.intersects(REARMING) {
                mark.thresholds = number;
            }
            if usage.triggers.contains(UsageReportTrigger::TERMR) {
                *mark = UrrMark { measurement: number, ..UrrMark::default() };
            }
        }
    }

    /// A plan was applied.
    pub(crate) fn apply(&mut self, changes: &[MarkChange]) {
        for change in changes {
            let number = self.next();
            match change {
                MarkChange::Created(urr) => {
                    self.urrs.insert(*urr, UrrMark { measurement: number, ..UrrMark::default() });
                }
                MarkChange::Removed(urr) => drop(self.urrs.remove(urr)),
                MarkChange::Thresholds(urr) => self.urrs.entry(*urr).or_default().thresholds = number,
                MarkChange::Quotas(urr) => self.urrs.entry(*urr).or_default().quotas = number,
            }
        }
    }

    /// The URRs among these whose measurements go on from a snapshot that was taken with other marks.
    pub(crate) fn restored(&self, urrs: impl Iterator<Item = UrrId>, snapshot: &Self) -> Vec<RestoredUrr> {
        let of = |marks: &Self, urr: UrrId| marks.urrs.get(&urr).copied().unwrap_or_default();
        let restored = |urr| {
            let (now, then) = (of(self, urr), of(snapshot, urr));
            (now.measurement == then.measurement).then_some(RestoredUrr {
                urr,
                reported: (now.reported != then.reported).then(|| now.taken.since(&then.taken)),
                has_new_thresholds: now.thresholds != then.thresholds,
                has_new_quotas: now.quotas != then.quotas,
            })
        };
        urrs.filter_map(restored).collect()
    }
}

/// Reports after which thresholds count anew.
const REARMING: UsageReportTrigger =
    UsageReportTrigger::VOLTH.union(UsageReportTrigger::TIMTH).union(UsageReportTrigger::EVETH);

impl Taken {
    fn add(&mut self, usage: &Usage) {
        self.volume += usage.volume.unwrap_or(Volume::ZERO);
        self.time = self.time.saturating_add(usage.duration.unwrap_or_default());
        self.events = self.events.saturating_add(usage.events.len() as u64);
    }

    fn since(&self, earlier: &Self) -> UsageTotals {
        let [now, then] = [self.volume, earlier.volume];
        UsageTotals {
            volume: Volume {
                uplink: now.uplink.saturating_sub(then.uplink),
                downlink: now.downlink.saturating_sub(then.downlink),
                uplink_packets: now.uplink_packets.saturating_sub(then.uplink_packets),
                downlink_packets: now.downlink_packets.saturating_sub(then.downlink_packets),
            },
            time: self.time.saturating_sub(earlier.time),
            events: self.events.saturating_sub(earlier.events),
        }
    }
}

impl MarkChange {
    /// What a plan changes of a session with these URRs.
    pub(crate) fn of(change: &SessionChange, urr: impl Fn(UrrId) -> Option<Urr>) -> Vec<Self> {
        let SessionChange::Update(ops) = change else { return Vec::new() };
        let mut changes = Vec::new();
        for op in ops.iter() {
            match op {
                Op::RemoveUrr(id) => changes.push(Self::Removed(*id)),
                Op::PutUrr(new) => match urr(new.id) {
                    None => changes.push(Self::Created(new.id)),
                    Some(old) => {
                        let has_thresholds = old.thresholds != new.thresholds;
                        let has_quotas = (old.quotas, old.holding_time, old.validity_time)
                            != (new.quotas, new.holding_time, new.validity_time)
                            || old.number_of_reports != new.number_of_reports;
                        changes.extend(has_thresholds.then_some(Self::Thresholds(new.id)));
                        changes.extend(has_quotas.then_some(Self::Quotas(new.id)));
                    }
                },
                Op::RenewUrr { urr, parts } => {
                    changes.extend(parts.iter().filter_map(|part| Self::renewed(*urr, *part)));
                }
                _ => {}
            }
        }
        changes
    }

    fn renewed(urr: UrrId, part: UrrPart) -> Option<Self> {
        match part {
            UrrPart::VolumeThreshold | UrrPart::TimeThreshold | UrrPart::EventThreshold => {
                Some(Self::Thresholds(urr))
            }
            UrrPart::VolumeQuota
            | UrrPart::TimeQuota
            | UrrPart::EventQuota
            | UrrPart::HoldingTime
            | UrrPart::ValidityTime
            | UrrPart::NumberOfReports => Some(Self::Quotas(urr)),
            UrrPart::DroppedThreshold | UrrPart::Period | UrrPart::InactivityTimer => None,
        }
    }
}

impl Sessions {
    /// A plan of a session is submitted: if it is applied, marks change.
    pub(super) fn expect_marks(&mut self, plan: &Plan) {
        if !self.records_changes() {
            return;
        }
        let Some(session) = self.get(plan.session) else { return };
        let changes = match &plan.change {
            SessionChange::Update(_) => {
                let rules = session.rules.rules();
                MarkChange::of(&plan.change, |id| rules.urrs.get(&id).cloned())
            }
            _ => Vec::new(),
        };
        let Some(session) = self.get_mut(plan.session) else { return };
        if !changes.is_empty() || session.extras_mut().is_some() {
            session.get_or_create_extras().mark_changes = changes;
        }
    }

    /// The data plane has taken this usage out of the measurements of a session.
    pub(crate) fn take_usage(&mut self, seid: Seid, usage: &[Usage]) {
        if self.records_changes()
            && !usage.is_empty()
            && let Some(session) = self.get_mut(seid)
        {
            session.get_or_create_extras().marks.take(usage);
        }
    }
}

#[cfg(test)]
mod tests {
    use causeway_model::MeasurementMethod;
    use causeway_types::Time;

    use super::*;

    fn usage(urr: u32, triggers: UsageReportTrigger) -> Usage {
        let volume = Some(Volume { uplink: 7, ..Volume::ZERO });
        Usage { volume, ..Usage::new(UrrId(urr), triggers, Time::default(), Time::default()) }
    }

    /// The URRs that go on, with octets that were reported since.
    fn goes_on(now: &UsageMarks, snapshot: &UsageMarks) -> Vec<(u32, Option<u64>, bool, bool)> {
        let restored = now.restored([UrrId(1), UrrId(2)].into_iter(), snapshot);
        let of = |it: &RestoredUrr| {
            let reported = it.reported.map(|totals| totals.volume.total());
            (it.urr.0, reported, it.has_new_thresholds, it.has_new_quotas)
        };
        restored.iter().map(of).collect()
    }

    // Input:  a snapshot; then the start of traffic of URR 1 is reported, usage twice, once at a threshold; then URR 1 loses its PDRs.
    // Output: the start takes no usage; the others do, and the threshold counts anew; at the end the measurement is another one. URR 2 goes on.
    #[test]
    fn a_report_takes_what_was_measured_before() {
        let mut marks = UsageMarks::default();
        let snapshot = marks.clone();
        marks.take(&[usage(1, UsageReportTrigger::START)]);
        assert_eq!(goes_on(&marks, &snapshot), [(1, None, false, false), (2, None, false, false)]);
        marks.take(&[usage(1, UsageReportTrigger::PERIO)]);
        assert_eq!(goes_on(&marks, &snapshot), [(1, Some(7), false, false), (2, None, false, false)]);
        marks.take(&[usage(1, UsageReportTrigger::VOLTH)]);
        assert_eq!(goes_on(&marks, &snapshot), [(1, Some(14), true, false), (2, None, false, false)]);
        assert_eq!(goes_on(&marks, &marks.clone()), [(1, None, false, false), (2, None, false, false)]);
        marks.take(&[usage(1, UsageReportTrigger::TERMR)]);
        assert_eq!(goes_on(&marks, &snapshot), [(2, None, false, false)]);
    }

    // Input:  a snapshot; then URR 1 is removed, and one with its id created, in one plan or in two; URR 2 gets a quota, then a threshold.
    // Output: the snapshot of the old URR 1 is none of the new one; that of URR 2 goes on with new limits.
    #[test]
    fn another_urr_of_the_same_id_begins_anew() {
        let method = MeasurementMethod { volume: true, ..MeasurementMethod::default() };
        let urr = |id| Urr::new(UrrId(id), method);
        for apart in [false, true] {
            let mut marks = UsageMarks::default();
            let snapshot = marks.clone();
            let removal = SessionChange::Update(vec![Op::RemoveUrr(UrrId(1))]);
            marks.apply(&MarkChange::of(&removal, |id| Some(urr(id.0))));
            if apart {
                marks.apply(&[]);
            }
            let creation = SessionChange::Update(vec![Op::PutUrr(urr(1).into())]);
            marks.apply(&MarkChange::of(&creation, |id| (id != UrrId(1)).then(|| urr(id.0))));
            let renewed = [UrrPart::VolumeQuota].into();
            let renewal = vec![Op::RenewUrr { urr: UrrId(2), parts: renewed }];
            marks.apply(&MarkChange::of(&SessionChange::Update(renewal), |id| Some(urr(id.0))));
            assert_eq!(goes_on(&marks, &snapshot), [(2, None, false, true)]);
            let limited = Urr {
                thresholds: causeway_model::UsageLimits { events: Some(7), ..Default::default() },
                ..urr(2)
            };
            let update = SessionChange::Update(vec![Op::PutUrr(limited.into())]);
            marks.apply(&MarkChange::of(&update, |id| Some(urr(id.0))));
            assert_eq!(goes_on(&marks, &snapshot), [(2, None, true, true)]);
        }
    }
}
