//! The register of clauses and the truth of the feature bits.
//!
//! `CAUSEWAY_RECORD=1 cargo test -p causeway-conformance` renders the pages anew.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use causeway_conformance::register::{
    cases_page, clauses_page, load_chapters, load_features, name_of, problems,
};
use causeway_conformance::{BACKENDS, Backend, Case, load_all, load_fragments, run};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn cases() -> Vec<Case> {
    load_all(&here().join("cases")).unwrap_or_else(|error| panic!("{error}"))
}

fn root() -> &'static Path {
    here().parent().expect("the repository")
}

/// The lines and how often each is there: pages of two branches may be put together line by line.
fn lines(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    text.lines().for_each(|line| *counts.entry(line).or_default() += 1);
    counts
}

/// Writes the page when recording; what is wrong with it otherwise.
fn stale(name: &str, page: &str) -> Option<String> {
    let path = root().join("docs/conformance").join(name);
    if std::env::var_os("CAUSEWAY_RECORD").is_some() {
        std::fs::write(&path, page).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return None;
    }
    let held = std::fs::read_to_string(&path).unwrap_or_default();
    let (held, wanted) = (lines(&held), lines(page));
    let difference = wanted
        .iter()
        .chain(&held)
        .find(|(line, count)| held.get(*line) != Some(count) || wanted.get(*line) != Some(count))?;
    Some(format!(
        "docs/conformance/{name} is stale at `{}`: run CAUSEWAY_RECORD=1 cargo test -p causeway-conformance",
        difference.0
    ))
}

// Input:  specs/, and the cases under conformance/cases.
// Output: every clause that a case cites has an entry, every entry is shown by what exists, and the pages are those
//         that follow from both.
#[test]
fn the_register_is_true_and_rendered() {
    let chapters = load_chapters(&root().join("specs")).unwrap_or_else(|error| panic!("{error}"));
    let cases = cases();
    let mut wrong = problems(&chapters, &cases, root());
    wrong.extend(stale("clauses.md", &clauses_page(&chapters, &cases)));
    wrong.extend(stale("cases.md", &cases_page(&cases)));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The bits that the UPF with this data plane sends in an Association Setup Response.
fn advertised(backend: &dyn Backend) -> BTreeSet<String> {
    let case = "{title: features, clause: TS 29.244 8.2.25, input: '', output: '', \
                setup: {unassociated: true, ue-pools: [10.46.0.0/24]}, \
                steps: [{smf: {type: Association Setup Request, base: association}}]}";
    let case = serde_yaml_ng::from_str(case).expect("a case");
    let fragments = load_fragments(&here().join("fragments.yaml")).unwrap_or_else(|error| panic!("{error}"));
    let seen = run(&case, &fragments, backend).expect("an association").text;
    let (_, bits) = seen.split_once("UpFeatures(").expect("UP Function Features");
    let (bits, _) = bits.split_once(')').expect("the end of the bits");
    bits.split('|').map(|bit| bit.trim().to_owned()).collect()
}

// Input:  the UP Function Features that each data plane advertises, with every optional setting, and specs/features.yaml.
// Output: each bit has a case that exists, and each bit that has one is advertised.
#[test]
fn every_feature_bit_is_true() {
    let features =
        load_features(&root().join("specs/features.yaml")).unwrap_or_else(|error| panic!("{error}"));
    let names: BTreeSet<String> = cases().iter().map(name_of).collect();
    let [advertised, others @ ..] = &BACKENDS.map(advertised)[..] else { panic!("a data plane") };
    assert!(others.iter().all(|other| other == advertised), "{advertised:?}, but {others:?}");
    let mut wrong = Vec::new();
    for bit in advertised.iter().filter(|bit| !features.iter().any(|feature| feature.bit == **bit)) {
        wrong.push(format!(
            "{bit} is advertised; add to specs/features.yaml: - {{bit: {bit}, cases: [THEME/CASE]}}"
        ));
    }
    for feature in &features {
        if !advertised.contains(&feature.bit) {
            wrong.push(format!("specs/features.yaml has {}, which is not advertised", feature.bit));
        }
        let missing = feature.cases.iter().filter(|case| !names.contains(*case));
        wrong.extend(
            missing.map(|case| format!("specs/features.yaml: {}: there is no case {case}", feature.bit)),
        );
        if feature.cases.is_empty() {
            wrong.push(format!("specs/features.yaml: {} needs a case that shows it", feature.bit));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
