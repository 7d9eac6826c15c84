//! Resources that all sessions share: tunnels and UE addresses.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use causeway_types::{Seid, Time};

use crate::addresses::{AddressChange, AddressReservation};
use crate::interned::Interned;
use crate::tunnels::Reservation;
use crate::{Addresses, ProfiledRules, SessionRules, TunnelChange, Tunnels};

/// The tunnels and UE addresses of all sessions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claims {
    /// The local tunnels.
    pub tunnels: Tunnels,
    /// The addresses of UEs.
    pub addresses: Addresses,
}

impl Claims {
    /// Reserves resources for a change of this session that may still be rejected.
    pub(crate) fn reserve(&mut self, session: Seid) -> (Reservation<'_>, AddressReservation<'_>) {
        let tunnels = Reservation::new(&mut self.tunnels, session);
        (tunnels, AddressReservation::new(&mut self.addresses, session))
    }
}

/// The limited resources of all sessions, and the template cache of some of them.
///
/// Several parts of a UPF may have the same claims, each with a template cache of its own ([`Resources::beside`]). The
/// claims are locked for each use, for the time of one request at most.
#[derive(Debug)]
pub struct Resources {
    pub(crate) claims: SharedClaims,
    pub(crate) recent: Interned,
}

/// The claims, and the time of those who use them.
#[derive(Debug)]
pub(crate) struct SharedClaims {
    shared: Arc<Mutex<Claims>>,
    now: Time,
}

impl SharedClaims {
    /// The claims, at the present time.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, Claims> {
        // A panic while they were locked ends the process.
        let mut claims = self.shared.lock().unwrap_or_else(|panicked| panicked.into_inner());
        claims.addresses.set_time(self.now);
        claims
    }
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
        let shared = Arc::new(Mutex::new(Claims { tunnels, addresses }));
        Self { claims: SharedClaims { shared, now: Time::default() }, recent: Interned::default() }
    }

    /// The same claims, for another part with a template cache of its own.
    #[must_use]
    pub fn beside(&self) -> Self {
        let claims = SharedClaims { shared: Arc::clone(&self.claims.shared), now: self.claims.now };
        Self { claims, recent: Interned::default() }
    }

    /// The tunnels and addresses of all sessions, locked: other parts wait.
    pub fn claims(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock()
    }

    /// Sets the current time, which never goes backwards: released addresses are quarantined.
    pub const fn set_time(&mut self, now: Time) {
        self.claims.now = now;
    }

    /// The change is in force: the resources it releases are free.
    pub fn commit(&mut self, change: ResourceChange) {
        let mut claims = self.claims();
        claims.tunnels.commit(change.tunnels);
        claims.addresses.commit(&change.addresses);
    }

    /// The change is not in force: the resources it took are free.
    pub fn abandon(&mut self, change: ResourceChange) {
        let mut claims = self.claims();
        claims.tunnels.abandon(change.tunnels);
        claims.addresses.abandon(&change.addresses);
    }

    /// Lets later changes, until the next call, overlap these sessions with routes that contain their prefixes or
    /// lie inside them: packets go to the session with the longer prefix.
    pub fn allow_overlaps(&mut self, sessions: BTreeSet<Seid>) {
        self.claims().addresses.allow_overlaps(sessions);
    }

    /// Releases the UE addresses of a session that is replaced by another, before its end is complete.
    pub fn release_addresses(&mut self, session: Seid, rules: &SessionRules) {
        self.claims().addresses.release_addresses(session, &rules.addresses);
    }

    /// The same for a profiled session.
    pub fn release_addresses_profiled(&mut self, session: Seid, profiled: &ProfiledRules) {
        let mut claims = self.claims();
        for held in profiled.addresses() {
            claims.addresses.release(session, &held, true);
        }
    }
}

#[cfg(test)]
impl Resources {
    /// The tunnels as they are now.
    pub(crate) fn tunnels(&self) -> Tunnels {
        self.claims().tunnels.clone()
    }

    /// The addresses as they are now.
    pub(crate) fn addresses(&self) -> Addresses {
        self.claims().addresses.clone()
    }
}

#[cfg(test)]
impl Clone for Resources {
    /// Claims of their own, as these are now.
    fn clone(&self) -> Self {
        let shared = Arc::new(Mutex::new(self.claims().clone()));
        Self { claims: SharedClaims { shared, now: self.claims.now }, recent: self.recent.clone() }
    }
}

#[cfg(test)]
impl PartialEq for Resources {
    fn eq(&self, other: &Self) -> bool {
        *self.claims() == *other.claims()
    }
}
