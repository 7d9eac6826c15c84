//! Sessions of one part that conflict with sessions of another one.

use std::net::Ipv4Addr;

use causeway_n4::{Config, Limits, Notice, ReleaseReason};
use causeway_pfcp::*;
use causeway_rules::AddressPool;
use causeway_types::{FSeid, NetworkInstance as Network, Seid, Span, UsageReportTrigger};

use crate::alone::{NOTHING, UNDECIDED, apply_alone, give, with_follow_on};
use crate::fixture::{Got, Pace, Smf, TestN4, activation, config, query, wrong_update};
use crate::numbers::{f_seid_in, part_of, part_of_cp, parts};
use crate::requests::{USUAL, Ue, Wanted, new_in, with};

/// Each two parts, one after the other.
fn pairs() -> impl Iterator<Item = (usize, usize)> {
    parts().flat_map(|one| parts().map(move |other| (one, other)))
}

/// A UE address that an SMF chooses.
const UE: Ipv4Addr = Ipv4Addr::new(10, 30, 0, 5);

/// Two SMFs that have associations.
fn fixture(config: Config) -> (TestN4, Smf, Smf) {
    let (mut n4, smf) = TestN4::associated_with(config);
    let mut other = Smf::new(11);
    n4.associate(&mut other);
    (n4, smf, other)
}

/// A session is requested in a part. That cannot decide it alone if it conflicts.
fn ask_in(n4: &mut TestN4, smf: &mut Smf, part: usize, wanted: Wanted, is_conflict: bool) -> Got {
    let request = new_in(smf, part, wanted);
    let bytes = smf.request(Some(Seid(0)), request);
    let left = give(n4, part, smf.addr, &bytes);
    assert_eq!(left, if is_conflict { UNDECIDED } else { NOTHING });
    n4.n4.settle(n4.now);
    n4.drain();
    let at = n4.sent.iter().position(|(_, bytes)| Got::from_bytes(bytes).header.sequence == smf.sequence);
    let (_, bytes) = n4.sent.remove(at.expect("a response")).expect("it is there");
    Got::from_bytes(&bytes)
}

fn delete(n4: &mut TestN4, smf: &mut Smf, seid: Seid) {
    let received = n4.ask(smf, Some(seid), SessionDeletionRequest::default());
    assert_eq!(received.cause(), Cause::RequestAccepted);
}

// Input:  a session with the UE address of a session of the same SMF in each other part, and in the same part.
// Output: all parts decide: the older one is released, its SMF gets its usage, and the newer one has the address.
#[test]
fn a_ue_address_moves_to_a_session_of_another_part() {
    for (one, two) in pairs() {
        let (mut n4, mut smf, _) = fixture(config());
        let wanted = Wanted { ue: Ue::At(UE), ..USUAL };
        let older = ask_in(&mut n4, &mut smf, one, wanted, false).up_seid();
        let newer = ask_in(&mut n4, &mut smf, two, wanted, true).up_seid();
        assert_eq!((part_of(older), part_of(newer)), (one, two));
        assert!(n4.plane.has(newer) && !n4.plane.has(older));
        let is_release = |it: &Notice| {
            *it == Notice::SessionReleased { session: older, reason: ReleaseReason::AddressTaken }
        };
        assert!(n4.has_notice(is_release));
        assert_eq!(n4.n4.sessions_of_address(UE.into()).map(|it| it.seid).collect::<Vec<_>>(), [newer]);
        let report = n4.next(smf.addr);
        assert_eq!(report.usage(), [(1, 0, 30, UsageReportTrigger::TEBUR)]);
        let answer = Smf::report_response(&report, older, Cause::RequestAccepted);
        assert_eq!(give(&mut n4, one, smf.addr, &answer), NOTHING);
        assert_eq!((n4.rest().sessions, n4.rest().addresses, n4.rest().tunnels), (1, 1, 1));
        delete(&mut n4, &mut smf, newer);
        assert_eq!(n4.rest(), Default::default());
    }
}

// Input:  the same while the older session has a plan in flight, with a modification that waits.
// Output: the waiting one is rejected when the older session is released, which the data plane removes after its plan.
#[test]
fn a_session_with_a_plan_is_replaced_from_another_part() {
    for (one, two) in pairs() {
        let (mut n4, mut smf, _) = fixture(config());
        let wanted = Wanted { ue: Ue::At(UE), ..USUAL };
        let older = ask_in(&mut n4, &mut smf, one, wanted, false).up_seid();
        n4.plane.pace = Pace::Held;
        n4.send(&mut smf, Some(older), activation(1));
        n4.send(&mut smf, Some(older), activation(2));
        let waiting = smf.sequence;
        let request = new_in(&mut smf, two, wanted);
        n4.send(&mut smf, Some(Seid(0)), request);
        let refused = n4.next(smf.addr);
        assert_eq!((refused.cause(), refused.header.sequence), (Cause::SessionContextNotFound, waiting));
        assert_eq!(n4.plane.held.len(), 2);
        apply_alone(&mut n4);
        assert!(!n4.plane.has(older));
        assert_eq!((n4.plane.sessions(), n4.n4.sessions().count()), (1, 1));
    }
}

// Input:  a session with the UE address of a session of another SMF, in each part.
// Output: rejected with the UE IP Address as offending IE; nothing has changed, and the first SMF is served.
#[test]
fn a_ue_address_of_another_smf_stays_in_its_part() {
    for (one, two) in pairs() {
        let (mut n4, mut smf, mut other) = fixture(config());
        let wanted = Wanted { ue: Ue::At(UE), ..USUAL };
        let older = ask_in(&mut n4, &mut smf, one, wanted, false).up_seid();
        let before = n4.rest();
        let refused = ask_in(&mut n4, &mut other, two, wanted, true);
        assert_eq!(refused.refusal(), (Cause::RuleCreationModificationFailure, Some(93)));
        assert_eq!((n4.rest(), n4.plane.done.len()), (before, 1));
        assert_eq!(n4.ask(&mut smf, Some(older), activation(1)).cause(), Cause::RequestAccepted);
        delete(&mut n4, &mut smf, older);
        ask_in(&mut n4, &mut other, two, wanted, false).up_seid();
    }
}

// Input:  a TEID that the SMF chooses, which a session of another part has: of the same SMF, and of another one; again after that
//         session has ended.
// Output: rejected with the same cause as in the same part; accepted.
#[test]
fn a_tunnel_of_another_part_is_in_use() {
    for (one, two) in pairs() {
        let (mut n4, mut smf, mut other) = fixture(config());
        let wanted = Wanted { teid: Some(7), ..USUAL };
        let holder = ask_in(&mut n4, &mut smf, one, wanted, false).up_seid();
        let before = n4.rest();
        for asking in [&mut smf, &mut other] {
            let refused = ask_in(&mut n4, asking, two, wanted, true);
            assert_eq!(refused.cause(), Cause::RuleCreationModificationFailure);
            assert_eq!((n4.rest(), n4.plane.sessions()), (before, 1));
        }
        delete(&mut n4, &mut smf, holder);
        ask_in(&mut n4, &mut other, two, wanted, false).up_seid();
        assert_eq!(n4.rest().tunnels, 1);
    }
}

// Input:  a session with a UE address, then one in another part with a framed route around it, and the reverse; of the same SMF, and
//         of another one.
// Output: all parts decide: both exist if they are of one SMF; the second is rejected if they are of two.
#[test]
fn routes_contain_addresses_of_other_parts() {
    let address = Wanted { ue: Ue::At(UE), ..USUAL };
    let route = Wanted { route: Some("10.30.0.0/24"), ..USUAL };
    for ((one, two), (first, second)) in
        pairs().flat_map(|pair| [(pair, (address, route)), (pair, (route, address))])
    {
        let (mut n4, mut smf, mut other) = fixture(config());
        let older = ask_in(&mut n4, &mut smf, one, first, false).up_seid();
        let before = n4.rest();
        let (cause, offending) = ask_in(&mut n4, &mut other, two, second, true).refusal();
        let refused = if second == route { 153 } else { 93 };
        assert_eq!((cause, offending), (Cause::RuleCreationModificationFailure, Some(refused)));
        assert_eq!(n4.rest(), before);
        let newer = ask_in(&mut n4, &mut smf, two, second, true).up_seid();
        assert!(n4.plane.has(older) && n4.plane.has(newer));
        assert_eq!(n4.n4.sessions_of_address(UE.into()).count(), 2);
        [older, newer].into_iter().for_each(|seid| delete(&mut n4, &mut smf, seid));
        assert_eq!(n4.rest(), Default::default());
        // Others are not allowed to overlap afterwards.
        ask_in(&mut n4, &mut smf, one, first, false).up_seid();
        assert!(!ask_in(&mut n4, &mut other, two, second, true).cause().is_accepted());
    }
}

// Input:  framed routes in sessions of three parts, with a limit of four for an SMF.
// Output: exactly four are accepted.
#[test]
fn routes_of_an_smf_are_counted_over_all_parts() {
    const ROUTES: [&str; 6] = [
        "172.16.1.0/24",
        "172.16.2.0/24",
        "172.16.3.0/24",
        "172.16.4.0/24",
        "172.16.5.0/24",
        "172.16.6.0/24",
    ];
    let limits = Limits { routes_per_smf: 4, ..Limits::default() };
    let (mut n4, mut smf, mut other) = fixture(Config { limits, ..config() });
    let answers = ROUTES.iter().zip(parts().cycle()).map(|(route, part)| {
        let wanted = Wanted { route: Some(route), ..USUAL };
        let request = new_in(&mut smf, part, wanted);
        n4.ask(&mut smf, Some(Seid(0)), request).cause()
    });
    let accepted = answers.collect::<Vec<_>>();
    let full = Cause::NoResourcesAvailable;
    let fine = Cause::RequestAccepted;
    assert_eq!(accepted, [fine, fine, fine, fine, full, full]);
    let wanted = Wanted { route: Some(ROUTES[5]), ..USUAL };
    let request = new_in(&mut other, 2, wanted);
    assert_eq!(n4.ask(&mut other, Some(Seid(0)), request).cause(), fine);
}

fn pool(range: &str) -> Config {
    let (network, range) = (Network::new("internet"), range.parse().expect("a subnet"));
    let pool = AddressPool { network, range, name: None, reserved: Vec::new() };
    Config { address_pools: vec![pool], address_rest: Span::ZERO, ..config() }
}

// Input:  a pool of 16 addresses; sessions in all parts that let the UPF choose; more; then one of each part ends, and others come in the
//         next part.
// Output: each has an address of its own, all are used, then All dynamic addresses are occupied; the freed ones are chosen again.
#[test]
fn all_parts_use_all_of_a_pool() {
    let (mut n4, mut smf, _) = fixture(pool("10.45.0.0/28"));
    let wanted = Wanted { ue: Ue::Chosen, ..USUAL };
    let total = n4.n4.pools()[0].total as usize;
    let seids: Vec<_> = parts()
        .cycle()
        .take(total)
        .map(|part| ask_in(&mut n4, &mut smf, part, wanted, false).up_seid())
        .collect();
    let address = |n4: &TestN4, seid| {
        let rules = n4.n4.session(seid).expect("it is established").rules().into_owned();
        rules.pdrs.values().find_map(|pdr| pdr.pdi.ue?.v4).expect("a UE address")
    };
    let all: std::collections::BTreeSet<_> = seids.iter().map(|seid| address(&n4, *seid)).collect();
    assert_eq!((all.len(), n4.n4.pools()[0].occupied as usize), (total, total));
    for part in parts() {
        let refused = ask_in(&mut n4, &mut smf, part, wanted, true);
        assert_eq!(refused.cause(), Cause::AllDynamicAddressesOccupied);
    }
    for (part, seid) in parts().zip(seids) {
        let freed = address(&n4, seid);
        delete(&mut n4, &mut smf, seid);
        let new = ask_in(&mut n4, &mut smf, (part + 1) % parts().len(), wanted, false).up_seid();
        assert_eq!(address(&n4, new), freed);
    }
}

// Input:  a pool of one address, which a session of any part has; after a minute in which nothing happens, its SMF releases the
//         association, and sets up another; an establishment in each part, before and after the rest of 60 s.
// Output: the address rests from the end of its session on, whichever part had it.
#[test]
fn addresses_rest_from_the_end_of_their_session_on() {
    for (one, two) in pairs() {
        let (mut n4, mut smf, _) =
            fixture(Config { address_rest: Span::from_secs(60), ..pool("10.45.0.1/32") });
        let wanted = Wanted { ue: Ue::Chosen, ..USUAL };
        ask_in(&mut n4, &mut smf, one, wanted, false).up_seid();
        n4.pass(Span::from_secs(60));
        let node = smf.node_id();
        n4.ask(&mut smf, None, AssociationReleaseRequest::new(node));
        n4.associate(&mut smf);
        n4.pass(Span::from_secs(59));
        let refused = ask_in(&mut n4, &mut smf, two, wanted, true);
        assert_eq!(refused.cause(), Cause::AllDynamicAddressesOccupied, "{one} {two}");
        n4.pass(Span::from_secs(1));
        ask_in(&mut n4, &mut smf, two, wanted, false).up_seid();
    }
}

// Input:  limits of sessions, below, at and above what parts may establish unseen; establishments in all parts in turn; then one of each
//         part ends.
// Output: exactly as many as the limit, then No resources available; one more for each that ends, in any part.
#[test]
fn sessions_are_limited_over_all_parts() {
    let unseen = causeway_n4::Part::MOST_DATAGRAMS * parts().len();
    for sessions in [1, 2, 5, unseen, unseen + 7] {
        let limits = Limits { sessions, ..Limits::default() };
        let (mut n4, mut smf, _) = fixture(Config { limits, ..config() });
        let ask = |n4: &mut TestN4, smf: &mut Smf, part| {
            let request = new_in(smf, part, USUAL);
            n4.ask(smf, Some(Seid(0)), request)
        };
        let seids: Vec<_> =
            parts().cycle().take(sessions).map(|part| ask(&mut n4, &mut smf, part).up_seid()).collect();
        let refused = parts().map(|part| ask(&mut n4, &mut smf, part).cause());
        assert!(refused.into_iter().all(|cause| cause == Cause::NoResourcesAvailable));
        assert_eq!(n4.n4.session_count(), sessions);
        for (part, seid) in parts().zip(seids) {
            delete(&mut n4, &mut smf, seid);
            let next = (part + 1) % parts().len();
            ask(&mut n4, &mut smf, next).up_seid();
            assert_eq!(ask(&mut n4, &mut smf, next).cause(), Cause::NoResourcesAvailable);
        }
        assert_eq!(n4.rest().tunnels, sessions);
    }
}

// Input:  memory for seven sessions and a half; establishments in all parts in turn.
// Output: seven are accepted.
#[test]
fn memory_is_limited_over_all_parts() {
    let (mut n4, mut smf, _) = fixture(config());
    ask_in(&mut n4, &mut smf, 0, USUAL, false);
    let limits = Limits { memory: n4.n4.memory_needed() * 15 / 2, ..Limits::default() };
    let (mut n4, mut smf, _) = fixture(Config { limits, ..config() });
    let accepted = parts().cycle().take(12).filter(|part| {
        let request = new_in(&mut smf, *part, USUAL);
        n4.ask(&mut smf, Some(Seid(0)), request).cause().is_accepted()
    });
    assert_eq!(accepted.count(), 7);
}

// Input:  three parts are lent at a time, and each gets two datagrams of 60 bundled establishments; the limit of sessions is less than
//         all of them.
// Output: what is left is decided by all parts: exactly as many as the limit.
#[test]
fn bundled_sessions_are_limited_over_all_parts() {
    let (sessions, bundled) = (300, 60);
    let limits = Limits { sessions, ..Limits::default() };
    let (fixture, mut smf, _) = fixture(Config { limits, ..config() });
    let TestN4 { mut n4, now, .. } = fixture;
    let mut node = n4.vacant_node();
    let mut lent: Vec<_> = parts().map(|_| n4.vacant_part()).collect();
    let mut left = Vec::new();
    n4.exchange_node(&mut node);
    lent.iter_mut().enumerate().for_each(|(number, part)| n4.exchange_part(number, part));
    for number in parts().cycle().take(6) {
        let messages: Vec<_> = (0..bundled)
            .map(|_| {
                let request = new_in(&mut smf, number, USUAL);
                smf.request(Some(Seid(0)), request)
            })
            .collect();
        let datagram = with_follow_on(&messages);
        let rest = lent[number].datagram(&node, now, smf.addr, &datagram);
        left.push(rest.to_vec());
    }
    lent.iter_mut().enumerate().for_each(|(number, part)| n4.exchange_part(number, part));
    n4.exchange_node(&mut node);
    assert!((sessions / 3..sessions).contains(&n4.session_count()), "{}", n4.session_count());
    n4.settle(now);
    left.iter().filter(|rest| !rest.is_empty()).for_each(|rest| n4.datagram(now, smf.addr, rest));
    assert_eq!(n4.session_count(), sessions);
}

// Input:  a new session with the CP F-SEID of an established one.
// Output: its part decides alone if nothing else conflicts: the older one is replaced.
#[test]
fn a_cp_f_seid_is_used_again_in_its_part() {
    for part in parts() {
        let (mut n4, mut smf, _) = fixture(config());
        let cp = f_seid_in(&mut smf, part);
        let ask = |n4: &mut TestN4, smf: &mut Smf, ue: u8| {
            let request = with(smf, cp, Wanted { ue: Ue::At(Ipv4Addr::new(10, 30, 0, ue)), ..USUAL });
            let bytes = smf.request(Some(Seid(0)), request);
            assert_eq!(give(n4, part, smf.addr, &bytes), NOTHING);
            n4.next(smf.addr).up_seid()
        };
        let older = ask(&mut n4, &mut smf, 1);
        let newer = ask(&mut n4, &mut smf, 2);
        assert!(n4.has_notice(|it| *it == Notice::SessionReplaced { session: older }));
        assert_eq!(n4.n4.session_of_cp(&cp).map(|it| it.seid), Some(newer));
        assert_eq!((n4.plane.sessions(), n4.n4.session_count()), (1, 1));
    }
}

/// A session of a part gets a CP F-SEID with which another part establishes sessions. Returns both.
fn moved(n4: &mut TestN4, smf: &mut Smf, part: usize, establishing: usize) -> (Seid, FSeid) {
    let session = ask_in(n4, smf, part, USUAL, false).up_seid();
    let cp = f_seid_in(smf, establishing);
    let change = SessionModificationRequest { cp_f_seid: Some(cp), ..SessionModificationRequest::default() };
    assert_eq!(n4.ask(smf, Some(session), change).cause(), Cause::RequestAccepted);
    assert_eq!(n4.n4.session_of_cp(&cp).map(|it| it.seid), Some(session));
    (session, cp)
}

// Input:  a session gets a CP F-SEID with which another part establishes sessions; a new session has this one; that ends; another
//         new one.
// Output: no part has the first new one alone: it replaces the older session of another part. The last is established by its part
//         alone.
#[test]
fn a_cp_f_seid_that_moved_to_another_part_is_found() {
    for (one, two) in pairs().filter(|(one, two)| one != two) {
        let (mut n4, mut smf, _) = fixture(config());
        let (older, cp) = moved(&mut n4, &mut smf, one, two);
        let request = with(&smf, cp, USUAL);
        let bytes = smf.request(Some(Seid(0)), request.clone());
        for part in parts() {
            assert_eq!(give(&mut n4, part, smf.addr, &bytes).octets, bytes.len());
        }
        n4.deliver(smf.addr, &bytes);
        let newer = n4.next(smf.addr).up_seid();
        assert!(n4.has_notice(|it| *it == Notice::SessionReplaced { session: older }));
        assert_eq!((part_of(newer), n4.n4.session_count(), n4.plane.sessions()), (two, 1, 1));
        // A repetition finds the response.
        n4.deliver(smf.addr, &bytes);
        assert_eq!(n4.next(smf.addr).up_seid(), newer);
        delete(&mut n4, &mut smf, newer);
        let bytes = smf.request(Some(Seid(0)), request);
        assert_eq!(give(&mut n4, two, smf.addr, &bytes), NOTHING);
        assert_eq!(part_of(n4.next(smf.addr).up_seid()), two);
    }
}

// Input:  such a session ends in another way: it gets a third CP F-SEID, is deleted, replaced for its UE address, unknown to its SMF, or
//         goes with its association.
// Output: a session with the CP F-SEID is established by its part alone again.
#[test]
fn a_cp_f_seid_that_moved_is_forgotten() {
    for end in 0..5 {
        let (mut n4, mut smf, _) = fixture(config());
        let (session, cp) = moved(&mut n4, &mut smf, 0, 1);
        match end {
            0 => {
                let cp_f_seid = Some(f_seid_in(&mut smf, 2));
                let change =
                    SessionModificationRequest { cp_f_seid, ..SessionModificationRequest::default() };
                assert_eq!(n4.ask(&mut smf, Some(session), change).cause(), Cause::RequestAccepted);
            }
            1 => delete(&mut n4, &mut smf, session),
            2 => {
                let rules = n4.n4.session(session).expect("it is there").rules().into_owned();
                let ue = rules.pdrs.values().find_map(|pdr| pdr.pdi.ue?.v4).expect("a UE address");
                ask_in(&mut n4, &mut smf, 2, Wanted { ue: Ue::At(ue), ..USUAL }, true).up_seid();
                n4.sent.clear();
            }
            3 => {
                n4.uses(session, 1000);
                let report = n4.next(smf.addr);
                n4.deliver(smf.addr, &Smf::report_response(&report, session, Cause::SessionContextNotFound));
            }
            _ => {
                let node = smf.node_id();
                n4.ask(&mut smf, None, AssociationReleaseRequest::new(node));
                n4.associate(&mut smf);
            }
        }
        let request = with(&smf, cp, USUAL);
        let bytes = smf.request(Some(Seid(0)), request);
        assert_eq!(give(&mut n4, 1, smf.addr, &bytes), NOTHING, "{end}");
        assert_eq!(part_of(n4.next(smf.addr).up_seid()), 1);
    }
}

// Input:  two sessions of two parts get the same CP F-SEID, with which the third part establishes sessions, one after the other; the
//         first ends; a new session has it.
// Output: the new one replaces the second: that had it last.
#[test]
fn the_last_session_with_a_cp_f_seid_counts() {
    let (mut n4, mut smf, _) = fixture(config());
    let (first, cp) = moved(&mut n4, &mut smf, 0, 2);
    let second = ask_in(&mut n4, &mut smf, 1, USUAL, false).up_seid();
    let change = SessionModificationRequest { cp_f_seid: Some(cp), ..SessionModificationRequest::default() };
    assert_eq!(n4.ask(&mut smf, Some(second), change).cause(), Cause::RequestAccepted);
    assert_eq!(n4.n4.session_of_cp(&cp).map(|it| it.seid), Some(second));
    delete(&mut n4, &mut smf, first);
    assert_eq!(n4.n4.session_of_cp(&cp).map(|it| it.seid), Some(second));
    assert_eq!(part_of_cp(&cp), 2);
    let request = with(&smf, cp, USUAL);
    let newer = n4.ask(&mut smf, Some(Seid(0)), request).up_seid();
    assert!(n4.has_notice(|it| *it == Notice::SessionReplaced { session: second }));
    assert_eq!((part_of(newer), n4.n4.session_count()), (2, 1));
}

// Input:  behind a plan in flight wait an update of no FAR, which the part cannot decide alone, a query and a deletion.
// Output: the responses come in the order of the requests: what waits behind the update is done after all parts have decided it.
#[test]
fn requests_behind_an_undecided_one_wait() {
    for part in parts() {
        let (mut n4, mut smf, _) = fixture(config());
        let session = ask_in(&mut n4, &mut smf, part, USUAL, false).up_seid();
        n4.plane.pace = Pace::Held;
        let first = smf.sequence + 1;
        n4.send(&mut smf, Some(session), activation(1));
        n4.send(&mut smf, Some(session), wrong_update());
        n4.send(&mut smf, Some(session), query());
        n4.send(&mut smf, Some(session), SessionDeletionRequest::default());
        while !n4.plane.held.is_empty() {
            n4.apply_next();
        }
        let answers = (first..first + 4).map(|number| {
            let received = n4.next(smf.addr);
            assert_eq!(received.header.sequence, number);
            received.cause().is_accepted()
        });
        assert_eq!(answers.collect::<Vec<_>>(), [true, false, true, true]);
        n4.is_quiet();
        assert_eq!(n4.rest(), Default::default());
    }
}

// Input:  behind a plan in flight of a session waits an update of no FAR, from another SMF of the set, which releases its association
//         before the plan is applied.
// Output: it is refused for the FAR, as where one part decides it: its sender was authorized when it arrived.
#[test]
fn the_sender_of_an_undecided_request_was_authorized() {
    for part in parts() {
        let (mut n4, mut smf, mut other) = crate::sets::each_its_own(config());
        let session = ask_in(&mut n4, &mut smf, part, USUAL, false).up_seid();
        let expected = n4.ask(&mut other, Some(session), wrong_update()).cause();
        n4.plane.pace = Pace::Held;
        n4.send(&mut smf, Some(session), activation(1));
        n4.send(&mut other, Some(session), wrong_update());
        let waiting = other.sequence;
        let release = AssociationReleaseRequest::new(other.node_id());
        assert_eq!(n4.ask(&mut other, None, release).cause(), Cause::RequestAccepted);
        n4.apply_next();
        let refused = n4.next(other.addr);
        assert_eq!((refused.header.sequence, refused.cause()), (waiting, expected));
        assert_eq!(n4.next(smf.addr).cause(), Cause::RequestAccepted);
    }
}

// Input:  a session gets a CP F-SEID with which another part establishes sessions; a session with this one replaces it, and is
//         deleted; then the establishment of that comes once more.
// Output: the response of before.
#[test]
fn a_repetition_with_a_cp_f_seid_that_moved_is_no_new_request() {
    for (one, two) in pairs().filter(|(one, two)| one != two) {
        let (mut n4, mut smf, _) = fixture(config());
        let (_, cp) = moved(&mut n4, &mut smf, one, two);
        let request = with(&smf, cp, USUAL);
        let bytes = n4.send(&mut smf, Some(Seid(0)), request);
        let newer = n4.next(smf.addr).up_seid();
        delete(&mut n4, &mut smf, newer);
        n4.deliver(smf.addr, &bytes);
        assert_eq!((n4.next(smf.addr).up_seid(), n4.n4.session_count()), (newer, 0));
    }
}
