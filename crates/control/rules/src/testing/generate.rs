//! Random rules: legal ones, and changes of any kind.

use causeway_types::{
    BarId, Bitrate, FTeid, FarId, Interface, IpNet, PdrId, Ppi, Precedence, QerId, Qfi, QfiSet, SNssai, Span,
    Teid, Time, UrrId,
};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use crate::edits::{
    BarUpdate, Changes, DuplicateUpdate, Edits, Endpoint, EndpointDraft, EndpointEdits, EndpointId,
    EndpointUe, EndpointUpdate, FarUpdate, FilterDraft, ForwardingUpdate, PdiDraft, PdrDraft, PdrUpdate,
    QerUpdate, Setting, SteeringUpdate, TunnelRequest, UeChoice,
};
use crate::{
    Allowance, ApplyAction, Bar, BufferingDuration, CopyTo, Correlation, DeliveryStatus, Duplicate,
    ExtendedBuffering, Far, FlowMarking, Forwarding, Gate, HeaderRemoval, NewEnd, OuterHeader, PacketRate,
    PacketRates, PagingPolicy, Pdi, Pdr, PolicyName, Qer, RateLimit, Redirect, Replacement, RuleSet,
    SdfFilter, Steering, TosMarking, TrafficClass, UeSide, Url, Urr,
};

use super::generate_urr::{any_urr, any_urr_update, linked, urr};
use super::{downlink_pdr, gnb, internet, known_policy, through_n6, to_gnb, to_internet, ue, uplink_pdr};

/// Keeps, removes or sets.
pub(super) fn setting<T: Clone + std::fmt::Debug>(
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Setting<T>> {
    (0..3_u8, value).prop_map(|(choice, value)| match choice {
        0 => Setting::Keep,
        1 => Setting::Remove,
        _ => Setting::Set(value),
    })
}

/// The value, if it is to be there.
fn set_if<T>(with: bool, value: Option<T>) -> Setting<T> {
    value.filter(|_| with).map_or(Setting::Keep, Setting::Set)
}

/// How many ids of each kind are drawn from; few, so that changes meet rules that exist.
pub(super) const IDS: u32 = 5;

/// Any legal rule set with at least one PDR.
pub(crate) fn rule_set() -> impl Strategy<Value = RuleSet> {
    let simple = (
        btree_set(0..IDS as u8, 0..3).prop_flat_map(|ids| ids.into_iter().map(bar).collect::<Vec<_>>()),
        btree_set(0..IDS, 0..4).prop_flat_map(|ids| ids.into_iter().map(urr).collect::<Vec<_>>()),
        btree_set(0..IDS, 0..4).prop_flat_map(|ids| ids.into_iter().map(qer).collect::<Vec<_>>()),
    );
    simple.prop_flat_map(|(bars, urrs, qers)| {
        let bar_ids: Vec<_> = bars.iter().map(|bar: &Bar| bar.id).collect();
        let fars = btree_set(0..IDS, 1..4)
            .prop_flat_map(move |ids| ids.into_iter().map(|id| far(id, bar_ids.clone())).collect::<Vec<_>>());
        (Just((bars, urrs, qers)), fars).prop_flat_map(|((bars, urrs, qers), fars)| {
            let far_ids: Vec<_> = fars.iter().map(|far: &Far| far.id).collect();
            let qer_ids: Vec<_> = qers.iter().map(|qer: &Qer| qer.id).collect();
            let urr_ids: Vec<_> = urrs.iter().map(|urr: &Urr| urr.id).collect();
            let pdrs = btree_set(0..IDS as u16, 1..5).prop_flat_map(move |ids| {
                let one = |id| pdr(id, far_ids.clone(), qer_ids.clone(), urr_ids.clone());
                ids.into_iter().map(one).collect::<Vec<_>>()
            });
            let of_session = (option::of(slice()), vec(paging_policy(), 0..2), option::of(inactivity()));
            (pdrs, of_session).prop_map(move |(pdrs, (slice, paging, inactivity_timer))| RuleSet {
                slice,
                paging,
                pdrs: pdrs.into_iter().map(|pdr| (pdr.id, pdr)).collect(),
                fars: fars.iter().map(|far| (far.id, far.clone())).collect(),
                qers: qers.iter().map(|qer| (qer.id, qer.clone())).collect(),
                urrs: linked(&urrs, &fars),
                bars: bars.iter().map(|bar| (bar.id, bar.clone())).collect(),
                inactivity_timer,
                ..RuleSet::default()
            })
        })
    })
}

fn bar(id: u8) -> impl Strategy<Value = Bar> {
    (0..5_u64, option::of(1..200_u16)).prop_map(move |(units, suggested_packets)| Bar {
        notification_delay: Span::from_millis(50 * units),
        suggested_packets,
        ..Bar::new(BarId(id))
    })
}

fn inactivity() -> impl Strategy<Value = Span> {
    (1..4_u64).prop_map(Span::from_secs)
}

/// What the SMF is told may go with the action.
fn delivery_status(action: ApplyAction) -> impl Strategy<Value = DeliveryStatus> {
    any::<[bool; 2]>().prop_map(move |[buffered, discarded]| DeliveryStatus {
        buffered: buffered && matches!(action, ApplyAction::Buffer { .. }),
        discarded: discarded && action != ApplyAction::Forward,
    })
}

fn extended() -> impl Strategy<Value = ExtendedBuffering> {
    let duration = prop_oneof![
        Just(BufferingDuration::Stopped),
        inactivity().prop_map(BufferingDuration::For),
        Just(BufferingDuration::Unlimited),
    ];
    (0..IDS as u8, option::of(duration), option::of(any::<u16>()))
        .prop_map(|(bar, duration, packets)| ExtendedBuffering { bar: BarId(bar), duration, packets })
}

fn gate() -> impl Strategy<Value = Gate> {
    select(vec![Gate::Open, Gate::Closed])
}

fn rates() -> impl Strategy<Value = RateLimit> {
    let rate = || (0..1_u64 << 40).prop_filter_map("40 bits", Bitrate::from_kbps);
    (rate(), rate()).prop_map(|(uplink, downlink)| RateLimit { uplink, downlink })
}

fn qfi() -> impl Strategy<Value = Qfi> {
    (0..=Qfi::MAX).prop_filter_map("6 bits", Qfi::new)
}

/// A maximum rate, a guaranteed rate that is not above it, or either alone.
fn rate_pair() -> impl Strategy<Value = (Option<RateLimit>, Option<RateLimit>)> {
    let below = |gbr: RateLimit, mbr: RateLimit| RateLimit {
        uplink: gbr.uplink.min(mbr.uplink),
        downlink: gbr.downlink.min(mbr.downlink),
    };
    (option::of(rates()), option::of(rates()))
        .prop_map(move |(mbr, gbr)| (mbr, gbr.map(|gbr| mbr.map_or(gbr, |mbr| below(gbr, mbr)))))
}

fn packet_rates() -> impl Strategy<Value = PacketRates> {
    let allowance = || {
        let minutes = select(vec![1, 6, 60, 24 * 60, 7 * 24 * 60]);
        (any::<u16>(), minutes)
            .prop_map(|(packets, minutes)| Allowance { packets, period: Span::from_secs(60 * minutes) })
    };
    let rate = (allowance(), option::of(allowance()))
        .prop_map(|(usual, additional)| PacketRate { usual, additional });
    (rate.clone(), option::of(rate))
        .prop_map(|(uplink, downlink)| PacketRates { uplink: Some(uplink), downlink })
}

fn flow_marking() -> impl Strategy<Value = FlowMarking> {
    (option::of(tos_marking()), option::of(any::<u16>()))
        .prop_map(|(tos, service_class)| FlowMarking { tos, service_class })
}

fn tos_marking() -> impl Strategy<Value = TosMarking> {
    (any::<u8>(), any::<u8>()).prop_map(|(value, mask)| TosMarking::new(value, mask))
}

fn ppi() -> impl Strategy<Value = Ppi> {
    (0..=Ppi::MAX).prop_filter_map("3 bits", Ppi::new)
}

fn correlation() -> impl Strategy<Value = Correlation> {
    (0..3_u32).prop_map(|id| Correlation { chosen_by: None, id })
}

fn window() -> impl Strategy<Value = Span> {
    (1..9_000_u64).prop_map(Span::from_millis)
}

fn qer(id: u32) -> impl Strategy<Value = Qer> {
    let gates = (gate(), gate());
    let limits = (option::of(correlation()), rate_pair(), option::of(window()), option::of(packet_rates()));
    let marks = (option::of(qfi()), any::<bool>(), option::of(ppi()), flow_marking());
    (gates, limits, marks, any::<bool>()).prop_map(move |(gates, limits, marks, reports)| {
        let (correlation, (mbr, gbr), averaging_window, packet_rate) = limits;
        let (qfi, reflective, ppi, flow_marking) = marks;
        Qer {
            uplink: gates.0,
            downlink: gates.1,
            correlation,
            mbr,
            gbr,
            averaging_window,
            packet_rate,
            reports_packet_rate: reports,
            qfi,
            reflective,
            ppi,
            flow_marking,
            ..Qer::new(QerId(id))
        }
    })
}

fn paging_policy() -> impl Strategy<Value = PagingPolicy> {
    (vec(qfi(), 0..2), btree_map(0..64_u8, ppi(), 1..4))
        .prop_map(|(qfis, ppis)| PagingPolicy { qfis: QfiSet::from_iter(qfis), ppis })
}

fn slice() -> impl Strategy<Value = SNssai> {
    (1..3_u8).prop_map(|sst| SNssai { sst, sd: SNssai::NO_SD })
}

fn action() -> impl Strategy<Value = ApplyAction> {
    prop_oneof![
        Just(ApplyAction::Drop),
        Just(ApplyAction::Forward),
        any::<bool>().prop_map(|notify| ApplyAction::Buffer { notify }),
    ]
}

fn far(id: u32, bars: Vec<BarId>) -> impl Strategy<Value = Far> {
    let way = prop_oneof![
        Just(to_internet(id)),
        (1..9_u32).prop_map(move |teid| to_gnb(id, gnb(teid))),
        (1..9_u32).prop_map(move |teid| to_smf(id, gnb(teid))),
        Just(through_n6(id)),
    ];
    let action = action().prop_flat_map(|action| (Just(action), delivery_status(action)));
    let rest = (action, any::<bool>(), option::of(any::<Index>()), (option::of(tos_marking()), steering()));
    (way, rest, copies()).prop_map(move |(far, (action, keep, bar, way), (duplicate, duplicates))| {
        let (marking, steering) = way;
        let (action, delivery_status) = action;
        let needed = keep || action == ApplyAction::Forward;
        let forwarding = far.forwarding.clone().map(|forwarding| Forwarding {
            marking,
            steering: steering.clone(),
            ..forwarding
        });
        Far {
            action,
            delivery_status,
            forwarding: forwarding.filter(|_| needed),
            duplicate: duplicate && !duplicates.is_empty(),
            duplicates: duplicates.clone(),
            bar: bar.filter(|_| !bars.is_empty()).map(|index| *index.get(&bars)),
            ..far
        }
    })
}

/// Whether copies are made, and where they go.
fn copies() -> impl Strategy<Value = (bool, Vec<Duplicate>)> {
    let to_li = (1..9_u32).prop_map(|teid| Duplicate::into_tunnel(CopyTo::LiFunction, gnb(teid)));
    let to_network = Just(Duplicate {
        destination: CopyTo::Side(Interface::Core),
        outer: None,
        policy: Some(known_policy()),
    });
    (any::<bool>(), vec(prop_oneof![to_li, to_network], 0..3))
}

/// As to a gNB, but to the SMF.
fn to_smf(id: u32, tunnel: FTeid) -> Far {
    let far = to_gnb(id, tunnel);
    let forwarding = far.forwarding.map(|way| Forwarding { destination: Interface::CpFunction, ..way });
    Far { forwarding, ..far }
}

fn tunnel() -> impl Strategy<Value = FTeid> {
    (1..6_u32)
        .prop_filter_map("not zero", Teid::new)
        .prop_map(|teid| FTeid { teid, addr: std::net::Ipv4Addr::new(192, 0, 2, 1).into() })
}

fn pdr(id: u16, fars: Vec<FarId>, qers: Vec<QerId>, urrs: Vec<UrrId>) -> impl Strategy<Value = Pdr> {
    let pdi = prop_oneof![
        (tunnel(), vec(qfi(), 0..3)).prop_map(|(tunnel, qfis)| Pdi {
            tunnel: Some(tunnel),
            ue: Some(ue(UeSide::Source)),
            qfis: QfiSet::from_iter(qfis),
            ..Pdi::new(Interface::Access)
        }),
        Just(Pdi {
            network_instance: Some(internet()),
            ue: Some(ue(UeSide::Destination)),
            filters: vec!["permit out 17 from any 53 to assigned".parse().expect("a flow")],
            ..Pdi::new(Interface::Core)
        }),
        tunnel().prop_map(|tunnel| Pdi { tunnel: Some(tunnel), ..Pdi::new(Interface::CpFunction) }),
        tunnel().prop_map(|tunnel| Pdi {
            tunnel: Some(tunnel),
            filters: vec!["permit out 58 from ff02::2/128 to assigned".parse().expect("a flow")],
            ..Pdi::new(Interface::Access)
        }),
    ];
    let counts = (0..=qers.len(), 0..=urrs.len());
    let lists = (subsequence(qers, counts.0), subsequence(urrs, counts.1));
    (pdi, select(fars), lists, 0..4_u32, routes(), active()).prop_map(
        move |(pdi, far, (qers, urrs), precedence, routes, (active_from, active_until))| Pdr {
            precedence: Precedence(precedence),
            removal: pdi.tunnel.map(|_| HeaderRemoval::GTPU_IPV4),
            qers,
            urrs,
            active_from,
            active_until,
            ..Pdr::new(PdrId(id), Pdi { routes, ..pdi }, far)
        },
    )
}

/// Any change: of rules that may exist or not, legal or not.
pub(crate) fn changes() -> impl Strategy<Value = Changes> {
    let pdrs = edits(0..IDS as u16, any_pdr(), any_pdr_update());
    let fars = edits(0..IDS, any_far(), any_far_update());
    let qers = edits(0..IDS, (0..IDS).prop_flat_map(qer), any_qer_update());
    let urrs = edits(0..IDS, any_urr(), any_urr_update());
    let bars = edits(0..IDS as u8, (0..IDS as u8).prop_flat_map(bar), any_bar_update());
    let query =
        (btree_set((0..IDS).prop_map(UrrId), 0..2), any::<bool>(), btree_set((0..IDS).prop_map(QerId), 0..2));
    let whole = (any::<bool>(), vec(extended(), 0..2), setting(inactivity()));
    let marks = (option::of(slice()), option::of(vec(paging_policy(), 0..2)));
    let rules = (pdrs, fars, qers, urrs, bars, any_endpoints());
    (rules, query, whole, marks).prop_map(
        |(
            rules,
            (query, query_all, query_packet_rates),
            (drop_buffered, extended, timer),
            (slice, paging),
        )| {
            let (pdrs, fars, qers, urrs, bars, endpoints) = rules;
            let session = Changes { drop_buffered, extended, inactivity_timer: timer, ..Changes::default() };
            let session = Changes { query_packet_rates, slice, paging, ..session };
            Changes { pdrs, fars, qers, urrs, bars, query, query_all, endpoints, ..session }
        },
    )
}

fn edits<R: Copy + std::fmt::Debug, I: From<R> + std::fmt::Debug, C: std::fmt::Debug, U: std::fmt::Debug>(
    ids: impl Strategy<Value = R>,
    create: impl Strategy<Value = C>,
    update: impl Strategy<Value = U>,
) -> impl Strategy<Value = Edits<I, C, U>> {
    (vec(ids, 0..2), vec(create, 0..3), vec(update, 0..2)).prop_map(|(remove, create, update)| Edits {
        remove: remove.into_iter().map(I::from).collect(),
        create,
        update,
    })
}

fn any_request() -> impl Strategy<Value = TunnelRequest> {
    let choose = (any::<bool>(), any::<bool>(), option::of(0..2_u8));
    prop_oneof![
        tunnel().prop_map(TunnelRequest::Assigned),
        choose.prop_map(|(v4, v6, choose_id)| TunnelRequest::Choose { v4, v6, choose_id }),
    ]
}

/// A UE address of the UPF's choice, from pools that may not exist.
fn any_ue_choice() -> impl Strategy<Value = UeChoice> {
    let pools = vec(select(vec![b"four".to_vec(), b"six".to_vec(), b"none".to_vec()]), 0..3);
    (any::<bool>(), option::of(select(vec![56_u8, 62, 64, 128])), pools)
        .prop_map(|(v4, v6, pools)| UeChoice { v4: v4 || v6.is_none(), v6, side: UeSide::Destination, pools })
}

fn any_pdr() -> impl Strategy<Value = PdrDraft> {
    let lists = (vec((0..IDS).prop_map(QerId), 0..2), vec((0..IDS).prop_map(UrrId), 0..2));
    let detection =
        (any_filters(), routes(), option::of(any_endpoint_id()), active(), option::of(any_ue_choice()));
    (0..IDS as u16, 0..IDS, option::of(any_request()), lists, detection).prop_map(
        |(
            id,
            far,
            request,
            (qers, urrs),
            (filters, routes, endpoint, (active_from, active_until), ue_choice),
        )| {
            let mut draft = request.map_or(downlink_pdr(id, far), |request| uplink_pdr(id, request, far));
            if let Some(choice) = ue_choice {
                draft.pdi.ue = draft.pdi.ue.filter(|_| !choice.v4);
                draft.pdi.ue_choice = Some(choice);
            }
            let pdi = match endpoint {
                Some(_) => PdiDraft { endpoint, filters, ..PdiDraft::new(draft.pdi.source) },
                None => PdiDraft { filters, routes, ..draft.pdi },
            };
            PdrDraft { pdi, qers, urrs, active_from, active_until, ..draft }
        },
    )
}

fn routes() -> impl Strategy<Value = Vec<IpNet>> {
    let route = (any::<u8>(), 8..=32_u8).prop_filter_map("a prefix", |(octet, len)| {
        IpNet::new([172, 16, octet, 0].into(), len).ok().map(|net| net.trunc())
    });
    vec(route, 0..3)
}

fn active() -> impl Strategy<Value = (Option<Time>, Option<Time>)> {
    let time = || option::of((1_u64..9).prop_map(Time::from_secs));
    (time(), time())
}

/// Filters of which some are bidirectional, defined or only named.
fn any_filters() -> impl Strategy<Value = Vec<FilterDraft>> {
    let class = option::of((any::<u8>(), any::<u8>()).prop_map(|(value, mask)| TrafficClass { value, mask }));
    let parts = (class, option::of(any::<u32>()), option::of(0..2_u32));
    let defined = parts.prop_map(|(traffic_class, spi, id)| {
        let flow: SdfFilter = "permit out 17 from any 53 to assigned".parse().expect("a flow");
        FilterDraft::Defined(SdfFilter { traffic_class, spi, id, ..flow })
    });
    vec(prop_oneof![4 => defined, 1 => (0..2_u32).prop_map(FilterDraft::Named)], 0..3)
}

fn any_endpoint_id() -> impl Strategy<Value = EndpointId> {
    (0..3_u8).prop_map(EndpointId)
}

fn any_endpoints() -> impl Strategy<Value = EndpointEdits> {
    let ue = || {
        option::of(Just(ue(UeSide::Source))).prop_map(|first| EndpointUe {
            choice: first.is_none().then(|| UeChoice {
                v4: true,
                v6: None,
                side: UeSide::Source,
                pools: vec![],
            }),
            first,
            further: Vec::new(),
        })
    };
    let draft = (any_endpoint_id(), option::of(any_request()), ue(), routes()).prop_map(
        |(id, tunnel, ue, framed)| EndpointDraft {
            id,
            tunnel,
            rest: Endpoint { ue, framed, ..Endpoint::default() },
        },
    );
    let update = (any_endpoint_id(), option::of(any_request()), setting(ue()), setting(routes())).prop_map(
        |(id, tunnel, ue, framed)| EndpointUpdate {
            id,
            tunnel,
            network_instance: Setting::Keep,
            ue,
            framed,
            qfis: Setting::Keep,
        },
    );
    (vec(any_endpoint_id(), 0..2), vec(draft, 0..2), vec(update, 0..2))
        .prop_map(|(remove, create, update)| EndpointEdits { remove, create, update })
}

fn any_pdr_update() -> impl Strategy<Value = PdrUpdate> {
    let lists =
        (option::of(vec((0..IDS).prop_map(QerId), 1..3)), option::of(vec((0..IDS).prop_map(UrrId), 1..3)));
    (any_pdr(), any::<[bool; 4]>(), lists).prop_map(|(draft, with, (qers, urrs))| PdrUpdate {
        id: draft.id,
        precedence: with[0].then_some(Precedence(7)),
        removal: set_if(with[1], draft.removal),
        vlan_removal: Setting::Keep,
        pdi: with[2].then_some(draft.pdi),
        far: with[3].then_some(draft.far),
        qers,
        urrs,
        activate: vec![],
        deactivate: vec![],
        active_from: set_if(with[1], draft.active_from),
        active_until: set_if(with[2], draft.active_until),
    })
}

fn any_far() -> impl Strategy<Value = Far> {
    (0..IDS).prop_flat_map(|id| far(id, vec![BarId(0), BarId(1), BarId(2)]))
}

fn any_far_update() -> impl Strategy<Value = FarUpdate> {
    let duplicates = setting(vec(any_duplicate_update(), 1..3));
    (any_far(), any::<[bool; 4]>(), any::<bool>(), duplicates, any_steering_update()).prop_map(
        |(far, with, end_marker, duplicates, steering)| {
            let forwarding = far.forwarding.map(|forwarding| ForwardingUpdate {
                destination: with[0].then_some(forwarding.destination),
                network_instance: set_if(with[1], forwarding.network_instance),
                outer: set_if(with[2], forwarding.outer),
                marking: set_if(true, forwarding.marking),
                vlan: Setting::Keep,
                steering,
                end_marker,
            });
            FarUpdate {
                id: far.id,
                action: with[3].then_some(far.action),
                delivery_status: with[3].then_some(far.delivery_status),
                duplicate: with[3].then_some(far.duplicate),
                duplicates,
                forwarding,
                bar: set_if(true, far.bar),
            }
        },
    )
}

fn any_steering_update() -> impl Strategy<Value = SteeringUpdate> {
    let policy = select(vec![known_policy(), PolicyName::new(b"unknown")]);
    (setting(redirect()), setting(replacement()), setting(policy))
        .prop_map(|(redirect, replacement, policy)| SteeringUpdate { redirect, replacement, policy })
}

fn redirect() -> impl Strategy<Value = Redirect> {
    let url = "[!-~]{1,20}".prop_filter_map("visible", |text| Url::new(&text)).prop_map(Redirect::Http);
    prop_oneof![url, new_end().prop_map(Redirect::Destination)]
}

fn new_end() -> impl Strategy<Value = NewEnd> {
    (option::of(1..9_u8), option::of(1..9_u16)).prop_map(|(last, port)| NewEnd {
        v4: last.map(|last| [203, 0, 113, last].into()),
        v6: None,
        port,
    })
}

fn replacement() -> impl Strategy<Value = Replacement> {
    (new_end(), new_end()).prop_map(|(source, destination)| Replacement { source, destination })
}

fn steering() -> impl Strategy<Value = Steering> {
    (option::of(redirect()), option::of(replacement()), option::of(Just(known_policy())))
        .prop_map(|(redirect, replacement, policy)| Steering { redirect, replacement, policy })
}

fn any_duplicate_update() -> impl Strategy<Value = DuplicateUpdate> {
    let outer = setting((1..9_u32).prop_map(|teid| OuterHeader::Gtpu(gnb(teid))));
    (any::<bool>(), outer).prop_map(|(with, outer)| DuplicateUpdate {
        destination: with.then_some(CopyTo::LiFunction),
        outer,
        policy: Setting::Keep,
    })
}

fn any_qer_update() -> impl Strategy<Value = QerUpdate> {
    let gates = option::of((gate(), gate()));
    let rates = (setting(rates()), setting(rates()), setting(window()), setting(packet_rates()));
    let marks = (setting(qfi()), setting(any::<bool>()), setting(ppi()), setting(flow_marking()));
    (0..IDS, setting(correlation()), gates, rates, setting(any::<bool>()), marks).prop_map(
        |(id, correlation, gates, (mbr, gbr, averaging_window, packet_rate), reports_packet_rate, marks)| {
            let (qfi, reflective, ppi, flow_marking) = marks;
            QerUpdate {
                id: QerId(id),
                correlation,
                gates,
                mbr,
                gbr,
                averaging_window,
                packet_rate,
                reports_packet_rate,
                qfi,
                reflective,
                ppi,
                flow_marking,
            }
        },
    )
}

fn any_bar_update() -> impl Strategy<Value = BarUpdate> {
    (0..IDS as u8, setting(1..9_u16)).prop_map(|(id, suggested_packets)| BarUpdate {
        id: BarId(id),
        notification_delay: None,
        suggested_packets,
    })
}
