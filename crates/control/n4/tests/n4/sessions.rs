//! Establishment, modification and deletion.

use causeway_dataplane::{ApplyError, BackendError};
use causeway_model::{Op, RuleId};
use causeway_n4::{Config, Limits, Notice};
use causeway_pfcp::*;
use causeway_rules::Leniency;
use causeway_types::{FarId, QerId, Seid, UrrId, UsageReportTrigger};

use crate::fixture::{
    Smf, TestN4, activation, config, encode, establishment, query, volume_urr, wrong_update,
};

// Input:  an establishment with CHOOSE.
// Output: accepted to the SMF's SEID, with the UPF's F-SEID and the chosen F-TEID; the session is in the data plane and
// in the list.
#[test]
fn a_session_is_established() {
    let (mut n4, mut smf) = TestN4::associated();
    let cp = smf.f_seid();
    let request = establishment(smf.node_id(), cp);
    let received = n4.ask(&mut smf, Some(Seid(0)), request);
    assert_eq!(received.header.seid, Some(cp.seid));
    let Message::SessionEstablishmentResponse(response) = received.message() else {
        panic!("{:?}", received.kind())
    };
    let up = response.up_f_seid.unwrap();
    assert_eq!((response.cause, up.addr), (Cause::RequestAccepted, config().address));
    assert_ne!(up.seid, Seid(0));
    let created: Vec<_> = response.created_pdrs.iter().collect();
    assert_eq!(created.len(), 1);
    assert!(created[0].local_f_teid.and_then(|tunnel| tunnel.assigned()).is_some());
    let view = n4.n4.session(up.seid).unwrap();
    assert_eq!((view.cp, view.node, view.rules().pdrs.len()), (cp, &smf.node(), 2));
    assert!(n4.plane.has(up.seid));
}

// Input:  two sessions.
// Output: different SEIDs and different TEIDs; both follow from the seed.
#[test]
fn seids_are_distinct_and_follow_from_the_seed() {
    let establish_two = |seed| {
        let (mut n4, mut smf) = TestN4::associated_with(Config { seed, ..config() });
        [n4.establish(&mut smf), n4.establish(&mut smf)]
    };
    let [first, second] = establish_two(1);
    assert_ne!(first, second);
    assert_eq!(establish_two(1), [first, second]);
    assert_ne!(establish_two(2), [first, second]);
}

// Input:  a Node ID without association: of an unassociated peer, and of another node than the sender.
// Output: cause 72 to the SMF's SEID, nothing planned.
#[test]
fn an_establishment_needs_an_association() {
    let (mut n4, mut smf) = TestN4::associated();
    let mut other = Smf::new(11);
    n4.associate(&mut other);
    let cp = smf.f_seid();
    for node in [Smf::new(30).node_id(), other.node_id()] {
        let received = n4.ask(&mut smf, Some(Seid(0)), establishment(node, cp));
        assert_eq!(
            (received.cause(), received.header.seid),
            (Cause::NoEstablishedAssociation, Some(cp.seid))
        );
    }
    assert_eq!(n4.plane.sessions(), 0);
}

// Input:  an establishment whose CP F-SEID is missing; one without PDRs.
// Output: Mandatory IE missing with the type of the IE; the second to the SMF's SEID, which can be read.
#[test]
fn a_missing_ie_is_named() {
    let (mut n4, mut smf) = TestN4::associated();
    let cp = smf.f_seid();
    let whole = encode(Some(Seid(0)), 0, establishment(smf.node_id(), cp));
    for (missing, seid) in [(57_u16, Seid(0)), (1, cp.seid)] {
        smf.sequence += 1;
        let bytes = without(&whole, missing, smf.sequence);
        n4.deliver(smf.addr, &bytes);
        let received = n4.next(smf.addr);
        assert_eq!(received.refusal(), (Cause::MandatoryIeMissing, Some(missing)));
        assert_eq!(received.header.seid, Some(seid));
    }
}

/// The message without its IEs of one type.
fn without(whole: &[u8], ie_type: u16, sequence: u32) -> Vec<u8> {
    let (header, body, _) = Header::decode(whole).unwrap();
    let mut bytes = whole[..16].to_vec();
    bytes[12..15].copy_from_slice(&sequence.to_be_bytes()[1..]);
    for ie in RawIes::new(body).map(Result::unwrap).filter(|ie| ie.ie_type != ie_type) {
        ie.write(&mut bytes);
    }
    let length = u16::try_from(bytes.len() - 4).unwrap();
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    assert!(header.seid.is_some());
    bytes
}

// Input:  a session of the PDN type Non-IP; a PDR whose FAR does not exist.
// Output: rejected with cause and offending IE, or Failed Rule ID; no TEID stays allocated.
#[test]
fn invalid_rules_are_refused() {
    let (mut n4, mut smf) = TestN4::associated();
    let request = SessionEstablishmentRequest {
        pdn_type: Some(PdnType::NonIp),
        ..establishment(smf.node_id(), smf.f_seid())
    };
    let received = n4.ask(&mut smf, Some(Seid(0)), request);
    assert_eq!(received.refusal(), (Cause::ServiceNotSupported, Some(113)));

    let request = SessionEstablishmentRequest {
        create_fars: [CreateFar::new(FarId(1), ApplyAction::DROP)].into(),
        ..establishment(smf.node_id(), smf.f_seid())
    };
    let received = n4.ask(&mut smf, Some(Seid(0)), request);
    let Message::SessionEstablishmentResponse(response) = received.message() else {
        panic!("{:?}", received.kind())
    };
    assert_eq!(response.cause, Cause::RuleCreationModificationFailure);
    assert_eq!(response.failed_rule_id, Some(FailedRuleId { kind: RuleKind::Pdr, id: 2 }));
    assert_eq!(n4.n4.occupancy().tunnels, 0);
}

// Input:  one session more than the limit; one is deleted.
// Output: No resources available; then one more is accepted.
#[test]
fn sessions_are_bounded() {
    let limits = Limits { sessions: 1, ..Limits::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
    let seid = n4.establish(&mut smf);
    let request = establishment(smf.node_id(), smf.f_seid());
    assert_eq!(n4.ask(&mut smf, Some(Seid(0)), request).cause(), Cause::NoResourcesAvailable);
    n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
    n4.establish(&mut smf);
}

// Input:  the UE becomes active.
// Output: one FAR is written; the response is sent to the SMF's SEID.
#[test]
fn a_session_is_modified() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    let received = n4.ask(&mut smf, Some(seid), activation(0x100));
    assert_eq!((received.cause(), received.header.seid), (Cause::RequestAccepted, Some(Seid(1))));
    let ops = n4.plane.done.last().unwrap().ops();
    assert!(matches!(&ops[..], [Op::PutFar(far)] if far.id == FarId(2)), "{ops:?}");
}

// Input:  a modification that changes nothing.
// Output: accepted without a plan.
#[test]
fn nothing_to_change_is_nothing_to_apply() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    let plans = n4.plane.done.len();
    let received = n4.ask(&mut smf, Some(seid), SessionModificationRequest::default());
    assert_eq!((received.cause(), n4.plane.done.len()), (Cause::RequestAccepted, plans));
}

// Input:  modification and deletion with an unknown SEID, and with SEID 0.
// Output: Session context not found, to SEID 0.
#[test]
fn an_unknown_session_is_not_found() {
    let (mut n4, mut smf) = TestN4::associated();
    n4.establish(&mut smf);
    for seid in [Seid(0), Seid(77)] {
        for request in [Message::from(activation(1)), SessionDeletionRequest::default().into()] {
            let received = n4.ask(&mut smf, Some(seid), request);
            assert_eq!(
                (received.cause(), received.header.seid),
                (Cause::SessionContextNotFound, Some(Seid(0)))
            );
        }
    }
}

// Input:  another associated SMF tries to modify and delete a session that is not its own.
// Output: for it, the session does not exist.
#[test]
fn a_session_belongs_to_its_smf() {
    let (mut n4, mut smf) = TestN4::associated();
    let mut other = Smf::new(11);
    n4.associate(&mut other);
    let seid = n4.establish(&mut smf);
    let received = n4.ask(&mut other, Some(seid), SessionDeletionRequest::default());
    assert_eq!((received.cause(), received.header.seid), (Cause::SessionContextNotFound, Some(Seid(0))));
    assert!(n4.plane.has(seid));
}

// Input:  a modification with a new CP F-SEID at another address; then a deletion from there.
// Output: this response and all later ones are sent to the new SEID; the new address is authorized.
#[test]
fn the_cp_f_seid_changes() {
    let (mut n4, mut smf) = (TestN4::new(), Smf { others: vec![12], ..Smf::new(10) });
    n4.associate(&mut smf);
    let seid = n4.establish(&mut smf);
    let mut successor = Smf { sequence: 100, ..Smf::new(12) };
    let mut cp = successor.f_seid();
    cp.seid = Seid(4711);
    let request = SessionModificationRequest { cp_f_seid: Some(cp), ..activation(1) };
    assert_eq!(n4.ask(&mut smf, Some(seid), request).header.seid, Some(cp.seid));
    assert_eq!(n4.n4.session(seid).unwrap().cp, cp);
    let received = n4.ask(&mut successor, Some(seid), SessionDeletionRequest::default());
    assert_eq!((received.cause(), received.header.seid), (Cause::RequestAccepted, Some(cp.seid)));
}

// Input:  a query, the removal of URR 1 that queries too, and one more query of a new URR.
// Output: each usage is reported once, numbered from 0 for each URR.
#[test]
fn usage_is_reported_in_responses() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    let received = n4.ask(&mut smf, Some(seid), query());
    assert_eq!(received.usage(), [(1, 0, 10, UsageReportTrigger::IMMER)]);
    let request = SessionModificationRequest {
        remove_urrs: [RemoveUrr::new(UrrId(1))].into(),
        create_urrs: [volume_urr(2)].into(),
        ..query()
    };
    let received = n4.ask(&mut smf, Some(seid), request);
    assert_eq!(received.usage(), [(1, 1, 20, UsageReportTrigger::TERMR)]);
    let received = n4.ask(&mut smf, Some(seid), query());
    assert_eq!(received.usage(), [(2, 0, 10, UsageReportTrigger::IMMER)]);
}

// Input:  a deletion, repeated as a new request.
// Output: the final usage; then the session is not found; nothing is left.
#[test]
fn a_deletion_reports_the_final_usage() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    let received = n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
    assert_eq!(received.cause(), Cause::RequestAccepted);
    assert_eq!(received.usage(), [(1, 0, 30, UsageReportTrigger::TERMR)]);
    let received = n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
    assert_eq!(received.cause(), Cause::SessionContextNotFound);
    assert_eq!(n4.rest(), Default::default());
}

// Input:  a modification that does not fit the session.
// Output: rejected with the rule; the session is unchanged and can be used.
#[test]
fn a_refused_modification_changes_nothing() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    let before = n4.n4.session(seid).unwrap().rules().into_owned();
    let received = n4.ask(&mut smf, Some(seid), wrong_update());
    let Message::SessionModificationResponse(response) = received.message() else {
        panic!("{:?}", received.kind())
    };
    assert_eq!(response.failed_rule_id, Some(FailedRuleId { kind: RuleKind::Far, id: 77 }));
    assert_eq!(*n4.n4.session(seid).unwrap().rules(), before);
    assert_eq!(n4.ask(&mut smf, Some(seid), activation(1)).cause(), Cause::RequestAccepted);
}

// Input:  the data plane fails an establishment, a modification and a deletion, each for another reason.
// Output: the matching cause; nothing has changed; the next attempt succeeds.
#[test]
fn a_failure_of_the_data_plane_leaves_everything_as_it_was() {
    let (mut n4, mut smf) = TestN4::associated();
    n4.plane.failures.push_back(ApplyError::Full { table: "sessions", capacity: 1 });
    let request = establishment(smf.node_id(), smf.f_seid());
    assert_eq!(n4.ask(&mut smf, Some(Seid(0)), request).cause(), Cause::NoResourcesAvailable);
    assert_eq!(n4.rest(), Default::default());

    let seid = n4.establish(&mut smf);
    let before = n4.n4.session(seid).unwrap().rules().into_owned();
    n4.plane.failures.push_back(ApplyError::DanglingReference { session: seid, rule: FarId(2).into() });
    let received = n4.ask(&mut smf, Some(seid), activation(1));
    assert_eq!(received.cause(), Cause::RuleCreationModificationFailure);
    assert_eq!(*n4.n4.session(seid).unwrap().rules(), before);

    n4.plane.failures.push_back(BackendError::TimedOut.into());
    let received = n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
    assert_eq!(received.cause(), Cause::SystemFailure);
    assert!(n4.n4.session(seid).is_some());
    assert_eq!(n4.n4.counters().failed_plans, 3);

    assert_eq!(n4.ask(&mut smf, Some(seid), activation(1)).cause(), Cause::RequestAccepted);
    let received = n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
    assert_eq!(received.cause(), Cause::RequestAccepted);
    assert_eq!(n4.rest(), Default::default());
}

// Input:  a deletion of a session that the data plane no longer has.
// Output: accepted: it does not exist.
#[test]
fn a_session_lost_by_the_data_plane_can_be_deleted() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    n4.plane.failures.push_back(ApplyError::UnknownSession(seid));
    let received = n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
    assert_eq!(received.cause(), Cause::RequestAccepted);
    assert_eq!(n4.rest(), Default::default());
}

// Input:  10,000 sessions established and deleted, then a minute.
// Output: nothing is left anywhere, and all TEIDs can be chosen again.
#[test]
fn nothing_leaks() {
    let (mut n4, mut smf) = TestN4::associated();
    for _ in 0..10_000 {
        let seid = n4.establish(&mut smf);
        let received = n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
        assert_eq!(received.cause(), Cause::RequestAccepted);
        n4.plane.done.clear();
    }
    n4.pass(causeway_types::Span::from_secs(60));
    let occupancy = causeway_n4::Occupancy { associations: 1, ..Default::default() };
    assert_eq!(n4.n4.occupancy(), occupancy);
    assert_eq!((n4.n4.next_timer(), n4.plane.sessions()), (None, 0));
}

// Input:  a QER that guarantees 4,000,000,000 kbit/s and allows 1000, as an SMF sends it for a rule with a maximum rate
// alone; then the removal of unknown rules.
// Output: both are accepted; one notice for each deviation.
#[test]
fn harmless_deviations_are_accepted_and_logged() {
    let (mut n4, mut smf) = TestN4::associated();
    let rate = |kbps| causeway_types::Bitrate::from_kbps(kbps).unwrap();
    let (low, high) = (rate(1000), rate(4_000_000_000));
    let open = GateStatus { uplink_open: true, downlink_open: true };
    let qer = CreateQer {
        mbr: Some(Mbr { uplink: low, downlink: low }),
        gbr: Some(Gbr { uplink: high, downlink: high }),
        ..CreateQer::new(QerId(7), open)
    };
    let mut request = establishment(smf.node_id(), smf.f_seid());
    request.create_qers = [qer].into();
    let received = n4.ask(&mut smf, Some(Seid(0)), request);
    assert_eq!(received.cause(), Cause::RequestAccepted);
    let session = received.up_seid();
    let is = |what| Notice::Tolerated { session, what };
    assert!(n4.notices.contains(&is(Leniency::GuaranteeAboveMaximum(QerId(7)))));
    let remove_fars = [RemoveFar::new(FarId(77))].into();
    let request = SessionModificationRequest { remove_fars, ..activation(1) };
    assert_eq!(n4.ask(&mut smf, Some(session), request).cause(), Cause::RequestAccepted);
    assert!(n4.notices.contains(&is(Leniency::AlreadyRemoved(RuleId::Far(FarId(77))))));
    let said = |notice: &&Notice| matches!(notice, Notice::Tolerated { .. });
    assert_eq!(n4.notices.iter().filter(said).count(), 2);
}
