//! The addresses of UEs: which session has which, and which the UPF may give out (TS 29.244 clause 5.21).

mod blocks;
mod hosts;
mod pool;
mod reservation;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use causeway_types::{IpNet, NetworkInstance, Seid, Span, Time};

use crate::SortedSet;
use crate::few::Few;
use blocks::{Block, Blocks, Family};
use pool::Pool;
pub(crate) use reservation::{AddressReservation, ChooseError};

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
    pub barred: Vec<IpNet>,
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
pub(crate) struct Held {
    pub(crate) network: NetworkInstance,
    pub(crate) net: IpNet,
    /// The UPF chose it.
    pub(crate) chosen: bool,
}

/// The addresses of all UEs, by data network.
///
/// An address found in packets without a tunnel belongs to one session of its data network at most.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Addresses {
    networks: BTreeMap<NetworkInstance, Network>,
    rest: Span,
    now: Time,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Network {
    v4: Versioned,
    v6: Versioned,
}

/// The addresses of one IP version in one data network.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Versioned {
    used: Blocks<Few<Seid>>,
    pools: Vec<Named>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Named {
    name: Option<String>,
    pool: Pool,
}

/// The addresses that a change of one session takes and gives back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AddressChange {
    session: Seid,
    taken: Vec<Held>,
    released: Vec<Held>,
}

impl AddressChange {
    /// Nothing is taken or given back.
    pub(crate) const fn nothing(session: Seid) -> Self {
        Self { session, taken: Vec::new(), released: Vec::new() }
    }

    /// These are taken already.
    pub(crate) const fn taking(session: Seid, taken: Vec<Held>) -> Self {
        Self { session, taken, released: Vec::new() }
    }

    /// Everything goes.
    pub(crate) fn giving_back(session: Seid, held: SortedSet<Held>) -> Self {
        Self { session, taken: Vec::new(), released: held.into_iter().collect() }
    }
}

impl Default for Network {
    fn default() -> Self {
        let versioned = |family| Versioned { used: Blocks::new(family), pools: Vec::new() };
        Self { v4: versioned(Family::V4), v6: versioned(Family::V6) }
    }
}

impl Network {
    const fn version(&mut self, family: Family) -> &mut Versioned {
        match family {
            Family::V4 => &mut self.v4,
            Family::V6 => &mut self.v6,
        }
    }
}

impl Addresses {
    /// The pools, the preferred first. An address that is given back is not given out again for `rest`, so
    /// that late packets do not reach its next owner.
    pub fn new(pools: Vec<AddressPool>, rest: Span) -> Self {
        let mut addresses = Self { rest, ..Self::default() };
        for AddressPool { network, range, name, barred } in pools {
            let network = addresses.networks.entry(network).or_default();
            let pool = Pool::new(&range, barred.into_iter());
            network.version(Family::of(&range)).pools.push(Named { name, pool });
        }
        addresses
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
                version.pools.iter().map(move |Named { name, pool }| PoolUsage {
                    network,
                    name: name.as_deref(),
                    is_v6,
                    total: pool.size(),
                    occupied: pool.out(),
                })
            })
        })
    }

    /// How many addresses and prefixes sessions have.
    pub fn in_use(&self) -> usize {
        self.networks.values().map(|network| network.v4.used.len() + network.v6.used.len()).sum()
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
    pub(crate) fn disown(&mut self, session: Seid, held: &SortedSet<Held>) {
        for held in held {
            self.release(session, held, true);
        }
    }

    pub(crate) fn claim(&mut self, session: Seid, held: &Held) {
        self.claim_net(session, &held.network, &held.net);
    }

    /// The same of an address in a network.
    pub(crate) fn claim_net(&mut self, session: Seid, network: &NetworkInstance, net: &IpNet) {
        let known = match self.networks.get_mut(network) {
            Some(known) => known,
            None => self.networks.entry(network.clone()).or_default(),
        };
        known.version(Family::of(net)).used.entry(Block::of(net)).push(session);
    }

    /// The same, unless another session has it: then nothing happens, and this is `false`.
    pub(crate) fn claim_free(&mut self, session: Seid, network: &NetworkInstance, net: &IpNet) -> bool {
        let Some(known) = self.networks.get_mut(network) else {
            self.claim_net(session, network, net);
            return true;
        };
        let users = known.version(Family::of(net)).used.entry(Block::of(net));
        let is_free = !users.has_other(&session);
        if is_free {
            users.push(session);
        }
        is_free
    }

    /// The same of a single IPv4 address.
    pub(crate) fn claim_free_host(
        &mut self,
        session: Seid,
        network: &NetworkInstance,
        host: Ipv4Addr,
    ) -> bool {
        let Some(known) = self.networks.get_mut(network) else {
            self.claim_net(session, network, &IpNet::from(IpAddr::V4(host)));
            return true;
        };
        let users = known.v4.used.host_entry(host.to_bits());
        let is_free = !users.has_other(&session);
        if is_free {
            users.push(session);
        }
        is_free
    }

    /// Undoes such a claim, of which nobody has heard.
    pub(crate) fn disclaim(&mut self, session: Seid, network: &NetworkInstance, net: &IpNet) {
        let Some(known) = self.networks.get_mut(network) else { return };
        let used = &mut known.version(Family::of(net)).used;
        let Some(users) = used.get_mut(Block::of(net)) else { return };
        users.remove(&session);
        if users.is_empty() {
            used.remove(Block::of(net));
        }
    }

    /// The other sessions that have this address.
    fn owners(&self, session: Seid, held: &Held) -> Vec<Seid> {
        let users = self.users(&held.network, &held.net).into_iter().flat_map(Few::iter);
        users.copied().filter(|owner| *owner != session).collect()
    }

    /// Another session has this address.
    pub(crate) fn is_taken(&self, session: Seid, held: &Held) -> bool {
        self.users(&held.network, &held.net).is_some_and(|users| users.has_other(&session))
    }

    /// The sessions that have this address.
    fn users(&self, network: &NetworkInstance, net: &IpNet) -> Option<&Few<Seid>> {
        let network = self.networks.get(network)?;
        let version = match Family::of(net) {
            Family::V4 => &network.v4,
            Family::V6 => &network.v6,
        };
        version.used.get(Block::of(net))
    }

    /// Nothing happens if the session does not have it (any more).
    pub(crate) fn release(&mut self, session: Seid, held: &Held, was_seen: bool) {
        self.release_net(session, (held, &held.net), was_seen);
    }

    /// The same of another address that the session has in the place of one like it.
    pub(crate) fn release_net(&mut self, session: Seid, (held, net): (&Held, &IpNet), was_seen: bool) {
        let (now, rest, block) = (self.now, self.rest, Block::of(net));
        let Some(network) = self.networks.get_mut(&held.network) else { return };
        let Versioned { used, pools } = network.version(Family::of(net));
        let Some(sessions) = used.get_mut(block) else { return };
        if !sessions.remove(&session) {
            return;
        }
        if sessions.is_empty() {
            used.remove(block);
        }
        for Named { pool, .. } in pools.iter_mut().filter(|named| named.pool.covers(block)) {
            match (held.chosen, was_seen) {
                (true, true) => pool.give_back(block, now, rest),
                (true, false) => pool.undo_take(block),
                (false, _) => pool.free(),
            }
        }
    }
}

#[cfg(test)]
mod tests;
