//! The positions of a dormant session in the indices.

use std::net::IpAddr;

use causeway_collections::{HashIndex, Probe};
use causeway_model::{ProfiledSession, SessionParams, upper_half};
use causeway_types::{Seid, Teid};

use super::{DormantSessions, ends};
use crate::table::index::prefetch;

/// The positions in all indices of one session, computed once for all later accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionLocation {
    /// Its profile number.
    pub(super) profile: u32,
    pub(super) seid: Probe,
    pub(super) ue: Option<Probe>,
    pub(super) tunnels: [Option<Probe>; 2],
    pub(super) remotes: [Option<Probe>; 2],
}

/// Prefetches the index bucket of a key.
pub(super) fn fetch(places: &HashIndex, probe: Probe) -> Probe {
    let (words, at) = places.home_bucket(probe);
    prefetch(words, at);
    probe
}

impl DormantSessions {
    /// Prefetches the index bucket of a local tunnel end.
    pub(crate) fn prefetch_tunnel(&self, teid: Teid) {
        fetch(&self.tunnels, self.tunnels.probe(teid));
    }

    /// The same for a UE address.
    pub(crate) fn prefetch_ue(&self, address: IpAddr) {
        match address {
            IpAddr::V4(ue) => {
                fetch(&self.ues, self.ues.probe(ue));
            }
            IpAddr::V6(ue) if self.prefixes > 0 => {
                fetch(&self.ues, self.ues.probe(upper_half(ue)));
            }
            IpAddr::V6(_) => {}
        }
    }

    /// The positions of a session with this profile, which are prefetched. `None`: the profile is unknown.
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

    /// Whether the session is dormant at this location.
    pub(crate) fn is_at(&self, entry: &SessionLocation, seid: Seid) -> bool {
        self.seids.find_at(entry.seid, |place| self.is_of(place, seid)).is_some()
    }
}
