//! A wrapper that damages what crosses a port, in a way that can be repeated.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use fastrand::Rng;

use crate::{Batch, Counters, Frame, Meta, Port, PortError};

/// How often each fault happens to a frame: probabilities from 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Faults {
    /// The frame is lost.
    pub drop: f64,
    /// The frame comes twice.
    pub duplicate: f64,
    /// The frame overtakes, or is overtaken by, another one.
    pub reorder: f64,
    /// One bit of the frame is flipped.
    pub corrupt: f64,
    /// The frame loses its end.
    pub truncate: f64,
    /// The frame is held back.
    pub delay: f64,
    /// For how many calls at most.
    pub max_delay: u32,
}

/// How often each fault has happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultCounts {
    /// Frames lost.
    pub dropped: u64,
    /// Frames doubled.
    pub duplicated: u64,
    /// Frames out of order.
    pub reordered: u64,
    /// Frames with a flipped bit.
    pub corrupted: u64,
    /// Frames cut.
    pub truncated: u64,
    /// Frames held back.
    pub delayed: u64,
}

/// A frame on its way.
struct Held {
    /// Calls until it goes on.
    calls: u32,
    meta: Meta,
    data: Vec<u8>,
}

/// One direction.
struct Line {
    faults: Faults,
    counts: FaultCounts,
    rng: Rng,
    queue: VecDeque<Held>,
}

impl Line {
    fn new(faults: Faults, seed: u64) -> Self {
        Self { faults, counts: FaultCounts::default(), rng: Rng::with_seed(seed), queue: VecDeque::new() }
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.rng.f64() < probability
    }

    /// One call has passed for the frames held back.
    fn tick(&mut self) {
        self.queue.iter_mut().for_each(|held| held.calls = held.calls.saturating_sub(1));
    }

    fn take_in(&mut self, frame: Frame<'_>) {
        if self.happens(self.faults.drop) {
            self.counts.dropped += 1;
            return;
        }
        let mut data = frame.data.to_vec();
        self.damage(&mut data);
        if self.happens(self.faults.duplicate) {
            self.counts.duplicated += 1;
            self.enqueue(frame.meta, data.clone());
        }
        self.enqueue(frame.meta, data);
    }

    fn damage(&mut self, data: &mut Vec<u8>) {
        if self.happens(self.faults.corrupt) && !data.is_empty() {
            let (at, bit) = (self.rng.usize(..data.len()), self.rng.u8(..8));
            data[at] ^= 1 << bit;
            self.counts.corrupted += 1;
        }
        if self.happens(self.faults.truncate) && !data.is_empty() {
            data.truncate(self.rng.usize(..data.len()));
            self.counts.truncated += 1;
        }
    }

    fn enqueue(&mut self, meta: Meta, data: Vec<u8>) {
        let mut held = Held { calls: 0, meta, data };
        if self.happens(self.faults.delay) {
            held.calls = self.rng.u32(1..=self.faults.max_delay.max(1));
            self.counts.delayed += 1;
        }
        if self.happens(self.faults.reorder) {
            self.counts.reordered += 1;
            match self.queue.len() {
                // With nobody to overtake, the next one overtakes it.
                0 => held.calls = held.calls.max(1),
                others => return self.queue.insert(self.rng.usize(..others), held),
            }
        }
        self.queue.push_back(held);
    }

    /// The oldest frame that is held back no longer.
    fn next(&mut self) -> Option<Held> {
        let at = self.queue.iter().position(|held| held.calls == 0)?;
        self.queue.remove(at)
    }
}

/// A port with faults on its line. The same seed and the same traffic give the same faults.
///
/// It allocates per frame: it is for tests. The counters are those of the port inside; see [`Faulty::counts`].
pub struct Faulty<P> {
    inner: P,
    inward: Line,
    outward: Line,
    received: Batch,
}

impl<P: Port> Faulty<P> {
    /// Puts faults on the line of `inner`: on what it receives, and on what it is given to send.
    pub fn new(inner: P, inward: Faults, outward: Faults, seed: u64) -> Self {
        let (inward, outward) = (Line::new(inward, seed), Line::new(outward, !seed));
        Self { inner, inward, outward, received: Batch::new() }
    }

    /// The faults that happened to received frames, and to those to send.
    pub const fn counts(&self) -> (FaultCounts, FaultCounts) {
        (self.inward.counts, self.outward.counts)
    }

    fn flush_outward(&mut self) -> Result<usize, PortError> {
        let mut sent = 0;
        while let Some(held) = self.outward.next() {
            sent += self.inner.send(&[Frame { meta: held.meta, data: &held.data }])?;
        }
        Ok(sent)
    }
}

impl<P: Port> Port for Faulty<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn mtu(&self) -> u32 {
        self.inner.mtu()
    }

    fn counters(&self) -> &Arc<Counters> {
        self.inner.counters()
    }

    /// Each call, also one that finds nothing, lets the frames held back come one call nearer.
    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        batch.clear();
        self.outward.tick();
        self.flush_outward()?;
        self.inward.tick();
        if self.received.frame_size() < batch.frame_size() {
            self.received = Batch::with_frame_size(batch.frame_size());
        }
        self.inner.receive(&mut self.received)?;
        self.received.frames().for_each(|frame| self.inward.take_in(frame));
        while !batch.is_full() {
            let Some(held) = self.inward.next() else { break };
            if !batch.push(Frame { meta: held.meta, data: &held.data }) {
                self.inward.counts.dropped += 1;
            }
        }
        Ok(batch.len())
    }

    /// Returns how many frames were taken, all of them, whatever becomes of them on the line.
    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        self.outward.tick();
        frames.iter().for_each(|frame| self.outward.take_in(*frame));
        self.flush_outward()?;
        Ok(frames.len())
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.inner.poll_fd()
    }

    fn count_losses(&mut self) {
        self.inner.count_losses();
    }

    fn filled(&self) -> Option<u8> {
        self.inner.filled()
    }

    fn pending(&self) -> bool {
        self.inner.pending() || !self.inward.queue.is_empty() || !self.outward.queue.is_empty()
    }
}
