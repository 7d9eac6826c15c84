//! Which worker owns the session of a packet: a table that every worker reads without a lock, and one thread writes.
//!
//! An entry is one word, so that a reader sees it whole: what the packet is found by in the upper 58 bits, the
//! worker in the lower 6. What is not there belongs to nobody.
//!
//! A UE address is found by itself, else by a prefix that it lies in, of the lengths of which there are any.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use causeway_types::{IpNet, Teid};

use super::lengths::Lengths;

/// Workers that an entry can name, at most.
pub(crate) const MAX_WORKERS: usize = EVERYONE;

/// In the place of a worker: all of them.
pub(super) const EVERYONE: usize = OWNER as usize;

const OWNER_BITS: u32 = 6;
const OWNER: u64 = (1 << OWNER_BITS) - 1;

/// Nothing was ever here, and nothing lies behind it.
const EMPTY: u64 = 0;

/// An entry was here; others may lie behind it.
const GONE: u64 = 1;

/// The two upper bits of an entry.
const TUNNEL: u64 = 1 << 62;
const IPV4: u64 = 2 << 62;
const HASHED: u64 = 3 << 62;

/// What a packet is found by. Its lower 6 bits are zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Key(u64);

/// The table.
#[derive(Debug)]
pub(super) struct Directory {
    slots: Box<[AtomicU64]>,
    /// Odd, and known to nobody outside.
    factor: u64,
    /// For what does not fit into an entry: it is found by 56 bits that nobody can aim at.
    hasher: RandomState,
    /// The lengths of prefixes that are there.
    lengths: Lengths,
}

impl Directory {
    /// A table for so many entries, of which at most three quarters are in use, and the one hand that may write into it.
    pub(super) fn new(entries: usize) -> (Arc<Self>, Writer) {
        let most = entries.max(32);
        let size = (most + most.div_ceil(3)).next_power_of_two();
        let slots = (0..size).map(|_| AtomicU64::new(EMPTY)).collect();
        let hasher = RandomState::new();
        let factor = hasher.hash_one(0_u8) | 1;
        let directory = Arc::new(Self { slots, factor, hasher, lengths: Lengths::default() });
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

    /// The places where a key may be, in order.
    #[inline]
    fn places(&self, key: Key) -> impl Iterator<Item = usize> + use<> {
        let mask = self.slots.len() - 1;
        let mixed = (key.0 >> OWNER_BITS ^ key.0 >> 62).wrapping_mul(self.factor);
        let first = (mixed >> 32 ^ mixed) as usize;
        (0..=mask).map(move |step| first.wrapping_add(step) & mask)
    }

    /// The entry of a key and its place.
    #[inline]
    fn find(&self, key: Key) -> Option<(usize, u64)> {
        for place in self.places(key) {
            let entry = self.at(place);
            if entry & !OWNER == key.0 {
                return Some((place, entry));
            }
            if entry == EMPTY {
                return None;
            }
        }
        None
    }

    #[inline]
    fn at(&self, place: usize) -> u64 {
        self.slots.get(place).map_or(EMPTY, |slot| slot.load(Ordering::Acquire))
    }

    fn put(&self, place: usize, entry: u64) {
        if let Some(slot) = self.slots.get(place) {
            slot.store(entry, Ordering::Release);
        }
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

    /// So many more entries fit.
    pub(super) fn has_room(&self, more: usize) -> bool {
        self.entries + more <= self.most
    }

    /// How many entries fit.
    pub(super) fn capacity(&self) -> usize {
        self.most
    }

    /// There are prefixes of this length, or there are none any more.
    pub(super) fn has_prefixes(&self, is_v4: bool, length: u8, are_there: bool) {
        self.directory.lengths.set(is_v4, length, are_there);
    }

    /// Makes a worker, or all of them, the owner of what is found by a key. `false`, and nothing changes, when the table is full.
    pub(super) fn set(&mut self, key: Key, owner: usize) -> bool {
        let directory = &self.directory;
        if let Some((place, _)) = directory.find(key) {
            directory.put(place, key.0 | owner as u64 & OWNER);
            return true;
        }
        let free = || directory.places(key).find(|place| directory.at(*place) <= GONE);
        let Some(place) = self.has_room(1).then(free).flatten() else { return false };
        directory.put(place, key.0 | owner as u64 & OWNER);
        self.entries += 1;
        true
    }

    /// Forgets a key.
    pub(super) fn remove(&mut self, key: Key) {
        let directory = &self.directory;
        let Some((place, _)) = directory.find(key) else { return };
        self.entries -= 1;
        let mask = directory.slots.len() - 1;
        if directory.at((place + 1) & mask) != EMPTY {
            return directory.put(place, GONE);
        }
        // Nothing lies behind: what has gone before it need not lead there any more.
        let mut last = place;
        directory.put(last, EMPTY);
        loop {
            last = last.wrapping_sub(1) & mask;
            if directory.at(last) != GONE {
                return;
            }
            directory.put(last, EMPTY);
        }
    }
}

#[cfg(test)]
mod tests;
