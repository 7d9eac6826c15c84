//! Every case on every data plane. Each is a test of its own, named `DATA PLANE::THEME/CASE`:
//! `cargo test -p causeway-conformance --test cases usage/time` runs the cases with that in their names, on all data planes.
//!
//! `CAUSEWAY_RECORD=1` records what the first data plane does, for review in the diff; run again without it to compare the others. `CAUSEWAY_SEEDS=FOLDER` also writes what
//! happens in each case as a seed of the fuzz target `upf_script`, and `CAUSEWAY_CAPTURE=FILE` also writes the datagrams of all
//! cases to a pcap file.
//!
//! A program of its own, since the cases are read when it starts: the harness of Rust knows only functions.

mod bmv2;
#[path = "../../../crates/dataplane/p4runtime/tests/p4runtime/driver/bmv2_tools.rs"]
mod bmv2_tools;
mod grpc;
mod hybrid;
mod listed;
#[allow(dead_code, unreachable_pub, reason = "tests of the daemon need more of it")]
#[path = "../../../crates/app/upf/tests/upf/common/namespace.rs"]
mod namespace;
mod on_bmv2;
mod restart;
mod software;
mod switch;
#[allow(dead_code, reason = "packet tests need more of it")]
#[path = "../../../crates/dataplane/switch/tests/packets/thrift.rs"]
mod thrift;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use causeway_conformance::{
    Backend, Case, CaseError, Fragments, OracleBackend, Outcome, XPlaneBackend, load_all, load_fragments,
};
use libtest_mimic::{Arguments, Failed, Trial};

use crate::software::Capture;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What is under `conformance/cases`.
struct Suite {
    cases: Vec<Case>,
    fragments: Fragments,
}

impl Suite {
    fn load() -> Result<Self, CaseError> {
        let cases = load_all(&here().join("cases"))?;
        Ok(Self { cases, fragments: load_fragments(&here().join("fragments.yaml"))? })
    }

    /// The cases with their places in [`Self::cases`] and their names.
    fn named(&self) -> impl Iterator<Item = (usize, String)> {
        self.cases.iter().map(name_of).enumerate()
    }
}

/// Theme and case, as `usage/time-threshold`.
fn name_of(case: &Case) -> String {
    let path = case.path.with_extension("");
    path.strip_prefix(here().join("cases")).unwrap_or(&path).display().to_string()
}

/// What a comparison with the recording says, as the result of a test.
fn judge(outcome: Outcome) -> Result<(), Failed> {
    match outcome {
        Outcome::Same | Outcome::Recorded => Ok(()),
        Outcome::Differs { line, recorded, seen } => {
            Err(format!("line {line} of the recording\n  recorded: {recorded:?}\n  seen:     {seen:?}")
                .into())
        }
    }
}

// Input:  the text files beside the cases.
// Output: each belongs to a case, so that a renamed case leaves no stale recording.
fn no_recording_without_its_case() -> Result<(), Failed> {
    let mut folders = vec![here().join("cases")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "txt")
                && !path.with_extension("yaml").exists()
            {
                return Err(format!("{} has no case", path.display()).into());
            }
        }
    }
    Ok(())
}

/// Whether recordings are written instead of compared.
fn is_recording() -> bool {
    std::env::var_os("CAUSEWAY_RECORD").is_some()
}

/// A test that fails by a panic.
fn panicking(name: &str, test: fn()) -> Trial {
    Trial::test(name, move || {
        test();
        Ok(())
    })
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let suite = match Suite::load() {
        Ok(suite) => Arc::new(suite),
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let capture = Arc::new(Capture::default());
    let mut trials = vec![
        Trial::test("no_recording_without_its_case", no_recording_without_its_case),
        panicking(
            "restart::a_switch_that_restarts_is_filled_again",
            restart::a_switch_that_restarts_is_filled_again,
        ),
        panicking(on_bmv2::HIP4, on_bmv2::hip4_passes_what_it_supports),
        panicking(on_bmv2::DIRECT, on_bmv2::direct_passes_what_it_supports),
    ];
    trials.extend(software::trials(&suite, &capture, is_recording()));
    // A case that is being recorded cannot be compared at the same time.
    if !is_recording() {
        trials.extend(listed::trials(&suite, OracleBackend.name(), listed::listed("oracle.yaml"), || {
            Box::new(OracleBackend)
        }));
        trials.extend(switch::trials(&suite));
        trials.extend(listed::trials(&suite, XPlaneBackend.name(), listed::listed("xplane.yaml"), || {
            Box::new(XPlaneBackend)
        }));
        trials.extend(hybrid::trials(&suite));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Err(error) = capture.write() {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}
