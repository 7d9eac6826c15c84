//! A switch that comes back, and the notices for its operator.

use causeway_dataplane::{Dataplane, PacketEngine};
use causeway_model::{Plan, RuleSet};
use causeway_p4::profiles;
use causeway_slowpath::Limits;
use causeway_types::{Seid, Span, Time};

use super::fixture::{START, from_network, hip4, reply, session, topology};
use crate::backend::local_model::parts;
use crate::backend::notice::{Cause, Notice, ReconcileResult};
use crate::backend::{InProcess, Switch};
use crate::driver::{Program, Request, SwitchDriver, Update};

fn with_sessions(sessions: u8) -> InProcess {
    let mut upf = hip4();
    for number in 0..sessions {
        let rules: RuleSet = session(number);
        upf.apply(START, &Plan::install(Seid(number.into()), rules.clone())).unwrap();
    }
    upf
}

fn reconcile_done(upf: &mut InProcess) -> ReconcileResult {
    let notices: Vec<Notice> = std::iter::from_fn(|| upf.switch().poll_notice()).collect();
    match notices.last() {
        Some(Notice::Reconciled(reconciled)) => reconciled.clone(),
        other => panic!("{other:?}"),
    }
}

fn pass(upf: &mut InProcess, at: Time, packets: usize) {
    for _ in 0..packets {
        let mut out = Vec::new();
        upf.process(at, &from_network(), &reply(1, 72), &mut out);
        assert_eq!(out.len(), 1);
    }
}

// Input:  three sessions; three packets; the switch restarts empty; two packets more; the session is deleted.
// Output: the packets pass, the report has all five, and the operator is notified of the writes.
#[test]
fn rules_come_back_after_a_restart() {
    let mut upf = with_sessions(3);
    pass(&mut upf, START, 3);
    let later = START + Span::from_secs(1);
    upf.switch().driver().restart(later);
    upf.advance(later);
    assert_eq!(upf.switch().poll_notice(), Some(Notice::Down));
    let news = reconcile_done(&mut upf);
    assert_eq!((news.cause, news.sessions, news.counters, news.removed), (Cause::Emptied, 3, 12, 0));
    let line = Notice::Reconciled(news.clone()).to_string();
    let counters = "12 counters lost their counts since the last reading";
    assert!(line.starts_with("the switch was empty: ") && line.ends_with(counters), "{line}");
    pass(&mut upf, later, 2);
    let usage = upf.apply(later, &Plan::removal(Seid(1))).unwrap().usage;
    assert_eq!(usage.iter().map(|usage| usage.volume.unwrap().downlink).sum::<u64>(), 500);
}

// Input:  the entry in which a rule is counted is removed silently; and there are foreign entries.
// Output: the first reading detects this; missing entries are written, foreign ones removed, all others stay.
#[test]
fn lost_entries_are_detected() {
    let mut upf = with_sessions(2);
    let later = START + Span::from_secs(1);
    let driver = upf.switch().driver();
    let program = driver.state().program().clone();
    let row = |name: &str| {
        let table = program.table_named(name).unwrap().id;
        driver.state().entries(table).unwrap().next().cloned()
    };
    let counted = ["post_qos_a", "post_qos_b"].into_iter().find_map(row).unwrap();
    let mut foreign = row("dl_from_n6_simple").unwrap();
    foreign.key.fields[0] = crate::driver::FieldMatch::Exact(0x0a2d_ffff);
    let updates = vec![Update::Delete(counted.key), Update::Insert(foreign)];
    let ticket = driver.submit(later, Request::Write(updates));
    assert!(driver.poll(later).is_some_and(|(ended, outcome)| ended == ticket && outcome.is_ok()));
    upf.switch().read_all_counters();
    upf.advance(later);
    let news = reconcile_done(&mut upf);
    assert_eq!((news.cause, news.written, news.removed, news.counters), (Cause::Missing, 1, 1, 1));
    assert_eq!(upf.switch().statistics().lost_counters, 1);
}

// Input:  a controller that starts where another one has left entries; the driver reports that the switch kept its
//         state.
// Output: only the new controller's entries remain.
#[test]
fn a_new_controller_replaces_foreign_entries() {
    let mut old = with_sessions(2);
    let entries = |upf: &mut InProcess| {
        let switch = upf.switch();
        let (tables, state) = (switch.tables(), switch.driver().state());
        tables.into_iter().filter_map(|table| state.entries(table)).map(Iterator::count).sum::<usize>()
    };
    let mut new = hip4();
    new.advance(START);
    let (full, empty) = (entries(&mut old), entries(&mut new));
    assert!(full > empty);
    let (_, program, config) = parts(&Program::from(&profiles::HIP4), topology(), Limits::default()).unwrap();
    let driver =
        std::mem::replace(old.switch().driver(), parts(&program, topology(), Limits::default()).unwrap().0);
    let mut switch = Switch::new(driver, &program, config).unwrap();
    switch.handle_link(START, crate::driver::Link::Up { emptied: false });
    switch.run(START);
    let (tables, state) = (switch.tables(), switch.driver().state());
    let remaining = tables.into_iter().filter_map(|table| state.entries(table));
    assert_eq!(remaining.map(Iterator::count).sum::<usize>(), empty);
}
