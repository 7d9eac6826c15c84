//! Prefetch of the state of the next requests.

use std::cell::RefCell;
use std::collections::BTreeSet;

use causeway_pfcp::*;
use causeway_types::Seid;

use crate::fixture::{TestN4, establishment};

/// The addresses that prefetch returns for the following datagram: the table of each, and its offset there.
fn prefetched(n4: &TestN4, following: &[u8]) -> Vec<(usize, usize)> {
    let tables: Vec<_> = n4.n4.tables().map(|table| table.start.addr()..table.end.addr()).collect();
    let named = RefCell::new(Vec::new());
    n4.n4.prefetch(following, |address| {
        let table = tables.iter().position(|table| table.contains(&address.addr())).expect("a table of N4");
        named.borrow_mut().push((table, address.addr() - tables[table].start));
    });
    named.into_inner()
}

// Input:  establishments with one message template, each prefetched before the previous one is handled; then a deletion
// of each, and one of an unknown session.
// Output: once the template is known, the CP F-SEID is looked up in its table, each at another offset. A session has as
// many cache lines as any other, consecutive and shared with none; an unknown session has none. All are accepted.
#[test]
fn a_session_is_at_the_prefetched_index() {
    let (mut n4, mut smf) = TestN4::associated();
    let requests: Vec<_> = (0..8)
        .map(|_| {
            let request = establishment(smf.node_id(), smf.f_seid());
            smf.request(Some(Seid(0)), request)
        })
        .collect();
    let (mut places, mut seids) = (Vec::new(), Vec::new());
    for (at, request) in requests.iter().enumerate() {
        places.extend(requests.get(at + 1).map(|following| prefetched(&n4, following)));
        n4.deliver(smf.addr, request);
        seids.push(n4.next(smf.addr).up_seid());
    }
    let ends: BTreeSet<_> = places[3..].concat().into_iter().collect();
    assert!(ends.len() == 4 && ends.iter().all(|(table, at)| *table == 1 && at % 4 == 0), "{places:?}");
    let mut lines = Vec::new();
    for seid in seids {
        let deletion = smf.request(Some(seid), SessionDeletionRequest::default());
        let named = prefetched(&n4, &deletion);
        assert!(named.windows(2).all(|pair| pair[1] == (0, pair[0].1 + 64)), "{named:?}");
        lines.push(named);
        n4.deliver(smf.addr, &deletion);
        assert_eq!(n4.next(smf.addr).cause(), Cause::RequestAccepted);
    }
    assert!(lines.windows(2).all(|pair| pair[0].len() == pair[1].len() && pair[0].len() > 1));
    assert!(lines.windows(2).all(|pair| pair[0].last() < pair[1].first()), "{lines:?}");
    let nobody = smf.request(Some(Seid(u64::MAX)), SessionDeletionRequest::default());
    assert_eq!(prefetched(&n4, &nobody), []);
}

// Input:  an establishment with a known template, a deletion and a heartbeat, truncated after each octet, and each
// octet of them changed.
// Output: at most the cache lines of a session are prefetched, and no state changes.
#[test]
fn prefetch_accepts_any_octets() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = (0..4).map(|_| n4.establish(&mut smf)).last().unwrap();
    let request = establishment(smf.node_id(), smf.f_seid());
    let all = [
        smf.request(Some(Seid(0)), request),
        smf.request(Some(seid), SessionDeletionRequest::default()),
        smf.request(None, HeartbeatRequest::new(RecoveryTimeStamp(smf.recovery))),
    ];
    let before = n4.n4.occupancy();
    for whole in &all {
        for at in 0..whole.len() {
            assert!(prefetched(&n4, &whole[..at]).len() <= 8);
            let mut changed = whole.clone();
            changed[at] ^= 0xff;
            assert!(prefetched(&n4, &changed).len() <= 8);
        }
    }
    assert_eq!(n4.n4.occupancy(), before);
}
