//! Every attack for a moment, against a UPF in a process of its own.

use std::time::Duration;

use causeway_adversary::{ATTACKS, Options, run};
use causeway_lab::netns::check_privilege;

// Input:  each attack for a third of a second, while a good SMF and a good UE use the UPF.
// Output: what each attack tries does not happen; the good ones are served after it; every packet is counted once.
#[test]
fn all_attacks_are_withstood() {
    if let Err(error) = check_privilege() {
        return eprintln!("SKIPPED adversary::all_attacks_are_withstood: needs root ({error})");
    }
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        program: env!("CARGO_BIN_EXE_causeway-adversary").into(),
        out: folder.path().into(),
        length: Duration::from_millis(300),
        seed: 1,
    };
    let round = run(ATTACKS, &options, |line| eprintln!("{line}")).unwrap();
    let failures: Vec<_> = round.failures().collect();
    assert_eq!(round.outcomes.len(), ATTACKS.len(), "{failures:#?}");
    assert!(failures.is_empty(), "{failures:#?}");
}
