//! Batches: where they were received, and where their packets are transmitted.

use std::net::IpAddr;
use std::ops::Range;

use causeway_packet::{BATCH, Batch, Meta};

use crate::{Egress, Ingress, Topology, Transmit};

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

/// Where a frame of a batch is transmitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// To a data network of IP packets, by its index in the topology.
    Network(u16),
    /// Into a tunnel; the metadata of the frame contains the peer.
    Tunnel {
        /// The local address, by its index in [`Topology::local_addresses`].
        local: u8,
    },
}

/// The packets that a batch causes to be transmitted, in order: frames of the batch, which stay in their buffers, and
/// other packets. A packet that is in neither is dropped.
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

    /// Transmits all packets to `out`, in order, by their names in this topology. Frames that are not in the batch, and
    /// networks that are not in the topology, are skipped.
    pub fn transmit_all(&self, batch: &Batch, topology: &Topology, out: &mut dyn Transmit) {
        for departure in &self.entries {
            match departure {
                QueuedPacket::Frame(index, exit) => {
                    let frame = batch.frame(*index);
                    let egress = frame.as_ref().and_then(|frame| topology.egress(*exit, &frame.meta));
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

    /// Queues all packets of another queue of the same batch behind those that are here, and clears that queue.
    pub fn append(&mut self, other: &mut Self) {
        let before = self.stored.len();
        let entry = |entry: QueuedPacket| match entry {
            QueuedPacket::Owned(index) => QueuedPacket::Owned(before + index),
            QueuedPacket::Frame(..) => entry,
        };
        self.entries.extend(other.entries.drain(..).map(entry));
        self.stored.append(&mut other.stored);
    }

    /// Removes all packets.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.stored.clear();
    }

    /// Queues a frame of the batch.
    #[inline]
    pub fn push_frame(&mut self, index: usize, exit: Exit) {
        self.entries.push(QueuedPacket::Frame(index, exit));
    }

    /// Queues these frames of the batch, each with its exit.
    #[inline]
    pub fn push_frames(&mut self, frames: Range<usize>, exits: &[Exit; BATCH]) {
        let queue = frames.clone().zip(exits.get(frames).unwrap_or_default());
        self.entries.extend(queue.map(|(index, exit)| QueuedPacket::Frame(index, *exit)));
    }

    /// Queues a packet that is not in the batch.
    pub fn push_owned(&mut self, egress: Egress, packet: Vec<u8>) {
        self.entries.push(QueuedPacket::Owned(self.stored.len()));
        self.stored.push((egress, packet));
    }
}

/// Queues copies of the packets.
impl Transmit for TransmitQueue {
    fn transmit(&mut self, egress: &Egress, packet: &[u8]) {
        self.push_owned(egress.clone(), packet.to_vec());
    }
}

impl Ingress {
    /// The metadata of a frame that was received there.
    pub fn meta(&self) -> Meta {
        match self {
            Self::Gtpu { local, peer, tos, hops } => {
                Meta::Gtpu { local: *local, peer: *peer, tos: *tos, hops: *hops }
            }
            Self::Ip { .. } => Meta::Ip,
            Self::Ethernet { .. } => Meta::Ethernet,
        }
    }
}

impl Egress {
    /// The metadata of a frame that is transmitted there.
    pub fn meta(&self) -> Meta {
        match self {
            Self::Gtpu { local, peer, tos, hops } => {
                Meta::Gtpu { local: *local, peer: *peer, tos: *tos, hops: *hops }
            }
            Self::Ip { .. } => Meta::Ip,
            Self::Ethernet { .. } => Meta::Ethernet,
        }
    }
}

/// Names and indices of receive sources and exits.
impl Topology {
    /// The local GTP-U addresses, in the order of the endpoints, IPv4 first: the indices of [`Exit::Tunnel`].
    pub fn local_addresses(&self) -> Vec<IpAddr> {
        let mut locals: Vec<IpAddr> = self.gtpu.iter().flat_map(|end| end.addr.iter()).collect();
        locals.dedup();
        locals
    }

    /// The ingress of a frame with this metadata in a batch from this source. `None`: the network is not in the topology, or
    /// the source does not carry such frames.
    pub fn ingress(&self, source: ReceiveSource, meta: &Meta) -> Option<Ingress> {
        Some(match (source, meta) {
            (ReceiveSource::Gtpu, Meta::Gtpu { local, peer, tos, hops }) => {
                Ingress::Gtpu { local: *local, peer: *peer, tos: *tos, hops: *hops }
            }
            (ReceiveSource::Gtpu, Meta::Ip | Meta::Ethernet) => return None,
            (ReceiveSource::Network(index), _) => {
                Ingress::Ip { network: self.networks.get(usize::from(index))?.instance.clone() }
            }
            (ReceiveSource::Ethernet(index), _) => {
                Ingress::Ethernet { network: self.ethernet.get(usize::from(index))?.instance.clone() }
            }
        })
    }

    /// The receive source of packets with this ingress. `None`: the network is not in the topology.
    pub fn receive_source(&self, ingress: &Ingress) -> Option<ReceiveSource> {
        let index = |place: Option<usize>| place.and_then(|place| u16::try_from(place).ok());
        Some(match ingress {
            Ingress::Gtpu { .. } => ReceiveSource::Gtpu,
            Ingress::Ip { network } => ReceiveSource::Network(index(
                self.networks.iter().position(|known| known.instance == *network),
            )?),
            Ingress::Ethernet { network } => ReceiveSource::Ethernet(index(
                self.ethernet.iter().position(|known| known.instance == *network),
            )?),
        })
    }

    /// The egress of a frame with this metadata at this exit. `None`: the network is not in the topology, or the frame has no
    /// peer.
    pub fn egress(&self, exit: Exit, meta: &Meta) -> Option<Egress> {
        Some(match (exit, meta) {
            (Exit::Network(index), _) => {
                Egress::Ip { network: self.networks.get(usize::from(index))?.instance.clone() }
            }
            (Exit::Tunnel { .. }, Meta::Gtpu { local, peer, tos, hops }) => {
                Egress::Gtpu { local: *local, peer: *peer, tos: *tos, hops: *hops }
            }
            (Exit::Tunnel { .. }, Meta::Ip | Meta::Ethernet) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use causeway_packet::Frame;
    use causeway_types::NetworkInstance;

    use super::*;
    use crate::{EthernetNetwork, GtpuEndpoint, Network};

    // Input:  a topology with two GTP-U endpoints, of which one has addresses of both IP versions, two data networks and
    //         an Ethernet network.
    // Output: each ingress has an index that leads back to it; a network that is not in the topology has none.
    #[test]
    fn indices_and_names_of_a_topology_agree() {
        let name = NetworkInstance::new;
        let both = causeway_types::DualIp { v4: "192.0.2.2".parse().ok(), v6: "2001:db8::2".parse().ok() };
        let one: IpAddr = "192.0.2.1".parse().unwrap();
        let topology = Topology {
            gtpu: vec![GtpuEndpoint::new(one.into()), GtpuEndpoint::new(both)],
            networks: ["internet", "ims"].map(|net| Network::new(name(net), Vec::new())).into(),
            ethernet: vec![EthernetNetwork { instance: name("lan"), flood_unknown: false }],
            ..Topology::default()
        };
        assert_eq!(
            topology.local_addresses(),
            ["192.0.2.1", "192.0.2.2", "2001:db8::2"].map(|ip| ip.parse::<IpAddr>().unwrap())
        );
        let tunnel =
            Ingress::Gtpu { local: one, peer: "192.0.2.9:2152".parse().unwrap(), tos: 4, hops: None };
        let ims = Ingress::Ip { network: name("ims") };
        for (ingress, source) in [
            (&tunnel, ReceiveSource::Gtpu),
            (&ims, ReceiveSource::Network(1)),
            (&Ingress::Ethernet { network: name("lan") }, ReceiveSource::Ethernet(0)),
        ] {
            assert_eq!(topology.receive_source(ingress), Some(source));
            assert_eq!(topology.ingress(source, &ingress.meta()).as_ref(), Some(ingress));
        }
        assert_eq!(topology.receive_source(&Ingress::Ip { network: name("lan") }), None);
        assert_eq!(topology.ingress(ReceiveSource::Network(2), &Meta::Ip), None);
        assert_eq!(topology.ingress(ReceiveSource::Gtpu, &Meta::Ip), None);
    }

    // Input:  a batch of two frames; the second is queued, then a packet outside the batch, then the first one, then a
    //         frame that does not exist, and one to a network that does not exist; all of them behind another packet.
    // Output: four packets are transmitted in the order of the queues; the appended queue is empty.
    #[test]
    fn a_queue_is_transmitted_in_order() {
        let topology = Topology {
            networks: vec![Network::new(NetworkInstance::new("internet"), Vec::new())],
            ..Topology::default()
        };
        let egress = Egress::Ip { network: NetworkInstance::new("internet") };
        let mut batch = Batch::new();
        assert!([[1], [2]].iter().all(|data| batch.push(Frame { meta: Meta::Ip, data })));
        let mut queue = TransmitQueue::default();
        queue.push_frame(1, Exit::Network(0));
        queue.transmit(&egress, &[3]);
        queue.push_frames(0..1, &[Exit::Network(0); BATCH]);
        queue.push_frame(2, Exit::Network(0));
        queue.push_frame(0, Exit::Network(1));
        let mut whole = TransmitQueue::default();
        whole.transmit(&egress, &[4]);
        whole.append(&mut queue);
        assert!(queue.packets().is_empty());
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        whole.transmit_all(&batch, &topology, &mut sent);
        assert_eq!(sent, [4, 2, 3, 1].map(|octet| (egress.clone(), vec![octet])));
    }
}
