//! What is known of the counters of one rule.

use causeway_types::{Direction, Span, Time, Volume};

use super::wheel::Slot;
use crate::Count;
use crate::pendulum::{Partition, Side};

/// How much of an estimate stays with an observation (HiP4-UPF section 5.2) of this length: what the paper's passes take from one
/// reading of a counter to the next. The more time an observation is of, the less of the estimate stays.
const ALPHA: f64 = 0.95;
const OBSERVED: f64 = 0.13;

/// When a counter is read for the first time: soon, as nothing is known of its traffic before.
const FIRST: Span = Span::from_millis(500);

/// A rule by its number.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) direction: Direction,
    /// Where its entries are: in the ingress and in the egress table.
    pub(super) partitions: [Partition; 2],
    /// All URRs that count its packets, by their places.
    pub(super) urrs: Vec<u32>,
    /// For each side that one of them counts.
    pub(super) watches: [Option<Watch>; 2],
    /// No packet has its number any more.
    pub(super) is_expired: bool,
}

/// One counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    /// Where it waits; `None` once the rule has expired, as it is read without being picked then.
    pub(super) slot: Option<Slot>,
    /// When it was read last.
    pub(super) read: Time,
    /// Octets per second; `None` before anything was observed.
    pub(super) rate: Option<f64>,
}

impl Rule {
    pub(super) const fn watch(&self, side: Side) -> Option<&Watch> {
        self.watches[side as usize].as_ref()
    }

    /// What a counter held, as a volume of the rule's direction.
    pub(super) const fn volume(&self, count: Count) -> Volume {
        let Count { octets, packets } = count;
        match self.direction {
            Direction::Uplink => Volume { uplink: octets, uplink_packets: packets, ..Volume::ZERO },
            Direction::Downlink => Volume { downlink: octets, downlink_packets: packets, ..Volume::ZERO },
        }
    }
}

impl Watch {
    pub(super) const fn new(now: Time) -> Self {
        Self { slot: None, read: now, rate: None }
    }

    /// Octets per second, as far as they are known.
    pub(super) fn rate(&self) -> f64 {
        self.rate.unwrap_or(0.0)
    }

    /// When it is to be read at the latest, if it may be left unread for so long.
    pub(super) fn latest(&self, longest: Span) -> Time {
        self.read + if self.rate.is_none() { FIRST.min(longest) } else { longest }
    }

    /// The counter was read at this moment, and so much was new.
    pub(super) fn observe(&mut self, now: Time, octets: u64) {
        let passed = now.since(self.read);
        if passed > Span::ZERO {
            let observed = octets as f64 / passed.as_secs_f64();
            let stays = ALPHA.powf(passed.as_secs_f64() / OBSERVED);
            self.rate = Some(self.rate.map_or(observed, |rate| stays * rate + (1.0 - stays) * observed));
        }
        self.read = self.read.max(now);
    }
}
