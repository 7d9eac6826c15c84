//! Finds dormant sessions by their parameters.

use std::net::{IpAddr, Ipv4Addr};

use causeway_collections::Probe;
use causeway_slowpath::lease::Destination;
use causeway_types::{FTeid, Ipv4Net, Seid, Teid};

use super::profiles::DormantProfile;
use super::{DormantSession, DormantSessions, ends};

impl DormantSessions {
    /// Whether all indices are empty.
    #[cfg(test)]
    pub(crate) fn are_indexes_empty(&self) -> bool {
        [&self.seids, &self.ues, &self.tunnels, &self.remotes].iter().all(|places| places.is_empty())
    }

    pub(super) fn slot_of(&self, seid: Seid) -> Option<u32> {
        self.seids.find(seid, |place| self.is_of(place, seid))
    }

    /// Whether the session is dormant.
    pub(crate) fn has(&self, seid: Seid) -> bool {
        self.slot_of(seid).is_some()
    }

    /// The session with this local tunnel end.
    pub(crate) fn of_tunnel(&self, tunnel: (Teid, IpAddr)) -> Option<Seid> {
        self.at_tunnel(self.tunnels.probe(tunnel.0), tunnel)
    }

    pub(super) fn at_tunnel(&self, probe: Probe, (teid, local): (Teid, IpAddr)) -> Option<Seid> {
        let matches = |record: &DormantSession, profile: &DormantProfile| {
            profile.tunnels(&record.params).any(|it| it.teid == teid && it.addr.contains(local))
        };
        self.seid_at(self.tunnels.find_at(probe, |place| self.record_matches(place, matches))?)
    }

    /// Whether another session has a tunnel with this TEID at a common local address.
    pub(super) fn shares_tunnel(&self, probe: Probe, FTeid { teid, addr }: FTeid) -> bool {
        let matches = |record: &DormantSession, profile: &DormantProfile| {
            let mut its = profile.tunnels(&record.params).filter(|it| it.teid == teid);
            its.any(|it| it.addr.iter().any(|local| addr.contains(local)))
        };
        self.tunnels.find_at(probe, |place| self.record_matches(place, matches)).is_some()
    }

    /// The session of a UE.
    pub(crate) fn of_ue(&self, ue: Ipv4Addr) -> Option<Seid> {
        self.at_ue(self.ues.probe(ue), ue)
    }

    pub(super) fn at_ue(&self, probe: Probe, ue: Ipv4Addr) -> Option<Seid> {
        let matches = |record: &DormantSession, _: &DormantProfile| record.params.ue == Some(ue);
        self.seid_at(self.ues.find_at(probe, |place| self.record_matches(place, matches))?)
    }

    /// The sessions that a packet may belong to.
    pub(crate) fn sessions_of(&self, addressee: Destination) -> Vec<Seid> {
        match addressee {
            Destination::Tunnel(teid, local) => self.of_tunnel((teid, local)).into_iter().collect(),
            Destination::Ue(IpAddr::V4(ue)) => self.of_ue(ue).into_iter().collect(),
            Destination::Ue(IpAddr::V6(_)) => Vec::new(),
            Destination::Remote(teid, peer) => {
                let remote = (teid, peer);
                let matches =
                    |record: &DormantSession, _: &DormantProfile| ends(&record.params).any(|it| it == remote);
                let places = self.remotes.all(remote);
                let users = places.filter(|place| self.record_matches(*place, matches));
                let mut seids: Vec<_> = users.filter_map(|place| self.seid_at(place)).collect();
                seids.sort_unstable();
                seids
            }
        }
    }

    /// The sessions with an address in a network. O(its addresses) or O(sessions), whichever is less.
    pub(crate) fn within(&self, net: Ipv4Net) -> Vec<Seid> {
        let addresses = 1_u64 << (32 - u32::from(net.prefix_len()));
        if addresses <= self.len() as u64 {
            let all = u32::from(net.network())..=u32::from(net.broadcast());
            return all.filter_map(|ue| self.of_ue(ue.into())).collect();
        }
        let lies_in = |record: &&DormantSession| record.params.ue.is_some_and(|ue| net.contains(&ue));
        let found = self.records.iter().filter(lies_in).map(|record| record.seid);
        // Vacant records still contain their former session.
        found.filter(|seid| self.has(*seid)).collect()
    }

    pub(super) fn is_of(&self, place: u32, seid: Seid) -> bool {
        self.records.get(place as usize).is_some_and(|record| record.seid == seid)
    }

    fn record_matches(&self, place: u32, matches: impl Fn(&DormantSession, &DormantProfile) -> bool) -> bool {
        let Some(record) = self.records.get(place as usize) else { return false };
        self.profiles.get(record.profile).is_some_and(|profile| matches(record, profile))
    }

    fn seid_at(&self, place: u32) -> Option<Seid> {
        self.records.get(place as usize).map(|record| record.seid)
    }
}
