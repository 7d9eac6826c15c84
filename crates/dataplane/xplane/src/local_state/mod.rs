//! The local state table (X-PLANE section 5.1): state that is in external memory, while packets that use it are in flight.
//!
//! An entry begins with the first packet in flight. The first response that brings the value from memory loads it; the values of later
//! responses are old and are discarded. Each packet adds to the loaded value when its own response is there. When no packet is in
//! flight the value is written, and the entry is kept until the write is acknowledged: a packet that comes before then continues with
//! the value of the entry, and what it reads is discarded.
//!
//! # Invariants
//!
//! - The key of an entry is compared in full. A packet whose two places are taken by other keys is refused before anything is counted
//!   for it, so that no entry remains that waits for it.
//! - "Not loaded" is no value: a counter of zero is a value as any other.
//! - One write of a key is outstanding at most. A value that changes meanwhile is written after the acknowledgement. So the order of
//!   reads and writes on the way does not matter, and neither does their order in memory. What is required of the memory is that an
//!   operation has no effect after its end ([`causeway_memory::ExternalMemory`] has that).
//! - A write that failed is repeated with the value that the entry has then.
//! - An entry whose packets get no responses ends after the age limit: the packets are counted as lost, and what was loaded is written.
//!
//! # Difference from the paper
//!
//! The paper writes whenever no packet is in flight, also when an earlier write is not acknowledged; over connections that keep order
//! that is right. The released code compares three bits of the key, takes a counter of zero for "not loaded", and raises the number of
//! packets in flight before it looks at the key, so that packets of colliding flows hold an entry for ever. It sizes the table with one
//! round trip where the text says two.

use std::hash::{BuildHasher, Hash};

use causeway_types::{Span, Time};
use foldhash::fast::FixedState;

/// Entries of a bucket.
pub const WAYS: usize = 2;

/// The attributes of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalStateConfig {
    /// Buckets of [`WAYS`] entries; at least one.
    pub buckets: usize,
    /// An entry whose packets have had no response for so long ends.
    pub age_limit: Span,
    /// Seed of the hash.
    pub seed: u64,
}

impl Default for LocalStateConfig {
    /// 13,000 buckets: 26,000 entries. The age limit is a second, which no round trip with all its repetitions takes.
    fn default() -> Self {
        Self { buckets: 13_000, age_limit: Span::from_secs(1), seed: 0 }
    }
}

/// An entry in use by a packet. It is of no effect once the entry has ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ticket {
    slot: usize,
    life: u64,
}

/// An entry whose value is being written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WriteTicket {
    slot: usize,
    birth: u64,
}

/// What a packet that arrived has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrived {
    /// The entry that it uses.
    pub ticket: Ticket,
    /// The packet is the first of the entry: it reads the value.
    pub is_first: bool,
}

/// Both places of the key are taken by other keys. Nothing was counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Collision;

/// A write that is to be done now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Write<K, S> {
    /// Of this entry.
    pub ticket: WriteTicket,
    /// Its key.
    pub key: K,
    /// The value.
    pub state: S,
}

/// What was lost, in numbers. Nothing else is ever lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses {
    /// Packets whose responses did not come, or failed: they added nothing.
    pub packets: u64,
    /// Writes that failed and were repeated.
    pub repeated_writes: u64,
    /// Entries that ended by the age limit.
    pub expired: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry<K, S> {
    key: K,
    /// `None`: not loaded.
    state: Option<S>,
    in_flight: u64,
    /// The value differs from that of the last write.
    is_changed: bool,
    is_writing: bool,
    /// Of this entry only.
    birth: u64,
    /// Of the packets that are in flight: those that ended by the age limit had another one.
    life: u64,
    /// The last arrival or response.
    used: Time,
}

/// The table.
#[derive(Clone, Debug)]
pub struct LocalStateTable<K, S> {
    config: LocalStateConfig,
    entries: Vec<Option<Entry<K, S>>>,
    hash: FixedState,
    next_life: u64,
    used: usize,
    most_used: usize,
    collisions: u64,
    losses: Losses,
}

impl<K: Eq + Hash + Clone, S: Clone> LocalStateTable<K, S> {
    /// An empty table.
    pub fn new(config: LocalStateConfig) -> Self {
        let entries = config.buckets.max(1) * WAYS;
        Self {
            config,
            entries: std::iter::repeat_with(|| None).take(entries).collect(),
            hash: FixedState::with_seed(config.seed),
            next_life: 0,
            used: 0,
            most_used: 0,
            collisions: 0,
            losses: Losses::default(),
        }
    }

    /// Entries in use.
    pub const fn len(&self) -> usize {
        self.used
    }

    /// No entry is in use: no packet is in flight, and all values are in memory.
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The most entries that were in use at a time.
    pub const fn most_used(&self) -> usize {
        self.most_used
    }

    /// Packets that were refused.
    pub const fn collisions(&self) -> u64 {
        self.collisions
    }

    /// What was lost.
    pub const fn losses(&self) -> &Losses {
        &self.losses
    }

    /// A packet arrives, and is in flight from now on.
    ///
    /// # Errors
    /// [`Collision`]: the packet is for the slow path.
    pub fn arrive(&mut self, now: Time, key: &K) -> Result<Arrived, Collision> {
        let first = self.first_slot(key);
        let slots = first..first + WAYS;
        let of_key = |entry: &Option<Entry<K, S>>| entry.as_ref().is_some_and(|entry| entry.key == *key);
        let is_free = |entry: &Option<Entry<K, S>>| entry.is_none();
        let bucket = self.entries.get(slots).unwrap_or_default();
        let place = bucket.iter().position(of_key).or_else(|| bucket.iter().position(is_free));
        let Some(slot) = place.map(|place| first + place) else {
            self.collisions += 1;
            return Err(Collision);
        };
        let Some(entry) = self.entries.get_mut(slot) else { return Err(Collision) };
        if let Some(entry) = entry {
            entry.in_flight += 1;
            entry.used = now;
            // The read of the first packet brings the value, unless all packets since then have ended without it.
            let is_first = entry.state.is_none() && entry.in_flight == 1;
            return Ok(Arrived { ticket: Ticket { slot, life: entry.life }, is_first });
        }
        let life = self.next_life;
        self.next_life += 1;
        *entry = Some(Entry {
            key: key.clone(),
            state: None,
            in_flight: 1,
            is_changed: false,
            is_writing: false,
            birth: life,
            life,
            used: now,
        });
        self.used += 1;
        self.most_used = self.most_used.max(self.used);
        Ok(Arrived { ticket: Ticket { slot, life }, is_first: true })
    }

    /// A response brings the value in memory. It is taken if the entry is not loaded, else discarded. Returns whether it was taken.
    pub fn load(&mut self, ticket: Ticket, state: S) -> bool {
        match self.entry(ticket) {
            Some(entry) if entry.state.is_none() => {
                entry.state = Some(state);
                true
            }
            _ => false,
        }
    }

    /// The value, to look at.
    pub fn state(&self, ticket: Ticket) -> Option<&S> {
        let entry = self.entries.get(ticket.slot)?.as_ref()?;
        entry.state.as_ref().filter(|_| entry.life == ticket.life)
    }

    /// The value of a key that has an entry.
    pub fn state_of(&self, key: &K) -> Option<&S> {
        let first = self.first_slot(key);
        let mut bucket = self.entries.get(first..first + WAYS)?.iter().flatten();
        bucket.find(|entry| entry.key == *key)?.state.as_ref()
    }

    /// Changes the value for a packet that remains in flight. `None`: it is not loaded.
    pub fn update<R>(&mut self, ticket: Ticket, change: impl FnOnce(&mut S) -> R) -> Option<R> {
        let entry = self.entry(ticket)?;
        let result = change(entry.state.as_mut()?);
        entry.is_changed = true;
        Some(result)
    }

    /// The packet is in flight no more. Its changes were made by [`Self::update`]. Returns the write that is to be done now.
    pub fn leave(&mut self, now: Time, ticket: Ticket) -> Option<Write<K, S>> {
        let entry = self.entry(ticket)?;
        entry.in_flight = entry.in_flight.saturating_sub(1);
        entry.used = now;
        self.settle(ticket.slot)
    }

    /// The packet gets no response. It is in flight no more, and added nothing.
    pub fn lose(&mut self, now: Time, ticket: Ticket) -> Option<Write<K, S>> {
        self.entry(ticket)?;
        self.losses.packets += 1;
        self.leave(now, ticket)
    }

    /// The write was acknowledged. Returns the next one, if the value has changed since and no packet is in flight.
    pub fn written(&mut self, ticket: WriteTicket) -> Option<Write<K, S>> {
        self.written_entry(ticket)?.is_writing = false;
        self.settle(ticket.slot)
    }

    /// The write failed: it is repeated with the value that is there now, or left to the end of the present busy period.
    pub fn write_failed(&mut self, ticket: WriteTicket) -> Option<Write<K, S>> {
        let entry = self.written_entry(ticket)?;
        entry.is_writing = false;
        entry.is_changed = true;
        self.losses.repeated_writes += 1;
        self.settle(ticket.slot)
    }

    /// Ends the packets of entries that were not used for the age limit. Returns the writes that are to be done now. O(entries).
    pub fn expire(&mut self, now: Time) -> Vec<Write<K, S>> {
        let limit = self.config.age_limit;
        let is_old = |entry: &Entry<K, S>| entry.in_flight > 0 && now.since(entry.used) >= limit;
        let old: Vec<usize> = (0..self.entries.len())
            .filter(|slot| self.entries.get(*slot).is_some_and(|entry| entry.as_ref().is_some_and(is_old)))
            .collect();
        let mut writes = Vec::new();
        for slot in old {
            let Some(Some(entry)) = self.entries.get_mut(slot) else { continue };
            self.losses.packets += entry.in_flight;
            self.losses.expired += 1;
            entry.in_flight = 0;
            // Late responses are of no effect.
            entry.life = self.next_life;
            self.next_life += 1;
            writes.extend(self.settle(slot));
        }
        writes
    }

    /// The memory is empty after a restart, and no response is to be expected: all entries end. Returns the values that were loaded,
    /// which are newer than what was in memory. Values of other keys are lost; the owner knows which keys these are.
    pub fn restart(&mut self) -> Vec<(K, S)> {
        let mut known = Vec::new();
        for entry in self.entries.iter_mut().filter_map(Option::take) {
            self.losses.packets += entry.in_flight;
            known.extend(entry.state.map(|state| (entry.key, state)));
        }
        self.used = 0;
        known
    }

    fn first_slot(&self, key: &K) -> usize {
        let buckets = self.config.buckets.max(1) as u64;
        ((u128::from(self.hash.hash_one(key)) * u128::from(buckets)) >> 64) as usize * WAYS
    }

    fn entry(&mut self, ticket: Ticket) -> Option<&mut Entry<K, S>> {
        self.entries.get_mut(ticket.slot)?.as_mut().filter(|entry| entry.life == ticket.life)
    }

    fn written_entry(&mut self, ticket: WriteTicket) -> Option<&mut Entry<K, S>> {
        self.entries.get_mut(ticket.slot)?.as_mut().filter(|entry| entry.birth == ticket.birth)
    }

    /// What follows when no packet is in flight: a write, or the end of the entry.
    fn settle(&mut self, slot: usize) -> Option<Write<K, S>> {
        let entry = self.entries.get_mut(slot)?.as_mut()?;
        if entry.in_flight > 0 || entry.is_writing {
            return None;
        }
        match entry.state.as_ref().filter(|_| entry.is_changed).cloned() {
            Some(state) => {
                (entry.is_changed, entry.is_writing) = (false, true);
                let ticket = WriteTicket { slot, birth: entry.birth };
                Some(Write { ticket, key: entry.key.clone(), state })
            }
            None => {
                self.used -= 1;
                *self.entries.get_mut(slot)? = None;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
