//! Receive sources and transmit queues of batches.

use std::ops::Range;

use causeway_dataplane::{Egress, Ingress, Transmit};
use causeway_packet::{BATCH, Batch, Meta};

use crate::topology_index::{Exit, TopologyIndex};

/// Where the frames of a batch were received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveSource {
    /// By GTP-U; the metadata of each frame contains its peer and local address.
    Gtpu,
    /// From a data network of IP packets, by its index in the topology.
    Network(u16),
    /// From an Ethernet network, by its index in the topology.
    Ethernet(u16),
}

/// The packets that a batch causes to be transmitted, in order.
#[derive(Debug, Default)]
pub struct TransmitQueue {
    entries: Vec<QueuedPacket>,
    stored: Vec<(Egress, Vec<u8>)>,
}

/// One queued packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueuedPacket {
    /// The frame of the batch with this index, in its current state.
    Frame(usize, Exit),
    /// The packet with this index in [`TransmitQueue::owned`].
    Owned(usize),
}

impl TransmitQueue {
    /// The queued packets, in order.
    pub fn packets(&self) -> &[QueuedPacket] {
        &self.entries
    }

    /// A packet that is not in the batch.
    pub fn owned(&self, index: usize) -> Option<(&Egress, &[u8])> {
        self.stored.get(index).map(|(egress, packet)| (egress, packet.as_slice()))
    }

    /// Transmits all packets, in order. A frame index beyond the batch is skipped.
    pub(crate) fn transmit(&self, batch: &Batch, topology_index: &TopologyIndex, out: &mut dyn Transmit) {
        for departure in &self.entries {
            match departure {
                QueuedPacket::Frame(index, exit) => {
                    let frame = batch.frame(*index);
                    let egress = frame.as_ref().and_then(|frame| topology_index.egress(*exit, &frame.meta));
                    if let (Some(frame), Some(egress)) = (frame, egress) {
                        out.transmit(&egress, frame.data);
                    }
                }
                QueuedPacket::Owned(index) => {
                    if let Some((egress, packet)) = self.owned(*index) {
                        out.transmit(egress, packet);
                    }
                }
            }
        }
    }

    /// Removes all packets.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.stored.clear();
    }

    /// Queues a frame of the batch.
    #[inline]
    pub(crate) fn push_frame(&mut self, index: usize, exit: Exit) {
        self.entries.push(QueuedPacket::Frame(index, exit));
    }

    /// Queues these frames of the batch, each with its exit.
    #[inline]
    pub(crate) fn push_frames(&mut self, frames: Range<usize>, exits: &[Exit; BATCH]) {
        let queue = frames.clone().zip(exits.get(frames).unwrap_or_default());
        self.entries.extend(queue.map(|(index, exit)| QueuedPacket::Frame(index, *exit)));
    }

    /// Queues a packet that is not in the batch.
    pub(crate) fn push_owned(&mut self, egress: Egress, packet: Vec<u8>) {
        self.entries.push(QueuedPacket::Owned(self.stored.len()));
        self.stored.push((egress, packet));
    }
}

/// The frame metadata of a packet's ingress.
pub fn meta_of(ingress: &Ingress) -> Meta {
    match ingress {
        Ingress::Gtpu { local, peer, tos, hops } => {
            Meta::Gtpu { local: *local, peer: *peer, tos: *tos, hops: *hops }
        }
        Ingress::Ip { .. } => Meta::Ip,
        Ingress::Ethernet { .. } => Meta::Ethernet,
    }
}
