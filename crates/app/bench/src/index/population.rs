//! Flow entries, their indexes, and the lookup keys.

use std::collections::HashMap;

use causeway_fastpath::index::{Arena, Cuckoo, Pools, PrefixKey};
use causeway_types::{IdCipher, Ipv4Net, TeidScheme};

use crate::BenchError;

/// Lookups at a time.
pub(super) const BATCH: usize = 32;

/// Batches that are prepared; with more entries than they hold, a part is looked up over and over.
const PREPARED: usize = 1 << 15;

/// The first UE address, and the first UE prefix.
const FIRST_ADDRESS: u32 = u32::from_be_bytes([10, 0, 0, 0]);
const FIRST_PREFIX: u64 = 0x2001_0db8 << 32;

/// Filled by loops, since `array::map` may become a call for each element.
pub(super) type Batch<T> = [T; BATCH];

/// What is looked for: a line of a cache.
pub(super) type CacheLine = [u64; 8];

/// Where a line has its tunnel, its UE address and prefix, and how often it was found.
pub(super) const TEID: usize = 0;
pub(super) const ADDRESS: usize = 1;
pub(super) const PREFIX: usize = 2;
pub(super) const HITS: usize = 3;

/// A population and what finds its lines.
pub(super) struct Population {
    pub(super) lines: Arena<CacheLine>,
    pub(super) scheme: TeidScheme,
    pub(super) pools: Pools,
    pub(super) cuckoo: Cuckoo<PrefixKey>,
    pub(super) map: HashMap<PrefixKey, u32>,
    pub(super) slots: Vec<Batch<u32>>,
    pub(super) teids: Vec<Batch<u32>>,
    pub(super) addresses: Vec<Batch<u32>>,
    pub(super) prefixes: Vec<Batch<PrefixKey>>,
    pub(super) next: usize,
}

fn key(entry: u32) -> PrefixKey {
    PrefixKey { prefix: FIRST_PREFIX + u64::from(entry), network: 1 }
}

impl Population {
    /// So many lines, numbered from 1; a batch at least.
    ///
    /// # Errors
    /// [`BenchError::Tables`] without room for them.
    pub(super) fn new(entries: u32) -> Result<Self, BenchError> {
        let scramble = IdCipher::new([1, 2, 3]);
        let mut population = Self {
            lines: Arena::new(entries as usize + 1)?,
            scheme: TeidScheme::hidden(scramble),
            pools: Pools::new(&nets(), u32::MAX),
            cuckoo: Cuckoo::new(entries as usize)?,
            map: HashMap::with_capacity(entries as usize),
            slots: Vec::new(),
            teids: Vec::new(),
            addresses: Vec::new(),
            prefixes: Vec::new(),
            next: 0,
        };
        for entry in 1..=entries {
            let teid = scramble.encrypt32(entry);
            let address = FIRST_ADDRESS + entry;
            population.lines[entry as usize] =
                [teid.into(), address.into(), key(entry).prefix, 0, 0, 0, 0, 0];
            population.cuckoo.insert(&key(entry), entry)?;
            population.map.insert(key(entry), entry);
        }
        for batch in shuffled(entries).as_chunks().0.iter().take(PREPARED) {
            population.slots.push(*batch);
            population.teids.push(batch.map(|entry| scramble.encrypt32(entry)));
            population.addresses.push(batch.map(|entry| FIRST_ADDRESS + entry));
            population.prefixes.push(batch.map(key));
        }
        Ok(population)
    }

    /// The next batch is looked up.
    pub(super) fn advance(&mut self) {
        self.next = (self.next + 1) % self.slots.len();
    }

    /// Lookups that have found their line.
    pub(super) fn hits(&self) -> u64 {
        self.lines.iter().map(|line| line[HITS]).sum()
    }
}

/// The private address pools, of which the first has the UEs.
fn nets() -> [(u32, Ipv4Net); 3] {
    let net = |octets: [u8; 4], length| Ipv4Net::new_assert(octets.into(), length);
    [(0, net([10, 0, 0, 0], 8)), (1, net([172, 16, 0, 0], 12)), (2, net([192, 168, 0, 0], 16))]
}

/// The numbers 1 to `entries` in a random order that is the same each time.
fn shuffled(entries: u32) -> Vec<u32> {
    let scramble = IdCipher::new([4, 5, 6]);
    let mut order: Vec<u32> = (1..=entries).collect();
    order.sort_by_cached_key(|entry| scramble.encrypt32(*entry));
    order
}
