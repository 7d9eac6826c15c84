//! Transmission of packets from the data plane to their ports.

use arrayvec::ArrayVec;
use causeway_dataplane::{Egress, QueuedPacket, Transmit, TransmitQueue};
use causeway_packet::{BATCH, Batch, Frame};
use causeway_ports::{MAX_PORTS, PortError};

use super::egress_ports::EgressPorts;
use super::ports::PortSet;

/// The ports and their transmit queues, so that one system call sends many packets.
pub(super) struct PortTransmitter {
    pub(super) set: PortSet,
    egress_ports: EgressPorts,
    /// Copies of packets outside a batch: one batch per port, in the same order.
    pending: Vec<Batch>,
    /// The egress port of each packet of one batch.
    ways: Vec<Option<usize>>,
    /// The first port that failed for good.
    lost: Option<PortError>,
    /// Packets without a port.
    pub(super) unroutable: u64,
}

impl PortTransmitter {
    pub(super) fn new(set: PortSet, egress_ports: EgressPorts, frame_size: usize) -> Self {
        let pending = set.slots().iter().map(|_| Batch::with_frame_size(frame_size)).collect();
        Self { set, egress_ports, pending, ways: Vec::with_capacity(BATCH), lost: None, unroutable: 0 }
    }

    /// Transmits the packets of a batch from its buffers, without a copy: each port gets its packets in one call, in
    /// order.
    ///
    /// # Errors
    /// [`PortError::Lost`] when a port has failed for good.
    pub(super) fn send_queue(&mut self, batch: &mut Batch, queue: &TransmitQueue) -> Result<(), PortError> {
        let ports = self.group_by_port(queue);
        for index in (0..MAX_PORTS).filter(|index| ports & 1 << index != 0) {
            self.send_port(index, batch, queue)?;
        }
        Ok(())
    }

    /// Determines the egress port of each packet. Returns the set of these ports.
    fn group_by_port(&mut self, queue: &TransmitQueue) -> u64 {
        let mut ports = 0;
        self.ways.clear();
        for departure in queue.packets() {
            let way = match departure {
                QueuedPacket::Frame(_, exit) => self.egress_ports.of_exit(*exit),
                QueuedPacket::Owned(index) => {
                    queue.owned(*index).and_then(|(egress, _)| self.egress_ports.of_egress(egress))
                }
            };
            match way {
                Some(index) => ports |= 1 << index,
                None => self.unroutable += 1,
            }
            self.ways.push(way);
        }
        ports
    }

    fn send_port(&mut self, index: usize, batch: &mut Batch, queue: &TransmitQueue) -> Result<(), PortError> {
        let Some(slot) = self.set.slot_mut(index) else { return Ok(()) };
        // Frames of the batch, or other packets: what is not sent yet.
        let mut frames = ArrayVec::<usize, BATCH>::new();
        let mut owned = ArrayVec::<Frame<'_>, BATCH>::new();
        let own = queue.packets().iter().zip(&self.ways).filter(|(_, way)| **way == Some(index));
        for (departure, _) in own {
            let is_frame = matches!(departure, QueuedPacket::Frame(..));
            if !frames.is_empty() && (!is_frame || frames.is_full()) {
                slot.port.send_from(batch, &frames)?;
                frames.clear();
            }
            if !owned.is_empty() && (is_frame || owned.is_full()) {
                slot.port.send(&owned)?;
                owned.clear();
            }
            match departure {
                QueuedPacket::Frame(index, _) => frames.push(*index),
                QueuedPacket::Owned(index) => owned.extend(
                    queue.owned(*index).map(|(egress, packet)| Frame { meta: egress.meta(), data: packet }),
                ),
            }
        }
        if !frames.is_empty() {
            slot.port.send_from(batch, &frames)?;
        }
        if !owned.is_empty() {
            slot.port.send(&owned)?;
        }
        Ok(())
    }

    /// Transmits the queued copies.
    ///
    /// # Errors
    /// [`PortError::Lost`] when a port has failed for good, now or at an earlier packet.
    pub(super) fn send_all(&mut self) -> Result<(), PortError> {
        for index in 0..self.pending.len() {
            self.send_pending(index);
        }
        self.lost.take().map_or(Ok(()), Err)
    }

    fn send_pending(&mut self, index: usize) {
        let (Some(slot), Some(batch)) = (self.set.slot_mut(index), self.pending.get_mut(index)) else {
            return;
        };
        if !batch.is_empty() {
            let all: ArrayVec<usize, BATCH> = (0..batch.len()).collect();
            let sent = slot.port.send_from(batch, &all);
            self.lost = self.lost.take().or(sent.err());
            batch.clear();
        }
    }

    fn send(&mut self, index: usize, frame: Frame<'_>) {
        if self.pending.get_mut(index).is_some_and(|batch| batch.push(frame)) {
            return;
        }
        self.send_pending(index);
        // A frame that is too long even for an empty batch is sent alone, after the frames before it.
        if !self.pending.get_mut(index).is_some_and(|batch| batch.push(frame))
            && let Some(slot) = self.set.slot_mut(index)
        {
            let sent = slot.port.send(&[frame]);
            self.lost = self.lost.take().or(sent.err());
        }
    }
}

impl Transmit for PortTransmitter {
    fn transmit(&mut self, egress: &Egress, packet: &[u8]) {
        match self.egress_ports.of_egress(egress) {
            Some(index) => self.send(index, Frame { meta: egress.meta(), data: packet }),
            None => self.unroutable += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use causeway_dataplane::{Exit, Network};
    use causeway_packet::Meta;
    use causeway_ports::memory;
    use causeway_types::NetworkInstance;

    use super::*;

    fn network(name: &str) -> Network {
        Network::new(NetworkInstance::new(name), Vec::new())
    }

    // Input:  a queue of frames of a batch, not in their order, around a packet that is in none.
    // Output: they leave in the order of the queue.
    #[test]
    fn frames_and_other_packets_keep_their_order() {
        let (near, mut far) = memory::pair("a", "far").unwrap();
        let mut set = PortSet::new();
        set.add_network(network("a"), Box::new(near));
        let egress_ports = EgressPorts::of(&set);
        let mut out = PortTransmitter::new(set, egress_ports, 100);
        let mut batch = Batch::new();
        assert!([[0], [1], [2]].iter().all(|data| batch.push(Frame { meta: Meta::Ip, data })));
        let mut queue = TransmitQueue::default();
        queue.push_frame(2, Exit::Network(0));
        queue.push_frame(1, Exit::Network(0));
        queue.push_owned(Egress::Ip { network: NetworkInstance::new("a") }, vec![3]);
        queue.push_frame(0, Exit::Network(0));
        out.send_queue(&mut batch, &queue).unwrap();
        let sent: Vec<u8> = std::iter::from_fn(|| far.pop().map(|(_, data)| data[0])).collect();
        assert_eq!(sent, [2, 1, 3, 0]);
    }

    // Input:  packets for two networks, one for an unknown network, and one longer than the batches.
    // Output: each is sent on its port, in order; the packet without a port is counted.
    #[test]
    fn packets_leave_by_the_port_of_their_network_in_order() {
        let (a, mut far_a) = memory::pair("a", "far").unwrap();
        let (b, mut far_b) = memory::pair("b", "far").unwrap();
        let mut set = PortSet::new();
        set.add_network(network("a"), Box::new(a));
        set.add_network(network("b"), Box::new(b));
        let egress_ports = EgressPorts::of(&set);
        let mut out = PortTransmitter::new(set, egress_ports, 100);
        let to = |name: &str| Egress::Ip { network: NetworkInstance::new(name) };
        out.transmit(&to("a"), &[1; 10]);
        out.transmit(&to("a"), &[2; 500]);
        out.transmit(&to("a"), &[3; 10]);
        out.transmit(&to("b"), &[4; 10]);
        out.transmit(&to("c"), &[5; 10]);
        out.send_all().unwrap();
        let first = |port: &mut memory::MemoryPort| {
            std::iter::from_fn(|| port.pop().map(|(_, data)| data[0])).collect::<Vec<_>>()
        };
        assert_eq!(first(&mut far_a), [1, 2, 3]);
        assert_eq!(first(&mut far_b), [4]);
        assert_eq!(out.unroutable, 1);
    }
}
