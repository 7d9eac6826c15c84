//! Heavy hitters in the packet path: `hip4` and `direct` with their tables and registers. `tests/packets/heavy_hitters.rs` has the same story of `hip4` on
//! BMv2.

use causeway_p4::{Contract, profiles};
use causeway_traffic::SlidingConfig;
use causeway_types::{Span, Time};

use super::super::{ProcessedFrame, Upf};
use crate::driver::{Program, Request, SwitchDriver};
use crate::heavy_hitters::{Detector, Packet, config, entries};
use crate::model::{Bounds, Config, Model, Pipeline, Refused, State, Timing};

const CPU: u16 = 510;
const RULE: u32 = 0x0a_0b0c;

/// Packets of a rule in a window from which on it is heavy.
const HEAVY: u16 = 5;

fn with_threshold(program: &Program) -> State {
    let config = SlidingConfig { threshold: HEAVY.into(), ..config() };
    let mut state = State::new(program.clone());
    state.write(Time::default(), &entries(program, &config).unwrap()).unwrap();
    state
}

/// A frame of the rule, as ingress leaves it.
fn frame() -> Vec<u8> {
    (0..80).collect()
}

/// Lets a forwarded packet pass egress, and then its copies: what leaves, and how often it passed.
fn pass(upf: &mut Upf, state: &mut State, now: Time, rule: u32) -> (Vec<Vec<u8>>, usize) {
    let mut left = Vec::new();
    let mut next = Some(ProcessedFrame::Forwarded { rule, seen: (0, 0), frame: frame() });
    let mut passes = 0;
    while let Some(packet) = next {
        passes += 1;
        state.begin_pass(crate::model::register::Side::Egress);
        left.extend(upf.egress(state, now, 1, packet));
        assert_eq!(state.bad_access(), None);
        next = upf.take_copy().map(|copy| {
            assert_eq!(copy.port, CPU);
            copy.packet
        });
    }
    (left, passes)
}

// Input:  of both profiles: packets of a rule, 10 ms apart, without a threshold, then with one of 5; a packet of no rule.
// Output: without one nothing is counted. The first packet takes the place that the CRCs of its rule say by a second pass, and leaves once. The
//         fifth makes one event, Ethernet and the header of the CPU port, with rule and packets; the sixth none.
#[test]
fn a_rule_becomes_heavy() {
    [&profiles::HIP4, &profiles::DIRECT].into_iter().for_each(becomes_heavy);
}

fn becomes_heavy(profile: &Contract) {
    let program = Program::from(profile).with_heavy_hitters();
    let detector = Detector::of(&program).unwrap().unwrap();
    let mut upf = Upf::new(&program, CPU, vec![]).unwrap();
    let Packet { identity, places, .. } = Packet::of_rule(RULE);
    let owner = |state: &State| detector.slot(state, 0, places[0] as usize).unwrap();
    let mut without = State::new(program.clone());
    assert_eq!(pass(&mut upf, &mut without, Time::from_secs(1), RULE), (vec![frame()], 1));
    assert_eq!(owner(&without).owner, 0);

    let mut state = with_threshold(&program);
    let at = |packet: u64| Time::from_secs(1) + Span::from_millis(10 * packet);
    assert_eq!(pass(&mut upf, &mut state, at(0), 0), (vec![frame()], 1), "no rule");
    assert_eq!(pass(&mut upf, &mut state, at(1), RULE), (vec![frame()], 2), "it takes a place");
    assert_eq!(owner(&state).owner, identity);
    for packet in 2..=4 {
        assert_eq!(pass(&mut upf, &mut state, at(packet), RULE), (vec![frame()], 1));
    }
    assert!(!owner(&state).is_heavy);
    let (left, passes) = pass(&mut upf, &mut state, at(5), RULE);
    let mut event = frame()[..12].to_vec();
    event.extend_from_slice(&[0x88, 0xb5, 7, 1, 0, HEAVY as u8, 0, 0x0a, 0x0b, 0x0c, 12, 13]);
    assert_eq!((left, passes), (vec![frame(), event], 2));
    assert!(owner(&state).is_heavy);
    assert_eq!(pass(&mut upf, &mut state, at(6), RULE), (vec![frame()], 1), "it is said once");
}

/// Copies each packet that egress processes, and the copies.
struct Copying;

impl Pipeline for Copying {
    type Packet = ();

    fn ingress(&mut self, _: &mut State, _: Time, _: u16, _: &[u8], out: &mut crate::model::Output<()>) {
        out.push(copy());
    }

    fn egress(&mut self, _: &mut State, _: Time, _: u16, (): ()) -> Option<Vec<u8>> {
        Some(vec![1])
    }

    fn take_copy(&mut self) -> Option<crate::model::QueuedPacket<()>> {
        Some(copy())
    }
}

const fn copy() -> crate::model::QueuedPacket<()> {
    crate::model::QueuedPacket { port: 1, queue: 0, octets: 1, packet: () }
}

// Input:  a program that copies each copy, with a bound of two in a row.
// Output: two copies are made and counted; the packet that asks for a third is dropped, with the reason.
#[test]
fn copies_of_copies_have_a_bound() {
    let config = Config { timing: Timing::INSTANT, cpu_port: CPU, port_rate: None, queue_room: 1000 };
    let bounds = Bounds { egress_copies: 2, ..Bounds::default() };
    let mut model = Model::new(Program::default(), Copying, config).with_bounds(bounds);
    model.receive(Time::from_secs(1), 0, &[]);
    model.submit(Time::from_secs(1), Request::Write(vec![]));
    assert_eq!((model.passes().copied, model.passes().refused), (2, 1));
    assert_eq!(model.refused(), Some(&Refused::EgressCopies { most: 2 }));
    assert_eq!(std::iter::from_fn(|| model.poll_sent()).count(), 2);
}
