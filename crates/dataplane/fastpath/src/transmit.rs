//! The last stage: transmit. It counts what leaves, and queues what the slow path sends.

use causeway_dataplane::{Disposition, Exit, PacketEngine, ReceiveSource, TrafficCounter, TransmitQueue};
use causeway_packet::Batch;
use causeway_types::Time;

use crate::engine::FastPath;

/// What a batch has sent to data networks and into tunnels.
#[derive(Default)]
pub(crate) struct Sent {
    packets: [u64; 2],
    octets: [u64; 2],
}

impl Sent {
    /// All packets.
    pub(crate) const fn all(&self) -> u64 {
        self.packets[0] + self.packets[1]
    }

    /// Packets and octets sent to data networks.
    pub(crate) const fn by_ip(&self) -> TrafficCounter {
        TrafficCounter { packets: self.packets[0], octets: self.octets[0] }
    }

    /// Packets and octets sent into tunnels.
    pub(crate) const fn by_gtpu(&self) -> TrafficCounter {
        TrafficCounter { packets: self.packets[1], octets: self.octets[1] }
    }

    #[inline(always)]
    pub(crate) const fn count(&mut self, is_tunnel: bool, octets: u64) {
        let kind = is_tunnel as usize;
        self.packets[kind] += 1;
        self.octets[kind] += octets;
    }
}

impl FastPath {
    /// Sends a packet to the slow path.
    #[cold]
    pub(crate) fn send_to_slow_path(
        &mut self,
        now: Time,
        source: ReceiveSource,
        batch: &mut Batch,
        index: usize,
        queue: &mut TransmitQueue,
    ) {
        let Some(frame) = batch.frame(index) else { return };
        let Some(ingress) = self.topology.ingress(source, &frame.meta) else { return };
        let mut out = Vec::new();
        self.disposition = self.process_slow(now, &ingress, frame.data, &mut out);
        out.into_iter().for_each(|(egress, packet)| queue.push_owned(egress, packet));
    }

    /// Queues what timers have sent.
    #[cold]
    pub(crate) fn send_queued(&mut self, queue: &mut TransmitQueue) {
        let mut out = Vec::new();
        self.slow_path.flush(&mut out);
        out.into_iter().for_each(|(egress, packet)| queue.push_owned(egress, packet));
    }

    /// The counter of packets received from this source.
    #[inline]
    pub(crate) fn received(&mut self, source: ReceiveSource) -> &mut TrafficCounter {
        match source {
            ReceiveSource::Gtpu => &mut self.fast_counters.gtpu_received,
            ReceiveSource::Network(_) => &mut self.fast_counters.ip_received,
            ReceiveSource::Ethernet(_) => &mut self.fast_counters.ethernet_received,
        }
    }

    /// Counts a frame, in its current state, as sent by the fast path.
    pub(crate) fn count_sent(&mut self, exit: Exit, batch: &Batch, index: usize) {
        let octets = batch.data(index).map_or(0, <[u8]>::len);
        match exit {
            Exit::Network(_) => self.fast_counters.ip_sent.count(octets),
            Exit::Tunnel { .. } => self.fast_counters.gtpu_sent.count(octets),
        }
        self.fast_counters.forwarded += 1;
        self.disposition = Disposition::Forwarded;
    }
}
