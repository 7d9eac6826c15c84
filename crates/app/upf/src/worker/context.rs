//! A data plane with its ports.

use std::time::{Duration, SystemTime};

use causeway_dataplane::{Egress, Ingress, PacketEngine, ReceiveSource, Topology, Transmit, TransmitQueue};
use causeway_packet::{Batch, Frame};
use causeway_ports::PortError;
use causeway_ports::capture::Passage;
use causeway_types::{Seid, Time};
use rustix::time::{ClockId, clock_gettime};

use super::egress_ports::EgressPorts;
use super::messages::Snapshot;
use super::ports::PortSet;
use super::transmit::PortTransmitter;
use super::watch::{PacketImage, ProcessedPacket, ReleasedPackets, SentPacket, WatchedTransmitter};
use crate::data_planes::BoxedDataPlane;

/// A data plane with its ports.
pub(super) struct WorkerContext {
    data_plane: BoxedDataPlane,
    out: PortTransmitter,
    queue: TransmitQueue,
    /// Who sees the packets that a plan or a timer released; `None`: nobody.
    released: Option<Box<ReleasedPackets>>,
}

impl WorkerContext {
    /// A data plane with these ports, for frames of this size.
    pub(super) fn new(data_plane: BoxedDataPlane, ports: PortSet, frame_size: usize) -> Self {
        let egress_ports = EgressPorts::of(&ports);
        Self {
            data_plane,
            out: PortTransmitter::new(ports, egress_ports, frame_size),
            queue: TransmitQueue::default(),
            released: None,
        }
    }

    /// Shows the packets that a plan or a timer releases from now on.
    pub(super) fn show_released(&mut self, released: Option<Box<ReleasedPackets>>) {
        self.released = released;
    }

    /// The ports.
    pub(super) fn ports(&self) -> &PortSet {
        &self.out.set
    }

    /// Updates the counters of the ports.
    pub(super) fn count_losses(&mut self) {
        self.out.set.count_losses();
    }

    /// The data plane.
    pub(super) fn data_plane(&mut self) -> &mut dyn PacketEngine {
        &mut *self.data_plane
    }

    /// The time of the next timer, for [`WorkerContext::advance`].
    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.data_plane.next_deadline()
    }

    /// Receives a batch from a port. Returns the receive source and the number of packets; `None`: no packet is
    /// available.
    ///
    /// # Errors
    /// [`PortError::Lost`] when the port has failed for good.
    pub(super) fn receive(
        &mut self,
        index: usize,
        batch: &mut Batch,
    ) -> Result<Option<(ReceiveSource, usize)>, PortError> {
        let Some(slot) = self.out.set.slot_mut(index) else { return Ok(None) };
        let count = slot.port.receive(batch)?;
        Ok((count > 0).then(|| (slot.receive_source(), count)))
    }

    /// Processes a batch, and transmits the resulting packets.
    ///
    /// # Errors
    /// [`PortError::Lost`] when a port has failed for good.
    pub(super) fn process(
        &mut self,
        now: Time,
        source: ReceiveSource,
        batch: &mut Batch,
    ) -> Result<(), PortError> {
        // Packets released by timers are transmitted before packets that arrived later.
        self.advance(now)?;
        self.data_plane.process_batch(now, source, batch, &mut self.queue);
        self.out.send_queue(batch, &self.queue)
    }

    /// Processes one packet, and transmits the resulting packets. Returns what became of it, and why, with up to `snaplen`
    /// octets of each of these packets.
    ///
    /// # Errors
    /// As for [`WorkerContext::process`].
    pub(super) fn observe(
        &mut self,
        now: Time,
        ingress: Ingress,
        packet: &[u8],
        snaplen: usize,
    ) -> Result<ProcessedPacket, PortError> {
        self.advance(now)?;
        let explanation = self.data_plane.explain(now, &ingress, packet);
        // What waited for this: packets of others, which are not sent because of this one.
        self.flush()?;
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        let disposition = self.data_plane.process(now, &ingress, packet, &mut sent);
        for (egress, packet) in &sent {
            self.out.transmit(egress, packet);
        }
        self.out.send_all()?;
        let of_sent = |(egress, packet): (Egress, Vec<u8>)| SentPacket::new(egress, &packet, snaplen);
        let sent = sent.into_iter().map(of_sent).collect();
        let image = PacketImage::of(Passage::In, ingress.meta(), packet, snaplen);
        let (time, octets) = (SystemTime::now(), packet.len());
        Ok(ProcessedPacket { time, ingress, octets, image, explanation, disposition, sent })
    }

    /// A frame from an Ethernet data network is for this session.
    pub(super) fn is_frame_for(&self, source: ReceiveSource, frame: &Frame<'_>, session: Seid) -> bool {
        match self.topology().ingress(source, &frame.meta) {
            Some(Ingress::Ethernet { network }) => {
                self.data_plane.is_frame_for(&network, frame.data, session)
            }
            _ => false,
        }
    }

    /// The topology.
    pub(super) fn topology(&self) -> &Topology {
        self.data_plane.topology()
    }

    /// Expires the timers that are due, and transmits the released packets.
    ///
    /// # Errors
    /// As for [`WorkerContext::process`].
    pub(super) fn advance(&mut self, now: Time) -> Result<(), PortError> {
        if self.next_deadline().is_some_and(|at| at <= now) {
            self.data_plane.advance(now);
            self.flush()?;
        }
        Ok(())
    }

    /// Transmits the packets that a plan or a timer released.
    ///
    /// # Errors
    /// As for [`WorkerContext::process`].
    pub(super) fn flush(&mut self) -> Result<(), PortError> {
        match &mut self.released {
            None => self.data_plane.flush(&mut self.out),
            Some(seen) => self.data_plane.flush(&mut WatchedTransmitter { out: &mut self.out, seen }),
        }
        self.out.send_all()
    }

    /// The present counters.
    pub(super) fn snapshot(&self, now: Time) -> Snapshot {
        Snapshot {
            counters: self.data_plane.counters(),
            unroutable: self.out.unroutable,
            stages: self.data_plane.stage_packets(),
            switch_events: self.data_plane.switch_events(),
            heavy_hitters: self.data_plane.heavy_hitters(now),
            classes: self.data_plane.session_classes(),
            rule_placement: self.data_plane.rule_placement(now),
            cold_storage: self.data_plane.cold_storage(),
            memory_losses: self.data_plane.memory_losses(),
            core_time: core_time(),
            ..Snapshot::default()
        }
    }
}

/// The time for which the calling thread ran on a core.
fn core_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
