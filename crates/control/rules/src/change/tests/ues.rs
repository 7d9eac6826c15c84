//! Which UE addresses a session gets.

use causeway_model::UeSide;
use causeway_types::{NetworkInstance, PdrId, Seid};

use super::{pdr_update, removal};
use crate::change::establish_with;
use crate::edits::{PdrUpdate, RequestedChanges, UeChoice};
use crate::testing::{SESSION, TestUpf, answer, downlink_pdr, uplink_pdr, usual};
use crate::{Change, Context, OverlappingSessions, Reason, delete};

fn choice(v4: bool, v6: Option<u8>, side: UeSide) -> UeChoice {
    UeChoice { v4, v6, side, pools: Vec::new() }
}

/// The usual session, whose PDRs both request an address of the UPF's choice.
fn choosing(v4: bool, v6: Option<u8>) -> RequestedChanges {
    let mut changes = usual();
    for (pdr, side) in changes.pdrs.create.iter_mut().zip([UeSide::Source, UeSide::Destination]) {
        pdr.pdi.ue = None;
        pdr.pdi.ue_choice = Some(choice(v4, v6, side));
    }
    changes
}

/// Each Created PDR with its UE address.
fn created(change: &Change) -> Vec<(u16, String)> {
    let created = change.created_pdrs();
    let addresses = |pdr: &causeway_pfcp::CreatedPdr<'_>| {
        let texts = pdr.ue_ip_addresses.iter().flat_map(|ue| {
            let v6 = ue.ipv6.map(|ip| format!("{ip}/{}", ue.prefix_len.unwrap_or(64)));
            ue.ipv4.map(|ip| ip.to_string()).into_iter().chain(v6).collect::<Vec<_>>()
        });
        texts.collect::<Vec<_>>().join(" ")
    };
    created.iter().map(|pdr| (pdr.pdr_id.0, addresses(pdr))).collect()
}

// Input:  the uplink and the downlink PDR request IPv4 and IPv6; the first has the network instance of the access
// or none.
// Output: both get the same address and /64 of the data network, and both Created PDRs contain them.
#[test]
fn the_pdrs_of_a_session_share_the_address() {
    for access in [None, Some(NetworkInstance::new("access"))] {
        let mut upf = TestUpf::new();
        upf.endpoints.gtpu.push(causeway_model::LocalEndpoint {
            addr: std::net::Ipv4Addr::new(192, 0, 2, 1).into(),
            network_instance: Some(NetworkInstance::new("access")),
        });
        let mut changes = choosing(true, Some(64));
        changes.pdrs.create[0].pdi.network_instance = access;
        let change = upf.establish(changes).unwrap();
        let both = "10.45.128.2 2001:db8:45::/64";
        assert_eq!(created(&change), [(1, both.to_owned()), (2, both.to_owned())]);
        let sides: Vec<_> =
            change.session.rules().pdrs.values().map(|pdr| pdr.pdi.ue.unwrap().side).collect();
        assert_eq!(sides, [UeSide::Source, UeSide::Destination]);
        upf.keep(change);
        assert_eq!(upf.resources.addresses().in_use(), 2);
    }
}

// Input:  a session with a chosen IPv4 address; a modification with a third PDR that requests one, and an update of
// PDR 2 that requests an IPv6 prefix as well.
// Output: the third PDR gets the same IPv4 address; the Updated PDR has the old address and the new prefix.
#[test]
fn a_later_request_gets_the_address_there_is_and_what_is_missing() {
    let mut upf = TestUpf::with(choosing(true, None));
    let mut changes = RequestedChanges::default();
    let mut third = downlink_pdr(3, 2);
    (third.pdi.ue, third.pdi.ue_choice) = (None, Some(choice(true, None, UeSide::Destination)));
    changes.pdrs.create = vec![third];
    let mut pdi = downlink_pdr(2, 2).pdi;
    (pdi.ue, pdi.ue_choice) = (None, Some(choice(false, Some(64), UeSide::Destination)));
    changes.pdrs.update = vec![PdrUpdate { pdi: Some(pdi), ..pdr_update(2) }];
    let change = upf.modify(changes).unwrap();
    assert_eq!(created(&change), [(3, "10.45.128.2".to_owned())]);
    let updated = change.updated_pdrs();
    let ue = updated[0].ue_ip_addresses.first().unwrap();
    assert_eq!((updated[0].pdr_id, ue.ipv4.unwrap().to_string().as_str()), (PdrId(2), "10.45.128.2"));
    assert_eq!(ue.ipv6.unwrap().to_string(), "2001:db8:45::");
}

// Input:  PDR 1 is removed, then PDR 2; an address is requested again later, during and after the quarantine.
// Output: the session has the address until its last PDR is removed; then the address is quarantined, and another
// is chosen first.
#[test]
fn an_address_is_released_with_its_last_pdr() {
    let mut upf = TestUpf::with(choosing(true, None));
    for (pdr, left) in [(1, 1), (2, 0)] {
        let change =
            upf.modify(RequestedChanges { pdrs: removal(pdr), ..RequestedChanges::default() }).unwrap();
        upf.keep(change);
        assert_eq!(upf.resources.addresses().in_use(), left);
    }
    let mut changes = RequestedChanges::default();
    changes.pdrs.create = choosing(true, None).pdrs.create;
    assert_eq!(created(&upf.modify(changes).unwrap())[0].1, "10.45.128.3");
}

// Input:  a pool of five addresses, of which all are in use; a pool by an identity that does not exist; a prefix
//         wider than the pool; two identities, of which the second is that of the IPv6 pool.
// Output: all dynamic addresses are occupied; failure of the rule; not supported; accepted. The refused requests
// take nothing.
#[test]
fn a_choice_that_fails_rejects_the_request() {
    let mut upf = TestUpf::new();
    let ask = |upf: &mut TestUpf, seid, changes| {
        let context = Context {
            capabilities: &upf.capabilities,
            endpoints: &upf.endpoints,
            catalogue: &crate::Catalogue::default(),
        };
        establish_with(changes, Seid(seid), &context, &mut upf.resources)
    };
    for seid in 10..15 {
        let change = ask(&mut upf, seid, choosing(true, None)).unwrap();
        upf.resources.commit(change.resources);
    }
    let tunnels = upf.resources.tunnels().in_use();
    let mut unknown = choosing(false, Some(64));
    unknown.pdrs.create[0].pdi.ue_choice.as_mut().unwrap().pools = vec![b"nine".to_vec()];
    for (changes, expected) in [
        (choosing(true, Some(64)), (79, Some(93))),
        (unknown, (73, Some(177))),
        (choosing(false, Some(48)), (76, Some(93))),
    ] {
        let rejection = ask(&mut upf, 99, changes).unwrap_err();
        assert_eq!(answer(&rejection), expected, "{rejection}");
    }
    assert_eq!((upf.resources.addresses().in_use(), upf.resources.tunnels().in_use()), (5, tunnels));
    let mut named = choosing(false, Some(64));
    for pdr in &mut named.pdrs.create {
        pdr.pdi.ue_choice.as_mut().unwrap().pools = vec![b"four".to_vec(), b"six".to_vec()];
    }
    assert_eq!(created(&ask(&mut upf, 99, named).unwrap())[1].1, "2001:db8:45::/64");
}

// Input:  a second session with the UE address of the first, without and with the Restoration Indication.
// Output: refused, naming the first session and the rules of the second; its tunnel is released. In another data network it is accepted.
#[test]
fn an_address_that_the_smf_assigns_twice() {
    let mut upf = TestUpf::with(usual());
    let context = Context {
        capabilities: &upf.capabilities,
        endpoints: &upf.endpoints,
        catalogue: &crate::Catalogue::default(),
    };
    for (restoration, cause) in [(false, 73), (true, 86)] {
        let changes = RequestedChanges { restoration, ..usual() };
        let rejection = establish_with(changes, Seid(2), &context, &mut upf.resources).unwrap_err();
        let Reason::AddressInUse { net, ie, owners, restored } = &rejection.reason else {
            panic!("{rejection}")
        };
        let expected = ("10.45.0.2/32".parse().unwrap(), crate::ie::UE_IP_ADDRESS, restoration);
        assert_eq!((*net, *ie, *restored), expected);
        let rules = owners.rules.clone();
        assert_eq!(rules.pdrs.len(), upf.session.rules().pdrs.len());
        let expected = OverlappingSessions { same_ue: [SESSION].into(), rules, ..Default::default() };
        assert_eq!(**owners, expected);
        assert_eq!(answer(&rejection), (cause, Some(93)));
    }
    assert_eq!(upf.resources.tunnels().in_use(), 1);
    let end = delete(&upf.session, SESSION);
    upf.keep(end);
    assert_eq!(upf.resources.addresses().in_use(), 0);
}

// Input:  two sessions whose tunnelled PDRs have the same UE address: this UPF is both the branching point and
//         the anchor of one PDU session.
// Output: accepted: packets in tunnels are not found by the UE address.
#[test]
fn an_address_behind_tunnels_may_be_in_several_sessions() {
    let mut upf = TestUpf::with(usual());
    let context = Context {
        capabilities: &upf.capabilities,
        endpoints: &upf.endpoints,
        catalogue: &crate::Catalogue::default(),
    };
    let mut changes = usual();
    changes.pdrs.create = vec![uplink_pdr(1, crate::testing::CHOOSE, 1)];
    assert!(establish_with(changes, Seid(2), &context, &mut upf.resources).is_ok());
}
