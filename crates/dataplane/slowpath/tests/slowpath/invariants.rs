//! Invariants under random plans, packets and octets.

use causeway_dataplane::{Dataplane, Disposition, Event, Op};
use causeway_model::{ApplyAction, Far, Gate, Pdr, Qer, RateLimit, SessionChange};
use causeway_types::{Bitrate, FarId, QerId, Span, UrrId, Volume};
use proptest::prelude::*;

use crate::common::*;

/// One step.
#[derive(Clone, Debug)]
enum Action {
    Uplink(u8),
    Downlink(u8),
    Octets(Vec<u8>),
    Apply(Vec<Op>),
    Wait(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let far = prop_oneof![
        Just(ApplyAction::Drop),
        Just(ApplyAction::Forward),
        any::<bool>().prop_map(|notify| ApplyAction::Buffer { notify }),
    ];
    let rate = prop_oneof![Just(None), (0_u64..100).prop_map(Bitrate::from_kbps)];
    let gate = prop_oneof![Just(Gate::Open), Just(Gate::Closed)];
    prop_oneof![
        far.prop_map(|action| Op::PutFar(Far { action, ..to_gnb(gnb_tunnel(GNB, 0x2001)) }.into())),
        (rate, gate).prop_map(|(rate, downlink)| {
            let mbr = rate.map(|rate| RateLimit { uplink: rate, downlink: rate });
            Op::PutQer(Qer { mbr, downlink, ..open_qer(1) }.into())
        }),
        prop_oneof![Just(None), (1_u64..2000).prop_map(Some)]
            .prop_map(|t| Op::PutUrr(volume_urr(1, t).into())),
        Just(Op::QueryUrr(UrrId(1))),
        Just(Op::PutPdr(Pdr { urrs: vec![UrrId(1)], qers: vec![QerId(1)], ..downlink_pdr() }.into())),
        Just(Op::PutPdr(Pdr { urrs: vec![UrrId(1)], ..uplink_pdr() }.into())),
        Just(Op::RemovePdr(UPLINK)),
        Just(Op::RemovePdr(DOWNLINK)),
        Just(Op::RemoveFar(FarId(2))),
        Just(Op::RemoveUrr(UrrId(1))),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => any::<u8>().prop_map(Action::Uplink),
        3 => any::<u8>().prop_map(Action::Downlink),
        1 => proptest::collection::vec(any::<u8>(), 0..64).prop_map(Action::Octets),
        3 => proptest::collection::vec(op(), 1..4).prop_map(Action::Apply),
        1 => (0_u64..2_000_000_000).prop_map(Action::Wait),
    ]
}

/// The volumes of all reports.
#[derive(Default)]
struct Ledger {
    reported: Volume,
}

impl Ledger {
    fn collect(&mut self, setup: &mut Bench, usage: impl IntoIterator<Item = causeway_dataplane::Usage>) {
        usage.into_iter().for_each(|usage| self.reported += usage.volume.unwrap_or_default());
        for event in setup.events() {
            if let Event::Usage { usage, .. } = event {
                usage.iter().for_each(|usage| self.reported += usage.volume.unwrap_or_default());
            }
        }
    }
}

fn start() -> Bench {
    let mut setup = Bench::new();
    setup
        .apply(vec![
            Op::PutUrr(volume_urr(1, Some(1000)).into()),
            Op::PutPdr(Pdr { urrs: vec![UrrId(1)], ..uplink_pdr() }.into()),
            Op::PutPdr(Pdr { urrs: vec![UrrId(1)], qers: vec![QerId(1)], ..downlink_pdr() }.into()),
        ])
        .unwrap();
    setup
}

proptest! {
    // Input: any sequence of packets, octets, plans and pauses.
    // Output: no panic; every packet received is in exactly one counter; a refused plan leaves the counters alone.
    #[test]
    fn every_packet_is_in_exactly_one_counter(actions in proptest::collection::vec(action(), 1..60)) {
        let mut setup = start();
        for action in actions {
            match action {
                Action::Uplink(n) => drop(setup.uplink(&from_ue(n))),
                Action::Downlink(n) => drop(setup.downlink(&to_ue(n))),
                Action::Octets(bytes) => {
                    setup.gtpu(&bytes);
                    setup.downlink(&bytes);
                }
                Action::Apply(ops) => {
                    let before = setup.plane.counters();
                    if setup.apply(ops).is_err() {
                        prop_assert_eq!(setup.plane.counters(), before);
                    }
                }
                Action::Wait(nanos) => {
                    setup.now = setup.now + Span::from_nanos(nanos);
                    setup.plane.advance(setup.now);
                }
            }
            let counters = setup.plane.counters();
            let received = counters.gtpu_received.packets + counters.ip_received.packets + counters.copies;
            let placed = counters.forwarded + counters.consumed + counters.total_drops() + counters.buffered;
            prop_assert_eq!(received, placed);
        }
    }

    // Input: packets, thresholds, queries, rates, gates, buffering, in any order; at the end the session is removed.
    // Output: the reports add up to exactly what was forwarded.
    #[test]
    fn usage_adds_up_to_what_was_forwarded(
        actions in proptest::collection::vec(
            prop_oneof![
                any::<u8>().prop_map(Action::Uplink),
                any::<u8>().prop_map(Action::Downlink),
                op().prop_filter("rules that keep the URR in place", keeps_counting)
                    .prop_map(|op| Action::Apply(vec![op])),
            ],
            1..80,
        ),
    ) {
        let (mut setup, mut ledger) = (start(), Ledger::default());
        for action in actions {
            match action {
                Action::Uplink(n) => drop(setup.uplink(&from_ue(n))),
                Action::Downlink(n) => drop(setup.downlink(&to_ue(n))),
                Action::Apply(ops) => {
                    let usage = setup.apply(ops).unwrap().usage;
                    ledger.collect(&mut setup, usage);
                }
                Action::Octets(_) | Action::Wait(_) => {}
            }
            ledger.collect(&mut setup, []);
        }
        let usage = setup.apply(SessionChange::Remove).unwrap().usage;
        ledger.collect(&mut setup, usage);
        let counters = setup.plane.counters();
        prop_assert_eq!(ledger.reported.uplink_packets, counters.ip_sent.packets);
        prop_assert_eq!(ledger.reported.downlink_packets, counters.gtpu_sent.packets);
        prop_assert_eq!(ledger.reported.total_packets(), counters.forwarded);
    }

    // Input: any octets on either side.
    // Output: only what the session's rules allow is forwarded: here, nothing.
    #[test]
    fn random_octets_forward_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..128)) {
        let mut setup = start();
        prop_assert_ne!(setup.gtpu(&bytes), Disposition::Forwarded);
        prop_assert_ne!(setup.downlink(&bytes), Disposition::Forwarded);
    }
}

fn keeps_counting(op: &Op) -> bool {
    matches!(op, Op::PutFar(_) | Op::PutQer(_) | Op::PutUrr(_) | Op::QueryUrr(_))
}
