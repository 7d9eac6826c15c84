//! The directory of session owners: a table that every worker reads without a lock, with a single writer.
//!
//! An entry is one word, so that a reader never sees a partial one: the lookup key in the upper 58 bits, the worker in
//! the lower 6. A key without an entry has no owner. A key has two candidate buckets of one cache line each, and its
//! entry never moves, so that a reader looks at these two only, also during insertions and removals.
//!
//! A UE address is looked up by itself, then by its prefixes of all lengths in use.

use std::hash::BuildHasher;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;

use causeway_types::{IpNet, Teid};

use super::prefix_lengths::PrefixLengths;
use super::sync::{AtomicU64, Ordering, RandomState};

/// The owner value that stands for all workers.
pub(super) const ALL_WORKERS: usize = OWNER as usize;

const OWNER_BITS: u32 = 6;
const OWNER: u64 = (1 << OWNER_BITS) - 1;

/// An empty entry.
const EMPTY: u64 = 0;

/// Entries of a bucket.
const ENTRIES_PER_BUCKET: usize = 8;

/// The two upper bits of an entry.
const TUNNEL: u64 = 1 << 62;
const IPV4: u64 = 2 << 62;
const HASHED: u64 = 3 << 62;

/// Odd multipliers whose products spread each bit over the upper half of a word.
const MIX: [u64; 2] = [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53];

/// A lookup key. Its lower 6 bits are zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Key(u64);

/// A cache line of entries.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Bucket([AtomicU64; ENTRIES_PER_BUCKET]);

/// The table.
#[derive(Debug)]
pub(super) struct Directory {
    /// The buckets; their number is a power of two.
    buckets: Box<[Bucket]>,
    /// Secrets of the hash function.
    secrets: [u64; 2],
    /// The hash of keys that do not fit into an entry: 56 bits that a sender cannot predict.
    hasher: RandomState,
    /// The prefix lengths in use.
    lengths: PrefixLengths,
}

impl Directory {
    /// A table that is half full with so many entries, and its single writer. `prepare` is called with its memory before that is used.
    pub(super) fn new(entries: usize, prepare: impl Fn(Range<*const u8>)) -> (Arc<Self>, Writer) {
        let most = entries.max(32);
        Self::with_buckets((most * 2 / ENTRIES_PER_BUCKET).next_power_of_two(), most, prepare)
    }

    /// The same of so many buckets, a power of two.
    pub(super) fn with_buckets(
        count: usize,
        most: usize,
        prepare: impl Fn(Range<*const u8>),
    ) -> (Arc<Self>, Writer) {
        let mut buckets: Vec<Bucket> = Vec::with_capacity(count);
        let start = buckets.as_ptr();
        prepare(start.cast()..start.wrapping_add(count).cast());
        buckets.resize_with(count, Bucket::default);
        let buckets = buckets.into_boxed_slice();
        let hasher = RandomState::default();
        let secrets = [0_u8, 1].map(|number| hasher.hash_one(number));
        let directory = Arc::new(Self { buckets, secrets, hasher, lengths: PrefixLengths::default() });
        (Arc::clone(&directory), Writer { directory, entries: 0, most })
    }

    /// The key of a tunnel that ends at the local address with this number.
    pub(super) fn tunnel(&self, local: u8, teid: u32) -> Key {
        Key(TUNNEL | (u64::from(local) << 32 | u64::from(teid)) << OWNER_BITS)
    }

    /// The key of a UE address or prefix, with zeros after its length. One UE has an IPv4 address or 64 bits of IPv6.
    pub(super) fn ue(&self, net: IpNet) -> Key {
        if is_one_ue(net) { self.address(net.addr()) } else { self.hashed(&(net.addr(), net.prefix_len())) }
    }

    /// The key of a UE address; of an IPv6 address the first 64 bits.
    fn address(&self, address: IpAddr) -> Key {
        match address {
            IpAddr::V4(ip) => Key(IPV4 | u64::from(u32::from(ip)) << OWNER_BITS),
            IpAddr::V6(ip) => self.hashed(&(u128::from(ip) >> 64)),
        }
    }

    /// The key of a tunnel to a peer.
    pub(super) fn remote(&self, peer: IpAddr, teid: Teid) -> Key {
        self.hashed(&(peer, teid.value()))
    }

    fn hashed(&self, value: &impl std::hash::Hash) -> Key {
        Key(HASHED | self.hasher.hash_one(value) >> 8 << OWNER_BITS)
    }

    /// The key of a tunnel that ends at an address that is none of the UPF's.
    pub(super) fn other_tunnel(&self, local: IpAddr, teid: Teid) -> Key {
        self.hashed(&("tunnel", local, teid.value()))
    }

    /// Calls `fetch` with the addresses that a lookup of the key reads, one for each cache line.
    #[inline]
    pub(super) fn prefetch(&self, key: Key, fetch: impl Fn(*const u8)) {
        self.buckets(key).for_each(|bucket| fetch(std::ptr::from_ref(bucket).cast()));
    }

    /// The owner of a key.
    #[inline]
    pub(super) fn owner(&self, key: Key) -> Option<usize> {
        self.find(key).map(|(_, entry)| (entry & OWNER) as usize)
    }

    /// The owner of a UE address, or of a prefix that contains it.
    #[inline]
    pub(super) fn owner_of(&self, address: IpAddr) -> Option<usize> {
        self.owner(self.address(address)).or_else(|| self.owner_of_prefix(address))
    }

    fn owner_of_prefix(&self, address: IpAddr) -> Option<usize> {
        let prefix = |length| IpNet::new(address, length).ok().map(|net| self.ue(net.trunc()));
        self.lengths.of(address).filter_map(prefix).find_map(|key| self.owner(key))
    }

    /// The two candidate buckets of a key. TEIDs and addresses are allocated in order, so that keys are consecutive.
    /// Both rounds of mixing are needed: with a multiplication alone, one secret in a hundred maps consecutive keys to
    /// few buckets.
    #[inline]
    fn buckets(&self, key: Key) -> impl Iterator<Item = &Bucket> {
        let folded = key.0 >> OWNER_BITS ^ key.0 >> 62;
        let mixed = (folded ^ self.secrets[0]).wrapping_mul(MIX[0]);
        let mixed = (mixed ^ mixed >> 32 ^ self.secrets[1]).wrapping_mul(MIX[1]);
        let mixed = mixed ^ mixed >> 29;
        let mask = self.buckets.len() - 1;
        let first = (mixed >> 32) as usize;
        [first, first ^ (mixed as usize | 1)]
            .into_iter()
            .filter_map(move |place| self.buckets.get(place & mask))
    }

    /// The entry of a key and its position.
    #[inline]
    fn find(&self, key: Key) -> Option<(&AtomicU64, u64)> {
        let slots = self.buckets(key).flat_map(|bucket| &bucket.0);
        let mut entries = slots.map(|slot| (slot, slot.load(Ordering::Acquire)));
        entries.find(|(_, entry)| entry & !OWNER == key.0)
    }
}

impl Bucket {
    fn free(&self) -> impl Iterator<Item = &AtomicU64> {
        self.0.iter().filter(|slot| slot.load(Ordering::Relaxed) == EMPTY)
    }
}

/// Whether the prefix belongs to one UE: an IPv4 address or 64 bits of IPv6.
pub(super) fn is_one_ue(net: IpNet) -> bool {
    net.prefix_len() == if net.addr().is_ipv4() { 32 } else { 64 }
}

/// The single writer of a [`Directory`]; threads have it in turn.
#[derive(Debug)]
pub(super) struct Writer {
    directory: Arc<Directory>,
    entries: usize,
    most: usize,
}

impl Writer {
    /// The table.
    pub(super) fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }

    /// The maximum number of entries.
    pub(super) fn capacity(&self) -> usize {
        self.most
    }

    /// There are no entries.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.entries == 0
            && self.directory.buckets.iter().all(|bucket| bucket.free().count() == bucket.0.len())
    }

    /// Sets whether prefixes of this length are in use.
    pub(super) fn has_prefixes(&self, is_v4: bool, length: u8, are_there: bool) {
        self.directory.lengths.set(is_v4, length, are_there);
    }

    /// Adds a session of a worker to a key: the worker becomes its owner, or all workers if another one was. Returns whether the key is new. `None`:
    /// nothing has changed, since the table is full, or, rarely, both buckets are.
    pub(super) fn claim(&mut self, key: Key, worker: usize) -> Option<bool> {
        match self.directory.find(key) {
            None => self.insert(key, worker).then_some(true),
            Some((slot, entry)) => {
                if (entry & OWNER) as usize != worker {
                    slot.store(key.0 | OWNER, Ordering::Release);
                }
                Some(false)
            }
        }
    }

    /// Inserts a key without an entry.
    fn insert(&mut self, key: Key, worker: usize) -> bool {
        let emptier = self.directory.buckets(key).max_by_key(|bucket| bucket.free().count());
        let Some(slot) = emptier.filter(|_| self.entries < self.most).and_then(|bucket| bucket.free().next())
        else {
            return false;
        };
        slot.store(key.0 | worker as u64 & OWNER, Ordering::Release);
        self.entries += 1;
        true
    }

    /// Removes a key. `false`: there is no such key.
    pub(super) fn remove(&mut self, key: Key) -> bool {
        let Some((slot, _)) = self.directory.find(key) else { return false };
        slot.store(EMPTY, Ordering::Release);
        self.entries -= 1;
        true
    }
}
