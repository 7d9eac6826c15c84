//! The flows that are heavy now, with exact counts.

use causeway_types::{Span, Time};

use super::ListedFlow;
use crate::Key;

/// Flows in a list, at most.
pub const MAX_LISTED: usize = 1024;

/// Places of the hash table: a power of two, of which at most half are in use.
const PLACES: usize = 2 * MAX_LISTED;

/// Looks in a window: with so many former counts the rate over the window is exact.
const LOOKS: usize = 4;

/// The counts of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Count {
    octets: u64,
    packets: u64,
}

/// A flow's place in the table: its key, and what it has counted.
#[derive(Clone, Copy, Debug)]
struct Place {
    key: Key,
    count: Count,
    /// The number of its entry, and one; zero: the place is free.
    entry: u32,
}

const FREE: Place = Place { key: Key(0), count: Count { octets: 0, packets: 0 }, entry: 0 };

/// The rest of a flow.
#[derive(Clone, Debug)]
struct Entry<T> {
    key: Key,
    flow: T,
    since: Time,
    /// Times and counts of the last looks, the oldest first.
    looks: [(Time, Count); LOOKS],
}

/// A hash table with open addressing, of fixed size, and the entries that it leads to.
#[derive(Clone, Debug)]
pub(super) struct List<T> {
    places: Box<[Place]>,
    /// A bit for each place: whether it is in use. A key that hashes to a free place is not listed.
    used: Box<[u64; PLACES / 64]>,
    entries: Vec<Entry<T>>,
    /// The least time over which a rate is told.
    least: Span,
}

impl<T: Clone> List<T> {
    pub(super) fn new(window: Span) -> Self {
        let least = window / LOOKS as u32;
        Self { places: vec![FREE; PLACES].into(), used: [0; PLACES / 64].into(), entries: Vec::new(), least }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= MAX_LISTED
    }

    /// The place of a flow, or the free one where it would be. At least half of the places are free.
    #[inline]
    fn find(&mut self, key: Key) -> Option<&mut Place> {
        let first = key.0 as usize;
        let at = (first..first.wrapping_add(PLACES))
            .map(|at| at % PLACES)
            .find(|at| self.places.get(*at).is_none_or(|place| place.entry == 0 || place.key == key))?;
        self.places.get_mut(at)
    }

    /// Takes a free place for a flow that has none.
    fn put(&mut self, place: Place) {
        let first = place.key.0 as usize;
        let is_free = |at: &usize| self.places.get(*at).is_some_and(|place| place.entry == 0);
        let at = (first..first.wrapping_add(PLACES)).map(|at| at % PLACES).find(is_free);
        if let Some((at, free)) = at.and_then(|at| Some((at, self.places.get_mut(at)?))) {
            *free = place;
            self.used[at / 64] |= 1 << (at % 64);
        }
    }

    /// Counts a packet of a listed flow. `false`: it is not listed.
    #[inline]
    pub(super) fn count(&mut self, key: Key, octets: u32) -> bool {
        let first = key.0 as usize % PLACES;
        self.used[first / 64] >> (first % 64) & 1 != 0 && self.count_in_place(key, octets)
    }

    fn count_in_place(&mut self, key: Key, octets: u32) -> bool {
        let Some(place) = self.find(key).filter(|place| place.entry != 0) else { return false };
        place.count.octets += u64::from(octets);
        place.count.packets += 1;
        true
    }

    /// Lists a flow, from its first packet on. The list is not full, and does not have it.
    pub(super) fn insert(&mut self, key: Key, octets: u32, now: Time, flow: T) -> ListedFlow<T> {
        let entry = self.entries.len() as u32 + 1;
        let count = Count { octets: octets.into(), packets: 1 };
        self.put(Place { key, count, entry });
        let entry = Entry { key, flow, since: now, looks: [(now, Count::default()); LOOKS] };
        let listed = entry.at(now, count, self.least);
        self.entries.push(entry);
        listed
    }

    /// The flows, at this time.
    pub(super) fn flows(&self, now: Time) -> impl Iterator<Item = ListedFlow<T>> {
        let used = self.places.iter().filter(|place| place.entry != 0);
        used.filter_map(move |place| {
            Some(self.entries.get(place.entry as usize - 1)?.at(now, place.count, self.least))
        })
    }

    /// Removes the flows that are over. The others remember their counts.
    pub(super) fn look(&mut self, now: Time, is_over: impl Fn(&ListedFlow<T>) -> bool) -> Vec<ListedFlow<T>> {
        let (mut over, mut kept) = (Vec::new(), Vec::with_capacity(self.entries.len()));
        for mut entry in std::mem::take(&mut self.entries) {
            let Some(count) = self.find(entry.key).map(|place| place.count) else { continue };
            let flow = entry.at(now, count, self.least);
            if is_over(&flow) {
                over.push(flow);
                continue;
            }
            entry.looks.rotate_left(1);
            if let Some(last) = entry.looks.last_mut() {
                *last = (now, count);
            }
            kept.push((entry, count));
        }
        if over.is_empty() {
            self.entries.extend(kept.into_iter().map(|(entry, _)| entry));
            return over;
        }
        // Chains of places have no holes: the table is made anew.
        self.places.fill(FREE);
        self.used.fill(0);
        for ((entry, count), number) in kept.into_iter().zip(1..) {
            self.put(Place { key: entry.key, count, entry: number });
            self.entries.push(entry);
        }
        over
    }
}

impl<T: Clone> Entry<T> {
    fn at(&self, now: Time, count: Count, least: Span) -> ListedFlow<T> {
        let [(since, before), ..] = self.looks;
        let nanos = now.since(since).max(least).as_nanos().max(1);
        let rate =
            |amount: u64| u64::try_from(u128::from(amount) * 1_000_000_000 / nanos).unwrap_or(u64::MAX);
        ListedFlow {
            flow: self.flow.clone(),
            since: self.since,
            bits_per_second: rate((count.octets - before.octets).saturating_mul(8)),
            packets_per_second: rate(count.packets - before.packets),
        }
    }
}
