//! Load and overload control information while N4 is nearly full.

use causeway_n4::{Config, Limits, OverloadControl};
use causeway_pfcp::*;
use causeway_types::{Seid, Span};

use crate::fixture::{Pace, RECOVERY, Smf, TestN4, config, encode, establishment, query, wrong_update};

/// A UPF that counts as overloaded above half of these limits, and an SMF with these features.
fn overloadable(limits: Limits, features: CpFeatures) -> (TestN4, Smf) {
    let overload_control = Some(OverloadControl { mark: 50, validity: Span::from_secs(60) });
    let mut n4 = TestN4::with(Config { limits, overload_control, ..config() });
    let mut smf = Smf::new(10);
    associate(&mut n4, &mut smf, features);
    (n4, smf)
}

fn associate(n4: &mut TestN4, smf: &mut Smf, features: CpFeatures) {
    let setup = AssociationSetupRequest { cp_function_features: Some(features), ..smf.setup() };
    assert_eq!(n4.ask(smf, None, setup).cause(), Cause::RequestAccepted);
}

/// The overload in a response: its number, relative to the first one, and its metric.
fn said(response: &Message<'_>) -> Option<(u32, u8)> {
    let overload = match response {
        Message::SessionEstablishmentResponse(it) => &it.overload_control_information,
        Message::SessionModificationResponse(it) => &it.overload_control_information,
        Message::SessionDeletionResponse(it) => &it.overload_control_information,
        _ => panic!("{response:?}"),
    };
    let overload = overload.as_ref()?;
    assert_eq!(overload.flags, Some(OciFlags::AOCI));
    assert_eq!(overload.validity.0.span(), Some(Span::from_secs(60)));
    Some((overload.sequence_number.0 - RECOVERY.0, overload.metric.0))
}

fn establish(n4: &mut TestN4, smf: &mut Smf) -> Option<(u32, u8)> {
    let request = establishment(smf.node_id(), smf.f_seid());
    said(&n4.ask(smf, Some(Seid(0)), request).message())
}

fn modify(n4: &mut TestN4, smf: &mut Smf, seid: Seid) -> Option<(u32, u8)> {
    said(&n4.ask(smf, Some(seid), query()).message())
}

fn delete(n4: &mut TestN4, smf: &mut Smf, seid: Seid) -> Option<(u32, u8)> {
    said(&n4.ask(smf, Some(seid), SessionDeletionRequest::default()).message())
}

fn four_sessions() -> Limits {
    Limits { sessions: 4, ..Limits::default() }
}

// Input:  a UPF for four sessions; two SMFs with overload control and one without fill it with two, one and one
// sessions; one that was never notified of the overload sets up after its end.
// Output: each is notified once of each step in its next response; 0 is sent to those that were notified of more.
#[test]
fn each_smf_is_notified_once_of_each_change() {
    let (mut n4, mut one) = overloadable(four_sessions(), CpFeatures::OVRL);
    let [mut two, mut without, mut late] = [11, 12, 13].map(Smf::new);
    associate(&mut n4, &mut two, CpFeatures::OVRL);
    associate(&mut n4, &mut without, CpFeatures::LOAD);
    associate(&mut n4, &mut late, CpFeatures::OVRL);
    let first = n4.establish(&mut one);
    assert_eq!(establish(&mut n4, &mut two), None);
    assert_eq!(establish(&mut n4, &mut one), Some((1, 50)));
    assert_eq!(establish(&mut n4, &mut without), None);
    assert_eq!(modify(&mut n4, &mut one, first), Some((2, 100)));
    assert_eq!(modify(&mut n4, &mut one, first), None);
    assert_eq!(establish(&mut n4, &mut two), Some((2, 100)), "in the rejection");
    let others: Vec<_> = n4.n4.sessions().map(|session| session.seid).filter(|it| *it != first).collect();
    assert_eq!(delete(&mut n4, &mut one, first), Some((3, 50)));
    let owner = |n4: &TestN4, seid| n4.n4.session(seid).map(|session| session.node.clone());
    let mut told = Vec::new();
    for seid in others {
        let node = owner(&n4, seid);
        let smf =
            [&mut one, &mut two, &mut without].into_iter().find(|smf| Some(smf.node()) == node).unwrap();
        told.extend(delete(&mut n4, smf, seid));
    }
    assert_eq!(told, [(4, 0), (4, 0)], "to one and to two");
    assert_eq!(establish(&mut n4, &mut late), None);
}

// Input:  an overload that lasts for minutes, with a message to an SMF every 10 s; then it ends.
// Output: sent again after 50 s and 100 s, before 60 s are over each time; then 0, once.
#[test]
fn a_lasting_overload_is_sent_again_in_time() {
    let limits = Limits { sessions: 2, ..Limits::default() };
    let (mut n4, mut smf) = overloadable(limits, CpFeatures::OVRL);
    let (first, _) = (n4.establish(&mut smf), n4.establish(&mut smf));
    let mut told = Vec::new();
    for step in 1..=10 {
        n4.pass(Span::from_secs(10));
        told.extend(modify(&mut n4, &mut smf, first).map(|overload| (step * 10, overload)));
    }
    assert_eq!(told, [(50, (2, 100)), (100, (3, 100))]);
    assert_eq!(delete(&mut n4, &mut smf, first), Some((4, 0)));
    assert_eq!(establish(&mut n4, &mut smf), Some((5, 100)));
}

// Input:  an SMF that was notified of the overload sets its association up again.
// Output: it is notified again, with the same number: nothing has changed.
#[test]
fn a_new_association_gets_load_information() {
    let limits = Limits { sessions: 2, ..Limits::default() };
    let (mut n4, mut smf) = overloadable(limits, CpFeatures::OVRL);
    let mut other = Smf::new(11);
    associate(&mut n4, &mut other, CpFeatures::OVRL);
    let (_, _) = (n4.establish(&mut smf), n4.establish(&mut smf));
    assert_eq!(establish(&mut n4, &mut other), Some((1, 100)));
    assert_eq!(establish(&mut n4, &mut other), None);
    associate(&mut n4, &mut other, CpFeatures::OVRL);
    assert_eq!(establish(&mut n4, &mut other), Some((1, 100)));
}

// Input:  at most four reports in flight; three sessions report usage, and the SMF responds to none; then to all.
// Output: a reduction of 50 percent, then 0 after the responses.
#[test]
fn unanswered_reports_are_an_overload() {
    // A part has its share of these limits.
    if crate::PARTS > 1 {
        return;
    }
    let limits = Limits { outstanding_reports: 4, ..Limits::default() };
    let (mut n4, mut smf) = overloadable(limits, CpFeatures::OVRL);
    let sessions = [(); 3].map(|()| n4.establish(&mut smf));
    for session in sessions {
        n4.uses(session, 10);
    }
    let requests = sessions.map(|_| n4.next(smf.addr));
    assert_eq!(establish(&mut n4, &mut smf), Some((1, 50)));
    for (request, session) in requests.iter().zip(sessions) {
        n4.deliver(smf.addr, &Smf::report_response(request, session, Cause::RequestAccepted));
    }
    assert_eq!(modify(&mut n4, &mut smf, sessions[0]), Some((2, 0)));
}

// Input:  the data plane is slow: three modifications of one session are in progress and one of another is rejected,
// with a limit of four in progress for each peer; or two of them are queued, with as many octets as the limit.
// Output: a reduction of all in the rejection; then less as plans are applied, until it is 0.
#[test]
fn requests_that_wait_are_an_overload() {
    // A part has its share of these limits.
    if crate::PARTS > 1 {
        return;
    }
    let header = encode(Some(Seid(1)), 1, SessionDeletionRequest::default()).len();
    let octets = encode(Some(Seid(1)), 1, query()).len() - header;
    let open = Limits { in_progress_per_peer: 4, ..Limits::default() };
    let waiting = Limits { waiting_octets: octets * 2, ..Limits::default() };
    for (limits, then) in [(open, [Some((2, 50)), Some((3, 0)), None]), (waiting, [None, Some((2, 0)), None])]
    {
        let (mut n4, mut smf) = overloadable(limits, CpFeatures::OVRL);
        let (first, second) = (n4.establish(&mut smf), n4.establish(&mut smf));
        n4.plane.pace = Pace::Held;
        for _ in 0..3 {
            n4.send(&mut smf, Some(first), query());
        }
        assert!(n4.try_next(smf.addr).is_none());
        let refused = n4.ask(&mut smf, Some(second), wrong_update());
        assert_eq!(said(&refused.message()), Some((1, 100)), "{limits:?}");
        let told = [(); 3].map(|()| {
            n4.apply_next();
            said(&n4.next(smf.addr).message())
        });
        assert_eq!(told, then, "{limits:?}");
    }
}

// Input:  a full UPF whose overload control is off.
// Output: an SMF that supports it is sent nothing.
#[test]
fn overload_control_can_be_off() {
    let limits = Limits { sessions: 1, ..Limits::default() };
    let mut n4 = TestN4::with(Config { limits, ..config() });
    let mut smf = Smf::new(10);
    associate(&mut n4, &mut smf, CpFeatures::OVRL);
    assert_eq!((establish(&mut n4, &mut smf), establish(&mut n4, &mut smf)), (None, None));
}
