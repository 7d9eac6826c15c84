//! Requests in the style of real SMFs, and the defects that other UPFs had with them.

use causeway_model::{Gate, HeaderRemoval, Op, OuterHeader, RateLimit};
use causeway_pfcp::{
    ApplyAction, DestinationInterface, FTeid, ForwardingParameters, Gbr, InterfaceType, Mbr, NetworkInstance,
    Octets, OuterHeaderCreation, OuterHeaderRemoval, Pdi, QueryUrr, RawIe, RemovedHeader, SdfFilter,
    SessionModificationFlags, SessionModificationRequest, SourceInterface, UpdateForwardingParameters,
    VolumeThreshold, Volumes,
};
use causeway_types::{BarId, Bitrate, FarId, Interface, PdrId, QerId, ReportingTriggers, UrrId};

use crate::common::{
    Upf, answer, downlink, establishment, qer, to_gnb, to_internet, update_far, update_pdr, uplink, urr,
    usual,
};

fn modification() -> SessionModificationRequest<'static> {
    SessionModificationRequest::default()
}

fn rate(uplink: u64, downlink: u64) -> (Bitrate, Bitrate) {
    (Bitrate::from_kbps(uplink).expect("40 bits"), Bitrate::from_kbps(downlink).expect("40 bits"))
}

// Input:  MBRs of 1 Gbit/s, above it, and the largest that PFCP can carry.
// Output: exactly those, in bit/s (eUPF computed in 32 bits: no limit above 1 Gbit/s).
#[test]
fn rates_above_one_gigabit_are_exact() {
    for kbps in [1_000_000, 1_000_001, 5_000_000, (1 << 40) - 1] {
        let (uplink, downlink) = rate(kbps, 1);
        let mut rule = qer(0);
        rule.mbr = Some(Mbr { uplink, downlink });
        rule.gbr = Some(Gbr { uplink: downlink, downlink });
        let mut request = usual();
        request.create_qers = [rule].into();
        let change = Upf::new().establish(request).expect("a legal session");
        let limit = change.session.rules().qers[&QerId(0)].mbr.expect("a limit");
        assert_eq!((limit.uplink.bps(), limit.downlink.bps()), (kbps * 1000, 1000));
    }
}

// Input:  a QER without MBR, of id 0, used by both PDRs.
// Output: open gates and no limit (eupf#330 blocked everything).
#[test]
fn a_qer_without_mbr_limits_nothing() {
    let mut pdrs = vec![uplink(1, 1), downlink(2, 2)];
    pdrs.iter_mut().for_each(|pdr| pdr.qer_ids = [QerId(0)].into());
    let mut request = establishment(pdrs, vec![to_internet(1), to_gnb(2, 0x100)]);
    request.create_qers = [qer(0)].into();
    let change = Upf::new().establish(request).expect("a legal session");
    let rule = &change.session.rules().qers[&QerId(0)];
    assert_eq!((rule.uplink, rule.downlink, rule.mbr), (Gate::Open, Gate::Open, None));
}

// Input:  a PDR with the QER of its flow and the QER of the session, in this order, one named twice.
// Output: both, in this order, each once.
#[test]
fn several_qers_for_one_pdr() {
    let mut pdr = uplink(1, 1);
    pdr.qer_ids = [QerId(2), QerId(1), QerId(2)].into();
    let mut request = establishment(vec![pdr], vec![to_internet(1)]);
    request.create_qers = [qer(1), qer(2)].into();
    let change = Upf::new().establish(request).expect("a legal session");
    assert_eq!(change.session.rules().pdrs[&PdrId(1)].qers, [QerId(2), QerId(1)]);
}

// Input:  an update of a QER's MBR alone; then the MBR removed by null length.
// Output: the new limit, the gates as they were; no limit (OAI ignored the update).
#[test]
fn an_mbr_is_changed_and_removed() {
    let mut request = usual();
    request.create_qers = [qer(1)].into();
    let mut upf = Upf::with(request);
    let (uplink, downlink) = rate(20_000, 40_000);
    let mut update = crate::common::update_qer(1);
    update.mbr = Some(Mbr { uplink, downlink });
    let change =
        upf.modify(SessionModificationRequest { update_qers: [update].into(), ..modification() }).unwrap();
    let rule = change.session.rules().qers[&QerId(1)].clone();
    assert_eq!((rule.mbr, rule.uplink), (Some(RateLimit { uplink, downlink }), Gate::Open));
    assert_eq!(change.plan.ops()[..], [Op::PutQer(rule.into())]);
    upf.keep(change);

    let mut update = crate::common::update_qer(1);
    update.other = vec![RawIe::null(26)].into();
    let change =
        upf.modify(SessionModificationRequest { update_qers: [update].into(), ..modification() }).unwrap();
    assert_eq!(change.session.rules().qers[&QerId(1)].mbr, None);
}

// Input:  the lists of a PDR emptied by null length.
// Output: no QERs, no URRs; the rules themselves stay.
#[test]
fn lists_are_emptied_by_null_length() {
    let mut pdr = uplink(1, 1);
    pdr.qer_ids = [QerId(1)].into();
    pdr.urr_ids = [UrrId(1)].into();
    let mut request = establishment(vec![pdr], vec![to_internet(1)]);
    request.create_qers = [qer(1)].into();
    request.create_urrs = [urr(1)].into();
    let mut upf = Upf::with(request);
    let mut update = update_pdr(1);
    update.other = vec![RawIe::null(109), RawIe::null(81)].into();
    let change =
        upf.modify(SessionModificationRequest { update_pdrs: [update].into(), ..modification() }).unwrap();
    let pdr = &change.session.rules().pdrs[&PdrId(1)];
    assert!(pdr.qers.is_empty() && pdr.urrs.is_empty());
    assert_eq!(change.plan.ops()[..], [Op::PutPdr(pdr.clone().into())]);
}

// Input:  Outer Header Removal 6, one octet and two (eupf and omec drop the former silently).
// Output: any GTP-U header is removed, with its container according to the second octet.
#[test]
fn outer_header_removal_six_and_its_second_octet() {
    for extensions in [None, Some(OuterHeaderRemoval::PDU_SESSION_CONTAINER)] {
        let mut pdr = uplink(1, 1);
        pdr.outer_header_removal = Some(OuterHeaderRemoval { header: RemovedHeader::GtpuIp, extensions });
        let change = Upf::new().establish(establishment(vec![pdr], vec![to_internet(1)])).unwrap();
        let removal = HeaderRemoval { deletes_container: extensions.is_some(), ..HeaderRemoval::GTPU };
        assert_eq!(change.session.rules().pdrs[&PdrId(1)].removal, Some(removal));
    }
}

// Input:  a FAR for a gNB that is not known yet: DROP or BUFF, with TEID 0 and address 0.0.0.0; then FORW
//         with the gNB's tunnel; then FORW without one.
// Output: accepted without a tunnel; one write; Outer Header Creation incorrect.
#[test]
fn a_gnb_that_is_not_known_yet() {
    for action in [ApplyAction::DROP, ApplyAction::BUFF | ApplyAction::NOCP] {
        let unknown = OuterHeaderCreation::gtpu(0, std::net::Ipv4Addr::UNSPECIFIED.into());
        let mut far = to_gnb(2, 1);
        far.apply_action = action;
        far.forwarding_parameters.as_mut().unwrap().outer_header_creation = Some(unknown);
        let request = establishment(vec![uplink(1, 1), downlink(2, 2)], vec![to_internet(1), far]);
        let mut upf = Upf::with(request);
        let forwarding = upf.session.rules().fars[&FarId(2)].forwarding.clone().unwrap();
        assert_eq!(
            (forwarding.destination, forwarding.outer),
            (Interface::Access, Some(OuterHeader::Unknown))
        );

        let mut update = update_far(2);
        update.apply_action = Some(ApplyAction::FORW);
        let request = SessionModificationRequest { update_fars: [update.clone()].into(), ..modification() };
        assert_eq!(answer(upf.modify(request)), (69, Some(84)));

        update.update_forwarding_parameters = Some(UpdateForwardingParameters {
            outer_header_creation: Some(crate::common::gnb(0x200)),
            ..Default::default()
        });
        let request = SessionModificationRequest { update_fars: [update].into(), ..modification() };
        let change = upf.modify(request).unwrap();
        assert_eq!(change.plan.ops().len(), 1);
        assert!(matches!(&change.plan.ops()[0], Op::PutFar(far) if far.id == FarId(2)));
    }
}

// Input:  an uplink FAR to N6 as free5GC sends it: destination SGi-LAN, without forwarding policy.
// Output: accepted.
#[test]
fn n6_as_sgi_lan() {
    let parameters = ForwardingParameters {
        network_instance: Some(NetworkInstance::labels("internet")),
        ..ForwardingParameters::new(DestinationInterface::SgiLan)
    };
    let mut far = to_internet(1);
    far.forwarding_parameters = Some(parameters);
    let change = Upf::new().establish(establishment(vec![uplink(1, 1)], vec![far])).unwrap();
    let forwarding = change.session.rules().fars[&FarId(1)].forwarding.clone().unwrap();
    assert_eq!(forwarding.destination, Interface::SgiLan);
    assert_eq!(forwarding.network_instance.unwrap().as_str(), "internet");
}

// Input:  an establishment as Open5GS sends it: the DNN as network instance of both sides, F-TEID with CHOOSE
//         and CHOOSE ID for both versions, interface types, a volume threshold, no QER in the uplink PDR.
// Output: accepted; one tunnel with both addresses; the threshold in octets.
#[test]
fn an_establishment_in_the_style_of_open5gs() {
    let mut up = uplink(1, 1);
    up.pdi.local_f_teid = Some(FTeid::Choose { v4: true, v6: true, choose_id: Some(5) });
    up.pdi.network_instance = Some(NetworkInstance::labels("internet"));
    up.pdi.source_interface_type = Some(InterfaceType::N3);
    up.pdi.qfis = [causeway_types::Qfi::from_low_bits(1)].into();
    let mut down = downlink(2, 2);
    down.urr_ids = [UrrId(1)].into();
    down.qer_ids = [QerId(1)].into();
    let mut far = to_gnb(2, 1);
    far.apply_action = ApplyAction::BUFF | ApplyAction::NOCP;
    far.bar_id = Some(BarId(1));
    let mut request = establishment(vec![up, down], vec![to_internet(1), far]);
    let mut rule = urr(1);
    rule.reporting_triggers = ReportingTriggers::VOLTH;
    let total = Some(100 << 20);
    rule.volume_threshold = Some(VolumeThreshold(Volumes { total, ..Volumes::default() }));
    request.create_urrs = [rule].into();
    request.create_qers = [qer(1)].into();
    request.create_bar = Some(causeway_pfcp::CreateBar::new(BarId(1)));
    let change = Upf::new().establish(request).expect("a legal session");
    assert_eq!(change.chosen[0].1.addr.to_string(), "192.0.2.1/2001:db8::1");
    assert_eq!(change.session.rules().urrs[&UrrId(1)].thresholds.volume.unwrap().total, total);
    assert_eq!(change.session.rules().pdrs[&PdrId(1)].removal, Some(HeaderRemoval::GTPU));
    assert_eq!(change.created_pdrs().len(), 1);
}

// Input:  a modification that adds a flow description to a PDR, with source interface and flow alone.
// Output: the PDR has the flow, its tunnel and its UE address (eupf#643, open5gs#3945).
#[test]
fn a_flow_description_is_added_by_modification() {
    let mut upf = Upf::with(usual());
    let text = Octets::from("permit out 6 from 192.0.2.0/24 80,443 to assigned");
    let filter = SdfFilter { flow_description: Some(text), ..SdfFilter::default() };
    let mut update = update_pdr(1);
    update.pdi = Some(Pdi { sdf_filters: [filter].into(), ..Pdi::new(SourceInterface::Access) });
    let before = upf.session.rules().pdrs[&PdrId(1)].pdi.clone();
    let change =
        upf.modify(SessionModificationRequest { update_pdrs: [update].into(), ..modification() }).unwrap();
    let pdi = &change.session.rules().pdrs[&PdrId(1)].pdi;
    assert_eq!((pdi.tunnel, pdi.ue, pdi.filters.len()), (before.tunnel, before.ue, 1));
    upf.keep(change);
    assert_eq!(upf.resources.claims().tunnels.in_use(), 1);
}

// Input:  a PDR with a Network Instance and a QFI; a modification adds a flow description, with source interface and flow alone; another
//         one has another QFI beside it.
// Output: the PDR keeps both, as its tunnel and its UE address; it gets the other QFI.
#[test]
fn an_added_flow_description_leaves_network_and_qfis() {
    let qfi = |qfi| causeway_types::Qfi::from_low_bits(qfi);
    let mut first = uplink(1, 1);
    first.pdi.network_instance = Some(NetworkInstance::text("internet"));
    first.pdi.qfis = [qfi(5)].into();
    let fars = vec![to_internet(1), to_gnb(2, 0x100)];
    let mut upf = Upf::with(establishment(vec![first, downlink(2, 2)], fars));
    let text = Octets::from("permit out 6 from 192.0.2.0/24 80,443 to assigned");
    let filter = SdfFilter { flow_description: Some(text), ..SdfFilter::default() };
    let updated = |id, source, qfis: Vec<_>| {
        let mut update = update_pdr(id);
        update.pdi = Some(Pdi { sdf_filters: [filter].into(), qfis: qfis.into(), ..Pdi::new(source) });
        update
    };
    for (qfis, expected) in [(vec![], qfi(5)), (vec![qfi(7)], qfi(7)), (vec![], qfi(7))] {
        let updates = [updated(1, SourceInterface::Access, qfis), updated(2, SourceInterface::Core, vec![])];
        let before = upf.session.rules().clone();
        let request = SessionModificationRequest { update_pdrs: updates.into(), ..modification() };
        let change = upf.modify(request).unwrap();
        for id in [PdrId(1), PdrId(2)] {
            let (pdi, before) = (&change.session.rules().pdrs[&id].pdi, &before.pdrs[&id].pdi);
            assert_eq!((pdi.tunnel, pdi.ue, pdi.filters.len()), (before.tunnel, before.ue, 1));
            assert_eq!(pdi.network_instance.as_ref().unwrap().as_str(), "internet");
        }
        assert_eq!(change.session.rules().pdrs[&PdrId(1)].pdi.qfis, [expected].into_iter().collect());
        upf.keep(change);
    }
}

// Input:  the same PDI in two PDRs of different precedence; a PDR with neither QER nor URR.
// Output: accepted.
#[test]
fn the_same_pdi_twice() {
    let mut second = downlink(3, 2);
    second.precedence.0 = 200;
    let request =
        establishment(vec![uplink(1, 1), downlink(2, 2), second], vec![to_internet(1), to_gnb(2, 0x100)]);
    assert!(Upf::new().establish(request).is_ok());
}

// Input:  a handover with SNDEM, received twice (the SMF repeats itself under a new sequence number).
// Output: one End Marker, to the old tunnel, the first time only.
#[test]
fn a_repeated_handover_sends_no_second_end_marker() {
    let mut upf = Upf::with(usual());
    let request = || {
        let mut update = update_far(2);
        update.update_forwarding_parameters = Some(UpdateForwardingParameters {
            outer_header_creation: Some(crate::common::gnb(0x200)),
            flags: Some(SessionModificationFlags::SNDEM),
            ..Default::default()
        });
        SessionModificationRequest { update_fars: [update].into(), ..modification() }
    };
    let markers = |ops: &[Op]| ops.iter().filter(|op| matches!(op, Op::SendEndMarker { .. })).count();
    let change = upf.modify(request()).unwrap();
    assert_eq!(markers(&change.plan.ops()), 1);
    upf.keep(change);
    let change = upf.modify(request()).unwrap();
    assert_eq!(change.plan.ops()[..], []);
}

// Input:  Query URR for one URR, QAURR for all, each with other flags at zero.
// Output: only these queries.
#[test]
fn usage_is_queried_one_by_one_and_all() {
    let mut request = usual();
    request.create_urrs = [urr(1), urr(2)].into();
    let mut upf = Upf::with(request);
    let one = SessionModificationRequest { query_urrs: [QueryUrr::new(UrrId(2))].into(), ..modification() };
    assert_eq!(upf.modify(one).unwrap().plan.ops()[..], [Op::QueryUrr(UrrId(2))]);
    let all = SessionModificationRequest { flags: Some(SessionModificationFlags::QAURR), ..modification() };
    assert_eq!(upf.modify(all).unwrap().plan.ops()[..], [Op::QueryUrr(UrrId(1)), Op::QueryUrr(UrrId(2))]);
}
