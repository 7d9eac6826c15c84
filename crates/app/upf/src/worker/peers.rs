//! The other workers of a worker: the owners of packets, and the rings between workers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use arrayvec::ArrayVec;
use causeway_dataplane::{Counters, DropReason, ReceiveSource, Topology};
use causeway_packet::gtpu::{Message, Packet};
use causeway_packet::{BATCH, Batch, Frame, Meta};

use super::directory::{ALL_WORKERS, Directory};
use super::handoff_ring::{self, RingReceiver, RingSender};
use super::notifier::Notifier;

/// The owner of state that sessions share, and of signalling.
pub(crate) const FIRST_WORKER: usize = 0;

/// GTP-U messages that belong to the owner of the tunnel in their header: G-PDU and End Marker.
const TUNNEL_MESSAGES: [u8; 2] = [255, 254];

/// Error Indication: it belongs to the owner of the tunnel that it reports.
const ERROR_INDICATION: u8 = 26;

/// The rings of a worker to and from the others.
pub(super) struct WorkerPeers {
    own: usize,
    directory: Arc<Directory>,
    /// The local GTP-U addresses in the numbering of the directory.
    locals: Vec<IpAddr>,
    /// The local endpoints of tunnels over N6.
    n6_ends: Vec<IpAddr>,
    /// The ring to each worker; none to itself.
    outboxes: Vec<Option<RingSender>>,
    inboxes: Vec<RingReceiver>,
    /// Packets handed to other workers.
    handed: u64,
    /// Packets for other workers that were dropped because the ring was full.
    lost: Counters,
}

/// The local GTP-U addresses in the order of the topology, which is the numbering of the directory.
pub(super) fn local_addresses(topology: &Topology) -> Vec<IpAddr> {
    topology.gtpu.iter().flat_map(|endpoint| endpoint.addr.iter().collect::<Vec<_>>()).collect()
}

/// Connects the workers with these notifiers to each other.
pub(super) fn worker_peers(
    notifiers: &[Arc<Notifier>],
    directory: &Arc<Directory>,
    topology: &Topology,
    frame_size: usize,
) -> Vec<WorkerPeers> {
    let ends = topology.n6_tunnels.iter().flat_map(|end| end.addr.iter().collect::<Vec<_>>());
    let n6_ends: Vec<IpAddr> = ends.collect();
    let mut all = Vec::new();
    for own in 0..notifiers.len() {
        all.push(WorkerPeers {
            own,
            directory: Arc::clone(directory),
            locals: local_addresses(topology),
            n6_ends: n6_ends.clone(),
            outboxes: notifiers.iter().map(|_| None).collect(),
            inboxes: Vec::new(),
            handed: 0,
            lost: Counters::default(),
        });
    }
    for (to, notifier) in notifiers.iter().enumerate() {
        for from in (0..notifiers.len()).filter(|from| *from != to) {
            let (sender, receiver) = handoff_ring::ring(Arc::clone(notifier), frame_size);
            if let Some(place) = all.get_mut(from).and_then(|peers| peers.outboxes.get_mut(to)) {
                *place = Some(sender);
            }
            if let Some(peers) = all.get_mut(to) {
                peers.inboxes.push(receiver);
            }
        }
    }
    all
}

impl WorkerPeers {
    /// Hands packets of other workers to them; the batch keeps the packets of this worker.
    pub(super) fn hand_over(&mut self, source: ReceiveSource, batch: &mut Batch) {
        // All are looked up before the first one moves, so that their memory accesses overlap.
        let owners: ArrayVec<usize, BATCH> = batch.frames().map(|frame| self.owner(source, &frame)).collect();
        if owners.iter().all(|owner| *owner == self.own) {
            return;
        }
        let mut owners = owners.into_iter();
        batch.retain(|frame| {
            let owner = owners.next().unwrap_or(self.own);
            if owner != self.own {
                self.hand_to(owner, source, frame);
            }
            owner == self.own || owner == ALL_WORKERS
        });
        self.flush();
    }

    /// Sends the packets for other workers, except to one that is behind: those are held, up to a full batch.
    pub(super) fn flush(&mut self) {
        self.outboxes.iter_mut().flatten().for_each(RingSender::flush);
    }

    /// Whether packets are held for a worker that is behind. [`WorkerPeers::flush`] is to be called again after a while.
    pub(super) fn is_holding(&self) -> bool {
        self.outboxes.iter().flatten().any(RingSender::is_holding)
    }

    /// Hands a packet to one other worker, or to each.
    fn hand_to(&mut self, owner: usize, source: ReceiveSource, frame: Frame<'_>) {
        let is_for = |worker: &usize| owner == ALL_WORKERS || owner == *worker;
        for (_, sender) in self.outboxes.iter_mut().enumerate().filter(|(worker, _)| is_for(worker)) {
            match sender.as_mut().map(|sender| sender.push(source, frame)) {
                Some(true) => self.handed += 1,
                Some(false) => {
                    let received = match source {
                        ReceiveSource::Gtpu => &mut self.lost.gtpu_received,
                        ReceiveSource::Network(_) => &mut self.lost.ip_received,
                        ReceiveSource::Ethernet(_) => &mut self.lost.ethernet_received,
                    };
                    received.count(frame.data.len());
                    self.lost.count_drop(DropReason::WorkerBusy);
                }
                None => {}
            }
        }
    }

    /// Packets handed to other workers.
    pub(super) fn handed_over(&self) -> u64 {
        self.handed
    }

    /// Packets for other workers that were dropped because the ring was full.
    pub(super) fn lost(&self) -> &Counters {
        &self.lost
    }

    /// The owner of a packet. A packet without an owner is dropped by the receiving worker, at no cost to others.
    fn owner(&self, source: ReceiveSource, frame: &Frame<'_>) -> usize {
        match (source, frame.meta) {
            (ReceiveSource::Gtpu, Meta::Gtpu { local, .. }) => self.owner_of_message(local, frame.data),
            (ReceiveSource::Network(_), _) => self.owner_of_packet(frame.data),
            _ => FIRST_WORKER,
        }
    }

    fn owner_of_message(&self, local: IpAddr, message: &[u8]) -> usize {
        let Some([_, kind, _, _, teid @ ..]) = message.first_chunk::<8>() else { return self.own };
        if TUNNEL_MESSAGES.contains(kind) {
            let number = self.locals.iter().position(|known| *known == local);
            let number = number.and_then(|number| u8::try_from(number).ok());
            let key = number.map(|number| self.directory.tunnel(number, u32::from_be_bytes(*teid)));
            return key.and_then(|key| self.directory.owner(key)).unwrap_or(self.own);
        }
        if *kind != ERROR_INDICATION {
            return FIRST_WORKER;
        }
        let refused = match Packet::parse(message) {
            Ok(Packet { message: Message::ErrorIndication(indication), .. }) => {
                indication.teid.map(|teid| self.directory.remote(indication.peer, teid))
            }
            _ => None,
        };
        refused.and_then(|key| self.directory.owner(key)).unwrap_or(self.own)
    }

    fn owner_of_packet(&self, packet: &[u8]) -> usize {
        let outer = destination(packet);
        let ue = match outer {
            Some(end) if self.n6_ends.contains(&end) => {
                causeway_slowpath::inside_n6_tunnel(packet).and_then(destination)
            }
            _ => outer,
        };
        ue.and_then(|ue| self.directory.owner_of(ue)).unwrap_or(self.own)
    }

    /// The next batch that other workers received for this one.
    pub(super) fn take(&mut self, from: usize) -> Option<(ReceiveSource, Box<Batch>)> {
        self.inboxes.get_mut(from)?.take()
    }

    /// Returns a batch of [`WorkerPeers::take`].
    pub(super) fn recycle(&mut self, from: usize, batch: Box<Batch>) {
        if let Some(receiver) = self.inboxes.get_mut(from) {
            receiver.recycle(batch);
        }
    }

    /// The number of other workers.
    pub(super) fn others(&self) -> usize {
        self.inboxes.len()
    }

    /// Whether no other worker has packets for this one.
    pub(super) fn is_idle(&self) -> bool {
        self.inboxes.iter().all(RingReceiver::is_empty)
    }
}

/// The destination of an IP packet.
fn destination(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => packet.get(16..20)?.first_chunk::<4>().map(|ip| Ipv4Addr::from(*ip).into()),
        6 => packet.get(24..40)?.first_chunk::<16>().map(|ip| Ipv6Addr::from(*ip).into()),
        _ => None,
    }
}
