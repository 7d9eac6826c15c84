//! The methods to find flow entries.

use causeway_fastpath::index::{Probe, prefetch};
use causeway_types::TeidScheme;

use super::population::{ADDRESS, BATCH, Batch, CacheLine, HITS, PREFIX, Population, TEID};

/// A way to find the lines of the next batch.
pub(super) type LookupMethod = (&'static str, fn(&mut Population));

pub(super) const WAYS: [LookupMethod; 7] = [
    ("slot known", Population::slot_known),
    ("TEID, plain", Population::teid_plain),
    ("TEID, hidden", Population::teid_hidden),
    ("pool offset", Population::pool_offset),
    ("cuckoo", Population::cuckoo),
    ("HashMap, staged", Population::map_staged),
    ("HashMap, one by one", Population::map_plain),
];

/// Asks for all lines, then counts in those that `is_it` says are right.
#[inline(always)]
fn count(lines: &mut [CacheLine], numbers: &Batch<u32>, is_it: impl Fn(usize, &CacheLine) -> bool) {
    for number in numbers {
        prefetch(lines, *number as usize);
    }
    for (index, number) in numbers.iter().enumerate() {
        if let Some(line) = lines.get_mut(*number as usize)
            && is_it(index, line)
        {
            line[HITS] += 1;
        }
    }
}

impl Population {
    fn slot_known(&mut self) {
        let (slots, teids) = (&self.slots[self.next], &self.teids[self.next]);
        count(&mut self.lines, slots, |index, line| line[TEID] == u64::from(teids[index]));
    }

    fn teid_plain(&mut self) {
        let teids = &self.slots[self.next];
        let slots = TeidScheme::default().slots(teids);
        count(&mut self.lines, &slots, |_, line| line[TEID] != 0);
    }

    fn teid_hidden(&mut self) {
        let teids = &self.teids[self.next];
        let slots = self.scheme.slots(teids);
        count(&mut self.lines, &slots, |index, line| line[TEID] == u64::from(teids[index]));
    }

    fn pool_offset(&mut self) {
        let addresses = &self.addresses[self.next];
        let mut slots = [0; BATCH];
        for (slot, address) in slots.iter_mut().zip(addresses) {
            *slot = self.pools.slot(*address).unwrap_or(0);
        }
        count(&mut self.lines, &slots, |index, line| line[ADDRESS] == u64::from(addresses[index]));
    }

    /// Buckets are asked for, then the lines that they lead to first; what those are not is looked for in full.
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
            wrong[index] = self.lines[*number as usize][PREFIX] != keys[index].prefix;
        }
        for index in (0..BATCH).filter(|index| wrong[*index]) {
            let is_it = |line: u32| self.lines[line as usize][PREFIX] == keys[index].prefix;
            numbers[index] = self.cuckoo.find(probes[index], is_it).unwrap_or(0);
        }
        for (index, number) in numbers.iter().enumerate() {
            let line = &mut self.lines[*number as usize];
            line[HITS] += u64::from(line[PREFIX] == keys[index].prefix);
        }
    }

    fn map_staged(&mut self) {
        let keys = &self.prefixes[self.next];
        let mut numbers = [0; BATCH];
        for (number, key) in numbers.iter_mut().zip(keys) {
            *number = self.map.get(key).copied().unwrap_or(0);
        }
        count(&mut self.lines, &numbers, |index, line| line[PREFIX] == keys[index].prefix);
    }

    fn map_plain(&mut self) {
        for key in &self.prefixes[self.next] {
            if let Some(number) = self.map.get(key)
                && let Some(line) = self.lines.get_mut(*number as usize)
                && line[PREFIX] == key.prefix
            {
                line[HITS] += 1;
            }
        }
    }
}
