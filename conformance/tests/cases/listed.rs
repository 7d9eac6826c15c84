//! Every case against a data plane that does not pass all: those that are not listed pass, and the list says why the others do
//! not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use causeway_conformance::{Backend, Case, compare, run};
use libtest_mimic::{Failed, Trial};
use serde::de::DeserializeOwned;

use crate::{Suite, here, judge};

/// What some data planes advertise is less than what the recordings were made with.
const FEATURES: &str = "UP Function Features (43)";

/// Its features are other ones than those of the recording: that line is left out on both sides.
fn without_features(text: &str) -> String {
    text.lines().filter(|line| !line.contains(FEATURES)).map(|line| format!("{line}\n")).collect()
}

fn passes(suite: &Suite, case: &Case, backend: &dyn Backend) -> Result<(), Failed> {
    let seen = run(case, &suite.fragments, backend)?;
    judge(compare(case, &seen.text, without_features)?)
}

/// Cases by the reason why a data plane does not pass them.
pub(crate) type Listed = BTreeMap<String, BTreeSet<String>>;

/// A file of lists beside the cases.
pub(crate) fn read<T: DeserializeOwned>(file: &str) -> T {
    let text = std::fs::read_to_string(here().join(file)).unwrap_or_else(|error| panic!("{error}"));
    serde_yaml_ng::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The cases of a file that has no other lists.
pub(crate) fn listed(file: &str) -> BTreeSet<String> {
    read::<Listed>(file).into_values().flatten().collect()
}

/// A test for each case, and one for the list.
pub(crate) fn trials(
    suite: &Arc<Suite>,
    plane: &str,
    excused: BTreeSet<String>,
    backend: fn() -> Box<dyn Backend>,
) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (place, name) in suite.named() {
        let (suite, is_excused) = (Arc::clone(suite), excused.contains(&name));
        trials.push(Trial::test(format!("{plane}::{name}"), move || {
            check(&suite, &suite.cases[place], backend().as_ref(), is_excused)
        }));
    }
    let suite = Arc::clone(suite);
    let name = format!("{plane}::the_list_names_cases");
    trials.push(Trial::test(name, move || the_list_names_cases(&suite, &excused)));
    trials
}

// Input:  a case, on a data plane.
// Output: it passes, or is listed with a reason; none is listed that passes.
pub(crate) fn check(
    suite: &Suite,
    case: &Case,
    backend: &dyn Backend,
    is_excused: bool,
) -> Result<(), Failed> {
    match (passes(suite, case, backend), is_excused) {
        (Ok(()), true) => Err("passes: take it off the list".into()),
        (Err(_), true) => Ok(()),
        (result, false) => result,
    }
}

// Input:  the cases that a data plane does not pass, as listed.
// Output: there are cases of these names.
pub(crate) fn the_list_names_cases(suite: &Suite, excused: &BTreeSet<String>) -> Result<(), Failed> {
    let known: BTreeSet<String> = suite.named().map(|(_, name)| name).collect();
    match excused.difference(&known).next() {
        Some(name) => Err(format!("{name} is no case").into()),
        None => Ok(()),
    }
}
