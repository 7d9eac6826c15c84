//! A wrapper that records the frames of a port.

use causeway_packet::{Batch, Frame};

use crate::capture::{Passage, Tap};
use crate::port::forward_to_port;
use crate::{Port, PortError};

/// A port that records every frame, in both directions, while the capture is enabled.
///
/// Frames to send are recorded before the port accepts them, including those that it then drops.
pub struct TracedPort<P> {
    inner: P,
    tap: Tap,
}

impl<P: Port> TracedPort<P> {
    /// Records the frames of `inner`.
    pub const fn new(inner: P, tap: Tap) -> Self {
        Self { inner, tap }
    }

    /// The port, without recording.
    pub fn into_inner(self) -> P {
        self.inner
    }

    fn record<'a>(&self, passage: Passage, frames: impl Iterator<Item = Frame<'a>>) {
        if self.tap.capture().is_enabled() {
            frames.for_each(|frame| self.tap.record(passage, frame));
        }
    }
}

impl<P: Port> Port for TracedPort<P> {
    forward_to_port!(self, self.inner);

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        let count = self.inner.receive(batch)?;
        self.record(Passage::In, batch.frames());
        Ok(count)
    }

    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        self.record(Passage::Out, frames.iter().copied());
        self.inner.send(frames)
    }

    fn send_from(&mut self, batch: &mut Batch, frames: &[usize]) -> Result<usize, PortError> {
        self.record(Passage::Out, frames.iter().filter_map(|index| batch.frame(*index)));
        self.inner.send_from(batch, frames)
    }

    fn has_pending(&self) -> bool {
        self.inner.has_pending()
    }
}
