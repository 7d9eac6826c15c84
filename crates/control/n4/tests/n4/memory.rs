//! Admission of sessions and PFDs by memory.

use causeway_n4::{Config, Limits, Notice, RefusalReason};
use causeway_pfcp::*;
use causeway_types::{Seid, UrrId};

use crate::fixture::{Smf, TestN4, activation, config, establishment, query, volume_urr};

/// Octets that a session of the tests may need.
fn of_one() -> usize {
    let (mut n4, mut smf) = TestN4::associated();
    n4.establish(&mut smf);
    n4.n4.memory_needed()
}

fn with_memory(octets: usize) -> (TestN4, Smf) {
    TestN4::associated_with(Config { limits: Limits { memory: octets, ..Limits::default() }, ..config() })
}

fn try_establish(n4: &mut TestN4, smf: &mut Smf) -> (Cause, Option<Seid>) {
    let request = establishment(smf.node_id(), smf.f_seid());
    let received = n4.ask(smf, Some(Seid(0)), request);
    let Message::SessionEstablishmentResponse(response) = received.message() else {
        panic!("{:?}", received.kind())
    };
    (response.cause, response.up_f_seid.map(|f_seid| f_seid.seid))
}

/// Adds a URR.
fn more_rules(id: u32) -> SessionModificationRequest<'static> {
    SessionModificationRequest {
        create_urrs: [volume_urr(id)].into(),
        ..SessionModificationRequest::default()
    }
}

// Input:  memory for three sessions and a half; establishments with one message template, of which the first ones are
// accepted; then modifications, one of which adds a rule, and a deletion; then establishments again.
// Output: three are accepted, the others rejected with No resources available, in the log and counted; nothing is left
// of them. Modifications and deletions are accepted, except more rules than there is memory for. A deletion frees as
// much as it used.
#[test]
fn sessions_come_as_long_as_there_is_memory() {
    let (mut n4, mut smf) = with_memory(of_one() * 7 / 2);
    let seids: Vec<_> = (0..3).map(|_| n4.establish(&mut smf)).collect();
    let before = n4.rest();
    for refused in 1..=5 {
        assert_eq!(try_establish(&mut n4, &mut smf), (Cause::NoResourcesAvailable, None));
        assert_eq!(n4.n4.counters().memory_refusals, refused);
    }
    assert!(n4.has_notice(|it| matches!(it, Notice::Refused { reason: RefusalReason::MemoryLimit, .. })));
    assert_eq!((n4.rest().tunnels, n4.rest().sessions), (before.tunnels, 3));
    for seid in &seids {
        assert_eq!(n4.ask(&mut smf, Some(*seid), activation(7)).cause(), Cause::RequestAccepted);
    }
    assert_eq!(n4.n4.memory_needed(), 3 * of_one());
    // There is memory for a few more rules, of any session.
    let mut accepted = 0;
    while n4.ask(&mut smf, Some(seids[0]), more_rules(10 + accepted)).cause() == Cause::RequestAccepted {
        accepted += 1;
    }
    assert!((1..20).contains(&accepted), "{accepted}");
    assert_eq!(n4.ask(&mut smf, Some(seids[1]), more_rules(9)).cause(), Cause::NoResourcesAvailable);
    assert_eq!(n4.ask(&mut smf, Some(seids[1]), activation(9)).cause(), Cause::RequestAccepted);
    // Removed rules and removed sessions free their memory.
    let gone = (10..10 + accepted).map(|id| RemoveUrr::new(UrrId(id))).collect::<Vec<_>>();
    let fewer =
        SessionModificationRequest { remove_urrs: gone.into(), ..SessionModificationRequest::default() };
    assert_eq!(n4.ask(&mut smf, Some(seids[0]), fewer).cause(), Cause::RequestAccepted);
    assert_eq!(n4.n4.memory_needed(), 3 * of_one());
    for seid in seids {
        assert_eq!(
            n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default()).cause(),
            Cause::RequestAccepted
        );
        assert_eq!(try_establish(&mut n4, &mut smf).0, Cause::RequestAccepted);
        assert_eq!(try_establish(&mut n4, &mut smf).0, Cause::NoResourcesAvailable);
    }
}

// Input:  a process that is short of memory, whatever its sessions need; then no longer.
// Output: no session is established meanwhile, and none gets more rules; all else is accepted.
#[test]
fn no_session_comes_while_memory_is_short() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    n4.n4.set_short_of_memory(true);
    assert_eq!(try_establish(&mut n4, &mut smf).0, Cause::NoResourcesAvailable);
    assert_eq!(n4.ask(&mut smf, Some(seid), more_rules(9)).cause(), Cause::NoResourcesAvailable);
    assert_eq!(n4.ask(&mut smf, Some(seid), activation(9)).cause(), Cause::RequestAccepted);
    n4.n4.set_short_of_memory(false);
    assert_eq!(try_establish(&mut n4, &mut smf).0, Cause::RequestAccepted);
    assert_eq!(n4.ask(&mut smf, Some(seid), more_rules(9)).cause(), Cause::RequestAccepted);
    assert_eq!(n4.ask(&mut smf, Some(seid), query()).cause(), Cause::RequestAccepted);
}

/// PFDs with this number of names for an application; none: the application is removed.
fn pfds(application: &'static [u8], names: usize) -> PfdManagementRequest<'static> {
    let contents =
        |_| PfdContents { domain_name: Some(Octets::from("cdn[0-9]+.example")), ..PfdContents::default() };
    let contexts: Vec<_> = (0..names).map(|at| PfdContext::new([contents(at)])).collect();
    let group = ApplicationIdsPfds {
        pfd_contexts: contexts.into(),
        ..ApplicationIdsPfds::new(ApplicationId(application))
    };
    PfdManagementRequest { application_ids_pfds: [group].into(), ..PfdManagementRequest::default() }
}

// Input:  memory for twenty sessions; applications with one expression each until they are rejected; then a session,
// the removal of all applications but one, and a session again; then a process that is short of memory, and PFDs that
// grow, stay and shrink.
// Output: their memory is counted with the sessions, and PFDs and sessions beyond it are rejected with No resources
// available, in the log and counted; nothing of the rejected ones is left. PFDs that need no more are never rejected,
// and removal frees memory.
#[test]
fn pfds_come_as_long_as_there_is_memory() {
    let (mut n4, mut smf) = with_memory(of_one() * 20);
    let names: [&'static [u8]; 26] = std::array::from_fn(|at| &b"abcdefghijklmnopqrstuvwxyz"[at..=at]);
    let mut provisioned = 0;
    for name in names {
        let before = (n4.n4.memory_needed(), n4.applications.clone());
        let cause = n4.ask(&mut smf, None, pfds(name, 1)).cause();
        if cause == Cause::NoResourcesAvailable {
            assert_eq!((n4.n4.memory_needed(), &n4.applications), (before.0, &before.1));
            assert_eq!(n4.n4.counters().memory_refusals, 1);
            break;
        }
        assert_eq!(cause, Cause::RequestAccepted);
        assert!(n4.n4.memory_needed() > before.0 + 8192);
        provisioned += 1;
    }
    assert!((3..12).contains(&provisioned), "{provisioned}");
    assert!(n4.has_notice(|it| matches!(it, Notice::Refused { reason: RefusalReason::MemoryLimit, .. })));
    while try_establish(&mut n4, &mut smf).0 == Cause::RequestAccepted {}
    // The same PFDs again need no more.
    assert_eq!(n4.ask(&mut smf, None, pfds(names[0], 1)).cause(), Cause::RequestAccepted);
    for name in &names[1..provisioned] {
        assert_eq!(n4.ask(&mut smf, None, pfds(name, 0)).cause(), Cause::RequestAccepted);
    }
    assert_eq!(try_establish(&mut n4, &mut smf).0, Cause::RequestAccepted);
    n4.n4.set_short_of_memory(true);
    assert_eq!(n4.ask(&mut smf, None, pfds(names[1], 1)).cause(), Cause::NoResourcesAvailable);
    assert_eq!(n4.ask(&mut smf, None, pfds(names[0], 1)).cause(), Cause::RequestAccepted);
    let before = n4.n4.memory_needed();
    assert_eq!(n4.ask(&mut smf, None, pfds(names[0], 0)).cause(), Cause::RequestAccepted);
    assert!(n4.n4.memory_needed() < before);
}

/// The rules of a session, with this number of additional filters in the downlink PDR, each with a few ports.
fn with_filters(smf: &mut Smf, count: u16) -> SessionEstablishmentRequest<'static> {
    let mut request = establishment(smf.node_id(), smf.f_seid());
    let text: &'static str = "permit out 17 from 198.51.100.0/24 5,7,9,11 to assigned 2,4,6,8";
    let filter = SdfFilter { flow_description: Some(Octets::from(text)), ..SdfFilter::default() };
    let mut pdrs: Vec<_> = request.create_pdrs.iter().collect();
    for pdr in &mut pdrs {
        if pdr.pdi.source_interface == SourceInterface::Core {
            pdr.pdi.sdf_filters = vec![filter; count.into()].into();
        }
    }
    request.create_pdrs = pdrs.into();
    request
}

// Input:  memory for three sessions and a half; a session with fifty filters of sixteen pairs of ports each, one with
// one of them, and one without.
// Output: filters count: the first is rejected with No resources available, the others are accepted, and the one with a
// filter needs more.
#[test]
fn filters_are_counted() {
    let (mut n4, mut smf) = with_memory(of_one() * 7 / 2);
    let mut ask = |count| {
        let request = with_filters(&mut smf, count);
        let before = n4.n4.memory_needed();
        let cause = n4.ask(&mut smf, Some(Seid(0)), request).cause();
        (cause, n4.n4.memory_needed() - before)
    };
    assert_eq!(ask(50), (Cause::NoResourcesAvailable, 0));
    let (cause, with) = ask(1);
    assert_eq!((cause, ask(0)), (Cause::RequestAccepted, (Cause::RequestAccepted, of_one())));
    assert!(with > of_one() + 15 * 192, "{with}");
}
