//! Malformed and unexpected datagrams.

use causeway_n4::{Direction, MessageKey, MessageResult, Notice};
use causeway_pfcp::*;
use causeway_types::{Seid, Span};
use proptest::prelude::*;

use crate::fixture::{Got, Smf, TestN4, activation, encode, establishment};

fn count(n4: &TestN4, message: Option<MessageType>, result: MessageResult) -> u64 {
    let key = MessageKey { message, direction: Direction::Received, result };
    n4.n4.counters().messages().find(|(found, _)| *found == key).map_or(0, |(_, count)| count)
}

// Input:  a message of version 2 with number 0x010203, without and with SEID; a Version Not Supported
//         Response of version 2.
// Output: a Version Not Supported Response with that number, twice; no response to a response.
#[test]
fn another_version_is_not_supported() {
    let (mut n4, smf) = (TestN4::new(), Smf::new(10));
    n4.deliver(smf.addr, &[0x40, 1, 0, 4, 1, 2, 3, 0]);
    let mut with_seid = vec![0x41, 50, 0, 12];
    with_seid.extend([0; 8]);
    with_seid.extend([1, 2, 3, 0]);
    n4.deliver(smf.addr, &with_seid);
    for _ in 0..2 {
        let received = n4.next(smf.addr);
        assert_eq!(
            (received.kind(), received.header.sequence),
            (MessageType::VersionNotSupportedResponse, 0x010203)
        );
        assert_eq!((received.header.seid, received.bytes.len()), (None, 8));
    }
    n4.deliver(smf.addr, &[0x40, 11, 0, 4, 1, 2, 3, 0]);
    n4.is_quiet();
}

// Input:  nothing, one octet, a truncated header.
// Output: no response; counted.
#[test]
fn what_is_too_short_is_dropped() {
    let (mut n4, smf) = TestN4::associated();
    for bytes in [&[][..], &[0x20], &[0x20, 1, 0, 4, 0]] {
        n4.deliver(smf.addr, bytes);
    }
    n4.is_quiet();
    assert_eq!(count(&n4, None, MessageResult::Malformed), 3);
}

// Input:  a request and a response whose length field goes beyond the datagram.
// Output: Invalid length for the request; no response to the response.
#[test]
fn a_wrong_length_is_answered_for_requests_only() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    let mut request = encode(Some(seid), 77, activation(1));
    request[3] += 1;
    n4.deliver(smf.addr, &request);
    let received = n4.next(smf.addr);
    assert_eq!((received.cause(), received.header.sequence), (Cause::InvalidLength, 77));
    assert_eq!(received.header.seid, Some(Seid(1)));
    let mut response = encode(None, 78, HeartbeatResponse::new(RecoveryTimeStamp(smf.recovery)));
    response[3] += 1;
    n4.deliver(smf.addr, &response);
    n4.is_quiet();
}

// Input:  a truncated duplicate of a request that is answered later.
// Output: the truncated one is rejected by itself; the complete one gets its own response.
#[test]
fn a_cut_duplicate_does_not_replace_the_answer() {
    let (mut n4, mut smf) = TestN4::associated();
    let request = establishment(smf.node_id(), smf.f_seid());
    let bytes = n4.send(&mut smf, Some(Seid(0)), request);
    let first = n4.next(smf.addr);
    n4.deliver(smf.addr, &bytes[..bytes.len() - 1]);
    assert_eq!(n4.next(smf.addr).cause(), Cause::InvalidLength);
    n4.deliver(smf.addr, &bytes);
    assert_eq!(n4.next(smf.addr).bytes, first.bytes);
}

// Input:  message types that Release 17 does not know.
// Output: no response; counted; a notice.
#[test]
fn an_unknown_message_is_ignored() {
    let (mut n4, smf) = TestN4::associated();
    n4.deliver(smf.addr, &[0x20, 99, 0, 4, 0, 0, 1, 0]);
    n4.is_quiet();
    assert_eq!(count(&n4, None, MessageResult::UnknownType), 1);
    assert!(n4.has_notice(|notice| matches!(notice, Notice::Discarded { .. })));
}

// Input:  responses to no request of the UPF.
// Output: no response; counted; nothing changes.
#[test]
fn an_unexpected_response_is_dropped() {
    let (mut n4, smf) = TestN4::associated();
    let recovery = RecoveryTimeStamp(smf.recovery);
    let response = encode(None, 5, HeartbeatResponse::new(recovery));
    n4.deliver(smf.addr, &response);
    let setup = AssociationSetupResponse {
        recovery_time_stamp: Some(recovery),
        ..AssociationSetupResponse::new(smf.node_id(), Cause::RequestAccepted)
    };
    let unassociated_peer = Smf::new(20);
    n4.deliver(unassociated_peer.addr, &encode(None, 6, setup));
    n4.is_quiet();
    assert_eq!(n4.n4.associations().count(), 1);
    assert_eq!(count(&n4, Some(MessageType::HeartbeatResponse), MessageResult::Unexpected), 1);
}

// Input:  a response to a report that lacks its cause, then a correct one.
// Output: the first is dropped, and the report is retransmitted; the second ends it.
#[test]
fn a_malformed_answer_is_no_answer() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    n4.uses(seid, 1);
    let received = n4.next(smf.addr);
    let valid = Smf::report_response(&received, seid, Cause::RequestAccepted);
    let mut cut = valid[..16].to_vec();
    cut[3] = 12;
    n4.deliver(smf.addr, &cut);
    n4.pass(Span::from_secs(1));
    assert_eq!(n4.next(smf.addr).bytes, received.bytes);
    n4.deliver(smf.addr, &valid);
    assert_eq!(n4.n4.occupancy().unanswered_requests, 0);
}

// Input:  session requests of an unassociated peer, many of them.
// Output: cause 72 each, and nothing is stored.
#[test]
fn an_unassociated_peer_leaves_no_state() {
    let (mut n4, mut unassociated_peer) = (TestN4::new(), Smf::new(20));
    for _ in 0..100 {
        let request = establishment(unassociated_peer.node_id(), unassociated_peer.f_seid());
        let received = n4.ask(&mut unassociated_peer, Some(Seid(0)), request);
        assert_eq!(received.cause(), Cause::NoEstablishedAssociation);
    }
    assert_eq!(n4.n4.occupancy(), Default::default());
    assert_eq!(n4.n4.counters().refused()[&Cause::NoEstablishedAssociation], 100);
}

// Input:  three messages in one datagram: a heartbeat, a modification and a message of unknown type.
// Output: the first two get responses, in order; the third is ignored.
#[test]
fn bundled_messages_are_handled_one_by_one() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    let mut bundle = encode(None, 70, HeartbeatRequest::new(RecoveryTimeStamp(smf.recovery)));
    let modification = encode(Some(seid), 71, activation(1));
    let at = bundle.len();
    bundle[0] |= 4;
    bundle.extend(modification);
    bundle[at] |= 4;
    bundle.extend([0x20, 99, 0, 4, 0, 0, 72, 0]);
    n4.deliver(smf.addr, &bundle);
    assert_eq!(n4.next(smf.addr).kind(), MessageType::HeartbeatResponse);
    assert_eq!(n4.next(smf.addr).cause(), Cause::RequestAccepted);
    n4.is_quiet();
}

/// A valid datagram of each phase of a session, to be modified.
fn valid(kind: u8, seid: Seid, smf: &mut Smf) -> Vec<u8> {
    let sequence = 1000 + u32::from(kind);
    match kind % 6 {
        0 => encode(None, sequence, smf.setup()),
        1 => encode(Some(Seid(0)), sequence, establishment(smf.node_id(), smf.f_seid())),
        2 => encode(Some(seid), sequence, activation(9)),
        3 => encode(None, sequence, HeartbeatRequest::new(RecoveryTimeStamp(smf.recovery))),
        4 => encode(None, sequence, AssociationUpdateRequest::new(smf.node_id())),
        _ => encode(Some(seid), sequence, SessionReportResponse::new(Cause::RequestAccepted)),
    }
}

/// The rules and the CP F-SEID of every session.
fn snapshot(n4: &TestN4) -> Vec<String> {
    let mut sessions: Vec<_> = n4.n4.sessions().map(|session| format!("{session:?}")).collect();
    sessions.sort();
    sessions
}

proptest! {
    // Input:  random octets from an unassociated peer and from an SMF.
    // Output: no panic; no session changes; every response can be decoded.
    #[test]
    fn random_octets_change_no_session(datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 1..8)) {
        let (mut n4, mut smf) = TestN4::associated();
        n4.establish(&mut smf);
        let before = snapshot(&n4);
        for bytes in &datagrams {
            n4.deliver(smf.addr, bytes);
            n4.deliver(Smf::new(20).addr, bytes);
        }
        prop_assert_eq!(snapshot(&n4), before);
        for (_, bytes) in &n4.sent {
            Got::from_bytes(bytes).message();
        }
    }

    // Input:  valid messages with a few octets changed, or truncated, from an unassociated peer.
    // Output: no panic; no session; nothing in the data plane but the effects of an association.
    #[test]
    fn malformed_messages_of_an_unassociated_peer_change_no_session(
        kind: u8, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), cut: prop::sample::Index,
    ) {
        let (mut n4, mut smf) = TestN4::associated();
        let seid = n4.establish(&mut smf);
        let before = snapshot(&n4);
        let mut unassociated_peer = Smf { sequence: 0, ..Smf::new(20) };
        let mut bytes = valid(kind, seid, &mut unassociated_peer);
        for (at, octet) in changes {
            let at = at.index(bytes.len());
            bytes[at] = octet;
        }
        n4.deliver(unassociated_peer.addr, &bytes);
        bytes.truncate(cut.index(bytes.len() + 1));
        n4.deliver(unassociated_peer.addr, &bytes);
        prop_assert_eq!(snapshot(&n4), before);
    }

    // Input:  valid messages with a few octets changed, or truncated, from the SMF itself, and time.
    // Output: no panic; every response can be decoded; at the end, a valid deletion gets its response.
    #[test]
    fn spoilt_messages_of_the_smf_do_no_harm(
        steps in prop::collection::vec((any::<u8>(), any::<prop::sample::Index>(), any::<u8>(), any::<prop::sample::Index>()), 1..6),
    ) {
        let (mut n4, mut smf) = TestN4::associated();
        let seid = n4.establish(&mut smf);
        for (kind, at, octet, cut) in steps {
            let mut bytes = valid(kind, seid, &mut smf);
            let at = at.index(bytes.len());
            bytes[at] = octet;
            n4.deliver(smf.addr, &bytes);
            bytes.truncate(cut.index(bytes.len() + 1));
            n4.deliver(smf.addr, &bytes);
            n4.pass(Span::from_millis(700));
        }
        for (_, bytes) in &n4.sent {
            Got::from_bytes(bytes).message();
        }
        n4.sent.clear();
        smf.sequence = 5000;
        let received = n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
        // A changed message type can be a release of the association, which is then applied.
        let fitting =
            [Cause::RequestAccepted, Cause::SessionContextNotFound, Cause::NoEstablishedAssociation];
        prop_assert!(fitting.contains(&received.cause()), "{:?}", received.cause());
    }
}
