//! Packets that the device dropped because nobody took them.

use crate::netlink::{Link, Netlink};

/// Counts what a device drops. The kernel tells by netlink only, and keeps the count as long as the device is there.
pub(super) struct Losses {
    netlink: Netlink,
    index: u32,
    /// What was told already.
    reported: u64,
}

impl Losses {
    /// Of this device, from now on.
    pub(super) fn since(netlink: Netlink, link: &Link) -> Self {
        Self { netlink, index: link.index, reported: link.send_drops }
    }

    /// How many there were since this was asked last. None where the device is gone or the kernel does not say.
    pub(super) fn count(&mut self) -> u64 {
        let Ok(Some(link)) = self.netlink.link_at(self.index) else { return 0 };
        let new = link.send_drops.saturating_sub(self.reported);
        self.reported = link.send_drops;
        new
    }
}
