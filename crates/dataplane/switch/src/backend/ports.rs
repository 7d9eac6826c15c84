//! Drivers of a switch whose ports are here.

use causeway_types::Time;

use crate::Count;
use crate::driver::SwitchDriver;
use crate::model::{Model, Pipeline};

/// A driver of a model: frames can be put into its ports, and taken from them.
pub trait WithPorts: SwitchDriver {
    /// A frame comes by a port. What it leads to has happened when this returns.
    fn receive(&mut self, now: Time, port: u16, frame: &[u8]);

    /// A frame that left by a port other than the CPU's, and which.
    fn poll_sent(&mut self) -> Option<(u16, Vec<u8>)>;

    /// A counter by index, as it is now.
    fn indexed_count(&self, counter: u32, index: u32) -> Option<Count>;
}

impl<P: Pipeline> WithPorts for Model<P> {
    fn receive(&mut self, now: Time, port: u16, frame: &[u8]) {
        Self::receive(self, now, port, frame);
    }

    fn poll_sent(&mut self) -> Option<(u16, Vec<u8>)> {
        Self::poll_sent(self).map(|(_, port, frame)| (port, frame))
    }

    fn indexed_count(&self, counter: u32, index: u32) -> Option<Count> {
        self.state().indexed_count(counter, index)
    }
}
