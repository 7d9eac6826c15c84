//! Rules with a meter have an entry for it, where their profile keeps meters apart from rules.

use causeway_dataplane::{ApplyError, Dataplane};
use causeway_model::{Plan, PlanOptions, Qer, RateLimit, RuleSet, plan_modification};
use causeway_p4::profiles;
use causeway_slowpath::Limits;
use causeway_types::{Bitrate, PdrId, QerId, Qfi, Seid};

use super::fixture::{START, on_switch, session, topology};
use crate::backend::InProcess;
use crate::driver::Program;

/// A session whose rules limit the rate in both directions.
fn limited(number: u8, kbps: u64) -> RuleSet {
    let mut rules = session(number);
    let rate = Bitrate::from_kbps(kbps).unwrap();
    let mbr = Some(RateLimit { uplink: rate, downlink: rate });
    rules.qers.insert(QerId(1), Qer { mbr, qfi: Qfi::new(9), ..Qer::new(QerId(1)) });
    rules
}

fn rows(upf: &mut InProcess, table: &str) -> usize {
    let state = upf.switch().driver().state();
    let table = state.program().table_named(table).unwrap().id;
    state.entries(table).unwrap().count()
}

// Input:  a session with a rate; another rate; the downlink rule without it; the session's end; in `hip4` and
//         `baseline`.
// Output: an entry for each rule that has a meter then, and none in the end.
#[test]
fn rows_for_meters_come_and_go_with_them() {
    for (contract, table) in [(&profiles::HIP4, "metered_rules"), (&profiles::BASELINE, "meter_lookup")] {
        let mut upf = on_switch(contract);
        let rules = limited(0, 8000);
        upf.apply(START, &Plan::install(Seid(0), rules.clone())).unwrap();
        upf.apply(START, &Plan::install(Seid(1), session(1).clone())).unwrap();
        assert_eq!(rows(&mut upf, table), 2, "{table}");
        let faster = limited(0, 16_000);
        upf.apply(START, &plan_modification(Seid(0), &rules, &faster, &PlanOptions::default())).unwrap();
        assert_eq!(rows(&mut upf, table), 2, "{table}");
        let mut without = faster.clone();
        without.pdrs.get_mut(&PdrId(2)).unwrap().qers.clear();
        upf.apply(START, &plan_modification(Seid(0), &faster, &without, &PlanOptions::default())).unwrap();
        assert_eq!(rows(&mut upf, table), 1, "{table}");
        upf.apply(START, &Plan::removal(Seid(0))).unwrap();
        assert_eq!(rows(&mut upf, table), 0, "{table}");
    }
}

// Input:  `hip4` with a capacity of three rules with a meter; two sessions with a rate, then the first one's end.
// Output: the second is refused with the name of the table, one without a rate is not; then there is space for it.
#[test]
fn rules_that_find_no_row_are_refused() {
    let mut small = Program::from(&profiles::HIP4);
    small.tables.iter_mut().find(|table| table.name == "metered_rules").unwrap().size = 3;
    let mut upf = InProcess::new(&small, topology(), Limits::default()).unwrap();
    upf.apply(START, &Plan::install(Seid(0), limited(0, 8000).clone())).unwrap();
    let refused = upf.apply(START, &Plan::install(Seid(1), limited(1, 8000).clone())).unwrap_err();
    assert_eq!(refused, ApplyError::Full { table: "metered_rules", capacity: 3 });
    upf.apply(START, &Plan::install(Seid(1), session(1).clone())).unwrap();
    upf.apply(START, &Plan::removal(Seid(0))).unwrap();
    upf.apply(START, &Plan::install(Seid(2), limited(2, 8000).clone())).unwrap();
}
