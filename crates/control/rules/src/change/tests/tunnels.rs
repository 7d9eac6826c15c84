//! Which tunnels a session gets.

use causeway_model::{HeaderRemoval, RuleId};
use causeway_types::{FTeid, PdrId, Seid};

use super::removal;
use crate::change::establish_with;
use crate::edits::{RequestedChanges, TunnelRequest};
use crate::rejection::failed_rule_id;
use crate::testing::{CHOOSE, TestUpf, answer, downlink_pdr, gnb, uplink_pdr, usual};
use crate::{Context, Reason, Tunnels};

fn chosen_with_id(id: u8) -> TunnelRequest {
    TunnelRequest::Choose { v4: true, v6: false, choose_id: Some(id) }
}

// Input:  CHOOSE with V4 and V6 at an endpoint with both; with V6 only; with V4 and V6 at an endpoint without IPv6.
// Output: both addresses; the IPv6 address; the IPv4 address.
#[test]
fn choose_yields_the_addresses_there_are() {
    for (v4, outer_ipv6, addr) in
        [(true, true, "192.0.2.1/2001:db8::1"), (false, true, "2001:db8::1"), (true, false, "192.0.2.1")]
    {
        let mut upf = TestUpf::new();
        upf.capabilities.outer_ipv6 = outer_ipv6;
        let mut changes = usual();
        changes.pdrs.create[0].pdi.tunnel = Some(TunnelRequest::Choose { v4, v6: true, choose_id: None });
        let change = upf.establish(changes).unwrap();
        assert_eq!(change.chosen[0].1.addr.to_string(), addr);
    }
}

// Input:  CHOOSE for IPv6 at an endpoint with IPv4 only.
// Output: Invalid F-TEID allocation option, with the F-TEID as offending IE.
#[test]
fn choose_of_a_version_that_is_not_there() {
    let mut upf = TestUpf::new();
    upf.endpoints.gtpu[0].addr.v6 = None;
    let mut changes = usual();
    changes.pdrs.create[0].pdi.tunnel = Some(TunnelRequest::Choose { v4: false, v6: true, choose_id: None });
    let rejection = upf.establish(changes).unwrap_err();
    assert_eq!(rejection.reason, Reason::NoAddressToChoose);
    assert_eq!(answer(&rejection), (71, Some(21)));
}

// Input:  two PDRs with CHOOSE ID 5 in the establishment, a third in a later modification (a dedicated QoS
//         flow), and one with CHOOSE ID 10 (indirect forwarding).
// Output: the first three share a tunnel, the last has a separate one; all are reported in the response.
#[test]
fn a_choose_id_stands_for_one_tunnel_in_the_whole_session() {
    let mut upf = TestUpf::new();
    let mut changes = usual();
    changes.pdrs.create =
        vec![uplink_pdr(1, chosen_with_id(5), 1), uplink_pdr(3, chosen_with_id(5), 1), downlink_pdr(2, 2)];
    let change = upf.establish(changes).unwrap();
    let shared = change.chosen[0].1;
    assert_eq!(change.chosen, [(PdrId(1), shared), (PdrId(3), shared)]);
    upf.keep(change);

    let mut changes = RequestedChanges::default();
    changes.pdrs.create = vec![uplink_pdr(4, chosen_with_id(5), 1), uplink_pdr(5, chosen_with_id(10), 2)];
    let change = upf.modify(changes).unwrap();
    let other = change.chosen[1].1;
    assert_eq!(change.chosen, [(PdrId(4), shared), (PdrId(5), other)]);
    assert_ne!(shared.teid, other.teid);
    upf.keep(change);
    assert_eq!(upf.resources.tunnels().in_use(), 2);
}

// Input:  every PDR of a CHOOSE ID is removed, then the CHOOSE ID is used again.
// Output: a new tunnel; the old one is free.
#[test]
fn a_choose_id_ends_with_its_last_pdr() {
    let mut changes = usual();
    changes.pdrs.create[0].pdi.tunnel = Some(chosen_with_id(5));
    let mut upf = TestUpf::with(changes);
    let first = upf.session.tunnels();
    let change = upf.modify(RequestedChanges { pdrs: removal(1), ..RequestedChanges::default() }).unwrap();
    upf.keep(change);
    assert_eq!(upf.resources.tunnels().in_use(), 0);
    let mut changes = RequestedChanges::default();
    changes.pdrs.create = vec![uplink_pdr(1, chosen_with_id(5), 1)];
    let change = upf.modify(changes).unwrap();
    assert!(!first.contains(&change.chosen[0].1));
}

// Input:  one free TEID, and a session that requests two; then one that requests one.
// Output: No resources available, nothing taken; then accepted.
#[test]
fn exhausted_teids_are_reported_and_not_lost() {
    let mut upf = TestUpf::new();
    upf.resources.claims().tunnels = Tunnels::new(1, 0);
    let mut changes = usual();
    changes.pdrs.create.push(uplink_pdr(3, CHOOSE, 1));
    let rejection = upf.establish(changes).unwrap_err();
    assert_eq!((rejection.rule, answer(&rejection)), (Some(RuleId::Pdr(PdrId(3))), (75, None)));
    assert!(upf.establish(usual()).is_ok());
}

// Input:  an F-TEID that the SMF assigned: at a local address; at another UPF's; that of another session.
// Output: accepted; refused as foreign; refused as in use, each with cause 73 and the PDR.
#[test]
fn tunnels_that_the_smf_assigned() {
    let with = |tunnel: FTeid| {
        let mut changes = usual();
        changes.pdrs.create[0].pdi.tunnel = Some(TunnelRequest::Assigned(tunnel));
        changes
    };
    let ours = FTeid { addr: std::net::Ipv4Addr::new(192, 0, 2, 1).into(), ..gnb(0xabcd) };
    let mut upf = TestUpf::with(with(ours));
    assert_eq!(upf.session.tunnels().first(), Some(&ours));

    let foreign = TestUpf::new().establish(with(gnb(7))).unwrap_err();
    assert_eq!(foreign.reason, Reason::NonLocalTunnel(gnb(7)));
    let context = Context {
        capabilities: &upf.capabilities,
        endpoints: &upf.endpoints,
        catalogue: &crate::Catalogue::default(),
    };
    let second = establish_with(with(ours), Seid(2), &context, &mut upf.resources).unwrap_err();
    assert_eq!(second.reason, Reason::TunnelInUse(ours));
    for rejection in [foreign, second] {
        assert_eq!(answer(&rejection), (73, Some(21)));
        assert_eq!(rejection.failed_rule(), Some(failed_rule_id(RuleId::Pdr(PdrId(1)))));
    }
}

// Input:  Outer Header Removal names IPv6, as for an IPv6 user, and the chosen tunnel is IPv4 or both.
// Output: accepted; packets of either version match.
#[test]
fn outer_header_removal_by_the_users_version() {
    for request in [CHOOSE, TunnelRequest::Choose { v4: true, v6: true, choose_id: None }] {
        let mut changes = usual();
        changes.pdrs.create[0].pdi.tunnel = Some(request);
        changes.pdrs.create[0].removal = Some(HeaderRemoval::GTPU_IPV6);
        let change = TestUpf::new().establish(changes).unwrap();
        assert_eq!(change.session.rules().pdrs[&PdrId(1)].removal, Some(HeaderRemoval::GTPU));
    }
}
