//! A switch that cannot be reached for a while: packets of the software wait for it, or are counted.

use causeway_dataplane::{ApplyError, BackendError, Dataplane, Egress, Plan};
use causeway_model::{PlanOptions, RuleSet, plan_modification};
use causeway_p4::profiles;
use causeway_slowpath::Limits;
use causeway_types::{FarId, Seid, Span, Time};

use super::fixture::{SERVERS, START, buffering, gnb, internet, reply, session, topology, udp, ue};
use crate::backend::cpu_port::plain_frame;
use crate::backend::local_model::{N3, N6, parts};
use crate::backend::{Config, Progress, Switch};
use crate::driver::{FaultInjector, FaultRates, Program};
use crate::model::Model;
use crate::model::upf::Upf;

type Faulty = Switch<FaultInjector<Model<Upf>>>;

const fn at(millis: u64) -> Time {
    Time::from_nanos(START.as_nanos() + 1_000_000 * millis)
}

/// A switch that is tried again each millisecond, a hundred times.
fn new() -> Faulty {
    let (model, program, config) =
        parts(&Program::from(&profiles::HIP4), topology(), Limits::default()).unwrap();
    let driver = FaultInjector::new(model, FaultRates::default(), Span::ZERO, 1);
    let config = Config { retry: Span::from_millis(1), ..config };
    Switch::new(driver, &program, config).unwrap()
}

/// Time passes, a millisecond at a time; what an operation has come to.
fn run(switch: &mut Faulty, millis: std::ops::Range<u64>) -> Vec<Result<(), ApplyError>> {
    let end = at(millis.end - 1);
    millis.for_each(|milli| switch.run(at(milli)));
    let progress = std::iter::from_fn(|| switch.poll(end));
    progress
        .filter_map(|progress| match progress {
            Progress::Done(_, result) => Some(result.map(drop)),
            Progress::Written(_) => None,
        })
        .collect()
}

/// The ports by which frames have left.
fn left(switch: &mut Faulty) -> Vec<u16> {
    std::iter::from_fn(|| switch.driver().inner().poll_sent()).map(|(_, port, _)| port).collect()
}

/// A switch with a packet that waits for an idle UE; the rules of its session, and those with which it forwards.
fn idle() -> (Faulty, RuleSet, RuleSet) {
    let mut switch = new();
    let active = session(0);
    let mut idle = active.clone();
    idle.fars.insert(FarId(2), buffering(gnb(0, 0)));
    // Another session forwards, so that its template is there.
    for (seid, rules) in [(1, &idle), (2, &session(1))] {
        switch.submit(START, &Plan::install(Seid(seid), rules.clone()));
    }
    assert_eq!(run(&mut switch, 0..1), [Ok(()), Ok(())]);
    switch.driver().inner().receive(START, N6, &plain_frame(&reply(0, 72)));
    run(&mut switch, 1..2);
    assert_eq!((left(&mut switch), switch.counters().buffered), (vec![], 1));
    (switch, idle, active)
}

/// The UE becomes active.
fn activation(idle: &RuleSet, active: &RuleSet) -> Plan {
    plan_modification(Seid(1), idle, active, &PlanOptions::default())
}

// Input:  a packet waits for an idle UE; the connection to the switch breaks; the UE becomes active; the connection is back.
// Output: the packet leaves when the connection is back, once, and the change succeeds.
#[test]
fn waiting_packets_leave_when_the_switch_is_back() {
    let (mut switch, idle, active) = idle();
    switch.driver().disconnect();
    switch.submit(at(2), &activation(&idle, &active));
    assert_eq!(run(&mut switch, 2..50), []);
    assert_eq!(left(&mut switch), Vec::<u16>::new());
    switch.driver().reconnect();
    assert_eq!(run(&mut switch, 50..60), [Ok(())]);
    assert_eq!((left(&mut switch), switch.statistics().unsent_frames), (vec![N3], 0));
}

// Input:  the same, but the connection stays away until the change is refused; it is back, and the UE becomes active.
// Output: after the refusal the packet waits still, and is not counted as sent; then it leaves, once.
#[test]
fn waiting_packets_stay_when_their_release_is_refused() {
    let (mut switch, idle, active) = idle();
    let before = switch.counters();
    switch.driver().disconnect();
    switch.submit(at(2), &activation(&idle, &active));
    assert_eq!(run(&mut switch, 2..300), [Err(BackendError::Unreachable.into())]);
    switch.driver().reconnect();
    assert_eq!(run(&mut switch, 300..310), []);
    assert_eq!((left(&mut switch), switch.counters()), (vec![], before));
    switch.submit(at(310), &activation(&idle, &active));
    assert_eq!(run(&mut switch, 310..320), [Ok(())]);
    assert_eq!((left(&mut switch), switch.statistics().unsent_frames), (vec![N3], 0));
}

// Input:  1,030 packets of the software while the connection is away; it is back; one that does not reach the switch.
// Output: 1,024 leave, in order, when the switch is reconciled; the others are counted.
#[test]
fn packets_that_do_not_leave_are_counted() {
    let mut switch = new();
    run(&mut switch, 0..1);
    switch.driver().disconnect();
    run(&mut switch, 1..2);
    let sent = |octets| {
        let packet = udp((ue(0), 40_000), (SERVERS[0], 53), octets);
        vec![(Egress::Ip { network: internet() }, packet)]
    };
    (100..1130).for_each(|octets| switch.send_now(at(2), sent(octets)));
    run(&mut switch, 2..4);
    assert_eq!((left(&mut switch), switch.statistics().unsent_frames), (vec![], 6));
    switch.driver().reconnect();
    run(&mut switch, 4..6);
    let sizes: Vec<usize> =
        std::iter::from_fn(|| switch.driver().inner().poll_sent()).map(|(.., frame)| frame.len()).collect();
    assert_eq!((sizes.len(), sizes.is_sorted_by(|one, next| one < next)), (1024, true));

    switch.driver().set_chances(FaultRates { unavailable: 1000, ..FaultRates::default() });
    switch.send_now(at(6), sent(100));
    run(&mut switch, 6..7);
    assert_eq!((left(&mut switch), switch.statistics().unsent_frames), (vec![], 7));
    let events = switch.state().events;
    let unsent = events.iter().find(|event| event.name == "unsent_frames");
    assert_eq!(unsent.map(|event| event.value), Some(7));
}

// Input:  two packets for an idle UE whose session the switch has, while the connection to the switch is away; then one more.
// Output: the first two are lost on the way to the software, and counted; the third is buffered.
#[test]
fn frames_that_are_lost_are_counted() {
    let (mut switch, ..) = idle();
    switch.driver().disconnect();
    run(&mut switch, 2..3);
    for _ in 0..2 {
        switch.driver().inner().receive(at(3), N6, &plain_frame(&reply(0, 72)));
    }
    run(&mut switch, 3..5);
    switch.driver().reconnect();
    run(&mut switch, 5..7);
    switch.driver().inner().receive(at(7), N6, &plain_frame(&reply(0, 72)));
    run(&mut switch, 7..9);
    let events = switch.switch_events();
    let lost = events.iter().find(|event| event.name == "lost_frames");
    assert_eq!((lost.map(|event| event.value), switch.counters().buffered), (Some(2), 2));
}
