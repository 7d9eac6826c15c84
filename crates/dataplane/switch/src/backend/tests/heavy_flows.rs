//! Heavy hitters: what the switch says, and its counters, on the model, beside the slow path.

use std::ops::Range;

use causeway_dataplane::{
    Dataplane, Event, FlowKind, HeavyHitter, HeavyHitterSettings, PacketEngine, Plan, Threshold,
};
use causeway_p4::{Contract, profiles};
use causeway_slowpath::Limits;
use causeway_types::{Direction, Seid, Span, Time};

use super::classes::WithoutCopies;
use super::fixture::{
    START, events, from_gnb, from_network, hip4, reply, request, session, slow_path, topology, ue,
};
use crate::backend::InProcess;
use crate::backend::heavy_flows::HeavyFlows;
use crate::backend::local_model::parts;
use crate::driver::Program;
use crate::heavy_hitters::{WINDOW, are_found_by};

/// More than 100 packets in a second.
const SETTINGS: HeavyHitterSettings = HeavyHitterSettings {
    threshold: Threshold::PacketsPerSecond(100),
    window: WINDOW,
    memory: 1 << 20,
    kind: FlowKind::UeAddress,
    seed: 7,
};

/// Octets of the packets, and of their IP packets.
const OCTETS: usize = 972;
const IP_OCTETS: u64 = 1000;

fn at(millis: u64) -> Time {
    START + Span::from_secs(10) + Span::from_millis(millis)
}

fn program(contract: &Contract) -> Program {
    Program::from(contract).with_heavy_hitters()
}

/// A UPF on a switch with this program, which looks for heavy hitters, with sessions of so many UEs.
fn on_switch(contract: &Contract, ues: u8) -> InProcess {
    let upf = InProcess::new(&program(contract), topology(), Limits::default()).unwrap();
    let mut upf = upf.with_counter_interval(Span::from_millis(20));
    begin(&mut upf, ues);
    upf
}

fn begin(plane: &mut dyn PacketEngine, ues: u8) {
    plane.set_heavy_hitters(at(0), Some(&SETTINGS));
    for number in 0..ues {
        plane.apply(at(0), &Plan::install(Seid(u64::from(number)), session(number))).unwrap();
    }
}

/// Sends a packet each `gap` milliseconds for UEs in a direction, while time passes.
fn send(plane: &mut dyn PacketEngine, millis: Range<u64>, ues: &[(u8, Direction, u64)]) {
    let mut out = Vec::new();
    for milli in millis {
        for (number, direction, gap) in ues {
            if milli % gap == 0 {
                let (ingress, packet) = match direction {
                    Direction::Uplink => (from_gnb(), request(*number, OCTETS)),
                    Direction::Downlink => (from_network(), reply(*number, OCTETS)),
                };
                plane.process(at(milli), &ingress, &packet, &mut out);
            }
        }
        if milli % 20 == 0 {
            plane.advance(at(milli));
        }
    }
    assert_eq!(out.is_empty(), ues.is_empty());
}

fn listed(plane: &dyn PacketEngine, millis: u64) -> Vec<HeavyHitter> {
    plane.heavy_hitters(at(millis)).unwrap().flows
}

/// Sessions, directions and UEs of the changes, by session, and which are ends.
fn changes(plane: &mut dyn PacketEngine) -> Vec<(Option<Seid>, Direction, String, bool)> {
    let change = |event| match event {
        Event::HeavyHitter { hitter, is_over } => {
            let flow = hitter.flow;
            assert_eq!(flow.transport, None);
            (flow.session, flow.direction, flow.ue.to_string(), is_over)
        }
        other => panic!("{other:?}"),
    };
    let mut changes: Vec<_> = events(plane).into_iter().map(change).collect();
    // Those of one time have no order.
    changes.sort_by_key(|change| change.0);
    changes
}

fn compared(contract: &Contract) {
    let mut upf = on_switch(contract, 3);
    let mut software = slow_path();
    begin(&mut software, 3);
    let traffic = [(0, Direction::Downlink, 5), (1, Direction::Uplink, 5), (2, Direction::Downlink, 20)];
    let expected = |is_over| {
        let flow = |(number, direction): (u8, Direction)| {
            (Some(Seid(number.into())), direction, format!("{}/32", ue(number)), is_over)
        };
        [(0, Direction::Downlink), (1, Direction::Uplink)].map(flow)
    };
    for plane in [&mut upf as &mut dyn PacketEngine, &mut software] {
        // Two windows.
        send(plane, 0..1620, &traffic);
        assert_eq!(changes(plane), expected(false));
        let flows = listed(plane, 1620);
        assert_eq!(flows.len(), 2);
        for HeavyHitter { packets_per_second, bits_per_second, .. } in flows {
            assert!((190..=210).contains(&packets_per_second), "{packets_per_second}");
            let octets = bits_per_second / 8;
            assert!(octets.abs_diff(packets_per_second * IP_OCTETS) <= IP_OCTETS, "{octets}");
        }
        // Two windows of silence.
        send(plane, 1620..3260, &[]);
        assert_eq!(changes(plane), expected(true));
        assert!(listed(plane, 3260).is_empty());
        // Again.
        send(plane, 3260..4880, &traffic[..1]);
        assert_eq!(changes(plane), expected(false)[..1]);
        assert_eq!(plane.heavy_hitters(at(4880)).unwrap().counts.detector.reports, 3);
    }
    assert_eq!(upf.switch().statistics().heavy_hitters_found_by_reading, 0);
    assert_eq!(upf.switch().statistics().ignored_frames, 0);
}

// Input:  three UEs for two windows: downlink packets of one and uplink packets of another at twice the threshold, of the third at half of it. Two
//         windows of silence. The first again for two windows.
// Output: the first two begin, with session, direction, UE and rates; both end; the first begins again. The slow path says the same.
#[test]
fn steady_flows_are_those_of_the_slow_path() {
    compared(&profiles::HIP4);
}

// Input:  the same in profile `direct`, whose uplink packets have the TEID as their number.
// Output: the same.
#[test]
fn flows_of_rules_by_index_too() {
    compared(&profiles::DIRECT);
}

// Input:  a switch whose copies are all lost; the last of three times as many UEs as are swept together is at twice the threshold.
// Output: it is found by reading its counters, within four windows for each sweep, and counted so; nobody else is listed. It ends as others do.
#[test]
fn a_lost_copy_is_found_by_reading() {
    let (model, program, _) = parts(&program(&profiles::HIP4), topology(), Limits::default()).unwrap();
    let mut upf =
        InProcess::with_driver(WithoutCopies(model), &program, topology(), Limits::default()).unwrap();
    upf.switch().set_counter_interval(Span::from_millis(20));
    upf.switch().set_most_swept(4);
    let ues = 12;
    begin(&mut upf, ues);
    let last = [(ues - 1, Direction::Downlink, 5)];
    send(&mut upf, 0..6000, &last);
    let (seid, address) = (Some(Seid(u64::from(ues) - 1)), format!("{}/32", ue(ues - 1)));
    assert_eq!(changes(&mut upf), [(seid, Direction::Downlink, address.clone(), false)]);
    assert_eq!(upf.switch().statistics().heavy_hitters_found_by_reading, 1);
    send(&mut upf, 6000..7640, &[]);
    assert_eq!(changes(&mut upf), [(seid, Direction::Downlink, address, true)]);
}

// Input:  a switch that restarts empty, and then a flow at twice the threshold; its session is deleted.
// Output: the switch has the rows again, and says that the flow is heavy; it is over without the session.
#[test]
fn a_restarted_switch_finds_them_again() {
    let mut upf = on_switch(&profiles::HIP4, 1);
    upf.advance(at(100));
    upf.switch().driver().restart(at(200));
    upf.advance(at(200));
    send(&mut upf, 200..1000, &[(0, Direction::Downlink, 5)]);
    assert_eq!(changes(&mut upf).len(), 1);
    assert_eq!(upf.switch().statistics().heavy_hitters_found_by_reading, 0);
    upf.apply(at(1000), &Plan::removal(Seid(0))).unwrap();
    send(&mut upf, 1000..2640, &[]);
    assert!(changes(&mut upf)[0].3);
    assert!(upf.switch().is_empty());
}

// Input:  a listed flow; then other settings, which the switch can have; then some that it cannot, and none.
// Output: each time the flow is over. With the former a flow is found anew; with the latter nobody looks, and the tables are empty.
#[test]
fn settings_are_replaced() {
    let mut upf = on_switch(&profiles::HIP4, 1);
    let traffic = [(0, Direction::Downlink, 5)];
    send(&mut upf, 0..1000, &traffic);
    assert_eq!(changes(&mut upf).len(), 1);
    let other = HeavyHitterSettings { threshold: Threshold::PacketsPerSecond(150), ..SETTINGS };
    upf.set_heavy_hitters(at(1000), Some(&other));
    assert!(listed(&upf, 1000).is_empty());
    // The switch has said that the flow is heavy: the counters say it again.
    send(&mut upf, 1000..3000, &traffic);
    let said: Vec<bool> = changes(&mut upf).into_iter().map(|change| change.3).collect();
    assert_eq!(said, [true, false]);
    let bits = HeavyHitterSettings { threshold: Threshold::BitsPerSecond(1_000_000), ..SETTINGS };
    upf.set_heavy_hitters(at(3000), Some(&bits));
    assert_eq!(upf.heavy_hitters(at(3000)), None);
    let entries = |upf: &mut InProcess| {
        let tables = upf.switch().state().tables.into_iter();
        tables.filter(|table| table.name.starts_with("heavy_")).map(|table| table.entries).sum::<usize>()
    };
    assert_eq!(entries(&mut upf), 0);
    upf.set_heavy_hitters(at(3000), Some(&SETTINGS));
    assert!(entries(&mut upf) > 8192);
    upf.set_heavy_hitters(at(3000), None);
    assert_eq!((entries(&mut upf), upf.heavy_hitters(at(3000))), (0, None));
}

// Input:  programs with and without the block.
// Output: the state of the switch says it; without it nobody looks.
#[test]
fn without_the_block_nobody_looks() {
    let mut upf = hip4();
    assert!(!are_found_by(&upf.switch().state()));
    upf.set_heavy_hitters(at(0), Some(&SETTINGS));
    assert_eq!(upf.heavy_hitters(at(0)), None);
    assert!(are_found_by(&on_switch(&profiles::HIP4, 0).switch().state()));
}

// Input:  1,030 flows that the switch reports at one time, one of them twice.
// Output: 1,024 are listed, and the others counted as not; 256 changes are said, and the others counted. Without settings a report says nothing.
#[test]
fn the_list_has_a_bound() {
    let address = "10.45.0.2/32".parse().unwrap();
    let mut heavy = HeavyFlows::new(true);
    heavy.reported(at(0), (Seid(0), Direction::Uplink), 81, address);
    assert_eq!((heavy.list_of_flows(), heavy.next_deadline(true)), (None, None));
    heavy.look_for(at(0), Some(&SETTINGS));
    for number in (0..1030).chain([0]) {
        heavy.reported(at(0), (Seid(number), Direction::Uplink), 81, address);
    }
    let list = heavy.list_of_flows().unwrap();
    assert_eq!((list.flows.len(), list.counts.listed, list.counts.unlisted), (1024, 1024, 6));
    assert_eq!((list.counts.detector.reports, list.counts.unsaid), (1030, 768));
    assert_eq!(list.flows[0].packets_per_second, 100);
    assert_eq!(std::iter::from_fn(|| heavy.poll_event()).count(), 256);
}
