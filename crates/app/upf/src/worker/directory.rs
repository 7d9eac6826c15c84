//! Which worker owns the session of a packet: a table that every worker reads without a lock, and one thread writes.
//!
//! An entry is one word, so that a reader sees it whole: what the packet is found by in the upper 58 bits, the
//! worker in the lower 6. What is not there belongs to worker 0.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use causeway_types::Teid;

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
}

impl Directory {
    /// A table for so many entries, and the one hand that may write into it.
    pub(super) fn new(entries: usize) -> (Arc<Self>, Writer) {
        let slots = (0..(entries.max(32) * 2).next_power_of_two()).map(|_| AtomicU64::new(EMPTY)).collect();
        let hasher = RandomState::new();
        let directory = Arc::new(Self { slots, factor: hasher.hash_one(0_u8) | 1, hasher });
        let writer = Writer { directory: Arc::clone(&directory), entries: 0, most: entries.max(32) };
        (directory, writer)
    }

    /// A tunnel that ends at the address of ours with this number.
    pub(super) fn tunnel(&self, local: u8, teid: u32) -> Key {
        Key(TUNNEL | (u64::from(local) << 32 | u64::from(teid)) << OWNER_BITS)
    }

    /// A UE address; of an IPv6 address the first 64 bits.
    pub(super) fn ue(&self, address: IpAddr) -> Key {
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
    pub(super) fn owner(&self, key: Key) -> usize {
        self.find(key).map_or(0, |(_, entry)| (entry & OWNER) as usize)
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
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn teid(raw: u32) -> Teid {
        Teid::new(raw).unwrap()
    }

    // Input:  a tunnel, an IPv4 and an IPv6 address and a peer's tunnel with an owner each, and others that differ a little.
    // Output: each has its owner; the others are worker 0's.
    #[test]
    fn every_kind_of_key_has_its_owner() {
        let (directory, mut writer) = Directory::new(8);
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let keys = [
            directory.tunnel(1, 7),
            directory.ue(ip("10.0.0.7")),
            directory.ue(ip("2001:db8:0:7::1")),
            directory.remote(ip("192.0.2.1"), teid(7)),
        ];
        for (n, key) in keys.iter().enumerate() {
            assert!(writer.set(*key, n + 59));
        }
        assert_eq!(keys.map(|key| directory.owner(key)), [59, 60, 61, 62]);
        assert_eq!(directory.owner(directory.ue(ip("2001:db8:0:7:ffff::"))), 61);
        for other in [
            directory.tunnel(0, 7),
            directory.ue(ip("0.0.0.7")),
            directory.ue(ip("2001:db8:0:8::1")),
            directory.remote(ip("192.0.2.2"), teid(7)),
        ] {
            assert_eq!(directory.owner(other), 0);
        }
    }

    // Input:  100,000 random insertions and removals in a table that is nearly full, and a map beside it.
    // Output: both say the same all the time; the full table refuses; emptied, nothing is left behind.
    #[test]
    fn the_table_is_a_map() {
        let (directory, mut writer) = Directory::new(500);
        let mut map = BTreeMap::new();
        let mut seed = 1_u64;
        for _ in 0..100_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (raw, owner) = ((seed >> 33) as u32 % 1000, 1 + (seed >> 20) as usize % 3);
            let key = directory.tunnel(0, raw);
            if map.remove(&raw).is_some() {
                writer.remove(key);
            } else {
                let has_room = map.len() < 500;
                assert_eq!(writer.set(key, owner), has_room);
                if has_room {
                    map.insert(raw, owner);
                }
            }
            let asked = (seed >> 44) as u32 % 1000;
            assert_eq!(directory.owner(directory.tunnel(0, asked)), map.get(&asked).copied().unwrap_or(0));
        }
        for raw in map.into_keys() {
            writer.remove(directory.tunnel(0, raw));
        }
        assert!(directory.slots.iter().all(|slot| slot.load(Ordering::Relaxed) == EMPTY));
    }

    // Input:  one thread that inserts and removes neighbours of a key all the time, two that look for the key.
    // Output: they find it each time.
    #[test]
    fn readers_find_what_stays() {
        let (directory, mut writer) = Directory::new(32);
        let stays: Vec<Key> = (0..8).map(|raw| directory.tunnel(0, raw)).collect();
        assert!(stays.iter().all(|key| writer.set(*key, 2)));
        std::thread::scope(|scope| {
            let look = || (0..20_000).all(|_| stays.iter().all(|key| directory.owner(*key) == 2));
            let readers = [scope.spawn(look), scope.spawn(look)];
            for round in 0..20_000 {
                let passing = (0..24).map(|n| directory.tunnel(1, round + n));
                passing.clone().for_each(|key| assert!(writer.set(key, 1)));
                passing.for_each(|key| writer.remove(key));
            }
            assert!(readers.into_iter().all(|reader| reader.join().unwrap()));
        });
    }
}
