//! Usage adds up and quotas hold under any sequence of steps.

use std::num::NonZeroU16;

use causeway_dataplane::{Dataplane, Disposition, Event, Op, Plan, RestoredUrr, Usage};
use causeway_model::{
    ApplyAction, BaseInterval, DirectionalLimit, Far, Gate, MeasurementMethod, Monitoring, Pdr, Qer,
    SessionChange, Urr, UrrPart, UsageLimits,
};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{QerId, ReportingTriggers as Trigger, Span, Time, UrrId, WallTime};
use proptest::prelude::*;

use crate::common::*;

/// Counts everything, without limits.
const OPEN: UrrId = UrrId(1);
/// Has a quota.
const LIMITED: UrrId = UrrId(2);
/// Measures before QoS enforcement.
const BEFORE: UrrId = UrrId(3);
/// The octets of every packet.
const PACKET: u64 = 128;

#[derive(Clone, Debug)]
enum Action {
    Uplink,
    Downlink,
    Wait(u64),
    /// The URR without a quota is changed.
    Change(Box<Urr>),
    /// The other gets a quota of this many octets.
    Grant(u64),
    /// A parameter other than the quota of the other is changed.
    Pause(bool),
    Query(UrrId),
    Far(ApplyAction),
    Gate(Gate),
    /// The last PDR is removed and created again.
    Dissociate,
    /// A data plane of another host goes on, after so many nanoseconds.
    TakeOver(u64),
}

fn octets(total: u64) -> Option<DirectionalLimit> {
    Some(DirectionalLimit { total: Some(total), ..Default::default() })
}

fn seconds(range: std::ops::Range<u64>) -> impl Strategy<Value = Option<Span>> {
    proptest::option::of(range.prop_map(Span::from_secs))
}

/// Any URR that counts volume and has no quota, no pause and no end.
fn open_urr() -> impl Strategy<Value = Urr> {
    let limits = (proptest::option::of(1..2000_u64), seconds(1..20), proptest::option::of(1..4_u32));
    let timers = (seconds(1..9), seconds(1..9), seconds(1..9));
    let monitoring = proptest::collection::vec((0..60_u64, proptest::option::of(1..900_u64)), 0..3);
    let pace = (0..4_u8, any::<[bool; 4]>());
    (limits, timers, monitoring, pace).prop_map(|(limits, timers, monitoring, (pace, flags))| {
        let thresholds = UsageLimits { volume: limits.0.and_then(octets), time: limits.1, events: limits.2 };
        let named = [
            (thresholds.volume.is_some(), Trigger::VOLTH),
            (thresholds.time.is_some(), Trigger::TIMTH),
            (thresholds.events.is_some(), Trigger::EVETH),
            (timers.0.is_some(), Trigger::PERIO),
            (timers.1.is_some(), Trigger::UPINT),
            (flags[0], Trigger::START | Trigger::STOPT),
            (flags[1] && pace > 0, Trigger::ENVCL),
        ];
        let interval = Span::from_secs(3);
        Urr {
            triggers: named.iter().filter(|(is, _)| *is).fold(Trigger::empty(), |all, (_, one)| all | *one),
            thresholds,
            period: timers.0,
            inactivity_timer: timers.1,
            inactivity_detection: timers.2.or((pace == 1).then_some(interval)),
            base_interval: match pace {
                2 => Some(BaseInterval::Continuous(interval)),
                3 => Some(BaseInterval::Discrete(interval)),
                _ => None,
            },
            additional_monitoring: monitoring.into_iter().map(monitoring_at).collect(),
            immediate_start: flags[3],
            before_qos: flags[2],
            ..Urr::new(
                if flags[2] { BEFORE } else { OPEN },
                MeasurementMethod { volume: true, duration: true, events: true },
            )
        }
    })
}

fn monitoring_at((second, threshold): (u64, Option<u64>)) -> Monitoring {
    let thresholds = UsageLimits { volume: threshold.and_then(octets), ..Default::default() };
    Monitoring { at: WallTime::from_secs(1_000_000 + second), thresholds, quotas: UsageLimits::default() }
}

fn limited_urr(quota: u64, inactive: bool) -> Urr {
    Urr {
        triggers: Trigger::VOLQU | Trigger::PERIO,
        quotas: UsageLimits { volume: octets(quota), ..Default::default() },
        period: Some(Span::from_secs(5)),
        number_of_reports: NonZeroU16::new(1000),
        inactive,
        ..Urr::new(LIMITED, MeasurementMethod { volume: true, ..Default::default() })
    }
}

fn action() -> impl Strategy<Value = Action> {
    let far = prop_oneof![
        Just(ApplyAction::Drop),
        Just(ApplyAction::Forward),
        Just(ApplyAction::Buffer { notify: false })
    ];
    prop_oneof![
        8 => Just(Action::Uplink),
        8 => Just(Action::Downlink),
        3 => (0..4_000_000_000_u64).prop_map(Action::Wait),
        2 => open_urr().prop_map(|urr| Action::Change(Box::new(urr))),
        2 => (0..1500_u64).prop_map(Action::Grant),
        1 => any::<bool>().prop_map(Action::Pause),
        1 => prop_oneof![Just(OPEN), Just(LIMITED), Just(BEFORE)].prop_map(Action::Query),
        1 => far.prop_map(Action::Far),
        1 => prop_oneof![Just(Gate::Open), Just(Gate::Closed)].prop_map(Action::Gate),
        1 => Just(Action::Dissociate),
        2 => (0..4_000_000_000_u64).prop_map(Action::TakeOver),
    ]
}

/// A session and its reports.
struct Fixture {
    bench: Bench,
    quota: u64,
    inactive: bool,
    /// The gates are closed.
    closed: bool,
    /// Octets reported of each URR.
    reported: [u64; 3],
    /// Octets that passed while the URR with the quota was not paused.
    measured: u64,
    /// Packets that data planes before this one have forwarded.
    forwarded_before: u64,
    /// The end of the last report of the open URR.
    last_end: Option<Time>,
}

impl Fixture {
    fn new() -> Self {
        let mut fixture = Self {
            bench: Bench::new(),
            quota: 500,
            inactive: false,
            closed: false,
            reported: [0; 3],
            measured: 0,
            forwarded_before: 0,
            last_end: None,
        };
        let open = Urr::new(OPEN, MeasurementMethod { volume: true, ..Default::default() });
        let before = Urr { id: BEFORE, before_qos: true, ..open.clone() };
        let urrs = [open, before, limited_urr(500, false)];
        fixture.apply(urrs.into_iter().map(|urr| Op::PutUrr(urr.into())).collect::<Vec<_>>());
        fixture.associate();
        fixture
    }

    fn associate(&mut self) {
        let urrs = vec![OPEN, LIMITED, BEFORE];
        self.apply(vec![
            Op::PutQer(open_qer(1).into()),
            Op::PutPdr(Pdr { urrs: urrs.clone(), qers: vec![QerId(1)], ..uplink_pdr() }.into()),
            Op::PutPdr(Pdr { urrs, qers: vec![QerId(1)], ..downlink_pdr() }.into()),
        ]);
    }

    /// Reports that were due before the plan precede it.
    fn apply(&mut self, change: impl Into<SessionChange>) {
        self.bench.plane.advance(self.bench.now);
        self.events();
        let usage = self.bench.apply(change).unwrap().usage;
        self.collect(&usage);
        self.events();
    }

    fn events(&mut self) {
        for event in self.bench.events() {
            if let Event::Usage { usage, .. } = event {
                self.collect(&usage);
            }
        }
    }

    /// Reports have no gaps: each begins where the one before ended.
    fn collect(&mut self, usages: &[Usage]) {
        for usage in usages {
            let Some(volume) = usage.volume else { continue };
            self.reported[usage.urr.0 as usize - 1] += volume.total();
            if usage.urr == OPEN {
                assert!(
                    self.last_end.is_none_or(|end| end == usage.start),
                    "{usage:?} after {:?}",
                    self.last_end
                );
                self.last_end = Some(usage.end);
            }
        }
    }

    /// The session goes on in another data plane. Buffered packets are lost.
    fn take_over(&mut self, after: Span) {
        self.events();
        let rules = self.bench.plane.rules_of(SESSION).unwrap().clone();
        let snapshot = self.bench.plane.usage_snapshot(self.bench.now, SESSION, Time::default());
        self.forwarded_before += Dataplane::counters(&self.bench.plane).forwarded;
        self.bench.now = self.bench.now + after;
        self.bench.plane = SlowPath::new(topology(), Limits::default());
        self.bench.plane.apply(self.bench.now, &Plan::install(SESSION, rules.clone())).unwrap();
        let urrs: Vec<_> = rules.urrs.keys().map(|urr| RestoredUrr::unchanged(*urr)).collect();
        if let Some(snapshot) = snapshot {
            assert!(self.bench.plane.restore_usage(self.bench.now, SESSION, &snapshot, &urrs));
        }
        self.events();
    }

    fn put_limited(&mut self, parts: &[UrrPart]) {
        let urr = limited_urr(self.quota, self.inactive);
        let mut ops = vec![Op::PutUrr(urr.into())];
        if !parts.is_empty() {
            ops.push(Op::RenewUrr { urr: LIMITED, parts: parts.iter().copied().collect() });
        }
        self.apply(ops);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    // Input: packets, take-overs by another data plane, pauses, thresholds of volume, time and events, periods, monitoring times, quotas, queries,
    //        buffering, gates, pauses of the measurement, in any order; at the end the session is removed.
    // Output: the reports of a URR that always measures add up to exactly what was forwarded, without gap or overlap;
    //         those of one that measures before QoS enforcement, to what was received. Of the one with a quota, never
    //         more passes than the quota that was left.
    #[test]
    fn usage_adds_up_and_quotas_hold(actions in proptest::collection::vec(action(), 1..120)) {
        let mut fixture = Fixture::new();
        let (mut left, mut came) = (500, 0);
        for action in actions {
            let before = forwarded(&fixture);
            came += if matches!(action, Action::Uplink | Action::Downlink) { PACKET } else { 0 };
            match action {
                Action::Uplink => {
                    let disposition = fixture.bench.uplink(&from_ue(1));
                    prop_assert!(disposition == Disposition::Forwarded || left < PACKET || fixture.closed || fixture.inactive);
                }
                Action::Downlink => drop(fixture.bench.downlink(&to_ue(1))),
                Action::Wait(nanos) => {
                    fixture.bench.now = fixture.bench.now + Span::from_nanos(nanos);
                    fixture.bench.plane.advance(fixture.bench.now);
                }
                Action::Change(urr) => fixture.apply(vec![Op::PutUrr(urr.into())]),
                Action::Grant(quota) => {
                    fixture.events();
                    // With the quota, unreported usage is counted against it; and buffered packets may be released.
                    let unreported = fixture.measured - fixture.reported[1];
                    fixture.quota = quota;
                    left = quota.saturating_sub(unreported);
                    fixture.put_limited(&[UrrPart::VolumeQuota]);
                }
                Action::Pause(inactive) => {
                    fixture.inactive = inactive;
                    fixture.put_limited(&[]);
                }
                Action::Query(urr) => fixture.apply(vec![Op::QueryUrr(urr)]),
                Action::Far(action) => {
                    fixture.apply(vec![Op::PutFar(Far { action, ..to_gnb(gnb_tunnel(GNB, 0x2001)) }.into())]);
                }
                Action::Gate(gate) => {
                    fixture.closed = gate == Gate::Closed;
                    fixture.apply(vec![Op::PutQer(Qer { uplink: gate, downlink: gate, ..open_qer(1) }.into())]);
                }
                Action::TakeOver(nanos) => fixture.take_over(Span::from_nanos(nanos)),
                Action::Dissociate => {
                    let waiting = Dataplane::counters(&fixture.bench.plane).buffered;
                    if waiting == 0 {
                        fixture.apply(vec![Op::PutPdr(uplink_pdr().into()), Op::PutPdr(downlink_pdr().into())]);
                        left = fixture.quota;
                        fixture.associate();
                    }
                }
            }
            fixture.events();
            let passed = forwarded(&fixture) - before;
            prop_assert!(fixture.inactive || passed <= left, "{} octets passed, {} were left", passed, left);
            if !fixture.inactive {
                left -= passed;
                fixture.measured += passed;
            }
        }
        fixture.apply(SessionChange::Remove);
        prop_assert_eq!(fixture.reported[0], forwarded(&fixture));
        prop_assert_eq!(fixture.reported[BEFORE.0 as usize - 1], came);
    }
}

/// User octets that were forwarded.
fn forwarded(fixture: &Fixture) -> u64 {
    let counters = Dataplane::counters(&fixture.bench.plane);
    (fixture.forwarded_before + counters.forwarded) * PACKET
}
