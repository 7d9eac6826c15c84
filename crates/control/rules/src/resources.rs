//! What sessions share and one change may take from the others: tunnels and UE addresses.

use std::collections::BTreeSet;

use causeway_types::{Seid, Time};

use crate::addresses::{AddressChange, AddressReservation};
use crate::interned::Interned;
use crate::tunnels::Reservation;
use crate::{Addresses, ProfiledSession, SessionRules, TunnelChange, Tunnels};

/// Everything of which there is only so much, over all sessions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resources {
    /// The tunnels that end at this UPF.
    pub tunnels: Tunnels,
    /// The addresses of UEs.
    pub addresses: Addresses,
    pub(crate) recent: Interned,
}

/// What a change of one session takes and gives back. Hand it to [`Resources::commit`] once the data plane has
/// carried out the plan, or to [`Resources::abandon`] if it has not.
#[must_use = "resources stay taken until the change is committed or abandoned"]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceChange {
    pub(crate) tunnels: TunnelChange,
    pub(crate) addresses: AddressChange,
}

impl ResourceChange {
    /// Nothing is taken or given back.
    pub(crate) const fn empty(session: Seid) -> Self {
        Self { tunnels: TunnelChange::empty(session), addresses: AddressChange::empty(session) }
    }

    /// Everything goes.
    pub(crate) fn releasing_all(session: Seid, rules: &SessionRules) -> Self {
        Self {
            tunnels: TunnelChange::releasing_all(session, &rules.tunnels()),
            addresses: AddressChange::releasing_all(session, rules.addresses.clone()),
        }
    }

    /// The same of a session that was asked for as others were.
    pub(crate) fn releasing_profiled(session: Seid, profiled: &ProfiledSession) -> Self {
        Self {
            tunnels: TunnelChange::releasing_all(session, &profiled.tunnels().collect()),
            addresses: AddressChange::releasing_all(session, profiled.addresses().collect()),
        }
    }
}

impl Resources {
    /// These tunnels and addresses.
    pub fn new(tunnels: Tunnels, addresses: Addresses) -> Self {
        Self { tunnels, addresses, recent: Interned::default() }
    }

    /// What time it is now, which never goes backwards: what is given back rests for a while.
    pub fn set_time(&mut self, now: Time) {
        self.addresses.set_time(now);
    }

    /// The change is in force: what it gives back is free.
    pub fn commit(&mut self, change: ResourceChange) {
        self.tunnels.commit(change.tunnels);
        self.addresses.commit(&change.addresses);
    }

    /// The change did not come to be: what it took is free.
    pub fn abandon(&mut self, change: ResourceChange) {
        self.tunnels.abandon(change.tunnels);
        self.addresses.abandon(&change.addresses);
    }

    /// The next changes may have routes around what these sessions have, or addresses and routes in theirs: packets go to
    /// whoever has the longer prefix. Until the next call.
    pub fn allow_overlaps(&mut self, sessions: BTreeSet<Seid>) {
        self.addresses.allow_overlaps(sessions);
    }

    /// Takes away the UE addresses of a session that ends in favour of another, before its end has come.
    pub fn release_addresses(&mut self, session: Seid, rules: &SessionRules) {
        self.addresses.release_addresses(session, &rules.addresses);
    }

    /// The same of a session that was asked for as others were.
    pub fn release_addresses_profiled(&mut self, session: Seid, profiled: &ProfiledSession) {
        for held in profiled.addresses() {
            self.addresses.release(session, &held, true);
        }
    }

    /// For a change of this session that may still be rejected.
    pub(crate) fn reserve(&mut self, session: Seid) -> (Reservation<'_>, AddressReservation<'_>) {
        let tunnels = Reservation::new(&mut self.tunnels, session);
        (tunnels, AddressReservation::new(&mut self.addresses, session))
    }
}
