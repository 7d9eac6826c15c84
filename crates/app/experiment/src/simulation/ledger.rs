//! Whether every octet that was sent has been reported.

use causeway_switch::Count;

/// Octets of a whole experiment, all read in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OctetBalance {
    /// What packets brought through a PDR.
    pub sent: u64,
    /// What passes found on the side before QoS enforcement, and after it.
    pub read: [u64; 2],
    /// What reports had in them, those at the end of sessions included.
    pub reported: u64,
    /// What waits for the next report of its URR.
    pub held: u64,
}

impl OctetBalance {
    /// Octets that were sent and are in no reading, report or URR, or are there twice.
    pub fn lost_octets(&self) -> u64 {
        let [pre, post] = self.read.map(|read| read.abs_diff(self.sent));
        pre.max(post).max((self.reported + self.held).abs_diff(self.sent))
    }

    pub(super) fn add_reading(&mut self, side: usize, usage: Count) {
        if let Some(read) = self.read.get_mut(side) {
            *read += usage.octets;
        }
    }
}
