//! What a part does alone, and what it leaves to the one that has all parts.

use std::net::SocketAddr;

use causeway_dataplane::{ApplyError, BackendError, DownlinkData, Event};
use causeway_n4::{Config, Direction, Limits, MessageResult};
use causeway_pfcp::*;
use causeway_types::{PdrId, Seid, UrrId, UsageReportTrigger};

use crate::fixture::{
    Got, Pace, Smf, TestN4, activation, config, encode, establishment, query, used, wrong_update,
};
use crate::numbers::{f_seid_in, part_of, parts};

/// What a part has left of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Left {
    pub(crate) octets: usize,
    pub(crate) is_undecided: bool,
}

/// Nothing.
pub(crate) const NOTHING: Left = Left { octets: 0, is_undecided: false };

/// A request that only all parts can decide.
pub(crate) const UNDECIDED: Left = Left { octets: 0, is_undecided: true };

/// All octets.
pub(crate) const fn all_of(bytes: &[u8]) -> Left {
    Left { octets: bytes.len(), is_undecided: false }
}

/// A part gets a datagram alone. Nothing is done about what it leaves.
pub(crate) fn give(n4: &mut TestN4, part: usize, from: SocketAddr, bytes: &[u8]) -> Left {
    let now = n4.now;
    let left = n4.lend(part, |part, node| {
        let octets = part.datagram(node, now, from, bytes).len();
        Left { octets, is_undecided: part.is_undecided() }
    });
    n4.drain();
    left
}

/// The part applies its plans alone, and is not concerned with anything else.
pub(crate) fn apply_alone(n4: &mut TestN4) {
    while let Some((id, plan)) = n4.plane.held.pop_front() {
        let (now, session) = (n4.now, plan.session);
        let result = n4.plane.apply(now, plan);
        assert_eq!(id.part(), part_of(session));
        let is_concerned = n4.lend(id.part(), |part, node| {
            part.applied(node, now, id, result);
            part.concerns_node()
        });
        assert!(!is_concerned);
        n4.drain();
    }
}

/// A part handles an event alone.
fn raise(n4: &mut TestN4, event: Event) {
    let (now, part) = (n4.now, part_of(event.session().expect("it is about a session")));
    let left = n4.lend(part, |part, node| part.event(node, now, event));
    assert_eq!(left, None);
    n4.drain();
}

/// A part gets a request, decides it alone, applies its plan and responds. The other parts leave it.
#[track_caller]
fn ask<'a>(
    n4: &mut TestN4,
    smf: &mut Smf,
    part: usize,
    seid: Option<Seid>,
    message: impl Into<Message<'a>>,
) -> Got {
    let bytes = smf.request(seid, message);
    for other in parts().filter(|other| *other != part) {
        assert_eq!(give(n4, other, smf.addr, &bytes), all_of(&bytes));
    }
    assert_eq!(give(n4, part, smf.addr, &bytes), NOTHING);
    apply_alone(n4);
    let answer = n4.next(smf.addr);
    assert_eq!(answer.header.sequence, smf.sequence);
    // The response is sent again to a duplicate.
    assert_eq!(give(n4, part, smf.addr, &bytes), NOTHING);
    assert_eq!(n4.next(smf.addr).bytes, answer.bytes);
    n4.is_quiet();
    answer
}

fn establish_in(n4: &mut TestN4, smf: &mut Smf, part: usize) -> Seid {
    let cp = f_seid_in(smf, part);
    let request = establishment(smf.node_id(), cp);
    let answer = ask(n4, smf, part, Some(Seid(0)), request);
    assert_eq!((answer.cause(), answer.header.seid), (Cause::RequestAccepted, Some(cp.seid)));
    assert_eq!(part_of(answer.up_seid()), part);
    answer.up_seid()
}

fn fixture(limits: Limits) -> (TestN4, Smf) {
    let (mut n4, smf) = TestN4::associated_with(Config { limits, ..config() });
    n4.plane.pace = Pace::Held;
    (n4, smf)
}

// Input:  in each part, ten establishments of one kind, of which only the first is decoded; some with a User ID, which are decoded;
//         of each session, modifications, a query, an update of no FAR of its, and the deletion; each request twice.
// Output: the part decides all of them alone, with its plans; SEIDs are of the part; duplicates get the same responses. The
//         refused update alone waits for all parts. Nothing is left.
#[test]
fn a_part_serves_its_sessions() {
    let (mut n4, mut smf) = fixture(Limits::default());
    for part in parts() {
        let mut seids: Vec<_> = (0..10).map(|_| establish_in(&mut n4, &mut smf, part)).collect();
        for imsi in [b"\x01\x02".as_slice(), b"\x03"] {
            let user_id = Some(UserId { imsi: Some(Octets(imsi)), ..UserId::default() });
            let request = establishment(smf.node_id(), f_seid_in(&mut smf, part));
            let request = SessionEstablishmentRequest { user_id, ..request };
            seids.push(ask(&mut n4, &mut smf, part, Some(Seid(0)), request).up_seid());
        }
        for (teid, seid) in (1..).zip(seids) {
            assert_eq!(part_of(seid), part);
            for message in [activation(teid), activation(teid + 100), query(), activation(teid)] {
                let answer = ask(&mut n4, &mut smf, part, Some(seid), message);
                assert_eq!(answer.cause(), Cause::RequestAccepted);
            }
            let wrong = smf.request(Some(seid), wrong_update());
            assert_eq!(give(&mut n4, part, smf.addr, &wrong), UNDECIDED);
            // Until all parts have decided it, the part takes no other datagram.
            let next = smf.request(Some(seid), query());
            assert_eq!(give(&mut n4, part, smf.addr, &next), Left { is_undecided: true, ..all_of(&next) });
            n4.is_quiet();
            n4.n4.settle(n4.now);
            n4.drain();
            assert!(!n4.next(smf.addr).cause().is_accepted());
            let answer = ask(&mut n4, &mut smf, part, Some(seid), SessionDeletionRequest::default());
            assert_eq!(answer.usage(), [(1, 1, 30, UsageReportTrigger::TERMR)]);
        }
    }
    n4.is_quiet();
    assert_eq!((n4.rest(), n4.plane.sessions()), Default::default());
}

// Input:  two modifications and a deletion of a session, and a repetition of each, while the plan of the first is in flight.
// Output: they wait in the part, and are done in order; the repetitions get nothing.
#[test]
fn requests_wait_for_a_plan_in_their_part() {
    let (mut n4, mut smf) = fixture(Limits::default());
    for part in parts() {
        let seid = establish_in(&mut n4, &mut smf, part);
        let first = smf.sequence + 1;
        let requests: [Message<'_>; 3] =
            [activation(1).into(), query().into(), SessionDeletionRequest::default().into()];
        for message in requests {
            let bytes = smf.request(Some(seid), message);
            assert_eq!([(); 2].map(|()| give(&mut n4, part, smf.addr, &bytes)), [NOTHING; 2]);
        }
        assert_eq!((n4.plane.held.len(), n4.rest().waiting_requests), (1, 2));
        apply_alone(&mut n4);
        let answers = [first, first + 1, first + 2].map(|_| n4.next(smf.addr));
        assert_eq!(answers.each_ref().map(|it| it.header.sequence), [first, first + 1, first + 2]);
        assert!(answers.iter().all(|it| it.cause().is_accepted()));
    }
    n4.is_quiet();
    assert_eq!(n4.rest(), Default::default());
}

// Input:  plans that fail: of an establishment, a modification and a deletion.
// Output: the part refuses each request alone; the session is there, except the first.
#[test]
fn a_part_refuses_what_the_data_plane_cannot_do() {
    let (mut n4, mut smf) = fixture(Limits::default());
    let error = || ApplyError::from(BackendError::TimedOut);
    for part in parts() {
        let cp = f_seid_in(&mut smf, part);
        n4.plane.failures.push_back(error());
        let request = establishment(smf.node_id(), cp);
        let refused = ask(&mut n4, &mut smf, part, Some(Seid(0)), request);
        assert_eq!(refused.cause(), Cause::SystemFailure);
        assert_eq!(n4.rest(), Default::default());
        let seid = establish_in(&mut n4, &mut smf, part);
        n4.plane.failures.push_back(error());
        assert_eq!(ask(&mut n4, &mut smf, part, Some(seid), activation(1)).cause(), Cause::SystemFailure);
        n4.plane.failures.push_back(error());
        let deletion = SessionDeletionRequest::default();
        assert!(!ask(&mut n4, &mut smf, part, Some(seid), deletion.clone()).cause().is_accepted());
        assert!(ask(&mut n4, &mut smf, part, Some(seid), deletion).cause().is_accepted());
        assert_eq!((n4.rest(), n4.plane.sessions()), Default::default());
    }
}

// Input:  in each part, usage and downlink data of a session, reported twice; the SMF accepts each report. Then usage of a session
//         that has ended.
// Output: the part reports, with numbers that no other part has, and takes the responses alone; other parts leave them. The late
//         event is counted.
#[test]
fn a_part_reports_alone() {
    let (mut n4, mut smf) = fixture(Limits::default());
    let mut numbers = std::collections::BTreeSet::new();
    for part in parts() {
        let session = establish_in(&mut n4, &mut smf, part);
        for number in 1..=2 {
            let usage = vec![used(n4.now, UrrId(1), 100, UsageReportTrigger::VOLTH)];
            raise(&mut n4, Event::Usage { session, usage });
            let data = DownlinkData { pdr: PdrId(2), qfi: None, dscp: None, status: None };
            raise(&mut n4, Event::DownlinkData { session, data });
            for at in 0..2 {
                let report = n4.next(smf.addr);
                assert_eq!(report.kind(), MessageType::SessionReportRequest);
                if at == 0 {
                    assert_eq!(report.usage(), [(1, number - 1, 100, UsageReportTrigger::VOLTH)]);
                }
                assert!(numbers.insert(report.header.sequence));
                let answer = Smf::report_response(&report, session, Cause::RequestAccepted);
                for other in parts().filter(|other| *other != part) {
                    assert_eq!(give(&mut n4, other, smf.addr, &answer), all_of(&answer));
                }
                assert_eq!(give(&mut n4, part, smf.addr, &answer), NOTHING);
            }
            n4.is_quiet();
        }
        let answer = ask(&mut n4, &mut smf, part, Some(session), SessionDeletionRequest::default());
        assert_eq!(answer.cause(), Cause::RequestAccepted);
        let usage = vec![used(n4.now, UrrId(1), 100, UsageReportTrigger::VOLTH)];
        raise(&mut n4, Event::Usage { session, usage });
        n4.is_quiet();
    }
    assert_eq!(n4.n4.counters().late_events, u64::from(crate::PARTS));
    assert_eq!(n4.rest(), Default::default());
    let accepted = MessageResult::Cause(Cause::RequestAccepted);
    let answers = n4.n4.counters().message(MessageType::SessionReportResponse, Direction::Received, accepted);
    assert_eq!(answers, 4 * u64::from(crate::PARTS));
}

// Input:  responses to reports: a rejection, a session that the SMF does not know, one with a session set, a second response, one from
//         another host, an incomplete one.
// Output: all octets are left; the report waits for its response.
#[test]
fn other_responses_to_reports_are_left() {
    let (mut n4, mut smf) = fixture(Limits::default());
    for part in parts() {
        let session = establish_in(&mut n4, &mut smf, part);
        let usage = vec![used(n4.now, UrrId(1), 100, UsageReportTrigger::VOLTH)];
        raise(&mut n4, Event::Usage { session, usage });
        let report = n4.next(smf.addr);
        let csid = FqCsid { address: CsidAddress::Operator(7), csids: &[[0, 1]], node: None };
        let accepted = SessionReportResponse::new(Cause::RequestAccepted);
        let with_set = SessionReportResponse { fq_csid: Some(csid), ..accepted.clone() };
        let good = Smf::report_response(&report, session, Cause::RequestAccepted);
        let mut cut = good.clone();
        cut.truncate(16);
        cut[3] = 12;
        for bytes in [
            Smf::report_response(&report, session, Cause::RequestRejected),
            Smf::report_response(&report, session, Cause::SessionContextNotFound),
            Smf::answer(&report, Some(session), with_set),
            encode(Some(session), report.header.sequence + 1, accepted),
            cut,
        ] {
            assert_eq!(give(&mut n4, part, smf.addr, &bytes), all_of(&bytes));
        }
        assert_eq!(give(&mut n4, part, Smf::new(11).addr, &good), all_of(&good));
        assert_eq!(n4.rest().unanswered_requests, 1);
        assert_eq!(give(&mut n4, part, smf.addr, &good), NOTHING);
        assert_eq!(give(&mut n4, part, smf.addr, &good), all_of(&good));
        assert_eq!(n4.rest().unanswered_requests, 0);
    }
}

// Input:  each node message, a session set deletion and modification; an unknown message type, another version, half a message.
// Output: all octets are left, by every part; nothing is sent or counted.
#[test]
fn node_messages_are_left() {
    let (mut n4, mut smf) = fixture(Limits::default());
    let node = smf.node_id();
    let recovery = RecoveryTimeStamp(smf.recovery);
    let address =
        AlternativeSmfIpAddress { addr: std::net::Ipv4Addr::new(192, 0, 2, 12).into(), preferred: false };
    let moved = SessionChangeInfo::new(address);
    let messages: [Message<'_>; 9] = [
        HeartbeatRequest::new(recovery).into(),
        HeartbeatResponse::new(recovery).into(),
        PfdManagementRequest::default().into(),
        smf.setup().into(),
        AssociationUpdateRequest::new(node).into(),
        AssociationUpdateResponse::new(node, Cause::RequestAccepted).into(),
        AssociationReleaseRequest::new(node).into(),
        SessionSetDeletionRequest::new(node).into(),
        SessionSetModificationRequest::new(node, [moved]).into(),
    ];
    let mut datagrams: Vec<_> = messages.into_iter().map(|message| smf.request(None, message)).collect();
    datagrams.push(vec![0x20, 99, 0, 4, 0, 0, 1, 0]);
    datagrams.push(vec![0x40, 1, 0, 4, 1, 2, 3, 0]);
    let whole = smf.request(Some(Seid(0)), establishment(smf.node_id(), smf.clone().f_seid()));
    datagrams.push(whole[..whole.len() / 2].to_vec());
    let before = n4.n4.counters();
    for bytes in datagrams {
        for part in parts() {
            assert_eq!(give(&mut n4, part, smf.addr, &bytes), all_of(&bytes), "{bytes:?}");
        }
    }
    n4.is_quiet();
    assert!(n4.n4.counters().messages().eq(before.messages()));
}

// Input:  a datagram with requests for sessions of two parts, in the order one, one, two, one; one with a heartbeat in the middle.
// Output: each part handles what comes first of its own, and leaves the rest from the first other message on.
#[test]
fn a_bundle_is_handled_up_to_the_first_message_of_others() {
    let (mut n4, mut smf) = fixture(Limits::default());
    let [one, two] = [0, 1].map(|part| establish_in(&mut n4, &mut smf, part));
    let bundled = |smf: &mut Smf, seids: &[Option<Seid>]| -> Vec<Vec<u8>> {
        let recovery = RecoveryTimeStamp(smf.recovery);
        let message = |seid: &Option<Seid>| match seid {
            Some(_) => smf.request(*seid, query()),
            None => smf.request(None, HeartbeatRequest::new(recovery)),
        };
        seids.iter().map(message).collect()
    };
    for second in [Some(two), None] {
        let messages = bundled(&mut smf, &[Some(one), Some(one), second, Some(one)]);
        let datagram = with_follow_on(&messages);
        let last = messages[2].len() + messages[3].len();
        let rest = Left { octets: last, is_undecided: false };
        assert_eq!(give(&mut n4, 2, smf.addr, &datagram), all_of(&datagram));
        assert_eq!(give(&mut n4, 0, smf.addr, &datagram), rest);
        apply_alone(&mut n4);
        assert_eq!(n4.sent.len(), 2);
        n4.sent.clear();
        let rest = &datagram[datagram.len() - last..];
        let after_second = if second.is_some() { messages[3].len() } else { rest.len() };
        assert_eq!(give(&mut n4, 1, smf.addr, rest), Left { octets: after_second, is_undecided: false });
        apply_alone(&mut n4);
        n4.sent.clear();
    }
}

/// These messages in one datagram: all but the last have the FO flag.
pub(crate) fn with_follow_on(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut datagram = messages.concat();
    let starts = messages.iter().scan(0, |at, message| {
        let start = *at;
        *at += message.len();
        Some(start)
    });
    starts.take(messages.len() - 1).for_each(|start| datagram[start] |= 4);
    datagram
}

// Input:  requests of a host without association for a session of the part: one alone, and two in one datagram.
// Output: the first is rejected with No established association; the second datagram is left.
#[test]
fn bundles_of_unassociated_peers_are_left() {
    let (mut n4, mut smf) = fixture(Limits::default());
    for part in parts() {
        let seid = establish_in(&mut n4, &mut smf, part);
        let unassociated = Smf::new(77);
        let messages = [1, 2].map(|number| encode(Some(seid), number, query()));
        let datagram = with_follow_on(&messages);
        assert_eq!(give(&mut n4, part, unassociated.addr, &datagram), all_of(&datagram));
        n4.is_quiet();
        assert_eq!(give(&mut n4, part, unassociated.addr, &messages[0]), NOTHING);
        assert_eq!(n4.next(unassociated.addr).cause(), Cause::NoEstablishedAssociation);
    }
}

// Input:  an establishment with a Recovery Time Stamp of the SMF that shows a restart; one with that of its setup; again.
// Output: the first waits for all parts, which then establish it, and ask the SMF; the others are decided by the part.
#[test]
fn a_restart_is_noted_by_all_parts() {
    for part in parts() {
        let (mut n4, mut smf) = fixture(Limits::default());
        for recovery in [smf.recovery.0, smf.recovery.0, smf.recovery.0 + 500] {
            let stamp = RecoveryTimeStamp(causeway_types::NtpSeconds(recovery));
            let request = establishment(smf.node_id(), f_seid_in(&mut smf, part));
            let request = SessionEstablishmentRequest { recovery_time_stamp: Some(stamp), ..request };
            if recovery == smf.recovery.0 {
                assert_eq!(
                    ask(&mut n4, &mut smf, part, Some(Seid(0)), request).cause(),
                    Cause::RequestAccepted
                );
                continue;
            }
            let bytes = smf.request(Some(Seid(0)), request);
            assert_eq!(give(&mut n4, part, smf.addr, &bytes), UNDECIDED);
            n4.is_quiet();
            n4.n4.settle(n4.now);
            n4.plane.pace = Pace::AtOnce;
            n4.drain();
            while !n4.plane.held.is_empty() {
                n4.apply_next();
            }
            assert_eq!(n4.next(smf.addr).kind(), MessageType::HeartbeatRequest);
            assert_eq!(n4.next(smf.addr).cause(), Cause::RequestAccepted);
        }
    }
}

// Input:  a limit of sessions of one more than all parts may establish unseen; two establishments in a part; the second is settled.
//         The same with a limit of memory.
// Output: the first is decided alone, the second by all parts: it is accepted, as the limit is not reached.
#[test]
fn near_a_limit_all_parts_decide() {
    let unseen = causeway_n4::Part::MOST_DATAGRAMS * parts().len();
    let sessions = Limits { sessions: unseen + 1, ..Limits::default() };
    // Between those of the first session and of the second, beside what sessions of the other parts may need.
    let memory = Limits { memory: (unseen << 14) + 6000, ..Limits::default() };
    for limits in [sessions, memory] {
        for part in parts() {
            let (mut n4, mut smf) = fixture(limits);
            establish_in(&mut n4, &mut smf, part);
            let request = establishment(smf.node_id(), f_seid_in(&mut smf, part));
            let bytes = smf.request(Some(Seid(0)), request);
            assert_eq!(give(&mut n4, part, smf.addr, &bytes), UNDECIDED);
            n4.n4.settle(n4.now);
            n4.drain();
            apply_alone(&mut n4);
            assert_eq!(n4.next(smf.addr).cause(), Cause::RequestAccepted);
            let other = (part + 1) % parts().len();
            let request = establishment(smf.node_id(), f_seid_in(&mut smf, other));
            let bytes = smf.request(Some(Seid(0)), request);
            assert_eq!(give(&mut n4, other, smf.addr, &bytes), UNDECIDED);
        }
    }
}

// Input:  an SMF that supports the enhanced release has a session in each part, and prepares the release; the sessions end, and the SMF
//         accepts their reports one after the other.
// Output: each part says that the end concerns the node; when the last is gone, settling announces that all is reported.
#[test]
fn the_end_of_an_awaited_session_concerns_the_node() {
    let (mut n4, mut smf) = (TestN4::new(), Smf::new(10));
    n4.plane.pace = Pace::Held;
    let setup = AssociationSetupRequest { cp_function_features: Some(CpFeatures::EPFAR), ..smf.setup() };
    n4.ask(&mut smf, None, setup);
    for part in parts() {
        establish_in(&mut n4, &mut smf, part);
    }
    let request = AssociationUpdateRequest::new(smf.node_id());
    let flags = Some(AssociationUpdateFlags::PARPS);
    n4.ask(&mut smf, None, AssociationUpdateRequest { flags, ..request });
    apply_alone(&mut n4);
    let reports: Vec<_> = parts().map(|_| n4.next(smf.addr)).collect();
    for report in reports {
        n4.is_quiet();
        let answer = Smf::report_response(&report, Seid(0), Cause::RequestAccepted);
        let now = n4.now;
        let concerned = parts().map(|part| {
            n4.lend(part, |part, node| {
                let is_left = !part.datagram(node, now, smf.addr, &answer).is_empty();
                assert_ne!(is_left, part.concerns_node());
                usize::from(part.concerns_node())
            })
        });
        assert_eq!(concerned.sum::<usize>(), 1);
        n4.n4.settle(now);
        n4.drain();
    }
    assert_eq!(n4.next(smf.addr).kind(), MessageType::AssociationUpdateRequest);
    assert_eq!(n4.n4.occupancy().sessions, 0);
}
