//! Which MAC address has an IP address: the cache that the UPF answers from (TS 29.244 clause 5.13.3).

use std::collections::BTreeMap;
use std::net::IpAddr;

use causeway_types::{MacAddr, NetworkInstance, Seid, Span, Time};

use super::frame::Vlans;

/// How long what was heard of an address holds unless it is heard again.
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

/// What was heard of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct NeighbourEntry {
    mac: MacAddr,
    /// The session it is behind; `None` is the network itself.
    session: Option<Seid>,
    at: Time,
}

/// The neighbours that were heard of, a bounded number of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Neighbours(BTreeMap<NeighbourKey, NeighbourEntry>);

impl Neighbours {
    /// Keeps that the station says of itself that it has the address. What another one said of late is not
    /// replaced: else a UE could have the UPF send others' frames to itself. A full cache forgets what is stale
    /// and otherwise takes in nothing more.
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

    /// The MAC address, if it was heard of late, and the session it is behind; `None` is the network itself.
    pub(crate) fn find(&self, place: &NeighbourKey, now: Time) -> Option<(MacAddr, Option<Seid>)> {
        let entry = self.0.get(place).filter(|entry| now.since(entry.at) < ENTRY_LIFETIME)?;
        Some((entry.mac, entry.session))
    }

    /// The session is gone, and what is behind it.
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

    // Input:  an address claimed by one station, then by another, at once and after 300 s.
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

    // Input:  more addresses than fit, at once and when the old ones are stale.
    // Output: the cache stays as it is, then takes the new one.
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
