//! The cases again, with their steps dropped, repeated, exchanged and spoilt: whatever happens to the UPF, no
//! packet is lost from the counters, nothing is left when the associations end, and all data planes do the same.

use std::path::Path;

use causeway_conformance::{
    Input, Lockstep, SlowPathBackend, load_all, load_fragments, replay, run, topology,
};
use causeway_slowpath::Limits;
use proptest::prelude::*;
use proptest::sample::Index;

/// What the SMFs, gNBs and networks of every case send.
fn scripts() -> Vec<Vec<Input>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fragments = load_fragments(&here.join("fragments.yaml")).unwrap();
    let cases = load_all(&here.join("cases")).unwrap();
    let runs = cases.iter().map(|case| run(case, &fragments, &SlowPathBackend));
    runs.filter_map(|run| Some(run.ok()?.inputs)).collect()
}

/// Something done to a script.
#[derive(Clone, Debug)]
enum Damage {
    Drop(Index),
    Repeat(Index),
    Exchange(Index, Index),
    /// One octet becomes another.
    Spoil(Index, Index, u8),
    /// What is behind an octet is cut off.
    Cut(Index, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<Index>;
    prop_oneof![
        index().prop_map(Damage::Drop),
        index().prop_map(Damage::Repeat),
        (index(), index()).prop_map(|(a, b)| Damage::Exchange(a, b)),
        (index(), index(), any::<u8>()).prop_map(|(step, at, to)| Damage::Spoil(step, at, to)),
        (index(), index()).prop_map(|(step, at)| Damage::Cut(step, at)),
    ]
}

fn octets_of(input: &mut Input) -> Option<&mut Vec<u8>> {
    match input {
        Input::Pfcp { octets, .. } | Input::Packet { octets, .. } if !octets.is_empty() => Some(octets),
        _ => None,
    }
}

fn damaged(mut script: Vec<Input>, damages: &[Damage]) -> Vec<Input> {
    for damage in damages {
        if script.is_empty() {
            return script;
        }
        let count = script.len();
        match damage {
            Damage::Drop(step) => drop(script.remove(step.index(count))),
            Damage::Repeat(step) => script.push(script[step.index(count)].clone()),
            Damage::Exchange(a, b) => script.swap(a.index(count), b.index(count)),
            Damage::Spoil(step, at, to) => {
                if let Some(octets) = octets_of(&mut script[step.index(count)]) {
                    let at = at.index(octets.len());
                    octets[at] = *to;
                }
            }
            Damage::Cut(step, at) => {
                if let Some(octets) = octets_of(&mut script[step.index(count)]) {
                    octets.truncate(at.index(octets.len()));
                }
            }
        }
    }
    script
}

/// Lets everything happen to two UPFs at once, one with the slow path and one with the fast path.
fn on_both(script: &[Input]) -> Result<(), String> {
    let lockstep = Lockstep::new(topology(), Limits::default());
    let verdict = lockstep.verdict();
    replay(script, Box::new(lockstep))?;
    verdict.check()
}

// Input:  what is sent in each case, to both data planes in lockstep.
// Output: after each step the same results, packets, counters and events.
#[test]
fn every_case_is_the_same_on_both() {
    for (at, script) in scripts().iter().enumerate() {
        let result = on_both(script);
        assert!(result.is_ok(), "script {at}: {}", result.unwrap_err());
    }
}

// Input:  what is sent in two cases, one behind the other, with up to six damages.
// Output: every packet is in exactly one counter after every step; after the associations are released there
//         are no sessions, tunnels, plans, reports and buffered packets. Both data planes do the same all the time.
#[test]
fn damaged_cases_lose_nothing_and_leave_nothing() {
    let scripts = scripts();
    let pick = (any::<Index>(), any::<Index>(), proptest::collection::vec(damage(), 0..6));
    proptest!(|((first, second, damages) in pick)| {
        let mut script = scripts[first.index(scripts.len())].clone();
        script.extend_from_slice(&scripts[second.index(scripts.len())]);
        let result = on_both(&damaged(script, &damages));
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    });
}

// Input:  the steps of every case, written as octets and read again.
// Output: the same steps, so that seeds of the fuzz target say what the cases say.
#[test]
fn scripts_are_read_as_they_are_written() {
    for script in scripts() {
        let mut octets = Vec::new();
        script.iter().for_each(|input| input.write(&mut octets));
        let again = Input::read_all(&octets);
        let mut written_again = Vec::new();
        again.iter().for_each(|input| input.write(&mut written_again));
        assert_eq!(octets, written_again);
    }
}
