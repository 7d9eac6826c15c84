//! What the next requests need.

use std::cell::RefCell;

use causeway_pfcp::*;
use causeway_types::Seid;

use crate::world::{World, establishment};

/// The places that are named for a datagram that follows, each in one of the tables: which of them, and where.
fn foreseen(world: &World, following: &[u8]) -> Vec<(usize, usize)> {
    let tables: Vec<_> = world.n4.tables().collect();
    let named = RefCell::new(Vec::new());
    world.n4.foresee(following, |words, at| {
        assert!(at < words.len());
        let table = tables.iter().position(|table| std::ptr::eq(*table, words)).expect("a table of N4");
        named.borrow_mut().push((table, at));
    });
    named.into_inner()
}

// Input:  establishments in the same words, each foreseen before the one in front of it comes; then two deletions so.
// Output: once the words are known, both ends of a session are looked for in a table each; where a session is to be, it is: its
//         deletion is looked for in the same place. All are accepted.
#[test]
fn a_session_is_where_it_was_foreseen() {
    let (mut world, mut smf) = World::associated();
    let requests: Vec<_> = (0..8)
        .map(|_| {
            let request = establishment(smf.node_id(), smf.f_seid());
            smf.request(Some(Seid(0)), request)
        })
        .collect();
    let (mut places, mut seids) = (Vec::new(), Vec::new());
    for (at, request) in requests.iter().enumerate() {
        places.push(requests.get(at + 1).map(|following| foreseen(&world, following)));
        world.deliver(smf.addr, request);
        seids.push(world.next(smf.addr).up_seid());
    }
    for (at, named) in places.iter().enumerate().skip(3) {
        let Some(named) = named else { break };
        assert_eq!(named.iter().map(|(table, _)| *table).collect::<Vec<_>>(), [1, 0]);
        let deletion = smf.request(Some(seids[at + 1]), SessionDeletionRequest::default());
        assert_eq!(foreseen(&world, &deletion), named[1..]);
        world.deliver(smf.addr, &deletion);
        assert_eq!(world.next(smf.addr).cause(), Cause::RequestAccepted);
    }
}

// Input:  an establishment in known words, a deletion and a heartbeat, cut after each octet, and each octet of them changed.
// Output: at most the two places of a session are named, and nothing happens.
#[test]
fn what_is_foreseen_may_be_anything() {
    let (mut world, mut smf) = World::associated();
    let seid = (0..4).map(|_| world.establish(&mut smf)).last().unwrap();
    let request = establishment(smf.node_id(), smf.f_seid());
    let all = [
        smf.request(Some(Seid(0)), request),
        smf.request(Some(seid), SessionDeletionRequest::default()),
        smf.request(None, HeartbeatRequest::new(RecoveryTimeStamp(smf.recovery))),
    ];
    let before = world.n4.occupancy();
    for whole in &all {
        for at in 0..whole.len() {
            assert!(foreseen(&world, &whole[..at]).len() <= 2);
            let mut changed = whole.clone();
            changed[at] ^= 0xff;
            assert!(foreseen(&world, &changed).len() <= 2);
        }
    }
    assert_eq!(world.n4.occupancy(), before);
}
