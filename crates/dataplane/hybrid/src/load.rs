//! The packets of one side: all, and those of the last second.

use causeway_dataplane::SideLoad;
use causeway_types::Time;

use crate::rate::Rate;

/// What came to the switch, or to the software.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    packets: u64,
    octets: u64,
    recent_packets: Rate,
    recent_octets: Rate,
}

impl Load {
    /// A packet came.
    pub(crate) fn count(&mut self, now: Time, octets: usize) {
        self.add(now, 1, octets as u64);
    }

    /// So many packets came, with so many octets.
    pub(crate) fn add(&mut self, now: Time, packets: u64, octets: u64) {
        self.packets += packets;
        self.octets += octets;
        self.recent_packets.add(now, packets);
        self.recent_octets.add(now, octets);
    }

    /// What came until now.
    pub(crate) fn at(&self, now: Time) -> SideLoad {
        SideLoad {
            packets: self.packets,
            octets: self.octets,
            packets_per_second: self.recent_packets.sum(now),
            octets_per_second: self.recent_octets.sum(now),
        }
    }
}
