//! Packets that the device dropped because its queue was full.

use crate::netlink::{Link, Netlink};

/// Counts the drops of a device. The kernel reports them by netlink only, and keeps the count as long as the device
/// exists.
pub(super) struct Losses {
    netlink: Netlink,
    index: u32,
    /// The drops that were reported already.
    reported: u64,
}

impl Losses {
    /// Counts for this device, from now on.
    pub(super) fn since(netlink: Netlink, link: &Link) -> Self {
        Self { netlink, index: link.index, reported: link.send_drops }
    }

    /// The number of drops since the last call. None where the device is gone or the kernel does not report it.
    pub(super) fn count(&mut self) -> u64 {
        let Ok(Some(link)) = self.netlink.link_at(self.index) else { return 0 };
        let new = link.send_drops.saturating_sub(self.reported);
        self.reported = link.send_drops;
        new
    }
}
