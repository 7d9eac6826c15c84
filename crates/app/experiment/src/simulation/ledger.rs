//! The octet balance: whether every octet that was sent has been reported.

use causeway_switch::Count;

/// Octets of a whole experiment, with all counters read at the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OctetBalance {
    /// Octets that passed through a PDR.
    pub sent: u64,
    /// Octets in readings of the side before QoS enforcement, and after it.
    pub read: [u64; 2],
    /// Octets in reports, including those at the end of sessions.
    pub reported: u64,
    /// Octets that wait for the next report of their URR.
    pub held: u64,
}

impl OctetBalance {
    /// Octets that were sent and are missing in readings, reports or URRs, or counted twice.
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
