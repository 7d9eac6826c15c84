//! Exhausted quotas whose FAR forwards elsewhere.

use causeway_dataplane::{Dataplane, Egress, PacketEngine};
use causeway_model::{DirectionalLimit, Far, Plan, PlanOptions, RuleSet, Urr, plan_modification};
use causeway_p4::{Contract, profiles};
use causeway_types::{FarId, PdrId, ReportingTriggers, Seid, UrrId};

use super::fixture::{START, from_network, gnb, on_switch, reply, session, to_gnb, volume};

const ALL: [&Contract; 5] =
    [&profiles::HIP4, &profiles::DIRECT, &profiles::RED_SPT, &profiles::RED, &profiles::BASELINE];

fn quota(id: u32, octets: u64) -> Urr {
    let mut urr = volume(id, None);
    urr.quotas.volume = Some(DirectionalLimit { total: Some(octets), ..DirectionalLimit::default() });
    urr.triggers |= ReportingTriggers::VOLQU;
    urr.quota_far = Some(FarId(3));
    urr
}

/// A session whose downlink rule has URR 1 with a quota, after which packets go to another gNB, and URR 2 without one.
fn with_quota(octets: u64) -> RuleSet {
    let mut rules = session(0);
    rules.pdrs.get_mut(&PdrId(2)).unwrap().urrs = vec![UrrId(1), UrrId(2)];
    rules.urrs.insert(UrrId(1), quota(1, octets));
    rules.urrs.insert(UrrId(2), volume(2, None));
    rules.fars.insert(FarId(3), Far { id: FarId(3), ..to_gnb(gnb(1, 7)) });
    rules
}

fn gnb_of(upf: &mut dyn PacketEngine) -> String {
    let mut out = Vec::new();
    upf.process(START, &from_network(), &reply(0, 100), &mut out);
    match &out[..] {
        [(Egress::Gtpu { peer, .. }, _)] => peer.ip().to_string(),
        other => panic!("{other:?}"),
    }
}

// Input:  in each profile: a quota of one packet whose FAR sends to another gNB; three packets; a query; another quota; one packet more.
// Output: two packets go to the other gNB. The URR with the quota does not count them, the other URR does.
#[test]
fn what_goes_elsewhere_counts_for_other_urrs_alone() {
    for contract in ALL {
        let mut upf = on_switch(contract);
        let rules = with_quota(128);
        upf.apply(START, &Plan::install(Seid(1), rules.clone())).unwrap();
        let first: Vec<String> = (0..3).map(|_| gnb_of(&mut upf)).collect();
        assert_eq!(first, ["192.0.2.11", "192.0.2.12", "192.0.2.12"], "{}", contract.profile);
        while upf.poll_event().is_some() {}
        let mut query = |rules: &RuleSet, new: &RuleSet| {
            let extras = PlanOptions { queries: [UrrId(1), UrrId(2)].into(), ..PlanOptions::default() };
            let usage = upf.apply(START, &plan_modification(Seid(1), rules, new, &extras)).unwrap().usage;
            usage.iter().map(|usage| (usage.urr.0, usage.volume.unwrap().total())).collect::<Vec<_>>()
        };
        assert_eq!(query(&rules, &rules), [(1, 0), (2, 3 * 128)], "{}", contract.profile);
        let mut new = rules.clone();
        new.urrs.insert(UrrId(1), quota(1, 1000));
        query(&rules, &new);
        assert_eq!(gnb_of(&mut upf), "192.0.2.11", "{}", contract.profile);
        let usage = upf.apply(START, &Plan::removal(Seid(1))).unwrap().usage;
        let octets: Vec<u64> = usage.iter().map(|usage| usage.volume.unwrap().total()).collect();
        assert_eq!(octets, [128, 128], "{}", contract.profile);
        assert!(upf.switch().is_empty());
    }
}

// Input:  a quota that is exhausted, and packets that go elsewhere; the switch restarts; packets before and after; the quota is renewed.
// Output: none of them is counted, in no profile, and the first after the renewal is.
#[test]
fn what_goes_elsewhere_stays_uncounted_after_a_restart() {
    for contract in ALL {
        let mut upf = on_switch(contract);
        let rules = with_quota(0);
        upf.apply(START, &Plan::install(Seid(1), rules.clone())).unwrap();
        for _ in 0..2 {
            assert_eq!(gnb_of(&mut upf), "192.0.2.12", "{}", contract.profile);
            upf.switch().driver().restart(START);
            upf.advance(START);
        }
        assert_eq!(gnb_of(&mut upf), "192.0.2.12", "{}", contract.profile);
        let mut new = rules.clone();
        new.urrs.insert(UrrId(1), quota(1, 1000));
        upf.apply(START, &plan_modification(Seid(1), &rules, &new, &PlanOptions::default())).unwrap();
        assert_eq!(gnb_of(&mut upf), "192.0.2.11", "{}", contract.profile);
        let usage = upf.apply(START, &Plan::removal(Seid(1))).unwrap().usage;
        let octets: Vec<(u32, u64)> =
            usage.iter().map(|usage| (usage.urr.0, usage.volume.unwrap().total())).collect();
        assert_eq!(octets, [(1, 128), (2, 4 * 128)], "{}", contract.profile);
    }
}
