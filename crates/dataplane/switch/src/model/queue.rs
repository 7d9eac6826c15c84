//! The queues of a port.

use std::collections::VecDeque;

use causeway_types::{Span, Time};

/// Queues of each port.
pub const QUEUES: usize = 32;

/// A port with strict priority between its queues, each of which is bounded and first-in first-out.
#[derive(Clone, Debug)]
pub(super) struct Port<T> {
    queues: Vec<VecDeque<(u64, T)>>,
    /// Octets in each queue.
    waiting: Vec<u64>,
    /// Capacity of a queue in octets.
    room: u64,
    /// Octets per second; `None`: unlimited.
    rate: Option<u64>,
    /// When the last packet was transmitted completely.
    free: Time,
}

impl<T> Port<T> {
    pub(super) fn new(rate: Option<u64>, room: u64) -> Self {
        let queues = (0..QUEUES).map(|_| VecDeque::new()).collect();
        Self { queues, waiting: vec![0; QUEUES], room, rate, free: Time::default() }
    }

    /// Enqueues a packet; false if its queue is full, or there is no such queue.
    pub(super) fn enqueue(&mut self, now: Time, queue: u8, octets: u64, packet: T) -> bool {
        let place = usize::from(queue);
        let (Some(packets), Some(waiting)) = (self.queues.get_mut(place), self.waiting.get_mut(place)) else {
            return false;
        };
        if *waiting + octets > self.room {
            return false;
        }
        *waiting += octets;
        packets.push_back((octets, packet));
        self.free = self.free.max(now);
        true
    }

    /// When the transmission of the next packet begins.
    pub(super) fn next(&self) -> Option<Time> {
        self.queues.iter().any(|queue| !queue.is_empty()).then_some(self.free)
    }

    /// The next packet, whose transmission begins at [`Port::next`].
    pub(super) fn dequeue(&mut self) -> Option<T> {
        let place = self.queues.iter().rposition(|queue| !queue.is_empty())?;
        let (octets, packet) = self.queues.get_mut(place)?.pop_front()?;
        if let Some(waiting) = self.waiting.get_mut(place) {
            *waiting -= octets;
        }
        if let Some(rate) = self.rate {
            let nanos = u128::from(octets) * 1_000_000_000 / u128::from(rate.max(1));
            self.free = self.free + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        }
        Some(packet)
    }

    pub(super) fn clear(&mut self) {
        self.queues.iter_mut().for_each(VecDeque::clear);
        self.waiting.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_secs(5) + Span::from_millis(millis)
    }

    // Input:  packets of 1000 octets in queues 0 and 7 of a port of 1 MB/s.
    // Output: one transmission begins each millisecond: queue 7 first, each queue in its order; immediately after a
    //         pause.
    #[test]
    fn higher_queues_go_first() {
        let mut port = Port::new(Some(1_000_000), 10_000);
        for (queue, packet) in [(0, 'a'), (0, 'b'), (7, 'c'), (7, 'd')] {
            assert!(port.enqueue(at(0), queue, 1000, packet));
        }
        let remaining: Vec<(Time, char)> =
            std::iter::from_fn(|| Some((port.next()?, port.dequeue()?))).collect();
        assert_eq!(remaining, [(at(0), 'c'), (at(1), 'd'), (at(2), 'a'), (at(3), 'b')]);
        assert!(port.enqueue(at(10), 0, 1000, 'e'));
        assert_eq!(port.next(), Some(at(10)));
    }

    // Input:  a queue with a capacity of 2500 octets.
    // Output: a third packet of 1000 octets does not fit; another queue has its own capacity; queue 32 does not exist.
    #[test]
    fn a_full_queue_drops() {
        let mut port = Port::new(None, 2500);
        let entered = [0, 0, 0, 1, 32].map(|queue| port.enqueue(at(0), queue, 1000, ()));
        assert_eq!(entered, [true, true, false, true, false]);
        assert!(port.dequeue().is_some() && port.dequeue().is_some() && port.enqueue(at(0), 0, 1000, ()));
        port.clear();
        assert_eq!(port.next(), None);
    }
}
