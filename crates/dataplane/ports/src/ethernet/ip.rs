//! N6: IP packets over Ethernet.

use std::collections::HashSet;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use arrayvec::ArrayVec;
use causeway_packet::{BATCH, Batch, Frame, Ip, Meta};

use super::interface::{EthernetInterface, OutgoingPacket};
use super::{Device, receive_filter};
use crate::sys::ethtool::GroDisabled;
use crate::{Counter, Counters, Port, PortError};

/// An N6 port on an Ethernet interface: receives every packet to its Ethernet address that is not for this host.
pub struct IpPackets<D> {
    line: EthernetInterface<D>,
    /// The local addresses: packets to them are for the kernel.
    local: HashSet<IpAddr>,
    /// Keeps receive offload of the interface off, which would join packets beyond the MTU.
    _joining: Option<GroDisabled>,
}

impl<D: Device> IpPackets<D> {
    pub(crate) const fn device(&self) -> &D {
        &self.line.device
    }

    pub(crate) fn new(line: EthernetInterface<D>, joining: Option<GroDisabled>) -> Self {
        let mut port = Self { line, local: HashSet::new(), _joining: joining };
        port.refresh_addresses();
        port
    }

    fn refresh_addresses(&mut self) {
        self.local.clear();
        self.local.extend(self.line.table().addresses.iter().map(|(_, net)| net.addr()));
    }

    fn refresh(&mut self) -> Result<(), PortError> {
        if self.line.refresh()? {
            self.refresh_addresses();
        }
        Ok(())
    }
}

fn outward(frame: &Frame<'_>) -> Result<OutgoingPacket, Counter> {
    let ip = Ip::parse(frame.data).ok().filter(|_| frame.meta == Meta::Ip).ok_or(Counter::TxWrongKind)?;
    Ok(OutgoingPacket { dst: ip.dst(), outer: ArrayVec::new() })
}

impl<D: Device> Port for IpPackets<D> {
    fn name(&self) -> &str {
        &self.line.name
    }

    fn mtu(&self) -> u32 {
        self.line.mtu()
    }

    fn use_counters(&mut self, counters: &Arc<Counters>) {
        self.line.counters = Arc::clone(counters);
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.line.counters
    }

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        batch.clear();
        self.refresh()?;
        let Self { line, local, .. } = self;
        Ok(line.receive(batch, |received, mac| receive_filter::ip(received, mac, local)))
    }

    /// A frame whose next hop is not resolved yet counts as accepted: it is queued until the kernel resolves it.
    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        self.refresh()?;
        frames.chunks(BATCH).map(|chunk| self.line.send(chunk, |frame, _| outward(frame))).sum()
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.line.poll_fd())
    }

    fn count_losses(&mut self) {
        self.line.count_losses();
    }

    fn fill_percent(&self) -> Option<u8> {
        self.line.device.fill_percent()
    }

    fn has_pending(&self) -> bool {
        self.line.device.has_pending()
    }
}
