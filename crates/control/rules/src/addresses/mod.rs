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
pub struct PoolUsage {
    /// The data network.
    pub network: NetworkInstance,
    /// The pool's name, if it has one.
    pub name: Option<String>,
    /// IPv6; otherwise IPv4.
    pub is_v6: bool,
    /// The addresses.
    pub range: IpNet,
    /// It is not among the configured pools any more: nothing is allocated from it, and it goes when the last of its
    /// addresses is released.
    pub is_draining: bool,
    /// IPv4 addresses, or /64 prefixes, in total.
    pub total: u64,
    /// The number of allocated blocks; of a pool that is drained, those in use, whoever chose them.
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
    /// While it is drained: the prefixes in it that sessions had when that began, and still have.
    draining: Option<BTreeSet<Prefix>>,
}

impl NamedPool {
    const fn is_active(&self) -> bool {
        self.draining.is_none()
    }
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
        addresses.set_pools(pools);
        addresses
    }

    /// Replaces the pools; the preferred come first. A pool with the same data network, range and name stays as it is.
    /// One that is not there any more is drained: nothing is allocated from it, sessions keep its addresses, and it goes
    /// with the last of them. O(pools, and addresses in those that are not there any more).
    pub fn set_pools(&mut self, pools: Vec<AddressPool>) {
        let mut before: BTreeMap<(NetworkInstance, Family), Vec<NamedPool>> = BTreeMap::new();
        for (name, network) in &mut self.networks {
            for family in [Family::V4, Family::V6] {
                let pools = std::mem::take(&mut network.version(family).pools);
                before.insert((name.clone(), family), pools);
            }
        }
        for AddressPool { network, range, name, reserved: barred } in pools {
            let (family, block) = (Family::of(&range), Prefix::of(&range));
            let old = before.get_mut(&(network.clone(), family));
            let known = old.and_then(|old| {
                let is_it = |known: &NamedPool| known.name == name && known.pool.range() == block;
                old.iter().position(is_it).map(|at| old.remove(at).pool)
            });
            let pool = known.unwrap_or_else(|| Pool::new(&range, barred.into_iter()));
            let of_network = self.networks.entry(network).or_default();
            of_network.version(family).pools.push(NamedPool { name, pool, draining: None });
        }
        for ((network, family), pools) in before {
            let Some(network) = self.networks.get_mut(&network) else { continue };
            let version = network.version(family);
            for NamedPool { name, pool, draining } in pools {
                let in_use = || version.used.overlapping(pool.range()).map(|(block, _)| block).collect();
                let draining = draining.unwrap_or_else(in_use);
                if !draining.is_empty() {
                    version.pools.push(NamedPool { name, pool, draining: Some(draining) });
                }
            }
        }
    }

    /// A session has an address of the data network in this range.
    pub fn is_in_use_within(&self, network: &NetworkInstance, range: &IpNet) -> bool {
        let Some(held) = self.networks.get(network) else { return false };
        let version = if Family::of(range) == Family::V4 { &held.v4 } else { &held.v6 };
        version.used.overlapping(Prefix::of(range)).next().is_some()
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

    /// Sets the current time, which never goes backwards: of several parts, the latest time counts.
    pub fn set_time(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// There are addresses to allocate (feature UEIP).
    pub fn has_pools(&self) -> bool {
        self.pools().next().is_some()
    }

    /// The usage of each pool.
    pub fn pools(&self) -> impl Iterator<Item = PoolUsage> {
        self.networks.iter().flat_map(|(network, held)| {
            let versions = [(false, &held.v4), (true, &held.v6)].into_iter();
            versions.flat_map(move |(is_v6, version)| {
                let family = if is_v6 { Family::V6 } else { Family::V4 };
                version.pools.iter().filter_map(move |NamedPool { name, pool, draining }| {
                    Some(PoolUsage {
                        network: network.clone(),
                        name: name.clone(),
                        is_v6,
                        range: pool.range().net(family)?,
                        is_draining: draining.is_some(),
                        total: pool.size(),
                        occupied: draining.as_ref().map_or(pool.allocated(), |held| held.len() as u64),
                    })
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
        self.remove_claim(session, (held, net), |_, _, _| {});
    }

    /// The session no longer has the prefix, if it had it; `pools` are updated then, and told whether no other session has
    /// it either.
    fn remove_claim(
        &mut self,
        session: Seid,
        (held, net): (&ClaimedPrefix, &IpNet),
        pools: impl Fn(&mut Vec<NamedPool>, Prefix, bool),
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
            let is_unused = users.is_empty();
            if is_unused {
                claims.remove(block);
            }
            pools(&mut version.pools, block, is_unused);
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
        self.remove_claim(session, (held, net), |pools, block, is_unused| {
            let free = |pool: &mut Pool| match held.chosen {
                true => pool.release(block, now, quarantine),
                false => pool.mark_freed(),
            };
            let of_drained = is_unused && forget_drained(pools, block, free);
            for NamedPool { pool, .. } in pools.iter_mut().filter(|named| named.is_active()) {
                match (pool.covers(block), held.chosen, was_seen) {
                    (true, true, true) if of_drained => pool.quarantine(block, now, quarantine),
                    (true, true, false) if of_drained => pool.mark_freed(),
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

/// No session has a prefix any more: whether a pool that is drained had it. Such a pool goes with the last.
fn forget_drained(pools: &mut Vec<NamedPool>, block: Prefix, free: impl Fn(&mut Pool)) -> bool {
    let mut was_there = false;
    pools.retain_mut(|named| {
        let Some(held) = &mut named.draining else { return true };
        if held.remove(&block) {
            was_there = true;
            // It may come back.
            free(&mut named.pool);
        }
        !held.is_empty()
    });
    was_there
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
