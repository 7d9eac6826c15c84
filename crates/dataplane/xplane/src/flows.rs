//! The fast flow table (X-PLANE section 5.2): what a walk of the UE table found, in external memory, by flow. The data plane writes it.
//!
//! # Invariants
//!
//! - An entry is a hit only if the whole keys of UE and flow are equal, and its generation is that of the UE now. The data plane keeps a
//!   generation for each UE ([`Generations`]); a change of rules, and the deletion of a UE, raise it before they are acknowledged. A walk
//!   that began before writes an entry of the old generation, which is a miss whenever it comes, also for the next UE with the same
//!   address. Generations have 64 bits, and those of a data plane begin at a number of its choice: entries that another one left in the
//!   memory are misses.
//! - A bucket has two entries. A flow whose bucket is full of flows of others is for the slow path, and has no entry: nothing waits for
//!   it.
//! - Entries that were not used for the age limit give way to other flows of their bucket, and a memory server that was told of the table sweeps them
//!   ([`aged_table`]). An entry has no state, so that nothing is lost with it; one that is in use is kept, since the data plane writes the time of its use
//!   when a quarter of the age limit has passed. One that is used while another flow has its place in view keeps it.

use causeway_memory::AgedTable;
use causeway_types::{Span, Time};

use crate::action::{ACTION, Action};
use crate::key::{FLOW_KEY, FlowKey, UE_KEY, UeKey};
use crate::layout::FLOW_BUCKET;
use crate::octets::{Reader, Writer};
use crate::ue_table::RuleRef;

/// Octets of an entry.
pub(crate) const ENTRY: usize = 160;
/// Entries of a bucket.
pub const WAYS: usize = 2;
/// Octets of the entries of a bucket.
pub(crate) const ENTRIES: usize = WAYS * ENTRY;
/// Octets in an entry in front of its last use.
const USED: usize = 8 + UE_KEY + FLOW_KEY;

/// The generation of each UE, on the data plane: a number for each bucket of the UE table. UEs that share one raise it for each other: the
/// control plane writes the header of the other one anew, which costs walks of its flows, and nothing else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Generations {
    numbers: Vec<u64>,
}

impl Generations {
    /// So many numbers, at least one, which begin at `first`. Generation 0 is that of no record.
    pub fn new(numbers: usize, first: u64) -> Self {
        Self { numbers: vec![first.max(1); numbers.max(1)] }
    }

    /// The generation of a UE.
    pub fn of(&self, ue: &UeKey) -> u64 {
        self.numbers.get(self.place(ue)).copied().unwrap_or(0)
    }

    /// The rules of the UE change: records and entries of before are of no use.
    pub fn raise(&mut self, ue: &UeKey) -> u64 {
        let place = self.place(ue);
        let Some(number) = self.numbers.get_mut(place) else { return 0 };
        *number = number.wrapping_add(1).max(1);
        *number
    }

    fn place(&self, ue: &UeKey) -> usize {
        ue.hash() as usize % self.numbers.len()
    }
}

/// What a walk found for a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowEntry {
    /// The UE.
    pub ue: UeKey,
    /// The flow.
    pub flow: FlowKey,
    /// Of the rules that were walked.
    pub generation: u64,
    /// The last use that was written.
    pub used: Time,
    /// Its rule, with its action. `None`: the flow is for the slow path.
    pub rule: Option<(RuleRef, Action)>,
}

impl FlowEntry {
    /// The entry as it is in memory.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::of_size(ENTRY);
        out.u64(self.generation).bytes(&self.ue.0).bytes(&self.flow.0).u64(self.used.as_nanos());
        if let Some((rule, action)) = &self.rule {
            out.u8(1);
            rule.encode(&mut out);
            out.bytes(&action.encode());
        }
        out.finish(ENTRY)
    }

    /// An entry from memory. `None`: there is none.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let mut input = Reader::new(octets);
        let generation = input.u64().filter(|generation| *generation != 0)?;
        let (ue, flow) = (UeKey(input.array::<UE_KEY>()?), FlowKey(input.array::<FLOW_KEY>()?));
        let used = Time::from_nanos(input.u64()?);
        let rule = match input.u8()? {
            0 => None,
            _ => Some((RuleRef::decode(&mut input)?, Action::decode(input.bytes(ACTION)?)?)),
        };
        Some(Self { ue, flow, generation, used, rule })
    }
}

/// What a bucket says of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// An entry that holds, and its place in the bucket.
    Hit(FlowEntry, usize),
    /// None, and the place where a walk writes one.
    Miss {
        /// The place in the bucket.
        place: usize,
        /// The entry of another flow is there, which was not used for long.
        is_aged: bool,
    },
    /// None, and both places are taken by other flows.
    Collision,
}

/// Looks a flow up in the octets of its bucket. A flow that is not there takes the place of one that `is_aged`, by its place and last use.
pub fn find(
    bucket: &[u8],
    ue: &UeKey,
    flow: &FlowKey,
    generations: &Generations,
    is_aged: impl Fn(usize, Time) -> bool,
) -> Found {
    let (mut free, mut aged) = (None, None);
    for (place, octets) in bucket.chunks_exact(ENTRY).take(WAYS).enumerate() {
        match FlowEntry::decode(octets) {
            Some(entry) if entry.generation == generations.of(&entry.ue) => {
                if entry.ue == *ue && entry.flow == *flow {
                    return Found::Hit(entry, place);
                }
                if is_aged(place, entry.used) {
                    aged = aged.or(Some(place));
                }
            }
            // One that holds no more is as good as none; the own one of before first, so that there are never two.
            Some(entry) if entry.ue == *ue && entry.flow == *flow => free = Some(place),
            _ => free = free.or(Some(place)),
        }
    }
    match (free, aged) {
        (Some(place), _) => Found::Miss { place, is_aged: false },
        (None, Some(place)) => Found::Miss { place, is_aged: true },
        (None, None) => Found::Collision,
    }
}

/// The description of a flow table by which a memory server sweeps entries that were not used for `age`. The table has its first bucket so many octets
/// from the start of the region; generations begin at `first_generation`. `now` is the time that entries are written with.
pub fn aged_table(first: u64, buckets: u64, first_generation: u64, age: Span, now: Time) -> AgedTable {
    AgedTable {
        first,
        buckets,
        bucket: FLOW_BUCKET as u32,
        rows: WAYS as u32,
        row: ENTRY as u32,
        used: USED as u32,
        // The number of the packet in the bucket: each packet writes it, and itself, before it reads the entries.
        changed: ENTRIES as u32,
        first_number: first_generation.max(1),
        age,
        now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> FlowKey {
        FlowKey([number; FLOW_KEY])
    }

    fn entry(ue: u32, flow: u8, generation: u64, used: u64) -> FlowEntry {
        let used = Time::from_nanos(used);
        FlowEntry { ue: UeKey::of_number(ue), flow: key(flow), generation, used, rule: None }
    }

    fn never(_: usize, _: Time) -> bool {
        false
    }

    fn put(bucket: &mut [u8], place: usize, entry: &FlowEntry) {
        bucket[place * ENTRY..(place + 1) * ENTRY].copy_from_slice(&entry.encode());
    }

    // Input:  a UE with an entry is deleted, its address is given to another; a walk for the old one ends after that, and writes.
    // Output: both are misses for the new one.
    #[test]
    fn a_deleted_ue_leaves_no_rule_to_the_next_with_its_address() {
        let (mut bucket, mut generations) = (vec![0; ENTRIES], Generations::new(16, 1));
        let ue = UeKey::of_number(1);
        let before = entry(1, 7, generations.of(&ue), 0);
        put(&mut bucket, 0, &before);
        assert_eq!(find(&bucket, &ue, &key(7), &generations, never), Found::Hit(before, 0));
        generations.raise(&ue);
        put(&mut bucket, 1, &before);
        assert!(matches!(
            find(&bucket, &ue, &key(7), &generations, never),
            Found::Miss { is_aged: false, .. }
        ));
    }

    // Input:  a bucket with two flows; a third; then the second is not used for long; then a rule of the first one's UE changes.
    // Output: a collision; the place of the second, which is still a hit for its own packets; the place of the first.
    #[test]
    fn a_full_bucket_is_a_collision_until_an_entry_holds_no_more() {
        let (mut bucket, mut generations) = (vec![0; ENTRIES], Generations::new(1 << 10, 1));
        for (place, ue) in [(0, 1), (1, 2)] {
            let generation = generations.of(&UeKey::of_number(ue));
            put(&mut bucket, place, &entry(ue, 7, generation, 0));
        }
        let third = UeKey::of_number(3);
        assert_eq!(find(&bucket, &third, &key(7), &generations, never), Found::Collision);
        let second = entry(2, 7, generations.of(&UeKey::of_number(2)), 0);
        put(&mut bucket, 0, &FlowEntry { used: Time::from_secs(9), ..entry(1, 7, 1, 0) });
        let is_aged = |_, used| used < Time::from_secs(1);
        let miss = |place, is_aged| Found::Miss { place, is_aged };
        assert_eq!(find(&bucket, &third, &key(7), &generations, is_aged), miss(1, true));
        assert_eq!(find(&bucket, &second.ue, &key(7), &generations, is_aged), Found::Hit(second, 1));
        generations.raise(&UeKey::of_number(1));
        assert_eq!(find(&bucket, &third, &key(7), &generations, never), miss(0, false));
        assert_eq!(find(&bucket, &third, &key(7), &generations, is_aged), miss(0, false));
    }
}
