//! What moves whole frames below the ports.

use std::os::fd::BorrowedFd;

use arrayvec::ArrayVec;
use rustix::io::Errno;

use super::egress::ETHERNET;
use crate::Counters;
use crate::outer::OUTER;

/// An Ethernet header with an outer header behind it, at most.
pub(crate) type Header = ArrayVec<u8, { ETHERNET + OUTER }>;

/// What is known of the TCP or UDP checksum of a received packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChecksumState {
    /// Nobody has looked at it.
    Unverified,
    /// Hardware has found it right.
    Verified,
    /// A sender on this machine left it to hardware that was not there.
    Incomplete,
    /// Unverified or incomplete: only the field itself tells.
    Unknown,
}

/// A received frame, still where the device has put it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// Its octets, from the destination address.
    pub data: &'a [u8],
    /// How long it was on the line.
    pub len: usize,
    /// What is known of the checksum behind its IP header.
    pub sum: ChecksumState,
    /// The VLAN tag that was taken off.
    pub vlan: Option<u16>,
}

/// Sends and receives frames on one interface, without blocking.
pub trait Device: Send {
    /// The next received frame, which stays valid until this is called again.
    fn next(&mut self) -> Option<Received<'_>>;

    /// Called after the last of a run of [`Device::next`]: gives frames back and counts what was lost.
    fn finish_receive(&mut self, counters: &Counters);

    /// Sends frames, each a header with a payload behind it, and counts each in one counter. Returns how many were
    /// taken.
    ///
    /// # Errors
    /// Only what makes the device useless.
    fn transmit(&mut self, frames: &[(Header, &[u8])], counters: &Counters) -> Result<usize, Errno>;

    /// Readable when [`Device::next`] has something to do.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;

    /// The kernel has news of the link. A link that went down may have left an error behind, which a later frame must not meet.
    fn link_changed(&mut self) {}

    /// How much of the room for received frames is in use, in percent. `None` where nobody knows.
    fn fill_percent(&self) -> Option<u8> {
        None
    }

    /// Counts what was lost since this or [`Device::finish_receive`] did it last.
    fn count_losses(&mut self, _counters: &Counters) {}

    /// There is something to do that no descriptor shows.
    fn has_pending(&self) -> bool {
        false
    }
}
