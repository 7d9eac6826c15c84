//! New sessions that replace older ones.

use causeway_n4::{Notice, ReleaseReason};
use causeway_pfcp::*;
use causeway_types::{FSeid, Seid, UsageReportTrigger};

use crate::fixture::{Got, Pace, Smf, TestN4, establishment};

/// An establishment with the F-SEID `cp` and the UE address of the session with the F-SEID `ue`.
fn with_address_of(smf: &Smf, cp: FSeid, ue: FSeid) -> SessionEstablishmentRequest<'static> {
    SessionEstablishmentRequest { cp_f_seid: cp, ..establishment(smf.node_id(), ue) }
}

/// An establishment with the UE address that belongs to its F-SEID, and the response.
fn ask_new(n4: &mut TestN4, smf: &mut Smf, cp: FSeid) -> Got {
    let request = establishment(smf.node_id(), cp);
    n4.ask(smf, Some(Seid(0)), request)
}

/// The same, with a later response.
fn send_new(n4: &mut TestN4, smf: &mut Smf, cp: FSeid) {
    let request = establishment(smf.node_id(), cp);
    n4.send(smf, Some(Seid(0)), request);
}

/// The SMF announces that it supports the enhanced release.
fn knowing_ends(smf: &Smf) -> AssociationSetupRequest<'static> {
    AssociationSetupRequest { cp_function_features: Some(CpFeatures::EPFAR), ..smf.setup() }
}

// Input:  a second session of an SMF with the UE address of its first, which has used 30 octets.
// Output: the second is established; the first is removed, and the SMF receives its usage and the report of its
// deletion.
#[test]
fn a_ue_address_of_the_same_smf_moves_to_the_new_session() {
    let (mut n4, mut smf) = (TestN4::new(), Smf::new(10));
    let setup = knowing_ends(&smf);
    n4.ask(&mut smf, None, setup);
    let first = smf.f_seid();
    let older = ask_new(&mut n4, &mut smf, first).up_seid();
    let second = smf.f_seid();
    let request = with_address_of(&smf, second, first);
    n4.send(&mut smf, Some(Seid(0)), request);
    let report = n4.next(smf.addr);
    let Message::SessionReportRequest(request) = report.message() else { panic!("{:?}", report.kind()) };
    assert_eq!((report.header.seid, request.flags), (Some(first.seid), Some(SessionReportFlags::PSDBU)));
    assert_eq!(report.usage(), [(1, 0, 30, UsageReportTrigger::TEBUR)]);
    let newer = n4.next(smf.addr).up_seid();
    assert!(n4.plane.has(newer) && !n4.plane.has(older));
    assert!(
        n4.has_notice(|it| matches!(it, Notice::SessionReleased { reason: ReleaseReason::AddressTaken, .. }))
    );
    let gone = n4.ask(&mut smf, Some(older), SessionDeletionRequest::default());
    assert_eq!(gone.cause(), Cause::SessionContextNotFound);
    n4.deliver(smf.addr, &Smf::report_response(&report, older, Cause::RequestAccepted));
    assert_eq!((n4.n4.occupancy().sessions, n4.n4.occupancy().addresses), (1, 1));
}

// Input:  the same by an SMF that does not support session end reports of the UPF.
// Output: its usage is reported as that of a deleted session, without the flag.
#[test]
fn an_smf_without_the_feature_gets_the_usage() {
    let (mut n4, mut smf) = TestN4::associated();
    let first = smf.f_seid();
    ask_new(&mut n4, &mut smf, first);
    let second = smf.f_seid();
    let request = with_address_of(&smf, second, first);
    n4.send(&mut smf, Some(Seid(0)), request);
    let report = n4.next(smf.addr);
    let Message::SessionReportRequest(request) = report.message() else { panic!("{:?}", report.kind()) };
    assert_eq!((request.report_type, request.flags), (ReportType::USAR, None));
}

// Input:  another SMF establishes a session with the UE address of the first one's.
// Output: rejected with the UE IP Address as offending IE; the first SMF's session does not change.
#[test]
fn a_ue_address_of_another_smf_is_not_taken() {
    let (mut n4, mut smf) = TestN4::associated();
    let first = smf.f_seid();
    let older = ask_new(&mut n4, &mut smf, first).up_seid();
    let mut other = Smf::new(11);
    n4.associate(&mut other);
    let second = other.f_seid();
    let request = with_address_of(&other, second, first);
    let received = n4.ask(&mut other, Some(Seid(0)), request);
    assert_eq!(received.refusal(), (Cause::RuleCreationModificationFailure, Some(93)));
    assert!(n4.plane.has(older) && n4.n4.session(older).is_some());
}

// Input:  a session with the UE address of another one, and another error.
// Output: rejected; the older session keeps its address.
#[test]
fn a_wrong_session_takes_nothing() {
    let (mut n4, mut smf) = TestN4::associated();
    let first = smf.f_seid();
    let older = ask_new(&mut n4, &mut smf, first).up_seid();
    let second = smf.f_seid();
    let wrong =
        SessionEstablishmentRequest { create_urrs: Many::default(), ..with_address_of(&smf, second, first) };
    assert!(!n4.ask(&mut smf, Some(Seid(0)), wrong).cause().is_accepted());
    assert!(n4.n4.session(older).is_some() && n4.n4.occupancy().addresses == 1);
}

// Input:  a session with the UE address of another one while the process is short of memory; another SMF asks for the
// address; then there is memory again.
// Output: No resources available, and the older session keeps its address: the other SMF does not get it; the newer
// session replaces the older one at last.
#[test]
fn a_session_without_memory_takes_nothing() {
    let (mut n4, mut smf) = TestN4::associated();
    let mut other = Smf::new(11);
    n4.associate(&mut other);
    let first = smf.f_seid();
    let older = ask_new(&mut n4, &mut smf, first).up_seid();
    let second = smf.f_seid();
    n4.n4.set_short_of_memory(true);
    let before = n4.rest();
    let request = with_address_of(&smf, second, first);
    let refused = n4.ask(&mut smf, Some(Seid(0)), request.clone());
    assert_eq!(refused.cause(), Cause::NoResourcesAvailable);
    assert_eq!((n4.rest(), n4.n4.counters().memory_refusals), (before, 1));
    n4.n4.set_short_of_memory(false);
    let stolen = with_address_of(&other, other.clone().f_seid(), first);
    let refused = n4.ask(&mut other, Some(Seid(0)), stolen);
    assert_eq!(refused.refusal(), (Cause::RuleCreationModificationFailure, Some(93)));
    assert!(n4.plane.has(older) && n4.n4.session(older).is_some());
    let newer = n4.ask(&mut smf, Some(Seid(0)), request);
    assert_eq!(newer.cause(), Cause::RequestAccepted);
    assert!(n4.plane.has(newer.up_seid()) && !n4.plane.has(older));
}

// Input:  a new request with the F-SEID of an established session, and of one that is being established.
// Output: the older one is removed without a report, since the SMF would take it for the new one's.
#[test]
fn an_f_seid_used_again_replaces_the_session() {
    for pace in [Pace::AtOnce, Pace::Held] {
        let (mut n4, mut smf) = TestN4::associated();
        n4.plane.pace = pace;
        let cp = smf.f_seid();
        send_new(&mut n4, &mut smf, cp);
        send_new(&mut n4, &mut smf, cp);
        while !n4.plane.held.is_empty() {
            n4.apply_next();
        }
        assert_eq!((n4.plane.sessions(), n4.n4.occupancy().sessions), (1, 1), "{pace:?}");
        assert!(n4.has_notice(|it| matches!(it, Notice::SessionReplaced { .. })));
        assert_eq!(n4.n4.sessions().next().unwrap().cp, cp);
        while let Some(received) = n4.try_next(smf.addr) {
            assert_ne!(received.kind(), MessageType::SessionReportRequest);
        }
    }
}

// Input:  a modification moves the F-SEID of a session; a new session has the F-SEID that it had before.
// Output: both exist.
#[test]
fn a_released_f_seid_is_free() {
    let (mut n4, mut smf) = TestN4::associated();
    let old = smf.f_seid();
    let seid = ask_new(&mut n4, &mut smf, old).up_seid();
    let moved = FSeid { seid: Seid(900), ..old };
    let request =
        SessionModificationRequest { cp_f_seid: Some(moved), ..SessionModificationRequest::default() };
    assert_eq!(n4.ask(&mut smf, Some(seid), request).cause(), Cause::RequestAccepted);
    let elsewhere = FSeid { seid: Seid(77), ..old };
    let request = with_address_of(&smf, old, elsewhere);
    assert_eq!(n4.ask(&mut smf, Some(Seid(0)), request).cause(), Cause::RequestAccepted);
    assert_eq!(n4.plane.sessions(), 2);
}
