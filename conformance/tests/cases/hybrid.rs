//! Every case against the hybrid UPF, while random rules move between the fast path and the switch: `hybrid.yaml` says
//! where the recording cannot be the same, and why.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use causeway_conformance::{Case, HybridBackend, compare, run};
use libtest_mimic::{Failed, Trial};

use crate::listed::{listed, the_list_names_cases};
use crate::{Suite, judge};

/// Different moves of the same case.
const SEEDS: u64 = 3;

/// A test for each case, with each seed, and one for the list.
pub(crate) fn trials(suite: &Arc<Suite>) -> Vec<Trial> {
    let excused = listed("hybrid.yaml");
    let mut trials = Vec::new();
    for (place, name) in suite.named() {
        let (suite, is_excused) = (Arc::clone(suite), excused.contains(&name));
        trials.push(Trial::test(format!("hybrid::{name}"), move || {
            check(&suite, &suite.cases[place], is_excused)
        }));
    }
    let moving = Arc::clone(suite);
    trials.push(Trial::test("hybrid::the_rules_of_cases_move", move || the_rules_of_cases_move(&moving)));
    let suite = Arc::clone(suite);
    trials.push(Trial::test("hybrid::the_list_names_cases", move || the_list_names_cases(&suite, &excused)));
    trials
}

// Input:  a case, on the hybrid UPF, with rules that move at random; and with other moves.
// Output: it is as recorded each time, or is listed with a reason and differs with at least one of the seeds.
fn check(suite: &Suite, case: &Case, is_excused: bool) -> Result<(), Failed> {
    let passes = |seed| -> Result<(), Failed> {
        let seen = run(case, &suite.fragments, &HybridBackend { seed, flipped: Arc::default() })?;
        judge(compare(case, &seen.text, str::to_owned)?)
    };
    let results: Result<(), Failed> = (1..=SEEDS).try_for_each(passes);
    match (results, is_excused) {
        (Ok(()), true) => Err("passes: take it off the list".into()),
        (Err(_), true) => Ok(()),
        (result, false) => result,
    }
}

// Input:  all cases.
// Output: the switch forwards packets of at least 30 rules that have moved to it: the other tests compare something.
fn the_rules_of_cases_move(suite: &Suite) -> Result<(), Failed> {
    let backend = HybridBackend { seed: 1, flipped: Arc::default() };
    for case in &suite.cases {
        let _compared_elsewhere = run(case, &suite.fragments, &backend);
    }
    match backend.flipped.load(Ordering::Relaxed) {
        few @ 0..30 => Err(format!("only {few} rules have moved").into()),
        _ => Ok(()),
    }
}
