//! Sessions that were established as others were, and to which nothing has happened since but changes that others had, too.
//!
//! All that is to be known of one is what it has in common with others, what is its own, and since when it is there. It has neither
//! lines nor a place in the slow room until a packet comes for it, or another plan: then it is established there as of the time at
//! which it was, as it is now. Afterwards it may rest again: its lines decide about its packets as before, and beside them there is
//! no more to be known than what its packets have left behind.

mod active;
mod find;
mod location;
mod policies;
mod prefetch;
mod profiles;

use std::net::IpAddr;
use std::sync::Arc;

use causeway_reference::lease::MeasuredState;
use causeway_rules::{
    HashIndex, Prefaulter, Probe, ProfileTransition, ProfiledSession, Release, Remote, SessionParams, Tail,
    fit,
};
use causeway_types::{DualIp, FTeid, Seid, Teid, Time};

use crate::index::{ArenaError, ToKernel, prepare};
use crate::lease::Lease;
pub(crate) use active::{ActiveSessions, DormancyCandidate};
pub(crate) use location::SessionLocation;
use policies::Policies;
use prefetch::PrefetchQueue;
use profiles::{DormantProfile, DormantProfiles};

/// How many sessions rest at most that send to the same tunnel: all of them are passed when one more is entered, and an SMF
/// can name one tunnel for every session.
pub(crate) const MAX_SESSIONS_PER_REMOTE: usize = 64;

/// The kind of a record of nobody.
const VACANT: u32 = u32::MAX;

/// Records of nobody from which on they are too many, and how many are taken away at a time.
const LOOSE: usize = 1024;
const AT_ONCE: usize = 512;

/// Sessions that rest, found by everything that can wake them.
#[derive(Debug)]
pub(crate) struct DormantSessions {
    profiles: DormantProfiles,
    records: Vec<DormantSession>,
    policies: Policies,
    ahead: Prefaulter,
    tail: Tail<DormantSession>,
    /// Places of records that are free, or no longer there.
    free: Vec<u32>,
    seids: HashIndex,
    /// By their TEIDs alone: a tunnel may end at two addresses, and few tunnels that end at others have the same TEID.
    tunnels: HashIndex,
    ues: HashIndex,
    remotes: HashIndex,
    prefetch: PrefetchQueue,
}

/// The GTP-U paths that a session uses: our address and a peer's.
pub(crate) type Paths = [Option<(IpAddr, IpAddr)>; 2];

/// One cache line.
#[derive(Debug)]
#[repr(align(64))]
struct DormantSession {
    seid: Seid,
    since: Time,
    params: SessionParams,
    profile: u32,
    /// Its number among the policies.
    policy: u32,
    prior: Option<Box<PriorState>>,
}

/// What there is of a session that was awake before it came to rest.
#[derive(Debug)]
pub(crate) struct PriorState {
    /// What it has in the lines, if it has something there.
    pub(crate) lease: Option<Lease>,
    /// What its packets have left behind, but for what is in the lines.
    pub(crate) measured: MeasuredState,
}

/// A session that rests no longer.
pub(crate) struct Activated {
    pub(crate) since: Time,
    pub(crate) profiled: ProfiledSession,
    pub(crate) paths: Paths,
    pub(crate) prior: Option<Box<PriorState>>,
}

fn ends(params: &SessionParams) -> impl Iterator<Item = (Teid, IpAddr)> {
    params.remotes.into_iter().flatten().map(|Remote { teid, addr }| (teid, IpAddr::V4(addr)))
}

impl DormantSessions {
    /// None, and room for so many.
    ///
    /// # Errors
    /// [`ArenaError`] when the system has not even the addresses.
    pub(crate) fn new(sessions: u32) -> Result<Self, ArenaError> {
        let places = || {
            let mut places = HashIndex::with_capacity(sessions as usize);
            places.set_prefault(prepare);
            places
        };
        // Memory that was never used is never touched.
        let mut records = Vec::<DormantSession>::new();
        let octets = sessions as usize * size_of::<DormantSession>();
        records.try_reserve_exact(sessions as usize).map_err(|_| ArenaError::NoMemory { octets })?;
        Ok(Self {
            profiles: DormantProfiles::default(),
            records,
            policies: Policies::new(sessions),
            ahead: Prefaulter::new(Some(prepare)),
            tail: Tail::new(Some(ToKernel::release::<DormantSession>)),
            free: Vec::new(),
            seids: places(),
            tunnels: places(),
            ues: places(),
            remotes: places(),
            prefetch: PrefetchQueue::default(),
        })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.seids.len()
    }

    /// Sessions like this one can rest.
    pub(crate) fn has_profile(&self, profiled: &ProfiledSession) -> bool {
        self.profiles.index_of(profiled.profile()).is_some()
    }

    /// From now on sessions like this one can rest. `sources`: where what it sends to peers comes from.
    pub(crate) fn learn(&mut self, profiled: &ProfiledSession, sources: [Option<IpAddr>; 2]) {
        let mut tunnels = profiled.tunnels();
        let locals = [(); 2].map(|()| Some(tunnels.next()?.addr));
        // What was worked out for kinds of their numbers, which may be others' now.
        self.prefetch = PrefetchQueue::default();
        self.profiles.insert(DormantProfile {
            profile: Arc::clone(profiled.profile()),
            locals,
            sources,
            users: 0,
        });
    }

    /// A session may rest whose tunnels and address no session has that is awake. `false`: sessions like it cannot rest, or another one
    /// that rests has what is its own, or too many rest that send to the same tunnel.
    pub(crate) fn can_insert(&self, entry: &SessionLocation, profiled: &ProfiledSession) -> bool {
        let Some(profile) = self.profiles.get(entry.profile) else { return false };
        let params = profiled.params();
        let mut tunnels = params.tunnels.iter().zip(&profile.locals).zip(&entry.tunnels);
        let is_taken = |((teid, addr), probe): ((&Option<Teid>, &Option<DualIp>), &Option<Probe>)| {
            let (&Some(teid), &Some(addr), &Some(probe)) = (teid, addr, probe) else { return false };
            self.shares_tunnel(probe, FTeid { teid, addr })
        };
        !(params.ue.zip(entry.ue).is_some_and(|(ue, probe)| self.at_ue(probe, ue).is_some())
            || tunnels.any(is_taken)
            || entry.remotes.into_iter().flatten().any(|remote| self.is_crowded(remote)))
    }

    /// Lets a session rest for which [`DormantSessions::can_insert`]. Returns the paths that it uses.
    pub(crate) fn add(
        &mut self,
        entry: &SessionLocation,
        seid: Seid,
        since: Time,
        profiled: &ProfiledSession,
        prior: Option<Box<PriorState>>,
    ) -> Option<Paths> {
        let params = *profiled.params();
        let profile = self.profiles.get_mut(entry.profile)?;
        profile.users += 1;
        let paths = profile.paths(&params);
        let policy = self.policies.add(profiled.policy());
        let record = DormantSession { seid, since, params, profile: entry.profile, policy, prior };
        let end = self.records.len() as u32;
        while self.free.pop_if(|place| *place >= end).is_some() {}
        let place = self.free.pop().unwrap_or(end);
        match self.records.get_mut(place as usize) {
            Some(slot) => *slot = record,
            None => {
                let end = self.records.as_ptr().wrapping_add(self.records.capacity());
                let used = self.records.as_ptr().wrapping_add(self.records.len());
                self.ahead.advance(used.cast(), end.cast());
                self.records.push(record);
            }
        }
        self.seids.insert_at(entry.seid, place);
        entry.ue.into_iter().for_each(|ue| self.ues.insert_at(ue, place));
        entry.tunnels.into_iter().flatten().for_each(|tunnel| self.tunnels.insert_at(tunnel, place));
        entry.remotes.into_iter().flatten().for_each(|remote| self.remotes.insert_at(remote, place));
        Some(paths)
    }

    /// Lets a session rest on that is changed as others were. Returns the paths that it used, and those that it uses now; `None`: it
    /// does not rest, or it has been awake before, or it could not rest, or too many rest that send to the same tunnel.
    pub(crate) fn change(&mut self, seid: Seid, transition: &ProfileTransition) -> Option<(Paths, Paths)> {
        let [(template, before), (next, after)] = transition.before_and_after();
        let [from_ends, to_ends] = [before, after].map(|params| {
            let mut ends = ends(params);
            [(); 2].map(|()| ends.next().map(|end| (end, self.fetch_remote(end))))
        });
        let place = self.place(seid)?;
        let record = self.records.get(place as usize).filter(|record| record.prior.is_none())?;
        let (old, new) = (record.profile, self.profiles.index_of(next)?);
        let (from, to) = (self.profiles.get(old)?, self.profiles.get(new)?);
        let is_new = |(end, _): &((Teid, IpAddr), _)| ends(before).all(|held| held != *end);
        if !Arc::ptr_eq(&from.profile, template)
            || from.locals != to.locals
            || to_ends.iter().flatten().filter(|end| is_new(end)).any(|(_, probe)| self.is_crowded(*probe))
        {
            return None;
        }
        let paths = (from.paths(before), to.paths(after));
        from_ends.into_iter().flatten().for_each(|(_, probe)| self.remotes.remove_at(probe, place));
        to_ends.into_iter().flatten().for_each(|(_, probe)| self.remotes.insert_at(probe, place));
        let record = self.records.get_mut(place as usize)?;
        (record.profile, record.params) = (new, *after);
        self.profiles.get_mut(old)?.users -= 1;
        self.profiles.get_mut(new)?.users += 1;
        Some(paths)
    }

    fn is_crowded(&self, remote: Probe) -> bool {
        self.remotes.all_at(remote).nth(MAX_SESSIONS_PER_REMOTE - 1).is_some()
    }

    /// A session rests no longer. `None`: it did not.
    pub(crate) fn take(&mut self, seid: Seid) -> Option<Activated> {
        let place = self.place(seid)?;
        self.take_at(place)
    }

    /// The same of one that has never been awake. `None`: it does not rest, or it has.
    pub(crate) fn take_never_active(&mut self, seid: Seid) -> Option<Activated> {
        let place = self.place(seid)?;
        self.records.get(place as usize).filter(|record| record.prior.is_none())?;
        self.take_at(place)
    }

    fn take_at(&mut self, place: u32) -> Option<Activated> {
        let record = self.records.get_mut(place as usize)?;
        let (seid, number) = (record.seid, std::mem::replace(&mut record.profile, VACANT));
        let (since, params, policy, prior) =
            (record.since, record.params, record.policy, record.prior.take());
        let entry = match self.prefetch.get(seid, number, &params) {
            Some(entry) => *entry,
            None => self.entry_of(seid, number, &params),
        };
        self.seids.remove_at(entry.seid, place);
        entry.ue.into_iter().for_each(|ue| self.ues.remove_at(ue, place));
        entry.tunnels.into_iter().flatten().for_each(|tunnel| self.tunnels.remove_at(tunnel, place));
        entry.remotes.into_iter().flatten().for_each(|remote| self.remotes.remove_at(remote, place));
        self.free.push(place);
        let profile = self.profiles.get_mut(number)?;
        profile.users -= 1;
        let profiled = ProfiledSession::new(Arc::clone(&profile.profile), params, self.policies.take(policy));
        Some(Activated { since, profiled, paths: profile.paths(&params), prior })
    }

    /// Sessions have left memory at the end of the records.
    #[inline]
    pub(crate) fn is_loose(&self) -> bool {
        self.len() + LOOSE < self.records.len() / 2
            && self.records.last().is_some_and(|last| last.profile == VACANT)
    }

    /// Gives back some of it.
    #[cold]
    #[inline(never)]
    pub(crate) fn tighten(&mut self) {
        self.tail.shorten(&mut self.records, AT_ONCE, |record| record.profile == VACANT);
        self.ahead.retreat(self.records.as_ptr_range().end.cast());
        let end = self.records.len() as u32;
        while self.free.pop_if(|place| *place >= end).is_some() {}
        fit(&mut self.free);
    }

    /// Since when the session is there that rests.
    pub(crate) fn since(&self, seid: Seid) -> Option<Time> {
        Some(self.records.get(self.place(seid)? as usize)?.since)
    }
}
