use causeway_types::{FTeid, FarId, PdrId, Precedence, QerId, UrrId};

use crate::edits::{Changes, FarUpdate, ForwardingUpdate, PdrUpdate, Setting, TunnelRequest, UrrDraft};
use crate::testing::{
    CHOOSE, SESSION, World, answer, bar, buffering, downlink_pdr, gnb, to_gnb, to_internet, uplink_pdr, urr,
    usual,
};
use crate::{ApplyAction, Bar, Gate, GtpuRemoval, Op, Qer, Reason, Reporting, RuleId, delete};

fn far_update(id: u32) -> FarUpdate {
    FarUpdate { id: FarId(id), action: None, forwarding: None, bar: Setting::Keep }
}

fn pdr_update(id: u16) -> PdrUpdate {
    PdrUpdate {
        id: PdrId(id),
        precedence: None,
        pdi: None,
        removal: Setting::Keep,
        far: None,
        qers: None,
        urrs: None,
    }
}

fn open_qer(id: u32) -> Qer {
    Qer { id: QerId(id), uplink: Gate::Open, downlink: Gate::Open, mbr: None, qfi: None }
}

fn urr_draft(id: u32) -> UrrDraft {
    UrrDraft { urr: urr(id), reporting: Reporting::default() }
}

fn chosen_with_id(id: u8) -> TunnelRequest {
    TunnelRequest::Choose { v4: true, v6: false, choose_id: Some(id) }
}

/// What a plan writes, without the rules themselves.
fn names(ops: &[Op]) -> Vec<String> {
    let name = |op: &Op| match op {
        Op::PutBar(bar) => format!("put BAR {}", bar.id),
        Op::PutUrr(urr) => format!("put URR {}", urr.id),
        Op::PutQer(qer) => format!("put QER {}", qer.id),
        Op::PutFar(far) => format!("put FAR {}", far.id),
        Op::PutPdr(pdr) => format!("put PDR {}", pdr.id),
        Op::SendEndMarker { far, tunnel } => format!("end marker of FAR {far} to {}", tunnel.teid),
        other => format!("{other:?}"),
    };
    ops.iter().map(name).collect()
}

// Input:  a session with every kind of rule.
// Output: the session, then each rule before those that refer to it; one F-TEID of ours.
#[test]
fn establishment_writes_references_first() {
    let mut changes = usual();
    changes.bars.create = vec![Bar { suggested_packets: Some(20), ..bar(1) }];
    changes.fars.create[1] = crate::Far { bar: Some(causeway_types::BarId(1)), ..buffering(2) };
    changes.qers.create = vec![open_qer(1)];
    changes.urrs.create = vec![urr_draft(1)];
    changes.pdrs.create[0].qers = vec![QerId(1)];
    changes.pdrs.create[1].urrs = vec![UrrId(1)];
    let change = World::new().establish(changes).unwrap();
    let expected = [
        "CreateSession",
        "put BAR 1",
        "put URR 1",
        "put QER 1",
        "put FAR 1",
        "put FAR 2",
        "put PDR 1",
        "put PDR 2",
    ];
    assert_eq!(names(&change.plan.ops), expected);
    let [(pdr, tunnel)] = change.chosen[..] else { panic!("one tunnel was to be chosen") };
    assert_eq!((pdr, tunnel.addr.to_string().as_str()), (PdrId(1), "192.0.2.1"));
}

// Input:  CHOOSE with V4 and V6, where both are there; with V6 only; with V4 and V6 where IPv6 is not there.
// Output: both addresses; the IPv6 address; the IPv4 address.
#[test]
fn choose_yields_the_addresses_there_are() {
    for (v4, outer_ipv6, addr) in
        [(true, true, "192.0.2.1/2001:db8::1"), (false, true, "2001:db8::1"), (true, false, "192.0.2.1")]
    {
        let mut world = World::new();
        world.capabilities.outer_ipv6 = outer_ipv6;
        let mut changes = usual();
        changes.pdrs.create[0].pdi.tunnel = Some(TunnelRequest::Choose { v4, v6: true, choose_id: None });
        let change = world.establish(changes).unwrap();
        assert_eq!(change.chosen[0].1.addr.to_string(), addr);
    }
}

// Input:  CHOOSE for IPv6 where there is only IPv4.
// Output: Invalid F-TEID allocation option, with the F-TEID as offending IE.
#[test]
fn choose_of_a_version_that_is_not_there() {
    let mut world = World::new();
    world.endpoints.gtpu[0].addr.v6 = None;
    let mut changes = usual();
    changes.pdrs.create[0].pdi.tunnel = Some(TunnelRequest::Choose { v4: false, v6: true, choose_id: None });
    let rejection = world.establish(changes).unwrap_err();
    assert_eq!(rejection.reason, Reason::NoAddressToChoose);
    assert_eq!(answer(&rejection), (71, Some(21)));
}

// Input:  two PDRs with CHOOSE ID 5 in the establishment, a third in a later modification (a dedicated QoS
//         flow), and one with CHOOSE ID 10 (indirect forwarding).
// Output: the first three share a tunnel, the last has its own; all are reported back.
#[test]
fn a_choose_id_stands_for_one_tunnel_in_the_whole_session() {
    let mut world = World::new();
    let mut changes = usual();
    changes.pdrs.create =
        vec![uplink_pdr(1, chosen_with_id(5), 1), uplink_pdr(3, chosen_with_id(5), 1), downlink_pdr(2, 2)];
    let change = world.establish(changes).unwrap();
    let shared = change.chosen[0].1;
    assert_eq!(change.chosen, [(PdrId(1), shared), (PdrId(3), shared)]);
    world.keep(change);

    let mut changes = Changes::default();
    changes.pdrs.create = vec![uplink_pdr(4, chosen_with_id(5), 1), uplink_pdr(5, chosen_with_id(10), 2)];
    let change = world.modify(changes).unwrap();
    let other = change.chosen[1].1;
    assert_eq!(change.chosen, [(PdrId(4), shared), (PdrId(5), other)]);
    assert_ne!(shared.teid, other.teid);
    world.keep(change);
    assert_eq!(world.tunnels.in_use(), 2);
}

// Input:  every PDR of a CHOOSE ID is removed, then the CHOOSE ID comes again.
// Output: a tunnel of its own; the old one is free.
#[test]
fn a_choose_id_ends_with_its_last_pdr() {
    let mut changes = usual();
    changes.pdrs.create[0].pdi.tunnel = Some(chosen_with_id(5));
    let mut world = World::with(changes);
    let first = world.session.tunnels();
    let change = world.modify(Changes { pdrs: removal(1), ..Changes::default() }).unwrap();
    world.keep(change);
    assert_eq!(world.tunnels.in_use(), 0);
    let mut changes = Changes::default();
    changes.pdrs.create = vec![uplink_pdr(1, chosen_with_id(5), 1)];
    let change = world.modify(changes).unwrap();
    assert!(!first.contains(&change.chosen[0].1));
}

fn removal<C, U>(pdr: u16) -> crate::edits::Edits<PdrId, C, U> {
    crate::edits::Edits { remove: vec![PdrId(pdr)], create: vec![], update: vec![] }
}

// Input:  one TEID, and a session that asks for two; then one that asks for one.
// Output: No resources available, nothing taken; then accepted.
#[test]
fn exhausted_teids_are_said_and_not_lost() {
    let mut world = World::new();
    world.tunnels = crate::Tunnels::new(1, 0);
    let mut changes = usual();
    changes.pdrs.create.push(uplink_pdr(3, CHOOSE, 1));
    let rejection = world.establish(changes).unwrap_err();
    assert_eq!((rejection.rule, answer(&rejection)), (Some(RuleId::Pdr(PdrId(3))), (75, None)));
    assert!(world.establish(usual()).is_ok());
}

// Input:  an F-TEID that the SMF assigned: ours, another UPF's, another session's.
// Output: accepted; refused as foreign; refused as in use, each with cause 73 and the PDR.
#[test]
fn tunnels_that_the_smf_assigned() {
    let with = |tunnel: FTeid| {
        let mut changes = usual();
        changes.pdrs.create[0].pdi.tunnel = Some(TunnelRequest::Assigned(tunnel));
        changes
    };
    let ours = FTeid { addr: std::net::Ipv4Addr::new(192, 0, 2, 1).into(), ..gnb(0xabcd) };
    let mut world = World::with(with(ours));
    assert_eq!(world.session.tunnels().first(), Some(&ours));

    let foreign = World::new().establish(with(gnb(7))).unwrap_err();
    assert_eq!(foreign.reason, Reason::ForeignTunnel(gnb(7)));
    let context = crate::Context { capabilities: &world.capabilities, endpoints: &world.endpoints };
    let second =
        super::establish_with(with(ours), causeway_types::Seid(2), &context, &mut world.tunnels).unwrap_err();
    assert_eq!(second.reason, Reason::TunnelInUse(ours));
    for rejection in [foreign, second] {
        assert_eq!(answer(&rejection), (73, Some(21)));
        assert_eq!(rejection.failed_rule(), Some(RuleId::Pdr(PdrId(1)).into()));
    }
}

// Input:  an idle UE is called: the buffering FAR gets its first forwarding parameters and FORW.
// Output: one write, of that FAR.
#[test]
fn a_service_request_writes_one_far() {
    let mut changes = usual();
    changes.fars.create[1] = buffering(2);
    let mut world = World::with(changes);
    let mut changes = Changes::default();
    let forwarding = ForwardingUpdate {
        destination: Some(causeway_types::Interface::Access),
        tunnel: Setting::Set(gnb(0x200)),
        ..ForwardingUpdate::default()
    };
    changes.fars.update =
        vec![FarUpdate { action: Some(ApplyAction::Forward), forwarding: Some(forwarding), ..far_update(2) }];
    let change = world.modify(changes).unwrap();
    assert_eq!(change.plan.ops, [Op::PutFar(to_gnb(2, gnb(0x200)))]);
    assert_eq!(change.chosen, []);
}

/// A handover of FARs to another tunnel, with SNDEM.
fn handover(fars: &[u32], tunnel: FTeid) -> Changes {
    let forwarding =
        ForwardingUpdate { tunnel: Setting::Set(tunnel), end_marker: true, ..ForwardingUpdate::default() };
    let mut changes = Changes::default();
    changes.fars.update = fars
        .iter()
        .map(|far| FarUpdate { forwarding: Some(forwarding.clone()), ..far_update(*far) })
        .collect();
    changes
}

// Input:  a handover of two FARs that share a tunnel, both with SNDEM.
// Output: one End Marker to the old tunnel, after the write of the first FAR (open5gs#1514 sent two).
#[test]
fn a_handover_sends_one_end_marker() {
    let mut changes = usual();
    changes.fars.create.push(to_gnb(3, gnb(0x100)));
    let mut world = World::with(changes);
    let change = world.modify(handover(&[2, 3], gnb(0x200))).unwrap();
    assert_eq!(names(&change.plan.ops), ["put FAR 2", "end marker of FAR 2 to 0x00000100", "put FAR 3"]);
}

// Input:  SNDEM with the same tunnel as before; with a FAR that had none.
// Output: no End Marker.
#[test]
fn no_old_tunnel_no_end_marker() {
    let mut world = World::with(usual());
    assert_eq!(world.modify(handover(&[2], gnb(0x100))).unwrap().plan.ops, []);
    let change = world.modify(handover(&[1], gnb(0x300))).unwrap();
    assert_eq!(names(&change.plan.ops), ["put FAR 1"]);
}

// Input:  SNDEM, and a data plane that sends no End Markers.
// Output: Service not supported; not accepted and forgotten.
#[test]
fn end_markers_need_a_data_plane_that_sends_them() {
    let mut world = World::with(usual());
    world.capabilities.end_marker = false;
    let rejection = world.modify(handover(&[2], gnb(0x200))).unwrap_err();
    assert_eq!(answer(&rejection), (76, Some(49)));
}

// Input:  a QER and a URR are removed while a PDR still names them, and says nothing new.
// Output: the PDR is written without them, then they are removed.
#[test]
fn a_removed_qer_or_urr_leaves_its_pdrs() {
    let mut changes = usual();
    changes.qers.create = vec![open_qer(1), open_qer(2)];
    changes.urrs.create = vec![urr_draft(1)];
    changes.pdrs.create[1].qers = vec![QerId(1), QerId(2)];
    changes.pdrs.create[1].urrs = vec![UrrId(1)];
    let mut world = World::with(changes);
    let mut changes = Changes::default();
    changes.qers.remove = vec![QerId(1)];
    changes.urrs.remove = vec![UrrId(1)];
    let change = world.modify(changes).unwrap();
    let expected = ["put PDR 2", "RemoveQer(QerId(1))", "RemoveUrr(UrrId(1))"];
    assert_eq!(names(&change.plan.ops), expected);
    let pdr = &change.session.rules().pdrs[&PdrId(2)];
    assert_eq!((&pdr.qers[..], &pdr.urrs[..]), (&[QerId(2)][..], &[][..]));
}

// Input:  a PDR and its FAR are removed together; a FAR is removed while its PDR stays.
// Output: the PDR goes first; refused, naming the PDR.
#[test]
fn a_far_goes_after_its_pdrs_or_not_at_all() {
    let mut world = World::with(usual());
    let mut changes = Changes { pdrs: removal(2), ..Changes::default() };
    changes.fars.remove = vec![FarId(2)];
    let change = world.modify(changes.clone()).unwrap();
    assert_eq!(change.plan.ops, [Op::RemovePdr(PdrId(2)), Op::RemoveFar(FarId(2))]);
    world.tunnels.abandon(change.tunnels);
    changes.pdrs.remove.clear();
    let rejection = world.modify(changes).unwrap_err();
    assert_eq!(rejection.reason, Reason::Dangling(RuleId::Far(FarId(2))));
    assert_eq!(rejection.failed_rule(), Some(RuleId::Pdr(PdrId(2)).into()));
}

// Input:  rules created twice, removed and updated, removed twice, updated though absent, queried though absent.
// Output: cause 73 and the rule, whatever its kind.
#[test]
fn changes_that_do_not_fit_name_their_rule() {
    type Case = (fn(&mut Changes), RuleId, Reason);
    let cases: [Case; 6] = [
        (|it| it.fars.create = vec![to_internet(1)], RuleId::Far(FarId(1)), Reason::RuleExists),
        (|it| it.qers.create = vec![open_qer(7), open_qer(7)], RuleId::Qer(QerId(7)), Reason::RuleTwice),
        (|it| it.pdrs.remove = vec![PdrId(1), PdrId(1)], RuleId::Pdr(PdrId(1)), Reason::RuleTwice),
        (|it| it.fars.update = vec![far_update(9)], RuleId::Far(FarId(9)), Reason::RuleUnknown),
        (|it| it.query = [UrrId(3)].into(), RuleId::Urr(UrrId(3)), Reason::RuleUnknown),
        (
            |it| {
                it.pdrs.remove = vec![PdrId(1)];
                it.pdrs.update = vec![pdr_update(1)];
            },
            RuleId::Pdr(PdrId(1)),
            Reason::RuleTwice,
        ),
    ];
    let mut world = World::with(usual());
    for (ask, rule, reason) in cases {
        let mut changes = Changes::default();
        ask(&mut changes);
        let rejection = world.modify(changes).unwrap_err();
        assert_eq!((rejection.failed_rule(), &rejection.reason), (Some(rule.into()), &reason));
        assert_eq!(answer(&rejection), (73, None));
    }
}

// Input:  a PDR is updated with everything absent but its precedence; then with nothing at all.
// Output: the rest stays; nothing is written.
#[test]
fn what_an_update_does_not_name_stays() {
    let mut world = World::with(usual());
    let mut changes = Changes::default();
    changes.pdrs.update = vec![PdrUpdate { precedence: Some(Precedence(5)), ..pdr_update(1) }];
    let before = world.session.rules().pdrs[&PdrId(1)].clone();
    let change = world.modify(changes).unwrap();
    assert_eq!(change.plan.ops, [Op::PutPdr(crate::Pdr { precedence: Precedence(5), ..before })]);
    world.keep(change);
    let changes = Changes { pdrs: updates(pdr_update(1)), ..Changes::default() };
    assert_eq!(world.modify(changes).unwrap().plan.ops, []);
}

fn updates<C>(update: PdrUpdate) -> crate::edits::Edits<PdrId, C, PdrUpdate> {
    crate::edits::Edits { remove: vec![], create: vec![], update: vec![update] }
}

// Input:  a modification adds a flow description; its PDI has neither F-TEID nor UE address (as Open5GS
//         sends it), or has CHOOSE again.
// Output: the PDR keeps its tunnel and UE address and has the filter.
#[test]
fn a_flow_description_added_later() {
    for tunnel in [None, Some(CHOOSE)] {
        let mut world = World::with(usual());
        let held = world.session.rules().pdrs[&PdrId(1)].pdi.clone();
        let mut pdi = uplink_pdr(1, CHOOSE, 1).pdi;
        pdi.ue = pdi.ue.filter(|_| tunnel.is_some());
        pdi.tunnel = tunnel;
        pdi.filters = vec!["permit out 17 from any 53 to assigned".parse().unwrap()];
        let filters = pdi.filters.clone();
        let changes =
            Changes { pdrs: updates(PdrUpdate { pdi: Some(pdi), ..pdr_update(1) }), ..Changes::default() };
        let change = world.modify(changes).unwrap();
        assert_eq!(change.session.rules().pdrs[&PdrId(1)].pdi, crate::Pdi { filters, ..held });
    }
}

// Input:  Outer Header Removal names IPv6, as for an IPv6 user, and the chosen tunnel is IPv4 or both.
// Output: accepted as whichever version arrives.
#[test]
fn outer_header_removal_by_the_users_version() {
    for request in [CHOOSE, TunnelRequest::Choose { v4: true, v6: true, choose_id: None }] {
        let mut changes = usual();
        changes.pdrs.create[0].pdi.tunnel = Some(request);
        changes.pdrs.create[0].removal = Some(GtpuRemoval::Ipv6);
        let change = World::new().establish(changes).unwrap();
        assert_eq!(change.session.rules().pdrs[&PdrId(1)].removal, Some(GtpuRemoval::Any));
    }
}

// Input:  all URRs are queried; one of them is removed and another one changed by the same message.
// Output: those that stay are queried before anything is written; the removed one reports by its removal.
#[test]
fn a_query_comes_before_the_changes() {
    let mut changes = usual();
    changes.urrs.create = vec![urr_draft(1), urr_draft(2)];
    let mut world = World::with(changes);
    let mut changes = Changes { query_all: true, query: [UrrId(1)].into(), ..Changes::default() };
    changes.urrs.remove = vec![UrrId(2)];
    changes.urrs.create = vec![urr_draft(3)];
    let change = world.modify(changes).unwrap();
    let expected = ["QueryUrr(UrrId(1))", "put URR 3", "RemoveUrr(UrrId(2))"];
    assert_eq!(names(&change.plan.ops), expected);
}

// Input:  the end of a session.
// Output: one write; its tunnel is free once that is done, not before.
#[test]
fn deletion_gives_everything_back() {
    let mut world = World::with(usual());
    let change = delete(&world.session, SESSION);
    assert_eq!(change.plan.ops, [Op::RemoveSession]);
    assert_eq!(world.tunnels.in_use(), 1);
    world.keep(change);
    assert_eq!((world.tunnels.in_use(), world.tunnels.available()), (0, 100));
}
