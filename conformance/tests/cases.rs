//! Every case against every data plane.
//!
//! `CAUSEWAY_RECORD=1 cargo test -p causeway-conformance` records what is seen, for review in the diff.
//! `CAUSEWAY_SEEDS=FOLDER` also writes what happens in each case as a seed of the fuzz target `upf_script`, and
//! `CAUSEWAY_CAPTURE=FILE` also writes the datagrams of all cases to a pcap file.

#![allow(clippy::print_stdout, reason = "the count of cases is what a reader of the test output looks for")]

use std::path::Path;

use causeway_conformance::{
    BACKENDS, Backend, Case, Datagram, Input, Outcome, compare_or_record, load_all, load_fragments, run,
    write_capture,
};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn cases() -> Vec<Case> {
    load_all(&here().join("cases")).unwrap_or_else(|error| panic!("{error}"))
}

/// What is larger makes a poor seed: the same packet thousands of times.
const LARGEST_SEED: usize = 16 << 10;

/// One file for each case, in the form that the fuzz target reads.
fn write_seed(case: &Case, inputs: &[Input]) {
    let Some(folder) = std::env::var_os("CAUSEWAY_SEEDS") else { return };
    let name = case.path.with_extension("");
    let name = name.strip_prefix(here().join("cases")).unwrap_or(&name).display().to_string();
    let mut octets = Vec::new();
    inputs.iter().for_each(|input| input.write(&mut octets));
    if octets.len() > LARGEST_SEED {
        return;
    }
    let path = Path::new(&folder).join(name.replace('/', "-"));
    std::fs::write(&path, octets).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Runs a case; what it sent is appended to `sent`. Returns what is wrong, if anything.
fn failure(case: &Case, backend: &dyn Backend, sent: &mut Vec<Datagram>) -> Option<String> {
    let fragments = load_fragments(&here().join("fragments.yaml")).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(case, &fragments, backend).and_then(|transcript| {
        sent.extend(transcript.datagrams);
        write_seed(case, &transcript.inputs);
        compare_or_record(case, &transcript.text)
    });
    let name = case.path.strip_prefix(here()).unwrap_or(&case.path).display();
    match outcome {
        Ok(Outcome::Same | Outcome::Recorded) => None,
        Ok(Outcome::Differs { line, recorded, seen }) => Some(format!(
            "{name} on {}: line {line} of its recording\n  recorded: {recorded:?}\n  seen:     {seen:?}",
            backend.name()
        )),
        Err(error) => Some(format!("{name} on {}: {error}", backend.name())),
    }
}

// Input: the cases under conformance/cases.
// Output: what each case expects, and every line as recorded, on every data plane.
#[test]
fn every_case_on_every_data_plane() {
    let cases = cases();
    let mut sent = Vec::new();
    let mut failures = Vec::new();
    for backend in BACKENDS {
        sent.clear();
        failures.extend(cases.iter().filter_map(|case| failure(case, backend, &mut sent)));
    }
    if let Some(path) = std::env::var_os("CAUSEWAY_CAPTURE") {
        write_capture(Path::new(&path), &sent).unwrap_or_else(|error| panic!("{error}"));
    }
    println!("{} cases on {} data planes, {} failed", cases.len(), BACKENDS.len(), failures.len());
    assert!(
        failures.is_empty(),
        "{} of {} cases, on both data planes:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

// Input: the text files beside the cases.
// Output: each belongs to a case, so that a renamed case leaves no stale recording.
#[test]
fn no_recording_without_its_case() {
    let mut folders = vec![here().join("cases")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "txt") {
                assert!(path.with_extension("yaml").exists(), "{} has no case", path.display());
            }
        }
    }
}
