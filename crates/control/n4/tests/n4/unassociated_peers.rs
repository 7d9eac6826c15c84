//! The cost of unassociated peers: how many responses they get, and which state they leave.

use std::net::SocketAddr;

use causeway_n4::{Config, Direction, KnownSmf, MessageKey, MessageResult, Occupancy};
use causeway_pfcp::*;
use causeway_types::{NtpSeconds, Seid, Span};

use crate::fixture::{Smf, TestN4, activation, bundle, config, encode, establishment};

/// More than the limits of associations and their hosts.
const HOSTS: u32 = 20_000;

/// The unassociated peer of this number, each with its own address.
fn peer(number: u32) -> SocketAddr {
    SocketAddr::from(((0x0a00_0000 + number).to_be_bytes(), 8805))
}

fn heartbeat(sequence: u32) -> Vec<u8> {
    encode(None, sequence, HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(1))))
}

// Input:  a thousand heartbeats in a datagram of an unassociated peer, and of an SMF; an SMF's setup with two
// establishments behind it; from the CP F-SEID of these sessions, which the configuration lists and the association
// does not, their deletions in one datagram.
// Output: one response to the unassociated peer, and the rest counts once; a response to each of the others.
#[test]
fn one_message_per_datagram_of_an_unassociated_peer() {
    let heartbeats = bundle(&(0..1000).map(heartbeat).collect::<Vec<_>>());
    let addresses = ["192.0.2.20/32", "192.0.2.21/32"].map(|net| net.parse().unwrap()).to_vec();
    let known = KnownSmf { node: Smf::new(20).node(), addresses, set: None };
    let (mut n4, smf) = TestN4::associated_with(Config { smfs: vec![known], ..config() });
    n4.deliver(peer(0), &heartbeats);
    assert_eq!(n4.next(peer(0)).kind(), MessageType::HeartbeatResponse);
    n4.is_quiet();
    let dropped =
        MessageKey { message: None, direction: Direction::Received, result: MessageResult::Unexpected };
    assert_eq!(n4.n4.counters().messages().find(|(key, _)| *key == dropped), Some((dropped, 1)));
    n4.deliver(smf.addr, &heartbeats);
    assert_eq!(n4.sent.len(), 1000);
    n4.sent.clear();

    let mut new = Smf::new(20);
    let mut f_seid = || {
        let f_seid = new.f_seid();
        causeway_types::FSeid { addr: Smf::new(21).ip().into(), ..f_seid }
    };
    let establish =
        [2, 3].map(|number| encode(Some(Seid(0)), number, establishment(Smf::new(20).node_id(), f_seid())));
    let setup = encode(None, 1, Smf::new(20).setup());
    n4.deliver(new.addr, &bundle(&[vec![setup], establish.to_vec()].concat()));
    assert_eq!(n4.next(new.addr).cause(), Cause::RequestAccepted);
    let seids = [0, 1].map(|_| n4.next(new.addr).up_seid());
    let delete = [4, 5]
        .map(|number| encode(Some(seids[number as usize - 4]), number, SessionDeletionRequest::default()));
    let end = Smf::new(21).addr;
    n4.deliver(end, &bundle(&delete));
    for _ in 0..2 {
        assert_eq!(n4.next(end).cause(), Cause::RequestAccepted);
    }
}

// Input:  twenty thousand unassociated peers, each at its own address: setups, heartbeats, requests about no session
// and about one of an SMF, responses to nothing, other versions, truncated messages.
// Output: at most one response to a datagram, hardly longer than it; 64 setups are accepted, including the SMF's, and
// few requests are cached, and not for long; the session is unchanged, and its SMF is served.
#[test]
fn state_of_unassociated_peers_is_small_and_expires() {
    let (mut n4, mut smf) = TestN4::associated_with(config());
    let seid = n4.establish(&mut smf);
    let before = n4.n4.occupancy();
    for number in 0..HOSTS {
        let from = peer(number);
        let node = || NodeId::Ip(from.ip());
        let message = match number % 8 {
            0 => encode(None, number, AssociationSetupRequest::new(node(), RecoveryTimeStamp(NtpSeconds(1)))),
            1 => heartbeat(number),
            2 => encode(Some(Seid(0)), number, establishment(node(), smf.f_seid())),
            3 => encode(Some(seid), number, activation(9)),
            4 => encode(Some(seid), number, SessionDeletionRequest::default()),
            5 => encode(Some(seid), number, SessionReportResponse::new(Cause::RequestAccepted)),
            6 => vec![0x40, 1, 0, 4, 1, 2, 3, 0],
            _ => heartbeat(number)[..11].to_vec(),
        };
        n4.deliver(from, &message);
        assert!(n4.sent.len() <= 1, "{number}");
        assert!(n4.sent.drain(..).all(|(to, answer)| to == from && answer.len() <= message.len() + 40));
        n4.notices.clear();
    }
    let most = config().limits.associations;
    let Occupancy { associations, remembered_requests, .. } = n4.n4.occupancy();
    assert_eq!(associations, most);
    assert!(remembered_requests <= 16 * most, "{remembered_requests}");
    n4.pass(Span::from_secs(60));
    let now = n4.n4.occupancy();
    assert_eq!(
        Occupancy { associations: before.associations, remembered_requests: 0, ..now },
        Occupancy { remembered_requests: 0, ..before }
    );
    assert_eq!(
        n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default()).cause(),
        Cause::RequestAccepted
    );
}

// Input:  an SMF has received one response; as many unassociated peers as the limit of associations, and a thousand
// more, request one, from addresses behind its own; then the SMF repeats its request.
// Output: it gets the same response, and the session exists once.
#[test]
fn unassociated_peers_do_not_evict_cached_responses() {
    let (mut n4, mut smf) = TestN4::associated();
    n4.pass(Span::from_secs(60));
    let request = establishment(smf.node_id(), smf.f_seid());
    let octets = n4.send(&mut smf, Some(Seid(0)), request);
    let answer = n4.next(smf.addr).bytes;
    for number in 0..1100_u32 {
        let from = SocketAddr::from(((0xcb00_0000 + number).to_be_bytes(), 8805));
        let setup = AssociationSetupRequest::new(NodeId::Ip(from.ip()), RecoveryTimeStamp(NtpSeconds(1)));
        n4.deliver(from, &encode(None, number, setup));
        n4.sent.clear();
    }
    n4.deliver(smf.addr, &octets);
    assert_eq!(n4.next(smf.addr).bytes, answer);
    assert_eq!(n4.n4.occupancy().sessions, 1);
}
