//! Where batches come in, and what leaves because of them.

use std::ops::Range;

use causeway_dataplane::{Egress, Ingress, Transmit};
use causeway_ports::{BATCH, Batch, Meta};

use crate::topology_index::{Exit, TopologyIndex};

/// Where the frames of a batch came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveSource {
    /// By GTP-U; each frame says who sent it, and to which address of ours.
    Gtpu,
    /// From a data network of IP packets, by its index in the topology.
    Network(u16),
    /// From an Ethernet network, by its index in the topology.
    Ethernet(u16),
}

/// What leaves because of a batch, in order.
#[derive(Debug, Default)]
pub struct TransmitQueue {
    entries: Vec<QueuedPacket>,
    stored: Vec<(Egress, Vec<u8>)>,
}

/// One packet that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueuedPacket {
    /// The frame of the batch with this index, as it is now.
    Frame(usize, Exit),
    /// A packet that [`TransmitQueue::owned`] holds under this index.
    Owned(usize),
}

impl TransmitQueue {
    /// What leaves, in order.
    pub fn packets(&self) -> &[QueuedPacket] {
        &self.entries
    }

    /// A packet that is not in the batch.
    pub fn owned(&self, index: usize) -> Option<(&Egress, &[u8])> {
        self.stored.get(index).map(|(egress, packet)| (egress, packet.as_slice()))
    }

    /// Sends everything, in order. A frame of a batch that is not this one goes nowhere.
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

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.stored.clear();
    }

    /// A frame of the batch leaves.
    #[inline]
    pub(crate) fn push_frame(&mut self, index: usize, exit: Exit) {
        self.entries.push(QueuedPacket::Frame(index, exit));
    }

    /// All these frames of the batch leave, each by its exit.
    #[inline]
    pub(crate) fn push_frames(&mut self, frames: Range<usize>, exits: &[Exit; BATCH]) {
        let queue = frames.clone().zip(exits.get(frames).unwrap_or_default());
        self.entries.extend(queue.map(|(index, exit)| QueuedPacket::Frame(index, *exit)));
    }

    /// A packet that is not in the batch leaves.
    pub(crate) fn push_owned(&mut self, egress: Egress, packet: Vec<u8>) {
        self.entries.push(QueuedPacket::Owned(self.stored.len()));
        self.stored.push((egress, packet));
    }
}

/// Where a packet came in, as frames of a batch say it.
pub fn meta_of(ingress: &Ingress) -> Meta {
    match ingress {
        Ingress::Gtpu { local, peer, tos, hops } => {
            Meta::Gtpu { local: *local, peer: *peer, tos: *tos, hops: *hops }
        }
        Ingress::Ip { .. } => Meta::Ip,
        Ingress::Ethernet { .. } => Meta::Ethernet,
    }
}
