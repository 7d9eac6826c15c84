//! Packets that wait for their FAR to forward again.

use std::collections::VecDeque;

use causeway_types::{PdrId, Qfi, Time};

use crate::carried_extensions::CarriedExtensions;

/// A packet that waits, without its outer header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BufferedPacket {
    /// How many packets began to wait before it, in the whole data plane.
    pub(crate) number: u64,
    /// When it came.
    pub(crate) buffered_at: Time,
    /// The PDR it matched.
    pub(crate) pdr: PdrId,
    /// The QFI it arrived with, if it came out of a tunnel.
    pub(crate) qfi: Option<Qfi>,
    /// What it brings for the next tunnel.
    pub(crate) extensions: CarriedExtensions,
    /// The user packet, from its IP header on.
    pub(crate) packet: Vec<u8>,
}

impl BufferedPacket {
    /// Octets that count towards the limits: of the packet, and of the extension headers that wait with it.
    pub(crate) fn octets(&self) -> usize {
        self.packet.len() + self.extensions.octets()
    }
}

/// The buffer of one session: one queue in order of arrival, whatever the PDR.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Buffer(VecDeque<BufferedPacket>);

impl Buffer {
    /// The packets, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &BufferedPacket> {
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
        self.0.iter().map(BufferedPacket::octets).sum()
    }

    /// Puts a packet at the end.
    pub(crate) fn push(&mut self, buffered: BufferedPacket) {
        self.0.push_back(buffered);
    }

    /// Takes out the packets that are chosen, in order of arrival.
    pub(crate) fn take(&mut self, is_chosen: impl Fn(&BufferedPacket) -> bool) -> Vec<BufferedPacket> {
        let (taken, kept): (VecDeque<_>, _) = self.0.drain(..).partition(is_chosen);
        self.0 = kept;
        taken.into()
    }

    /// Takes out the oldest packet that is chosen.
    pub(crate) fn take_oldest(
        &mut self,
        is_chosen: impl Fn(&BufferedPacket) -> bool,
    ) -> Option<BufferedPacket> {
        let at = self.0.iter().position(is_chosen)?;
        self.0.remove(at)
    }
}
