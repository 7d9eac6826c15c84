//! Application classes in the packet path: `hip4` and `direct` with their tables and registers. `tests/packets/application_classes.rs` has the same story of
//! `hip4` on BMv2.

use causeway_p4::{Contract, profiles};
use causeway_traffic::classes::{Feature, Model, Node, Tree};
use causeway_types::{Direction, Time};

use super::super::{ProcessedFrame, Upf};
use crate::classes::{entries, member};
use crate::driver::{Program, Update};
use crate::model::register::Side;
use crate::model::{Pipeline, State};

const CPU: u16 = 510;
const UPLINK: u32 = 0x0a_0b0c;
const DOWNLINK: u32 = 0x0a_0b0d;

/// Large downlink packets are of class 1.
fn model() -> Model {
    let size = Node::Split { feature: Feature::DownlinkSize, threshold: 16 * 1000, below: 1, above: 2 };
    let tree = Tree::new(vec![size, Node::Leaf { class: 0 }, Node::Leaf { class: 1 }], 2).unwrap();
    Model::new(vec!["other".to_owned(), "video".to_owned()], 268, 2, tree).unwrap()
}

/// A frame of a rule, as ingress leaves it.
fn frame() -> Vec<u8> {
    (0..80).collect()
}

// Input:  of both profiles: four windows of two uplink packets of 60 octets and three downlink ones of 1,200, the same with a model, then windows of 200 octets; packets of a
//         rule that no session is measured by.
// Output: nothing without a model. With it the first packet of the second window says class 1, by a copy: Ethernet and the header of the CPU port, with the
//         class and the rule. The packet leaves once. Two windows of small packets end the class, with the first packet after them.
#[test]
fn a_session_gets_a_class() {
    [&profiles::HIP4, &profiles::DIRECT].into_iter().for_each(gets_a_class);
}

fn gets_a_class(profile: &Contract) {
    let program = Program::from(profile).with_application_classes();
    let mut upf = Upf::new(&program, CPU, vec![]).unwrap();
    let mut state = State::new(program.clone());
    let members = [(UPLINK, Direction::Uplink), (DOWNLINK, Direction::Downlink)];
    let members = members.map(|(rule, direction)| member(&program, rule, direction, 5).map(Update::Insert));
    state.write(Time::default(), &Vec::from_iter(members.into_iter().flatten())).unwrap();
    // What leaves with the packets of a window beside them.
    let mut window = |state: &mut State, number: u16, downlink: u16| {
        let mut events = Vec::new();
        let packets = [(UPLINK, 60), (DOWNLINK, downlink), (0x77, 1400)];
        for (rule, octets) in [packets, packets, packets].concat() {
            let packet = ProcessedFrame::Forwarded { rule, seen: (number, octets), frame: frame() };
            state.begin_pass(Side::Egress);
            assert_eq!(upf.egress(state, Time::from_secs(1), 1, packet), Some(frame()));
            assert_eq!(state.bad_access(), None);
            if let Some(copy) = upf.take_copy() {
                assert_eq!(copy.port, CPU);
                state.begin_pass(Side::Egress);
                events.extend(upf.egress(state, Time::from_secs(1), CPU, copy.packet));
            }
        }
        events
    };
    for number in 1..=4 {
        assert_eq!(window(&mut state, number, 1200), [[0; 0]; 0]);
    }
    state.write(Time::default(), &entries(&program, &model()).unwrap()).unwrap();
    // The window before the first one of these was measured without thresholds: its sums are not negative, as those of large packets.
    let said = |class: u8| {
        let mut event = frame()[..12].to_vec();
        event.extend_from_slice(&[0x88, 0xb5, 15, 1, 0, class, 0, 0x0a, 0x0b, 0x0c, 12, 13]);
        vec![event]
    };
    let events: Vec<_> = (5..=8).map(|number| window(&mut state, number, 1200)).collect();
    assert_eq!(events, [vec![], said(1), vec![], vec![]]);
    let events: Vec<_> = (9..=12).map(|number| window(&mut state, number, 200)).collect();
    assert_eq!(events, [vec![], vec![], said(0), vec![]]);
}
