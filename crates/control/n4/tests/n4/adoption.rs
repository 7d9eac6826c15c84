//! N4 takes over sessions that the data plane has established itself.

use causeway_dataplane::ApplyError;
use causeway_model::{Adopted, Answered, RuleMap};
use causeway_n4::{Config, DataPlaneNumbers, RestoreError};
use causeway_pfcp::*;
use causeway_types::{NodeId as Node, Seid, Teid, Time};

use crate::fixture::{Pace, Smf, TestN4, activation, config, establishment};
use crate::sets::each_its_own;

/// SEIDs of the data plane have 0xacce in these bits; its TEIDs begin at 1000.
const NUMBERS: DataPlaneNumbers =
    DataPlaneNumbers { seid_mask: 0xffff << 32, seid: 0xacce << 32, first_teid: 1000 };

fn of_data_plane() -> Config {
    Config { data_plane: Some(NUMBERS), ..config() }
}

/// A session of a data plane with this index: the SMF has asked N4 of another UPF for it, whose numbers are exchanged. Returns the request and its
/// answer, too.
fn session(smf: &mut Smf, index: u32) -> (Adopted, Vec<u8>, Vec<u8>) {
    let mut other = TestN4::new();
    other.associate(&mut smf.clone());
    let request = establishment(smf.node_id(), smf.f_seid());
    let octets = other.send(smf, Some(Seid(0)), request);
    let answer = other.next(smf.addr);
    let view = other.n4.session(answer.up_seid()).unwrap();
    let (seid, cp, mut rules) = (Seid(0xacce << 32 | u64::from(index)), view.cp, view.rules().into_owned());
    rules.urrs = RuleMap::default();
    for pdr in rules.pdrs.values_mut() {
        pdr.urrs.clear();
        if let Some(tunnel) = pdr.pdi.tunnel.as_mut() {
            tunnel.teid = Teid::new(5000 + index).unwrap();
        }
    }
    let digest = request_digest(Some(Seid(0)), &octets[16..]);
    let answered = vec![Answered { sequence: smf.sequence, port: smf.addr.port(), digest }];
    let node = Node::Ip(smf.addr.ip());
    let (since, answers) = (Time::default(), vec![answer.bytes.clone()]);
    let adopted = Adopted { seid, cp, node, since, rules, choose_id: None, answered, answers };
    (adopted, octets, answer.bytes)
}

// Input:  a session of the data plane; the request that established it again, from its port and from another one; then it is modified and deleted, and a
//         session is established.
// Output: the answer of the data plane, to each; the session goes on under its numbers, and the new one has none of the data plane's.
#[test]
fn a_session_goes_on_under_its_numbers() {
    let (mut n4, mut smf) = TestN4::associated_with(of_data_plane());
    let (adopted, request, answer) = session(&mut smf, 7);
    let seid = adopted.seid;
    n4.n4.adopt(n4.now, adopted.clone()).unwrap();
    n4.drain();
    assert!(n4.plane.has(seid));
    assert_eq!(n4.n4.session(seid).unwrap().rules().into_owned(), adopted.rules);
    let mut elsewhere = smf.addr;
    elsewhere.set_port(40_000);
    for from in [smf.addr, elsewhere] {
        n4.deliver(from, &request);
        assert_eq!(n4.next(from).bytes, answer);
    }
    assert_eq!(n4.ask(&mut smf, Some(seid), activation(1)).cause(), Cause::RequestAccepted);
    for _ in 0..20 {
        let new = n4.establish(&mut smf);
        assert!(!NUMBERS.has(new));
        let view = n4.n4.session(new).unwrap();
        let rules = view.rules();
        let mut tunnels = rules.pdrs.values().filter_map(|pdr| pdr.pdi.tunnel);
        assert!(tunnels.all(|tunnel| tunnel.teid.value() < NUMBERS.first_teid));
    }
    let deletion = SessionDeletionRequest::default();
    assert_eq!(n4.ask(&mut smf, Some(seid), deletion).cause(), Cause::RequestAccepted);
    assert!(!n4.plane.has(seid));
    assert_eq!(n4.ask(&mut smf, Some(seid), activation(1)).cause(), Cause::SessionContextNotFound);
}

// Input:  a session of the data plane whose plan is in flight; meanwhile the message with which it came, a modification, then its deletion, and the
//         modification once more. Another one that the data plane refuses, with a message.
// Output: they wait, then each is answered in its turn, once; of the refused session nothing is left, and the message is answered so.
#[test]
fn messages_wait_until_the_session_is_there() {
    let (mut n4, mut smf) = TestN4::associated_with(of_data_plane());
    let (adopted, ..) = session(&mut smf, 7);
    let seid = Some(adopted.seid);
    n4.plane.pace = Pace::Held;
    n4.n4.adopt(n4.now, adopted.clone()).unwrap();
    n4.drain();
    let modification = n4.send(&mut smf, seid, activation(1));
    n4.send(&mut smf, seid, SessionDeletionRequest::default());
    n4.deliver(smf.addr, &modification);
    n4.is_quiet();
    (0..3).for_each(|_| n4.apply_next());
    let answers = [n4.next(smf.addr), n4.next(smf.addr)];
    assert_eq!(
        answers.map(|it| (it.kind(), it.cause())),
        [
            (MessageType::SessionModificationResponse, Cause::RequestAccepted),
            (MessageType::SessionDeletionResponse, Cause::RequestAccepted),
        ]
    );
    n4.is_quiet();
    let (refused, ..) = session(&mut smf, 8);
    n4.n4.adopt(n4.now, refused.clone()).unwrap();
    n4.drain();
    n4.send(&mut smf, Some(refused.seid), activation(1));
    n4.fail_next(ApplyError::UnknownSession(refused.seid));
    assert_eq!(n4.next(smf.addr).cause(), Cause::SessionContextNotFound);
    assert_eq!((n4.n4.session_count(), n4.plane.sessions(), n4.rest().tunnels), (0, 0, 0));
}

// Input:  a session of an SMF that belongs to a set; another SMF of the set modifies it, with its Node ID and F-SEID; the first one deletes it.
// Output: accepted; the session belongs to the other SMF, under its SEID of the data plane.
#[test]
fn another_smf_of_the_set_takes_an_adopted_session() {
    let (mut n4, mut one, mut two) = each_its_own(of_data_plane());
    let (adopted, ..) = session(&mut one, 7);
    let seid = adopted.seid;
    n4.n4.adopt(n4.now, adopted).unwrap();
    n4.drain();
    let cp = causeway_types::FSeid { seid: Seid(700), addr: two.ip().into() };
    let takeover = SessionModificationRequest {
        cp_f_seid: Some(cp),
        node_id: Some(two.node_id()),
        ..SessionModificationRequest::default()
    };
    assert_eq!(n4.ask(&mut two, Some(seid), takeover).cause(), Cause::RequestAccepted);
    let view = n4.n4.session(seid).unwrap();
    assert_eq!((view.node, view.cp), (&two.node(), cp));
    let received = n4.ask(&mut one, Some(seid), SessionDeletionRequest::default());
    assert_eq!((received.cause(), received.header.seid), (Cause::RequestAccepted, Some(Seid(700))));
    assert!(!n4.plane.has(seid));
}

// Input:  a session twice; with a SEID that is none of the data plane's; of an SMF without an association; without the request that established it; a
//         session more than the limit; then the SMF establishes one with the same CP F-SEID.
// Output: errors with their names, and nothing else changes; the last replaces the first.
#[test]
fn what_cannot_be_adopted_has_a_name() {
    let mut limited = of_data_plane();
    limited.limits.sessions = 2;
    let (mut n4, mut smf) = TestN4::associated_with(limited);
    let (first, ..) = session(&mut smf, 7);
    n4.n4.adopt(n4.now, first.clone()).unwrap();
    n4.drain();
    let (now, seid) = (n4.now, Seid(7));
    assert_eq!(n4.n4.adopt(now, first.clone()), Err(RestoreError::Seid(first.seid)));
    assert_eq!(n4.n4.adopt(now, Adopted { seid, ..first.clone() }), Err(RestoreError::Seid(seid)));
    let (second, ..) = session(&mut smf, 8);
    let node = Node::Fqdn("other.example".into());
    let unknown = Adopted { node: node.clone(), ..second.clone() };
    assert_eq!(n4.n4.adopt(now, unknown), Err(RestoreError::NoAssociation(node)));
    let without = Adopted { answered: Vec::new(), ..second.clone() };
    assert_eq!(n4.n4.adopt(now, without), Err(RestoreError::NoRecord));
    let same = Adopted { rules: first.rules.clone(), ..second.clone() };
    assert!(matches!(n4.n4.adopt(now, same), Err(RestoreError::Rules(..))), "its tunnel is in use");
    assert_eq!((n4.n4.session_count(), n4.plane.sessions()), (1, 1));
    n4.n4.adopt(now, second).unwrap();
    n4.drain();
    let (third, ..) = session(&mut smf, 9);
    assert_eq!(n4.n4.adopt(now, third), Err(RestoreError::Full(2)));
    let deletion = SessionDeletionRequest::default();
    assert_eq!(n4.ask(&mut smf, Some(first.seid), deletion).cause(), Cause::RequestAccepted);
    let (fourth, ..) = session(&mut smf, 10);
    let reused = Adopted { cp: n4.n4.sessions().next().unwrap().cp, ..fourth };
    let replaced = n4.n4.session_of_cp(&reused.cp).unwrap().seid;
    n4.n4.adopt(now, reused).unwrap();
    n4.drain();
    assert!(!n4.plane.has(replaced) && n4.plane.sessions() == 1);
}
