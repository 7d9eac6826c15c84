//! What it costs to find lines, in batches of 32: by TEID slot, by pool offset, by cuckoo table, and by the standard
//! library's hash table.
//!
//! `cargo run --release -p causeway-fastpath --example index -- [--json FILE] [ENTRIES ...]` prints nanoseconds per lookup and
//! writes them as JSON if asked to. A lookup ends with the comparison of the whole key in the line and a count in it.
//! Entries are looked up in random order. Time is CPU time of the thread; the ways take turns, and the median and the
//! lowest tenth of some thousand batches each remain.

use std::collections::HashMap;
use std::error::Error;
use std::hint::black_box;
use std::io::{self, Write};

use causeway_fastpath::index::{Arena, Cuckoo, Pools, PrefixKey, Probe, prefetch};
use causeway_rules::{Scramble, TeidScheme};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use zerocopy::FromZeros;

/// Lookups at a time.
const BATCH: usize = 32;

/// Batches at a time of one way.
const TURN: usize = 64;

/// Turns of each way.
const TURNS: usize = 1000;

/// Batches that are prepared; with more entries than they hold, a part is looked up over and over.
const PREPARED: usize = 1 << 15;

/// The first UE address, and the first UE prefix.
const FIRST_ADDRESS: u32 = 0x0a00_0000;
const FIRST_PREFIX: u64 = 0x2001_0db8 << 32;

/// Filled by loops, since `array::map` may become a call for each element.
type Batch<T> = [T; BATCH];

#[derive(FromZeros)]
#[repr(align(64))]
struct Line {
    teid: u32,
    address: u32,
    prefix: u64,
    hits: u64,
}

/// A population and what finds its lines.
struct Bench {
    lines: Arena<Line>,
    scheme: TeidScheme,
    pools: Pools,
    cuckoo: Cuckoo<PrefixKey>,
    map: HashMap<PrefixKey, u32>,
    slots: Vec<Batch<u32>>,
    teids: Vec<Batch<u32>>,
    addresses: Vec<Batch<u32>>,
    prefixes: Vec<Batch<PrefixKey>>,
    next: usize,
}

/// A way to find lines.
type Way = (&'static str, fn(&mut Bench));

const WAYS: [Way; 7] = [
    ("slot known", Bench::slot_known),
    ("TEID, plain", Bench::teid_plain),
    ("TEID, hidden", Bench::teid_hidden),
    ("pool offset", Bench::pool_offset),
    ("cuckoo", Bench::cuckoo),
    ("HashMap, staged", Bench::map_staged),
    ("HashMap, one by one", Bench::map_plain),
];

fn key(entry: u32) -> PrefixKey {
    PrefixKey { prefix: FIRST_PREFIX + u64::from(entry), network: 1 }
}

impl Bench {
    fn new(entries: u32) -> Result<Self, Box<dyn Error>> {
        let scramble = Scramble::new([1, 2, 3]);
        let nets =
            [(0, "10.0.0.0/8".parse()?), (1, "172.16.0.0/12".parse()?), (2, "192.168.0.0/16".parse()?)];
        let mut bench = Self {
            lines: Arena::new(entries as usize + 1)?,
            scheme: TeidScheme::hidden(scramble),
            pools: Pools::new(&nets, u32::MAX),
            cuckoo: Cuckoo::new(entries as usize)?,
            map: HashMap::with_capacity(entries as usize),
            slots: Vec::new(),
            teids: Vec::new(),
            addresses: Vec::new(),
            prefixes: Vec::new(),
            next: 0,
        };
        for entry in 1..=entries {
            let teid = scramble.hide32(entry);
            bench.lines[entry as usize] =
                Line { teid, address: FIRST_ADDRESS + entry, prefix: key(entry).prefix, hits: 0 };
            bench.cuckoo.insert(&key(entry), entry)?;
            bench.map.insert(key(entry), entry);
        }
        let order = shuffled(entries);
        for batch in order.as_chunks().0.iter().take(PREPARED) {
            bench.slots.push(*batch);
            bench.teids.push(batch.map(|entry| scramble.hide32(entry)));
            bench.addresses.push(batch.map(|entry| FIRST_ADDRESS + entry));
            bench.prefixes.push(batch.map(key));
        }
        Ok(bench)
    }

    /// Asks for all lines, then counts in those that `is_it` says are right.
    #[inline(always)]
    fn count(lines: &mut [Line], numbers: &Batch<u32>, is_it: impl Fn(usize, &Line) -> bool) {
        for number in numbers {
            prefetch(lines, *number as usize);
        }
        for (index, number) in numbers.iter().enumerate() {
            if let Some(line) = lines.get_mut(*number as usize)
                && is_it(index, line)
            {
                line.hits += 1;
            }
        }
    }

    fn slot_known(&mut self) {
        let (slots, teids) = (&self.slots[self.next], &self.teids[self.next]);
        Self::count(&mut self.lines, slots, |index, line| line.teid == teids[index]);
    }

    fn teid_plain(&mut self) {
        let teids = &self.slots[self.next];
        let slots = TeidScheme::default().slots(teids);
        Self::count(&mut self.lines, &slots, |_, line| line.teid != 0);
    }

    fn teid_hidden(&mut self) {
        let teids = &self.teids[self.next];
        let slots = self.scheme.slots(teids);
        Self::count(&mut self.lines, &slots, |index, line| line.teid == teids[index]);
    }

    fn pool_offset(&mut self) {
        let addresses = &self.addresses[self.next];
        let mut slots = [0; BATCH];
        for (slot, address) in slots.iter_mut().zip(addresses) {
            *slot = self.pools.slot(*address).unwrap_or(0);
        }
        Self::count(&mut self.lines, &slots, |index, line| line.address == addresses[index]);
    }

    fn cuckoo(&mut self) {
        let keys = &self.prefixes[self.next];
        let mut probes = [Probe::default(); BATCH];
        for (probe, key) in probes.iter_mut().zip(keys) {
            *probe = self.cuckoo.probe(key);
            self.cuckoo.prefetch(*probe);
        }
        let mut numbers = [0; BATCH];
        for (number, probe) in numbers.iter_mut().zip(&probes) {
            *number = self.cuckoo.find(*probe, |_| true).unwrap_or(0);
        }
        let mut wrong = [false; BATCH];
        for number in &numbers {
            prefetch(&self.lines, *number as usize);
        }
        for (index, number) in numbers.iter().enumerate() {
            wrong[index] = self.lines[*number as usize].prefix != keys[index].prefix;
        }
        for index in (0..BATCH).filter(|index| wrong[*index]) {
            let is_it = |line: u32| self.lines[line as usize].prefix == keys[index].prefix;
            numbers[index] = self.cuckoo.find(probes[index], is_it).unwrap_or(0);
        }
        for (index, number) in numbers.iter().enumerate() {
            let line = &mut self.lines[*number as usize];
            line.hits += u64::from(line.prefix == keys[index].prefix);
        }
    }

    fn map_staged(&mut self) {
        let keys = &self.prefixes[self.next];
        let mut numbers = [0; BATCH];
        for (number, key) in numbers.iter_mut().zip(keys) {
            *number = self.map.get(key).copied().unwrap_or(0);
        }
        Self::count(&mut self.lines, &numbers, |index, line| line.prefix == keys[index].prefix);
    }

    fn map_plain(&mut self) {
        for key in &self.prefixes[self.next] {
            if let Some(number) = self.map.get(key)
                && let Some(line) = self.lines.get_mut(*number as usize)
                && line.prefix == key.prefix
            {
                line.hits += 1;
            }
        }
    }

    /// Nanoseconds of one lookup in this way.
    fn turn(&mut self, way: fn(&mut Self)) -> f64 {
        let start = cpu_nanos();
        for _ in 0..TURN {
            self.next = (self.next + 1) % self.slots.len();
            way(self);
        }
        (cpu_nanos() - start) / (TURN * BATCH) as f64
    }

    fn hits(&self) -> u64 {
        self.lines.iter().map(|line| line.hits).sum()
    }
}

/// The numbers 1 to `entries` in a random order that is the same each time.
fn shuffled(entries: u32) -> Vec<u32> {
    let scramble = Scramble::new([4, 5, 6]);
    let mut order: Vec<u32> = (1..=entries).collect();
    order.sort_by_cached_key(|entry| scramble.hide32(*entry));
    order
}

fn cpu_nanos() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// The lowest tenth and the median.
fn summary(samples: &mut [f64]) -> (f64, f64) {
    samples.sort_by(f64::total_cmp);
    (samples[samples.len() / 10], samples[samples.len() / 2])
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = match arguments.iter().position(|argument| argument == "--json") {
        Some(index) => arguments.drain(index..).nth(1),
        None => None,
    };
    let mut sizes = arguments.iter().map(|entries| entries.parse()).collect::<Result<Vec<u32>, _>>()?;
    if sizes.is_empty() {
        sizes = vec![10_000, 100_000, 1_000_000, 10_000_000];
    }
    let mut out = io::stdout().lock();
    let mut report = Vec::new();
    writeln!(out, "ns per lookup, batches of {BATCH}, CPU time of the thread\n")?;
    writeln!(out, "{:>10}  {:20} {:>6} {:>6}", "entries", "found by", "p10", "median")?;
    for entries in sizes {
        if !(BATCH as u32..1 << 24).contains(&entries) {
            return Err(format!("{entries} entries: from {BATCH} to 2^24 - 1").into());
        }
        let mut bench = Bench::new(entries)?;
        let mut samples = WAYS.map(|_| Vec::new());
        for _ in 0..TURNS {
            for ((_, way), samples) in WAYS.iter().zip(&mut samples) {
                samples.push(bench.turn(*way));
            }
        }
        let expected = (WAYS.len() * TURNS * TURN * BATCH) as u64;
        if black_box(bench.hits()) != expected {
            return Err(format!("{} of {expected} lookups found their line", bench.hits()).into());
        }
        for ((way, _), samples) in WAYS.iter().zip(&mut samples) {
            let (p10, median) = summary(samples);
            writeln!(out, "{entries:>10}  {way:20} {p10:>6.1} {median:>6.1}")?;
            report.push(json!({ "entries": entries, "found_by": way, "p10_ns": p10, "median_ns": median }));
        }
    }
    match json {
        Some(path) => Ok(std::fs::write(path, serde_json::to_vec_pretty(&report)?)?),
        None => Ok(()),
    }
}
