//! What is said of a frame of an Ethernet session is what becomes of it.

use causeway_dataplane::{Dataplane, Egress, PacketEngine, Plan};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{Seid, Time};

use crate::common::ethernet::{frame, from_lan, session, tunnelled};
use crate::common::{lan, topology};

// Input:  two sessions of one network. Frames to a station before and after it has sent one, from another session with its
//         address, to a group, returned by the network, between stations of one side, and malformed ones.
// Output: each is explained with the session and PDR that it meets, and becomes what was said, without a count before that;
//         a frame to the first station is for the first session alone.
#[test]
fn a_frame_becomes_what_is_said_of_it() {
    let mut plane = SlowPath::new(topology(), Limits::default());
    let now = Time::from_secs(1_700_000_000);
    for number in [1, 2] {
        plane.apply(now, &Plan::install(Seid(number.into()), session(number))).unwrap();
    }
    let station = |last: u8| [2, 0, 0, 0, 0, last];
    let (first, second, host, all) = (station(0x0a), station(0x0b), station(0x99), [255; 6]);
    let steps = [
        (from_lan(frame(first, host)), None),
        (tunnelled(1, &frame(all, first)), Some((1, 1))),
        (from_lan(frame(first, host)), Some((1, 2))),
        (tunnelled(2, &frame(host, first)), Some((2, 1))),
        (tunnelled(2, &frame(host, second)), Some((2, 1))),
        (from_lan(frame(second, host)), Some((2, 2))),
        (from_lan(frame(all, host)), Some((1, 2))),
        (from_lan(frame(all, first)), Some((2, 2))),
        (from_lan(frame(second, first)), Some((2, 2))),
        (from_lan(frame(first, first)), None),
        (tunnelled(1, &frame(first, first)), Some((1, 1))),
        (from_lan(vec![1, 2, 3]), None),
        (tunnelled(1, &[1, 2, 3]), None),
    ];
    for (step, ((ingress, packet), expected)) in steps.into_iter().enumerate() {
        let before = plane.counters();
        let said = plane.explain(now, &ingress, &packet).expect("it concerns few sessions");
        assert_eq!(plane.counters(), before, "step {step}");
        let met = said.rules.as_ref().map(|rules| (rules.session.0, rules.pdr.0));
        assert_eq!(met, expected, "step {step}: {said:?}");
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        let disposition = plane.process(now, &ingress, &packet, &mut sent);
        let sent: Vec<_> = sent.into_iter().map(|(egress, packet)| (egress, packet.len())).collect();
        assert_eq!((said.disposition, said.sent), (disposition, sent), "step {step}");
    }
    let is_for = [1, 2].map(|number| plane.is_frame_for(&lan(), &frame(first, host), Seid(number)));
    assert_eq!(is_for, [true, false]);
}
