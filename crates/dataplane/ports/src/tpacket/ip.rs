//! N6: IP packets over an Ethernet interface.

use std::collections::HashSet;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use arrayvec::ArrayVec;
use causeway_packet::Ip;

use super::line::{Line, Outward};
use super::{EthernetOptions, accept};
use crate::sys::ethtool;
use crate::{BATCH, Batch, Counter, Counters, Frame, Meta, Port, PortError};

/// An N6 port on an Ethernet interface: takes in every packet to its Ethernet address that is not for this machine.
///
/// Switches generic receive offload of the interface off, which would join packets beyond the MTU, and back on
/// when it is closed.
pub struct EthernetIp {
    line: Line,
    /// Our own addresses: what is for them is the kernel's.
    local: HashSet<IpAddr>,
    /// The interface whose receive offload is to be switched on again.
    offload: Option<String>,
}

impl EthernetIp {
    /// Takes the interface into use.
    ///
    /// # Errors
    /// [`PortError::InterfaceMissing`], [`PortError::NotEthernet`], [`PortError::KernelForwards`],
    /// [`PortError::Permission`], or [`PortError::System`].
    pub fn open(name: &str, options: &EthernetOptions) -> Result<Self, PortError> {
        let line = Line::open(name, options)?;
        if !options.allow_kernel_forwarding {
            refuse_forwarding(&options.interface)?;
        }
        let joined = ethtool::gro(&line.socket, &options.interface).unwrap_or(false);
        // A driver that cannot switch it off counts long packets as truncated.
        let offload = joined && ethtool::set_gro(&line.socket, &options.interface, false).is_ok();
        let offload = offload.then(|| options.interface.clone());
        let mut port = Self { line, local: HashSet::new(), offload };
        port.learn();
        Ok(port)
    }

    fn learn(&mut self) {
        self.local.clear();
        self.local.extend(self.line.table().addresses.iter().map(|(_, net)| net.addr()));
    }

    fn refresh(&mut self) -> Result<(), PortError> {
        if self.line.refresh()? {
            self.learn();
        }
        Ok(())
    }
}

impl Drop for EthernetIp {
    fn drop(&mut self) {
        if let Some(interface) = &self.offload {
            // The interface may be gone, and its settings with it.
            let _ = ethtool::set_gro(&self.line.socket, interface, true);
        }
    }
}

fn refuse_forwarding(interface: &str) -> Result<(), PortError> {
    for family in ["ipv4", "ipv6"] {
        let setting = format!("/proc/sys/net/{family}/conf/{interface}/forwarding");
        if std::fs::read_to_string(setting).is_ok_and(|value| value.trim() != "0") {
            return Err(PortError::KernelForwards { name: interface.to_owned(), family });
        }
    }
    Ok(())
}

fn outward(frame: &Frame<'_>) -> Result<Outward, Counter> {
    let ip = Ip::parse(frame.data).ok().filter(|_| frame.meta == Meta::Ip).ok_or(Counter::TxWrongKind)?;
    Ok(Outward { dst: ip.dst(), outer: ArrayVec::new() })
}

impl Port for EthernetIp {
    fn name(&self) -> &str {
        &self.line.name
    }

    fn mtu(&self) -> u32 {
        self.line.mtu()
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.line.counters
    }

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        batch.clear();
        self.refresh()?;
        let Self { line, local, .. } = self;
        Ok(line.receive(batch, |received, mac| accept::ip(received, mac, local)))
    }

    /// A frame whose next hop is not known yet counts as taken: it waits for the kernel to find it.
    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        self.refresh()?;
        frames.chunks(BATCH).map(|chunk| self.line.send(chunk, |frame, _| outward(frame))).sum()
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.line.poll_fd())
    }
}
