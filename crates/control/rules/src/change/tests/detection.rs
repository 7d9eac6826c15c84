//! Bidirectional filters and traffic endpoints: what PDRs of a session share.

use causeway_model::{Op, SdfFilter, UeSide};
use causeway_types::{Interface, PdrId};

use super::{pdr_update, updates};
use crate::Reason;
use crate::edits::{
    Endpoint, EndpointDraft, EndpointId, EndpointUe, EndpointUpdate, FilterDraft, PdiDraft, PdrUpdate,
    RequestedChanges, Setting,
};
use crate::testing::{CHOOSE, TestUpf, answer, downlink_pdr, ue, uplink_pdr, usual};

fn filter(text: &str, id: u32) -> FilterDraft {
    let filter: SdfFilter = text.parse().unwrap();
    FilterDraft::Defined(SdfFilter { id: Some(id), ..filter })
}

const DNS: &str = "permit out 17 from any 53 to assigned";
const WEB: &str = "permit out 6 from any 80 to assigned";

/// The usual session; the uplink PDR defines filter 7, the downlink PDR refers to it.
fn bidirectional() -> RequestedChanges {
    let mut changes = usual();
    changes.pdrs.create[0].pdi.filters = vec![filter(DNS, 7)];
    changes.pdrs.create[1].pdi.filters = vec![FilterDraft::Named(7)];
    changes
}

fn flows(upf: &TestUpf, pdr: u16) -> Vec<String> {
    upf.session.rules().pdrs[&PdrId(pdr)].pdi.filters.iter().map(|filter| filter.flow.to_string()).collect()
}

// Input:  a filter with SDF Filter ID 7 in one PDR, ID 7 alone in the other; then the first is changed, and then
// removed; a new PDR refers to it.
// Output: both have the filter; both have the new one; the second keeps it, and the new PDR gets it.
#[test]
fn a_bidirectional_filter_is_one_filter() {
    let mut upf = TestUpf::with(bidirectional());
    assert_eq!(flows(&upf, 2), [DNS]);
    let pdi = PdiDraft { filters: vec![filter(WEB, 7)], ..uplink_pdr(1, CHOOSE, 1).pdi };
    let changed = RequestedChanges {
        pdrs: updates(PdrUpdate { pdi: Some(pdi), ..pdr_update(1) }),
        ..RequestedChanges::default()
    };
    let change = upf.modify(changed).unwrap();
    assert_eq!(change.plan.ops().len(), 2, "both PDRs are written");
    upf.keep(change);
    assert_eq!(flows(&upf, 2), [WEB]);
    let mut last = RequestedChanges::default();
    last.pdrs.remove = vec![PdrId(1)];
    let mut third = uplink_pdr(3, CHOOSE, 1);
    third.pdi.filters = vec![FilterDraft::Named(7)];
    last.pdrs.create = vec![third];
    let change = upf.modify(last).unwrap();
    upf.keep(change);
    assert_eq!((flows(&upf, 2), flows(&upf, 3)), (vec![WEB.to_owned()], vec![WEB.to_owned()]));
}

// Input:  an SDF Filter ID that nothing defines; one that two PDRs of a message define differently.
// Output: the SDF Filter is incorrect.
#[test]
fn a_filter_id_means_one_filter() {
    let mut unknown = bidirectional();
    unknown.pdrs.create[0].pdi.filters = vec![filter(DNS, 8)];
    assert_eq!(answer(&TestUpf::new().establish(unknown).unwrap_err()), (69, Some(23)));
    let mut twice = bidirectional();
    twice.pdrs.create[1].pdi.filters = vec![filter(WEB, 7)];
    assert_eq!(answer(&TestUpf::new().establish(twice).unwrap_err()), (69, Some(23)));
    let mut same = bidirectional();
    same.pdrs.create[1].pdi.filters = vec![filter(DNS, 7)];
    assert!(TestUpf::new().establish(same).is_ok());
}

fn endpoint(id: u8) -> EndpointDraft {
    let ue = EndpointUe { first: Some(ue(UeSide::Source)), further: Vec::new(), choice: None };
    EndpointDraft { id: EndpointId(id), tunnel: Some(CHOOSE), rest: Endpoint { ue, ..Endpoint::default() } }
}

/// The usual session whose uplink PDRs, 1 and 3, refer to traffic endpoint 5.
fn at_an_endpoint() -> RequestedChanges {
    let mut changes = usual();
    let pdi = PdiDraft { endpoint: Some(EndpointId(5)), ..PdiDraft::new(Interface::Access) };
    changes.endpoints.create = vec![endpoint(5)];
    changes.pdrs.create[0].pdi = pdi.clone();
    let mut third = uplink_pdr(3, CHOOSE, 1);
    third.pdi = PdiDraft { filters: vec![filter(DNS, 1)], ..pdi };
    changes.pdrs.create.push(third);
    changes
}

// Input:  two PDRs at a traffic endpoint whose F-TEID is to be chosen.
// Output: one tunnel for both, reported for the endpoint and for no PDR.
#[test]
fn an_endpoint_gives_its_pdrs_one_tunnel() {
    let change = TestUpf::new().establish(at_an_endpoint()).unwrap();
    assert!(change.chosen.is_empty());
    let created = change.created_traffic_endpoints();
    assert_eq!((created.len(), created[0].traffic_endpoint_id.0), (1, 5));
    let pdrs = &change.session.rules().pdrs;
    assert!(pdrs[&PdrId(1)].pdi.tunnel.is_some());
    assert_eq!(pdrs[&PdrId(1)].pdi.tunnel, pdrs[&PdrId(3)].pdi.tunnel);
    assert_eq!(pdrs[&PdrId(3)].pdi.ue, Some(ue(UeSide::Source)));
}

// Input:  the endpoint gets another UE address; then it is removed.
// Output: every PDR at it has the new address; every PDR at it is removed, and its tunnel is released.
#[test]
fn pdrs_follow_their_endpoint() {
    let mut upf = TestUpf::with(at_an_endpoint());
    let mut other = ue(UeSide::Source);
    other.v4 = Some([10, 45, 0, 77].into());
    let mut change = RequestedChanges::default();
    change.endpoints.update = vec![EndpointUpdate {
        id: EndpointId(5),
        tunnel: None,
        network_instance: Setting::Keep,
        ue: Setting::Set(EndpointUe { first: Some(other), further: Vec::new(), choice: None }),
        framed: Setting::Keep,
        qfis: Setting::Keep,
    }];
    let change = upf.modify(change).unwrap();
    upf.keep(change);
    assert_eq!(upf.session.rules().pdrs[&PdrId(1)].pdi.ue, Some(other));
    assert_eq!(upf.session.rules().pdrs[&PdrId(3)].pdi.ue, Some(other));
    let mut removal = RequestedChanges::default();
    removal.endpoints.remove = vec![EndpointId(5)];
    let change = upf.modify(removal).unwrap();
    assert_eq!(change.plan.ops()[..], [Op::RemovePdr(PdrId(1)), Op::RemovePdr(PdrId(3))]);
    upf.keep(change);
    assert_eq!(upf.resources.tunnels().in_use(), 0);
}

// Input:  a PDI at an endpoint that does not exist; one that repeats the endpoint's UE address; an endpoint
//         created twice; one removed that is not there.
// Output: each refused, with its cause and the offending IE.
#[test]
fn wrong_endpoints_are_refused() {
    let mut unknown = at_an_endpoint();
    unknown.endpoints.create[0].id = EndpointId(6);
    assert_eq!(answer(&TestUpf::new().establish(unknown).unwrap_err()), (73, Some(131)));
    let mut both = at_an_endpoint();
    both.pdrs.create[0].pdi.ue = downlink_pdr(2, 2).pdi.ue;
    assert_eq!(answer(&TestUpf::new().establish(both).unwrap_err()), (69, Some(93)));
    let mut twice = at_an_endpoint();
    twice.endpoints.create.push(endpoint(5));
    assert_eq!(answer(&TestUpf::new().establish(twice).unwrap_err()), (73, Some(131)));
    let mut gone = RequestedChanges::default();
    gone.endpoints.remove = vec![EndpointId(9)];
    let rejection = TestUpf::with(at_an_endpoint()).modify(gone).unwrap_err();
    assert_eq!(rejection.reason, Reason::Endpoint { id: 9, what: "does not exist" });
}
