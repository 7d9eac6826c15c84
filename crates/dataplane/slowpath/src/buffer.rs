//! Packets that are buffered until their FAR forwards again.

use std::collections::VecDeque;

use causeway_types::{FarId, PdrId, Qfi, Time};

use crate::carried_extensions::CarriedExtensions;

/// A buffered packet, without its outer header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BufferedPacket {
    /// The number of packets that were buffered before it, in the whole data plane.
    pub(crate) number: u64,
    /// When it was received.
    pub(crate) buffered_at: Time,
    /// The PDR it matched.
    pub(crate) pdr: PdrId,
    /// The FAR that buffers it: that of the PDR, or of an exhausted quota.
    pub(crate) far: FarId,
    /// It arrived in a tunnel.
    pub(crate) from_tunnel: bool,
    /// The QFI it arrived with, if it was received from a tunnel.
    pub(crate) qfi: Option<Qfi>,
    /// The GTP-U extension headers for the next tunnel.
    pub(crate) extensions: CarriedExtensions,
    /// The user packet, from its IP header on.
    pub(crate) packet: Vec<u8>,
}

impl BufferedPacket {
    /// Octets that count towards the limits: of the packet and of its extension headers.
    pub(crate) fn octets(&self) -> usize {
        self.packet.len() + self.extensions.octets()
    }
}

/// The buffer of one session: one queue in order of arrival, for all PDRs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Buffer(VecDeque<BufferedPacket>);

impl Buffer {
    /// The packets, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &BufferedPacket> {
        self.0.iter()
    }

    /// The number of packets.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// No packet is buffered.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The octets of all packets, with their extension headers.
    pub(crate) fn octets(&self) -> usize {
        self.0.iter().map(BufferedPacket::octets).sum()
    }

    /// Appends a packet.
    pub(crate) fn push(&mut self, buffered: BufferedPacket) {
        self.0.push_back(buffered);
    }

    /// Takes all packets out, in order of arrival.
    pub(crate) fn take_all(&mut self) -> VecDeque<BufferedPacket> {
        std::mem::take(&mut self.0)
    }

    /// Removes the chosen packets, in order of arrival.
    pub(crate) fn take(&mut self, is_chosen: impl Fn(&BufferedPacket) -> bool) -> Vec<BufferedPacket> {
        let (taken, kept): (VecDeque<_>, _) = self.0.drain(..).partition(is_chosen);
        self.0 = kept;
        taken.into()
    }

    /// Removes the oldest chosen packet.
    pub(crate) fn take_oldest(
        &mut self,
        is_chosen: impl Fn(&BufferedPacket) -> bool,
    ) -> Option<BufferedPacket> {
        let at = self.0.iter().position(is_chosen)?;
        self.0.remove(at)
    }
}
