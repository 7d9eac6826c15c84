//! Finds dormant sessions by their parameters.

use std::net::{IpAddr, Ipv4Addr};

use causeway_collections::Probe;
use causeway_model::{FurtherParams, UE_PREFIX_BITS, upper_half};
use causeway_slowpath::lease::Destination;
use causeway_types::{FTeid, IpNet, Ipv4Net, Ipv6Net, Seid, Teid};

use super::profiles::DormantProfile;
use super::{DormantSession, DormantSessions, VACANT, ends, further_ends};

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
            let mut its = profile.tunnels(&record.params, self.further(record));
            its.any(|it| it.teid == teid && it.addr.contains(local))
        };
        self.seid_at(self.tunnels.find_at(probe, |place| self.record_matches(place, matches))?)
    }

    /// Whether another session has a tunnel with this TEID at a common local address.
    pub(super) fn shares_tunnel(&self, probe: Probe, FTeid { teid, addr }: FTeid) -> bool {
        let matches = |record: &DormantSession, profile: &DormantProfile| {
            let mut its = profile.tunnels(&record.params, self.further(record)).filter(|it| it.teid == teid);
            its.any(|it| it.addr.iter().any(|local| addr.contains(local)))
        };
        self.tunnels.find_at(probe, |place| self.record_matches(place, matches)).is_some()
    }

    /// The addresses and tunnels of a session that are not in its record.
    pub(super) fn further(&self, record: &DormantSession) -> Option<&FurtherParams> {
        self.policies.further(record.policy)
    }

    /// The session of a UE with this address.
    #[inline]
    pub(crate) fn of_address(&self, address: IpAddr) -> Option<Seid> {
        match address {
            IpAddr::V4(ue) => self.of_ue(ue),
            IpAddr::V6(_) if self.prefixes == 0 => None,
            IpAddr::V6(ue) => self.of_prefix(upper_half(ue)),
        }
    }

    /// The session of a UE with this IPv6 prefix of 64 bits.
    pub(super) fn of_prefix(&self, half: u64) -> Option<Seid> {
        let matches = |record: &DormantSession, _: &DormantProfile| {
            self.further(record).and_then(FurtherParams::upper_half) == Some(half)
        };
        self.seid_at(self.ues.find(half, |place| self.record_matches(place, matches))?)
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
            Destination::Ue(ue) => self.of_address(ue).into_iter().collect(),
            Destination::Remote(teid, peer) => {
                let remote = (teid, peer);
                let matches = |record: &DormantSession, _: &DormantProfile| {
                    ends(&record.params).chain(further_ends(self.further(record))).any(|it| it == remote)
                };
                let places = self.remotes.all(remote);
                let users = places.filter(|place| self.record_matches(*place, matches));
                let mut seids: Vec<_> = users.filter_map(|place| self.seid_at(place)).collect();
                seids.sort_unstable();
                seids
            }
        }
    }

    /// The sessions with an address in a network, or with a prefix that overlaps it. O(its addresses or prefixes) or O(sessions), whichever is
    /// less.
    pub(crate) fn within(&self, net: IpNet) -> Vec<Seid> {
        match net {
            IpNet::V4(net) => self.within_v4(net),
            IpNet::V6(_) if self.prefixes == 0 => Vec::new(),
            IpNet::V6(net) => self.within_v6(net),
        }
    }

    fn within_v6(&self, net: Ipv6Net) -> Vec<Seid> {
        let free_bits = UE_PREFIX_BITS.saturating_sub(net.prefix_len());
        let first = upper_half(net.network());
        let last = first | u64::MAX.checked_shr(u32::from(UE_PREFIX_BITS - free_bits)).unwrap_or(0);
        if last - first < self.prefixes as u64 {
            return (first..=last).filter_map(|half| self.of_prefix(half)).collect();
        }
        let lies_in = |record: &&DormantSession| {
            let half = self.further(record).and_then(FurtherParams::upper_half);
            record.profile != VACANT && half.is_some_and(|half| (first..=last).contains(&half))
        };
        self.records.iter().filter(lies_in).map(|record| record.seid).collect()
    }

    fn within_v4(&self, net: Ipv4Net) -> Vec<Seid> {
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
