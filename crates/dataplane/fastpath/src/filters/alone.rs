//! The lanes of a small set, each by itself: to compare many packets with one lane, where a block compares one packet with
//! many lanes.

use arrayvec::ArrayVec;

use super::key::Gist;
use super::lane::{Family, Lane, Masked, PortRanges, REMOTE};

/// Lanes that are compared so, at most: of more, a block is faster.
pub const FEW: usize = 4;

/// A lane that asks for nothing beyond the gist of an IPv4 packet.
#[derive(Clone, Copy, Debug)]
pub struct Alone {
    word: Masked,
    ports: PortRanges,
    remote: Masked,
    rule: u8,
}

impl Alone {
    /// Of the lanes of a set, those that IPv4 packets can fit, in their order. `None` where they are too many or ask for more.
    pub(super) fn of(lanes: &[Lane]) -> Option<ArrayVec<Self, FEW>> {
        let mut all = ArrayVec::new();
        for lane in lanes.iter().filter(|lane| lane.family != Some(Family::V6)) {
            let mut others = lane.columns.iter().enumerate().filter(|(at, _)| *at != REMOTE[0]);
            if others.any(|(_, column)| *column != Masked::default()) {
                return None;
            }
            let Lane { word, ports, columns, rule, .. } = lane;
            all.try_push(Self { word: *word, ports: *ports, remote: columns[REMOTE[0]], rule: *rule })
                .ok()?;
        }
        Some(all)
    }

    /// The rule that it is of.
    pub const fn rule(&self) -> u8 {
        self.rule
    }

    /// A packet fits.
    pub const fn fits(&self, gist: Gist) -> bool {
        self.difference(gist.parts()) == 0
    }

    /// Zero where a packet fits, given the parts of its gist. Nothing but sums and bits, to be asked of many packets by vector
    /// instructions.
    #[inline(always)]
    pub(crate) const fn difference(&self, (word, ports, remote): (u32, u32, u32)) -> u32 {
        const fn differ(lane: Masked, number: u32) -> u32 {
            (number ^ lane.value) & lane.mask
        }
        const fn beyond(port: u32, low: u32, width: u32) -> u32 {
            (port.wrapping_sub(low) & 0xffff).saturating_sub(width & 0xffff)
        }
        let PortRanges { low, width } = self.ports;
        let excess = beyond(ports, low, width) | beyond(ports >> 16, low >> 16, width >> 16);
        differ(self.word, word) | differ(self.remote, remote) | excess
    }
}
