//! Reserves addresses for a change that may still be rejected.

use causeway_collections::{SmallList, SortedSet};
use causeway_types::{IpNet, NetworkInstance, Seid};

use super::pool::InUse;
use super::prefix_map::{Family, Prefix, PrefixMap};

use super::{
    AddressChange, Addresses, ClaimedPrefix, NamedPool, OverlappingSessions, PrefixKind, VersionTables,
};

/// Addresses chosen for a change that is being prepared. If dropped, it returns them as if they had not been taken.
pub(crate) struct AddressReservation<'a> {
    addresses: &'a mut Addresses,
    session: Seid,
    chosen: Vec<ClaimedPrefix>,
}

/// Why addresses cannot be claimed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ClaimError {
    /// Other sessions have the prefix, or one that overlaps it.
    InUse {
        /// The prefix.
        held: ClaimedPrefix,
        /// All those sessions.
        owners: Box<OverlappingSessions>,
    },
    /// There would be too many framed routes.
    TooMany {
        /// Whose routes are limited.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

/// Addresses and routes of sessions.
struct Claims<'a> {
    used: &'a PrefixMap<SmallList<Seid>>,
    routes: &'a PrefixMap<SmallList<Seid>>,
}

impl InUse for Claims<'_> {
    fn within(&self, block: Prefix) -> Option<Prefix> {
        let held =
            |blocks: &PrefixMap<SmallList<Seid>>| blocks.overlapping(block).map(|(held, _)| held).next();
        held(self.used).or_else(|| held(self.routes))
    }
}

/// Why no address can be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChooseError {
    /// The data network has no pool of this IP version and prefix length.
    NoPool,
    /// No such pool has this name.
    UnknownPool,
    /// All are in use, or quarantined.
    Occupied,
}

impl<'a> AddressReservation<'a> {
    pub(crate) fn new(addresses: &'a mut Addresses, session: Seid) -> Self {
        Self { addresses, session, chosen: Vec::new() }
    }

    /// The data network has a pool.
    pub(crate) fn is_pooled(&self, network: &NetworkInstance) -> bool {
        let there =
            |held: &super::Network| held.v4.pools.iter().chain(&held.v6.pools).any(NamedPool::is_active);
        self.addresses.networks.get(network).is_some_and(there)
    }

    /// A free IPv4 address; from the pools of these names, if there are any names.
    pub(crate) fn choose_v4(
        &mut self,
        network: &NetworkInstance,
        names: &[Vec<u8>],
    ) -> Result<IpNet, ChooseError> {
        self.choose(network, Family::V4, Family::V4.width(), names)
    }

    /// A free IPv6 prefix of this length.
    pub(crate) fn choose_v6(
        &mut self,
        network: &NetworkInstance,
        len: u8,
        names: &[Vec<u8>],
    ) -> Result<IpNet, ChooseError> {
        self.choose(network, Family::V6, len, names)
    }

    fn choose(
        &mut self,
        network: &NetworkInstance,
        family: Family,
        len: u8,
        names: &[Vec<u8>],
    ) -> Result<IpNet, ChooseError> {
        let now = self.addresses.now;
        let held = self.addresses.networks.get_mut(network).ok_or(ChooseError::NoPool)?;
        let VersionTables { used, routes, pools } = held.version(family);
        let used = &Claims { used, routes };
        let fitting = |named: &&mut NamedPool| named.is_active() && named.pool.has_room_for(len);
        if !pools.iter_mut().any(|named| fitting(&named)) {
            return Err(ChooseError::NoPool);
        }
        let is_named = |named: &NamedPool| {
            let name = named.name.as_deref().map(str::as_bytes);
            named.is_active()
                && (names.is_empty() || names.iter().any(|wanted| Some(wanted.as_slice()) == name))
        };
        if !pools.iter().any(is_named) {
            return Err(ChooseError::UnknownPool);
        }
        let mut requested = pools.iter_mut().filter(|named| is_named(named)).filter(fitting);
        let block =
            requested.find_map(|named| named.pool.take(len, now, used)).ok_or(ChooseError::Occupied)?;
        let net = block.net(family).ok_or(ChooseError::Occupied)?;
        let (network, kind) = (network.clone(), PrefixKind::Ue);
        self.chosen.push(ClaimedPrefix { network, net, chosen: true, all_networks: false, kind });
        Ok(net)
    }

    /// Claims the prefixes that are in `new` and not in `old`, which the session has already.
    ///
    /// # Errors
    /// [`ClaimError`]; nothing is taken then.
    pub(crate) fn claim_changes(
        mut self,
        old: &SortedSet<ClaimedPrefix>,
        new: &SortedSet<ClaimedPrefix>,
    ) -> Result<AddressChange, ClaimError> {
        let taken: Vec<_> = new.difference(old).cloned().collect();
        self.addresses.check(self.session, &taken, new)?;
        for held in &taken {
            self.addresses.claim(self.session, held);
        }
        self.chosen.retain(|chosen| !taken.contains(chosen));
        let released = old.difference(new).cloned().collect();
        Ok(AddressChange { session: self.session, taken, released })
    }
}

impl Drop for AddressReservation<'_> {
    fn drop(&mut self) {
        for held in self.chosen.drain(..).rev() {
            let block = Prefix::of(&held.net);
            if let Some(network) = self.addresses.networks.get_mut(&held.network) {
                let pools = &mut network.version(Family::of(&held.net)).pools;
                if let Some(named) =
                    pools.iter_mut().find(|named| named.is_active() && named.pool.covers(block))
                {
                    named.pool.undo_take(block);
                }
            }
        }
    }
}
