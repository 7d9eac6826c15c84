//! The lanes of a set as scalars: compares many packets with one lane, where a block compares one packet with many
//! lanes.

use super::key::PacketKey;
use super::lane::{Family, Lane, Masked, PortRanges, REMOTE};

/// A lane that compares only the packet key of an IPv4 packet.
#[derive(Clone, Copy, Debug)]
pub struct ScalarFilter {
    word: Masked,
    ports: PortRanges,
    remote: Masked,
    rule: u8,
}

impl ScalarFilter {
    /// The lanes of a set that IPv4 packets can match, in order. `None` where one compares more.
    pub(super) fn of(lanes: &[Lane]) -> Option<Vec<Self>> {
        let mut all = Vec::new();
        for lane in lanes.iter().filter(|lane| lane.family != Some(Family::V6)) {
            let mut others = lane.columns.iter().enumerate().filter(|(at, _)| *at != REMOTE[0]);
            if others.any(|(_, column)| *column != Masked::default()) {
                return None;
            }
            let Lane { word, ports, columns, rule, .. } = lane;
            all.push(Self { word: *word, ports: *ports, remote: columns[REMOTE[0]], rule: *rule });
        }
        Some(all)
    }

    /// Its rule.
    pub const fn rule(&self) -> u8 {
        self.rule
    }

    /// The ports that match, as in a lane.
    #[inline(always)]
    pub(crate) const fn ports(&self) -> (u32, u32) {
        (self.ports.low, self.ports.width)
    }

    /// Whether a packet matches.
    pub const fn fits(&self, packet_key: PacketKey) -> bool {
        const fn beyond(port: u32, low: u32, width: u32) -> u32 {
            (port.wrapping_sub(low) & 0xffff).saturating_sub(width & 0xffff)
        }
        let (word, ports, remote) = packet_key.parts();
        let (low, width) = self.ports();
        let excess = beyond(ports, low, width) | beyond(ports >> 16, low >> 16, width >> 16);
        self.difference_but_for_ports(word, remote) | excess == 0
    }

    /// Zero where a packet matches apart from its ports, given the other parts of its key. Only bit operations, so that
    /// loops over many packets are vectorized.
    #[inline(always)]
    pub(crate) const fn difference_but_for_ports(&self, word: u32, remote: u32) -> u32 {
        (word ^ self.word.value) & self.word.mask | (remote ^ self.remote.value) & self.remote.mask
    }
}
