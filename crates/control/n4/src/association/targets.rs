//! Peers with which the UPF initiates an association.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use causeway_types::Time;

use super::AssociationId;

/// The state of an association setup that the UPF initiates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// The request is in flight.
    Pending,
    /// It failed; the next attempt is at this time.
    RetryAt(Time),
    /// The association exists, whichever side initiated it.
    Up(AssociationId),
}

/// All such peers, by destination address.
#[derive(Debug, Default)]
pub(crate) struct Targets(BTreeMap<SocketAddr, Target>);

impl Targets {
    /// Sets the state of a peer.
    pub(crate) fn set(&mut self, peer: SocketAddr, target: Target) {
        self.0.insert(peer, target);
    }

    /// The UPF initiates an association with this peer.
    pub(crate) fn contains(&self, peer: SocketAddr) -> bool {
        self.0.contains_key(&peer)
    }

    /// The peer with this association, if the UPF initiates it.
    pub(crate) fn of(&self, id: AssociationId) -> Option<SocketAddr> {
        self.0.iter().find(|(_, target)| **target == Target::Up(id)).map(|(peer, _)| *peer)
    }

    /// An association was created: no further setup is sent to its peer, or one of its host. Returns the destination of
    /// a setup in flight.
    pub(crate) fn reached(&mut self, peer: SocketAddr, id: AssociationId) -> Option<SocketAddr> {
        let waits = |(address, target): &(&SocketAddr, &Target)| {
            address.ip() == peer.ip() && !matches!(target, Target::Up(_))
        };
        let address = if self.contains(peer) { peer } else { *self.0.iter().find(waits)?.0 };
        let before = self.0.insert(address, Target::Up(id));
        (before == Some(Target::Pending)).then_some(address)
    }

    /// An association ended: its setup is retried at that time.
    pub(crate) fn lost(&mut self, id: AssociationId, again: Time) {
        for target in self.0.values_mut().filter(|target| **target == Target::Up(id)) {
            *target = Target::RetryAt(again);
        }
    }

    /// When the next setup is retried.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        let again = |target: &Target| if let Target::RetryAt(again) = target { Some(*again) } else { None };
        self.0.values().filter_map(again).min()
    }

    /// The peers whose retry delay has passed.
    pub(crate) fn due(&self, now: Time) -> Vec<SocketAddr> {
        let is_due = |target: &Target| matches!(target, Target::RetryAt(again) if *again <= now);
        self.0.iter().filter(|(_, target)| is_due(target)).map(|(peer, _)| *peer).collect()
    }

    /// Removes all of them.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
