//! The neighbour cache for ARP and Neighbour Discovery proxying: the MAC address of an IP address (TS 29.244 clause
//! 5.13.3).

use std::collections::BTreeMap;
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

/// The neighbour cache, of bounded size.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Neighbours(BTreeMap<NeighbourKey, NeighbourEntry>);

impl Neighbours {
    /// Records that a station claims the address. A recent claim of another station is not replaced: otherwise a UE
    /// could redirect frames of others to itself. A full cache discards stale entries and otherwise accepts no new
    /// one.
    pub(crate) fn learn_neighbour(
        &mut self,
        place: NeighbourKey,
        mac: MacAddr,
        session: Option<Seid>,
        now: Time,
        limit: usize,
    ) {
        let is_stale = |entry: &NeighbourEntry| now.since(entry.at) >= ENTRY_LIFETIME;
        if self.0.get(&place).is_some_and(|entry| entry.mac != mac && !is_stale(entry)) {
            return;
        }
        if self.0.len() >= limit && !self.0.contains_key(&place) {
            self.0.retain(|_, entry| !is_stale(entry));
        }
        if self.0.len() < limit || self.0.contains_key(&place) {
            self.0.insert(place, NeighbourEntry { mac, session, at: now });
        }
    }

    /// The entries of these addresses.
    pub(crate) fn part(&self, places: impl Iterator<Item = NeighbourKey>) -> Self {
        Self(places.filter_map(|place| self.0.get(&place).copied().map(|entry| (place, entry))).collect())
    }

    /// The MAC address, if the entry is not stale, and the session of the neighbour; `None` is the network itself.
    pub(crate) fn find(&self, place: &NeighbourKey, now: Time) -> Option<(MacAddr, Option<Seid>)> {
        let entry = self.0.get(place).filter(|entry| now.since(entry.at) < ENTRY_LIFETIME)?;
        Some((entry.mac, entry.session))
    }

    /// Removes the entries of a session that was removed.
    pub(crate) fn forget(&mut self, session: Seid) {
        self.0.retain(|_, entry| entry.session != Some(session));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const B: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

    fn place(last: u8) -> NeighbourKey {
        let ip = IpAddr::from([10, 1, 0, last]);
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
        neighbours.learn_neighbour(place(1), A, None, at(0), 9);
        neighbours.learn_neighbour(place(1), B, Some(Seid(1)), at(299), 9);
        assert_eq!(neighbours.find(&place(1), at(299)), Some((A, None)));
        assert_eq!(neighbours.find(&place(1), at(300)), None);
        neighbours.learn_neighbour(place(1), B, Some(Seid(1)), at(300), 9);
        assert_eq!(neighbours.find(&place(1), at(301)), Some((B, Some(Seid(1)))));
        neighbours.forget(Seid(1));
        assert_eq!(neighbours.find(&place(1), at(301)), None);
    }

    // Input:  more addresses than fit, immediately and when the old ones are stale.
    // Output: the cache is unchanged, then accepts the new address.
    #[test]
    fn the_cache_has_a_bound() {
        let mut neighbours = Neighbours::default();
        for last in 1..=3 {
            neighbours.learn_neighbour(place(last), A, None, at(0), 2);
        }
        assert_eq!(neighbours.find(&place(3), at(1)), None);
        neighbours.learn_neighbour(place(3), A, None, at(300), 2);
        assert_eq!(neighbours.find(&place(3), at(301)), Some((A, None)));
    }
}
