//! Behind which session a MAC address is.

use std::collections::{BTreeMap, BTreeSet};

use causeway_dataplane::DropReason;
use causeway_rules::UeMac;
use causeway_types::{MacAddr, NetworkInstance, Seid, Span, Time};

use super::frame::Vlans;

/// How long an address must have been silent before another session may have it, or before it gives way to
/// a new one in a full table: the ageing time that IEEE 802.1Q recommends.
const STALE: Span = Span::from_secs(300);

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

/// What is known of a station.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    /// The session it is behind.
    pub(crate) session: Seid,
    /// The station as the UE's side knows it, without what the UPF does to VLAN tags.
    pub(crate) inside: UeMac,
    /// When its last frame came.
    pub(crate) seen: Time,
}

/// What learning a station has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Learnt {
    /// The session did not have it before.
    pub(crate) is_new: bool,
    /// The session that had it before.
    pub(crate) from: Option<Seid>,
}

/// All stations behind sessions. Each session has a bounded number of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stations(BTreeMap<Station, Known>);

impl Stations {
    /// The session that a station is behind.
    pub(crate) fn owner(&self, station: &Station) -> Option<Seid> {
        self.0.get(station).map(|known| known.session)
    }

    /// A frame of this station came from this session, which may have so many stations. Returns whether it is new
    /// there, and the session that it was behind before.
    ///
    /// An address that was heard behind another session of late stays there: whoever else sends with it
    /// would take its frames away.
    ///
    /// # Errors
    /// [`DropReason::SpoofedMac`], [`DropReason::MacTableFull`].
    pub(crate) fn learn(
        &mut self,
        station: Station,
        inside: UeMac,
        session: Seid,
        now: Time,
        limit: usize,
    ) -> Result<Learnt, DropReason> {
        let is_stale = |known: &Known| now.since(known.seen) >= STALE;
        match self.0.get_mut(&station) {
            Some(known) if known.session == session => {
                known.seen = now;
                return Ok(Learnt::default());
            }
            Some(known) if !is_stale(known) => return Err(DropReason::SpoofedMac),
            _ => {}
        }
        let of_session = || self.0.iter().filter(|(_, known)| known.session == session);
        if of_session().count() >= limit {
            let silent = of_session().filter(|(_, known)| is_stale(known));
            let oldest = silent.min_by_key(|(_, known)| known.seen).map(|(station, _)| station.clone());
            self.0.remove(&oldest.ok_or(DropReason::MacTableFull)?);
        }
        Ok(self.take(station, inside, session, now))
    }

    /// The station is behind this session now, whatever was known of it.
    pub(crate) fn take(&mut self, station: Station, inside: UeMac, session: Seid, now: Time) -> Learnt {
        let known = self.0.insert(station, Known { session, inside, seen: now });
        Learnt { is_new: true, from: known.map(|known| known.session).filter(|from| *from != session) }
    }

    /// The stations behind a session, as its UE's side knows them.
    pub(crate) fn of(&self, session: Seid) -> BTreeSet<UeMac> {
        self.0.values().filter(|known| known.session == session).map(|known| known.inside).collect()
    }

    /// When the station of a session was heard that has been silent longest.
    pub(crate) fn oldest_of(&self, session: Seid) -> Option<Time> {
        self.0.values().filter(|known| known.session == session).map(|known| known.seen).min()
    }

    /// Forgets the stations of a session that have been silent for so long.
    pub(crate) fn expire(&mut self, session: Seid, now: Time, limit: Span) {
        self.0.retain(|_, known| known.session != session || now.since(known.seen) < limit);
    }

    /// The session is gone, and its stations with it.
    pub(crate) fn forget(&mut self, session: Seid) {
        self.0.retain(|_, known| known.session != session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Seid = Seid(1);
    const B: Seid = Seid(2);

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

    // Input:  a station of one session, then frames with its address from another, soon and after 300 silent seconds.
    // Output: the address stays where it is, then it moves; a frame of its own keeps it.
    #[test]
    fn an_address_moves_only_when_it_is_silent() {
        let mut stations = Stations::default();
        stations.learn(station(1), inside(1), A, at(0), 9).unwrap();
        assert_eq!(stations.learn(station(1), inside(1), B, at(299), 9), Err(DropReason::SpoofedMac));
        stations.learn(station(1), inside(1), A, at(299), 9).unwrap();
        assert_eq!(stations.learn(station(1), inside(1), B, at(598), 9), Err(DropReason::SpoofedMac));
        stations.learn(station(1), inside(1), B, at(599), 9).unwrap();
        assert_eq!(stations.owner(&station(1)), Some(B));
    }

    // Input:  more addresses than a session may have; later one of them has been silent long enough.
    // Output: the table is full, then the silent one gives way; another session has its own room.
    #[test]
    fn a_full_table_makes_room_for_nothing_but_silence() {
        let mut stations = Stations::default();
        stations.learn(station(1), inside(1), A, at(0), 2).unwrap();
        stations.learn(station(2), inside(2), A, at(1), 2).unwrap();
        assert_eq!(stations.learn(station(3), inside(3), A, at(2), 2), Err(DropReason::MacTableFull));
        stations.learn(station(3), inside(3), B, at(2), 2).unwrap();
        stations.learn(station(4), inside(4), A, at(300), 2).unwrap();
        assert_eq!(stations.owner(&station(1)), None);
        assert_eq!(stations.owner(&station(2)), Some(A));
        stations.forget(A);
        assert_eq!((stations.owner(&station(2)), stations.owner(&station(3))), (None, Some(B)));
    }
}
