//! State of the counters of one rule.

use causeway_types::{Direction, Span, Time, Volume};

use super::banks::Place;
use super::config::{Config, PullingPolicy};

use crate::pendulum::{Partition, Side};
use crate::{Count, SwitchPdr};

/// The time until a counter is first read: short, since its traffic is unknown.
const FIRST_READ: Span = Span::from_millis(500);

/// The random variation of the longest time between two readings, as a fraction, so that counters read together drift
/// apart.
const JITTER: f64 = 0.02;

/// A rule.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) direction: Direction,
    /// The partitions of its entries: in the ingress and in the egress table.
    pub(super) partitions: [Partition; 2],
    /// The bank in each of them.
    pub(super) banks: [u16; 2],
    /// Indices of all URRs that count its packets.
    pub(super) urrs: Vec<u32>,
    /// The counter of each side that one of them counts.
    pub(super) watches: [Option<CounterEstimate>; 2],
    /// No packet has its number any more.
    pub(super) is_expired: bool,
}

/// One counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct CounterEstimate {
    /// Its position among the waiting counters; `None` once the rule has expired, as it is then read without being
    /// picked.
    pub(super) place: Option<Place>,
    /// The time of the last reading.
    pub(super) read: Time,
    /// Octets per second; `None` before the first observation.
    pub(super) rate: Option<f64>,
    /// The estimate with the short time constant, if there is one.
    recent: f64,
    /// Octets of a packet, from the last counted ones.
    pub(super) packet: f64,
    /// The observed time.
    pub(super) known: Span,
}

impl Rule {
    pub(super) const fn watch(&self, side: Side) -> Option<&CounterEstimate> {
        self.watches[side as usize].as_ref()
    }

    /// A counter value, as a volume of the rule's direction.
    pub(super) const fn volume(&self, count: Count) -> Volume {
        let Count { octets, packets } = count;
        match self.direction {
            Direction::Uplink => Volume { uplink: octets, uplink_packets: packets, ..Volume::ZERO },
            Direction::Downlink => Volume { downlink: octets, downlink_packets: packets, ..Volume::ZERO },
        }
    }
}

impl CounterEstimate {
    pub(super) const fn new(now: Time) -> Self {
        Self { place: None, read: now, rate: None, recent: 0.0, packet: 0.0, known: Span::ZERO }
    }

    /// The estimate for a rule that replaces this one, whose traffic is likely to be the same.
    pub(super) const fn successor(&self, now: Time) -> Self {
        Self { place: None, read: now, ..*self }
    }

    /// The estimated octets per second.
    pub(super) fn rate(&self) -> f64 {
        self.rate.unwrap_or(0.0).max(self.recent)
    }

    /// The latest time of the next reading. An estimate from a short observation does not justify a longer wait than
    /// that observation; random variation makes it shorter, so that counters that were added together are soon read at
    /// different times.
    pub(super) fn latest(&self, number: SwitchPdr, config: &Config) -> Time {
        let longest = config.longest;
        let wait = match config.care {
            _ if self.rate.is_none() => FIRST_READ.min(longest),
            None => longest,
            Some(_) if self.known < longest => self.known.mul_f64(1.0 - chance(number, self.read) / 2.0),
            Some(_) => longest.mul_f64(1.0 - JITTER * chance(number, self.read)),
        };
        self.read + wait
    }

    /// The counter was read at this time, with this increment.
    pub(super) fn observe(&mut self, now: Time, usage: Count, care: PullingPolicy) {
        let passed = now.since(self.read);
        self.known = self.known.saturating_add(passed);
        if passed > Span::ZERO {
            let observed = usage.octets as f64 / passed.as_secs_f64();
            let mixed = |before: f64, memory: Span| {
                let stays = (-passed.as_secs_f64() / memory.as_secs_f64().max(1e-9)).exp();
                stays * before + (1.0 - stays) * observed
            };
            self.rate = Some(self.rate.map_or(observed, |rate| mixed(rate, care.memory)));
            self.recent = care.recent.map_or(0.0, |recent| mixed(self.recent, recent));
        }
        if usage.packets > 0 {
            self.packet = usage.octets as f64 / usage.packets as f64;
        }
        self.read = self.read.max(now);
    }
}

/// A pseudo-random value from 0 to 1, from the bits of a number and a time (splitmix64).
fn chance(number: SwitchPdr, moment: Time) -> f64 {
    let mut bits =
        (u64::from(number.0) << 40).wrapping_add(moment.as_nanos()).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}
