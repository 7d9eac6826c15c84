mod detection;
mod forwarding;
mod tunnels;
mod ues;

use causeway_model::{Bar, Op, Plan, Qer, RuleId, SdfFilter};
use causeway_types::{FarId, PdrId, Precedence, QerId, UrrId};

use crate::edits::{FarUpdate, FilterDraft, PdrUpdate, RequestedChanges, Setting, UrrDraft};
use crate::rejection::failed_rule_id;
use crate::testing::{CHOOSE, SESSION, TestUpf, answer, bar, buffering, to_internet, uplink_pdr, urr, usual};
use crate::{Reason, delete};

fn far_update(id: u32) -> FarUpdate {
    FarUpdate {
        id: FarId(id),
        action: None,
        delivery_status: None,
        duplicate: None,
        forwarding: None,
        duplicates: Setting::Keep,
        bar: Setting::Keep,
    }
}

fn pdr_update(id: u16) -> PdrUpdate {
    PdrUpdate {
        id: PdrId(id),
        precedence: None,
        pdi: None,
        removal: Setting::Keep,
        vlan_removal: Setting::Keep,
        far: None,
        qers: None,
        urrs: None,
        activate: vec![],
        deactivate: vec![],
        active_from: Setting::Keep,
        active_until: Setting::Keep,
    }
}

fn open_qer(id: u32) -> Qer {
    Qer::new(QerId(id))
}

fn urr_draft(id: u32) -> UrrDraft {
    UrrDraft::of(urr(id))
}

/// The kind of each write of a plan, without its rule.
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

fn removal<C, U>(pdr: u16) -> crate::edits::Edits<PdrId, C, U> {
    crate::edits::Edits { remove: vec![PdrId(pdr)], create: vec![], update: vec![] }
}

fn updates<C>(update: PdrUpdate) -> crate::edits::Edits<PdrId, C, PdrUpdate> {
    crate::edits::Edits { remove: vec![], create: vec![], update: vec![update] }
}

// Input:  a session with every kind of rule.
// Output: the session, then each rule before those that refer to it; one local F-TEID.
#[test]
fn establishment_writes_references_first() {
    let mut changes = usual();
    changes.bars.create = vec![Bar { suggested_packets: Some(20), ..bar(1) }];
    changes.fars.create[1] = causeway_model::Far { bar: Some(causeway_types::BarId(1)), ..buffering(2) };
    changes.qers.create = vec![open_qer(1)];
    changes.urrs.create = vec![urr_draft(1)];
    changes.pdrs.create[0].qers = vec![QerId(1)];
    changes.pdrs.create[1].urrs = vec![UrrId(1)];
    let change = TestUpf::new().establish(changes).unwrap();
    let expected =
        ["put BAR 1", "put QER 1", "put FAR 1", "put FAR 2", "put URR 1", "put PDR 1", "put PDR 2"];
    assert_eq!(names(&change.plan.ops()), expected);
    let [(pdr, tunnel)] = change.chosen[..] else { panic!("one tunnel was to be chosen") };
    assert_eq!((pdr, tunnel.addr.to_string().as_str()), (PdrId(1), "192.0.2.1"));
}

// Input:  a QER and a URR are removed while a PDR still refers to them, and is not updated.
// Output: the PDR is written without them, then they are removed.
#[test]
fn a_removed_qer_or_urr_leaves_its_pdrs() {
    let mut changes = usual();
    changes.qers.create = vec![open_qer(1), open_qer(2)];
    changes.urrs.create = vec![urr_draft(1)];
    changes.pdrs.create[1].qers = vec![QerId(1), QerId(2)];
    changes.pdrs.create[1].urrs = vec![UrrId(1)];
    let mut upf = TestUpf::with(changes);
    let mut changes = RequestedChanges::default();
    changes.qers.remove = vec![QerId(1)];
    changes.urrs.remove = vec![UrrId(1)];
    let change = upf.modify(changes).unwrap();
    let expected = ["put PDR 2", "RemoveUrr(UrrId(1))", "RemoveQer(QerId(1))"];
    assert_eq!(names(&change.plan.ops()), expected);
    let pdr = &change.session.rules().pdrs[&PdrId(2)];
    assert_eq!((&pdr.qers[..], &pdr.urrs[..]), (&[QerId(2)][..], &[][..]));
}

// Input:  a PDR and its FAR are removed together; a FAR is removed while its PDR stays.
// Output: the PDR is removed first; refused, with the PDR as the failed rule.
#[test]
fn a_far_goes_after_its_pdrs_or_not_at_all() {
    let mut upf = TestUpf::with(usual());
    let mut changes = RequestedChanges { pdrs: removal(2), ..RequestedChanges::default() };
    changes.fars.remove = vec![FarId(2)];
    let change = upf.modify(changes.clone()).unwrap();
    assert_eq!(change.plan.ops()[..], [Op::RemovePdr(PdrId(2)), Op::RemoveFar(FarId(2))]);
    upf.resources.abandon(change.resources);
    changes.pdrs.remove.clear();
    let rejection = upf.modify(changes).unwrap_err();
    assert_eq!(rejection.reason, Reason::DanglingReference(RuleId::Far(FarId(2))));
    assert_eq!(rejection.failed_rule(), Some(failed_rule_id(RuleId::Pdr(PdrId(2)))));
}

// Input:  rules created twice, removed and updated, removed twice, updated though absent, queried though absent.
// Output: cause 73 and the rule, whatever its kind.
#[test]
fn changes_that_do_not_fit_name_their_rule() {
    type Case = (fn(&mut RequestedChanges), RuleId, Reason);
    let cases: [Case; 6] = [
        (|it| it.fars.create = vec![to_internet(1)], RuleId::Far(FarId(1)), Reason::RuleExists),
        (|it| it.qers.create = vec![open_qer(7), open_qer(7)], RuleId::Qer(QerId(7)), Reason::DuplicateRule),
        (|it| it.pdrs.remove = vec![PdrId(1), PdrId(1)], RuleId::Pdr(PdrId(1)), Reason::DuplicateRule),
        (|it| it.fars.update = vec![far_update(9)], RuleId::Far(FarId(9)), Reason::RuleUnknown),
        (|it| it.query = [UrrId(3)].into(), RuleId::Urr(UrrId(3)), Reason::RuleUnknown),
        (
            |it| {
                it.pdrs.remove = vec![PdrId(1)];
                it.pdrs.update = vec![pdr_update(1)];
            },
            RuleId::Pdr(PdrId(1)),
            Reason::DuplicateRule,
        ),
    ];
    let mut upf = TestUpf::with(usual());
    for (ask, rule, reason) in cases {
        let mut changes = RequestedChanges::default();
        ask(&mut changes);
        let rejection = upf.modify(changes).unwrap_err();
        assert_eq!((rejection.failed_rule(), &rejection.reason), (Some(failed_rule_id(rule)), &reason));
        assert_eq!(answer(&rejection), (73, None));
    }
}

// Input:  a PDR is updated with everything absent but its precedence; then with nothing at all.
// Output: everything else stays; nothing is written.
#[test]
fn what_an_update_does_not_name_stays() {
    let mut upf = TestUpf::with(usual());
    let mut changes = RequestedChanges::default();
    changes.pdrs.update = vec![PdrUpdate { precedence: Some(Precedence(5)), ..pdr_update(1) }];
    let before = upf.session.rules().pdrs[&PdrId(1)].clone();
    let change = upf.modify(changes).unwrap();
    assert_eq!(
        change.plan.ops()[..],
        [Op::PutPdr(causeway_model::Pdr { precedence: Precedence(5), ..before }.into())]
    );
    upf.keep(change);
    let changes = RequestedChanges { pdrs: updates(pdr_update(1)), ..RequestedChanges::default() };
    assert_eq!(upf.modify(changes).unwrap().plan.ops()[..], []);
}

// Input:  a modification adds a flow description; its PDI has neither F-TEID nor UE address (as Open5GS
//         sends it), or has CHOOSE again.
// Output: the PDR keeps its tunnel and UE address and has the filter.
#[test]
fn a_flow_description_added_later() {
    for tunnel in [None, Some(CHOOSE)] {
        let mut upf = TestUpf::with(usual());
        let held = upf.session.rules().pdrs[&PdrId(1)].pdi.clone();
        let mut pdi = uplink_pdr(1, CHOOSE, 1).pdi;
        pdi.ue = pdi.ue.filter(|_| tunnel.is_some());
        pdi.tunnel = tunnel;
        let filters: Vec<SdfFilter> = vec!["permit out 17 from any 53 to assigned".parse().unwrap()];
        pdi.filters = filters.iter().cloned().map(FilterDraft::Defined).collect();
        let changes = RequestedChanges {
            pdrs: updates(PdrUpdate { pdi: Some(pdi), ..pdr_update(1) }),
            ..RequestedChanges::default()
        };
        let change = upf.modify(changes).unwrap();
        assert_eq!(change.session.rules().pdrs[&PdrId(1)].pdi, causeway_model::Pdi { filters, ..held });
    }
}

// Input:  all URRs are queried; one of them is removed and another one changed by the same message.
// Output: the remaining ones are queried before anything is written; the removed one reports by its removal.
#[test]
fn a_query_comes_before_the_changes() {
    let mut changes = usual();
    changes.urrs.create = vec![urr_draft(1), urr_draft(2)];
    let mut upf = TestUpf::with(changes);
    let mut changes =
        RequestedChanges { query_all: true, query: [UrrId(1)].into(), ..RequestedChanges::default() };
    changes.urrs.remove = vec![UrrId(2)];
    changes.urrs.create = vec![urr_draft(3)];
    let change = upf.modify(changes).unwrap();
    let expected = ["QueryUrr(UrrId(1))", "put URR 3", "RemoveUrr(UrrId(2))"];
    assert_eq!(names(&change.plan.ops()), expected);
}

// Input:  the end of a session.
// Output: one write; its tunnel is free after the commit, not before.
#[test]
fn deletion_gives_everything_back() {
    let mut upf = TestUpf::with(usual());
    let change = delete(&upf.session, SESSION);
    assert_eq!(change.plan, Plan::removal(SESSION));
    assert_eq!(upf.resources.tunnels().in_use(), 1);
    upf.keep(change);
    assert_eq!((upf.resources.tunnels().in_use(), upf.resources.tunnels().available()), (0, 100));
}
