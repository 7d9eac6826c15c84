//! Framed routes: ownership and limits.

use causeway_n4::{Limits, ReleaseReason};
use causeway_pfcp::*;
use causeway_types::{FSeid, Seid};

use crate::fixture::{Got, Pace, Smf, TestN4, config, establishment};

const ROUTE: u16 = 153;

/// An establishment with these framed routes.
fn with_routes(smf: &Smf, cp: FSeid, routes: &[&'static str]) -> SessionEstablishmentRequest<'static> {
    let request = establishment(smf.node_id(), cp);
    let mut pdrs: Vec<_> = request.create_pdrs.iter().collect();
    pdrs[1].pdi.framed_routes = routes.iter().map(|route| FramedRoute(route.as_bytes())).collect();
    SessionEstablishmentRequest { create_pdrs: pdrs.into_iter().collect(), ..request }
}

fn ask(n4: &mut TestN4, smf: &mut Smf, routes: &[&'static str]) -> Got {
    let cp = smf.f_seid();
    let request = with_routes(smf, cp, routes);
    n4.ask(smf, Some(Seid(0)), request)
}

fn fixture(limits: Limits) -> (TestN4, Smf, Smf) {
    let (mut n4, smf) = TestN4::associated_with(causeway_n4::Config { limits, ..config() });
    let mut other = Smf::new(11);
    n4.associate(&mut other);
    (n4, smf, other)
}

// Input:  three routes of one session, two sessions of one SMF with two and one, and one of another SMF, then one more,
// with limits of two for a session, two for an SMF, and three in total.
// Output: each limit is named by the cause; the other SMF has its share; rejected routes leave nothing, and a deletion
// frees capacity.
#[test]
fn routes_are_limited_per_session_per_smf_and_in_all() {
    let limits = Limits { routes: 3, routes_per_session: 2, routes_per_smf: 2, ..Limits::default() };
    let (mut n4, mut smf, mut other) = fixture(limits);
    let full = (Cause::NoResourcesAvailable, None);
    let three = ["172.16.1.0/24", "172.16.2.0/24", "172.16.3.0/24"];
    assert_eq!(ask(&mut n4, &mut smf, &three).refusal(), full);
    let first = ask(&mut n4, &mut smf, &three[..2]).up_seid();
    assert_eq!(ask(&mut n4, &mut smf, &three[2..]).refusal(), full);
    assert_eq!(n4.n4.occupancy().routes, 2);
    assert_eq!(ask(&mut n4, &mut other, &three[2..]).cause(), Cause::RequestAccepted);
    assert_eq!(ask(&mut n4, &mut other, &["172.16.4.0/24"]).refusal(), full);
    let deletion = SessionDeletionRequest::default();
    assert_eq!(n4.ask(&mut smf, Some(first), deletion).cause(), Cause::RequestAccepted);
    assert_eq!(ask(&mut n4, &mut other, &["172.16.4.0/24"]).cause(), Cause::RequestAccepted);
    assert_eq!(n4.n4.occupancy().routes, 2);
}

// Input:  a session with all routes of the limit is replaced by a new one of its SMF.
// Output: accepted: the older one is replaced with its route.
#[test]
fn a_session_with_routes_is_established_anew_where_there_are_no_more() {
    let (mut n4, mut smf, _) = fixture(Limits { routes: 1, routes_per_smf: 1, ..Limits::default() });
    let first = smf.f_seid();
    let request = with_routes(&smf, first, &["172.16.1.0/24"]);
    let older = n4.ask(&mut smf, Some(Seid(0)), request.clone()).up_seid();
    let second = FSeid { seid: Seid(first.seid.0 + 500), ..first };
    let request = SessionEstablishmentRequest { cp_f_seid: second, ..request };
    n4.send(&mut smf, Some(Seid(0)), request);
    let report = n4.next(smf.addr);
    assert_eq!(report.kind(), MessageType::SessionReportRequest);
    assert!(n4.next(smf.addr).cause().is_accepted());
    let taken = |it: &causeway_n4::Notice| {
        matches!(it, causeway_n4::Notice::SessionReleased { reason: ReleaseReason::AddressTaken, .. })
    };
    assert!(n4.has_notice(taken) && !n4.plane.has(older));
    assert_eq!((n4.n4.occupancy().routes, n4.n4.occupancy().addresses), (1, 1));
}

// Input:  a session is replaced by one with a route that contains the address of an SMF.
// Output: rejected; the older session keeps its address, and another SMF cannot have it.
#[test]
fn a_refused_route_takes_nothing_from_the_older_session() {
    let (mut n4, mut smf, mut other) = fixture(Limits::default());
    let first = smf.f_seid();
    let request = establishment(smf.node_id(), first);
    let older = n4.ask(&mut smf, Some(Seid(0)), request).up_seid();
    let second = FSeid { seid: Seid(first.seid.0 + 500), ..first };
    let over_smf = with_routes(&smf, first, &["192.0.2.8/29"]);
    let request = SessionEstablishmentRequest { cp_f_seid: second, ..over_smf };
    let refused = (Cause::RuleCreationModificationFailure, Some(ROUTE));
    assert_eq!(n4.ask(&mut smf, Some(Seid(0)), request).refusal(), refused);
    assert!(n4.plane.has(older) && n4.n4.session(older).is_some());
    let theirs = other.f_seid();
    let stolen = SessionEstablishmentRequest { cp_f_seid: theirs, ..establishment(other.node_id(), first) };
    let received = n4.ask(&mut other, Some(Seid(0)), stolen);
    assert_eq!(received.refusal(), (Cause::RuleCreationModificationFailure, Some(93)));
}

// Input:  while the deletion of a session with a route is in flight, another SMF requests the route; then again after
// it.
// Output: rejected, as packets are still sent there; accepted.
#[test]
fn a_route_is_free_when_its_session_is_gone() {
    let (mut n4, mut smf, mut other) = fixture(Limits::default());
    let first = ask(&mut n4, &mut smf, &["172.16.1.0/24"]).up_seid();
    n4.plane.pace = Pace::Held;
    n4.send(&mut smf, Some(first), SessionDeletionRequest::default());
    let refused = (Cause::RuleCreationModificationFailure, Some(ROUTE));
    assert_eq!(ask(&mut n4, &mut other, &["172.16.1.0/24"]).refusal(), refused);
    n4.apply_next();
    n4.plane.pace = Pace::AtOnce;
    assert_eq!(ask(&mut n4, &mut other, &["172.16.1.0/24"]).cause(), Cause::RequestAccepted);
}
