//! Packets whose next hop is being asked for.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Packets that may wait at one port.
const CAPACITY: usize = 64;

/// How long they wait: the kernel asks three times, a second each.
const RESOLUTION_TIMEOUT: Duration = Duration::from_secs(4);

/// A packet that waits.
pub(super) struct Packet {
    /// Where it goes.
    pub(super) dst: IpAddr,
    /// The neighbour it waits for.
    pub(super) neighbour: IpAddr,
    /// It waits since then.
    pub(super) since: Instant,
    /// Octets at its front that the port put there: not counted as payload.
    pub(super) header: usize,
    /// The packet from its IP header on.
    pub(super) octets: Vec<u8>,
}

/// What becomes of a packet that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum QueueVerdict {
    /// It goes on waiting.
    Wait,
    /// It can go.
    Send,
    /// It is dropped.
    Drop,
}

/// The packets that wait, in order.
#[derive(Default)]
pub(super) struct NeighbourQueue(VecDeque<Packet>);

impl NeighbourQueue {
    /// Nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Something waits for that neighbour already.
    pub(super) fn has(&self, neighbour: IpAddr) -> bool {
        self.0.iter().any(|packet| packet.neighbour == neighbour)
    }

    /// Lets a packet wait. `false` when too many do.
    pub(super) fn push(&mut self, packet: Packet) -> bool {
        let room = self.0.len() < CAPACITY;
        if room {
            self.0.push_back(packet);
        }
        room
    }

    /// Takes out, in order, the packets that can go. Returns them, and how many were dropped: by the verdict, or
    /// because they have waited for too long.
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

    // Input:  packets for three neighbours: one found, one silent, one still asked for; later the last one.
    // Output: the first goes, the second is dropped, the third stays until its patience ends.
    #[test]
    fn each_packet_goes_stays_or_is_dropped() {
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

    // Input:  more packets than may wait.
    // Output: the excess is refused.
    #[test]
    fn not_everything_may_wait() {
        let mut waiting = NeighbourQueue::default();
        let taken = (0..100).filter(|number| waiting.push(packet(*number, Instant::now()))).count();
        assert_eq!(taken, CAPACITY);
    }
}
