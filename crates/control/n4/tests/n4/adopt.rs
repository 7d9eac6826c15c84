//! Sessions that the data plane established itself, and that N4 adopts.

use causeway_model::{Plan, RuleSet};
use causeway_n4::{AnsweredRequest, DirectNumbers, DirectSession, DirectSmf, N4};
use causeway_pfcp::{Cause, Header, MessageType, SessionDeletionRequest, request_digest};
use causeway_types::{NtpSeconds, Seid, Teid, TeidScheme, Time};

use crate::fixture::*;

const TAG: u16 = 0xacce;
const SEID: Seid = Seid(0xacce_0000_0000_0001);

fn config_with_tag() -> causeway_n4::Config {
    let mut config = config();
    config.direct = Some(DirectNumbers { seid_tag: TAG, sessions: 1000 });
    config.limits.sessions = 1000;
    config
}

/// The rules of a session that an SMF asks for, without URRs, with a TEID that N4 does not choose.
fn rules(n4: &N4) -> RuleSet {
    let (mut other, mut smf) = TestN4::associated();
    let seid = other.establish(&mut smf);
    let mut rules = other.n4.session(seid).unwrap().rules().into_owned();
    rules.urrs.retain(|_, _| false);
    let teid = TeidScheme::default().teid(n4.last_teid_slot() + 1, 7).unwrap();
    rules.pdrs.change(
        |_| true,
        |pdr| {
            pdr.urrs.clear();
            pdr.pdi.tunnel.iter_mut().for_each(|tunnel| tunnel.teid = teid);
        },
    );
    rules
}

/// A session as the data plane hands it over, and the request that established it.
fn session(n4: &TestN4, smf: &mut Smf) -> (DirectSession, Vec<u8>) {
    let f_seid = smf.f_seid();
    let request = smf.request(Some(Seid(0)), establishment(smf.node_id(), f_seid));
    let (header, body, _) = Header::decode(&request).unwrap();
    let answered = AnsweredRequest {
        message: MessageType::SessionEstablishmentRequest,
        port: smf.addr.port(),
        sequence: header.sequence,
        digest: request_digest(header.seid, body),
        response: vec![0x21, 51, 0, 12, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, header.sequence as u8, 0],
    };
    let session = DirectSession {
        seid: SEID,
        cp: f_seid,
        node: smf.node(),
        since: Time::from_secs(1_600_000_000),
        epoch: 0,
        rules: rules(&n4.n4),
        chosen: None,
        answered: vec![answered],
    };
    (session, request)
}

// Input:  a session that the data plane has; its establishment is repeated, it is handed over, asked for by its keys, and deleted.
// Output: the octets that were sent; N4 has it as any other, and nothing is left of it.
#[test]
fn an_adopted_session_is_as_any_other() {
    let (mut n4, mut smf) = TestN4::associated_with(config_with_tag());
    let before = n4.rest();
    let (session, request) = session(&n4, &mut smf);
    n4.plane.apply(n4.now, Plan::install(session.seid, session.rules.clone())).expect("it is new");
    let (sent, cp) = (session.answered[0].response.clone(), session.cp);
    let teid: Option<Teid> = session.rules.pdrs.values().find_map(|pdr| Some(pdr.pdi.tunnel?.teid));
    let index = n4.n4.adopt(n4.now, session).expect("its SMF is associated");
    assert!(index < n4.n4.session_index_end());
    n4.deliver(smf.addr, &request);
    assert_eq!(n4.next(smf.addr).bytes, sent);
    let view = n4.n4.session(SEID).unwrap();
    assert_eq!((view.cp, view.since), (cp, Time::from_secs(1_600_000_000)));
    assert_eq!(n4.n4.session_of_cp(&cp).unwrap().seid, SEID);
    assert_eq!(n4.n4.sessions_of_teid(teid.unwrap()).map(|view| view.seid).collect::<Vec<_>>(), [SEID]);
    let handed = n4.ask(&mut smf, Some(SEID), activation(20));
    assert_eq!(handed.cause(), Cause::RequestAccepted);
    let deleted = n4.ask(&mut smf, Some(SEID), SessionDeletionRequest::default());
    assert_eq!(deleted.cause(), Cause::RequestAccepted);
    assert!(n4.n4.session(SEID).is_none());
    assert_eq!(n4.rest(), before);
}

// Input:  a session of an SMF without association; one whose UE address another session has; one that N4 has already.
// Output: N4 returns each, and keeps nothing of it.
#[test]
fn what_cannot_be_adopted_is_returned() {
    let mut n4 = TestN4::with(config_with_tag());
    let mut smf = Smf::new(10);
    let (session, _) = session(&n4, &mut smf);
    let empty = n4.rest();
    assert!(n4.n4.adopt(n4.now, session.clone()).is_err());
    assert_eq!(n4.rest(), empty);
    n4.associate(&mut smf);
    // With the UE address of that session.
    smf.next_seid = 0;
    n4.establish(&mut smf);
    let before = n4.rest();
    assert_eq!(*n4.n4.adopt(n4.now, session.clone()).unwrap_err(), session);
    assert_eq!(n4.rest(), before);
}

// Input:  an SMF that is associated, and one that restarts, gets load information, or leaves.
// Output: only the first may have sessions in the data plane; the restart begins another epoch.
#[test]
fn n4_says_whose_requests_the_data_plane_may_answer() {
    let (mut n4, mut smf) = TestN4::associated_with(config_with_tag());
    let smfs = |n4: &TestN4| n4.n4.direct_smfs().collect::<Vec<DirectSmf>>();
    let [one] = smfs(&n4)[..] else { panic!("one SMF") };
    assert!(one.is_open && std::net::IpAddr::V4(one.host) == smf.addr.ip());
    n4.n4.set_draining(true);
    assert!(!smfs(&n4)[0].is_open);
    n4.n4.set_draining(false);
    smf.recovery = NtpSeconds(smf.recovery.0 + 1);
    n4.associate(&mut smf);
    let [again] = smfs(&n4)[..] else { panic!("one SMF") };
    assert!((again.recovery, again.epoch) != (one.recovery, one.epoch), "{again:?}");
    let node = smf.node();
    assert!(n4.n4.release(n4.now, &node));
    assert_eq!(smfs(&n4), []);
}

// Input:  as many sessions as make one in thousands begin with the tag of the data plane by chance.
// Output: none does.
#[test]
fn no_seid_of_n4_begins_with_the_tag() {
    let mut config = config_with_tag();
    // A narrow tag, which one SEID in 65,536 has: the seeds are tried until one would come at once.
    for seed in 0..2000 {
        config.seed = seed;
        let (mut n4, mut smf) = TestN4::associated_with(config.clone());
        for _ in 0..40 {
            let seid = n4.establish(&mut smf);
            assert_ne!(seid.0 >> 48, u64::from(TAG));
            n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
        }
    }
}
