//! Start of traffic, which a switch detects only from its counters.

use causeway_dataplane::{Dataplane, Disposition, Event, PacketEngine};
use causeway_model::{Plan, PlanOptions, RuleSet, Usage, plan_modification};
use causeway_p4::profiles;
use causeway_types::{PdrId, ReportingTriggers, Seid, Span, UrrId, UsageReportTrigger};

use super::fixture::{START, events, from_gnb, from_network, on_switch, reply, request, session, volume};

/// URR 1 of one rule is reported when its traffic starts; URR 2 of both rules follows it.
fn linked(number: u8, starting: PdrId) -> RuleSet {
    let mut rules = session(number);
    for pdr in [PdrId(1), PdrId(2)] {
        let urrs = if pdr == starting { vec![UrrId(1), UrrId(2)] } else { vec![UrrId(2)] };
        rules.pdrs.get_mut(&pdr).unwrap().urrs = urrs;
    }
    let mut follows = volume(2, None);
    follows.triggers |= ReportingTriggers::LIUSA;
    follows.linked = [UrrId(1)].into();
    rules.urrs.get_mut(&UrrId(1)).unwrap().triggers |= ReportingTriggers::START;
    rules.urrs.insert(UrrId(2), follows);
    rules
}

fn told(usage: &Usage) -> (u32, UsageReportTrigger, Option<u64>) {
    (usage.urr.0, usage.triggers, usage.volume.map(|volume| volume.total()))
}

// Input:  in each profile, two sessions in which the start of uplink, or of downlink traffic is reported, and a linked
//         URR of both; packets in both directions, all of which are counted before a counter is read; a query.
// Output: the start is reported with an empty linked report, whichever counter is read first; the query has all
//         packets.
#[test]
fn a_traffic_start_is_reported_before_its_packets() {
    for contract in
        [&profiles::HIP4, &profiles::DIRECT, &profiles::RED_SPT, &profiles::RED, &profiles::BASELINE]
    {
        let mut upf = on_switch(contract).with_counter_interval(Span::from_secs(1));
        for (number, starting) in [(0, PdrId(1)), (1, PdrId(2))] {
            let rules = linked(number, starting);
            upf.apply(START, &Plan::install(Seid(number.into()), rules.clone())).unwrap();
            for _ in 0..3 {
                let fate = upf.process(START, &from_gnb(), &request(number, 72), &mut Vec::new());
                assert_eq!(fate, Disposition::Forwarded);
                upf.process(START, &from_network(), &reply(number, 172), &mut Vec::new());
            }
            let extras = PlanOptions { queries: [UrrId(1)].into(), ..PlanOptions::default() };
            let query = plan_modification(Seid(number.into()), &rules, &rules, &extras);
            let answer: Vec<_> = upf.apply(START, &query).unwrap().usage.iter().map(told).collect();
            let events = events(&mut upf);
            let of_event = |event: &Event| match event {
                Event::Usage { usage, .. } => usage.clone(),
                other => panic!("{other:?}"),
            };
            let started: Vec<_> = events.iter().flat_map(of_event).map(|usage| told(&usage)).collect();
            let (start, linked) = (UsageReportTrigger::START, UsageReportTrigger::LIUSA);
            assert_eq!(started, [(1, start, None), (2, linked, Some(0))], "{}", contract.profile);
            let own = if starting == PdrId(1) { 300 } else { 600 };
            let all = [(1, UsageReportTrigger::IMMER, Some(own)), (2, linked, Some(900))];
            assert_eq!(answer, all, "{}", contract.profile);
        }
    }
}
