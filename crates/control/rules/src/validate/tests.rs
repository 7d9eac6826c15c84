use std::net::Ipv4Addr;

use causeway_model::{
    Bar, CopyTo, DirectionalLimit, Duplicate, Far, Forwarding, KnownPolicy, MeasurementMethod, N6Address,
    OuterHeader, PduSessionType, PolicyName, Qer, RateLimit, RuleId, RuleSet, Urr, UsageLimits,
};
use causeway_types::{
    BarId, Bitrate, FarId, Interface, NetworkInstance, PdrId, QerId, Qfi, QfiSet, ReportingTriggers, Span,
};

use crate::edits::RequestedChanges;
use crate::testing::{self, TestUpf, bar, buffering, gnb, to_gnb, to_internet, urr, usual};
use crate::{Catalogue, Context, Reason, Rejection, ie, validate};

/// Validates the rules of the usual session after this change.
fn check(change: impl FnOnce(&mut RuleSet)) -> Result<(), Rejection> {
    let world = TestUpf::with(usual());
    let mut rules = world.session.rules().clone();
    change(&mut rules);
    validate(
        &rules,
        &Context {
            capabilities: &world.capabilities,
            endpoints: &world.endpoints,
            catalogue: &Catalogue::default(),
        },
    )
}

/// Cause and offending IE of a rejection.
fn answer(result: Result<(), Rejection>) -> (u8, Option<u16>) {
    testing::answer(&result.unwrap_err())
}

fn put_far(far: Far) -> impl FnOnce(&mut RuleSet) {
    move |rules| drop(rules.fars.insert(far.id, far))
}

fn put_urr(urr: Urr) -> impl FnOnce(&mut RuleSet) {
    move |rules| {
        rules.urrs.insert(urr.id, urr);
    }
}

fn uplink(change: impl FnOnce(&mut causeway_model::Pdr)) -> impl FnOnce(&mut RuleSet) {
    move |rules| change(rules.pdrs.get_mut(&PdrId(1)).unwrap())
}

fn downlink(change: impl FnOnce(&mut causeway_model::Pdr)) -> impl FnOnce(&mut RuleSet) {
    move |rules| change(rules.pdrs.get_mut(&PdrId(2)).unwrap())
}

// Input:  rules that refer to a FAR, QER, URR or BAR that does not exist.
// Output: Rule creation/modification failure, with the rule that has the reference.
#[test]
fn every_reference_resolves() {
    let cases: [(Result<(), Rejection>, RuleId, RuleId); 4] = [
        (check(uplink(|pdr| pdr.far = FarId(9))), PdrId(1).into(), FarId(9).into()),
        (check(uplink(|pdr| pdr.qers = vec![QerId(9)])), PdrId(1).into(), QerId(9).into()),
        (
            check(downlink(|pdr| pdr.urrs = vec![causeway_types::UrrId(9)])),
            PdrId(2).into(),
            causeway_types::UrrId(9).into(),
        ),
        (check(put_far(Far { bar: Some(BarId(9)), ..buffering(2) })), FarId(2).into(), BarId(9).into()),
    ];
    for (result, user, missing) in cases {
        let rejection = result.unwrap_err();
        assert_eq!(rejection.reason, Reason::DanglingReference(missing));
        assert_eq!(rejection.rule, Some(user));
        assert!(rejection.failed_rule().is_some());
    }
}

// Input:  FARs that forward without a destination; to the access without a tunnel; over IPv6 where there is none.
// Output: the IE that is missing; accepted, since the tunnel may be set later; the IE that is not supported.
#[test]
fn forwarding_needs_a_destination() {
    assert_eq!(answer(check(put_far(Far { forwarding: None, ..to_internet(1) }))), (67, Some(4)));
    let mut far = to_gnb(2, gnb(1));
    far.forwarding.as_mut().unwrap().outer = None;
    assert_eq!(check(put_far(far)), Ok(()));

    let mut world = TestUpf::new();
    world.endpoints.gtpu[0].addr.v4 = None;
    let mut changes = RequestedChanges::default();
    changes.fars.create = vec![to_gnb(2, gnb(1))];
    let rejection = world.establish(changes).unwrap_err();
    assert_eq!(testing::answer(&rejection), (76, Some(84)));
}

// Input:  destinations and sources that do not exist: a 5G VN, an unknown network.
// Output: Service not supported; Rule creation failure with the Network Instance.
#[test]
fn interfaces_and_networks_that_are_not_there() {
    let mut far = to_internet(1);
    far.forwarding.as_mut().unwrap().destination = Interface::VnInternal;
    assert_eq!(answer(check(put_far(far))), (76, Some(42)));
    assert_eq!(answer(check(uplink(|pdr| pdr.pdi.source = Interface::VnInternal))), (76, Some(20)));
    let unknown = NetworkInstance::new("ims");
    let mut far = to_internet(1);
    far.forwarding.as_mut().unwrap().network_instance = Some(unknown.clone());
    let rejection = check(put_far(far)).unwrap_err();
    assert_eq!(rejection.rule, Some(FarId(1).into()));
    assert!(rejection.failed_rule().is_some());
    assert_eq!(testing::answer(&rejection), (73, Some(22)));
    assert_eq!(answer(check(uplink(|pdr| pdr.pdi.network_instance = Some(unknown)))), (73, Some(22)));
}

// Input:  the network instance `ims` in a PDI and in a FAR, where there are one, no and ten data networks; in an Ethernet session.
// Output: the refusal names the item that is missing, its key, and up to eight data networks that are there.
#[test]
fn the_refusal_of_a_network_names_the_remedy() {
    let mut world = TestUpf::with(usual());
    let text = |world: &TestUpf, kind: PduSessionType, change: fn(&mut RuleSet)| {
        let mut rules = world.session.rules().clone();
        rules.pdu_type = kind;
        change(&mut rules);
        let (capabilities, endpoints) = (&world.capabilities, &world.endpoints);
        let context = Context { capabilities, endpoints, catalogue: &Catalogue::default() };
        validate(&rules, &context).unwrap_err().to_string()
    };
    let far: fn(&mut RuleSet) = |rules| {
        let far = rules.fars.get_mut(&FarId(1)).unwrap();
        far.forwarding.as_mut().unwrap().network_instance = Some(NetworkInstance::new("ims"));
    };
    let pdi: fn(&mut RuleSet) = |rules| {
        rules.pdrs.get_mut(&PdrId(1)).unwrap().pdi.network_instance = Some(NetworkInstance::new("ims"));
    };
    let missing = "network instance ims is not configured: add an item with `dnn: ims` to";
    world.endpoints.networks = vec![NetworkInstance::new("internet")];
    let ip = PduSessionType::Ip;
    assert_eq!(text(&world, ip, far), format!("FAR 1: {missing} upf.session; known: internet"));
    assert_eq!(text(&world, ip, pdi), format!("PDR 1: {missing} upf.session; known: internet"));
    world.capabilities.ethernet = true;
    world.endpoints.ethernet = vec![NetworkInstance::new("lan")];
    let ethernet = PduSessionType::Ethernet;
    assert_eq!(text(&world, ethernet, far), format!("FAR 1: {missing} upf.ethernet; known: lan"));
    world.endpoints.networks = (0..10).map(|n| NetworkInstance::new(&format!("n{n}"))).collect();
    let ten = "n0, n1, n2, n3, n4, n5, n6, n7, and 2 more";
    assert_eq!(text(&world, ip, far), format!("FAR 1: {missing} upf.session; known: {ten}"));
    world.endpoints.networks.clear();
    assert_eq!(text(&world, ip, far), format!("FAR 1: {missing} upf.session; known: none"));
}

// Input:  PDRs from the CP function and FARs to it, with and without a tunnel.
// Output: accepted with one; without, the F-TEID or the Outer Header Creation is missing.
#[test]
fn the_cp_function_is_reached_by_tunnel() {
    assert_eq!(check(uplink(|pdr| pdr.pdi.source = Interface::CpFunction)), Ok(()));
    let without = check(uplink(|pdr| {
        pdr.pdi.source = Interface::CpFunction;
        pdr.pdi.tunnel = None;
    }));
    assert_eq!(answer(without), (67, Some(21)));
    let mut far = to_gnb(1, gnb(1));
    far.forwarding.as_mut().unwrap().destination = Interface::CpFunction;
    assert_eq!(check(put_far(far.clone())), Ok(()));
    far.forwarding.as_mut().unwrap().outer = None;
    assert_eq!(answer(check(put_far(far))), (67, Some(84)));
}

// Input:  a FAR with a known forwarding policy, and one into a tunnel over N6, each also for copies; the data plane
//         steers no traffic.
// Output: Service not supported, with the IE that asks for it, but for copies into a tunnel; accepted by a data plane
//         that can.
#[test]
fn steering_needs_the_capability() {
    let policy = PolicyName::new(b"gold");
    let checked = |is_able: bool, far: &Far| {
        let mut world = TestUpf::with(usual());
        world.capabilities.traffic_steering = is_able;
        world.endpoints.policies.push(KnownPolicy { name: policy.clone(), answers_http: false });
        let network = world.endpoints.networks[0].clone();
        let addr = Ipv4Addr::new(192, 0, 2, 6).into();
        world.endpoints.n6_tunnels.push(N6Address { addr, network });
        let mut rules = world.session.rules().clone();
        rules.fars.insert(far.id, far.clone());
        let TestUpf { capabilities, endpoints, .. } = &world;
        validate(&rules, &Context { capabilities, endpoints, catalogue: &Catalogue::default() })
    };
    let far = |change: fn(&mut Forwarding)| {
        let mut way = Forwarding::to(Interface::Core);
        change(&mut way);
        Far::forward(FarId(1), way)
    };
    let steered = far(|way| way.steering.policy = Some(PolicyName::new(b"gold")));
    let over_n6 = far(|way| way.outer = Some(OuterHeader::Udp(([203, 0, 113, 9], 5000).into())));
    let copies = |policy, outer| {
        let destination = CopyTo::Side(Interface::Core);
        let duplicates = vec![Duplicate { destination, outer, policy }];
        Far { duplicate: true, duplicates, ..Far::forward(FarId(1), Forwarding::to(Interface::Core)) }
    };
    for (far, ie) in [
        (steered, ie::FORWARDING_POLICY),
        (over_n6, ie::OUTER_HEADER_CREATION),
        (copies(Some(policy.clone()), None), ie::FORWARDING_POLICY),
    ] {
        assert_eq!(answer(checked(false, &far)), (76, Some(ie)));
        assert_eq!(checked(true, &far), Ok(()));
    }
    let copied = copies(None, Some(OuterHeader::Udp(([203, 0, 113, 9], 5000).into())));
    assert_eq!(checked(false, &copied), Ok(()));
}

// Input:  the uplink PDR names a network instance that the address of its F-TEID does not serve; one that it does.
// Output: Rule creation/modification failure, since it could match no packet; accepted.
#[test]
fn a_tunnel_serves_the_network_instance_of_its_pdr() {
    for (serves, expected) in [("edge", Err((73, Some(ie::F_TEID)))), ("internet", Ok(()))] {
        let mut world = TestUpf::with(usual());
        let mut rules = world.session.rules().clone();
        let pdr = rules.pdrs.get_mut(&PdrId(1)).unwrap();
        pdr.pdi.network_instance = Some(NetworkInstance::new("internet"));
        for endpoint in &mut world.endpoints.gtpu {
            endpoint.network_instance = Some(NetworkInstance::new(serves));
        }
        let TestUpf { capabilities, endpoints, .. } = &world;
        let result = validate(&rules, &Context { capabilities, endpoints, catalogue: &Catalogue::default() });
        if let Err(rejection) = &result {
            assert_eq!(rejection.rule, Some(PdrId(1).into()));
        }
        assert_eq!(result.map_err(|rejection| testing::answer(&rejection)), expected);
    }
}

// Input:  N6 without a network instance, with and without a data network.
// Output: the default network; Service not supported.
#[test]
fn n6_needs_a_data_network() {
    let mut world = TestUpf::new();
    let mut far = to_internet(1);
    far.forwarding.as_mut().unwrap().network_instance = None;
    let mut changes = usual();
    changes.fars.create[0] = far;
    changes.pdrs.create[1].pdi.network_instance = None;
    let change = world.establish(changes.clone()).unwrap();
    world.resources.abandon(change.resources);
    world.endpoints.networks.clear();
    let rejection = world.establish(changes).unwrap_err();
    assert_eq!(testing::answer(&rejection), (76, Some(42)));
}

// Input:  PDRs that identify no packet, and removals that do not fit.
// Output: the IE that is missing or wrong.
#[test]
fn a_pdr_can_be_matched() {
    assert_eq!(answer(check(uplink(|pdr| pdr.pdi.tunnel = None))), (67, Some(21)));
    assert_eq!(answer(check(downlink(|pdr| pdr.pdi.ue = None))), (67, Some(93)));
    assert_eq!(answer(check(uplink(|pdr| pdr.removal = None))), (67, Some(95)));
    let removal = Some(causeway_model::HeaderRemoval::GTPU);
    assert_eq!(answer(check(downlink(|pdr| pdr.removal = removal))), (69, Some(95)));
    let removal = Some(causeway_model::HeaderRemoval::GTPU_IPV6);
    assert_eq!(answer(check(uplink(|pdr| pdr.removal = removal))), (69, Some(95)));
    let qfis: QfiSet = Qfi::new(9).into_iter().collect();
    assert_eq!(check(uplink(|pdr| pdr.pdi.qfis = qfis)), Ok(()));
    assert_eq!(answer(check(downlink(|pdr| pdr.pdi.qfis = qfis))), (69, Some(124)));
}

// Input:  a flow description with 'assigned' in PDIs with UE address, with only a tunnel, with neither.
// Output: accepted if either identifies the UE; otherwise UE IP Address is missing.
#[test]
fn assigned_needs_an_address_or_a_tunnel() {
    let flow: causeway_model::SdfFilter = "permit out ip from any to assigned".parse().unwrap();
    let filters = vec![flow];
    assert_eq!(check(uplink(|pdr| pdr.pdi.filters.clone_from(&filters))), Ok(()));
    let only_tunnel = check(uplink(|pdr| {
        pdr.pdi.filters.clone_from(&filters);
        pdr.pdi.ue = None;
    }));
    assert_eq!(only_tunnel, Ok(()));
    let neither = check(downlink(|pdr| {
        pdr.pdi.filters.clone_from(&filters);
        pdr.pdi.ue = None;
    }));
    assert_eq!(answer(neither), (67, Some(93)));
}

// Input:  volume thresholds with and without trigger, method and value.
// Output: only the complete one is accepted; each other is rejected with its IE.
#[test]
fn a_threshold_is_complete_or_refused() {
    let limit = |total| Some(DirectionalLimit { total, ..DirectionalLimit::default() });
    let volth = ReportingTriggers::VOLTH;
    let volume = |volume| UsageLimits { volume, ..UsageLimits::default() };
    let whole = Urr { triggers: volth, thresholds: volume(limit(Some(1000))), ..urr(1) };
    assert_eq!(check(put_urr(whole.clone())), Ok(()));
    assert_eq!(
        answer(check(put_urr(Urr { thresholds: UsageLimits::default(), ..whole.clone() }))),
        (67, Some(31))
    );
    assert_eq!(
        answer(check(put_urr(Urr { triggers: ReportingTriggers::empty(), ..whole.clone() }))),
        (69, Some(37))
    );
    assert_eq!(
        answer(check(put_urr(Urr { thresholds: volume(limit(None)), ..whole.clone() }))),
        (69, Some(31))
    );
    assert_eq!(
        answer(check(put_urr(Urr { thresholds: volume(limit(Some(0))), ..whole.clone() }))),
        (69, Some(31))
    );
    let time = MeasurementMethod { duration: true, ..MeasurementMethod::default() };
    assert_eq!(answer(check(put_urr(Urr { method: time, ..whole }))), (69, Some(62)));
    assert_eq!(check(put_urr(Urr { method: time, ..urr(1) })), Ok(()));
}

// Input:  rules that exceed the capabilities of the data plane.
// Output: Service not supported, with the IE.
#[test]
fn capabilities_are_not_exceeded() {
    let check = |limit: fn(&mut causeway_model::Capabilities), change: fn(&mut RequestedChanges)| {
        let mut world = TestUpf::new();
        limit(&mut world.capabilities);
        let mut changes = usual();
        change(&mut changes);
        let rejection = world.establish(changes).unwrap_err();
        testing::answer(&rejection)
    };
    assert_eq!(check(|it| it.buffering = false, |it| it.fars.create[1] = buffering(2)), (76, Some(44)));
    assert_eq!(
        check(
            |it| it.notification_delay = false,
            |it| it.bars.create = vec![Bar { notification_delay: Span::from_millis(50), ..bar(1) }]
        ),
        (76, Some(46))
    );
    assert_eq!(check(|it| it.mbr = false, |it| it.qers.create = vec![limited_qer(1)]), (76, Some(26)));
    assert_eq!(
        check(
            |it| it.pdu_session_container = false,
            |it| it.qers.create = vec![Qer { mbr: None, qfi: Qfi::new(1), ..limited_qer(1) }]
        ),
        (76, Some(124))
    );
    assert_eq!(
        check(
            |it| it.volume_measurement = false,
            |it| it.urrs.create = vec![crate::edits::UrrDraft::of(urr(1))]
        ),
        (76, Some(62))
    );
}

// Input:  PDRs with further UE addresses: one that a UE may have, and an address of the UPF, loopback, multicast, broadcast and
//         unspecified addresses, each alone, beside a first address, and behind a further one that is legal.
// Output: the first is accepted; the others are incorrect, as they are in place of the first address.
#[test]
fn further_ue_addresses_are_checked_as_the_first() {
    let legal = "10.45.0.3/32";
    assert_eq!(
        check(downlink(|pdr| (pdr.pdi.routes, pdr.pdi.further) = (vec![legal.parse().unwrap()], 1))),
        Ok(())
    );
    for wrong in [
        "192.0.2.1/32",
        "192.0.2.6/32",
        "10.45.255.254/32",
        "2001:db8::1/128",
        "127.0.0.1/32",
        "::1/128",
        "224.0.0.1/32",
        "ff02::1/128",
        "255.255.255.255/32",
        "0.0.0.0/32",
    ] {
        for (is_first, before) in [(true, None), (false, None), (false, Some(legal))] {
            let refused = check(downlink(|pdr| {
                let addresses = before.into_iter().chain([wrong]);
                pdr.pdi.routes = addresses.map(|address| address.parse().unwrap()).collect();
                pdr.pdi.further = pdr.pdi.routes.len();
                if !is_first {
                    pdr.pdi.ue = None;
                }
            }));
            assert_eq!(answer(refused), (69, Some(ie::UE_IP_ADDRESS)), "{wrong}");
        }
    }
}

fn limited_qer(kbps: u64) -> Qer {
    let rate = Bitrate::from_kbps(kbps).unwrap();
    let mbr = Some(RateLimit { uplink: rate, downlink: rate });
    Qer { mbr, ..Qer::new(QerId(1)) }
}

// Input:  one PDR more than the data plane allows; one filter more than a PDR may have, and one destination of copies more than a
//         FAR may have, whether it duplicates or not.
// Output: No resources available.
#[test]
fn a_session_has_limits() {
    let many = check(|rules| {
        for id in 10..30 {
            let pdr = causeway_model::Pdr { id: PdrId(id), ..rules.pdrs[&PdrId(2)].clone() };
            rules.pdrs.insert(pdr.id, pdr);
        }
    });
    assert_eq!(many.unwrap_err().reason, Reason::TooMany { what: "PDRs in the session", limit: 16 });
    let flow: causeway_model::SdfFilter = "permit out ip from any to assigned".parse().unwrap();
    assert_eq!(check(uplink(|pdr| pdr.pdi.filters = vec![flow.clone(); 64])), Ok(()));
    assert_eq!(answer(check(uplink(|pdr| pdr.pdi.filters = vec![flow; 65]))), (75, None));
    let copied = |duplicate, copies| {
        let to = Duplicate::into_tunnel(CopyTo::LiFunction, gnb(0x300));
        put_far(Far { duplicate, duplicates: vec![to; copies], ..to_internet(1) })
    };
    assert_eq!(check(copied(true, 8)), Ok(()));
    for duplicate in [true, false] {
        let rejection = check(copied(duplicate, 9)).unwrap_err();
        let what = "Duplicating Parameters in the FAR";
        assert_eq!(rejection, Reason::TooMany { what, limit: 8 }.of(FarId(1)));
        assert_eq!(testing::answer(&rejection), (75, None));
    }
}
