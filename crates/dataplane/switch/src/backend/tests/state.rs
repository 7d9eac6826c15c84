//! What an operator is told of the switch.

use causeway_dataplane::Dataplane;
use causeway_model::{Plan, PlanOptions, plan_modification};
use causeway_p4::profiles;
use causeway_types::{FarId, Seid, Span};

use super::fixture::{START, gnb, on_switch, session, to_gnb};
use crate::driver::Program;

// Input:  in each profile, three sessions, of which one is handed over and another one ends; then time passes.
// Output: at each step the state says of each table how many entries the model has in it, and how many fit; one partition of each
//         side takes entries.
#[test]
fn the_state_has_the_entries_of_each_table() {
    for contract in profiles::ALL.iter().filter(|contract| contract.profile != "hip4-outer-ipv6") {
        let mut upf = on_switch(contract).with_counter_interval(Span::from_millis(10));
        let moved = {
            let mut rules = session(1);
            rules.fars.insert(FarId(2), to_gnb(gnb(1, 1)));
            plan_modification(Seid(1), &session(1), &rules, &PlanOptions::default())
        };
        let installs = (0..3).map(|number| Plan::install(Seid(number.into()), session(number)));
        let plans: Vec<Plan> = installs.chain([moved, Plan::removal(Seid(2))]).collect();
        let program = Program::from(*contract);
        for (step, plan) in (0..).zip(plans) {
            upf.apply(START + Span::from_millis(100 * step), &plan).unwrap();
            for ticks in 0..40 {
                upf.advance(START + Span::from_millis(100 * step + 2 * ticks));
            }
            let state = upf.switch_state().unwrap();
            assert!(state.profile == contract.profile && !state.is_reconciling, "{state:?}");
            assert_eq!(state.sessions, [1, 2, 3, 3, 2][step as usize]);
            assert!(!state.tables.is_empty() && state.changes == 0);
            for table in &state.tables {
                let known = program.tables.iter().find(|known| known.name == table.name).unwrap();
                let there = upf.switch().driver().state().entries(known.id).unwrap().count();
                assert_eq!(table.entries, there, "{}, {}", contract.profile, table.name);
                // The model in this process has more space for sources.
                assert!(table.size >= known.size, "{table:?}");
            }
            for side in &state.accounting {
                let takers = side.partitions.iter().filter(|partition| partition.takes_entries).count();
                assert_eq!(takers, 1, "{side:?}");
            }
        }
    }
}
