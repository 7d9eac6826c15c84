//! Buffered packets, compared with a model that is a plain list: order, exactly once, and the reason of each drop.

use causeway_dataplane::{Dataplane, DropReason, Op};
use causeway_model::{ApplyAction, Far, Pdr, SessionChange};
use causeway_slowpath::{Limits, WhenFull};
use causeway_types::{FarId, PdrId, Precedence, Span, Time};
use proptest::prelude::*;

use crate::common::*;

/// One step. FARs and PDRs are 0 and 1.
#[derive(Clone, Copy, Debug)]
enum Step {
    Packet(usize),
    Far(usize, ApplyAction),
    Exchange,
    DropBuffered,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let action = prop_oneof![
        1 => Just(ApplyAction::Drop),
        1 => Just(ApplyAction::Forward),
        2 => any::<bool>().prop_map(|notify| ApplyAction::Buffer { notify }),
    ];
    prop_oneof![
        6 => (0..2_usize).prop_map(Step::Packet),
        3 => (0..2_usize, action).prop_map(|(far, action)| Step::Far(far, action)),
        1 => Just(Step::Exchange),
        1 => Just(Step::DropBuffered),
        2 => (1..3000_u64).prop_map(Step::Wait),
    ]
}

/// The expected state of the session: the packets by number.
struct Model {
    limits: Limits,
    actions: [ApplyAction; 2],
    /// The FAR of each PDR.
    fars: [usize; 2],
    waiting: Vec<(Time, usize, u8)>,
    sent: Vec<u8>,
    dropped: Vec<(DropReason, u8)>,
}

impl Model {
    fn packet(&mut self, now: Time, pdr: usize, number: u8) {
        match self.actions[self.fars[pdr]] {
            ApplyAction::Forward => self.sent.push(number),
            ApplyAction::Buffer { .. } if self.waiting.len() < self.limits.buffer_packets_per_session => {
                self.waiting.push((now, pdr, number));
            }
            ApplyAction::Buffer { .. } if self.limits.when_full == WhenFull::DropOldest => {
                let (_, _, oldest) = self.waiting.remove(0);
                self.dropped.push((DropReason::BufferFull, oldest));
                self.waiting.push((now, pdr, number));
            }
            ApplyAction::Buffer { .. } => self.dropped.push((DropReason::BufferFull, number)),
            _ => self.dropped.push((DropReason::FarDrop, number)),
        }
    }

    /// Applies the FARs as they are now: releases or drops packets.
    fn settle(&mut self) {
        for (since, pdr, number) in std::mem::take(&mut self.waiting) {
            match self.actions[self.fars[pdr]] {
                ApplyAction::Buffer { .. } => self.waiting.push((since, pdr, number)),
                ApplyAction::Forward => self.sent.push(number),
                _ => self.dropped.push((DropReason::BufferDiscarded, number)),
            }
        }
    }

    fn discard(&mut self, reason: DropReason, goes: impl Fn(Time) -> bool) {
        for (since, pdr, number) in std::mem::take(&mut self.waiting) {
            if goes(since) {
                self.dropped.push((reason, number));
            } else {
                self.waiting.push((since, pdr, number));
            }
        }
    }
}

fn far(index: usize, action: ApplyAction) -> Op {
    Op::PutFar(Far { id: FarId(2 + index as u32), action, ..to_gnb(gnb_tunnel(GNB, 0x2001)) }.into())
}

/// PDR 0 matches all downlink packets but those from port 80, which PDR 1 matches.
fn pdr(index: usize, far: usize) -> Op {
    let usual = Pdr { id: PdrId(2 + index as u16), far: FarId(2 + far as u32), ..downlink_pdr() };
    let mut pdr = Pdr { precedence: Precedence(9 - index as u32), ..usual };
    if index == 1 {
        pdr.pdi.filters = vec!["permit out 17 from any 80 to assigned".parse().unwrap()];
    }
    Op::PutPdr(pdr.into())
}

fn bench(limits: Limits) -> Bench {
    let mut setup = Bench::empty(limits);
    setup.apply(establishment()).unwrap();
    setup
        .apply(vec![far(0, ApplyAction::Forward), far(1, ApplyAction::Forward), pdr(0, 0), pdr(1, 1)])
        .unwrap();
    setup
}

/// The numbers of the packets that were sent, in order.
fn sent(setup: &Bench) -> Vec<u8> {
    setup.sent.iter().filter_map(|(_, packet)| packet.last().copied()).collect()
}

proptest! {
    // Input:  packets of two PDRs, their FARs taking every action, PDRs changing FARs, DROBU and pauses, with any
    //         small limits and either choice of the packet to drop when a buffer is full.
    // Output: after each step the sent packets in order, the buffered packets, and the drops by reason are those of a
    //         plain list.
    #[test]
    fn buffered_packets_follow_the_list(
        steps in proptest::collection::vec(step(), 1..80),
        most in 0..6_usize,
        oldest in any::<bool>(),
        millis in proptest::option::of(1..4000_u64),
    ) {
        let when_full = if oldest && most > 0 { WhenFull::DropOldest } else { WhenFull::DropNewest };
        let buffer_time = millis.map(Span::from_millis);
        let limits = Limits { buffer_packets_per_session: most, when_full, buffer_time, ..Limits::default() };
        let mut setup = bench(limits);
        let mut model = Model {
            limits,
            actions: [ApplyAction::Forward; 2],
            fars: [0, 1],
            waiting: Vec::new(),
            sent: Vec::new(),
            dropped: Vec::new(),
        };
        for (number, step) in (0..).zip(steps) {
            match step {
                Step::Packet(pdr) => {
                    let port = if pdr == 0 { 53 } else { 80 };
                    setup.downlink(&udp((SERVER, port), (UE, 40000), number, 20));
                    model.packet(setup.now, pdr, number);
                }
                Step::Far(index, action) => {
                    setup.apply(vec![far(index, action)]).unwrap();
                    model.actions[index] = action;
                    model.settle();
                }
                Step::Exchange => {
                    model.fars.reverse();
                    setup.apply(vec![pdr(0, model.fars[0]), pdr(1, model.fars[1])]).unwrap();
                    model.settle();
                }
                Step::DropBuffered => {
                    setup.apply(vec![Op::DropBuffered]).unwrap();
                    model.discard(DropReason::BufferDropRequested, |_| true);
                }
                Step::Wait(millis) => {
                    setup.now = setup.now + Span::from_millis(millis);
                    setup.plane.advance(setup.now);
                    if let Some(limit) = limits.buffer_time {
                        model.discard(DropReason::BufferExpired, |since| since + limit <= setup.now);
                    }
                }
            }
            prop_assert_eq!(sent(&setup), model.sent.clone());
            let counters = setup.plane.counters();
            prop_assert_eq!(counters.buffered, model.waiting.len() as u64);
            for reason in DropReason::ALL {
                let expected = model.dropped.iter().filter(|(why, _)| why == reason).count();
                prop_assert_eq!(counters.dropped(*reason), expected as u64, "{}", reason);
            }
        }
        setup.apply(SessionChange::Remove).unwrap();
        prop_assert_eq!(setup.plane.counters().buffered, 0);
        prop_assert_eq!(setup.plane.next_session_timer(), None);
    }
}
