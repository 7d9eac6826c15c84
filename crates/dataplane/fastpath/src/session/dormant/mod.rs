//! Dormant sessions: established by a known profile, and changed since only by known transitions.
//!
//! The state of a dormant session is its profile, its parameters and its establishment time. It has neither flow
//! entries nor slow path state until a packet or another plan concerns it: then it is established in the slow path as
//! of that time, with its current rules. Afterwards it may become dormant again: its flow entries continue to handle
//! its packets, and the only further state is the measurements of its packets.

mod active;
mod cold;
mod find;
mod location;
mod own_profiles;
mod policies;
mod prefetch;
mod profiles;

use std::net::IpAddr;
use std::sync::Arc;

use causeway_collections::{HashIndex, Prefaulter, Probe, Release, Tail, fit};
use causeway_model::{FurtherParams, ProfileTransition, ProfiledSession, SessionParams, SessionProfile};
use causeway_slowpath::lease::MeasuredState;
use causeway_types::{DualIp, FTeid, FTeidV4, SNssai, Seid, Teid, Time};

use crate::session::lease::Lease;
use crate::table::index::{ArenaError, ToKernel, request_prefault};
pub(crate) use active::{ActiveSessions, DormancyCandidate};
use cold::ColdSlots;
pub(crate) use location::SessionLocation;
use policies::Policies;
use prefetch::PrefetchQueue;
pub(crate) use profiles::Sources;
use profiles::{DormantProfile, DormantProfiles};

/// The maximum of dormant sessions that send to the same tunnel: an insertion visits all of them, and an SMF can name
/// one tunnel for every session.
pub(crate) const MAX_SESSIONS_PER_REMOTE: usize = 64;

/// The profile number of a vacant record.
const VACANT: u32 = u32::MAX;

/// The excess of vacant records above which the list is trimmed, and the number of records that are trimmed at a time.
const TRIM_THRESHOLD: usize = 1024;
const TRIM_SIZE: usize = 512;

/// Dormant sessions, with an index for each event that can activate them.
#[derive(Debug)]
pub(crate) struct DormantSessions {
    profiles: DormantProfiles,
    records: Vec<DormantSession>,
    cold: ColdSlots,
    policies: Policies,
    ahead: Prefaulter,
    tail: Tail<DormantSession>,
    /// Vacant records, and records beyond the end.
    free: Vec<u32>,
    seids: HashIndex,
    /// By TEID alone: a tunnel may end at two addresses, and few tunnels at different addresses have the same TEID.
    tunnels: HashIndex,
    /// By IPv4 address, and by the upper half of IPv6 addresses.
    ues: HashIndex,
    remotes: HashIndex,
    /// Sessions with an IPv6 prefix.
    prefixes: usize,
    prefetch: PrefetchQueue,
}

/// The GTP-U paths of a session: the local address and the peer's.
#[derive(Clone, Default, Debug)]
pub(crate) struct Paths {
    usual: [Option<(IpAddr, IpAddr)>; 2],
    /// Those of further tunnels, which few sessions have.
    further: Option<Box<[(IpAddr, IpAddr)]>>,
}

impl Paths {
    /// Calls `each` with each path, as often as it is used.
    #[inline]
    pub(crate) fn visit(&self, mut each: impl FnMut((IpAddr, IpAddr))) {
        self.usual.into_iter().flatten().for_each(&mut each);
        if let Some(further) = &self.further {
            further.iter().copied().for_each(each);
        }
    }
}

/// One cache line.
#[derive(Debug)]
#[repr(align(64))]
struct DormantSession {
    seid: Seid,
    since: Time,
    params: SessionParams,
    profile: u32,
    /// Its policy number.
    policy: u32,
    prior: Option<Box<PriorState>>,
}

const _: () = assert!(size_of::<DormantSession>() == 64);

/// State of a session that was active before it became dormant.
#[derive(Debug)]
pub(crate) struct PriorState {
    /// Its lease; `None`: it has no flow entries.
    pub(crate) lease: Option<Lease>,
    /// The measurements of its packets, except those in the flow entries.
    pub(crate) measured: MeasuredState,
}

/// A session that is no longer dormant.
pub(crate) struct Activated {
    pub(crate) since: Time,
    pub(crate) profiled: ProfiledSession,
    pub(crate) paths: Paths,
    /// The data plane has made its profile.
    pub(crate) has_own_profile: bool,
    /// Its state, if that was in memory.
    pub(crate) prior: Option<Box<PriorState>>,
}

fn ends(params: &SessionParams) -> impl Iterator<Item = (Teid, IpAddr)> {
    params.remotes.into_iter().flatten().map(|FTeidV4 { teid, addr }| (teid, IpAddr::V4(addr)))
}

/// The ends of further remote tunnels.
fn further_ends(further: Option<&FurtherParams>) -> impl Iterator<Item = (Teid, IpAddr)> {
    let remotes = further.map_or(&[][..], |further| &further.remotes);
    remotes.iter().flat_map(|remote| remote.addr.iter().map(|peer| (remote.teid, peer)))
}

impl DormantSessions {
    /// Without sessions, with capacity for this many.
    ///
    /// # Errors
    /// [`ArenaError`] when the system cannot reserve the address space.
    pub(crate) fn new(sessions: u32) -> Result<Self, ArenaError> {
        let places = || {
            let mut places = HashIndex::with_capacity(sessions as usize);
            places.set_prefault(request_prefault);
            places
        };
        // Memory that is never used is never touched.
        let mut records = Vec::<DormantSession>::new();
        let octets = sessions as usize * size_of::<DormantSession>();
        records.try_reserve_exact(sessions as usize).map_err(|_| ArenaError::NoMemory { octets })?;
        Ok(Self {
            profiles: DormantProfiles::default(),
            records,
            cold: ColdSlots::default(),
            policies: Policies::new(sessions),
            ahead: Prefaulter::new(Some(request_prefault)),
            tail: Tail::new(Some(ToKernel::release::<DormantSession>)),
            free: Vec::new(),
            seids: places(),
            tunnels: places(),
            ues: places(),
            remotes: places(),
            prefixes: 0,
            prefetch: PrefetchQueue::default(),
        })
    }

    /// The number of dormant sessions.
    pub(crate) fn len(&self) -> usize {
        self.seids.len()
    }

    /// The paths of all of them, each as often as it is used.
    pub(crate) fn all_paths(&self) -> impl Iterator<Item = (IpAddr, IpAddr)> {
        let of = |record: &DormantSession| {
            let paths = self.profiles.get(record.profile)?.paths(&record.params, self.further(record));
            Some(paths.usual.into_iter().flatten().chain(paths.further.into_iter().flatten()))
        };
        self.records.iter().filter_map(of).flatten()
    }

    /// The sessions of these slices that have flow entries.
    pub(crate) fn with_entries_of(&self, slices: &[SNssai]) -> impl Iterator<Item = Seid> {
        let is_of = |record: &&DormantSession| {
            let profile = self.profiles.get(record.profile);
            let slice = profile.and_then(|profile| profile.profile.rules().slice);
            slice.is_some_and(|slice| slices.contains(&slice))
                && record.prior.as_ref().is_some_and(|prior| prior.lease.is_some())
        };
        self.records.iter().filter(is_of).map(|record| record.seid)
    }

    /// Whether sessions of this profile can be dormant.
    pub(crate) fn has_profile(&self, profiled: &ProfiledSession) -> bool {
        self.profiles.index_of(profiled.profile()).is_some()
    }

    /// Sessions of this profile can be dormant from now on. `sources`: the local source addresses of packets to its
    /// peers.
    pub(crate) fn learn(&mut self, profiled: &ProfiledSession, sources: Sources) {
        self.insert_profile(DormantProfile {
            profile: Arc::clone(profiled.profile()),
            locals: Self::locals_of(profiled.profile(), profiled.params()),
            sources,
            users: 0,
            form: None,
        });
    }

    fn insert_profile(&mut self, profile: DormantProfile) {
        // Prefetched locations refer to profile numbers, which may now mean other profiles.
        self.prefetch = PrefetchQueue::default();
        self.profiles.insert(profile);
    }

    /// The local addresses of each tunnel of a profile.
    fn locals_of(profile: &SessionProfile, params: &SessionParams) -> [Option<DualIp>; 2] {
        let mut tunnels = profile.tunnels(params);
        [(); 2].map(|()| Some(tunnels.next()?.addr))
    }

    /// Whether a session can become dormant, given that no active session has its tunnels and address. `false`: its
    /// profile is unknown, another dormant session has its parameters, or too many send to the same tunnel.
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
            || entry.remotes.into_iter().flatten().any(|remote| self.is_crowded(remote))
            || profiled.further().is_some_and(|further| !self.can_insert_further(profiled, further)))
    }

    /// The same for the addresses and tunnels that are not session parameters.
    fn can_insert_further(&self, profiled: &ProfiledSession, further: &FurtherParams) -> bool {
        let mut tunnels = profiled.profile().further_tunnels(Some(further));
        !(further.upper_half().is_some_and(|half| self.of_prefix(half).is_some())
            || tunnels.any(|tunnel| self.shares_tunnel(self.tunnels.probe(tunnel.teid), tunnel))
            || further_ends(Some(further)).any(|end| self.is_crowded(self.remotes.probe(end))))
    }

    fn insert_further(&mut self, further: &FurtherParams, slot: u32) {
        if let Some(half) = further.upper_half() {
            self.ues.insert(half, slot);
            self.prefixes += 1;
        }
        further.tunnels.iter().for_each(|teid| self.tunnels.insert(*teid, slot));
        further_ends(Some(further)).for_each(|end| self.remotes.insert(end, slot));
    }

    fn remove_further(&mut self, further: &FurtherParams, slot: u32) {
        if let Some(half) = further.upper_half() {
            self.ues.remove(half, slot);
            self.prefixes -= 1;
        }
        further.tunnels.iter().for_each(|teid| self.tunnels.remove(*teid, slot));
        further_ends(Some(further)).for_each(|end| self.remotes.remove(end, slot));
    }

    /// Adds a dormant session for which [`DormantSessions::can_insert`] is true. Returns its paths.
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
        let paths = profile.paths(&params, profiled.further());
        let policy = self.policies.add(profiled.policy());
        let record = DormantSession { seid, since, params, profile: entry.profile, policy, prior };
        let end = self.records.len() as u32;
        while self.free.pop_if(|slot| *slot >= end).is_some() {}
        let slot = self.free.pop().unwrap_or(end);
        match self.records.get_mut(slot as usize) {
            Some(slot) => *slot = record,
            None => {
                let end = self.records.as_ptr().wrapping_add(self.records.capacity());
                let used = self.records.as_ptr().wrapping_add(self.records.len());
                self.ahead.advance(used.cast(), end.cast());
                self.records.push(record);
            }
        }
        self.seids.insert_at(entry.seid, slot);
        entry.ue.into_iter().for_each(|ue| self.ues.insert_at(ue, slot));
        entry.tunnels.into_iter().flatten().for_each(|tunnel| self.tunnels.insert_at(tunnel, slot));
        entry.remotes.into_iter().flatten().for_each(|remote| self.remotes.insert_at(remote, slot));
        if let Some(further) = profiled.further() {
            self.insert_further(further, slot);
        }
        Some(paths)
    }

    /// Changes a dormant session by a known transition. Returns its paths before and after; `None`: it is not dormant,
    /// it was active before, the new profile is unknown, or too many dormant sessions send to the same tunnel.
    pub(crate) fn change(&mut self, seid: Seid, transition: &ProfileTransition) -> Option<(Paths, Paths)> {
        let [(template, before), (next, after)] = transition.before_and_after();
        let [from_ends, to_ends] = [before, after].map(|params| {
            let mut ends = ends(params);
            [(); 2].map(|()| ends.next().map(|end| (end, self.fetch_remote(end))))
        });
        let slot = self.slot_of(seid)?;
        let record = self.records.get(slot as usize).filter(|_| self.is_never_active(slot))?;
        let (old, new) = (record.profile, self.profiles.index_of(next)?);
        let (from, to) = (self.profiles.get(old)?, self.profiles.get(new)?);
        let is_new = |(end, _): &((Teid, IpAddr), _)| ends(before).all(|held| held != *end);
        if !Arc::ptr_eq(&from.profile, template)
            || from.locals != to.locals
            || to_ends.iter().flatten().filter(|end| is_new(end)).any(|(_, probe)| self.is_crowded(*probe))
        {
            return None;
        }
        // A session of a known transition has no further tunnels.
        let paths = (from.paths(before, None), to.paths(after, None));
        from_ends.into_iter().flatten().for_each(|(_, probe)| self.remotes.remove_at(probe, slot));
        to_ends.into_iter().flatten().for_each(|(_, probe)| self.remotes.insert_at(probe, slot));
        let record = self.records.get_mut(slot as usize)?;
        (record.profile, record.params) = (new, *after);
        self.profiles.get_mut(old)?.users -= 1;
        self.profiles.get_mut(new)?.users += 1;
        Some(paths)
    }

    fn is_crowded(&self, remote: Probe) -> bool {
        self.remotes.all_at(remote).nth(MAX_SESSIONS_PER_REMOTE - 1).is_some()
    }

    /// Removes a dormant session. `None`: it was not dormant.
    pub(crate) fn take(&mut self, seid: Seid) -> Option<Activated> {
        let slot = self.slot_of(seid)?;
        self.take_at(slot)
    }

    /// The same for a session that was never active. `None`: it is not dormant, or it was active.
    pub(crate) fn take_never_active(&mut self, seid: Seid) -> Option<Activated> {
        let slot = self.slot_of(seid)?;
        if self.is_never_active(slot) { self.take_at(slot) } else { None }
    }

    fn take_at(&mut self, slot: u32) -> Option<Activated> {
        let record = self.records.get_mut(slot as usize)?;
        let (seid, number) = (record.seid, std::mem::replace(&mut record.profile, VACANT));
        let (since, params, policy, prior) =
            (record.since, record.params, record.policy, record.prior.take());
        let entry = match self.prefetch.get(seid, number, &params) {
            Some(entry) => *entry,
            None => self.entry_of(seid, number, &params),
        };
        self.seids.remove_at(entry.seid, slot);
        entry.ue.into_iter().for_each(|ue| self.ues.remove_at(ue, slot));
        entry.tunnels.into_iter().flatten().for_each(|tunnel| self.tunnels.remove_at(tunnel, slot));
        entry.remotes.into_iter().flatten().for_each(|remote| self.remotes.remove_at(remote, slot));
        self.cold.remove(slot);
        self.free.push(slot);
        let policy = self.policies.take(policy);
        if let Some(further) = policy.as_ref().and_then(|policy| policy.further.as_deref()) {
            self.remove_further(further, slot);
        }
        let profile = self.profiles.get_mut(number)?;
        profile.users -= 1;
        let profiled = ProfiledSession::new(Arc::clone(&profile.profile), params, policy);
        let has_own_profile = profile.form.is_some();
        let paths = profile.paths(&params, profiled.further());
        Some(Activated { since, profiled, paths, has_own_profile, prior })
    }

    /// Whether the list has too many vacant records, with one at its end.
    #[inline]
    pub(crate) fn needs_trim(&self) -> bool {
        self.len() + TRIM_THRESHOLD < self.records.len() / 2
            && self.records.last().is_some_and(|last| last.profile == VACANT)
    }

    /// Trims some of them and releases their memory.
    #[cold]
    #[inline(never)]
    pub(crate) fn trim(&mut self) {
        self.tail.shorten(&mut self.records, TRIM_SIZE, |record| record.profile == VACANT);
        self.ahead.retreat(self.records.as_ptr_range().end.cast());
        let end = self.records.len() as u32;
        while self.free.pop_if(|slot| *slot >= end).is_some() {}
        fit(&mut self.free);
    }

    /// When a dormant session was established, its profile, and its state if it was active and that is in memory. `None`: it is not dormant.
    pub(crate) fn state_of(&self, seid: Seid) -> Option<(Time, &SessionProfile, Option<&PriorState>)> {
        let record = self.records.get(self.slot_of(seid)? as usize)?;
        Some((record.since, &self.profiles.get(record.profile)?.profile, record.prior.as_deref()))
    }

    /// A dormant session that was never active goes on with this state. `false`: there is no such session.
    pub(crate) fn set_prior(&mut self, seid: Seid, prior: PriorState) -> bool {
        let Some(slot) = self.slot_of(seid).filter(|slot| self.is_never_active(*slot)) else { return false };
        let Some(record) = self.records.get_mut(slot as usize) else { return false };
        record.prior = Some(Box::new(prior));
        true
    }

    /// The establishment time of a dormant session.
    pub(crate) fn since(&self, seid: Seid) -> Option<Time> {
        Some(self.records.get(self.slot_of(seid)? as usize)?.since)
    }
}
