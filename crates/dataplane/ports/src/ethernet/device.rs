//! Devices that send and receive whole frames below the ports.

use std::os::fd::BorrowedFd;

use arrayvec::ArrayVec;
use rustix::io::Errno;

use super::egress::ETHERNET;
use crate::Counters;
use crate::outer::OUTER;

/// An Ethernet header with an outer header after it, at most.
pub(crate) type Header = ArrayVec<u8, { ETHERNET + OUTER }>;

/// The verification state of the TCP or UDP checksum of a received packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChecksumState {
    /// Not verified.
    Unverified,
    /// Verified by hardware.
    Verified,
    /// A sender on this host left it to hardware, which did not complete it.
    Incomplete,
    /// Unverified or incomplete: only the field itself tells.
    Unknown,
}

/// A received frame, still in the memory of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// Its octets, from the destination address.
    pub data: &'a [u8],
    /// Its length on the wire.
    pub len: usize,
    /// The state of the checksum after its IP header.
    pub sum: ChecksumState,
    /// The VLAN tag that was removed.
    pub vlan: Option<u16>,
}

/// Sends and receives frames on one interface, without blocking.
pub trait Device: Send {
    /// The next received frame, valid until the next call.
    fn next(&mut self) -> Option<Received<'_>>;

    /// Called after the last of a series of [`Device::next`]: returns frames to the kernel and counts losses.
    fn finish_receive(&mut self, counters: &Counters);

    /// Sends frames, each a header with a payload after it, and counts each in one counter. Returns how many were
    /// accepted.
    ///
    /// # Errors
    /// Only errors that make the device unusable.
    fn transmit(&mut self, frames: &[(Header, &[u8])], counters: &Counters) -> Result<usize, Errno>;

    /// Readable when [`Device::next`] has something to do.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;

    /// The link has changed. A link that went down may have left a pending error, which must not affect a later
    /// frame.
    fn link_changed(&mut self) {}

    /// The used part of the receive capacity, in percent. `None` where it is unknown.
    fn fill_percent(&self) -> Option<u8> {
        None
    }

    /// Counts losses since this or [`Device::finish_receive`] was last called.
    fn count_losses(&mut self, _counters: &Counters) {}

    /// There is pending work that no descriptor shows.
    fn has_pending(&self) -> bool {
        false
    }
}
