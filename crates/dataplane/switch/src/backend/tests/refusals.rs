//! Refusals of a switch that has less capacity than its program states.

use causeway_dataplane::{ApplyError, Dataplane};
use causeway_model::{DirectionalLimit, Plan, Qer, RuleSet};
use causeway_p4::profiles;
use causeway_slowpath::Limits;
use causeway_types::{IpNet, QerId, Qfi, ReportingTriggers, Seid, Span, UrrId};

use super::fixture::{START, reply, session, topology, volume};
use crate::backend::cpu_port::plain_frame;
use crate::backend::local_model::{N3, N6, parts};
use crate::backend::{Config, Hop, Notice, Route, StartError, Switch};
use crate::driver::Program;
use crate::model::Model;
use crate::model::upf::Upf;

/// A backend for `hip4` on a switch with fewer templates than its program states.
fn on_small(templates: usize) -> Switch<Model<Upf>> {
    let mut small = Program::from(&profiles::HIP4);
    let tables = small.tables.iter_mut().filter(|table| table.name.ends_with("_template"));
    tables.for_each(|table| table.size = templates);
    let (model, ..) = parts(&small, topology(), Limits::default()).unwrap();
    let (_, program, config) = parts(&Program::from(&profiles::HIP4), topology(), Limits::default()).unwrap();
    Switch::new(model, &program, config).unwrap()
}

/// A session whose packets get this QFI: a template of its own.
fn with_qfi(number: u8, qfi: u8) -> RuleSet {
    let mut rules = session(number);
    rules.qers.insert(QerId(1), Qer { qfi: Qfi::new(qfi), ..Qer::new(QerId(1)) });
    rules
}

fn passes(switch: &mut Switch<Model<Upf>>, number: u8) -> bool {
    let model = switch.driver();
    model.receive(START, N6, &plain_frame(&reply(number, 72)));
    model.poll_sent().is_some_and(|(_, port, _)| port == N3)
}

// Input:  sessions with three templates, on a switch that holds two; then one of the first two ends.
// Output: the third is refused with the table's name, the others are unaffected, and it is accepted when there is
//         space.
#[test]
fn a_template_that_is_refused_refuses_its_rules() {
    let mut switch = on_small(2);
    for number in [0, 1] {
        switch
            .apply(START, &Plan::install(Seid(number.into()), with_qfi(number, 1 + number).clone()))
            .unwrap();
    }
    let third = Plan::install(Seid(2), with_qfi(2, 3).clone());
    for _ in 0..2 {
        let refused = switch.apply(START, &third);
        assert_eq!(refused, Err(ApplyError::Full { table: "dl_template", capacity: 2 }));
    }
    assert!(
        matches!(switch.poll_notice(), Some(Notice::Refused { reason }) if reason.contains("dl_template"))
    );
    assert!(passes(&mut switch, 0) && passes(&mut switch, 1) && !passes(&mut switch, 2));
    switch.apply(START, &Plan::removal(Seid(0))).unwrap();
    switch.apply(START, &third).unwrap();
    assert!(passes(&mut switch, 2) && !passes(&mut switch, 0));
}

// Input:  a quota is exhausted, and the switch has no space for the template that stops the traffic.
// Output: the write is repeated once per second, and traffic stops once there is space.
#[test]
fn a_quota_that_cannot_stop_traffic_is_tried_again() {
    let mut switch = on_small(2);
    let mut rules = with_qfi(0, 1);
    let mut urr = volume(1, None);
    urr.triggers |= ReportingTriggers::VOLQU;
    urr.quotas.volume = Some(DirectionalLimit { total: Some(150), ..DirectionalLimit::default() });
    rules.urrs.insert(UrrId(1), urr);
    switch.apply(START, &Plan::install(Seid(0), rules.clone())).unwrap();
    switch.apply(START, &Plan::install(Seid(1), with_qfi(1, 2).clone())).unwrap();
    assert!(passes(&mut switch, 0) && passes(&mut switch, 0));
    for second in 0..3 {
        switch.read_all_counters();
        switch.run(START + Span::from_secs(second));
        assert_eq!(switch.statistics().refused, second + 1);
    }
    assert!(passes(&mut switch, 0), "nothing can stop it");
    let later = START + Span::from_secs(4);
    switch.apply(later, &Plan::removal(Seid(1))).unwrap();
    switch.run(later + Span::from_secs(1));
    assert!(!passes(&mut switch, 0));
}

// Input:  a route of tunnels to an IPv6 prefix.
// Output: there is no backend, and the prefix is named.
#[test]
fn a_route_that_the_program_cannot_hold_is_refused() {
    let (model, program, config) =
        parts(&Program::from(&profiles::HIP4), topology(), Limits::default()).unwrap();
    let to: IpNet = "2001:db8::/32".parse().unwrap();
    let hop = Hop { port: N3, source: [2; 6], neighbour: [4; 6] };
    let route = Route::Tunnel { to, hop, local: super::fixture::UPF };
    let config = Config { routes: vec![route], ..config };
    assert_eq!(Switch::new(model, &program, config).unwrap_err(), StartError::Route(to));
}
