//! Drivers of a switch with in-process ports.

use causeway_types::Time;

use crate::Count;
use crate::driver::SwitchDriver;
use crate::model::{Model, Pipeline};

/// A driver of a model: frames can be put into its ports, and taken from them.
pub trait WithPorts: SwitchDriver {
    /// Receives a frame on a port. All its effects are complete on return.
    fn receive(&mut self, now: Time, port: u16, frame: &[u8]);

    /// The next frame that was transmitted on a port other than the CPU port, and the port.
    fn poll_sent(&mut self) -> Option<(u16, Vec<u8>)>;

    /// Counters by index, with their present values; zero for those that do not exist.
    fn indexed_counts(&mut self, counter: u32, indices: &[u32]) -> Vec<Count>;
}

impl<P: Pipeline> WithPorts for Model<P> {
    fn receive(&mut self, now: Time, port: u16, frame: &[u8]) {
        Self::receive(self, now, port, frame);
    }

    fn poll_sent(&mut self) -> Option<(u16, Vec<u8>)> {
        Self::poll_sent(self).map(|(_, port, frame)| (port, frame))
    }

    fn indexed_counts(&mut self, counter: u32, indices: &[u32]) -> Vec<Count> {
        let count = |index: &u32| self.state().indexed_count(counter, *index).unwrap_or_default();
        indices.iter().map(count).collect()
    }
}
