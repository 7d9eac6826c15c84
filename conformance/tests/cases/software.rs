//! Every case against every data plane that passes all of them, as it is recorded.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use causeway_conformance::{
    BACKENDS, Backend, Case, CaseError, Datagram, FastPathBackend, Input, compare_or_record, run,
    write_capture,
};
use libtest_mimic::{Failed, Trial};

use crate::{Suite, judge, name_of};

/// What is larger makes a poor seed: the same packet thousands of times.
const LARGEST_SEED: usize = 16 << 10;

/// The datagrams that the fast path sent, by the places of the cases.
#[derive(Default)]
pub(crate) struct Capture(Mutex<BTreeMap<usize, Vec<Datagram>>>);

impl Capture {
    fn add(&self, place: usize, datagrams: Vec<Datagram>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(place, datagrams);
    }

    /// Writes them in the order of the cases, where `CAUSEWAY_CAPTURE` says.
    pub(crate) fn write(&self) -> Result<(), CaseError> {
        let sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match std::env::var_os("CAUSEWAY_CAPTURE") {
            Some(path) if !sent.is_empty() => write_capture(Path::new(&path), sent.values().flatten()),
            _ => Ok(()),
        }
    }
}

/// A test for each case on each of [`BACKENDS`]; when recording, on the first alone, since others would write the same files.
pub(crate) fn trials(suite: &Arc<Suite>, capture: &Arc<Capture>, is_recording: bool) -> Vec<Trial> {
    let planes = if is_recording { 1 } else { BACKENDS.len() };
    let all = (0..planes).flat_map(|plane| suite.named().map(move |(place, name)| (plane, place, name)));
    let trial = |(plane, place, name): (usize, usize, String)| {
        let (suite, capture) = (Arc::clone(suite), Arc::clone(capture));
        let name = format!("{}::{name}", BACKENDS[plane].name());
        Trial::test(name, move || check(&suite, place, BACKENDS[plane], &capture))
    };
    all.map(trial).collect()
}

// Input:  a case under conformance/cases.
// Output: what the case expects, and every line as recorded.
fn check(suite: &Suite, place: usize, backend: &dyn Backend, capture: &Capture) -> Result<(), Failed> {
    let case = &suite.cases[place];
    let transcript = run(case, &suite.fragments, backend)?;
    if backend.name() == FastPathBackend.name() {
        write_seed(case, &transcript.inputs)?;
        capture.add(place, transcript.datagrams);
    }
    judge(compare_or_record(case, &transcript.text)?)
}

/// One file for each case, in the form that the fuzz target reads, where `CAUSEWAY_SEEDS` says.
fn write_seed(case: &Case, inputs: &[Input]) -> std::io::Result<()> {
    let Some(folder) = std::env::var_os("CAUSEWAY_SEEDS") else { return Ok(()) };
    let mut octets = Vec::new();
    inputs.iter().for_each(|input| input.write(&mut octets));
    if octets.len() > LARGEST_SEED {
        return Ok(());
    }
    std::fs::write(Path::new(&folder).join(name_of(case).replace('/', "-")), octets)
}
