//! Packets whose next hop is being resolved.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// The maximum number of packets at one port.
const CAPACITY: usize = 64;

/// The maximum time in the queue: the kernel sends three requests, a second apart.
const RESOLUTION_TIMEOUT: Duration = Duration::from_secs(4);

/// A queued packet.
pub(super) struct Packet {
    /// Its destination.
    pub(super) dst: IpAddr,
    /// The neighbour to resolve.
    pub(super) neighbour: IpAddr,
    /// When it was queued.
    pub(super) since: Instant,
    /// Octets at its front that the port added: not counted as payload.
    pub(super) header: usize,
    /// The packet from its IP header on.
    pub(super) octets: Vec<u8>,
}

/// The action on a queued packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum QueueVerdict {
    /// It stays in the queue.
    Wait,
    /// It is sent.
    Send,
    /// It is dropped.
    Drop,
}

/// The queued packets, in order.
#[derive(Default)]
pub(super) struct NeighbourQueue(VecDeque<Packet>);

impl NeighbourQueue {
    /// The queue is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A packet for that neighbour is queued already.
    pub(super) fn has(&self, neighbour: IpAddr) -> bool {
        self.0.iter().any(|packet| packet.neighbour == neighbour)
    }

    /// Queues a packet. `false` when the queue is full.
    pub(super) fn push(&mut self, packet: Packet) -> bool {
        let has_capacity = self.0.len() < CAPACITY;
        if has_capacity {
            self.0.push_back(packet);
        }
        has_capacity
    }

    /// Removes, in order, the packets to send. Returns them, and the number of dropped packets: by the verdict, or
    /// after the timeout.
    pub(super) fn release(
        &mut self,
        now: Instant,
        verdict: impl Fn(&Packet) -> QueueVerdict,
    ) -> (Vec<Packet>, u64) {
        let (mut going, mut dropped) = (Vec::new(), 0);
        for packet in std::mem::take(&mut self.0) {
            match verdict(&packet) {
                QueueVerdict::Send => going.push(packet),
                QueueVerdict::Wait if now.saturating_duration_since(packet.since) < RESOLUTION_TIMEOUT => {
                    self.0.push_back(packet);
                }
                QueueVerdict::Wait | QueueVerdict::Drop => dropped += 1,
            }
        }
        (going, dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u8, since: Instant) -> Packet {
        let ip = IpAddr::from([192, 0, 2, number]);
        Packet { dst: ip, neighbour: ip, since, header: 0, octets: vec![number] }
    }

    // Input:  packets for three neighbours: one resolved, one unreachable, one in resolution; later the last one.
    // Output: the first is sent, the second is dropped, the third stays until its timeout.
    #[test]
    fn each_packet_is_sent_kept_or_dropped() {
        let (start, mut waiting) = (Instant::now(), NeighbourQueue::default());
        for number in [1, 2, 3] {
            assert!(waiting.push(packet(number, start)));
        }
        let verdict = |packet: &Packet| match packet.octets[0] {
            1 => QueueVerdict::Send,
            2 => QueueVerdict::Drop,
            _ => QueueVerdict::Wait,
        };
        let (going, dropped) = waiting.release(start, verdict);
        assert_eq!((going.len(), going[0].octets[0], dropped), (1, 1, 1));
        assert!(waiting.has(IpAddr::from([192, 0, 2, 3])) && !waiting.has(IpAddr::from([192, 0, 2, 1])));
        assert_eq!(waiting.release(start + RESOLUTION_TIMEOUT, verdict).1, 1);
        assert!(waiting.is_empty());
    }

    // Input:  more packets than the queue holds.
    // Output: the excess is refused.
    #[test]
    fn the_queue_is_bounded() {
        let mut waiting = NeighbourQueue::default();
        let taken = (0..100).filter(|number| waiting.push(packet(*number, Instant::now()))).count();
        assert_eq!(taken, CAPACITY);
    }
}
