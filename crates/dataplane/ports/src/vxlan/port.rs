//! One segment as a port.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use causeway_packet::{Batch, Frame};

use super::VxlanEndpoint;
use crate::{Counters, Port, PortError};

/// A segment at a [`VxlanEndpoint`].
pub struct VxlanPort {
    pub(super) endpoint: VxlanEndpoint,
    /// The number of the segment at its endpoint.
    pub(super) number: usize,
    pub(super) name: String,
    pub(super) mtu: u32,
    pub(super) counters: Arc<Counters>,
    /// A descriptor of the carrier.
    pub(super) fd: Option<OwnedFd>,
}

impl Port for VxlanPort {
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
        self.endpoint.lock().receive(self.number, batch)
    }

    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        self.endpoint.lock().send(self.number, self.mtu, frames)
    }

    fn send_from(&mut self, batch: &mut Batch, frames: &[usize]) -> Result<usize, PortError> {
        self.endpoint.lock().send_from(self.number, self.mtu, (batch, frames))
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    /// Another port of the endpoint may have received frames of this one.
    fn has_pending(&self) -> bool {
        self.endpoint.lock().has_pending(self.number)
    }

    fn fill_percent(&self) -> Option<u8> {
        self.endpoint.lock().fill_percent()
    }

    fn count_losses(&mut self) {
        self.endpoint.lock().count_losses(self.number);
    }

    fn use_counters(&mut self, counters: &Arc<Counters>) {
        self.counters = Arc::clone(counters);
        self.endpoint.lock().use_counters(self.number, counters);
    }
}
