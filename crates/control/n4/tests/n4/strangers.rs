//! What strangers cost: how much they are answered, and what is kept of them.

use std::net::SocketAddr;

use causeway_n4::{Config, Direction, KnownSmf, MessageKey, MessageResult, Occupancy};
use causeway_pfcp::*;
use causeway_types::{NtpSeconds, Seid, Span};

use crate::world::{Smf, World, activation, config, encode, establishment};

/// More than there are places for associations and their hosts.
const HOSTS: u32 = 20_000;

/// The stranger of this number, each with an address of its own.
fn stranger(number: u32) -> SocketAddr {
    SocketAddr::from(((0x0a00_0000 + number).to_be_bytes(), 8805))
}

fn heartbeat(sequence: u32) -> Vec<u8> {
    encode(None, sequence, HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(1))))
}

/// Messages as one datagram: each but the last says that another one follows.
fn bundle(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut all: Vec<Vec<u8>> = messages.to_vec();
    let last = all.len() - 1;
    all[..last].iter_mut().for_each(|message| message[0] |= 4);
    all.concat()
}

// Input:  a thousand heartbeats in a datagram of a stranger, and of an SMF; an SMF's setup with two establishments behind it; from
//         the SMF's end of these sessions, which the configuration names and the association does not, their deletions in one datagram.
// Output: one answer to the stranger, and the rest counts once; an answer to each of the others.
#[test]
fn a_stranger_is_heard_once_for_a_datagram() {
    let heartbeats = bundle(&(0..1000).map(heartbeat).collect::<Vec<_>>());
    let addresses = ["192.0.2.20/32", "192.0.2.21/32"].map(|net| net.parse().unwrap()).to_vec();
    let known = KnownSmf { node: Smf::new(20).node(), addresses, set: None };
    let (mut world, smf) = World::associated_with(Config { smfs: vec![known], ..config() });
    world.deliver(stranger(0), &heartbeats);
    assert_eq!(world.next(stranger(0)).kind(), MessageType::HeartbeatResponse);
    world.is_quiet();
    let dropped =
        MessageKey { message: None, direction: Direction::Received, result: MessageResult::Unexpected };
    assert_eq!(world.n4.counters().messages().find(|(key, _)| *key == dropped), Some((dropped, 1)));
    world.deliver(smf.addr, &heartbeats);
    assert_eq!(world.sent.len(), 1000);
    world.sent.clear();

    let mut new = Smf::new(20);
    let mut f_seid = || {
        let f_seid = new.f_seid();
        causeway_types::FSeid { addr: Smf::new(21).ip().into(), ..f_seid }
    };
    let establish =
        [2, 3].map(|number| encode(Some(Seid(0)), number, establishment(Smf::new(20).node_id(), f_seid())));
    let setup = encode(None, 1, Smf::new(20).setup());
    world.deliver(new.addr, &bundle(&[vec![setup], establish.to_vec()].concat()));
    assert_eq!(world.next(new.addr).cause(), Cause::RequestAccepted);
    let seids = [0, 1].map(|_| world.next(new.addr).up_seid());
    let delete = [4, 5]
        .map(|number| encode(Some(seids[number as usize - 4]), number, SessionDeletionRequest::default()));
    let end = Smf::new(21).addr;
    world.deliver(end, &bundle(&delete));
    for _ in 0..2 {
        assert_eq!(world.next(end).cause(), Cause::RequestAccepted);
    }
}

// Input:  twenty thousand strangers, each at an address of its own: setups, heartbeats, requests about no session and about one
//         of an SMF, answers to nothing, other versions, cut messages.
// Output: at most one answer to a datagram, hardly longer than it; 64 setups are accepted, with the SMF's, and few requests are
//         remembered, and not for long; the session is as it was, and its SMF is served.
#[test]
fn strangers_leave_little_and_not_for_long() {
    let (mut world, mut smf) = World::associated_with(config());
    let seid = world.establish(&mut smf);
    let before = world.n4.occupancy();
    for number in 0..HOSTS {
        let from = stranger(number);
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
        world.deliver(from, &message);
        assert!(world.sent.len() <= 1, "{number}");
        assert!(world.sent.drain(..).all(|(to, answer)| to == from && answer.len() <= message.len() + 40));
        world.notices.clear();
    }
    let most = config().limits.associations;
    let Occupancy { associations, remembered_requests, .. } = world.n4.occupancy();
    assert_eq!(associations, most);
    assert!(remembered_requests <= 16 * most, "{remembered_requests}");
    world.pass(Span::from_secs(60));
    let now = world.n4.occupancy();
    assert_eq!(
        Occupancy { associations: before.associations, remembered_requests: 0, ..now },
        Occupancy { remembered_requests: 0, ..before }
    );
    assert_eq!(
        world.ask(&mut smf, Some(seid), SessionDeletionRequest::default()).cause(),
        Cause::RequestAccepted
    );
}

// Input:  an SMF has had one answer; as many strangers as there may be associations, and a thousand more, ask for one, from addresses
//         behind its own; then the SMF repeats its request.
// Output: it gets the same answer, and the session is there once.
#[test]
fn strangers_do_not_displace_the_answers_to_an_smf() {
    let (mut world, mut smf) = World::associated();
    world.pass(Span::from_secs(60));
    let request = establishment(smf.node_id(), smf.f_seid());
    let octets = world.send(&mut smf, Some(Seid(0)), request);
    let answer = world.next(smf.addr).bytes;
    for number in 0..1100_u32 {
        let from = SocketAddr::from(((0xcb00_0000 + number).to_be_bytes(), 8805));
        let setup = AssociationSetupRequest::new(NodeId::Ip(from.ip()), RecoveryTimeStamp(NtpSeconds(1)));
        world.deliver(from, &encode(None, number, setup));
        world.sent.clear();
    }
    world.deliver(smf.addr, &octets);
    assert_eq!(world.next(smf.addr).bytes, answer);
    assert_eq!(world.n4.occupancy().sessions, 1);
}
