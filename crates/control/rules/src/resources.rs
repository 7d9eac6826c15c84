//! Resources that all sessions share: tunnels and UE addresses.

use std::collections::BTreeSet;

use causeway_types::{Seid, Time};

use crate::addresses::{AddressChange, AddressReservation};
use crate::interned::Interned;
use crate::tunnels::Reservation;
use crate::{Addresses, ProfiledRules, SessionRules, TunnelChange, Tunnels};

/// The limited resources of all sessions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resources {
    /// The local tunnels.
    pub tunnels: Tunnels,
    /// The addresses of UEs.
    pub addresses: Addresses,
    pub(crate) recent: Interned,
}

/// The resources that a change of one session takes and releases. Pass it to [`Resources::commit`] once the data
/// plane has applied the plan, or to [`Resources::abandon`] if it has not.
#[must_use = "resources stay allocated until the change is committed or abandoned"]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceChange {
    pub(crate) tunnels: TunnelChange,
    pub(crate) addresses: AddressChange,
}

impl ResourceChange {
    /// Nothing is taken or released.
    pub(crate) const fn empty(session: Seid) -> Self {
        Self { tunnels: TunnelChange::empty(session), addresses: AddressChange::empty(session) }
    }

    /// All are released.
    pub(crate) fn releasing_all(session: Seid, rules: &SessionRules) -> Self {
        Self {
            tunnels: TunnelChange::releasing_all(session, &rules.tunnels()),
            addresses: AddressChange::releasing_all(session, rules.addresses.clone()),
        }
    }
}

impl Resources {
    /// These tunnels and addresses.
    pub fn new(tunnels: Tunnels, addresses: Addresses) -> Self {
        Self { tunnels, addresses, recent: Interned::default() }
    }

    /// Sets the current time, which never goes backwards: released addresses are quarantined.
    pub fn set_time(&mut self, now: Time) {
        self.addresses.set_time(now);
    }

    /// The change is in force: the resources it releases are free.
    pub fn commit(&mut self, change: ResourceChange) {
        self.tunnels.commit(change.tunnels);
        self.addresses.commit(&change.addresses);
    }

    /// The change is not in force: the resources it took are free.
    pub fn abandon(&mut self, change: ResourceChange) {
        self.tunnels.abandon(change.tunnels);
        self.addresses.abandon(&change.addresses);
    }

    /// Lets later changes, until the next call, overlap these sessions with routes that contain their prefixes or
    /// lie inside them: packets go to the session with the longer prefix.
    pub fn allow_overlaps(&mut self, sessions: BTreeSet<Seid>) {
        self.addresses.allow_overlaps(sessions);
    }

    /// Releases the UE addresses of a session that is replaced by another, before its end is complete.
    pub fn release_addresses(&mut self, session: Seid, rules: &SessionRules) {
        self.addresses.release_addresses(session, &rules.addresses);
    }

    /// The same for a profiled session.
    pub fn release_addresses_profiled(&mut self, session: Seid, profiled: &ProfiledRules) {
        for held in profiled.addresses() {
            self.addresses.release(session, &held, true);
        }
    }

    /// Reserves resources for a change of this session that may still be rejected.
    pub(crate) fn reserve(&mut self, session: Seid) -> (Reservation<'_>, AddressReservation<'_>) {
        let tunnels = Reservation::new(&mut self.tunnels, session);
        (tunnels, AddressReservation::new(&mut self.addresses, session))
    }
}
