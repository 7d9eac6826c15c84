//! The addresses of UEs: which session has which, and which the UPF may allocate (TS 29.244 clause 5.21).

mod host_map;
mod overlaps;
mod pool;
mod prefix_map;
mod reservation;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use causeway_types::{IpNet, NetworkInstance, Seid, Span, Time};

use causeway_collections::{SmallList, SortedSet};
pub use overlaps::{OverlappingSessions, RouteLimits};
use pool::Pool;
use prefix_map::{Family, Prefix, PrefixMap};
pub(crate) use reservation::{AddressReservation, ChooseError, ClaimError};

/// Addresses that the UPF may allocate to UEs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressPool {
    /// The data network they belong to.
    pub network: NetworkInstance,
    /// The addresses.
    pub range: IpNet,
    /// The UE IP address Pool Identity (TS 29.244 clause 8.2.128) by which SMFs choose it; `None`: none.
    pub name: Option<String>,
    /// Addresses inside the range that are never allocated, for example the gateway.
    pub reserved: Vec<IpNet>,
}

/// How much of a pool is allocated (TS 29.244 clause 5.21.3.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolUsage<'a> {
    /// The data network.
    pub network: &'a NetworkInstance,
    /// The pool's name, if it has one.
    pub name: Option<&'a str>,
    /// IPv6; otherwise IPv4.
    pub is_v6: bool,
    /// IPv4 addresses, or /64 prefixes, in total.
    pub total: u64,
    /// The number of allocated blocks.
    pub occupied: u64,
}

/// An address or prefix that a session has.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ClaimedPrefix {
    pub(crate) network: NetworkInstance,
    pub(crate) net: IpNet,
    /// The UPF chose it.
    pub(crate) chosen: bool,
    /// Packets of any data network match it: its PDI has no network instance.
    pub(crate) all_networks: bool,
    /// The role of the prefix for the session.
    pub(crate) kind: PrefixKind,
}

/// The role of a prefix for the session that has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum PrefixKind {
    /// A UE IP address.
    Ue,
    /// A framed route.
    Route,
}

/// The addresses of all UEs, by data network.
///
/// An address by which packets without a tunnel are found belongs to at most one session of its data network.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Addresses {
    networks: BTreeMap<NetworkInstance, Network>,
    quarantine: Span,
    now: Time,
    /// The number of framed routes of each session that has any.
    routed: BTreeMap<Seid, usize>,
    /// The number of framed routes.
    routes: usize,
    limits: RouteLimits,
    /// Sessions that the next change may overlap: their prefixes lie inside its own, or the reverse.
    allowed_overlaps: BTreeSet<Seid>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Network {
    v4: VersionTables,
    v6: VersionTables,
}

/// The addresses of one IP version in one data network.
#[derive(Clone, PartialEq, Eq, Debug)]
struct VersionTables {
    /// UE addresses.
    used: PrefixMap<SmallList<Seid>>,
    /// Framed routes.
    routes: PrefixMap<SmallList<Seid>>,
    pools: Vec<NamedPool>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct NamedPool {
    name: Option<String>,
    pool: Pool,
}

/// The addresses that a change of one session takes and releases.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AddressChange {
    session: Seid,
    taken: Vec<ClaimedPrefix>,
    released: Vec<ClaimedPrefix>,
}

impl AddressChange {
    /// Nothing is taken or released.
    pub(crate) const fn empty(session: Seid) -> Self {
        Self { session, taken: Vec::new(), released: Vec::new() }
    }

    /// The framed routes that are taken.
    pub(crate) fn routes(&self) -> impl Iterator<Item = IpNet> {
        self.taken.iter().filter(|held| held.kind == PrefixKind::Route).map(|held| held.net)
    }

    /// These are taken already.
    pub(crate) const fn taking(session: Seid, taken: Vec<ClaimedPrefix>) -> Self {
        Self { session, taken, released: Vec::new() }
    }

    /// All are released.
    pub(crate) fn releasing_all(session: Seid, held: SortedSet<ClaimedPrefix>) -> Self {
        Self { session, taken: Vec::new(), released: held.into_iter().collect() }
    }
}

impl Default for Network {
    fn default() -> Self {
        let versioned = |family| VersionTables {
            used: PrefixMap::new(family),
            routes: PrefixMap::new(family),
            pools: Vec::new(),
        };
        Self { v4: versioned(Family::V4), v6: versioned(Family::V6) }
    }
}

impl Network {
    const fn version(&mut self, family: Family) -> &mut VersionTables {
        match family {
            Family::V4 => &mut self.v4,
            Family::V6 => &mut self.v6,
        }
    }
}

impl Addresses {
    /// The pools, the preferred first. A released address is not allocated again for `quarantine`, so that late
    /// packets do not reach its next owner.
    pub fn new(pools: Vec<AddressPool>, quarantine: Span) -> Self {
        let mut addresses = Self { quarantine, ..Self::default() };
        for AddressPool { network, range, name, reserved: barred } in pools {
            let network = addresses.networks.entry(network).or_default();
            let pool = Pool::new(&range, barred.into_iter());
            network.version(Family::of(&range)).pools.push(NamedPool { name, pool });
        }
        addresses
    }

    /// Adds data networks beside those of the pools: addresses without a network instance belong to all of them.
    pub fn add_networks<'a>(&mut self, networks: impl Iterator<Item = &'a NetworkInstance>) {
        for network in networks {
            self.networks.entry(network.clone()).or_default();
        }
    }

    /// Sets the limits of framed routes.
    pub const fn limit_routes(&mut self, limits: RouteLimits) {
        self.limits = limits;
    }

    /// Sets how long an address that is released from now on is in quarantine.
    pub const fn set_quarantine(&mut self, quarantine: Span) {
        self.quarantine = quarantine;
    }

    /// Sets the current time, which never goes backwards.
    pub fn set_time(&mut self, now: Time) {
        self.now = now;
    }

    /// There are addresses to allocate (feature UEIP).
    pub fn has_pools(&self) -> bool {
        self.pools().next().is_some()
    }

    /// The usage of each pool.
    pub fn pools(&self) -> impl Iterator<Item = PoolUsage<'_>> {
        self.networks.iter().flat_map(|(network, held)| {
            let versions = [(false, &held.v4), (true, &held.v6)].into_iter();
            versions.flat_map(move |(is_v6, version)| {
                version.pools.iter().map(move |NamedPool { name, pool }| PoolUsage {
                    network,
                    name: name.as_deref(),
                    is_v6,
                    total: pool.size(),
                    occupied: pool.allocated(),
                })
            })
        })
    }

    /// The number of addresses and prefixes of sessions; those without a network instance count once for each
    /// network.
    pub fn in_use(&self) -> usize {
        self.networks.values().map(|network| network.v4.used.len() + network.v6.used.len()).sum()
    }

    /// The number of framed routes of all sessions.
    pub const fn routes(&self) -> usize {
        self.routes
    }

    /// The sessions that have framed routes, with the number of routes.
    pub fn routed(&self) -> impl Iterator<Item = (Seid, usize)> {
        self.routed.iter().map(|(session, count)| (*session, *count))
    }

    /// The sessions with a UE address, prefix or framed route that contains this address, by which packets without a
    /// tunnel are found; some may come twice. O(networks, prefix lengths and found).
    pub fn sessions_of(&self, address: IpAddr) -> impl Iterator<Item = Seid> {
        let (net, networks) = (IpNet::from(address), self.networks.values());
        networks.flat_map(move |network| {
            let version = match Family::of(&net) {
                Family::V4 => &network.v4,
                Family::V6 => &network.v6,
            };
            let held = [&version.used, &version.routes].into_iter();
            held.flat_map(move |map| map.overlapping(Prefix::of(&net)))
                .flat_map(|(_, users)| users.iter())
                .copied()
        })
    }

    pub(crate) fn commit(&mut self, change: &AddressChange) {
        for held in &change.released {
            self.release(change.session, held, true);
        }
    }

    pub(crate) fn abandon(&mut self, change: &AddressChange) {
        for held in &change.taken {
            self.release(change.session, held, false);
        }
    }

    /// Releases the addresses of a session that is replaced by another.
    pub(crate) fn release_addresses(&mut self, session: Seid, held: &SortedSet<ClaimedPrefix>) {
        for held in held {
            self.release(session, held, true);
        }
    }

    pub(crate) fn claim(&mut self, session: Seid, held: &ClaimedPrefix) {
        self.claim_net(session, held, &held.net);
    }

    /// The same for another address of the session in the place of one of the profile.
    fn claim_net(&mut self, session: Seid, held: &ClaimedPrefix, net: &IpNet) {
        if held.kind == PrefixKind::Route {
            self.routes += 1;
            *self.routed.entry(session).or_default() += 1;
        }
        if !self.networks.contains_key(&held.network) {
            self.networks.insert(held.network.clone(), Network::default());
        }
        for network in self.networks_of(held) {
            network.version(Family::of(net)).claims(held.kind).entry(Prefix::of(net)).push(session);
        }
    }

    /// The same, unless another session has the address or one that overlaps it: then nothing is claimed, and the
    /// result is `false`.
    pub(crate) fn try_claim(&mut self, session: Seid, held: &ClaimedPrefix, net: &IpNet) -> bool {
        let is_free = !self.is_in_use(session, held, net);
        if is_free {
            self.claim_net(session, held, net);
        }
        is_free
    }

    /// The same for a single IPv4 address.
    pub(crate) fn try_claim_host(&mut self, session: Seid, held: &ClaimedPrefix, host: Ipv4Addr) -> bool {
        let is_alone = !held.all_networks || self.networks.len() == 1;
        let known = self.networks.get_mut(&held.network).map(|known| &mut known.v4);
        match known.filter(|v4| is_alone && v4.used.has_only_hosts() && v4.routes.is_empty()) {
            Some(v4) => {
                let users = v4.used.host_entry(host.to_bits());
                let is_free = !users.has_other(&session);
                if is_free {
                    users.push(session);
                }
                is_free
            }
            None => self.try_claim(session, held, &IpNet::from(IpAddr::V4(host))),
        }
    }

    /// Undoes such a claim before the address was sent to any peer.
    pub(crate) fn undo_claim(&mut self, session: Seid, held: &ClaimedPrefix, net: &IpNet) {
        self.remove_claim(session, (held, net), |_, _| {});
    }

    /// The session no longer has the prefix, if it had it; `pools` are updated then.
    fn remove_claim(
        &mut self,
        session: Seid,
        (held, net): (&ClaimedPrefix, &IpNet),
        pools: impl Fn(&mut [NamedPool], Prefix),
    ) {
        let (block, family) = (Prefix::of(net), Family::of(net));
        let mut was_there = false;
        for network in self.networks_of(held) {
            let version = network.version(family);
            let claims = version.claims(held.kind);
            let Some(users) = claims.get_mut(block) else { continue };
            if !users.remove(&session) {
                continue;
            }
            was_there = true;
            if users.is_empty() {
                claims.remove(block);
            }
            pools(&mut version.pools, block);
        }
        if was_there && held.kind == PrefixKind::Route {
            self.routes -= 1;
            if let Some(count) = self.routed.get_mut(&session) {
                *count -= 1;
                if *count == 0 {
                    self.routed.remove(&session);
                }
            }
        }
    }

    /// The networks whose packets match it.
    fn networks_of(&mut self, held: &ClaimedPrefix) -> impl Iterator<Item = &mut Network> {
        let (one, all) = match held.all_networks {
            true => (None, Some(self.networks.values_mut())),
            false => (self.networks.get_mut(&held.network), None),
        };
        one.into_iter().chain(all.into_iter().flatten())
    }

    /// Does nothing if the session does not have the prefix (any more).
    pub(crate) fn release(&mut self, session: Seid, held: &ClaimedPrefix, was_seen: bool) {
        self.release_net(session, (held, &held.net), was_seen);
    }

    /// The same for another address of the session in the place of one of the profile.
    pub(crate) fn release_net(
        &mut self,
        session: Seid,
        (held, net): (&ClaimedPrefix, &IpNet),
        was_seen: bool,
    ) {
        let (now, quarantine) = (self.now, self.quarantine);
        self.remove_claim(session, (held, net), |pools, block| {
            for NamedPool { pool, .. } in pools {
                match (pool.covers(block), held.chosen, was_seen) {
                    (true, true, true) => pool.release(block, now, quarantine),
                    (true, true, false) => pool.undo_take(block),
                    (true, false, _) => pool.mark_freed(),
                    // A route may have covered all of the pool.
                    (false, ..) => {
                        if held.kind == PrefixKind::Route {
                            pool.mark_freed();
                        }
                    }
                }
            }
        });
    }
}

impl VersionTables {
    const fn claims(&mut self, kind: PrefixKind) -> &mut PrefixMap<SmallList<Seid>> {
        match kind {
            PrefixKind::Ue => &mut self.used,
            PrefixKind::Route => &mut self.routes,
        }
    }
}

#[cfg(test)]
mod tests;
