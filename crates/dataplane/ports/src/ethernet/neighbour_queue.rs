//! Packets whose next hop is being resolved.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::recent_requests::RecentRequests;

/// The maximum number of packets at one port.
const CAPACITY: usize = 256;

/// The maximum number of packets for one neighbour: a batch, as the first packets to it may come at once.
const CAPACITY_PER_NEIGHBOUR: usize = 64;

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

/// The action on a packet for a neighbour without a known address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Admission {
    /// The kernel is to be asked for the neighbour.
    pub(super) asks: bool,
    /// The packet is queued, otherwise dropped.
    pub(super) queues: bool,
}

/// The queued packets, in order, and the requests to the kernel for their neighbours.
#[derive(Default)]
pub(super) struct NeighbourQueue {
    packets: VecDeque<Packet>,
    /// The number of packets for each neighbour that has any.
    counts: HashMap<IpAddr, usize>,
    /// Independent of the packets: packets that find no place make no requests.
    pub(super) requests: RecentRequests,
}

impl NeighbourQueue {
    /// The queue is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The action on a packet for this neighbour. `failed`: the neighbour did not answer the last request.
    pub(super) fn admit(&mut self, neighbour: IpAddr, failed: bool, now: Instant) -> Admission {
        let asks = self.requests.admit(neighbour, now);
        let has_place = self.counts.get(&neighbour).is_none_or(|count| *count < CAPACITY_PER_NEIGHBOUR);
        Admission { asks, queues: (asks || !failed) && has_place }
    }

    /// Queues an admitted packet. `true` when the oldest one was dropped for it: the queue was full.
    pub(super) fn push(&mut self, packet: Packet) -> bool {
        let is_full = self.packets.len() >= CAPACITY;
        if is_full {
            self.drop_oldest();
        }
        self.keep(packet);
        is_full
    }

    fn keep(&mut self, packet: Packet) {
        *self.counts.entry(packet.neighbour).or_default() += 1;
        self.packets.push_back(packet);
    }

    fn drop_oldest(&mut self) {
        let Some(Packet { neighbour, .. }) = self.packets.pop_front() else { return };
        let Some(count) = self.counts.get_mut(&neighbour) else { return };
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&neighbour);
        }
    }

    /// Drops the packets that have been queued for the timeout. Returns their number.
    pub(super) fn expire(&mut self, now: Instant) -> u64 {
        let is_over = |packet: &Packet| now.saturating_duration_since(packet.since) >= RESOLUTION_TIMEOUT;
        let mut dropped = 0;
        while self.packets.front().is_some_and(is_over) {
            self.drop_oldest();
            dropped += 1;
        }
        dropped
    }

    /// Removes, in order, the packets to send. Returns them, and the number of dropped packets.
    pub(super) fn release(&mut self, verdict: impl Fn(&Packet) -> QueueVerdict) -> (Vec<Packet>, u64) {
        let (mut going, mut dropped) = (Vec::new(), 0);
        self.counts.clear();
        for packet in std::mem::take(&mut self.packets) {
            match verdict(&packet) {
                QueueVerdict::Send => going.push(packet),
                QueueVerdict::Wait => self.keep(packet),
                QueueVerdict::Drop => dropped += 1,
            }
        }
        (going, dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethernet::recent_requests::REQUEST_INTERVAL;

    fn ip(number: u16) -> IpAddr {
        IpAddr::from([10, 1, (number >> 8) as u8, number as u8])
    }

    fn packet(number: u16, since: Instant) -> Packet {
        Packet { dst: ip(number), neighbour: ip(number), since, header: 0, octets: vec![number as u8] }
    }

    /// Queues packets for a neighbour. Returns how many were queued, and how often the kernel was asked.
    fn queue(waiting: &mut NeighbourQueue, number: u16, count: usize, now: Instant) -> (usize, usize) {
        let (mut queued, mut asked) = (0, 0);
        for _ in 0..count {
            let Admission { asks, queues } = waiting.admit(ip(number), false, now);
            asked += usize::from(asks);
            if queues {
                waiting.push(packet(number, now));
                queued += 1;
            }
        }
        (queued, asked)
    }

    // Input:  packets for three neighbours: one resolved, one unreachable, one in resolution; later the last one.
    // Output: the first is sent, the second is dropped, the third stays until its timeout.
    #[test]
    fn each_packet_is_sent_kept_or_dropped() {
        let (start, mut waiting) = (Instant::now(), NeighbourQueue::default());
        for number in [1, 2, 3] {
            assert!(!waiting.push(packet(number, start)));
        }
        let (going, dropped) = waiting.release(|packet| match packet.octets[0] {
            1 => QueueVerdict::Send,
            2 => QueueVerdict::Drop,
            _ => QueueVerdict::Wait,
        });
        assert_eq!((going.len(), going[0].octets[0], dropped), (1, 1, 1));
        assert_eq!((waiting.packets.len(), waiting.counts.get(&ip(3))), (1, Some(&1)));
        let just_before = RESOLUTION_TIMEOUT.saturating_sub(Duration::from_millis(1));
        assert_eq!([just_before, RESOLUTION_TIMEOUT].map(|time| waiting.expire(start + time)), [0, 1]);
        assert!(waiting.is_empty() && waiting.counts.is_empty());
    }

    // Input:  100 packets to a neighbour that does not answer, then 1,000 to a second one within a second, then one to a
    //         third, which the kernel resolves; a second later one packet more to each.
    // Output: each of the first two has 64 packets and one request in a second; the third one's packet is queued,
    //         and sent when it is resolved.
    #[test]
    fn a_dead_neighbour_takes_neither_places_nor_requests_of_others() {
        let (start, mut waiting) = (Instant::now(), NeighbourQueue::default());
        assert_eq!(queue(&mut waiting, 1, 100, start), (CAPACITY_PER_NEIGHBOUR, 1));
        assert_eq!(queue(&mut waiting, 2, 1000, start), (CAPACITY_PER_NEIGHBOUR, 1));
        assert_eq!(queue(&mut waiting, 3, 1, start), (1, 1));
        let (going, dropped) = waiting.release(|packet| match packet.neighbour == ip(3) {
            true => QueueVerdict::Send,
            false => QueueVerdict::Wait,
        });
        assert_eq!((going.len(), going[0].dst, dropped), (1, ip(3), 0));
        let later = start + REQUEST_INTERVAL;
        assert_eq!([1, 2].map(|number| queue(&mut waiting, number, 1, later)), [(0, 1); 2]);
    }

    // Input:  packets to a neighbour that did not answer the last request, at once and a second after that request.
    // Output: the first is dropped without a request, the second is queued with one.
    #[test]
    fn a_failed_neighbour_is_asked_again_after_a_second() {
        let (start, mut waiting) = (Instant::now(), NeighbourQueue::default());
        assert_eq!(queue(&mut waiting, 1, 1, start), (1, 1));
        assert_eq!(waiting.release(|_| QueueVerdict::Drop).1, 1);
        let mut admit = |time| waiting.admit(ip(1), true, start + time);
        assert_eq!(admit(Duration::ZERO), Admission { asks: false, queues: false });
        assert_eq!(admit(REQUEST_INTERVAL), Admission { asks: true, queues: true });
    }

    // Input:  packets to more neighbours than the queue has places, one each, and the neighbour of the last is resolved.
    // Output: the oldest packets are dropped; the last one is sent.
    #[test]
    fn the_queue_is_bounded() {
        let (start, mut waiting) = (Instant::now(), NeighbourQueue::default());
        let dropped = (0..1000).filter(|number| waiting.push(packet(*number, start))).count();
        assert_eq!(
            (dropped, waiting.packets.len(), waiting.counts.len()),
            (1000 - CAPACITY, CAPACITY, CAPACITY)
        );
        let (going, _) = waiting.release(|packet| match packet.neighbour == ip(999) {
            true => QueueVerdict::Send,
            false => QueueVerdict::Wait,
        });
        assert_eq!(going.len(), 1);
    }
}
