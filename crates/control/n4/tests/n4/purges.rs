//! Removal of many sessions: a few plans at a time, while others are served.

use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::BackendError;
use causeway_n4::{Notice, Occupancy};
use causeway_pfcp::*;
use causeway_types::{FSeid, NtpSeconds, Seid, Span};

use crate::fixture::{Pace, Smf, TestN4, activation, config, establishment};
use crate::sets::each_its_own;

/// Sessions of the SMF that is removed, and the limit of removal plans in flight.
const MANY: usize = 500;
const AT_A_TIME: usize = 64 * crate::PARTS as usize;

const CSID: FqCsid<'static> = FqCsid {
    address: CsidAddress::Ip(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 10))),
    csids: &[[0, 7]],
    node: Some(CsidNode::PgwC),
};

/// Two SMFs; the first has many sessions and the second one. From now on the test decides when plans are applied.
fn many() -> (TestN4, Smf, Vec<Seid>, Smf, Seid) {
    many_with(|_, _| {})
}

fn many_with(
    change: impl Fn(usize, &mut SessionEstablishmentRequest<'static>),
) -> (TestN4, Smf, Vec<Seid>, Smf, Seid) {
    let (mut n4, mut smf) = (TestN4::new(), Smf { others: vec![99], ..Smf::new(10) });
    let mut other = Smf::new(11);
    n4.associate(&mut smf);
    n4.associate(&mut other);
    let seids = (0..MANY)
        .map(|number| {
            let mut request = establishment(smf.node_id(), smf.f_seid());
            change(number, &mut request);
            let received = n4.ask(&mut smf, Some(Seid(0)), request);
            assert_eq!(received.cause(), Cause::RequestAccepted);
            received.up_seid()
        })
        .collect();
    let its = n4.establish(&mut other);
    n4.plane.pace = Pace::Held;
    (n4, smf, seids, other, its)
}

fn release(smf: &Smf) -> AssociationReleaseRequest<'static> {
    AssociationReleaseRequest::new(smf.node_id())
}

/// One turn of the UPF without a request: timers run, and one plan is applied.
fn turn(n4: &mut TestN4) {
    if n4.n4.next_timer().is_some_and(|due| due <= n4.now) {
        n4.n4.timer(n4.now);
        n4.drain();
    }
    // Plans of requests are added to these.
    assert!(n4.plane.held.len() <= AT_A_TIME + 8, "{} plans at a time", n4.plane.held.len());
    if !n4.plane.held.is_empty() {
        n4.apply_next();
    }
}

/// Turns until no removal is left.
fn finish(n4: &mut TestN4) {
    while n4.n4.next_timer().is_some_and(|due| due <= n4.now) || !n4.plane.held.is_empty() {
        turn(n4);
    }
}

fn served(n4: &mut TestN4, smf: &mut Smf, seid: Seid) {
    n4.send(smf, Some(seid), activation(7));
    // Its plan is behind those in flight.
    while n4.sent.iter().all(|(to, _)| *to != smf.addr) {
        assert!(!n4.plane.held.is_empty());
        n4.apply_next();
    }
    assert_eq!(n4.next(smf.addr).cause(), Cause::RequestAccepted);
}

fn refused(n4: &mut TestN4, smf: &mut Smf, seid: Seid) {
    let received = n4.ask(smf, Some(seid), activation(9));
    assert_eq!((received.cause(), received.header.seid), (Cause::SessionContextNotFound, Some(Seid(0))));
}

// Input:  an SMF with five hundred sessions releases its association; another one sends requests all the time.
// Output: the release gets an immediate response, and no request finds its sessions any more; never more than 64 plans
// remove them at a time; the other one is served meanwhile; at the end only its session is left.
#[test]
fn a_release_is_carried_out_a_few_sessions_at_a_time() {
    let (mut n4, mut smf, seids, mut other, its) = many();
    let request = release(&smf);
    assert_eq!(n4.ask(&mut smf, None, request).cause(), Cause::RequestAccepted);
    let is_down = |notice: &Notice| matches!(notice, Notice::AssociationDown { purged: MANY, .. });
    assert!(n4.has_notice(is_down), "{:?}", n4.notices);
    assert!(n4.plane.held.len() <= AT_A_TIME, "{} plans in flight", n4.plane.held.len());
    assert_eq!(n4.n4.sessions().map(|view| view.seid).collect::<Vec<_>>(), [its]);
    assert!(seids.iter().all(|seid| n4.n4.session(*seid).is_none()));
    assert_eq!((0..1000).filter_map(|index| n4.n4.session_at(index)).count(), 1);
    let mut served_meanwhile = 0;
    while n4.plane.sessions() > 1 {
        turn(&mut n4);
        if n4.plane.sessions() % 50 == 0 {
            served(&mut n4, &mut other, its);
            served_meanwhile += 1;
        }
    }
    finish(&mut n4);
    assert!(served_meanwhile >= 5, "{served_meanwhile}");
    assert_eq!(n4.n4.occupancy().sessions, 1);
    let request = release(&other);
    assert_eq!(n4.ask(&mut other, None, request).cause(), Cause::RequestAccepted);
    finish(&mut n4);
    assert_eq!((n4.n4.occupancy().associations, n4.rest()), (0, Occupancy::default()));
}

// Input:  while its sessions are being removed an SMF returns, and establishes sessions with the same F-SEIDs and UE
// addresses as sessions that are removed, in removal, and not yet reached; it also sends requests for some of the old
// ones.
// Output: each new one is accepted, and stays; the old ones are unknown; at the end only the new ones are left.
#[test]
fn an_smf_returns_during_its_purge() {
    let (mut n4, mut smf, seids, mut other, its) = many();
    let request = release(&smf);
    n4.ask(&mut smf, None, request);
    (0..100).for_each(|_| turn(&mut n4));
    assert!((300..450).contains(&n4.plane.sessions()), "{}", n4.plane.sessions());
    n4.associate(&mut smf);
    let mut new = Vec::new();
    for number in (0..MANY).step_by(10) {
        refused(&mut n4, &mut smf, seids[number]);
        let cp = FSeid { seid: Seid(number as u64 + 1), addr: smf.ip().into() };
        let request = establishment(smf.node_id(), cp);
        n4.send(&mut smf, Some(Seid(0)), request);
        while n4.sent.is_empty() {
            turn(&mut n4);
        }
        let received = n4.next(smf.addr);
        assert_eq!(received.cause(), Cause::RequestAccepted, "{number}");
        new.push(received.up_seid());
    }
    assert!(!n4.has_notice(|notice| matches!(notice, Notice::SessionReplaced { .. })));
    served(&mut n4, &mut smf, new[3]);
    finish(&mut n4);
    assert_eq!((n4.plane.sessions(), n4.n4.sessions().count()), (new.len() + 1, new.len() + 1));
    served(&mut n4, &mut other, its);
    for seid in new {
        assert!(n4.n4.session(seid).is_some());
        served(&mut n4, &mut smf, seid);
    }
    let views: Vec<_> = n4.n4.associations().map(|view| view.sessions).collect();
    assert_eq!(views, [1, MANY / 10]);
}

// Input:  an SMF restarts and sets up again, three times in a row while the sessions of its first epoch are being
// removed; after each setup it establishes one session.
// Output: each setup is accepted, without retained sessions; the session of the previous setup is removed, the last one
// stays.
#[test]
fn an_smf_renews_its_association_during_its_purge() {
    let (mut n4, mut smf, seids, _, its) = many();
    let mut last = Seid(0);
    for life in 1..=3 {
        smf.recovery = NtpSeconds(smf.recovery.0 + life);
        let setup = smf.setup();
        let received = n4.ask(&mut smf, None, setup);
        let Message::AssociationSetupResponse(response) = received.message() else {
            panic!("{:?}", received.kind())
        };
        assert_eq!((response.cause, response.flags), (Cause::RequestAccepted, None));
        n4.hearts(&smf);
        assert_eq!(n4.n4.sessions().count(), 1);
        refused(&mut n4, &mut smf, seids[life as usize]);
        (0..20).for_each(|_| turn(&mut n4));
        let request = establishment(smf.node_id(), smf.f_seid());
        n4.send(&mut smf, Some(Seid(0)), request);
        while n4.sent.is_empty() {
            turn(&mut n4);
        }
        let received = n4.next(smf.addr);
        assert_eq!(received.cause(), Cause::RequestAccepted);
        last = received.up_seid();
    }
    finish(&mut n4);
    let mut left: Vec<_> = n4.n4.sessions().map(|view| view.seid).collect();
    left.sort_unstable();
    let mut expected = vec![its, last];
    expected.sort_unstable();
    assert_eq!((left, n4.plane.sessions()), (expected, 2));
    let renewed = |notice: &&Notice| matches!(notice, Notice::AssociationRenewed { retained: 0, purged, .. } if [MANY, 1].contains(purged));
    assert_eq!(n4.notices.iter().filter(renewed).count(), 3, "{:?}", n4.notices);
}

// Input:  an SMF has the sessions of one set deleted, every third of five hundred; it modifies and deletes sessions of
// both kinds meanwhile.
// Output: an immediate response; those of the set are unknown from then on, the others are served; a notice with the
// number of removed sessions follows at the end; the others stay.
#[test]
fn sessions_of_a_set_are_purged_in_batches() {
    let (mut n4, mut smf, seids, _, _) = many_with(|number, request| {
        if number % 3 == 0 {
            request.fq_csids = [CSID].into();
        }
    });
    let request = SessionSetDeletionRequest {
        fq_csids: [CSID].into(),
        ..SessionSetDeletionRequest::new(smf.node_id())
    };
    assert_eq!(n4.ask(&mut smf, None, request).cause(), Cause::RequestAccepted);
    let (gone, left) = (MANY.div_ceil(3), MANY - MANY.div_ceil(3));
    assert_eq!(n4.n4.sessions().count(), left + 1);
    for number in [0, 3, 498] {
        refused(&mut n4, &mut smf, seids[number]);
    }
    for number in [1, 250, 499] {
        served(&mut n4, &mut smf, seids[number]);
    }
    n4.send(&mut smf, Some(seids[2]), SessionDeletionRequest::default());
    finish(&mut n4);
    assert_eq!(n4.next(smf.addr).cause(), Cause::RequestAccepted);
    assert!(
        n4.has_notice(|it| matches!(it, Notice::SessionSetDeleted { sessions, .. } if *sessions == gone))
    );
    assert_eq!((n4.plane.sessions(), n4.n4.sessions().count()), (left, left));
    let views: Vec<_> = n4.n4.associations().map(|view| view.sessions).collect();
    assert_eq!(views, [left - 1, 1]);
    served(&mut n4, &mut smf, seids[4]);
}

// Input:  two SMFs of one set; the sessions of an FQ-CSID, all five hundred of one SMF, are deleted, two of them with a
// report in flight; before they are removed, the responses to these reports name the other SMF, and another FQ-CSID.
// Output: these sessions are removed like the others; neither SMF has a session.
#[test]
fn a_report_response_saves_no_session_from_a_purge() {
    let (mut n4, mut smf, other) = each_its_own(config());
    let seids: Vec<_> = (0..MANY)
        .map(|_| {
            let request = establishment(smf.node_id(), smf.f_seid());
            let request = SessionEstablishmentRequest { fq_csids: [CSID].into(), ..request };
            n4.ask(&mut smf, Some(Seid(0)), request).up_seid()
        })
        .collect();
    n4.plane.pace = Pace::Held;
    // Purges begin with the last sessions.
    let [one, two] = [seids[0], seids[1]].map(|seid| {
        n4.uses(seid, 1000);
        n4.next(smf.addr)
    });
    let request = SessionSetDeletionRequest {
        fq_csids: [CSID].into(),
        ..SessionSetDeletionRequest::new(smf.node_id())
    };
    assert_eq!(n4.ask(&mut smf, None, request).cause(), Cause::RequestAccepted);
    let accepted = SessionReportResponse::new(Cause::RequestAccepted);
    let moves = SessionReportResponse { node_id: Some(other.node_id()), ..accepted.clone() };
    let leaves = SessionReportResponse { fq_csid: Some(FqCsid { csids: &[[0, 8]], ..CSID }), ..accepted };
    n4.deliver(smf.addr, &Smf::answer(&one, Some(seids[0]), moves));
    n4.deliver(smf.addr, &Smf::answer(&two, Some(seids[1]), leaves));
    finish(&mut n4);
    assert_eq!((n4.plane.sessions(), n4.n4.sessions().count()), (0, 0));
    let views: Vec<_> = n4.n4.associations().map(|view| view.sessions).collect();
    assert_eq!(views, [0, 0]);
    assert!(
        n4.has_notice(|it| matches!(it, Notice::SessionSetDeleted { sessions, .. } if *sessions == MANY))
    );
}

// Input:  an SMF sets up again, and has the sessions of one of its two addresses retained: one of five hundred.
// Output: the response indicates retained sessions; that one is served, the others are unknown from then on, and are
// removed; a notice with their number follows at the end.
#[test]
fn retained_sessions_stay() {
    let kept: IpAddr = Ipv4Addr::new(192, 0, 2, 99).into();
    let (mut n4, mut smf, seids, _, _) = many_with(|number, request| {
        if number == 77 {
            request.cp_f_seid.addr = Ipv4Addr::new(192, 0, 2, 99).into();
        }
    });
    let retention = SessionRetentionInformation {
        cp_entity_ip_addresses: [CpEntityIpAddress(Ipv4Addr::new(192, 0, 2, 99).into())].into(),
        ..SessionRetentionInformation::default()
    };
    let setup = AssociationSetupRequest { session_retention_information: Some(retention), ..smf.setup() };
    let received = n4.ask(&mut smf, None, setup);
    let Message::AssociationSetupResponse(response) = received.message() else {
        panic!("{:?}", received.kind())
    };
    assert_eq!(response.flags, Some(AssociationSetupResponseFlags::PSREI));
    assert_eq!(n4.n4.sessions().count(), 2);
    refused(&mut n4, &mut smf, seids[76]);
    served(&mut n4, &mut smf, seids[77]);
    finish(&mut n4);
    assert_eq!((n4.plane.sessions(), n4.n4.sessions().count()), (2, 2));
    assert_eq!(n4.n4.session(seids[77]).map(|view| view.cp.addr.contains(kept)), Some(true));
    let renewed = |notice: &Notice| matches!(notice, Notice::AssociationRenewed { retained: 1, purged, .. } if *purged == MANY - 1);
    assert!(n4.has_notice(renewed), "{:?}", n4.notices);
    let views: Vec<_> = n4.n4.associations().map(|view| view.sessions).collect();
    assert_eq!(views, [1, 1]);
}

// Input:  requests for three sessions are in flight, and one is queued behind one of them, when their SMF releases its
// association; the data plane applies them, and fails to remove some sessions at first.
// Output: none of those requests gets a response; failed removals are retried without delaying the others; all sessions
// are removed.
#[test]
fn in_flight_work_ends_with_the_session() {
    let (mut n4, mut smf, seids, _, _) = many();
    for seid in &seids[..3] {
        n4.send(&mut smf, Some(*seid), activation(3));
    }
    n4.send(&mut smf, Some(seids[0]), activation(4));
    let request = release(&smf);
    assert_eq!(n4.ask(&mut smf, None, request).cause(), Cause::RequestAccepted);
    (0..3).for_each(|_| n4.apply_next());
    (0..40).for_each(|_| n4.plane.failures.push_back(BackendError::TimedOut.into()));
    finish(&mut n4);
    n4.is_quiet();
    assert_eq!(n4.plane.sessions(), 41);
    n4.pass(Span::from_secs(60));
    finish(&mut n4);
    n4.is_quiet();
    assert_eq!((n4.plane.sessions(), n4.n4.occupancy().sessions), (1, 1));
}

// Input:  an SMF that supports the enhanced release prepares that of an association with five hundred sessions.
// Output: each session ends with its last report, not more than 64 at a time in the data plane; then all is announced
// as reported.
#[test]
fn an_enhanced_release_goes_a_few_sessions_at_a_time() {
    let (mut n4, mut smf) = (TestN4::new(), Smf::new(10));
    let setup = AssociationSetupRequest { cp_function_features: Some(CpFeatures::EPFAR), ..smf.setup() };
    n4.ask(&mut smf, None, setup);
    for _ in 0..MANY {
        n4.establish(&mut smf);
    }
    n4.plane.pace = Pace::Held;
    let flags = Some(AssociationUpdateFlags::PARPS);
    let request = AssociationUpdateRequest { flags, ..AssociationUpdateRequest::new(smf.node_id()) };
    assert_eq!(n4.ask(&mut smf, None, request).cause(), Cause::RequestAccepted);
    let mut ends = 0;
    loop {
        finish(&mut n4);
        let received = n4.next(smf.addr);
        if let Message::SessionReportRequest(_) = received.message() {
            ends += 1;
            n4.deliver(smf.addr, &Smf::report_response(&received, Seid(0), Cause::RequestAccepted));
            continue;
        }
        let Message::AssociationUpdateRequest(request) = received.message() else {
            panic!("{:?}", received.kind())
        };
        assert_eq!(request.association_release_request, Some(ReleaseRequestFlags::URSS));
        break;
    }
    assert_eq!((ends, n4.plane.sessions(), n4.n4.occupancy().sessions), (MANY, 0, 0));
}

// Input:  an SMF restarts with five hundred sessions while a modification and an establishment of its last epoch are in
// flight; it sends the same octets again: the establishment is a new one now.
// Output: the modification is for an unknown session; the establishment is accepted, and its session stays.
#[test]
fn requests_of_the_last_epoch_are_dropped_at_once() {
    let (mut n4, mut smf, seids, _, its) = many();
    let modification = n4.send(&mut smf, Some(seids[0]), activation(3));
    let request = establishment(smf.node_id(), smf.f_seid());
    let establishment = n4.send(&mut smf, Some(Seid(0)), request);
    smf.recovery = NtpSeconds(smf.recovery.0 + 1);
    let setup = smf.setup();
    assert_eq!(n4.ask(&mut smf, None, setup).cause(), Cause::RequestAccepted);
    n4.hearts(&smf);
    n4.deliver(smf.addr, &modification);
    assert_eq!(n4.next(smf.addr).cause(), Cause::SessionContextNotFound);
    n4.deliver(smf.addr, &establishment);
    finish(&mut n4);
    let received = n4.next(smf.addr);
    assert_eq!(received.cause(), Cause::RequestAccepted);
    n4.is_quiet();
    let mut left: Vec<_> = n4.n4.sessions().map(|view| view.seid).collect();
    left.sort_unstable();
    let mut expected = vec![its, received.up_seid()];
    expected.sort_unstable();
    assert_eq!((left, n4.plane.sessions()), (expected, 2));
}
