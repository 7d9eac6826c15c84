//! IP packets through a TUN device: the data network is the network that the kernel routes to.
//!
//! Where the kernel supports it, TCP segments and UDP datagrams of one flow cross the device together, in one packet
//! of up to 64 KiB, and without checksums. The port segments and completes what it receives, and coalesces what it
//! sends if the kernel will segment it into the same octets. So the port always delivers and accepts whole packets,
//! each with its checksums.
//! checksums.

mod coalesce;
mod layout;
mod losses;
mod offload;
mod open;
mod receive;
mod segment;
mod send;
#[cfg(test)]
mod tests;
mod virtio;

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use crate::netlink::Link;
use crate::{Counter, Counters, Port, PortError};
use causeway_packet::{Batch, Frame};
use losses::Losses;
use receive::TunReceiver;
use send::TunSender;

pub use offload::TunOffload;
pub use open::TunOptions;
pub(crate) use open::open_device;

/// An N6 port on a TUN device.
pub struct TunPort {
    name: String,
    file: File,
    link: Link,
    /// `None`: packets have no header before them.
    offload: Option<TunOffload>,
    counters: Arc<Counters>,
    intake: TunReceiver,
    outlet: TunSender,
    /// Of several ports on one device, one counts the drops of the device.
    losses: Option<Losses>,
}

impl TunPort {
    /// The device after its configuration.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// The offloads in use.
    pub fn offload(&self) -> TunOffload {
        self.offload.unwrap_or_default()
    }
}

impl Port for TunPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn mtu(&self) -> u32 {
        self.link.mtu
    }

    fn use_counters(&mut self, counters: &Arc<Counters>) {
        self.counters = Arc::clone(counters);
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        batch.clear();
        let received = self.intake.receive(&self.file, batch, &self.counters);
        received.map_err(|errno| PortError::lost(&self.name, errno))?;
        Ok(batch.len())
    }

    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        let Self { name, file, counters, outlet, .. } = self;
        outlet.send(file, frames, counters).map_err(|errno| PortError::lost(name, errno))
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }

    fn has_pending(&self) -> bool {
        self.intake.is_waiting()
    }

    fn count_losses(&mut self) {
        if let Some(losses) = &mut self.losses {
            self.counters.add(Counter::RxOverrun, losses.count());
        }
    }
}
