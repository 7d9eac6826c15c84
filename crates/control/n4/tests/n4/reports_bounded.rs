//! Limits of session reports in flight and queued.

use causeway_n4::{Config, Limits};
use causeway_pfcp::*;
use causeway_types::{Seid, Span};

use crate::fixture::{Smf, TestN4, config, establishment};

// Input:  a limit of one outstanding report of an SMF, and reports of three sessions.
// Output: one at a time, first come first served.
#[test]
fn outstanding_reports_are_bounded() {
    let limits = Limits { outstanding_reports: 1, ..Limits::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
    let sessions: Vec<_> = (0..3).map(|_| n4.establish(&mut smf)).collect();
    for (seid, octets) in sessions.iter().zip(1..) {
        n4.uses(*seid, octets);
    }
    for (seid, octets) in sessions.iter().zip(1..) {
        let received = n4.next(smf.addr);
        n4.is_quiet();
        assert_eq!(received.usage()[0].2, octets);
        n4.deliver(smf.addr, &Smf::report_response(&received, *seid, Cause::RequestAccepted));
    }
    assert_eq!(n4.rest().unanswered_requests, 0);
}

// Input:  a limit of one outstanding report, a session that uses it, and its removal by the SMF's "not found".
// Output: the next session reports.
#[test]
fn the_end_of_a_session_makes_room() {
    let limits = Limits { outstanding_reports: 1, ..Limits::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
    let (one, two) = (n4.establish(&mut smf), n4.establish(&mut smf));
    n4.uses(one, 1);
    n4.uses(two, 2);
    let received = n4.next(smf.addr);
    n4.deliver(smf.addr, &Smf::report_response(&received, Seid(0), Cause::SessionContextNotFound));
    assert_eq!(n4.next(smf.addr).usage()[0].2, 2);
}

// Input:  many usages without a response of the SMF, and a queue of 4 reports of a session.
// Output: nothing is lost: the octets add up.
#[test]
fn waiting_usage_is_bounded_and_not_lost() {
    let limits = Limits { queued_reports_per_session: 4, ..Limits::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
    let seid = n4.establish(&mut smf);
    for _ in 0..1000 {
        n4.uses(seid, 7);
    }
    assert_eq!(n4.n4.occupancy().waiting_reports, 4);
    let mut told: Vec<_> = (0..4).map(|_| n4.next(smf.addr)).collect();
    n4.is_quiet();
    n4.deliver(smf.addr, &Smf::report_response(&told[0], seid, Cause::RequestAccepted));
    told.push(n4.next(smf.addr));
    let usage: Vec<_> = told.iter().flat_map(|received| received.usage()).collect();
    assert_eq!(usage.iter().map(|usage| usage.2).sum::<u64>(), 7000);
    assert!(usage.iter().zip(0..).all(|(usage, number)| usage.1 == number), "{usage:?}");
}

// Input:  a limit of one outstanding report; the SMF sets up its association again and retains only the session with a
// queued report, not the one with a report in flight.
// Output: the other one's report is not retransmitted; the retained session reports.
#[test]
fn a_retained_session_reports_when_others_go() {
    let limits = Limits { outstanding_reports: 1, ..Limits::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
    smf.others = vec![12];
    n4.associate(&mut smf);
    let gone = n4.establish(&mut smf);
    let successor = Smf::new(12);
    let cp = causeway_types::FSeid { seid: Seid(4711), addr: successor.ip().into() };
    let request = establishment(smf.node_id(), cp);
    let kept = n4.ask(&mut smf, Some(Seid(0)), request).up_seid();
    n4.uses(gone, 1);
    n4.uses(kept, 2);
    n4.next(smf.addr);
    let retention = SessionRetentionInformation {
        cp_entity_ip_addresses: [CpEntityIpAddress(cp.addr)].into(),
        ..SessionRetentionInformation::default()
    };
    let setup = AssociationSetupRequest { session_retention_information: Some(retention), ..smf.setup() };
    n4.ask(&mut smf, None, setup);
    assert_eq!(n4.next(successor.addr).usage()[0].2, 2);
    n4.pass(Span::from_secs(5));
    assert!(n4.sent.iter().all(|(to, _)| *to == successor.addr));
}
