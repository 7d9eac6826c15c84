//! PFDs belong to the SMF that provisioned them.

use causeway_pfcp::*;

use crate::fixture::{Smf, TestN4};

/// PFDs of one domain name for the application `video`; without a name: none.
fn video(name: Option<&'static str>) -> PfdManagementRequest<'static> {
    let contents = |name| PfdContents { domain_name: Some(Octets::from(name)), ..PfdContents::default() };
    let contexts: Vec<_> = name.map(|name| PfdContext::new([contents(name)])).into_iter().collect();
    let group = ApplicationIdsPfds {
        pfd_contexts: contexts.into(),
        ..ApplicationIdsPfds::new(ApplicationId(b"video"))
    };
    PfdManagementRequest { application_ids_pfds: [group].into(), ..PfdManagementRequest::default() }
}

fn knows(n4: &TestN4, id: &str) -> bool {
    n4.applications.knows(&id.into())
}

// Input:  an SMF provisions an application; another one sends the same PFDs, other ones, none, and removes everything;
// then the first changes it, and releases its association; then the second does so, too.
// Output: the same PFDs are accepted, a change by the other is rejected with the Application ID, its removal of
// everything removes nothing of the first; the first may change them. After the first released its association, the
// other may.
#[test]
fn an_smf_changes_its_own_pfds() {
    let (mut n4, mut smf) = TestN4::associated();
    let mut other = Smf::new(11);
    n4.associate(&mut other);
    assert_eq!(n4.ask(&mut smf, None, video(Some("a.example"))).cause(), Cause::RequestAccepted);
    assert_eq!(n4.ask(&mut other, None, video(Some("a.example"))).cause(), Cause::RequestAccepted);
    let before = n4.applications.clone();
    for change in [video(Some("b.example")), video(None)] {
        let received = n4.ask(&mut other, None, change);
        assert_eq!(received.refusal(), (Cause::RequestRejected, Some(24)));
    }
    assert_eq!(n4.ask(&mut other, None, PfdManagementRequest::default()).cause(), Cause::RequestAccepted);
    assert_eq!(n4.applications, before);
    assert_eq!(n4.ask(&mut smf, None, video(Some("c.example"))).cause(), Cause::RequestAccepted);
    assert_ne!(n4.applications, before);

    let node = smf.node_id();
    n4.ask(&mut smf, None, AssociationReleaseRequest::new(node));
    assert!(knows(&n4, "video"));
    assert_eq!(n4.ask(&mut other, None, video(None)).cause(), Cause::RequestAccepted);
    assert!(!knows(&n4, "video"));
}

// Input:  PFDs of one SMF of a set; another one of the set removes them.
// Output: accepted.
#[test]
fn the_smfs_of_a_set_share_their_pfds() {
    let mut n4 = TestN4::new();
    let mut smfs = [Smf::new(10), Smf::new(11)];
    for smf in &mut smfs {
        let setup = AssociationSetupRequest {
            cp_function_features: Some(CpFeatures::MPAS),
            smf_set_id: Some(SmfSetId(Fqdn::new("set1.example"))),
            ..smf.setup()
        };
        assert_eq!(n4.ask(smf, None, setup).cause(), Cause::RequestAccepted);
    }
    let [one, two] = &mut smfs;
    assert_eq!(n4.ask(one, None, video(Some("a.example"))).cause(), Cause::RequestAccepted);
    assert_eq!(n4.ask(two, None, video(None)).cause(), Cause::RequestAccepted);
    assert!(!knows(&n4, "video"));
}
