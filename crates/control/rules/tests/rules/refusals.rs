//! Values that are not supported or not legal: the cause and the offending IE of each, without any change.

use causeway_pfcp::{
    ActivatePredefinedRules, ApplicationId, ApplyAction, CreateBar, CreateQer, DestinationInterface,
    DownlinkDataNotificationDelay, DuplicatingParameters, FTeid, ForwardingParameters, ForwardingPolicy,
    LinkedUrrId, MeasurementInformation, MeasurementMethod, NetworkInstance, NumberOfReports, Octets,
    OuterHeaderRemoval, OuterHeaders, PacketRate, PacketRateStatus, PdnType, QerIndications, Remaining,
    RemovedHeader, SdfFilter, SessionEstablishmentFlags, SessionEstablishmentRequest,
    SessionModificationFlags, SessionModificationRequest, SourceInterface, SubsequentVolumeQuota, TimeQuota,
    UeIpAddress, UpdateDuplicatingParameters, VolumeQuota, VolumeThreshold, Volumes,
};
use causeway_types::{BarId, FarId, QerId, ReportingTriggers, UrrId};

use crate::common::{Upf, answer, establishment, qer, to_gnb, to_internet, uplink, urr, usual};

type Request = SessionEstablishmentRequest<'static>;

/// The case, the request, and the cause and offending IE of its rejection.
type Case = (&'static str, Request, (u8, Option<u16>));

/// The usual request with its first PDR (uplink) changed.
fn pdr(change: impl FnOnce(&mut causeway_pfcp::CreatePdr<'static>)) -> Request {
    let mut pdr = uplink(1, 1);
    change(&mut pdr);
    establishment(vec![pdr], vec![to_internet(1)])
}

/// The usual request with its FAR towards the internet changed.
fn far(change: impl FnOnce(&mut causeway_pfcp::CreateFar<'static>)) -> Request {
    let mut far = to_internet(1);
    change(&mut far);
    establishment(vec![uplink(1, 1)], vec![far])
}

fn parameters(change: impl FnOnce(&mut ForwardingParameters<'static>)) -> Request {
    far(|far| change(far.forwarding_parameters.as_mut().expect("parameters")))
}

fn with_qer(change: impl FnOnce(&mut CreateQer<'static>)) -> Request {
    let mut rule = qer(1);
    change(&mut rule);
    Request { create_qers: [rule].into(), ..usual() }
}

fn with_urr(change: impl FnOnce(&mut causeway_pfcp::CreateUrr<'static>)) -> Request {
    let mut rule = urr(1);
    change(&mut rule);
    Request { create_urrs: [rule].into(), ..usual() }
}

fn flow(text: &'static str) -> Request {
    pdr(|pdr| {
        pdr.pdi.sdf_filters =
            [SdfFilter { flow_description: Some(Octets::from(text)), ..SdfFilter::default() }].into();
    })
}

// Input:  establishments that are not supported or contradictory, with one error each.
// Output: the expected cause and offending IE; no tunnel is taken.
#[test]
fn establishments_that_are_rejected() {
    let cases: Vec<Case> = vec![
        ("Non-IP", Request { pdn_type: Some(PdnType::NonIp), ..usual() }, (76, Some(113))),
        (
            "IP rules in an Ethernet session",
            Request { pdn_type: Some(PdnType::Ethernet), ..usual() },
            (73, Some(22)),
        ),
        ("unstructured", Request { pdn_type: Some(PdnType::NonIp), ..usual() }, (76, Some(113))),
        (
            "pausing of charging",
            Request { flags: Some(SessionEstablishmentFlags::SUMPC), ..usual() },
            (76, Some(186)),
        ),
        ("no FAR ID", pdr(|it| it.far_id = None), (67, Some(108))),
        ("predefined FAR", pdr(|it| it.far_id = Some(FarId(1 << 31))), (80, Some(108))),
        ("predefined QER", pdr(|it| it.qer_ids = [QerId(1 << 31)].into()), (80, Some(109))),
        ("predefined URR", pdr(|it| it.urr_ids = [UrrId(1 << 31)].into()), (80, Some(81))),
        (
            "predefined rules",
            pdr(|it| it.activate_predefined_rules = [ActivatePredefinedRules::from("gold")].into()),
            (80, Some(106)),
        ),
        (
            "removal of UDP from a GTP-U tunnel",
            pdr(|it| it.outer_header_removal = Some(OuterHeaderRemoval::new(RemovedHeader::UdpIpv4))),
            (69, Some(95)),
        ),
        (
            "removal of nothing known",
            pdr(|it| it.outer_header_removal = Some(OuterHeaderRemoval::new(RemovedHeader::Spare(99)))),
            (69, Some(95)),
        ),
        ("spare interface", pdr(|it| it.pdi.source_interface = SourceInterface::Spare(9)), (69, Some(20))),
        ("application", pdr(|it| it.pdi.application_id = Some(ApplicationId::from("web"))), (81, Some(24))),
        (
            "unknown network",
            pdr(|it| it.pdi.network_instance = Some(NetworkInstance::text("ims"))),
            (73, Some(22)),
        ),
        (
            "UE address chosen by the UPF",
            pdr(|it| {
                it.pdi.ue_ip_addresses = [UeIpAddress { choose_ipv4: true, ..UeIpAddress::default() }].into();
            }),
            (76, Some(93)),
        ),
        (
            "TEID 0",
            pdr(|it| {
                let addr = std::net::Ipv4Addr::new(192, 0, 2, 1).into();
                it.pdi.local_f_teid = Some(FTeid::Assigned { teid: 0, addr });
            }),
            (69, Some(21)),
        ),
        ("permit in", flow("permit in ip from any to assigned"), (76, Some(23))),
        ("deny", flow("deny out ip from any to assigned"), (76, Some(23))),
        ("no flow", flow("permit"), (69, Some(23))),
        (
            "a bidirectional filter that nothing defines",
            pdr(|it| {
                it.pdi.sdf_filters = [SdfFilter { filter_id: Some(1), ..SdfFilter::default() }].into();
            }),
            (69, Some(23)),
        ),
        ("no action", far(|it| it.apply_action = ApplyAction::empty()), (69, Some(44))),
        ("two actions", far(|it| it.apply_action = ApplyAction::FORW | ApplyAction::BUFF), (69, Some(44))),
        ("NOCP alone", far(|it| it.apply_action = ApplyAction::FORW | ApplyAction::NOCP), (69, Some(44))),
        (
            "duplication without destination",
            far(|it| it.apply_action = ApplyAction::FORW | ApplyAction::DUPL),
            (67, Some(5)),
        ),
        (
            "delivery status of packets that do not wait",
            far(|it| it.apply_action = ApplyAction::FORW | ApplyAction::BDPN),
            (69, Some(44)),
        ),
        ("no parameters", far(|it| it.forwarding_parameters = None), (67, Some(4))),
        ("no such BAR", far(|it| it.bar_id = Some(BarId(9))), (73, None)),
        (
            "forwarding policy",
            parameters(|it| it.forwarding_policy = Some(ForwardingPolicy(Octets::from("gold")))),
            (70, Some(41)),
        ),
        (
            "spare destination",
            parameters(|it| it.destination_interface = DestinationInterface::Spare(9)),
            (69, Some(42)),
        ),
        (
            "lawful interception",
            parameters(|it| it.destination_interface = DestinationInterface::LiFunction),
            (76, Some(42)),
        ),
        (
            "UDP tunnel to the access",
            parameters(|it| {
                let mut creation = crate::common::gnb(1);
                creation.description = OuterHeaders::UDP_IPV4;
                it.outer_header_creation = Some(creation);
            }),
            (69, Some(84)),
        ),
        (
            "multicast sequence numbers",
            with_qer(|it| it.qer_indications = Some(QerIndications::IQFISN)),
            (76, Some(319)),
        ),
        (
            "packet rate of neither direction",
            with_qer(|it| it.packet_rate = Some(PacketRate::default())),
            (69, Some(94)),
        ),
        (
            "packet rate status without a rate",
            with_qer(|it| {
                let left = Remaining { packets: 1, additional: None };
                it.packet_rate_status =
                    Some(PacketRateStatus { uplink: Some(left), ..PacketRateStatus::default() });
            }),
            (67, Some(94)),
        ),
        ("no method", with_urr(|it| it.measurement_method = MeasurementMethod::empty()), (69, Some(62))),
        ("periodic", with_urr(|it| it.reporting_triggers = ReportingTriggers::PERIO), (67, Some(64))),
        ("MAC addresses", with_urr(|it| it.reporting_triggers = ReportingTriggers::MACAR), (69, Some(37))),
        ("no threshold", with_urr(|it| it.reporting_triggers = ReportingTriggers::VOLTH), (67, Some(31))),
        (
            "empty threshold",
            with_urr(|it| {
                it.reporting_triggers = ReportingTriggers::VOLTH;
                it.volume_threshold = Some(VolumeThreshold(Volumes::default()));
            }),
            (69, Some(31)),
        ),
        ("empty quota", with_urr(|it| it.volume_quota = Some(VolumeQuota::default())), (69, Some(73))),
        ("time quota", with_urr(|it| it.time_quota = Some(TimeQuota(10))), (69, Some(62))),
        ("no holding time", with_urr(|it| it.reporting_triggers = ReportingTriggers::QUHTI), (67, Some(71))),
        ("no link", with_urr(|it| it.reporting_triggers = ReportingTriggers::LIUSA), (67, Some(82))),
        ("linked to nothing", with_urr(|it| it.linked_urr_ids = [LinkedUrrId(9)].into()), (73, None)),
        ("no FAR", with_urr(|it| it.far_id_for_quota_action = Some(FarId(9))), (73, None)),
        ("no reports", with_urr(|it| it.number_of_reports = Some(NumberOfReports(0))), (69, Some(182))),
        (
            "subsequent to nothing",
            with_urr(|it| it.subsequent_volume_quota = Some(SubsequentVolumeQuota::default())),
            (67, Some(33)),
        ),
        (
            "paused measurement",
            with_urr(|it| it.measurement_information = Some(MeasurementInformation::ASPOC)),
            (76, Some(100)),
        ),
        ("PDR twice", establishment(vec![uplink(1, 1), uplink(1, 1)], vec![to_internet(1)]), (73, None)),
        ("no such FAR", establishment(vec![uplink(1, 9)], vec![to_internet(1)]), (73, None)),
    ];
    for (name, request, expected) in cases {
        let mut upf = Upf::new();
        let in_use = |upf: &Upf| {
            let claims = upf.resources.claims();
            (claims.tunnels.available(), claims.tunnels.in_use())
        };
        let before = in_use(&upf);
        assert_eq!(answer(upf.establish(request)), expected, "{name}");
        assert_eq!(in_use(&upf), before, "{name}");
    }
}

// Input:  a notification delay, and a data plane without that capability.
// Output: Service not supported; a delay of zero is none.
#[test]
fn a_notification_delay_needs_a_data_plane_that_delays() {
    let with = |delay| {
        let delay = Some(DownlinkDataNotificationDelay(delay));
        let bar = CreateBar { downlink_data_notification_delay: delay, ..CreateBar::new(BarId(1)) };
        let mut upf = Upf::new();
        upf.capabilities.notification_delay = false;
        upf.establish(Request { create_bar: Some(bar), ..usual() })
    };
    assert_eq!(answer(with(1)), (76, Some(46)));
    assert!(with(0).is_ok());
}

// Input:  modifications with flags that are not supported, and one that refers to a predefined rule.
// Output: the flags, or the rule, as offending IE; the session is unchanged.
#[test]
fn modifications_that_are_rejected() {
    let mut upf = Upf::with(usual());
    let flags = |flags| SessionModificationRequest { flags: Some(flags), ..Default::default() };
    assert_eq!(answer(upf.modify(flags(SessionModificationFlags::SUMPC))), (76, Some(49)));
    assert_eq!(answer(upf.modify(flags(SessionModificationFlags::SNDEM))), (76, Some(49)));
    let mut pdr = crate::common::update_pdr(1);
    pdr.far_id = Some(FarId(1 << 31));
    let request = SessionModificationRequest { update_pdrs: [pdr].into(), ..Default::default() };
    assert_eq!(answer(upf.modify(request)), (80, Some(108)));
    let request = SessionModificationRequest { create_fars: [to_gnb(2, 1)].into(), ..Default::default() };
    assert_eq!(answer(upf.modify(request)), (73, None));
    assert_eq!(upf.resources.claims().tunnels.in_use(), 1);
}

// Input:  a restoration (RESTI) with an F-TEID at a local address, and one at an address that is no longer local.
// Output: accepted with that F-TEID; the cause for failed restorations.
#[test]
fn a_restoration_brings_its_tunnels() {
    let with = |last| {
        let mut request = pdr(|it| {
            let addr = std::net::Ipv4Addr::new(192, 0, 2, last).into();
            it.pdi.local_f_teid = Some(FTeid::Assigned { teid: 0xabcd, addr });
        });
        request.flags = Some(SessionEstablishmentFlags::RESTI);
        Upf::new().establish(request)
    };
    assert!(with(1).is_ok_and(|change| change.chosen.is_empty()));
    assert_eq!(answer(with(9)), (86, Some(21)));
}

// Input:  a FAR with eight Duplicating Parameters and one with nine; then updates of the first: eight Update Duplicating Parameters,
//         and nine, the last of which would add a destination.
// Output: nine are too many, at the establishment as in the update, whose result counts; eight are accepted.
#[test]
fn a_far_has_eight_destinations_of_copies() {
    let header = || Some(crate::common::gnb(0x300));
    let with = |count| {
        let group = DuplicatingParameters {
            outer_header_creation: header(),
            ..DuplicatingParameters::new(DestinationInterface::LiFunction)
        };
        far(|far| {
            far.apply_action = ApplyAction::FORW | ApplyAction::DUPL;
            far.duplicating_parameters = vec![group; count].into();
        })
    };
    assert_eq!(answer(Upf::new().establish(with(9))), (75, None));
    let mut upf = Upf::with(with(8));
    let update = |count| {
        let group = UpdateDuplicatingParameters {
            destination_interface: Some(DestinationInterface::LiFunction),
            outer_header_creation: header(),
            ..UpdateDuplicatingParameters::default()
        };
        let mut update = crate::common::update_far(1);
        update.update_duplicating_parameters = vec![group; count].into();
        SessionModificationRequest { update_fars: [update].into(), ..Default::default() }
    };
    assert!(upf.modify(update(8)).is_ok());
    assert_eq!(answer(upf.modify(update(9))), (75, None));
}
