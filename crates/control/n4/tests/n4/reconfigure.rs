//! Settings that change while the UPF runs.

use std::net::SocketAddr;
use std::sync::Arc;

use causeway_model::{Applications, Pfd};
use causeway_n4::{Config, Heartbeat};
use causeway_pfcp::*;
use causeway_types::Span;

use crate::fixture::{Smf, TestN4, config, establishment};

fn reconfigure(n4: &mut TestN4, change: impl FnOnce(&mut Config)) {
    contact(n4, &[], change);
}

/// The same, while the UPF initiates associations with these peers.
fn contact(n4: &mut TestN4, targets: &[SocketAddr], change: impl FnOnce(&mut Config)) {
    let mut next = config();
    change(&mut next);
    n4.n4.reconfigure(n4.now, next, targets);
    n4.drain();
}

// Input:  an SMF with a session; the list of permitted hosts is replaced by another host; a second SMF; then the list is
//         emptied.
// Output: the session and its association stay, and the SMF establishes further ones. The second SMF gets an association
//         only after the list is empty.
#[test]
fn the_permitted_hosts_change_for_new_associations() {
    let (mut n4, mut smf) = TestN4::associated();
    let session = n4.establish(&mut smf);
    reconfigure(&mut n4, |next| next.allow = vec!["198.51.100.7/32".parse().unwrap()]);
    assert!(n4.n4.session(session).is_some());
    n4.establish(&mut smf);
    let mut other = Smf::new(11);
    let setup = other.setup();
    assert_eq!(n4.ask(&mut other, None, setup).cause(), Cause::RequestRejected);
    assert_eq!(n4.n4.occupancy().associations, 1);
    reconfigure(&mut n4, |next| next.allow.clear());
    n4.associate(&mut other);
    assert_eq!(n4.n4.occupancy().associations, 2);
}

// Input:  an association without heartbeats; an interval of 10 s; one of 30 s while the first heartbeat is due in 5 s;
//         none again.
// Output: heartbeats 10 s and 30 s after the change, then none.
#[test]
fn heartbeats_follow_a_new_interval() {
    let (mut n4, smf) = TestN4::associated();
    let every = |seconds| Heartbeat { interval: Span::from_secs(seconds), ..config().heartbeat };
    reconfigure(&mut n4, |next| next.heartbeat = every(0));
    n4.pass(Span::from_secs(100));
    n4.is_quiet();
    reconfigure(&mut n4, |next| next.heartbeat = every(10));
    n4.pass(Span::from_secs(10));
    let received = n4.next(smf.addr);
    assert_eq!(received.kind(), MessageType::HeartbeatRequest);
    n4.deliver(smf.addr, &smf.heartbeat_response(&received));
    n4.pass(Span::from_secs(5));
    reconfigure(&mut n4, |next| next.heartbeat = every(30));
    n4.pass(Span::from_secs(29));
    n4.is_quiet();
    n4.pass(Span::from_secs(1));
    let received = n4.next(smf.addr);
    n4.deliver(smf.addr, &smf.heartbeat_response(&received));
    reconfigure(&mut n4, |next| next.heartbeat = every(0));
    n4.pass(Span::from_secs(100));
    n4.is_quiet();
}

// Input:  a peer to set up an association with, that does not respond; another one in its place; the setup of the first
//         fails; the second responds, then it is removed.
// Output: a setup to each; the first is not repeated after it failed; the association with the second stays.
#[test]
fn the_peers_that_the_upf_contacts_change() {
    let mut n4 = TestN4::new();
    let (first, second) = (Smf::new(10), Smf::new(11));
    contact(&mut n4, &[first.addr], |_| {});
    assert_eq!(n4.next(first.addr).kind(), MessageType::AssociationSetupRequest);
    contact(&mut n4, &[second.addr], |_| {});
    let asked = n4.next(second.addr);
    let response = AssociationSetupResponse {
        recovery_time_stamp: Some(RecoveryTimeStamp(second.recovery)),
        ..AssociationSetupResponse::new(second.node_id(), Cause::RequestAccepted)
    };
    n4.deliver(second.addr, &Smf::answer(&asked, None, response));
    n4.sent.clear();
    n4.pass(Span::from_secs(20));
    n4.sent.clear();
    n4.pass(Span::from_secs(100));
    assert!(n4.try_next(first.addr).is_none(), "a setup is repeated");
    contact(&mut n4, &[], |_| {});
    assert_eq!(n4.n4.occupancy().associations, 1);
}

// Input:  the application `video` of the configuration, one provisioned over N4, and a session with a PDR for `video`;
//         a configuration with `web` in its place; then a session with a PDR for `video` again, as the first one.
// Output: the data plane has `web` and that of N4; the second session is refused with the Application ID.
#[test]
fn configured_applications_change() {
    let configured = |name: &str| {
        let applications = [(name.into(), vec![Pfd::default()])];
        move |next: &mut Config| {
            next.catalogue.applications = Arc::new(Applications::configured(applications));
        }
    };
    let (mut n4, mut smf) = TestN4::associated();
    reconfigure(&mut n4, configured("video"));
    let contents = PfdContents { domain_name: Some(Octets::from("a.example")), ..PfdContents::default() };
    let group = ApplicationIdsPfds {
        pfd_contexts: [PfdContext::new([contents])].into(),
        ..ApplicationIdsPfds::new(ApplicationId(b"mail"))
    };
    let request =
        PfdManagementRequest { application_ids_pfds: [group].into(), ..PfdManagementRequest::default() };
    assert_eq!(n4.ask(&mut smf, None, request).cause(), Cause::RequestAccepted);
    let with_video = |smf: &mut Smf| {
        let mut request = establishment(smf.node_id(), smf.f_seid());
        let mut pdrs: Vec<_> = request.create_pdrs.iter().collect();
        pdrs[0].pdi.application_id = Some(ApplicationId(b"video"));
        request.create_pdrs = pdrs.into();
        request
    };
    for _ in 0..3 {
        let request = with_video(&mut smf);
        assert_eq!(n4.ask(&mut smf, None, request).cause(), Cause::RequestAccepted);
    }
    reconfigure(&mut n4, configured("web"));
    let known: Vec<_> = n4.applications.iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(known, ["mail".into(), "web".into()]);
    let request = with_video(&mut smf);
    assert_eq!(n4.ask(&mut smf, None, request).refusal(), (Cause::UnknownApplicationId, Some(24)));
}
