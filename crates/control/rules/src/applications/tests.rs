//! Applications: what their PFDs match, and how requests change them.

use causeway_model::Seen;
use causeway_pfcp::{
    ApplicationId as WireId, ApplicationIdsPfds, CountedList, Octets, PfdContents, PfdContext,
    PfdManagementRequest,
};

use super::*;
use crate::Reason;

fn named(name: &str, protocol: Option<DomainProtocol>) -> Seen {
    Seen { name: Some(name.into()), protocol, url: None }
}

fn one(pfd: Pfd) -> Applications {
    Applications::configured([("app".into(), vec![pfd])])
}

fn detects(applications: &Applications, seen: Option<&Seen>) -> bool {
    applications.detects(&"app".into(), |_| false, seen, 0)
}

fn by_domain(name: &str, protocol: Option<DomainProtocol>) -> Applications {
    one(Pfd { domains: vec![Domain { name: Pattern::domain(name).unwrap(), protocol }], ..Pfd::default() })
}

// Input:  a domain name; names equal to it, below it, and merely ending like it.
// Output: itself and what is below it.
#[test]
fn a_domain_name_covers_what_is_below_it() {
    let applications = by_domain("Example.com", None);
    for (name, expected) in
        [("example.com", true), ("www.example.com", true), ("notexample.com", false), ("example.org", false)]
    {
        assert_eq!(detects(&applications, Some(&named(name, None))), expected, "{name}");
    }
    assert!(!detects(&applications, None));
}

// Input:  an expression; names that have a part of that form, and one that has not.
// Output: matched without regard to case, anywhere unless anchored.
#[test]
fn an_expression_covers_what_it_matches() {
    let applications = by_domain(r"^(cdn|img)[0-9]*\.example\.(com|org)$", None);
    assert!(detects(&applications, Some(&named("cdn17.example.org", None))));
    assert!(!detects(&applications, Some(&named("www.example.org", None))));
}

// Input:  a name for TLS only; the same name seen in TLS, in DNS, in HTTP.
// Output: detected in TLS only.
#[test]
fn a_domain_name_protocol_must_be_the_one_seen() {
    let applications = by_domain("example.com", Some(DomainProtocol::TlsSni));
    assert!(detects(&applications, Some(&named("example.com", Some(DomainProtocol::TlsSni)))));
    assert!(!detects(&applications, Some(&named("example.com", Some(DomainProtocol::DnsQname)))));
    assert!(!detects(&applications, Some(&named("example.com", None))));
}

// Input:  a URL, with and without scheme; requests for it, for more of it, for another path.
// Output: it and everything that begins with it.
#[test]
fn a_url_covers_what_begins_with_it() {
    for text in ["http://example.com/video", "example.com/video"] {
        let applications = one(Pfd { urls: vec![Pattern::url(text).unwrap()], ..Pfd::default() });
        let seen = |url: &str| Seen { url: Some(url.into()), ..Seen::default() };
        assert!(detects(&applications, Some(&seen("http://example.com/video/7?x=1"))), "{text}");
        assert!(!detects(&applications, Some(&seen("http://example.com/audio"))), "{text}");
    }
}

// Input:  one PFD with a flow and a name, and packets that fit both, one, none.
// Output: every property must fit; with two PFDs one of them must.
#[test]
fn every_property_of_one_pfd_must_fit() {
    let flow: FlowDescription = "permit out 6 from any 443 to assigned".parse().unwrap();
    let domains = vec![Domain { name: Pattern::domain("example.com").unwrap(), protocol: None }];
    let both = Pfd { flows: vec![flow.clone()], domains, ..Pfd::default() };
    let seen = named("example.com", None);
    let applications = one(both.clone());
    let detected =
        |applications: &Applications, fits, seen| applications.detects(&"app".into(), |_| fits, seen, 0);
    assert!(detected(&applications, true, Some(&seen)));
    assert!(!detected(&applications, true, None) && !detected(&applications, false, Some(&seen)));
    let either = Applications::configured([(
        "app".into(),
        vec![Pfd { flows: vec![flow], ..Pfd::default() }, Pfd { flows: vec![], ..both }],
    )]);
    assert!(detected(&either, true, None) && detected(&either, false, Some(&seen)));
}

fn request<'a>(pfds: Vec<(&'a str, Vec<PfdContents<'a>>)>) -> PfdManagementRequest<'a> {
    let groups = pfds.into_iter().map(|(id, contents)| {
        let contexts: Vec<_> = contents.into_iter().map(|it| PfdContext::new([it])).collect();
        ApplicationIdsPfds { pfd_contexts: contexts.into(), ..ApplicationIdsPfds::new(WireId(id.as_bytes())) }
    });
    PfdManagementRequest { application_ids_pfds: groups.collect::<Vec<_>>().into(), ..Default::default() }
}

fn domain(name: &str) -> PfdContents<'_> {
    PfdContents { domain_name: Some(Octets::from(name)), ..PfdContents::default() }
}

// Input:  PFDs for two applications; then others for one of them; then none for it; then an empty request.
// Output: after each request exactly its PFDs remain; configured applications stay throughout.
#[test]
fn requests_replace_whole_applications() {
    let start = by_domain("configured.example", None);
    let two = manage_pfds(
        &start,
        &request(vec![("a", vec![domain("a.example")]), ("b", vec![domain("b.example")])]),
        |_| false,
    );
    let two = two.unwrap();
    assert!(two.knows(&"a".into()) && two.knows(&"b".into()) && two.knows(&"app".into()));
    let changed =
        manage_pfds(&two, &request(vec![("a", vec![domain("x.example"), domain("y.example")])]), |_| false)
            .unwrap();
    let seen = |name| named(name, None);
    let of_a = |all: &Applications, name| all.detects(&"a".into(), |_| false, Some(&seen(name)), 0);
    assert!(of_a(&changed, "y.example") && !of_a(&changed, "a.example"));
    let removed = manage_pfds(&changed, &request(vec![("a", vec![])]), |_| false).unwrap();
    assert!(!removed.knows(&"a".into()) && removed.knows(&"b".into()));
    assert_eq!(manage_pfds(&removed, &request(vec![]), |_| false).unwrap(), start);
}

// Input:  requests with one error each.
// Output: the offending IE, and the cause for an incorrect or an unsupported value.
#[test]
fn wrong_pfds_are_refused() {
    let configured = by_domain("configured.example", None);
    let flow = PfdContents { flow_description: Some(Octets::from("permit")), ..PfdContents::default() };
    let custom = PfdContents { custom: Some(Octets::from("x")), ..domain("a.example") };
    let protocol_alone =
        PfdContents { domain_name_protocol: Some(Octets::from("TLS_SNI")), ..PfdContents::default() };
    let san = PfdContents { domain_name_protocol: Some(Octets::from("TLS_SAN")), ..domain("a.example") };
    let cut = PfdContents { additional_urls: Some(CountedList(&[0, 9, b'a'])), ..PfdContents::default() };
    let huge = "(a{1000}){1000}";
    for (what, pfd, cause) in [
        ("no property", PfdContents::default(), 69),
        ("flow", flow, 69),
        ("custom", custom, 76),
        ("protocol alone", protocol_alone, 69),
        ("certificate", san, 76),
        ("cut", cut, 69),
        ("expression", domain("(("), 69),
        ("huge expression", domain(huge), 69),
    ] {
        let reason = manage_pfds(&configured, &request(vec![("a", vec![pfd])]), |_| false).unwrap_err();
        assert_eq!((reason.cause().code(), reason.offending_ie()), (cause, Some(61)), "{what}");
    }
    for (what, names) in [("twice", vec!["a", "a"]), ("configured", vec!["app"]), ("empty", vec![""])] {
        let pfds = names.into_iter().map(|name| (name, vec![domain("a.example")])).collect();
        let reason = manage_pfds(&configured, &request(pfds), |_| false).unwrap_err();
        assert_eq!((reason.cause().code(), reason.offending_ie()), (69, Some(24)), "{what}");
    }
}

// Input:  more applications than the maximum, one request after the other.
// Output: "no resources available" at the first one above it.
#[test]
fn a_flood_of_applications_is_bounded() {
    let mut applications = Applications::default();
    for batch in 0..8_u32 {
        let names: Vec<_> = (0..512).map(|n| format!("{batch}-{n}")).collect();
        let pfds = names.iter().map(|name| (&**name, vec![domain("a.example")])).collect();
        applications = manage_pfds(&applications, &request(pfds), |_| false).unwrap();
    }
    let reason =
        manage_pfds(&applications, &request(vec![("one more", vec![domain("a.example")])]), |_| false)
            .unwrap_err();
    assert_eq!(reason, Reason::TooMany { what: "applications", limit: 4096 });
}

// Input:  two applications of one SMF. Another SMF sends the same PFDs for the first, then other ones, then none,
// then an empty request; it does the same with an application of its own.
// Output: equal PFDs are no change; a change is refused with the Application ID; only its own is removed.
#[test]
fn pfds_are_changed_by_those_who_provisioned_them() {
    let given = |id, name| request(vec![(id, vec![domain(name)])]);
    let first = manage_pfds(&Applications::default(), &given("a", "a.example"), |_| false).unwrap();
    let is_owned_by_other = |id: &ApplicationId| *id == "a".into();
    assert_eq!(manage_pfds(&first, &given("a", "a.example"), is_owned_by_other).as_ref(), Ok(&first));
    for change in [given("a", "x.example"), request(vec![("a", vec![])])] {
        let reason = manage_pfds(&first, &change, is_owned_by_other).unwrap_err();
        assert_eq!((reason.cause().code(), reason.offending_ie()), (64, Some(24)));
    }
    let both = manage_pfds(&first, &given("b", "b.example"), is_owned_by_other).unwrap();
    assert_eq!(manage_pfds(&both, &request(vec![]), is_owned_by_other), Ok(first));
}
