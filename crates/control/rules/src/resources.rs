//! What sessions share and one change may take from the others: tunnels and UE addresses.

use std::collections::BTreeSet;

use causeway_types::{Seid, Time};

use crate::addresses::{AddressChange, AddressReservation};
use crate::recent::Recent;
use crate::tunnels::Reservation;
use crate::{Addresses, Alike, SessionRules, TunnelChange, Tunnels};

/// Everything of which there is only so much, over all sessions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resources {
    /// The tunnels that end at this UPF.
    pub tunnels: Tunnels,
    /// The addresses of UEs.
    pub addresses: Addresses,
    pub(crate) recent: Recent,
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
    pub(crate) const fn nothing(session: Seid) -> Self {
        Self { tunnels: TunnelChange::nothing(session), addresses: AddressChange::nothing(session) }
    }

    /// Everything goes.
    pub(crate) fn giving_back(session: Seid, rules: &SessionRules) -> Self {
        Self {
            tunnels: TunnelChange::giving_back(session, &rules.tunnels()),
            addresses: AddressChange::giving_back(session, rules.addresses.clone()),
        }
    }

    /// The same of a session that was asked for as others were.
    pub(crate) fn giving_back_of(session: Seid, alike: &Alike) -> Self {
        Self {
            tunnels: TunnelChange::giving_back(session, &alike.tunnels().collect()),
            addresses: AddressChange::giving_back(session, alike.addresses().collect()),
        }
    }
}

impl Resources {
    /// These tunnels and addresses.
    pub fn new(tunnels: Tunnels, addresses: Addresses) -> Self {
        Self { tunnels, addresses, recent: Recent::default() }
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
    pub fn let_be(&mut self, sessions: BTreeSet<Seid>) {
        self.addresses.let_be(sessions);
    }

    /// Takes away the UE addresses of a session that ends in favour of another, before its end has come.
    pub fn disown(&mut self, session: Seid, rules: &SessionRules) {
        self.addresses.disown(session, &rules.addresses);
    }

    /// The same of a session that was asked for as others were.
    pub fn disown_alike(&mut self, session: Seid, alike: &Alike) {
        for held in alike.addresses() {
            self.addresses.release(session, &held, true);
        }
    }

    /// For a change of this session that may still be rejected.
    pub(crate) fn reserve(&mut self, session: Seid) -> (Reservation<'_>, AddressReservation<'_>) {
        let tunnels = Reservation::new(&mut self.tunnels, session);
        (tunnels, AddressReservation::new(&mut self.addresses, session))
    }
}
