//! A message allocates nothing.

use crate::world::*;

// Input:  a session from its establishment to its deletion, each request repeated, and a request for N4.
// Output: not one allocation.
#[test]
fn a_message_allocates_nothing() {
    let mut accel = accel();
    let asked = Asked { qers: vec![(0, true, Some(9)); 3], ..Asked::default() };
    let mut answer = [0; causeway_accel::MAX_ANSWER];
    let establishment = asked.request(1);
    let far = [to_gnb(0x2001, Some(2)), ie(9, asked.in_downlink_pdr().concat())].concat();
    let (deletion, modification) = {
        let (_, verdict) = message(&mut accel.clone(), smf_port(0), &establishment);
        assert!(matches!(verdict, causeway_accel::Verdict::Answered { .. }), "{verdict:?}");
        // The first SEID is that of the first session.
        let mut other = accel.clone();
        message(&mut other, smf_port(0), &establishment);
        let seid = other.session(0).expect("a session").0.0;
        (datagram(DELETION, seid, 3, &[]), datagram(MODIFICATION, seid, 2, &far))
    };
    let foreign = datagram(MODIFICATION, 5, 4, &[]);
    let requests =
        [&establishment, &establishment, &modification, &modification, &deletion, &deletion, &foreign];
    let counted = allocation_counter::measure(|| {
        for request in requests {
            accel.message(NOW, smf_port(0), request, &mut answer);
        }
    });
    assert_eq!(counted.count_total, 0);
    let counters = accel.counters();
    let done = (counters.established, counters.modified, counters.deleted, counters.repeated);
    assert_eq!((done, counters.all_to_n4()), ((1, 1, 1, 3), 1));
}
