//! Choosing addresses for a change that may still be rejected.

use std::collections::BTreeSet;

use causeway_types::{IpNet, NetworkInstance, Seid};

use super::blocks::{Block, Family};
use crate::SortedSet;

use super::{AddressChange, Addresses, Held, Named, Versioned};

/// Addresses chosen for a change that is being made. Dropped, it gives them back as if they had not been taken.
pub(crate) struct AddressReservation<'a> {
    addresses: &'a mut Addresses,
    session: Seid,
    chosen: Vec<Held>,
}

/// Why no address can be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChooseError {
    /// The data network has no pool of this IP version and prefix length.
    NoPool,
    /// No such pool has this name.
    UnknownPool,
    /// All are in use, or rest.
    Occupied,
}

impl<'a> AddressReservation<'a> {
    pub(crate) fn new(addresses: &'a mut Addresses, session: Seid) -> Self {
        Self { addresses, session, chosen: Vec::new() }
    }

    /// The data network has a pool.
    pub(crate) fn is_pooled(&self, network: &NetworkInstance) -> bool {
        let there = |held: &super::Network| !held.v4.pools.is_empty() || !held.v6.pools.is_empty();
        self.addresses.networks.get(network).is_some_and(there)
    }

    /// An IPv4 address that nobody has; from the pools of these names, if any is named.
    pub(crate) fn choose_v4(
        &mut self,
        network: &NetworkInstance,
        names: &[Vec<u8>],
    ) -> Result<IpNet, ChooseError> {
        self.choose(network, Family::V4, Family::V4.width(), names)
    }

    /// An IPv6 prefix of this length that nobody has.
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
        let Versioned { used, pools } = held.version(family);
        let fitting = |named: &&mut Named| named.pool.has_room_for(len);
        if !pools.iter_mut().any(|named| fitting(&named)) {
            return Err(ChooseError::NoPool);
        }
        let is_named = |named: &Named| {
            let name = named.name.as_deref().map(str::as_bytes);
            names.is_empty() || names.iter().any(|wanted| Some(wanted.as_slice()) == name)
        };
        if !pools.iter().any(is_named) {
            return Err(ChooseError::UnknownPool);
        }
        let mut asked = pools.iter_mut().filter(|named| is_named(named)).filter(fitting);
        let block = asked.find_map(|named| named.pool.take(len, now, used)).ok_or(ChooseError::Occupied)?;
        let net = block.net(family).ok_or(ChooseError::Occupied)?;
        self.chosen.push(Held { network: network.clone(), net, chosen: true });
        Ok(net)
    }

    /// Takes what is in `new` and not in `old`, which the session has already.
    ///
    /// # Errors
    /// The first address that other sessions have, and all of those sessions; nothing is taken then.
    pub(crate) fn keep(
        mut self,
        old: &SortedSet<Held>,
        new: &SortedSet<Held>,
    ) -> Result<AddressChange, (Held, BTreeSet<Seid>)> {
        let taken: Vec<_> = new.difference(old).cloned().collect();
        let owners = |held: &Held| self.addresses.owners(self.session, held);
        if let Some(conflict) = taken.iter().find(|held| self.addresses.is_taken(self.session, held)) {
            return Err((conflict.clone(), taken.iter().flat_map(owners).collect()));
        }
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
            let block = Block::of(&held.net);
            if let Some(network) = self.addresses.networks.get_mut(&held.network) {
                let pools = &mut network.version(Family::of(&held.net)).pools;
                if let Some(named) = pools.iter_mut().find(|named| named.pool.covers(block)) {
                    named.pool.undo_take(block);
                }
            }
        }
    }
}
