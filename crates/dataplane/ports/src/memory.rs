//! A pair of ports in one process: what one sends, the other receives.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use causeway_packet::{Batch, Frame, Meta};

use crate::{Counter, Counters, Port, PortError, Waker};

/// The default capacity of a queue, in frames.
pub const DEFAULT_CAPACITY: usize = 1024;

/// One direction between two ports.
struct Queue {
    frames: Mutex<VecDeque<(Meta, Vec<u8>)>>,
    capacity: usize,
    arrived: Waker,
}

impl Queue {
    fn new(capacity: usize) -> Result<Self, PortError> {
        let arrived = Waker::new()
            .map_err(|source| PortError::System { operation: "opening a memory port".into(), source })?;
        Ok(Self { frames: Mutex::default(), capacity, arrived })
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Meta, Vec<u8>)>> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, frame: Frame<'_>) -> bool {
        let mut frames = self.lock();
        let has_capacity = frames.len() < self.capacity;
        if has_capacity {
            frames.push_back((frame.meta, frame.data.to_vec()));
            self.arrived.wake();
        }
        has_capacity
    }
}

/// One end of a pair. Unlike the other ports it allocates per packet: it is for tests.
pub struct MemoryPort {
    name: String,
    mtu: u32,
    counters: Arc<Counters>,
    receive_queue: Arc<Queue>,
    transmit_queue: Arc<Queue>,
}

/// Two connected ports with queues of [`DEFAULT_CAPACITY`] frames and an MTU of 65535 octets.
///
/// # Errors
/// The process has no descriptor left.
pub fn pair(a: &str, b: &str) -> Result<(MemoryPort, MemoryPort), PortError> {
    pair_with(a, b, DEFAULT_CAPACITY, u32::from(u16::MAX))
}

/// Two connected ports with queues of `capacity` frames and an MTU of `mtu` octets.
///
/// # Errors
/// The process has no descriptor left.
pub fn pair_with(a: &str, b: &str, capacity: usize, mtu: u32) -> Result<(MemoryPort, MemoryPort), PortError> {
    let to_a = Arc::new(Queue::new(capacity)?);
    let to_b = Arc::new(Queue::new(capacity)?);
    let end = |name: &str, receive_queue: &Arc<Queue>, transmit_queue: &Arc<Queue>| MemoryPort {
        name: name.to_owned(),
        mtu,
        counters: Arc::default(),
        receive_queue: Arc::clone(receive_queue),
        transmit_queue: Arc::clone(transmit_queue),
    };
    Ok((end(a, &to_a, &to_b), end(b, &to_b, &to_a)))
}

impl MemoryPort {
    /// Removes the oldest frame at this end.
    pub fn pop(&mut self) -> Option<(Meta, Vec<u8>)> {
        let frame = self.receive_queue.lock().pop_front();
        if let Some((_, data)) = &frame {
            self.counters.received(1, data.len());
        }
        frame
    }

    /// Sends one frame to the other end. `false` when it was dropped and counted.
    pub fn push(&mut self, meta: Meta, data: &[u8]) -> bool {
        self.put(Frame { meta, data })
    }

    /// The number of frames at this end.
    pub fn waiting(&self) -> usize {
        self.receive_queue.lock().len()
    }

    fn put(&self, frame: Frame<'_>) -> bool {
        let too_big = frame.data.len() > self.mtu as usize;
        let sent = !too_big && self.transmit_queue.push(frame);
        match (sent, too_big) {
            (true, _) => self.counters.sent(1, frame.data.len()),
            (false, true) => self.counters.add(Counter::TxTooBig, 1),
            (false, false) => self.counters.add(Counter::TxWouldBlock, 1),
        }
        sent
    }
}

impl Port for MemoryPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn mtu(&self) -> u32 {
        self.mtu
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        batch.clear();
        self.receive_queue.arrived.reset();
        let mut frames = self.receive_queue.lock();
        while !batch.is_full() {
            let Some((meta, data)) = frames.pop_front() else { break };
            match batch.push(Frame { meta, data: &data }) {
                true => self.counters.received(1, data.len()),
                false => self.counters.add(Counter::RxTruncated, 1),
            }
        }
        if !frames.is_empty() {
            self.receive_queue.arrived.wake();
        }
        Ok(batch.len())
    }

    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        Ok(frames.iter().filter(|frame| self.put(**frame)).count())
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.receive_queue.arrived.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use causeway_packet::BATCH;

    use super::*;
    use crate::wait;

    fn ip(data: &[u8]) -> Frame<'_> {
        Frame { meta: Meta::Ip, data }
    }

    // Input:  one frame more than a batch, sent at one end.
    // Output: the other end is ready, gives a full batch, is still ready, gives the last, and is no longer ready.
    #[test]
    fn frames_arrive_in_order_and_the_poller_sees_them() {
        let (mut a, mut b) = pair("a", "b").unwrap();
        for n in 0..=BATCH as u8 {
            assert_eq!(a.send(&[ip(&[n])]).unwrap(), 1);
        }
        let mut batch = Batch::new();
        assert!(wait([&a as &dyn Port, &b], None, None).unwrap().port(1));
        assert_eq!(b.receive(&mut batch).unwrap(), BATCH);
        assert_eq!(batch.frame(BATCH - 1), Some(ip(&[BATCH as u8 - 1])));
        assert!(wait([&b as &dyn Port], None, None).unwrap().port(0));
        assert_eq!(b.receive(&mut batch).unwrap(), 1);
        assert!(wait([&b as &dyn Port], None, Some(Duration::ZERO)).unwrap().is_empty());
        assert_eq!(b.counters().value(Counter::Rx), BATCH as u64 + 1);
    }

    // Input:  three frames into a queue of two, one above the MTU, and one longer than the buffers of the receiver.
    // Output: each lost frame is in its own counter.
    #[test]
    fn losses_are_counted() {
        let (mut a, mut b) = pair_with("a", "b", 2, 3000).unwrap();
        assert_eq!(a.send(&[ip(&[0; 3001]), ip(&[0; 2500]), ip(&[1]), ip(&[2])]).unwrap(), 2);
        assert_eq!(b.receive(&mut Batch::new()).unwrap(), 1);
        assert_eq!(a.counters().value(Counter::TxTooBig), 1);
        assert_eq!(a.counters().value(Counter::TxWouldBlock), 1);
        assert_eq!(b.counters().value(Counter::RxTruncated), 1);
        assert_eq!(b.pop(), None);
    }
}
