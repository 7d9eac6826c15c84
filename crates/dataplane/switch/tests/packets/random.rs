//! Random entries and random packets: BMv2 and the model do the same.
//!
//! Entries are drawn from what a program has, table by table, with values of a few pools, so that packets of the same pools often
//! match. What differs is shown with its seed; `CAUSEWAY_PACKETS_SEED=n` begins there, `CAUSEWAY_PACKETS_WORLDS=n` tries so many.
//! Not so in profile `direct`: its rows are numbers of sessions, which values drawn by themselves do not hit.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use causeway_switch::driver::{Entry, EntryKey, FieldMatch, Key, MatchKind, Rates, Table, Update};
use fastrand::Rng;

use crate::bench::{Bench, at_once, number};
use crate::frames::*;
use crate::profiles::{self, Profile};
use crate::world;
use crate::{CPU, N3, N6, N9, SOFTWARE, bmv2};

const PACKETS: usize = 150;

// Input:  random entries in all tables of a profile, and random packets, most of them well-formed, for whatever they match.
// Output: after each packet the same frames and drops on BMv2 and on the model, at the end the same counters of all entries.
#[test]
fn bmv2_and_the_model_do_the_same() {
    if !bmv2::is_inside() {
        return bmv2::run_inside("random::bmv2_and_the_model_do_the_same");
    }
    let asked = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    let first = asked("CAUSEWAY_PACKETS_SEED").unwrap_or(1);
    let drawn = |profile: &Profile| profile.is_modelled() && profile.name != "direct";
    let drawn: Vec<Profile> = profiles::all().into_iter().filter(drawn).collect();
    let worlds = asked("CAUSEWAY_PACKETS_WORLDS").unwrap_or(1);
    let left = AtomicUsize::new(0);
    for seed in first..first + worlds {
        at_once(&drawn, |profile| _ = left.fetch_add(live(profile, seed), Ordering::Relaxed));
    }
    // In some worlds few packets find a rule and a way, but not in most.
    let (left, sent) = (left.into_inner(), worlds as usize * drawn.len() * PACKETS);
    assert!(left > sent / 10, "from seed {first} only {left} frames of {sent} left");
}

/// One world: its switches, entries and packets. So many frames left.
fn live(profile: Profile, seed: u64) -> usize {
    eprintln!("{}, CAUSEWAY_PACKETS_SEED={seed}", profile.name);
    let mut random = Rng::with_seed(seed);
    let mut bench = Bench::bare(profile);
    let entries = fill(&mut bench, &mut random);
    for place in 1..4 {
        let committed_burst = random.u64(100..1500);
        let peak_burst = committed_burst + random.u64(0..1500);
        bench.set_meter(place, Rates { committed: 0, committed_burst, peak: 0, peak_burst });
    }
    let mut left = 0;
    for packet in 0..PACKETS {
        let (port, frame) = world::frame(&mut random);
        eprintln!("{} {packet} by port {port}: {frame:02x?}", profile.name);
        left += bench.send(port, &frame).len();
        bench.drops();
    }
    for key in &entries {
        let name = bench.program.table(key.table).unwrap().name.clone();
        match name.get(..4) {
            Some("pre_") => _ = bench.direct(key),
            Some("post") => bench.same_packets(key),
            _ => {}
        }
    }
    for queue in 0..32 {
        bench.indexed("queue_packets", queue);
    }
    left
}

/// Random entries in every table that takes any.
fn fill(bench: &mut Bench, random: &mut Rng) -> Vec<EntryKey> {
    let mut seen = HashSet::new();
    let mut keys = Vec::new();
    for table in bench.program.tables.clone().into_iter().filter(|table| !table.is_const) {
        let wanted = match table.keys.iter().any(|key| key.kind == MatchKind::Ternary) {
            _ if table.name.starts_with("p") => 40,
            true => 12,
            false => 30,
        };
        for _ in 0..wanted {
            let entry = entry(bench, &table, keys.len() as i32 + 1, random);
            // Rows that match the same would be told apart by their priority alone, which one table may not have twice.
            if seen.insert((entry.key.table, entry.key.fields.clone())) {
                keys.push(entry.key.clone());
                bench.write(&Update::Insert(entry));
            }
        }
    }
    keys
}

fn entry(bench: &Bench, table: &Table, priority: i32, random: &mut Rng) -> Entry {
    let fields = table.keys.iter().map(|key| field(&table.name, key, random)).collect();
    let action = table.actions[random.usize(..table.actions.len())];
    let parameters = &bench.program.action(action).unwrap().parameters;
    let parameters = parameters.iter().map(|parameter| data(&table.name, &parameter.name, random));
    let priority = if table.has_priority() { priority } else { 0 };
    let key = EntryKey { table: table.id, fields, priority };
    Entry { key, action, parameters: parameters.collect() }
}

fn field(table: &str, key: &Key, random: &mut Rng) -> FieldMatch {
    let width = u32::from(key.width);
    let all = u128::MAX >> (128 - width);
    let value = value(table, key, random) & all;
    match key.kind {
        MatchKind::Exact => FieldMatch::Exact(value),
        MatchKind::Lpm => {
            let prefix = *random.choice(&[0, width / 4, width / 2, width - 8, width - 4, width]).unwrap();
            let value = value & all & all.checked_shl(width - prefix).unwrap_or(0);
            FieldMatch::Lpm { value, prefix: prefix as u8 }
        }
        MatchKind::Ternary => {
            let half = all & all << (width / 2);
            let mask = *random.choice(&[0, 0, 0, all, half]).unwrap();
            FieldMatch::Ternary { value: value & mask, mask }
        }
    }
}

fn value(table: &str, key: &Key, random: &mut Rng) -> u128 {
    match (key.name.as_str(), key.width) {
        ("teid", _) => world::teid(random).into(),
        ("qfi", _) => world::qfi(random).into(),
        ("destination", 32) if table.starts_with("tunnel") => number(tunnel(random)),
        (_, 32) => number(world::address(random)),
        (_, 128) => u128::from_be_bytes(world::address_ipv6(random)),
        (_, 64) => u128::from_be_bytes(world::address_ipv6(random)) >> 64,
        ("protocol", _) => world::protocol(random).into(),
        ("dscp", _) => (world::tos(random) >> 2).into(),
        ("source_port" | "destination_port", _) => world::port(random).into(),
        ("rule", _) => random.u128(1..40),
        ("color", _) => random.u128(0..2),
        // ARP goes to the CPU port: a frame with it is how the bench knows that all others have left.
        ("reason", _) => random.u128(1..6),
        // One bit, or the difference of a source guard, which is zero for the UE's own.
        (_, 1) => random.u128(0..2),
        ("difference", _) => 0,
        (name, width) => panic!("{table} has key {name} of {width} bits"),
    }
}

fn tunnel(random: &mut Rng) -> [u8; 4] {
    *random.choice(&[GNB, PEER, [172, 16, 9, 99]]).unwrap()
}

fn data(table: &str, parameter: &str, random: &mut Rng) -> u128 {
    match parameter {
        "rule" => random.u128(1..40),
        "meter_index" => *random.choice(&[0, 0, 0, 0, 1, 2, 3]).unwrap(),
        "teid" => random.u32(..).into(),
        "tunnel" => number(tunnel(random)),
        "qfi" => world::qfi(random).into(),
        "pdu_type" => random.u128(0..2),
        "dscp" => random.u128(0..64),
        "mark" => random.u128(0..2),
        "notify" => u128::from(random.u8(0..6) == 0),
        // Each table gives the reasons that are its own: the verdict has no row for a rule with those of closed addresses.
        "reason" if table.starts_with("closed") => random.u128(17..20),
        "reason" => random.u128(1..17),
        "queue" if table == "punt_ports" => 0,
        "queue" => random.u128(0..32),
        "port" if table == "punt_ports" => (*random.choice(&[CPU, SOFTWARE]).unwrap()).into(),
        "port" => (*random.choice(&[N3, N6, N9]).unwrap()).into(),
        "source" | "neighbour" => random.u128(..) >> 80,
        "address" => number(*random.choice(&[UPF_N3, UPF_N9]).unwrap()),
        name => panic!("{table} has parameter {name}"),
    }
}
