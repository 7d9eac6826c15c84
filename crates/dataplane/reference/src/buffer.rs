//! Packets that wait for their FAR to forward again.

use std::collections::VecDeque;

use causeway_types::{PdrId, Qfi, Time};

use crate::carried::Carried;

/// A packet that waits, without its outer header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Waiting {
    /// How many packets began to wait before it, in the whole data plane.
    pub(crate) number: u64,
    /// When it came.
    pub(crate) since: Time,
    /// The PDR it matched.
    pub(crate) pdr: PdrId,
    /// The QFI it arrived with, if it came out of a tunnel.
    pub(crate) qfi: Option<Qfi>,
    /// What it brings for the next tunnel.
    pub(crate) carried: Carried,
    /// The user packet, from its IP header on.
    pub(crate) packet: Vec<u8>,
}

impl Waiting {
    /// Octets that count towards the limits: of the packet, and of the extension headers that wait with it.
    pub(crate) fn octets(&self) -> usize {
        self.packet.len() + self.carried.octets()
    }
}

/// The buffer of one session: one queue in order of arrival, whatever the PDR.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Buffer(VecDeque<Waiting>);

impl Buffer {
    /// The packets, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.0.iter()
    }

    /// How many packets wait.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// No packet waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The octets of all packets that wait, with their extension headers.
    pub(crate) fn octets(&self) -> usize {
        self.0.iter().map(Waiting::octets).sum()
    }

    /// Puts a packet at the end.
    pub(crate) fn push(&mut self, waiting: Waiting) {
        self.0.push_back(waiting);
    }

    /// Takes out the packets that are chosen, in order of arrival.
    pub(crate) fn take(&mut self, is_chosen: impl Fn(&Waiting) -> bool) -> Vec<Waiting> {
        let (taken, kept): (VecDeque<_>, _) = self.0.drain(..).partition(is_chosen);
        self.0 = kept;
        taken.into()
    }

    /// Takes out the oldest packet that is chosen.
    pub(crate) fn take_oldest(&mut self, is_chosen: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
        let at = self.0.iter().position(is_chosen)?;
        self.0.remove(at)
    }
}
