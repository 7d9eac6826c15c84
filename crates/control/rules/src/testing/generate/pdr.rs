//! Random PDRs and changes of them.

use super::*;

pub(in crate::testing) fn tunnel() -> impl Strategy<Value = FTeid> {
    (1..6_u32)
        .prop_filter_map("not zero", Teid::new)
        .prop_map(|teid| FTeid { teid, addr: std::net::Ipv4Addr::new(192, 0, 2, 1).into() })
}

pub(in crate::testing) fn pdr(
    id: u16,
    fars: Vec<FarId>,
    qers: Vec<QerId>,
    urrs: Vec<UrrId>,
) -> impl Strategy<Value = Pdr> {
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

pub(in crate::testing) fn any_request() -> impl Strategy<Value = TunnelRequest> {
    let choose = (any::<bool>(), any::<bool>(), option::of(0..2_u8));
    prop_oneof![
        tunnel().prop_map(TunnelRequest::Assigned),
        choose.prop_map(|(v4, v6, choose_id)| TunnelRequest::Choose { v4, v6, choose_id }),
    ]
}

/// A UE address of the UPF's choice, from pools that may not exist.
pub(in crate::testing) fn any_ue_choice() -> impl Strategy<Value = UeChoice> {
    let pools = vec(select(vec![b"four".to_vec(), b"six".to_vec(), b"none".to_vec()]), 0..3);
    (any::<bool>(), option::of(select(vec![56_u8, 62, 64, 128])), pools)
        .prop_map(|(v4, v6, pools)| UeChoice { v4: v4 || v6.is_none(), v6, side: UeSide::Destination, pools })
}

pub(in crate::testing) fn any_pdr() -> impl Strategy<Value = PdrDraft> {
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

pub(in crate::testing) fn routes() -> impl Strategy<Value = Vec<IpNet>> {
    let route = (any::<u8>(), 8..=32_u8).prop_filter_map("a prefix", |(octet, len)| {
        IpNet::new([172, 16, octet, 0].into(), len).ok().map(|net| net.trunc())
    });
    vec(route, 0..3)
}

pub(in crate::testing) fn active() -> impl Strategy<Value = (Option<WallTime>, Option<WallTime>)> {
    let time = || option::of((1_u64..9).prop_map(WallTime::from_secs));
    (time(), time())
}

/// Filters of which some are bidirectional, as definitions or references.
pub(in crate::testing) fn any_filters() -> impl Strategy<Value = Vec<FilterDraft>> {
    let class = option::of((any::<u8>(), any::<u8>()).prop_map(|(value, mask)| TrafficClass { value, mask }));
    let parts = (class, option::of(any::<u32>()), option::of(0..2_u32));
    let defined = parts.prop_map(|(traffic_class, spi, id)| {
        let flow: SdfFilter = "permit out 17 from any 53 to assigned".parse().expect("a flow");
        FilterDraft::Defined(SdfFilter { traffic_class, spi, id, ..flow })
    });
    vec(prop_oneof![4 => defined, 1 => (0..2_u32).prop_map(FilterDraft::Named)], 0..3)
}

pub(in crate::testing) fn any_pdr_update() -> impl Strategy<Value = PdrUpdate> {
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
