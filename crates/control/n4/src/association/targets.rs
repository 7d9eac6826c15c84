//! The peers that we are to set up an association with ourselves.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use causeway_types::Time;

use super::AssociationId;

/// How far we are with a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// The request is on its way.
    Pending,
    /// It was in vain; asked again at that time.
    RetryAt(Time),
    /// There is an association, whoever asked for it.
    Up(AssociationId),
}

/// All such peers, by the address to ask.
#[derive(Debug, Default)]
pub(crate) struct Targets(BTreeMap<SocketAddr, Target>);

impl Targets {
    /// Notes how far we are.
    pub(crate) fn set(&mut self, peer: SocketAddr, target: Target) {
        self.0.insert(peer, target);
    }

    /// The peer is one of them.
    pub(crate) fn contains(&self, peer: SocketAddr) -> bool {
        self.0.contains_key(&peer)
    }

    /// The peer whose association this is, if it is one of them.
    pub(crate) fn of(&self, id: AssociationId) -> Option<SocketAddr> {
        self.0.iter().find(|(_, target)| **target == Target::Up(id)).map(|(peer, _)| *peer)
    }

    /// An association came to be: its peer, or one of its host, is not asked any more. Returns who was being
    /// asked.
    pub(crate) fn reached(&mut self, peer: SocketAddr, id: AssociationId) -> Option<SocketAddr> {
        let waits = |(address, target): &(&SocketAddr, &Target)| {
            address.ip() == peer.ip() && !matches!(target, Target::Up(_))
        };
        let address = if self.contains(peer) { peer } else { *self.0.iter().find(waits)?.0 };
        let before = self.0.insert(address, Target::Up(id));
        (before == Some(Target::Pending)).then_some(address)
    }

    /// An association ended: its peer is asked again at that time.
    pub(crate) fn lost(&mut self, id: AssociationId, again: Time) {
        for target in self.0.values_mut().filter(|target| **target == Target::Up(id)) {
            *target = Target::RetryAt(again);
        }
    }

    /// When the next one is asked again.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        let again = |target: &Target| if let Target::RetryAt(again) = target { Some(*again) } else { None };
        self.0.values().filter_map(again).min()
    }

    /// Those whose rest is over.
    pub(crate) fn due(&self, now: Time) -> Vec<SocketAddr> {
        let is_due = |target: &Target| matches!(target, Target::RetryAt(again) if *again <= now);
        self.0.iter().filter(|(_, target)| is_due(target)).map(|(peer, _)| *peer).collect()
    }

    /// Forgets them all.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
