use std::net::Ipv4Addr;

use causeway_pfcp::{
    ApplyAction, CreateFar, CreatePdr, CreateQer, CreateUrr, DestinationInterface, FTeid,
    ForwardingParameters, GateStatus, Gbr, Header, Ie, Mbr, MeasurementMethod, Message, NetworkInstance,
    NodeId, OuterHeaderCreation, OuterHeaderRemoval, Pdi, RemovedHeader, SdfFilter, SourceInterface,
    UeIpAddress, UserId,
};
use causeway_types::{
    Bitrate, DualIp, FSeid, FarId, PdrId, Precedence, QerId, ReportingTriggers, Span, UrrId,
};
use proptest::prelude::*;

use super::*;
use crate::change::{establish_with, not_restored};
use crate::testing::{capabilities, endpoints};
use crate::{Addresses, Catalogue, Rejection, Tunnels, decode};

fn internet() -> NetworkInstance<'static> {
    NetworkInstance::decode(b"internet").unwrap()
}

/// Flow descriptions: the usual one; some of one length, of which the last two are not flow descriptions, and do
/// not contain the UE address; one with ports.
const FLOWS: [&[u8]; 6] = [
    b"permit out ip from any to assigned",
    b"permit out ip from 10.1.0.1 to assigned",
    b"permit out ip from 10.1.0.2 to assigned",
    b"permit out ip from 10.1.0.x to assigned",
    b"permit out ip from 10.1.0.2 to 10.1.0.9",
    b"permit out 17 from 10.1.0.2 80,443 to assigned",
];

fn flow(number: u8, filter_id: Option<u32>) -> SdfFilter<'static> {
    let text = FLOWS[usize::from(number) % FLOWS.len()];
    SdfFilter { flow_description: Some(causeway_pfcp::Octets(text)), filter_id, ..SdfFilter::default() }
}

fn rates(kbps: u64) -> (Option<Mbr>, Option<Gbr>) {
    let [max, least] = [kbps, kbps / 2].map(|kbps| Bitrate::from_kbps(kbps).unwrap());
    let gbr = Gbr { uplink: least, downlink: if kbps == 3 { Bitrate::from_kbps(9).unwrap() } else { least } };
    (Some(Mbr { uplink: max, downlink: max }), (kbps > 1).then_some(gbr))
}

/// What differs between two requests, in the template or in the session parameters.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// The distance between the TEIDs of uplink PDRs, where the SMF chooses them.
    apart: u32,
    ue: u8,
    other_ue: Option<u8>,
    is_v6: bool,
    /// The local tunnels have addresses of both IP versions.
    is_dual: bool,
    teid: u32,
    gnb: u8,
    choose_id: Option<u8>,
    is_assigned: bool,
    pdrs: u8,
    has_urr: bool,
    has_bad_far: bool,
    /// Indexes into [`FLOWS`], for the first PDR and for the others.
    flows: [u8; 2],
    /// They have SDF Filter IDs.
    is_shared: bool,
    /// The maximum bit rate, in kbit/s: absent, with a guaranteed one as well, or below the guaranteed one.
    kbps: u64,
    cp: u64,
}

fn asked() -> impl Strategy<Value = Asked> {
    let params = (0..6_u8, proptest::option::weighted(0.1, 0..6_u8), 0..4_u32, 0..2_u32, any::<u64>());
    let template = (
        proptest::bool::weighted(0.1),
        0..2_u8,
        proptest::option::of(0..2_u8),
        proptest::bool::weighted(0.4),
        1..3_u8,
        any::<bool>(),
        proptest::bool::weighted(0.1),
        proptest::bool::weighted(0.2),
    );
    let policy = ([0..6_u8, 0..6_u8], proptest::bool::weighted(0.1), 0..5_u64);
    (params, template, policy).prop_map(
        |((ue, other_ue, teid, apart, cp), template, (flows, is_shared, kbps))| {
            let (is_v6, gnb, choose_id, is_assigned, pdrs, has_urr, has_bad_far, is_dual) = template;
            Asked {
                apart,
                ue,
                other_ue,
                is_v6,
                is_dual,
                teid,
                gnb,
                choose_id,
                is_assigned,
                pdrs,
                has_urr,
                has_bad_far,
                flows,
                is_shared,
                kbps,
                cp,
            }
        },
    )
}

impl Asked {
    fn ue_address(&self, last: u8, destination: bool) -> UeIpAddress {
        let (ipv4, ipv6) = match self.is_v6 {
            true => (None, Some([0x20, 1, 0xd, 0xb8, 0, 0, 0, last, 0, 0, 0, 0, 0, 0, 0, 0].into())),
            false => (Some(Ipv4Addr::new(10, 45, 0, last)), None),
        };
        UeIpAddress { ipv4, ipv6, destination, ..UeIpAddress::default() }
    }

    fn pdr(&self, number: u8, is_uplink: bool) -> CreatePdr<'static> {
        let source = if is_uplink { SourceInterface::Access } else { SourceInterface::Core };
        let ue = if is_uplink { self.ue } else { self.other_ue.unwrap_or(self.ue) };
        let tunnel = match self.is_assigned {
            true => {
                let teid = self.teid + 0x100 + self.apart * u32::from(number / 2);
                let v6 = self.is_dual.then_some("2001:db8::1".parse().unwrap());
                FTeid::Assigned { teid, addr: DualIp { v4: Some(Ipv4Addr::new(192, 0, 2, 1)), v6 } }
            }
            false => FTeid::Choose { v4: true, v6: self.is_dual, choose_id: self.choose_id },
        };
        let pdi = Pdi {
            local_f_teid: is_uplink.then_some(tunnel),
            network_instance: (!is_uplink).then(internet),
            ue_ip_addresses: [self.ue_address(ue, !is_uplink)].into(),
            sdf_filters: [flow(self.flows[usize::from(number > 1)], self.is_shared.then_some(1))].into(),
            ..Pdi::new(source)
        };
        let removal = OuterHeaderRemoval { header: RemovedHeader::GtpuIp, extensions: None };
        CreatePdr {
            outer_header_removal: is_uplink.then_some(removal),
            far_id: Some(FarId(if is_uplink { 1 } else { 2 })),
            qer_ids: [QerId(1)].into(),
            urr_ids: if self.has_urr { vec![UrrId(1)] } else { Vec::new() }.into(),
            ..CreatePdr::new(PdrId(number.into()), Precedence(number.into()), pdi)
        }
    }

    fn octets(&self) -> Vec<u8> {
        let mut pdrs = Vec::new();
        for number in 0..self.pdrs {
            pdrs.push(self.pdr(2 * number + 1, true));
            pdrs.push(self.pdr(2 * number + 2, false));
        }
        let gnb = DualIp::from(Ipv4Addr::new(198, 51, 100, self.gnb));
        let to_network = ForwardingParameters {
            network_instance: Some(internet()),
            ..ForwardingParameters::new(DestinationInterface::Core)
        };
        let to_gnb = ForwardingParameters {
            outer_header_creation: Some(OuterHeaderCreation::gtpu(self.teid, gnb)),
            ..ForwardingParameters::new(DestinationInterface::Access)
        };
        let far = |id, to| CreateFar {
            forwarding_parameters: Some(to),
            ..CreateFar::new(FarId(id), ApplyAction::FORW)
        };
        let fars = [far(1, to_network), far(if self.has_bad_far { 3 } else { 2 }, to_gnb)];
        let urr = CreateUrr::new(UrrId(1), MeasurementMethod::VOLUM, ReportingTriggers::empty());
        let smf = Ipv4Addr::new(203, 0, 113, 1);
        let user = [1, 8, self.ue, 2, 3, 4, 5, 6, 7, 8];
        let (mbr, gbr) = if self.kbps == 0 { (None, None) } else { rates(self.kbps) };
        let request = SessionEstablishmentRequest {
            create_qers: [CreateQer { mbr, gbr, ..CreateQer::new(QerId(1), GateStatus::OPEN) }].into(),
            create_urrs: if self.has_urr { vec![urr] } else { Vec::new() }.into(),
            user_id: UserId::decode(&user).ok(),
            ..SessionEstablishmentRequest::new(
                NodeId::Ip(smf.into()),
                FSeid { seid: Seid(self.cp), addr: smf.into() },
                pdrs,
                fars,
            )
        };
        let mut octets = Vec::new();
        Message::from(request).encode(Some(Seid(0)), 1, &mut octets).unwrap();
        octets
    }
}

struct TestUpf {
    resources: Resources,
    held: Vec<Change>,
}

impl TestUpf {
    /// Of two templates with the same place one is discarded. The seed of the places is fixed; with it no template
    /// of these tests replaces another.
    fn new() -> Self {
        let mut resources = Resources::new(Tunnels::new(12, 0), Addresses::new(Vec::new(), Span::ZERO));
        resources.recent.template_cache = TemplateCache::with_hasher(SeedableRandomState::fixed());
        Self { resources, held: Vec::new() }
    }

    fn ask(
        &mut self,
        octets: &[u8],
        seid: u64,
        plan: impl FnOnce(
            &SessionEstablishmentRequest<'_>,
            Seid,
            &Context<'_>,
            &mut Resources,
        ) -> Result<Change, Rejection>,
    ) -> Result<Change, Rejection> {
        let (header, body, _) = Header::decode(octets).unwrap();
        let Ok(Message::SessionEstablishmentRequest(request)) = Message::decode(&header, body) else {
            panic!()
        };
        let (capabilities, endpoints) = (capabilities(), endpoints());
        let catalogue = Catalogue::default();
        let context = Context { capabilities: &capabilities, endpoints: &endpoints, catalogue: &catalogue };
        let result = plan(&request, Seid(seid), &context, &mut self.resources);
        self.held.extend(result.clone().ok());
        result
    }

    fn delete(&mut self, at: usize) {
        let change = self.held.swap_remove(at);
        self.resources.abandon(change.resources);
    }

    /// The number of cached templates.
    fn recognize(&self) -> usize {
        self.resources.recent.template_cache.places.iter().filter(|index| index.cached.is_some()).count()
    }
}

fn without_memory(
    request: &SessionEstablishmentRequest<'_>,
    seid: Seid,
    context: &Context<'_>,
    resources: &mut Resources,
) -> Result<Change, Rejection> {
    establish_with(decode::establishment(request)?, seid, context, resources)
}

proptest! {
    // Input:  sessions established and ended in two fixtures, of which only one has a template cache.
    // Output: the same changes, refusals, tunnels and addresses in both.
    #[test]
    fn the_template_cache_changes_no_result(steps in proptest::collection::vec((asked(), any::<usize>()), 1..40)) {
        let (mut with, mut without) = (TestUpf::new(), TestUpf::new());
        for (number, (requested, luck)) in (1..).zip(steps) {
            let octets = requested.octets();
            let one = with.ask(&octets, number, crate::establish);
            let other = without.ask(&octets, number, without_memory);
            prop_assert_eq!(one, other);
            prop_assert_eq!(&with.resources, &without.resources);
            if luck % 3 == 0 && !with.held.is_empty() {
                let at = luck % with.held.len();
                with.delete(at);
                without.delete(at);
            }
        }
    }
}

const USUAL: Asked = Asked {
    apart: 0,
    ue: 1,
    other_ue: None,
    is_v6: false,
    is_dual: false,
    teid: 0x100,
    gnb: 1,
    choose_id: None,
    is_assigned: false,
    pdrs: 1,
    has_urr: true,
    has_bad_far: false,
    flows: [0, 0],
    is_shared: false,
    kbps: 0,
    cp: 1,
};

// Input:  three sessions with the same template, each with its own UE address, F-SEID, user and TEID; then one to
// another gNB; then requests without a template.
// Output: the template matches from the second session on; the others have none.
#[test]
fn a_repeated_request_matches_its_template() {
    let mut upf = TestUpf::new();
    for (params, known) in [(1, 0), (2, 1), (3, 1)] {
        let requested = Asked { ue: params, teid: 0x100 + u32::from(params), cp: params.into(), ..USUAL };
        upf.ask(&requested.octets(), params.into(), crate::establish).unwrap();
        assert_eq!(upf.recognize(), known, "{params}");
    }
    upf.ask(&Asked { gnb: 2, ue: 4, ..USUAL }.octets(), 4, crate::establish).unwrap();
    assert_eq!(upf.recognize(), 1);
    for (ue, seid) in [(5, 5), (6, 6)] {
        let requested = Asked { ue, teid: u32::from(ue), other_ue: Some(9), ..USUAL };
        upf.ask(&requested.octets(), seid, crate::establish).unwrap();
        let last = upf.held.len() - 1;
        upf.delete(last);
    }
    assert_eq!(upf.recognize(), 1);
}

// Input:  sessions whose tunnels the SMF chooses: with one uplink PDR; with two that share a tunnel; with two that
// have a tunnel each; each of them with an IPv4 address, or with one of each IP version.
// Output: each template matches from its second session on; a tunnel of another session is refused, and nothing is
// taken.
#[test]
fn a_repeated_request_with_smf_assigned_tunnels_matches_its_template() {
    let mut upf = TestUpf::new();
    let values = Asked { is_assigned: true, ..USUAL };
    let shapes = [
        values,
        Asked { pdrs: 2, ..values },
        Asked { pdrs: 2, apart: 1, ..values },
        Asked { is_dual: true, pdrs: 2, apart: 1, ..values },
    ];
    for (known, (shape, first)) in shapes.into_iter().zip([1, 4, 7, 10]).enumerate() {
        for params in first..first + 3_u8 {
            let requested = Asked { ue: params, teid: 2 * u32::from(params), cp: params.into(), ..shape };
            upf.ask(&requested.octets(), params.into(), crate::establish).unwrap();
            assert_eq!(upf.recognize(), known + usize::from(params > first), "{params}");
        }
    }
    let before = upf.resources.clone();
    let foreign = Asked { ue: 13, teid: 2, ..values };
    let refused = upf.ask(&foreign.octets(), 13, crate::establish).unwrap_err();
    assert!(matches!(refused.reason, crate::Reason::TunnelInUse(_)), "{refused}");
    assert_eq!((upf.resources.tunnels().in_use(), before.tunnels().in_use()), (18, 18));
    while !upf.held.is_empty() {
        upf.delete(0);
    }
    assert_eq!(upf.resources.tunnels().in_use(), 0);
}

// Input:  sessions that also differ in bit rates and flow descriptions; then ones that no profile covers: a
// guaranteed rate above the maximum, a malformed flow description, a shared SDF Filter ID.
// Output: the template matches from the third session on, each session with its own rules; the others have the same
// result as without a cache.
#[test]
fn sessions_with_a_policy_of_their_own_are_known_when_they_are_met_again() {
    let mut upf = TestUpf::new();
    let params = |params: u8| {
        let (flows, kbps) = ([1 + params % 2, 2 - params % 2], 4 + u64::from(params));
        Asked { ue: params, teid: params.into(), cp: params.into(), flows, kbps, ..USUAL }
    };
    let is_known = |upf: &mut TestUpf, requested: Asked| {
        let octets = requested.octets();
        // After the header of a session message.
        upf.resources.recognize(&octets[16..]).is_some()
    };
    for number in 1..=6 {
        assert_eq!(is_known(&mut upf, params(number)), number > 2, "{number}");
        let change = upf.ask(&params(number).octets(), number.into(), crate::establish).unwrap();
        let rules = change.session.rules();
        assert_eq!(rules.qers[&QerId(1)].mbr.unwrap().uplink.bps(), 1000 * (4 + u64::from(number)));
        let remote = format!("permit out ip from 10.1.0.{} to assigned", 1 + number % 2);
        assert_eq!(rules.pdrs[&PdrId(1)].pdi.filters, [remote.parse().unwrap()]);
    }
    for other in [
        Asked { kbps: 3, ..params(7) },
        Asked { flows: [3, 1], ..params(7) },
        Asked { is_shared: true, ..params(7) },
        Asked { is_shared: true, flows: [1, 1], ..params(8) },
    ] {
        assert!(!is_known(&mut upf, other), "{other:?}");
        let result = upf.ask(&other.octets(), 100, crate::establish);
        assert_eq!(result.is_ok(), other.kbps == 3 || other.flows == [1, 1], "{other:?}");
        result.is_ok().then(|| upf.delete(upf.held.len() - 1));
    }
}

// Input:  a cached template with the address of another session; with the Restoration Indication.
// Output: refused as without a cache.
#[test]
fn template_matches_are_rejected_like_decoded_requests() {
    let mut upf = TestUpf::new();
    for params in [1, 2] {
        upf.ask(&Asked { ue: params, ..USUAL }.octets(), params.into(), crate::establish).unwrap();
    }
    let free = upf.resources.tunnels().available();
    let refused = upf.ask(&Asked { ue: 1, ..USUAL }.octets(), 3, crate::establish).unwrap_err();
    assert!(matches!(refused.reason, crate::Reason::AddressInUse { restored: false, .. }), "{refused}");
    assert!(matches!(not_restored(refused).reason, crate::Reason::AddressInUse { restored: true, .. }));
    assert_eq!(upf.resources.tunnels().available(), free);
}

// Input:  PDRs for an IPv4 address, for an IPv6 address, and for both.
// Output: a PDR with both has no template: its IPv4 address may belong to another PDR, or not.
#[test]
fn dual_stack_requests_have_no_template() {
    let ie = |ie_type: u16, value: &[u8]| {
        let len = value.len() as u16;
        [&ie_type.to_be_bytes()[..], &len.to_be_bytes()[..], value].concat()
    };
    let pdr = |ue: &[u8]| {
        let pdi = ie(<Pdi<'_> as Ie<'_>>::TYPE, &ie(UeIpAddress::TYPE, ue));
        ie(<CreatePdr<'_> as Ie<'_>>::TYPE, &pdi)
    };
    let (v4, v6) = ([10, 45, 0, 1], [0x20; 16]);
    assert!(RequestTemplate::establishment(&pdr(&[&[0x02], &v4[..]].concat())).is_some());
    assert!(RequestTemplate::establishment(&pdr(&[&[0x01], &v6[..]].concat())).is_some());
    assert!(RequestTemplate::establishment(&pdr(&[&[0x03], &v4[..], &v6[..]].concat())).is_none());
}

// Input:  a cached template with the address of another session; with a free one while no TEID is left; then with
// one free TEID.
// Output: nothing is taken in the first two cases; then the session has its address and the TEID.
#[test]
fn template_matches_allocate_all_or_nothing() {
    let mut upf = TestUpf::new();
    let datagram = |ue: u8| Asked { ue, ..USUAL }.octets();
    for ue in 1..=12 {
        upf.ask(&datagram(ue), ue.into(), crate::establish).unwrap();
    }
    assert_eq!(upf.resources.tunnels().available(), 0);
    let ask = |upf: &mut TestUpf, ue: u8| {
        let datagram = datagram(ue);
        let (_, body, _) = Header::decode(&datagram).unwrap();
        let known = upf.resources.recognize(body).unwrap();
        upf.resources.take(known, Seid(50))
    };
    let before = upf.resources.clone();
    assert_eq!(ask(&mut upf, 20), None);
    assert_eq!(upf.resources, before);
    upf.delete(0);
    let before = upf.resources.clone();
    assert_eq!(ask(&mut upf, 12), None);
    assert_eq!(upf.resources, before);
    let taken = ask(&mut upf, 20).unwrap();
    assert_eq!(taken.params().ue, Some(Ipv4Addr::new(10, 45, 0, 20)));
    assert_eq!((upf.resources.tunnels().in_use(), upf.resources.addresses().in_use()), (12, 12));
    assert_eq!(upf.resources.tunnels().available(), 0);
}
