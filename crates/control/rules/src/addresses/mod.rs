//! The addresses of UEs: which session has which, and which the UPF may give out (TS 29.244 clause 5.21).

mod host_map;
mod overlaps;
mod pool;
mod prefix_map;
mod reservation;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use causeway_types::{IpNet, NetworkInstance, Seid, Span, Time};

use crate::SortedSet;
use crate::small_list::SmallList;
pub use overlaps::{OverlappingSessions, RouteLimits};
use pool::Pool;
use prefix_map::{Family, Prefix, PrefixMap};
pub(crate) use reservation::{AddressReservation, ChooseError, ClaimError};

/// Addresses that the UPF may give out to UEs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressPool {
    /// The data network they belong to.
    pub network: NetworkInstance,
    /// The addresses.
    pub range: IpNet,
    /// The UE IP address Pool Identity (TS 29.244 clause 8.2.128) by which SMFs choose it; `None`: none.
    pub name: Option<String>,
    /// Addresses inside that are never given out, for example the gateway.
    pub reserved: Vec<IpNet>,
}

/// How much of a pool is given out (TS 29.244 clause 5.21.3.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolUsage<'a> {
    /// The data network.
    pub network: &'a NetworkInstance,
    /// The pool's name, if it has one.
    pub name: Option<&'a str>,
    /// IPv6; otherwise IPv4.
    pub is_v6: bool,
    /// IPv4 addresses, or /64 prefixes, that there are.
    pub total: u64,
    /// How many blocks are given out now.
    pub occupied: u64,
}

/// An address or prefix that a session has.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ClaimedPrefix {
    pub(crate) network: NetworkInstance,
    pub(crate) net: IpNet,
    /// The UPF chose it.
    pub(crate) chosen: bool,
    /// Packets of any data network are found by it: its PDI names none.
    pub(crate) all_networks: bool,
    /// What it is to the session.
    pub(crate) kind: PrefixKind,
}

/// What a prefix is to the session that has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum PrefixKind {
    /// A UE IP address.
    Ue,
    /// A framed route.
    Route,
}

/// The addresses of all UEs, by data network.
///
/// An address found in packets without a tunnel belongs to one session of its data network at most.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Addresses {
    networks: BTreeMap<NetworkInstance, Network>,
    quarantine: Span,
    now: Time,
    /// How many framed routes each session has, where it has any.
    routed: BTreeMap<Seid, usize>,
    /// How many framed routes there are.
    routes: usize,
    limits: RouteLimits,
    /// Sessions that a change may stand beside: their prefixes lie in its own, or the reverse.
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

/// The addresses that a change of one session takes and gives back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AddressChange {
    session: Seid,
    taken: Vec<ClaimedPrefix>,
    released: Vec<ClaimedPrefix>,
}

impl AddressChange {
    /// Nothing is taken or given back.
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

    /// Everything goes.
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
    /// The pools, the preferred first. An address that is given back is not given out again for `quarantine`, so
    /// that late packets do not reach its next owner.
    pub fn new(pools: Vec<AddressPool>, quarantine: Span) -> Self {
        let mut addresses = Self { quarantine, ..Self::default() };
        for AddressPool { network, range, name, reserved: barred } in pools {
            let network = addresses.networks.entry(network).or_default();
            let pool = Pool::new(&range, barred.into_iter());
            network.version(Family::of(&range)).pools.push(NamedPool { name, pool });
        }
        addresses
    }

    /// Data networks beside those of the pools: what is found in packets of any network is found in theirs.
    pub fn add_networks<'a>(&mut self, networks: impl Iterator<Item = &'a NetworkInstance>) {
        for network in networks {
            self.networks.entry(network.clone()).or_default();
        }
    }

    /// How many framed routes there may be.
    pub const fn limit_routes(&mut self, limits: RouteLimits) {
        self.limits = limits;
    }

    /// What time it is now, which never goes backwards.
    pub fn set_time(&mut self, now: Time) {
        self.now = now;
    }

    /// There are addresses to give out (feature UEIP).
    pub fn has_pools(&self) -> bool {
        self.pools().next().is_some()
    }

    /// How much of each pool is given out.
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

    /// How many addresses and prefixes sessions have, those of any network once for each.
    pub fn in_use(&self) -> usize {
        self.networks.values().map(|network| network.v4.used.len() + network.v6.used.len()).sum()
    }

    /// How many framed routes sessions have.
    pub const fn routes(&self) -> usize {
        self.routes
    }

    /// The sessions that have framed routes, and how many.
    pub fn routed(&self) -> impl Iterator<Item = (Seid, usize)> {
        self.routed.iter().map(|(session, count)| (*session, *count))
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

    /// Takes away what a session has, which ends in favour of another.
    pub(crate) fn release_addresses(&mut self, session: Seid, held: &SortedSet<ClaimedPrefix>) {
        for held in held {
            self.release(session, held, true);
        }
    }

    pub(crate) fn claim(&mut self, session: Seid, held: &ClaimedPrefix) {
        self.claim_net(session, held, &held.net);
    }

    /// The same of another address that the session has in the place of one like it.
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

    /// The same, unless another session has it or something that overlaps it: then nothing happens, and this is `false`.
    pub(crate) fn try_claim(&mut self, session: Seid, held: &ClaimedPrefix, net: &IpNet) -> bool {
        let is_free = !self.is_in_use(session, held, net);
        if is_free {
            self.claim_net(session, held, net);
        }
        is_free
    }

    /// The same of a single IPv4 address.
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

    /// Undoes such a claim, of which nobody has heard.
    pub(crate) fn undo_claim(&mut self, session: Seid, held: &ClaimedPrefix, net: &IpNet) {
        self.remove_claim(session, (held, net), |_, _| {});
    }

    /// The session does not have it any more, where it had; `pools` are told then.
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

    /// The networks whose packets are found by it.
    fn networks_of(&mut self, held: &ClaimedPrefix) -> impl Iterator<Item = &mut Network> {
        let (one, all) = match held.all_networks {
            true => (None, Some(self.networks.values_mut())),
            false => (self.networks.get_mut(&held.network), None),
        };
        one.into_iter().chain(all.into_iter().flatten())
    }

    /// Nothing happens if the session does not have it (any more).
    pub(crate) fn release(&mut self, session: Seid, held: &ClaimedPrefix, was_seen: bool) {
        self.release_net(session, (held, &held.net), was_seen);
    }

    /// The same of another address that the session has in the place of one like it.
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
                    // A route may have held all of the pool.
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
