//! A wrapper that injects reproducible faults into the traffic of a port.

use std::collections::VecDeque;

use causeway_packet::{Batch, Frame, Meta};
use fastrand::Rng;

use crate::port::forward_to_port;
use crate::{Port, PortError};

/// The probability of each fault for a frame, from 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Faults {
    /// The frame is lost.
    pub drop: f64,
    /// The frame is duplicated.
    pub duplicate: f64,
    /// The frame overtakes another one, or is overtaken.
    pub reorder: f64,
    /// One bit of the frame is flipped.
    pub corrupt: f64,
    /// The frame is truncated.
    pub truncate: f64,
    /// The frame is delayed.
    pub delay: f64,
    /// The maximum delay, in calls.
    pub max_delay: u32,
}

/// The number of faults of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultCounts {
    /// Frames lost.
    pub dropped: u64,
    /// Frames duplicated.
    pub duplicated: u64,
    /// Frames out of order.
    pub reordered: u64,
    /// Frames with a flipped bit.
    pub corrupted: u64,
    /// Frames truncated.
    pub truncated: u64,
    /// Frames delayed.
    pub delayed: u64,
}

/// A delayed frame.
struct DelayedFrame {
    /// Calls until it is delivered.
    calls: u32,
    meta: Meta,
    data: Vec<u8>,
}

/// One direction.
struct FaultyDirection {
    faults: Faults,
    counts: FaultCounts,
    rng: Rng,
    queue: VecDeque<DelayedFrame>,
}

impl FaultyDirection {
    fn new(faults: Faults, seed: u64) -> Self {
        Self { faults, counts: FaultCounts::default(), rng: Rng::with_seed(seed), queue: VecDeque::new() }
    }

    fn should_inject(&mut self, probability: f64) -> bool {
        self.rng.f64() < probability
    }

    /// Counts one call for the delayed frames.
    fn advance(&mut self) {
        self.queue.iter_mut().for_each(|held| held.calls = held.calls.saturating_sub(1));
    }

    fn receive(&mut self, frame: Frame<'_>) {
        if self.should_inject(self.faults.drop) {
            self.counts.dropped += 1;
            return;
        }
        let mut data = frame.data.to_vec();
        self.corrupt(&mut data);
        if self.should_inject(self.faults.duplicate) {
            self.counts.duplicated += 1;
            self.enqueue(frame.meta, data.clone());
        }
        self.enqueue(frame.meta, data);
    }

    fn corrupt(&mut self, data: &mut Vec<u8>) {
        if self.should_inject(self.faults.corrupt) && !data.is_empty() {
            let (at, bit) = (self.rng.usize(..data.len()), self.rng.u8(..8));
            data[at] ^= 1 << bit;
            self.counts.corrupted += 1;
        }
        if self.should_inject(self.faults.truncate) && !data.is_empty() {
            data.truncate(self.rng.usize(..data.len()));
            self.counts.truncated += 1;
        }
    }

    fn enqueue(&mut self, meta: Meta, data: Vec<u8>) {
        let mut held = DelayedFrame { calls: 0, meta, data };
        if self.should_inject(self.faults.delay) {
            held.calls = self.rng.u32(1..=self.faults.max_delay.max(1));
            self.counts.delayed += 1;
        }
        if self.should_inject(self.faults.reorder) {
            self.counts.reordered += 1;
            match self.queue.len() {
                // Without a frame to overtake, the next one overtakes it.
                0 => held.calls = held.calls.max(1),
                others => return self.queue.insert(self.rng.usize(..others), held),
            }
        }
        self.queue.push_back(held);
    }

    /// The oldest frame whose delay has ended.
    fn next(&mut self) -> Option<DelayedFrame> {
        let at = self.queue.iter().position(|held| held.calls == 0)?;
        self.queue.remove(at)
    }
}

/// A port with fault injection. The same seed and the same traffic give the same faults.
///
/// It allocates per frame: it is for tests. The counters are those of the port inside; see [`FaultInjector::counts`].
pub struct FaultInjector<P> {
    inner: P,
    receive: FaultyDirection,
    transmit: FaultyDirection,
    received: Batch,
}

impl<P: Port> FaultInjector<P> {
    /// Injects faults into the traffic of `inner`: received frames, and frames to send.
    pub fn new(inner: P, inward: Faults, outward: Faults, seed: u64) -> Self {
        let (inward, outward) = (FaultyDirection::new(inward, seed), FaultyDirection::new(outward, !seed));
        Self { inner, receive: inward, transmit: outward, received: Batch::new() }
    }

    /// The faults of received frames, and of frames to send.
    pub const fn counts(&self) -> (FaultCounts, FaultCounts) {
        (self.receive.counts, self.transmit.counts)
    }

    fn flush_outward(&mut self) -> Result<usize, PortError> {
        let mut sent = 0;
        while let Some(held) = self.transmit.next() {
            sent += self.inner.send(&[Frame { meta: held.meta, data: &held.data }])?;
        }
        Ok(sent)
    }
}

impl<P: Port> Port for FaultInjector<P> {
    forward_to_port!(self, self.inner);

    /// Each call, also one that finds nothing, counts for delayed frames.
    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        batch.clear();
        self.transmit.advance();
        self.flush_outward()?;
        self.receive.advance();
        if self.received.frame_size() < batch.frame_size() {
            self.received = Batch::with_frame_size(batch.frame_size());
        }
        self.inner.receive(&mut self.received)?;
        self.received.frames().for_each(|frame| self.receive.receive(frame));
        while !batch.is_full() {
            let Some(held) = self.receive.next() else { break };
            if !batch.push(Frame { meta: held.meta, data: &held.data }) {
                self.receive.counts.dropped += 1;
            }
        }
        Ok(batch.len())
    }

    /// Returns how many frames were accepted: all of them, whatever fault they get.
    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        self.transmit.advance();
        frames.iter().for_each(|frame| self.transmit.receive(*frame));
        self.flush_outward()?;
        Ok(frames.len())
    }

    fn has_pending(&self) -> bool {
        self.inner.has_pending() || !self.receive.queue.is_empty() || !self.transmit.queue.is_empty()
    }
}
