use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

// Input:  sessions that are prefetched before establishment, with the SEIDs of others, both, or not at all; a packet
//         for each; deletions, prefetched or not; and the same again with the UEs in reverse order.
// Output: each is found by its parameters, as without prefetch.
#[test]
fn prefetch_changes_no_state() {
    let (mut plane, mut templates) = (plane_for(8), Templates::default());
    let mut plan = |seid: u8, ue: u8| {
        let change = templates.profiled(&rules(ue)).unwrap().into();
        Plan { session: Seid(seid.into()), change }
    };
    for round in 0..2 {
        let ue_of = |seid: u8| if round == 0 { seid } else { 9 - seid };
        for seid in 1..=8 {
            if seid % 4 < 2 {
                plane.prefetch(&plan(seid, 9 - ue_of(seid)));
            }
            if seid % 2 == 0 {
                plane.prefetch(&plan(seid, ue_of(seid)));
            }
            assert_eq!(plane.apply(at(1), &plan(seid, ue_of(seid))), Ok(Applied::default()));
        }
        assert_eq!(plane.counters().sessions, 8);
        assert!(plane.dormant.len() >= 7);
        for seid in 1..=8_u8 {
            assert_eq!(plane.dormant.of_ue(Ipv4Addr::new(10, 0, 0, ue_of(seid))).is_some(), {
                let tunnel = (Teid::new(ue_of(seid).into()).unwrap(), UPF.into());
                plane.dormant.of_tunnel(tunnel) == Some(Seid(seid.into()))
            });
            assert_eq!(downlink(&mut plane, ue_of(seid), at(2)), Disposition::Forwarded);
        }
        assert_eq!(plane.dormant.len(), 0);
        for seid in 1..=8_u8 {
            let end = Plan::removal(Seid(seid.into()));
            if seid % 3 == 0 {
                plane.prefetch(&end);
            }
            let usage = plane.apply(at(3), &end).unwrap().usage;
            assert_eq!(usage.iter().map(|it| it.volume.unwrap().total()).collect::<Vec<_>>(), [28]);
        }
        assert_eq!((plane.counters().sessions, plane.slow_path.sessions()), (0, 0));
    }
}

/// An act on the session of this number: establishment, handover to or from another gNB, packet, or deletion.
#[derive(Clone, Copy, Debug)]
enum Act {
    Establish,
    Handover,
    Packet,
    Delete,
}

/// The plans of the acts, and packets; impossible acts are left out.
fn plans_for(acts: &[(u8, Act)]) -> Vec<Result<Plan, u8>> {
    let mut templates = Templates::default();
    let mut sessions = [const { None::<RuleSet> }; 6];
    let mut plans = Vec::new();
    for (ue, act) in acts {
        let held = &mut sessions[usize::from(*ue - 1)];
        let session = Seid(u64::from(*ue) * 5);
        plans.push(match (act, held.as_mut()) {
            (Act::Establish, None) => {
                *held = Some(rules(*ue));
                Ok(Plan { session, change: templates.profiled(&rules(*ue)).unwrap().into() })
            }
            (Act::Handover, Some(from)) => {
                let mut to = from.clone();
                let forwarding = to.fars.get_mut(&FarId(2)).and_then(|far| far.forwarding.as_mut()).unwrap();
                let old = forwarding.tunnel().unwrap();
                let peer = if old.addr == DualIp::from(GNB) { OTHER_GNB } else { GNB };
                forwarding.outer = Some(OuterHeader::Gtpu(FTeid { addr: DualIp::from(peer), ..old }));
                let plan = plan_modification(session, from, &to, &PlanOptions::default());
                let before = templates.profiled(from).unwrap();
                let transition = templates.transition(&before, &to, &plan).unwrap();
                *from = to;
                Ok(Plan { session, change: transition.into() })
            }
            (Act::Packet, _) => Err(*ue),
            (Act::Delete, Some(_)) => {
                *held = None;
                Ok(Plan::removal(session))
            }
            (Act::Establish, Some(_)) | (Act::Handover | Act::Delete, None) => continue,
        });
    }
    plans
}

proptest! {
    // Input:  up to six sessions with establishments, handovers, packets and deletions, in any order; each plan
    //         prefetched up to twelve plans before it is applied, or never; and prefetched plans that are never
    //         applied.
    // Output: the same usage, dispositions and number of dormant sessions; at the end, when all are deleted, all
    //         indices are empty.
    #[test]
    fn prefetch_may_precede_plans_by_any_distance(
        acts in proptest::collection::vec((1..7_u8, prop::sample::select(vec![Act::Establish, Act::Handover, Act::Packet, Act::Delete])), 0..60),
        ahead in 0..12_usize,
    ) {
        let all_go = (1..7).map(|ue| (ue, Act::Delete));
        let plans = plans_for(&acts.iter().copied().chain(all_go).collect::<Vec<_>>());
        let mut planes = [plane_for(6), plane_for(6)];
        let mut coming: VecDeque<_> = plans.iter().collect();
        (0..6).for_each(|_| planes[1].prefetch(&Plan::removal(Seid(99))));
        for (turn, step) in (0..).zip(&plans) {
            coming.pop_front();
            if let Some(Ok(plan)) = coming.get(ahead) {
                planes[1].prefetch(plan);
            }
            match step {
                Ok(plan) => {
                    let done = planes.each_mut().map(|plane| plane.apply(at(turn), plan));
                    prop_assert_eq!(&done[0], &done[1]);
                    prop_assert!(done[0].is_ok());
                }
                Err(ue) => {
                    let dispositions = planes.each_mut().map(|plane| downlink(plane, *ue, at(turn)));
                    prop_assert_eq!(dispositions[0], dispositions[1]);
                }
            }
            prop_assert_eq!(planes[0].dormant.len(), planes[1].dormant.len());
        }
        prop_assert_eq!((planes[1].dormant.len(), planes[1].slow_path.sessions()), (0, 0));
        prop_assert!(planes[1].dormant.are_indexes_empty());
    }
}
