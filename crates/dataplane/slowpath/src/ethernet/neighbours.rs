//! The neighbour cache for ARP and Neighbour Discovery proxying: the MAC address of an IP address (TS 29.244 clause
//! 5.13.3).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use causeway_types::{MacAddr, NetworkInstance, Seid, Span, Time};

use super::frame::Vlans;

/// The lifetime of an entry that is not refreshed.
const ENTRY_LIFETIME: Span = Span::from_secs(300);

/// An IP address on a link.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct NeighbourKey {
    /// The network.
    pub(crate) network: NetworkInstance,
    /// The VLANs there.
    pub(crate) vlans: Vlans,
    /// The address.
    pub(crate) ip: IpAddr,
}

/// An entry of the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct NeighbourEntry {
    mac: MacAddr,
    /// The session of the neighbour; `None` is the network itself.
    session: Option<Seid>,
    at: Time,
}

impl NeighbourEntry {
    fn claimant(&self, place: &NeighbourKey) -> Claimant {
        Claimant::of(self.session, &place.network)
    }
}

/// The side of the stations that claim an address.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Claimant {
    Session(Seid),
    Network(NetworkInstance),
}

impl Claimant {
    fn of(session: Option<Seid>, network: &NetworkInstance) -> Self {
        session.map_or_else(|| Self::Network(network.clone()), Self::Session)
    }
}

/// The maximum number of entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NeighbourLimits {
    /// Of the stations of one session.
    pub(crate) of_session: usize,
    /// Of the stations of one network.
    pub(crate) of_network: usize,
    /// Of all together.
    pub(crate) in_all: usize,
}

/// An entry, by the time of its last claim.
type Age = (Time, NeighbourKey);

/// The neighbour cache, of bounded size. A claim examines the age of few entries, however many there are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Neighbours {
    entries: BTreeMap<NeighbourKey, NeighbourEntry>,
    /// The entries of each claimant that has any, the oldest first.
    of: BTreeMap<Claimant, BTreeSet<Age>>,
    /// All entries, the oldest first.
    ages: BTreeSet<Age>,
}

impl Neighbours {
    /// Records that a station claims the address. A recent claim of another station is not replaced: otherwise a UE
    /// could redirect frames of others to itself. Each session and each network has a limit, so that none takes the
    /// places of the others. At a limit a new entry replaces the oldest one if that is stale, and is otherwise
    /// refused.
    pub(crate) fn learn_neighbour(
        &mut self,
        place: NeighbourKey,
        mac: MacAddr,
        session: Option<Seid>,
        now: Time,
        limits: NeighbourLimits,
    ) {
        let known = self.entries.get(&place);
        if known.is_some_and(|entry| entry.mac != mac && !is_stale(entry.at, now)) {
            return;
        }
        let before = known.map(|entry| entry.claimant(&place));
        let claimant = Claimant::of(session, &place.network);
        let limit = match &claimant {
            Claimant::Session(_) => limits.of_session,
            Claimant::Network(_) => limits.of_network,
        };
        if before.as_ref() != Some(&claimant) {
            let own = self.of.get(&claimant);
            let oldest = own.and_then(BTreeSet::first).cloned();
            if own.map_or(0, BTreeSet::len) >= limit && !self.replace(oldest, now) {
                return;
            }
        }
        if before.is_none() && self.entries.len() >= limits.in_all {
            let oldest = self.ages.first().cloned();
            if !self.replace(oldest, now) {
                return;
            }
        }
        self.remove(&place);
        self.insert(place, NeighbourEntry { mac, session, at: now });
    }

    /// Removes the entry if it is stale. `false` when it is not, or there is none.
    fn replace(&mut self, oldest: Option<Age>, now: Time) -> bool {
        let stale = oldest.filter(|(at, _)| is_stale(*at, now));
        stale.iter().for_each(|(_, place)| self.remove(place));
        stale.is_some()
    }

    fn insert(&mut self, place: NeighbourKey, entry: NeighbourEntry) {
        let age = (entry.at, place.clone());
        self.of.entry(entry.claimant(&place)).or_default().insert(age.clone());
        self.ages.insert(age);
        self.entries.insert(place, entry);
    }

    fn remove(&mut self, place: &NeighbourKey) {
        let Some(entry) = self.entries.remove(place) else { return };
        let (claimant, age) = (entry.claimant(place), (entry.at, place.clone()));
        self.ages.remove(&age);
        if let Some(own) = self.of.get_mut(&claimant) {
            own.remove(&age);
            if own.is_empty() {
                self.of.remove(&claimant);
            }
        }
    }

    /// The entries of these addresses.
    pub(crate) fn part(&self, places: impl Iterator<Item = NeighbourKey>) -> Self {
        let mut part = Self::default();
        for place in places {
            if let Some(entry) = self.entries.get(&place) {
                part.insert(place, *entry);
            }
        }
        part
    }

    /// The MAC address, if the entry is not stale, and the session of the neighbour; `None` is the network itself.
    pub(crate) fn find(&self, place: &NeighbourKey, now: Time) -> Option<(MacAddr, Option<Seid>)> {
        let entry = self.entries.get(place).filter(|entry| !is_stale(entry.at, now))?;
        Some((entry.mac, entry.session))
    }

    /// Removes the entries of a session that was removed.
    pub(crate) fn forget(&mut self, session: Seid) {
        for age in self.of.remove(&Claimant::Session(session)).into_iter().flatten() {
            self.entries.remove(&age.1);
            self.ages.remove(&age);
        }
    }
}

/// An entry of a claim at this time is stale.
fn is_stale(at: Time, now: Time) -> bool {
    #[cfg(test)]
    tests::EXAMINED.set(tests::EXAMINED.get() + 1);
    now.since(at) >= ENTRY_LIFETIME
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const A: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const B: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
    const MANY: NeighbourLimits = NeighbourLimits { of_session: 9, of_network: 9, in_all: 99 };

    thread_local! {
        /// The entries whose age this thread has examined.
        pub(super) static EXAMINED: Cell<usize> = const { Cell::new(0) };
    }

    fn place(last: u32) -> NeighbourKey {
        let ip = IpAddr::from((0x0a01_0000 + last).to_be_bytes());
        NeighbourKey { network: NetworkInstance::new("lan"), vlans: Vlans::default(), ip }
    }

    fn at(seconds: u64) -> Time {
        Time::from_secs(1_000_000 + seconds)
    }

    // Input:  an address claimed by one station, then by another, immediately and after 300 s.
    // Output: the first one has it until it is stale.
    #[test]
    fn a_claim_holds_until_it_is_stale() {
        let mut neighbours = Neighbours::default();
        neighbours.learn_neighbour(place(1), A, None, at(0), MANY);
        neighbours.learn_neighbour(place(1), B, Some(Seid(1)), at(299), MANY);
        assert_eq!(neighbours.find(&place(1), at(299)), Some((A, None)));
        assert_eq!(neighbours.find(&place(1), at(300)), None);
        neighbours.learn_neighbour(place(1), B, Some(Seid(1)), at(300), MANY);
        assert_eq!(neighbours.find(&place(1), at(301)), Some((B, Some(Seid(1)))));
        neighbours.forget(Seid(1));
        assert_eq!(neighbours, Neighbours::default());
    }

    // Input:  more addresses than all may have, or one session, or one network, immediately and when the old ones are
    //         stale; at the limit a refreshed one, and one whose station has moved to the session.
    // Output: the new ones are refused, then the oldest is replaced; the refreshed one stays, and so does the moved
    //         one where it was.
    #[test]
    fn each_limit_replaces_only_stale_entries() {
        for (session, limits) in [
            (None, NeighbourLimits { in_all: 2, ..MANY }),
            (None, NeighbourLimits { of_network: 2, ..MANY }),
            (Some(Seid(1)), NeighbourLimits { in_all: 2, ..MANY }),
            (Some(Seid(1)), NeighbourLimits { of_session: 2, ..MANY }),
        ] {
            let mut neighbours = Neighbours::default();
            for (last, seconds) in [(1, 0), (2, 1), (3, 2), (2, 3)] {
                neighbours.learn_neighbour(place(last), A, session, at(seconds), limits);
            }
            assert_eq!(neighbours.find(&place(3), at(4)), None);
            neighbours.learn_neighbour(place(3), A, session, at(301), limits);
            let found = [1, 2, 3].map(|last| neighbours.find(&place(last), at(302)).is_some());
            assert_eq!((found, neighbours.entries.len()), ([false, true, true], 2), "{limits:?}");
        }
        let (mut neighbours, few) = (Neighbours::default(), NeighbourLimits { of_session: 1, ..MANY });
        neighbours.learn_neighbour(place(1), A, Some(Seid(1)), at(0), few);
        neighbours.learn_neighbour(place(2), A, Some(Seid(2)), at(0), few);
        neighbours.learn_neighbour(place(1), A, Some(Seid(2)), at(1), few);
        assert_eq!(neighbours.find(&place(1), at(1)), Some((A, Some(Seid(1)))));
    }

    // Input:  claims of 100,000 addresses by a station of one session, and by one of the network; then one claim of
    //         another session; the first session ends.
    // Output: a claim examines the age of three entries at most; the other session's claim is learnt, and stays.
    #[test]
    fn one_claimant_leaves_the_places_of_others() {
        let limits = NeighbourLimits { of_session: 256, of_network: 8192, in_all: 16_384 };
        let mut neighbours = Neighbours::default();
        let mut learn = |last, mac, session, now| {
            let before = EXAMINED.get();
            neighbours.learn_neighbour(place(last), mac, session, now, limits);
            assert!(EXAMINED.get() - before <= 3);
        };
        for last in 0..100_000 {
            let now = at(u64::from(last) / 100);
            learn(last, A, Some(Seid(1)), now);
            learn(last + 100_000, B, None, now);
        }
        learn(200_000, B, Some(Seid(2)), at(1000));
        assert_eq!(neighbours.find(&place(200_000), at(1000)), Some((B, Some(Seid(2)))));
        assert_eq!(neighbours.entries.len(), 256 + 8192 + 1);
        neighbours.forget(Seid(1));
        assert_eq!((neighbours.entries.len(), neighbours.ages.len()), (8192 + 1, 8192 + 1));
        assert_eq!(neighbours.find(&place(200_000), at(1000)), Some((B, Some(Seid(2)))));
    }
}
