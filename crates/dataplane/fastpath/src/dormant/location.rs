//! Where a session that rests is found, or would be.

use std::net::IpAddr;

use causeway_rules::{HashIndex, Probe, ProfiledSession, SessionParams};
use causeway_types::{Seid, Teid};

use super::{DormantSessions, ends};
use crate::index::prefetch;

/// What is needed to find a session by everything that can wake it, worked out once for all that is done with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionLocation {
    /// What it has in common with others.
    pub(super) profile: u32,
    pub(super) seid: Probe,
    pub(super) ue: Option<Probe>,
    pub(super) tunnels: [Option<Probe>; 2],
    pub(super) remotes: [Option<Probe>; 2],
}

/// Fetches what a key leads to.
pub(super) fn fetch(places: &HashIndex, probe: Probe) -> Probe {
    let (words, at) = places.home_bucket(probe);
    prefetch(words, at);
    probe
}

impl DormantSessions {
    /// Somebody will ask for the session of a tunnel of ours soon.
    pub(crate) fn prefetch_tunnel(&self, teid: Teid) {
        fetch(&self.tunnels, self.tunnels.probe(teid));
    }

    /// The same of a UE.
    pub(crate) fn prefetch_ue(&self, address: IpAddr) {
        if let IpAddr::V4(ue) = address {
            fetch(&self.ues, self.ues.probe(ue));
        }
    }

    /// Where a session like this is found, all of which is fetched. `None`: sessions like it cannot rest.
    #[inline]
    pub(crate) fn entry(&self, seid: Seid, profiled: &ProfiledSession) -> Option<SessionLocation> {
        let number = self.profiles.index_of(profiled.profile())?;
        if let Some(entry) = self.prefetch.get(seid, number, profiled.params()) {
            return Some(*entry);
        }
        Some(self.entry_of(seid, number, profiled.params()))
    }

    #[inline]
    pub(super) fn entry_of(&self, seid: Seid, number: u32, params: &SessionParams) -> SessionLocation {
        let tunnels = params.tunnels.map(|teid| Some(fetch(&self.tunnels, self.tunnels.probe(teid?))));
        let mut remotes = ends(params);
        let mut remote = || remotes.next().map(|end| self.fetch_remote(end));
        SessionLocation {
            profile: number,
            seid: fetch(&self.seids, self.seids.probe(seid)),
            ue: params.ue.map(|ue| fetch(&self.ues, self.ues.probe(ue))),
            tunnels,
            remotes: [remote(), remote()],
        }
    }

    #[inline]
    pub(super) fn fetch_remote(&self, end: (Teid, IpAddr)) -> Probe {
        fetch(&self.remotes, self.remotes.probe(end))
    }

    /// A session rests here already.
    pub(crate) fn is_at(&self, entry: &SessionLocation, seid: Seid) -> bool {
        self.seids.find_at(entry.seid, |place| self.is_of(place, seid)).is_some()
    }
}
