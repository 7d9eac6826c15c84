//! Application classes: profile `hip4` with APPLICATION_CLASSES, on BMv2. `src/model/upf/tests/classes.rs` tells the same of the model, and
//! `src/classes/tests.rs` compares that with the software.

use std::time::Instant;

use causeway_switch::classes::{entries, member};
use causeway_switch::driver::Update;
use causeway_traffic::classes::{Feature, Model, Node, Tree};
use causeway_types::Direction;

use crate::bench::{Bench, packets};
use crate::frames::*;
use crate::rules::{RuleAction, TO_N6};
use crate::thrift::PATIENCE;
use crate::{CPU, N3, N6, bmv2, profiles};

const PLACE: u32 = 12_345;

/// A session with as many packets in each direction is of class 1 while they are small, else of class 2.
fn model(threshold: u32) -> Model {
    let nodes = vec![
        Node::Split { feature: Feature::UplinkSize, threshold, below: 1, above: 2 },
        Node::Leaf { class: 1 },
        Node::Leaf { class: 2 },
    ];
    let classes = ["other", "small", "large"].map(str::to_owned);
    Model::new(classes.into(), 268, 2, Tree::new(nodes, 3).unwrap()).unwrap()
}

/// Sends packets both ways until the CPU port gets the frame that says this class: that frame, and how many were sent each way. On a busy machine windows may have too
/// few packets, and end a class.
fn until_event(bench: &mut Bench, uplink: &[u8], downlink: &[u8], class: u8) -> (Vec<u8>, u64) {
    let (end, mut sent) = (Instant::now() + PATIENCE, 0);
    loop {
        assert!(Instant::now() < end, "no class after {sent} packets each way");
        bench.bmv2().unwrap().put(N3, uplink);
        bench.bmv2().unwrap().put(N6, downlink);
        sent += 1;
        let (mut left, mut event) = (0, None);
        while left < 2 {
            let (port, frame) = bench.bmv2().unwrap().next();
            if port == CPU { event = Some(frame) } else { left += 1 }
        }
        if let Some(event) = event.filter(|event| event[16..18] == [0, class]) {
            return (event, sent);
        }
    }
}

// Input:  packets in both directions of a session that is measured, without a model and with one by which they are small; then with one by which they are
//         large.
// Output: nothing is said without a model. After two windows the CPU port gets one frame: Ethernet and its header, with class 1 and a rule of the session,
//         while each packet leaves once and counts once; the register has the class. With the other model one says class 2.
#[test]
fn a_session_gets_a_class() {
    let test = "application_classes::a_session_gets_a_class";
    if !bmv2::is_inside() {
        return bmv2::run_inside(test);
    }
    let mut bench = Bench::new(profiles::application_classes());
    let up = bench.uplink(TEID, 1, 0, TO_N6);
    let down = RuleAction::Encapsulate { tunnel: GNB.into(), teid: 4, kind: (0, 9), dscp: 0, notify: false };
    let down = bench.downlink(UE, 0, down);
    let write = |bench: &mut Bench, update: &Update| bench.bmv2().unwrap().runtime.write(update);
    for (rule, direction) in [(up.id, Direction::Uplink), (down.id, Direction::Downlink)] {
        let entry = member(&bench.program, rule, direction, PLACE).unwrap();
        write(&mut bench, &Update::Insert(entry));
    }
    let class = |bench: &mut Bench| bench.bmv2().unwrap().runtime.register("class_of_sessions", PLACE);
    let (uplink, downlink) = (from_gnb(&request(), 1), ip(&reply().octets()));
    bench.expect(N3, &uplink, N6);
    bench.expect(N6, &downlink, N3);
    assert_eq!(class(&mut bench), 0);

    let octets = u32::try_from(request().octets().len()).unwrap();
    let small = entries(&bench.program, &model(16 * octets)).unwrap();
    small.iter().for_each(|update| write(&mut bench, update));
    let (event, sent) = until_event(&mut bench, &uplink, &downlink, 1);
    assert_eq!((&event[12..16], event.len()), (&[0x88, 0xb5, 15, 1][..], 24), "{event:02x?}");
    let rule = u32::from_be_bytes([0, event[19], event[20], event[21]]);
    assert_eq!((&event[16..19], &event[22..]), (&[0, 1, 0][..], &[8, 0][..]));
    assert!([up.id, down.id].contains(&rule), "{rule}");
    assert_eq!(class(&mut bench), 1);
    assert_eq!(packets(&bench.usage(&up)), (sent + 1, sent + 1));

    // Sixteenths of an octet less.
    let large = entries(&bench.program, &model(16 * octets - 1)).unwrap();
    for (old, new) in small.iter().zip(&large) {
        if let (Update::Insert(old), Update::Insert(new)) = (old, new) {
            assert_eq!(old.key, new.key);
            if old != new {
                write(&mut bench, &Update::Modify(new.clone()));
            }
        }
    }
    until_event(&mut bench, &uplink, &downlink, 2);
    assert_eq!(class(&mut bench), 2);
}
