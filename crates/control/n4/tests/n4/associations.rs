//! Setup from either side, update, release.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use causeway_n4::{Config, DownReason, Limits, Notice, RequestPort, SetupFailure};
use causeway_pfcp::*;
use causeway_types::{NodeId as Node, NtpSeconds, Seid, Span};

use crate::fixture::{RECOVERY, Smf, TestN4, config, encode, establishment};

// Input:  an Association Setup Request.
// Output: accepted with the UPF's Node ID, recovery time stamp, and the features of the data plane; the association
// exists.
#[test]
fn an_smf_sets_up_an_association() {
    let (mut n4, mut smf) = (TestN4::new(), Smf::new(10));
    let setup = smf.setup();
    let received = n4.ask(&mut smf, None, setup);
    let Message::AssociationSetupResponse(response) = received.message() else {
        panic!("{:?}", received.kind())
    };
    assert_eq!(response.cause, Cause::RequestAccepted);
    assert_eq!(response.node_id.to_owned(), config().node);
    assert_eq!(response.recovery_time_stamp, Some(RecoveryTimeStamp(RECOVERY)));
    let with_smf = UpFeatures::DDND | UpFeatures::UDBC | UpFeatures::BUCP;
    let buffering = with_smf | UpFeatures::DLBD | UpFeatures::DDDS;
    let by_itself = UpFeatures::FTUP | UpFeatures::BUNDL | UpFeatures::PDIU | UpFeatures::EPFAR;
    let detection = UpFeatures::DPDRA | UpFeatures::IP6PL;
    let detection = detection | UpFeatures::ETHAR | UpFeatures::FRRT | UpFeatures::PFDM | UpFeatures::PFDE;
    let by_plane = UpFeatures::EMPU | UpFeatures::MNOP | buffering | UpFeatures::CIOT | UpFeatures::EPPPI;
    let steering =
        UpFeatures::TREU | UpFeatures::RATP | UpFeatures::TRST | UpFeatures::IPREP | UpFeatures::HEEU;
    let usage = UpFeatures::QUOAC | UpFeatures::VTIME | UpFeatures::NORP | UpFeatures::UPIDP;
    let features = by_itself | detection | by_plane | usage | steering;
    assert_eq!(response.up_function_features, Some(features));
    assert_eq!(response.flags, None);
    let views: Vec<_> = n4.n4.associations().collect();
    assert_eq!((views.len(), views[0].node, views[0].peer), (1, &smf.node(), smf.addr));
    assert!(n4.has_notice(|notice| matches!(notice, Notice::AssociationUp { .. })));
}

// Input:  a setup without its mandatory recovery time stamp.
// Output: Mandatory IE missing; no association.
#[test]
fn a_setup_without_recovery_time_stamp_is_refused() {
    let (mut n4, smf) = (TestN4::new(), Smf::new(10));
    let whole = encode(None, 1, smf.setup());
    let mut cut = whole[..whole.len() - 8].to_vec();
    cut[3] -= 8;
    n4.deliver(smf.addr, &cut);
    assert_eq!(n4.next(smf.addr).cause(), Cause::MandatoryIeMissing);
    assert_eq!(n4.n4.associations().count(), 0);
}

// Input:  a release, its duplicate, and a session request afterwards.
// Output: accepted, sessions removed immediately, the duplicate gets the same response, then cause 72.
#[test]
fn a_release_removes_the_sessions() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    let node = smf.node_id();
    let received = n4.ask(&mut smf, None, AssociationReleaseRequest::new(node));
    assert_eq!(received.cause(), Cause::RequestAccepted);
    assert!(!n4.plane.has(seid));
    assert!(n4.has_notice(|notice| matches!(
        notice,
        Notice::AssociationDown { reason: DownReason::Released, purged: 1, .. }
    )));
    let again = encode(None, smf.sequence, AssociationReleaseRequest::new(node));
    n4.deliver(smf.addr, &again);
    assert_eq!(n4.next(smf.addr).bytes, received.bytes);
    let received = n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
    assert_eq!(received.cause(), Cause::NoEstablishedAssociation);
}

// Input:  release and update by an unassociated peer, and by an SMF with another's Node ID.
// Output: cause 72; the association stays.
#[test]
fn no_peer_is_authorized_for_another_node() {
    let (mut n4, smf) = TestN4::associated();
    let (mut unassociated_peer, mut other) = (Smf::new(20), Smf::new(21));
    n4.associate(&mut other);
    for spoofing_host in [&mut unassociated_peer, &mut other] {
        let received = n4.ask(spoofing_host, None, AssociationReleaseRequest::new(smf.node_id()));
        assert_eq!(received.cause(), Cause::NoEstablishedAssociation);
        let received = n4.ask(spoofing_host, None, AssociationUpdateRequest::new(smf.node_id()));
        assert_eq!(received.cause(), Cause::NoEstablishedAssociation);
    }
    assert_eq!(n4.n4.associations().count(), 2);
}

// Input:  an update that names an alternative address, and a session deletion from there, before and after.
// Output: not known before; deleted after.
#[test]
fn an_update_adds_an_address() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    let mut alternative = Smf { sequence: 500, ..Smf::new(12) };
    let received = n4.ask(&mut alternative, Some(seid), SessionDeletionRequest::default());
    assert_eq!(received.cause(), Cause::NoEstablishedAssociation);
    let address = AlternativeSmfIpAddress { addr: alternative.ip().into(), preferred: false };
    let update = AssociationUpdateRequest {
        alternative_smf_ip_addresses: [address].into(),
        ..AssociationUpdateRequest::new(smf.node_id())
    };
    assert_eq!(n4.ask(&mut smf, None, update).cause(), Cause::RequestAccepted);
    let received = n4.ask(&mut alternative, Some(seid), SessionDeletionRequest::default());
    assert_eq!(received.cause(), Cause::RequestAccepted);
}

// Input:  one association more than the limit, and the other has a session.
// Output: No resources available; the same node may still renew its own.
#[test]
fn associations_are_bounded() {
    let limits = Limits { associations: 1, ..Limits::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
    n4.establish(&mut smf);
    let mut other = Smf::new(11);
    let setup = other.setup();
    assert_eq!(n4.ask(&mut other, None, setup).cause(), Cause::NoResourcesAvailable);
    let setup = smf.setup();
    assert_eq!(n4.ask(&mut smf, None, setup).cause(), Cause::RequestAccepted);
}

// Input:  the UPF's setup request; no response to the first two, then accepted.
// Output: retransmitted after 1 and 3 s; the association exists; no more requests are sent.
#[test]
fn the_upf_sets_up_an_association() {
    let (mut n4, smf) = (TestN4::new(), Smf::new(10));
    n4.n4.associate(n4.now, smf.addr);
    n4.n4.associate(n4.now, smf.addr);
    n4.drain();
    let first = n4.next(smf.addr);
    n4.is_quiet();
    n4.pass(Span::from_secs(3));
    assert_eq!(n4.next(smf.addr).bytes, first.bytes);
    assert_eq!(n4.next(smf.addr).bytes, first.bytes);
    let response = AssociationSetupResponse {
        recovery_time_stamp: Some(RecoveryTimeStamp(smf.recovery)),
        ..AssociationSetupResponse::new(smf.node_id(), Cause::RequestAccepted)
    };
    n4.deliver(smf.addr, &Smf::answer(&first, None, response));
    assert_eq!(n4.n4.associations().next().unwrap().node, &smf.node());
    n4.pass(Span::from_secs(60));
    n4.is_quiet();
}

// Input:  the UPF's setup request is rejected; later ones get no response at all.
// Output: retried 10 s after the rejection, and 10 s after giving up.
#[test]
fn association_setup_is_retried_after_refusal_and_timeout() {
    let (mut n4, smf) = (TestN4::new(), Smf::new(10));
    n4.n4.associate(n4.now, smf.addr);
    n4.drain();
    let first = n4.next(smf.addr);
    let refusal = AssociationSetupResponse::new(smf.node_id(), Cause::RequestRejected);
    n4.deliver(smf.addr, &Smf::answer(&first, None, refusal));
    let reason = SetupFailure::Refused(Cause::RequestRejected);
    assert!(n4.notices.contains(&Notice::AssociationFailed { peer: smf.addr, reason }));
    n4.pass(Span::from_millis(9_999));
    n4.is_quiet();
    n4.pass(Span::from_millis(1));
    let second = n4.next(smf.addr);
    assert_ne!(second.header.sequence, first.header.sequence);
    // Sent after 0, 1, 3 and 7 s, given up after 15 s.
    n4.pass(Span::from_secs(15));
    assert_eq!(n4.sent.len(), 3);
    let reason = SetupFailure::NoAnswer;
    assert!(n4.notices.contains(&Notice::AssociationFailed { peer: smf.addr, reason }));
    n4.sent.clear();
    n4.pass(Span::from_secs(10));
    assert_eq!(n4.next(smf.addr).kind(), MessageType::AssociationSetupRequest);
}

// Input:  the SMF sets up the association while the UPF's request is in flight.
// Output: the UPF's request is not retransmitted; when the SMF releases, the UPF sends a new one.
#[test]
fn the_smf_comes_first() {
    let (mut n4, mut smf) = (TestN4::new(), Smf::new(10));
    n4.n4.associate(n4.now, smf.addr);
    n4.drain();
    n4.next(smf.addr);
    n4.associate(&mut smf);
    n4.pass(Span::from_secs(60));
    n4.is_quiet();
    let node = smf.node_id();
    n4.ask(&mut smf, None, AssociationReleaseRequest::new(node));
    n4.pass(Span::from_secs(10));
    assert_eq!(n4.next(smf.addr).kind(), MessageType::AssociationSetupRequest);
}

// Input:  two SMFs behind one host, distinguished by their ports and Node IDs; one of them releases.
// Output: the other's session stays.
#[test]
fn two_smfs_share_a_host() {
    let config = Config { request_port: RequestPort::Learnt, ..config() };
    let mut n4 = TestN4::with(config);
    let named = |name: &'static str| {
        AssociationSetupRequest::new(NodeId::Fqdn(Fqdn::new(name)), RecoveryTimeStamp(NtpSeconds(1)))
    };
    let (mut one, mut two) = (Smf::new(10), Smf::new(10));
    one.addr.set_port(40001);
    two.addr.set_port(40002);
    n4.ask(&mut one, None, named("one.example"));
    n4.ask(&mut two, None, named("two.example"));
    let request = establishment(NodeId::Fqdn(Fqdn::new("two.example")), two.f_seid());
    let seid = n4.ask(&mut two, Some(Seid(0)), request).up_seid();
    n4.ask(&mut one, None, AssociationReleaseRequest::new(NodeId::Fqdn(Fqdn::new("ONE.example"))));
    assert!(n4.plane.has(seid));
    let nodes: Vec<_> = n4.n4.associations().map(|association| association.node.clone()).collect();
    assert_eq!(nodes, [Node::Fqdn("two.example".into())]);
    assert_eq!(n4.n4.associations().next().unwrap().peer, two.addr);
}

// Input:  PFD management without PFDs, and messages that only a UPF sends.
// Output: the first is accepted, the others are rejected with Service not supported; unassociated peers get cause 72.
#[test]
fn what_is_not_supported_is_refused() {
    let (mut n4, mut smf) = TestN4::associated();
    let mut unassociated_peer = Smf::new(20);
    let node = smf.node_id();
    let requests: [(Message<'_>, Cause); 2] = [
        (PfdManagementRequest::default().into(), Cause::RequestAccepted),
        (NodeReportRequest::new(node, NodeReportType::UPFR).into(), Cause::ServiceNotSupported),
    ];
    for (request, cause) in requests {
        assert_eq!(n4.ask(&mut smf, None, request.clone()).cause(), cause);
        assert_eq!(n4.ask(&mut unassociated_peer, None, request).cause(), Cause::NoEstablishedAssociation);
    }
    let report = SessionReportRequest::new(ReportType::USAR);
    assert_eq!(n4.ask(&mut smf, Some(Seid(1)), report).cause(), Cause::ServiceNotSupported);
}

// Input:  a UPF for ten sessions; an SMF with load control and one without establish sessions.
// Output: the first is sent each step of the load, once, with increasing numbers; the other nothing.
#[test]
fn an_smf_with_load_control_gets_the_load() {
    let limits = Limits { sessions: 10, ..Limits::default() };
    let mut n4 = TestN4::with(Config { limits, ..config() });
    let (mut smf, mut other) = (Smf::new(10), Smf::new(11));
    let setup = AssociationSetupRequest { cp_function_features: Some(CpFeatures::LOAD), ..smf.setup() };
    n4.ask(&mut smf, None, setup);
    n4.associate(&mut other);
    let load = |n4: &mut TestN4, smf: &mut Smf| {
        let request = establishment(smf.node_id(), smf.f_seid());
        let received = n4.ask(smf, Some(Seid(0)), request);
        let Message::SessionEstablishmentResponse(response) = received.message() else {
            panic!("{:?}", received.kind())
        };
        response.load_control_information.map(|load| (load.sequence_number.0 - RECOVERY.0, load.metric.0))
    };
    assert_eq!(load(&mut n4, &mut smf), Some((1, 10)));
    assert_eq!(load(&mut n4, &mut other), None);
    assert_eq!(load(&mut n4, &mut smf), Some((2, 30)));
}

// Input:  a release with 0.0.0.0 or ::, from an SMF with a session, from an unassociated peer, and where two SMFs share
// a host.
// Output: that of the SMF ends its association; the others are rejected.
#[test]
fn a_release_without_node_id_is_that_of_its_sender() {
    for nobody in [IpAddr::from(Ipv4Addr::UNSPECIFIED), Ipv6Addr::UNSPECIFIED.into()] {
        let release = || AssociationReleaseRequest::new(NodeId::Ip(nobody));
        let (mut n4, mut smf) = TestN4::associated();
        let seid = n4.establish(&mut smf);
        let mut unassociated_peer = Smf::new(20);
        assert_eq!(n4.ask(&mut unassociated_peer, None, release()).cause(), Cause::NoEstablishedAssociation);
        let mut beside = Smf { addr: SocketAddr::new(smf.ip(), 9000), ..smf.clone() };
        let fqdn = NodeId::Fqdn(Fqdn::new("beside.example"));
        let setup = AssociationSetupRequest::new(fqdn, RecoveryTimeStamp(beside.recovery));
        n4.ask(&mut beside, None, setup);
        let mut unclear = Smf { addr: SocketAddr::new(smf.ip(), 9001), ..smf.clone() };
        assert_eq!(n4.ask(&mut unclear, None, release()).cause(), Cause::NoEstablishedAssociation);
        assert!(n4.n4.session(seid).is_some() && seid != Seid(0));
        assert_eq!(n4.ask(&mut smf, None, release()).cause(), Cause::RequestAccepted);
        assert!(!n4.plane.has(seid));
        assert_eq!(n4.n4.associations().count(), 1);
    }
}
