//! Packets that are buffered until their FAR forwards again.

use std::collections::VecDeque;

use causeway_packet::UserPacket;
use causeway_types::{FarId, PdrId, Qfi, Time};

use crate::carried_extensions::CarriedExtensions;

/// The octets of a buffered packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Octets {
    /// From the IP header on.
    Here(Vec<u8>),
    /// The data plane that has this slow path keeps them ([`SlowPath::take_buffered_octets`](crate::SlowPath::take_buffered_octets)).
    Elsewhere {
        /// How many.
        length: usize,
        /// The DSCP of the packet.
        dscp: Option<u8>,
    },
}

impl Octets {
    pub(crate) const fn is_here(&self) -> bool {
        matches!(self, Self::Here(_))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Here(packet) => packet.len(),
            Self::Elsewhere { length, .. } => *length,
        }
    }

    /// The packet; empty if it is elsewhere.
    pub(crate) fn packet(&self) -> &[u8] {
        match self {
            Self::Here(packet) => packet,
            Self::Elsewhere { .. } => &[],
        }
    }

    pub(crate) fn dscp(&self) -> Option<u8> {
        match self {
            Self::Here(packet) => dscp_of(packet),
            Self::Elsewhere { dscp, .. } => *dscp,
        }
    }

    /// Takes the octets out. `None`: they are elsewhere.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        let elsewhere = Self::Elsewhere { length: self.len(), dscp: self.dscp() };
        match std::mem::replace(self, elsewhere) {
            Self::Here(packet) => Some(packet),
            Self::Elsewhere { .. } => None,
        }
    }
}

/// The DSCP of a user packet.
pub(crate) fn dscp_of(packet: &[u8]) -> Option<u8> {
    UserPacket::parse(packet).ok().map(|user| user.flow.tos >> 2)
}

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
    /// The user packet.
    pub(crate) packet: Octets,
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

    /// The same, to change where their octets are.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut BufferedPacket> {
        self.0.iter_mut()
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
