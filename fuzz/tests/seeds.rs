//! Each fuzz target on its seeds and on changed ones, as many as an ordinary test has time for. `scripts/fuzz` goes on from there.

use std::fs;
use std::path::Path;

use causeway_fuzz::TARGETS;

/// Targets with a whole UPF, a switch or N4 in them, of which each run takes thousands of times as long.
const LARGE: [&str; 5] = ["accel_messages", "accel_punted", "chain_records", "p4runtime", "upf_script"];

/// Changed seeds in all, of a small target and of a large one.
const CHANGED: [usize; 2] = [40_000, 2_000];

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = files.map(|file| file.expect("a folder can be listed").path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        .collect()
}

/// A seed with some octets changed, without its end, with a part twice, or with the end of another one.
fn changed(seeds: &[Vec<u8>], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut octets = seeds[random.usize(..seeds.len())].clone();
    for _ in 0..random.usize(1..4) {
        let at = random.usize(..=octets.len());
        match random.u8(..6) {
            0 => octets.truncate(at),
            1 => octets.insert(at, random.u8(..)),
            2 => {
                let end = random.usize(at..=octets.len().min(at + 64));
                let part = octets[at..end].to_vec();
                octets.splice(at..at, part);
            }
            3 => {
                let other = &seeds[random.usize(..seeds.len())];
                octets.truncate(at);
                octets.extend(&other[random.usize(..=other.len())..]);
            }
            4 if at < octets.len() => octets[at] ^= 1 << random.u8(..8),
            _ if at < octets.len() => {
                octets[at] = *random.choice(&[0, 1, 0x7f, 0x80, 0xff]).expect("a value");
            }
            _ => {}
        }
    }
    octets
}

/// Runs the targets for which this says so. One that panics has said what is wrong; the octets follow.
fn run(is_meant: impl Fn(&str) -> bool) {
    for (name, target) in TARGETS.iter().filter(|(name, _)| is_meant(name)) {
        let seeds = seeds(name);
        assert!(!seeds.is_empty(), "{name} has no seed in fuzz/seeds/{name}");
        let mut random = fastrand::Rng::with_seed(1);
        let more = (0..CHANGED[usize::from(LARGE.contains(name))]).map(|_| changed(&seeds, &mut random));
        for octets in seeds.iter().cloned().chain(more) {
            if std::panic::catch_unwind(|| target(&octets)).is_err() {
                panic!("{name}: {octets:02x?}");
            }
        }
    }
}

// Input:  the seeds of the targets of decoders, and changed ones.
// Output: no target finds anything wrong.
#[test]
fn decoders_take_any_octets() {
    run(|name| !LARGE.contains(&name));
}

// Input:  the seeds of the other targets, and changed ones.
// Output: the same.
#[test]
fn state_machines_take_any_octets() {
    run(|name| LARGE.contains(&name) && name != "upf_script");
}

// Input:  the seeds of the target of a whole UPF, and changed ones.
// Output: the same.
#[test]
fn a_upf_takes_any_script() {
    run(|name| name == "upf_script");
}

// Input:  the folders of seeds.
// Output: each is one of a target.
#[test]
fn seeds_are_those_of_targets() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    let folders = fs::read_dir(folder).expect("a folder").map(|folder| folder.expect("a folder").file_name());
    let mut folders: Vec<_> = folders.map(|name| name.into_string().expect("a name")).collect();
    folders.sort();
    assert_eq!(folders, TARGETS.map(|(name, _)| name));
}
