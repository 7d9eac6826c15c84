//! Every case against X-PLANE over the model of external memory; `xplane.yaml` says which it does not pass, and why.

use std::sync::Arc;

use causeway_conformance::{Backend, XPlaneBackend};
use libtest_mimic::Trial;

use crate::Suite;
use crate::switch::{check, listed, the_list_names_cases};

/// A test for each case, and one for the list.
pub(crate) fn trials(suite: &Arc<Suite>) -> Vec<Trial> {
    let excused = listed("xplane.yaml");
    let plane = XPlaneBackend.name();
    let mut trials = Vec::new();
    for (place, name) in suite.named() {
        let (suite, is_excused) = (Arc::clone(suite), excused.contains(&name));
        trials.push(Trial::test(format!("{plane}::{name}"), move || {
            check(&suite, &suite.cases[place], &XPlaneBackend, is_excused)
        }));
    }
    let suite = Arc::clone(suite);
    let name = format!("{plane}::the_list_names_cases");
    trials.push(Trial::test(name, move || the_list_names_cases(&suite, &excused)));
    trials
}
