//! The session that a MAC address belongs to.

use std::collections::{BTreeMap, BTreeSet};

use causeway_dataplane::DropReason;
use causeway_model::UeMac;
use causeway_types::{MacAddr, NetworkInstance, Seid, Span, Time};

use super::frame::Vlans;

/// How long an address must have been inactive before it may move to another session, or is replaced by a new one in
/// a full table: the ageing time that IEEE 802.1Q recommends.
const ENTRY_LIFETIME: Span = Span::from_secs(300);

/// How long after a search for inactive addresses in a full table the next one follows, at the earliest.
const SEARCH_INTERVAL: Span = Span::from_secs(1);

/// A station as its data network sees it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Station {
    /// The network.
    pub(crate) network: NetworkInstance,
    /// The VLANs of its frames there.
    pub(crate) vlans: Vlans,
    /// Its address.
    pub(crate) mac: MacAddr,
}

/// The entry of a station.
#[derive(Clone, PartialEq, Eq, Debug)]
struct StationEntry {
    /// The station as the UE sees it, before the UPF changes VLAN tags.
    ue_view: UeMac,
    /// When its last frame was received.
    seen: Time,
}

impl StationEntry {
    /// It may move to another session, and may be replaced.
    fn is_inactive(&self, now: Time) -> bool {
        now.since(self.seen) >= ENTRY_LIFETIME
    }
}

/// The stations of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct SessionStations {
    entries: BTreeMap<Station, StationEntry>,
    /// Those that the last search has found inactive, the one that was inactive longest last.
    inactive: Vec<Station>,
    /// When the next search may follow.
    next_search: Time,
}

impl SessionStations {
    /// The station that has been inactive longest, if one may be replaced. Each frame from an unknown address asks, so a
    /// search, which is O(stations), finds all that are inactive, and the next one follows when another can be.
    fn replaceable(&mut self, now: Time) -> Option<Station> {
        let Self { entries, inactive, next_search } = self;
        while let Some(station) = inactive.pop() {
            if entries.get(&station).is_some_and(|entry| entry.is_inactive(now)) {
                return Some(station);
            }
        }
        if now < *next_search {
            return None;
        }
        let (mut found, mut oldest_active) = (Vec::new(), now);
        for (station, entry) in entries {
            match entry.is_inactive(now) {
                true => found.push((entry.seen, station)),
                false => oldest_active = oldest_active.min(entry.seen),
            }
        }
        found.sort_unstable();
        *inactive = found.into_iter().rev().map(|(_, station)| station.clone()).collect();
        *next_search = (now + SEARCH_INTERVAL).max(oldest_active + ENTRY_LIFETIME);
        inactive.pop()
    }
}

/// The maximum number of stations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StationLimits {
    /// Of one session.
    pub(crate) of_session: usize,
    /// Of all sessions together.
    pub(crate) in_all: usize,
}

/// The result of learning a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LearnResult {
    /// The station is new to the session.
    pub(crate) is_new: bool,
    /// The session that had it before.
    pub(crate) from: Option<Seid>,
}

/// The stations of all sessions, a bounded number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stations {
    owners: BTreeMap<Station, Seid>,
    /// The stations of each session that has any.
    of: BTreeMap<Seid, SessionStations>,
    /// Stations that are not here, since this is a part of a table.
    elsewhere: usize,
}

impl Stations {
    /// What is known of the stations of these sessions, and of these stations.
    pub(crate) fn part(&self, sessions: &[Seid], stations: &[Station]) -> Self {
        let mut part = Self::default();
        let of_sessions = sessions.iter().filter_map(|seid| Some((*seid, self.of.get(seid)?)));
        let own = of_sessions.flat_map(|(seid, own)| own.entries.keys().map(move |station| (station, seid)));
        let named = stations.iter().filter_map(|station| Some((station, self.owner(station)?)));
        for (station, owner) in own.chain(named) {
            if let Some(entry) = self.of.get(&owner).and_then(|own| own.entries.get(station)) {
                part.owners.insert(station.clone(), owner);
                part.of.entry(owner).or_default().entries.insert(station.clone(), entry.clone());
            }
        }
        part.elsewhere = self.len() - part.owners.len();
        part
    }

    /// The session that a station belongs to.
    pub(crate) fn owner(&self, station: &Station) -> Option<Seid> {
        self.owners.get(station).copied()
    }

    /// The number of stations.
    pub(crate) fn len(&self) -> usize {
        self.owners.len() + self.elsewhere
    }

    /// Records a frame of this station from this session. Returns whether it is new there, and the session that it
    /// belonged to before.
    ///
    /// An address that was recently active in another session stays there: otherwise another sender could take over
    /// its frames. In a full table an inactive one of the same session is replaced.
    ///
    /// # Errors
    /// [`DropReason::SpoofedMac`], [`DropReason::MacTableFull`].
    pub(crate) fn learn(
        &mut self,
        station: Station,
        inside: UeMac,
        session: Seid,
        now: Time,
        limits: StationLimits,
    ) -> Result<LearnResult, DropReason> {
        let owner = self.owner(&station);
        let known = owner.and_then(|owner| self.of.get_mut(&owner)?.entries.get_mut(&station));
        match known {
            Some(known) if owner == Some(session) => {
                known.seen = now;
                return Ok(LearnResult::default());
            }
            Some(known) if !known.is_inactive(now) => return Err(DropReason::SpoofedMac),
            _ => {}
        }
        let is_full_in_all = owner.is_none() && self.len() >= limits.in_all;
        let own = self.of.get_mut(&session);
        if is_full_in_all || own.as_ref().map_or(0, |own| own.entries.len()) >= limits.of_session {
            let replaced = own.and_then(|own| own.replaceable(now));
            self.remove(&replaced.ok_or(DropReason::MacTableFull)?);
        }
        Ok(self.take(station, inside, session, now))
    }

    /// Moves the station to this session, whatever its entry was.
    pub(crate) fn take(&mut self, station: Station, inside: UeMac, session: Seid, now: Time) -> LearnResult {
        let from = self.owner(&station).filter(|from| *from != session);
        if from.is_some() {
            self.remove(&station);
        }
        self.owners.insert(station.clone(), session);
        let own = self.of.entry(session).or_default();
        own.entries.insert(station, StationEntry { ue_view: inside, seen: now });
        LearnResult { is_new: true, from }
    }

    fn remove(&mut self, station: &Station) {
        let Some(owner) = self.owners.remove(station) else { return };
        let Some(own) = self.of.get_mut(&owner) else { return };
        own.entries.remove(station);
        if own.entries.is_empty() {
            self.of.remove(&owner);
        }
    }

    /// The stations of a session, as its UE sees them.
    pub(crate) fn of(&self, session: Seid) -> BTreeSet<UeMac> {
        let own = self.of.get(&session).into_iter();
        own.flat_map(|own| own.entries.values()).map(|known| known.ue_view).collect()
    }

    /// When the station of a session that has been inactive longest was last active.
    pub(crate) fn oldest_of(&self, session: Seid) -> Option<Time> {
        self.of.get(&session)?.entries.values().map(|known| known.seen).min()
    }

    /// Removes the stations of a session that have been inactive for this time.
    pub(crate) fn expire(&mut self, session: Seid, now: Time, limit: Span) {
        let own = self.of.get(&session).into_iter().flat_map(|own| &own.entries);
        let silent = own.filter(|(_, known)| now.since(known.seen) >= limit);
        let silent: Vec<_> = silent.map(|(station, _)| station.clone()).collect();
        silent.iter().for_each(|station| self.remove(station));
    }

    /// Removes the stations of a session that was removed.
    pub(crate) fn forget(&mut self, session: Seid) {
        for station in self.of.remove(&session).into_iter().flat_map(|own| own.entries.into_keys()) {
            self.owners.remove(&station);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Seid = Seid(1);
    const B: Seid = Seid(2);
    const LIMITS: StationLimits = StationLimits { of_session: 9, in_all: 99 };

    fn station(last: u8) -> Station {
        let mac = MacAddr([2, 0, 0, 0, 0, last]);
        Station { network: NetworkInstance::new("lan"), vlans: Vlans::default(), mac }
    }

    fn inside(last: u8) -> UeMac {
        UeMac { c_vid: None, s_vid: None, mac: station(last).mac }
    }

    fn at(seconds: u64) -> Time {
        Time::from_secs(1_000_000 + seconds)
    }

    // Input:  a station of one session, then frames with its address from another, soon and after 300 s without
    //         frames.
    // Output: the address stays where it is, then it moves; a frame of its own keeps it.
    #[test]
    fn an_address_moves_only_when_it_is_inactive() {
        let mut stations = Stations::default();
        stations.learn(station(1), inside(1), A, at(0), LIMITS).unwrap();
        assert_eq!(stations.learn(station(1), inside(1), B, at(299), LIMITS), Err(DropReason::SpoofedMac));
        stations.learn(station(1), inside(1), A, at(299), LIMITS).unwrap();
        assert_eq!(stations.learn(station(1), inside(1), B, at(598), LIMITS), Err(DropReason::SpoofedMac));
        stations.learn(station(1), inside(1), B, at(599), LIMITS).unwrap();
        assert_eq!(stations.owner(&station(1)), Some(B));
    }

    // Input:  more addresses than a session may have; later one of them has been inactive long enough.
    // Output: the table is full, then the inactive one is replaced; another session has its own capacity.
    #[test]
    fn a_full_table_replaces_only_inactive_stations() {
        let (mut stations, few) = (Stations::default(), StationLimits { of_session: 2, in_all: 99 });
        stations.learn(station(1), inside(1), A, at(0), few).unwrap();
        stations.learn(station(2), inside(2), A, at(1), few).unwrap();
        assert_eq!(stations.learn(station(3), inside(3), A, at(2), few), Err(DropReason::MacTableFull));
        stations.learn(station(3), inside(3), B, at(2), few).unwrap();
        stations.learn(station(4), inside(4), A, at(300), few).unwrap();
        assert_eq!(stations.owner(&station(1)), None);
        assert_eq!(stations.owner(&station(2)), Some(A));
        stations.forget(A);
        assert_eq!((stations.owner(&station(2)), stations.owner(&station(3))), (None, Some(B)));
    }

    // Input:  a full table whose two stations were learnt half a second apart; frames from new addresses at once, when the first is
    //         inactive, and when the second one is, which is less than a second later.
    // Output: the stations are searched when the first one is inactive at the earliest, and once a second at most.
    #[test]
    fn a_full_table_is_not_searched_for_each_frame() {
        let (mut stations, few) = (Stations::default(), StationLimits { of_session: 2, in_all: 99 });
        let half = Span::from_millis(500);
        stations.learn(station(1), inside(1), A, at(0), few).unwrap();
        stations.learn(station(2), inside(2), A, at(0) + half, few).unwrap();
        let refused = Err(DropReason::MacTableFull);
        assert_eq!(stations.learn(station(3), inside(3), A, at(1), few), refused);
        assert_eq!(stations.of[&A].next_search, at(300));
        let replaced = LearnResult { is_new: true, from: None };
        assert_eq!(stations.learn(station(3), inside(3), A, at(300), few), Ok(replaced));
        assert_eq!(stations.learn(station(4), inside(4), A, at(300) + half, few), refused);
        assert_eq!(stations.learn(station(4), inside(4), A, at(301), few), Ok(replaced));
        assert_eq!(stations.of(A), [inside(3), inside(4)].into());
    }

    // Input:  a full table whose stations are all inactive; then one of them sends a frame again, and three new addresses send one.
    // Output: a single search; the addresses that were inactive longest are replaced first, and the active one is not.
    #[test]
    fn one_search_finds_all_inactive_stations() {
        let (mut stations, few) = (Stations::default(), StationLimits { of_session: 3, in_all: 99 });
        for last in 1..=3 {
            stations.learn(station(last), inside(last), A, at(u64::from(last)), few).unwrap();
        }
        stations.learn(station(4), inside(4), A, at(400), few).unwrap();
        let searched = stations.of[&A].next_search;
        assert_eq!(stations.of(A), [2, 3, 4].map(inside).into());
        stations.learn(station(2), inside(2), A, at(401), few).unwrap();
        stations.learn(station(5), inside(5), A, at(401), few).unwrap();
        assert_eq!(stations.of(A), [2, 4, 5].map(inside).into());
        assert_eq!(stations.learn(station(6), inside(6), A, at(401), few), Err(DropReason::MacTableFull));
        assert_eq!((stations.of[&A].next_search, searched), (at(700), at(700)));
    }

    // Input:  capacity for three stations in all, which two sessions use; further ones of both and of a third, and
    //         one that moves; then one session ends.
    // Output: three are kept at most: a station that moves needs no capacity, an inactive one is replaced only by
    //         another of its session, and the capacity of a session is free when it has ended.
    #[test]
    fn all_sessions_together_have_a_limit() {
        let (mut stations, few) = (Stations::default(), StationLimits { of_session: 9, in_all: 3 });
        let mut learn = |last, session, seconds| {
            let learnt = stations.learn(station(last), inside(last), session, at(seconds), few);
            assert!(stations.len() <= 3);
            learnt.map(|learnt| learnt.from)
        };
        assert_eq!([1, 2].map(|last| learn(last, A, 0)), [Ok(None); 2]);
        assert_eq!(learn(3, B, 1), Ok(None));
        assert_eq!([A, B, Seid(3)].map(|one| learn(4, one, 2)), [Err(DropReason::MacTableFull); 3]);
        assert_eq!(learn(1, B, 300), Ok(Some(A)));
        assert_eq!(learn(4, Seid(3), 300), Err(DropReason::MacTableFull));
        assert_eq!(learn(4, A, 300), Ok(None));
        stations.forget(B);
        assert_eq!((stations.len(), stations.of(A), stations.of(B).len()), (1, [inside(4)].into(), 0));
        assert!(stations.learn(station(5), inside(5), Seid(3), at(301), few).is_ok());
    }
}
