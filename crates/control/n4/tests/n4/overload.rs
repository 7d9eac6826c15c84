//! What SMFs are told while N4 is nearly full.

use causeway_n4::{Config, Limits, OverloadControl};
use causeway_pfcp::*;
use causeway_types::{Seid, Span};

use crate::world::{Pace, RECOVERY, Smf, World, config, encode, establishment, query, wrong_update};

/// A UPF that counts as overloaded above half of these limits, and an SMF that can do this.
fn overloadable(limits: Limits, features: CpFeatures) -> (World, Smf) {
    let overload_control = Some(OverloadControl { mark: 50, validity: Span::from_secs(60) });
    let mut world = World::with(Config { limits, overload_control, ..config() });
    let mut smf = Smf::new(10);
    associate(&mut world, &mut smf, features);
    (world, smf)
}

fn associate(world: &mut World, smf: &mut Smf, features: CpFeatures) {
    let setup = AssociationSetupRequest { cp_function_features: Some(features), ..smf.setup() };
    assert_eq!(world.ask(smf, None, setup).cause(), Cause::RequestAccepted);
}

/// The overload in a response: how far its number is from the first one, and its metric.
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

fn establish(world: &mut World, smf: &mut Smf) -> Option<(u32, u8)> {
    let request = establishment(smf.node_id(), smf.f_seid());
    said(&world.ask(smf, Some(Seid(0)), request).message())
}

fn modify(world: &mut World, smf: &mut Smf, seid: Seid) -> Option<(u32, u8)> {
    said(&world.ask(smf, Some(seid), query()).message())
}

fn delete(world: &mut World, smf: &mut Smf, seid: Seid) -> Option<(u32, u8)> {
    said(&world.ask(smf, Some(seid), SessionDeletionRequest::default()).message())
}

fn four_sessions() -> Limits {
    Limits { sessions: 4, ..Limits::default() }
}

// Input:  a UPF for four sessions; two SMFs with overload control and one without fill it with two, one and one
//         sessions; one that was never told of the overload comes when it is over.
// Output: each is told once of each step when it next hears from us; 0 goes to those that were told of more.
#[test]
fn each_smf_is_told_once_of_each_step() {
    let (mut world, mut one) = overloadable(four_sessions(), CpFeatures::OVRL);
    let [mut two, mut without, mut late] = [11, 12, 13].map(Smf::new);
    associate(&mut world, &mut two, CpFeatures::OVRL);
    associate(&mut world, &mut without, CpFeatures::LOAD);
    associate(&mut world, &mut late, CpFeatures::OVRL);
    let first = world.establish(&mut one);
    assert_eq!(establish(&mut world, &mut two), None);
    assert_eq!(establish(&mut world, &mut one), Some((1, 50)));
    assert_eq!(establish(&mut world, &mut without), None);
    assert_eq!(modify(&mut world, &mut one, first), Some((2, 100)));
    assert_eq!(modify(&mut world, &mut one, first), None);
    assert_eq!(establish(&mut world, &mut two), Some((2, 100)), "in the refusal");
    let others: Vec<_> = world.n4.sessions().map(|session| session.seid).filter(|it| *it != first).collect();
    assert_eq!(delete(&mut world, &mut one, first), Some((3, 50)));
    let owner = |world: &World, seid| world.n4.session(seid).map(|session| session.node.clone());
    let mut told = Vec::new();
    for seid in others {
        let node = owner(&world, seid);
        let smf =
            [&mut one, &mut two, &mut without].into_iter().find(|smf| Some(smf.node()) == node).unwrap();
        told.extend(delete(&mut world, smf, seid));
    }
    assert_eq!(told, [(4, 0), (4, 0)], "to one and to two");
    assert_eq!(establish(&mut world, &mut late), None);
}

// Input:  an overload that lasts for minutes, of which an SMF hears every 10 s; then it ends.
// Output: told anew after 50 s and 100 s, before 60 s are over each time; then 0, once.
#[test]
fn a_lasting_overload_is_told_again_in_time() {
    let limits = Limits { sessions: 2, ..Limits::default() };
    let (mut world, mut smf) = overloadable(limits, CpFeatures::OVRL);
    let (first, _) = (world.establish(&mut smf), world.establish(&mut smf));
    let mut told = Vec::new();
    for step in 1..=10 {
        world.pass(Span::from_secs(10));
        told.extend(modify(&mut world, &mut smf, first).map(|overload| (step * 10, overload)));
    }
    assert_eq!(told, [(50, (2, 100)), (100, (3, 100))]);
    assert_eq!(delete(&mut world, &mut smf, first), Some((4, 0)));
    assert_eq!(establish(&mut world, &mut smf), Some((5, 100)));
}

// Input:  an SMF that was told of the overload sets its association up again.
// Output: it is told again, with the same number: nothing has changed.
#[test]
fn a_new_association_is_told_anew() {
    let limits = Limits { sessions: 2, ..Limits::default() };
    let (mut world, mut smf) = overloadable(limits, CpFeatures::OVRL);
    let mut other = Smf::new(11);
    associate(&mut world, &mut other, CpFeatures::OVRL);
    let (_, _) = (world.establish(&mut smf), world.establish(&mut smf));
    assert_eq!(establish(&mut world, &mut other), Some((1, 100)));
    assert_eq!(establish(&mut world, &mut other), None);
    associate(&mut world, &mut other, CpFeatures::OVRL);
    assert_eq!(establish(&mut world, &mut other), Some((1, 100)));
}

// Input:  at most four unanswered reports; three sessions report usage, and the SMF answers none; then all.
// Output: a reduction of 50 percent, then 0 when the reports are answered.
#[test]
fn unanswered_reports_are_an_overload() {
    let limits = Limits { outstanding_reports: 4, ..Limits::default() };
    let (mut world, mut smf) = overloadable(limits, CpFeatures::OVRL);
    let sessions = [(); 3].map(|()| world.establish(&mut smf));
    for session in sessions {
        world.uses(session, 10);
    }
    let requests = sessions.map(|_| world.next(smf.addr));
    assert_eq!(establish(&mut world, &mut smf), Some((1, 50)));
    for (request, session) in requests.iter().zip(sessions) {
        world.deliver(smf.addr, &Smf::report_response(request, session, Cause::RequestAccepted));
    }
    assert_eq!(modify(&mut world, &mut smf, sessions[0]), Some((2, 0)));
}

// Input:  the data plane is slow: of one session three modifications are open and of another one is refused, where
//         four may be open of a peer; or two of them wait, with as many octets as may wait.
// Output: a reduction of all in the refusal; then less as the data plane answers, until it is 0.
#[test]
fn requests_that_wait_are_an_overload() {
    let header = encode(Some(Seid(1)), 1, SessionDeletionRequest::default()).len();
    let octets = encode(Some(Seid(1)), 1, query()).len() - header;
    let open = Limits { in_progress_per_peer: 4, ..Limits::default() };
    let waiting = Limits { waiting_octets: octets * 2, ..Limits::default() };
    for (limits, then) in [(open, [Some((2, 50)), Some((3, 0)), None]), (waiting, [None, Some((2, 0)), None])]
    {
        let (mut world, mut smf) = overloadable(limits, CpFeatures::OVRL);
        let (first, second) = (world.establish(&mut smf), world.establish(&mut smf));
        world.plane.pace = Pace::Held;
        for _ in 0..3 {
            world.send(&mut smf, Some(first), query());
        }
        assert!(world.try_next(smf.addr).is_none());
        let refused = world.ask(&mut smf, Some(second), wrong_update());
        assert_eq!(said(&refused.message()), Some((1, 100)), "{limits:?}");
        let told = [(); 3].map(|()| {
            world.apply_next();
            said(&world.next(smf.addr).message())
        });
        assert_eq!(told, then, "{limits:?}");
    }
}

// Input:  a full UPF whose overload control is off.
// Output: an SMF that supports it is told nothing.
#[test]
fn overload_control_can_be_off() {
    let limits = Limits { sessions: 1, ..Limits::default() };
    let mut world = World::with(Config { limits, ..config() });
    let mut smf = Smf::new(10);
    associate(&mut world, &mut smf, CpFeatures::OVRL);
    assert_eq!((establish(&mut world, &mut smf), establish(&mut world, &mut smf)), (None, None));
}
