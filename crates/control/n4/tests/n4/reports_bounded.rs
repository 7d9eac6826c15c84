//! Session reports: how many may be under way and wait.

use causeway_n4::{Config, Limits};
use causeway_pfcp::*;
use causeway_types::{Seid, Span};

use crate::world::{Smf, World, config, establishment};

// Input:  room for one outstanding report of an SMF, and reports of three sessions.
// Output: one at a time, first come first served.
#[test]
fn outstanding_reports_are_bounded() {
    let limits = Limits { outstanding_reports: 1, ..Limits::default() };
    let (mut world, mut smf) = World::associated_with(Config { limits, ..config() });
    let sessions: Vec<_> = (0..3).map(|_| world.establish(&mut smf)).collect();
    for (seid, octets) in sessions.iter().zip(1..) {
        world.uses(*seid, octets);
    }
    for (seid, octets) in sessions.iter().zip(1..) {
        let got = world.next(smf.addr);
        world.is_quiet();
        assert_eq!(got.usage()[0].2, octets);
        world.deliver(smf.addr, &Smf::report_response(&got, *seid, Cause::RequestAccepted));
    }
    assert_eq!(world.rest().unanswered_requests, 0);
}

// Input:  room for one outstanding report, a session that holds it, and its removal by the SMF's "not found".
// Output: the next session reports.
#[test]
fn the_end_of_a_session_makes_room() {
    let limits = Limits { outstanding_reports: 1, ..Limits::default() };
    let (mut world, mut smf) = World::associated_with(Config { limits, ..config() });
    let (one, two) = (world.establish(&mut smf), world.establish(&mut smf));
    world.uses(one, 1);
    world.uses(two, 2);
    let got = world.next(smf.addr);
    world.deliver(smf.addr, &Smf::report_response(&got, Seid(0), Cause::SessionContextNotFound));
    assert_eq!(world.next(smf.addr).usage()[0].2, 2);
}

// Input:  many usages while the SMF is silent, and room for 4 reports of a session.
// Output: nothing is lost: the octets add up.
#[test]
fn waiting_usage_is_bounded_and_not_lost() {
    let limits = Limits { queued_reports_per_session: 4, ..Limits::default() };
    let (mut world, mut smf) = World::associated_with(Config { limits, ..config() });
    let seid = world.establish(&mut smf);
    for _ in 0..1000 {
        world.uses(seid, 7);
    }
    assert_eq!(world.n4.occupancy().waiting_reports, 4);
    let mut told: Vec<_> = (0..4).map(|_| world.next(smf.addr)).collect();
    world.is_quiet();
    world.deliver(smf.addr, &Smf::report_response(&told[0], seid, Cause::RequestAccepted));
    told.push(world.next(smf.addr));
    let usage: Vec<_> = told.iter().flat_map(|got| got.usage()).collect();
    assert_eq!(usage.iter().map(|usage| usage.2).sum::<u64>(), 7000);
    assert!(usage.iter().zip(0..).all(|(usage, number)| usage.1 == number), "{usage:?}");
}

// Input:  room for one outstanding report; the SMF sets up its association anew and retains only the session
//         that waits to report, not the one whose report is on its way.
// Output: the other one's report is not repeated; the retained session reports.
#[test]
fn a_retained_session_reports_when_others_go() {
    let limits = Limits { outstanding_reports: 1, ..Limits::default() };
    let (mut world, mut smf) = World::associated_with(Config { limits, ..config() });
    smf.others = vec![12];
    world.associate(&mut smf);
    let gone = world.establish(&mut smf);
    let heir = Smf::new(12);
    let cp = causeway_types::FSeid { seid: Seid(4711), addr: heir.ip().into() };
    let request = establishment(smf.node_id(), cp);
    let kept = world.ask(&mut smf, Some(Seid(0)), request).up_seid();
    world.uses(gone, 1);
    world.uses(kept, 2);
    world.next(smf.addr);
    let retention = SessionRetentionInformation {
        cp_entity_ip_addresses: [CpEntityIpAddress(cp.addr)].into(),
        ..SessionRetentionInformation::default()
    };
    let setup = AssociationSetupRequest { session_retention_information: Some(retention), ..smf.setup() };
    world.ask(&mut smf, None, setup);
    assert_eq!(world.next(heir.addr).usage()[0].2, 2);
    world.pass(Span::from_secs(5));
    assert!(world.sent.iter().all(|(to, _)| *to == heir.addr));
}
