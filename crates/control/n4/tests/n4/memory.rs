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

/// The rules of a session, changed.
fn changed(
    smf: &mut Smf,
    change: impl FnOnce(&mut SessionEstablishmentRequest<'static>),
) -> SessionEstablishmentRequest<'static> {
    let mut request = establishment(smf.node_id(), smf.f_seid());
    change(&mut request);
    request
}

fn with_uplink(
    change: impl FnOnce(&mut CreateFar<'static>),
) -> impl FnOnce(&mut SessionEstablishmentRequest<'static>) {
    |request| {
        let mut fars: Vec<_> = request.create_fars.iter().collect();
        change(&mut fars[0]);
        request.create_fars = fars.into();
    }
}

/// A text of this number of octets.
fn text(octets: usize) -> Octets<'static> {
    Octets("x".repeat(octets).leak().as_bytes())
}

fn group(octets: usize) -> Option<GroupId<'static>> {
    Some(GroupId(text(octets).0))
}

fn in_group(octets: usize) -> SessionModificationRequest<'static> {
    SessionModificationRequest { group_id: group(octets), ..SessionModificationRequest::default() }
}

type Change = Box<dyn FnOnce(&mut SessionEstablishmentRequest<'static>)>;

// Input:  sessions with a Network Access Identifier of 200 octets, a Group ID of 200, ninety FQ-CSIDs, 900 octets of header fields, a
//         URL of 900, sixty exempted filters, and eight destinations of copies, each established and deleted.
// Output: each needs more memory by what it names at least, and nothing is left of it.
#[test]
fn what_an_smf_chooses_the_length_of_is_counted() {
    let (mut n4, mut smf) = TestN4::associated();
    let csids = |node| FqCsid {
        address: CsidAddress::Ip(std::net::Ipv4Addr::new(192, 0, 2, node).into()),
        csids: &[[0, 7]; 15],
        node: Some(CsidNode::PgwC),
    };
    let flow = "permit out 17 from 198.51.100.0/24 to assigned";
    let filter = SdfFilter { flow_description: Some(Octets::from(flow)), ..SdfFilter::default() };
    let parameters = |change: fn(&mut ForwardingParameters<'static>)| -> Change {
        Box::new(with_uplink(move |far| change(far.forwarding_parameters.as_mut().unwrap())))
    };
    let copies: Change = Box::new(with_uplink(|far| {
        let copy = DuplicatingParameters {
            outer_header_creation: Some(crate::fixture::gnb(7)),
            ..DuplicatingParameters::new(DestinationInterface::LiFunction)
        };
        far.duplicating_parameters = vec![copy; 8].into();
    }));
    let cases: Vec<(&str, usize, Change)> = vec![
        ("nothing", 0, Box::new(|_| {})),
        (
            "User ID",
            200,
            Box::new(|it| it.user_id = Some(UserId { nai: Some(text(200)), ..UserId::default() })),
        ),
        ("Group ID", 200, Box::new(|it| it.group_id = group(200))),
        ("FQ-CSIDs", 90 * 2, Box::new(move |it| it.fq_csids = (1..=6).map(csids).collect::<Vec<_>>().into())),
        (
            "header fields",
            900,
            parameters(|it| {
                let field = HeaderEnrichment { header_type: 0, name: text(10), value: text(100) };
                it.header_enrichment = vec![field; 8].into();
            }),
        ),
        (
            "URL",
            900,
            parameters(|it| {
                let address = Octets([b"http://", text(893).0].concat().leak());
                let redirect = RedirectInformation {
                    kind: RedirectKind::Url,
                    server: address,
                    other_server: None,
                    port: None,
                };
                it.redirect_information = Some(redirect);
            }),
        ),
        (
            "exempted filters",
            60 * 256,
            Box::new(move |it| {
                let mut urr = volume_urr(1);
                urr.volume_quota =
                    Some(VolumeQuota(Volumes { total: Some(9), uplink: None, downlink: None }));
                urr.exempted_sdf_filter_for_quota_actions = vec![filter; 60].into();
                it.create_urrs = [urr].into();
            }),
        ),
        ("copies", 8 * 40, copies),
    ];
    let usual = of_one();
    for (name, octets, change) in cases {
        let request = changed(&mut smf, change);
        let established = n4.ask(&mut smf, Some(Seid(0)), request);
        assert_eq!(established.cause(), Cause::RequestAccepted, "{name}");
        let needed = n4.n4.memory_needed();
        assert!(needed >= usual + octets && (octets == 0) == (needed == usual), "{name}: {needed}");
        let seid = Some(established.up_seid());
        assert_eq!(n4.ask(&mut smf, seid, SessionDeletionRequest::default()).cause(), Cause::RequestAccepted);
        assert_eq!(n4.n4.memory_needed(), 0, "{name}");
    }
}

// Input:  Group IDs of 257 and of 256 octets, in an establishment and in a modification of nothing else.
// Output: the longer one is incorrect, and nothing is left of it; the other is accepted.
#[test]
fn a_long_group_id_is_refused() {
    let (mut n4, mut smf) = TestN4::associated();
    let too_long = (Cause::MandatoryIeIncorrect, Some(GroupId::TYPE));
    let request = changed(&mut smf, |it| it.group_id = group(257));
    assert_eq!(n4.ask(&mut smf, Some(Seid(0)), request).refusal(), too_long);
    assert_eq!((n4.n4.memory_needed(), n4.rest().tunnels), (0, 0));
    let seid = Some(n4.establish(&mut smf));
    assert_eq!(n4.ask(&mut smf, seid, in_group(257)).refusal(), too_long);
    assert_eq!(n4.n4.memory_needed(), of_one());
    assert_eq!(n4.ask(&mut smf, seid, in_group(256)).cause(), Cause::RequestAccepted);
    assert_eq!(n4.n4.memory_needed(), of_one() + 256);
    let request = changed(&mut smf, |it| it.group_id = group(256));
    assert_eq!(n4.ask(&mut smf, Some(Seid(0)), request).cause(), Cause::RequestAccepted);
}

// Input:  memory for one session and 150 octets; modifications and report responses with a Group ID alone, which is too much or
//         fits, grows or shrinks, also while the process is short of memory.
// Output: what there is no memory for is refused with No resources available, or not taken from a response; what needs no more is
//         always accepted.
#[test]
fn session_sets_come_as_long_as_there_is_memory() {
    let (mut n4, mut smf) = with_memory(of_one() + 150);
    let seid = n4.establish(&mut smf);
    let mut ask = |n4: &mut TestN4, octets| {
        let cause = n4.ask(&mut smf, Some(seid), in_group(octets)).cause();
        (cause, n4.n4.memory_needed() - of_one())
    };
    assert_eq!(ask(&mut n4, 200), (Cause::NoResourcesAvailable, 0));
    assert_eq!(ask(&mut n4, 100), (Cause::RequestAccepted, 100));
    n4.n4.set_short_of_memory(true);
    assert_eq!(ask(&mut n4, 101), (Cause::NoResourcesAvailable, 100));
    assert_eq!(ask(&mut n4, 100), (Cause::RequestAccepted, 100));
    assert_eq!(ask(&mut n4, 50), (Cause::RequestAccepted, 50));
    n4.n4.set_short_of_memory(false);
    for (octets, expected) in [(200, 50), (257, 50), (120, 120), (60, 60)] {
        n4.uses(seid, 1000);
        let report = n4.next(smf.addr);
        let answer = SessionReportResponse {
            group_id: group(octets),
            ..SessionReportResponse::new(Cause::RequestAccepted)
        };
        n4.deliver(smf.addr, &Smf::answer(&report, Some(seid), answer));
        assert_eq!(n4.n4.memory_needed() - of_one(), expected);
        let is_refused = n4.has_notice(|it| matches!(it, Notice::InstructionsFailed { .. }));
        assert_eq!(is_refused, octets > 150);
        n4.notices.clear();
    }
}

// Input:  service requests of five sessions with one message template, each with the same Group ID.
// Output: every session is in the group: its octets count for each.
#[test]
fn session_sets_are_taken_whatever_template_is_known() {
    let (mut n4, mut smf) = TestN4::associated();
    let seids: Vec<_> = (0..5).map(|_| n4.establish(&mut smf)).collect();
    for (count, seid) in (1..).zip(seids) {
        let request = SessionModificationRequest { group_id: group(10), ..activation(9) };
        assert_eq!(n4.ask(&mut smf, Some(seid), request).cause(), Cause::RequestAccepted);
        assert_eq!(n4.n4.memory_needed(), 5 * of_one() + count * 10);
    }
}
