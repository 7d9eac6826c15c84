//! Which worker owns the session of a packet: a table that every worker reads without a lock, and one thread writes.
//!
//! An entry is one word, so that a reader sees it whole: what the packet is found by in the upper 58 bits, the
//! worker in the lower 6. What is not there belongs to nobody. A key has two buckets of one cache line each where its entry may
//! be, and stays where it was put: whatever comes and goes, a reader looks at no more than these.
//!
//! A UE address is found by itself, else by a prefix that it lies in, of the lengths of which there are any.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use causeway_types::{IpNet, Teid};

use super::prefix_lengths::PrefixLengths;

/// Workers that an entry can name, at most.
pub(crate) const MAX_WORKERS: usize = ALL_WORKERS;

/// In the place of a worker: all of them.
pub(super) const ALL_WORKERS: usize = OWNER as usize;

const OWNER_BITS: u32 = 6;
const OWNER: u64 = (1 << OWNER_BITS) - 1;

/// Nothing is here.
const EMPTY: u64 = 0;

/// Entries of a bucket.
const ENTRIES_PER_BUCKET: usize = 8;

/// The two upper bits of an entry.
const TUNNEL: u64 = 1 << 62;
const IPV4: u64 = 2 << 62;
const HASHED: u64 = 3 << 62;

/// Odd numbers whose products spread each bit over the upper half of a word.
const MIX: [u64; 2] = [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53];

/// What a packet is found by. Its lower 6 bits are zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Key(u64);

/// A cache line of entries.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Bucket([AtomicU64; ENTRIES_PER_BUCKET]);

/// The table.
#[derive(Debug)]
pub(super) struct Directory {
    /// A power of two of them.
    buckets: Box<[Bucket]>,
    /// Known to nobody outside.
    secrets: [u64; 2],
    /// For what does not fit into an entry: it is found by 56 bits that nobody can aim at.
    hasher: RandomState,
    /// The lengths of prefixes that are there.
    lengths: PrefixLengths,
}

impl Directory {
    /// A table for so many entries, half full with them, and the one hand that may write into it.
    pub(super) fn new(entries: usize) -> (Arc<Self>, Writer) {
        let most = entries.max(32);
        let count = (most * 2 / ENTRIES_PER_BUCKET).next_power_of_two();
        let buckets = (0..count).map(|_| Bucket::default()).collect();
        let hasher = RandomState::new();
        let secrets = [0_u8, 1].map(|number| hasher.hash_one(number));
        let directory = Arc::new(Self { buckets, secrets, hasher, lengths: PrefixLengths::default() });
        (Arc::clone(&directory), Writer { directory, entries: 0, most })
    }

    /// A tunnel that ends at the address of ours with this number.
    pub(super) fn tunnel(&self, local: u8, teid: u32) -> Key {
        Key(TUNNEL | (u64::from(local) << 32 | u64::from(teid)) << OWNER_BITS)
    }

    /// A UE address or prefix, of zeros after its length: an IPv4 address and 64 bits of IPv6 are what one UE has.
    pub(super) fn ue(&self, net: IpNet) -> Key {
        if is_one_ue(net) { self.address(net.addr()) } else { self.hashed(&(net.addr(), net.prefix_len())) }
    }

    /// A UE address; of an IPv6 address the first 64 bits.
    fn address(&self, address: IpAddr) -> Key {
        match address {
            IpAddr::V4(ip) => Key(IPV4 | u64::from(u32::from(ip)) << OWNER_BITS),
            IpAddr::V6(ip) => self.hashed(&(u128::from(ip) >> 64)),
        }
    }

    /// A tunnel to a peer.
    pub(super) fn remote(&self, peer: IpAddr, teid: Teid) -> Key {
        self.hashed(&(peer, teid.value()))
    }

    fn hashed(&self, value: &impl std::hash::Hash) -> Key {
        Key(HASHED | self.hasher.hash_one(value) >> 8 << OWNER_BITS)
    }

    /// Who owns what is found by the key.
    #[inline]
    pub(super) fn owner(&self, key: Key) -> Option<usize> {
        self.find(key).map(|(_, entry)| (entry & OWNER) as usize)
    }

    /// Who owns the UE address, or a prefix that it lies in.
    #[inline]
    pub(super) fn owner_of(&self, address: IpAddr) -> Option<usize> {
        self.owner(self.address(address)).or_else(|| self.owner_of_prefix(address))
    }

    fn owner_of_prefix(&self, address: IpAddr) -> Option<usize> {
        let prefix = |length| IpNet::new(address, length).ok().map(|net| self.ue(net.trunc()));
        self.lengths.of(address).filter_map(prefix).find_map(|key| self.owner(key))
    }

    /// The two buckets where the entry of a key may be. Keys come in rows (TEIDs and addresses are given in order), so both rounds of
    /// mixing are needed: a multiplication alone puts a row into few buckets with one secret in a hundred.
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

    /// The entry of a key and where it is.
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

/// The prefix is what a UE alone has: an IPv4 address or 64 bits of IPv6.
pub(super) fn is_one_ue(net: IpNet) -> bool {
    net.prefix_len() == if net.addr().is_ipv4() { 32 } else { 64 }
}

/// The one hand that writes into a [`Directory`].
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

    /// How many entries fit.
    pub(super) fn capacity(&self) -> usize {
        self.most
    }

    /// There are prefixes of this length, or there are none any more.
    pub(super) fn has_prefixes(&self, is_v4: bool, length: u8, are_there: bool) {
        self.directory.lengths.set(is_v4, length, are_there);
    }

    /// Makes a worker, or all of them, the owner of what is found by a key. `false`, and nothing changes, when there is no room: the
    /// table is full or, which is rare, both buckets are.
    pub(super) fn set(&mut self, key: Key, owner: usize) -> bool {
        let entry = key.0 | owner as u64 & OWNER;
        if let Some((slot, _)) = self.directory.find(key) {
            slot.store(entry, Ordering::Release);
            return true;
        }
        let emptier = self.directory.buckets(key).max_by_key(|bucket| bucket.free().count());
        let Some(slot) = emptier.filter(|_| self.entries < self.most).and_then(|bucket| bucket.free().next())
        else {
            return false;
        };
        slot.store(entry, Ordering::Release);
        self.entries += 1;
        true
    }

    /// Forgets a key.
    pub(super) fn remove(&mut self, key: Key) {
        if let Some((slot, _)) = self.directory.find(key) {
            slot.store(EMPTY, Ordering::Release);
            self.entries -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
