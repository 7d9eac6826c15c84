//! IP packets through a TUN device: the data network is whatever the kernel routes there.
//!
//! Where the kernel has it, TCP segments and UDP datagrams of one flow cross the device together, in one packet of up to
//! 64 KiB, and checksums are left out: the port cuts and sums what it receives, and joins what it sends if the kernel
//! will cut it into the same octets. So what the port hands over and takes are always whole packets, each with its
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
use crate::{Batch, Counter, Counters, Frame, Port, PortError};
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
    /// Of several ports on one device one counts what the device drops.
    losses: Option<Losses>,
}

impl TunPort {
    /// The device as it was set up.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// What crosses the device uncut or without checksums.
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
