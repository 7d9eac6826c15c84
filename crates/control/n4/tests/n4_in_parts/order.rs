//! The order of what concerns several parts.

use causeway_n4::Notice;
use causeway_pfcp::*;
use causeway_types::Seid;

use crate::alone::with_follow_on;
use crate::fixture::{Pace, Smf, TestN4, activation};
use crate::numbers::{part_of, parts};
use crate::requests::{USUAL, Ue, Wanted, new_in};

/// All parts together handle the result of the oldest plan.
fn apply_by_all(n4: &mut TestN4) {
    let (id, plan) = n4.plane.held.pop_front().expect("a plan is held");
    let result = n4.plane.apply(n4.now, plan);
    n4.n4.applied(n4.now, id, result);
    n4.drain();
}

/// A session of this part.
pub(crate) fn establish_in(n4: &mut TestN4, smf: &mut Smf, part: usize) -> Seid {
    let request = new_in(smf, part, USUAL);
    n4.ask(smf, Some(Seid(0)), request).up_seid()
}

// Input:  an SMF deletes its only session, and prepares the release of its association; then the data plane removes the session. All
//         parts handle that together.
// Output: the response to the deletion comes before the announcement that all usage is reported.
#[test]
fn the_last_usage_comes_before_the_announcement() {
    for part in parts() {
        let (mut n4, mut smf) = (TestN4::new(), Smf::new(10));
        let setup = AssociationSetupRequest { cp_function_features: Some(CpFeatures::EPFAR), ..smf.setup() };
        n4.ask(&mut smf, None, setup);
        let session = establish_in(&mut n4, &mut smf, part);
        n4.plane.pace = Pace::Held;
        n4.send(&mut smf, Some(session), SessionDeletionRequest::default());
        let request = AssociationUpdateRequest::new(smf.node_id());
        let flags = Some(AssociationUpdateFlags::PARPS);
        n4.ask(&mut smf, None, AssociationUpdateRequest { flags, ..request });
        n4.is_quiet();
        apply_by_all(&mut n4);
        let kinds = [(); 2].map(|()| n4.next(smf.addr).kind());
        let expected = [MessageType::SessionDeletionResponse, MessageType::AssociationUpdateRequest];
        assert_eq!(kinds, expected, "part {part}");
    }
}

// Input:  a session with the UE address of a session of the same SMF in each other part.
// Output: the plan that removes the older one comes first.
#[test]
fn the_plan_of_a_replaced_session_comes_first() {
    for (one, two) in parts().flat_map(|one| parts().map(move |other| (one, other))) {
        let (mut n4, mut smf) = TestN4::associated();
        let wanted = Wanted { ue: Ue::At(std::net::Ipv4Addr::new(10, 30, 0, 5)), ..USUAL };
        let request = new_in(&mut smf, one, wanted);
        let older = n4.ask(&mut smf, Some(Seid(0)), request).up_seid();
        n4.plane.pace = Pace::Held;
        let request = new_in(&mut smf, two, wanted);
        n4.send(&mut smf, Some(Seid(0)), request);
        let plans: Vec<_> = n4.plane.held.iter().map(|(_, plan)| plan).collect();
        assert_eq!((plans.len(), plans[0].session), (2, older), "{one} {two}");
        assert!(plans[0].change.is_removal() && plans[1].change.is_installation());
    }
}

// Input:  requests of an SMF for sessions of all parts, the last part first, in one datagram, behind a heartbeat.
// Output: the responses in the order of the requests.
#[test]
fn a_bundle_is_answered_in_order() {
    let (mut n4, mut smf) = TestN4::associated();
    let seids: Vec<_> = parts().rev().map(|part| establish_in(&mut n4, &mut smf, part)).collect();
    let first = smf.sequence + 1;
    let mut messages = vec![smf.request(None, HeartbeatRequest::new(RecoveryTimeStamp(smf.recovery)))];
    let unknown = |seid: &Seid| Seid(seid.0 ^ 3 << 60);
    messages.extend(seids.iter().map(|seid| smf.request(Some(unknown(seid)), activation(1))));
    messages.push(smf.request(None, HeartbeatRequest::new(RecoveryTimeStamp(smf.recovery))));
    let count = messages.len();
    n4.deliver(smf.addr, &with_follow_on(&messages));
    let numbers: Vec<_> = (0..count).map(|_| n4.next(smf.addr).header.sequence).collect();
    assert_eq!(numbers, (first..first + count as u32).collect::<Vec<_>>());
}

// Input:  an unassociated peer sends two modifications in one datagram, the first about a session that a part would have.
// Output: the notice of the refusal comes before that of what is discarded behind it.
#[test]
fn what_is_discarded_comes_behind_what_was_refused() {
    for part in parts() {
        let (mut n4, mut smf) = (TestN4::new(), Smf::new(10));
        let seid = (1..).map(|half: u64| Seid(half << 32 | half)).find(|seid| part_of(*seid) == part);
        let messages = [(); 2].map(|()| smf.request(seid, activation(1)));
        n4.deliver(smf.addr, &with_follow_on(&messages));
        let is_refusal: Vec<_> =
            n4.notices.iter().map(|notice| matches!(notice, Notice::Refused { .. })).collect();
        assert_eq!(is_refusal, [true, false], "part {part}: {:?}", n4.notices);
    }
}
