//! Counts in sub-windows of a sliding window.
//!
//! A slot has the low bits of its flow's [`Key`], and a count for each of the last `q + 1` sub-windows, where a
//! window has `q`: the current one, `q - 1` full ones before it, and the oldest, of which only a part still lies in the window. The estimate
//! for the window is the sum of all, with that part of the oldest; so its error is never more than what the oldest holds.
//! Since old counts leave by themselves, there is no moment at which all is reset, and no flow is missed because
//! it lies across such a moment.
//!
//! A packet whose flow has no slot may take one: of the `d` slots open to it, one in each way, it takes the one with the
//! smallest estimate `s`, with the chance `w / (s + w)`, where `w` is its own weight. This is the policy of PRECISION
//! (R. Ben Basat et al., "Designing Heavy-Hitter Detection Algorithms for Programmable Switches", IEEE/ACM ToN 2020), but
//! the new flow starts with its own weight only.
//!
//! A flow is heavy from the packet at which its estimate reaches the threshold until a packet of its own at which the
//! estimate is below half of it, or until another flow takes its slot. It is reported when it becomes heavy, so a flow that
//! toggles around the threshold is reported once.
//!
//! # Limits
//! - A count stops at 255. A threshold must be reachable without that; a burst may still be cut, which is counted.
//! - The age of a slot has 8 bits: after a pause of its flow of a multiple of 256 sub-windows its old counts seem fresh again, if no
//!   other flow has taken it.
//! - Two flows of one set whose keys agree in the identity bits share a slot: with `b` bits and `d` ways a flow meets such
//!   a slot with a chance of `d / 2^b`.
//! - A flood of small flows cannot take the slot of a flow that has more than they, but it can keep a new flow from
//!   getting that far: each slot is open to more packets than the new flow has.
//! - A packet earlier than the one before counts as at that one's time. If it is earlier by more than a window, the detector
//!   starts anew, since otherwise time would stand still for it.

mod clock;
mod general;
mod switch;

pub use general::Sliding;
pub use switch::{SwitchSliding, SwitchSlot};

use causeway_types::Span;

use crate::config::{ConfigError, in_range};
use crate::unit::MOST_SHIFT;
use crate::{Key, Unit};

/// The most ways.
pub const MOST_WAYS: usize = 8;

/// The most sub-windows in a window: with one more count a slot has 64 bits.
pub const MOST_SUB_WINDOWS: u8 = 4;

/// Where the ways of a flow lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// Each way is an array with a hash of its own, as on a switch. It needs the least memory.
    Apart,
    /// All ways lie side by side under one hash: eight ways are one cache line.
    Together,
}

/// The configuration of [`Sliding`] and [`SwitchSliding`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlidingConfig {
    /// Slots in all ways; rounded down to a multiple of the ways. 1 a way to 2^26 in all.
    pub slots: usize,
    /// Ways, 1 to [`MOST_WAYS`].
    pub ways: usize,
    /// Where the ways lie. [`SwitchSliding`] has only [`Placement::Apart`].
    pub placement: Placement,
    /// Bits of the key in a slot, 1 to 15.
    pub identity_bits: u8,
    /// Sub-windows in a window, 1 to [`MOST_SUB_WINDOWS`].
    pub sub_windows: u8,
    /// Length of a sub-window, 1 ms to 60 s.
    pub sub_window: Span,
    /// Bits with which the position in a sub-window is known, 1 to 8. Fewer bits are a smaller table on a switch.
    pub position_bits: u8,
    /// Packets, or octets, in a window, from which on a flow is heavy.
    pub threshold: u64,
    /// What is counted.
    pub unit: Unit,
    /// Seed of random decisions.
    pub seed: u64,
}

impl SlidingConfig {
    /// Four ways, four sub-windows of 250 ms, 15 identity bits, and a threshold of 125 packets a second.
    pub const fn with_slots(slots: usize) -> Self {
        Self {
            slots,
            ways: 4,
            placement: Placement::Apart,
            identity_bits: 15,
            sub_windows: 4,
            sub_window: Span::from_millis(250),
            position_bits: 8,
            threshold: 125,
            unit: Unit::Packets(0),
            seed: 0,
        }
    }

    /// Bits of a slot of [`Sliding`]: identity, heavy flag, age and counts. In this program each has 64.
    pub const fn slot_bits(&self) -> usize {
        self.identity_bits as usize + 1 + 8 + 8 * (self.sub_windows as usize + 1)
    }

    /// Bits of a slot of [`SwitchSliding`]: identity, heavy flag, and pairs of epoch and count.
    pub const fn switch_slot_bits(&self) -> usize {
        self.identity_bits as usize + 1 + 16 * (self.sub_windows as usize + 1)
    }

    /// The bits of a key that are kept in a slot.
    pub const fn identity(&self, key: Key) -> u16 {
        Rules::of(self).identity(key)
    }

    /// What the oldest sub-window's count still counts, as a table on a switch has it: `position` is how much of the current
    /// sub-window has passed, in its known bits.
    pub const fn part(&self, oldest: u8, position: u8) -> u8 {
        let unknown = 8 - self.position_bits as u32;
        // A part of a count of 8 bits.
        Rules::of(self).part(oldest, position << unknown) as u8
    }

    /// The greatest random number of 16 bits with which a packet of this weight takes a slot with this estimate, as a table
    /// on a switch has it; `None`: with none.
    pub const fn chance(weight: u8, estimate: u32) -> Option<u16> {
        if weight == 0 {
            return None;
        }
        let weight = weight as u32;
        let takes = (weight << 16) / (estimate + weight);
        if takes == 0 { None } else { Some((takes - 1) as u16) }
    }

    /// The threshold in units, rounded up. It is at most 1020.
    pub const fn heavy_units(&self) -> u64 {
        self.threshold.div_ceil(1 << self.unit.shift())
    }

    fn check(&self) -> Result<(), ConfigError> {
        let sub_windows = u64::from(self.sub_windows);
        in_range("sub-windows", sub_windows, 1, MOST_SUB_WINDOWS.into())?;
        in_range("ways", self.ways as u64, 1, MOST_WAYS as u64)?;
        in_range("slots", self.slots as u64, self.ways as u64, 1 << 26)?;
        in_range("identity bits", self.identity_bits.into(), 1, 15)?;
        in_range("position bits", self.position_bits.into(), 1, 8)?;
        in_range("milliseconds of a sub-window", self.sub_window.as_millis() as u64, 1, 60_000)?;
        in_range("power of two of the unit", self.unit.shift().into(), 0, MOST_SHIFT.into())?;
        in_range("units of the threshold", self.heavy_units(), 1, 255 * sub_windows)
    }
}

/// What both forms decide in the same way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rules {
    identity_mask: u16,
    position_bits: u8,
    heavy_units: u32,
    unit: Unit,
}

impl Rules {
    const fn of(config: &SlidingConfig) -> Self {
        Self {
            identity_mask: (1 << config.identity_bits) - 1,
            position_bits: config.position_bits,
            heavy_units: config.heavy_units() as u32,
            unit: config.unit,
        }
    }

    const fn identity(&self, key: Key) -> u16 {
        key.0 as u16 & self.identity_mask
    }

    /// The part of the oldest sub-window's count that lies in the window, to the nearest unit.
    ///
    /// `position` is how much of the current sub-window has passed, in 256ths. Of the range that its known bits leave open,
    /// the middle is taken.
    const fn part(&self, oldest: u8, position: u8) -> u32 {
        let bits = self.position_bits as u32;
        let passed = (position as u32) >> (8 - bits);
        let left = (2 << bits) - 1 - 2 * passed;
        (oldest as u32 * left + (1 << bits)) >> (bits + 1)
    }

    /// Whether a flow of this weight takes a slot with this estimate: if `random` is less than `(weight << 16) / (estimate + weight)`,
    /// rounded down.
    const fn takes(weight: u8, estimate: u32, random: u16) -> bool {
        let weight = weight as u32;
        weight > 0 && (random as u32 + 1) * (estimate + weight) <= weight << 16
    }

    /// Whether a flow is heavy, if it was before.
    const fn is_heavy(&self, was_heavy: bool, units: u32) -> bool {
        units >= if was_heavy { self.heavy_units.div_ceil(2) } else { self.heavy_units }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  configurations with a number out of range.
    // Output: each is refused, by name.
    #[test]
    fn configurations_are_checked() {
        let good = SlidingConfig::with_slots(1024);
        assert_eq!(good.check(), Ok(()));
        let wrong = [
            ("slots", SlidingConfig { slots: 3, ..good.clone() }),
            ("ways", SlidingConfig { ways: 9, ..good.clone() }),
            ("ways", SlidingConfig { ways: 0, ..good.clone() }),
            ("sub-windows", SlidingConfig { sub_windows: 5, ..good.clone() }),
            ("sub-windows", SlidingConfig { sub_windows: 0, ..good.clone() }),
            ("identity bits", SlidingConfig { identity_bits: 16, ..good.clone() }),
            ("position bits", SlidingConfig { position_bits: 0, ..good.clone() }),
            (
                "milliseconds of a sub-window",
                SlidingConfig { sub_window: Span::from_micros(9), ..good.clone() },
            ),
            ("units of the threshold", SlidingConfig { threshold: 1021, ..good.clone() }),
            ("units of the threshold", SlidingConfig { threshold: 0, ..good.clone() }),
            ("power of two of the unit", SlidingConfig { unit: Unit::Octets(25), ..good.clone() }),
        ];
        for (name, config) in wrong {
            let error = config.check().unwrap_err();
            assert!(error.to_string().starts_with(name), "{error}");
        }
        assert_eq!((good.slot_bits(), SlidingConfig { sub_windows: 2, ..good }.switch_slot_bits()), (64, 64));
    }

    // Input:  all counts at all positions, with 8 bits and with fewer.
    // Output: the part differs from the exact one by at most half a unit, and half of a step of the position.
    #[test]
    fn the_oldest_part_is_near_the_exact_one() {
        for bits in 1..=8 {
            let config = SlidingConfig { position_bits: bits, ..SlidingConfig::with_slots(8) };
            let rules = Rules::of(&config);
            for (oldest, position) in (0..=255_u8).flat_map(|oldest| (0..=255_u8).map(move |at| (oldest, at)))
            {
                for within in [0.0, 0.5, 0.999] {
                    let exact = f64::from(oldest) * (1.0 - (f64::from(position) + within) / 256.0);
                    let error = (f64::from(rules.part(oldest, position)) - exact).abs();
                    assert!(
                        error <= 0.5 + f64::from(oldest) / f64::from(1_u32 << (bits + 1)),
                        "{bits} {error}"
                    );
                }
            }
        }
    }

    // Input:  weights and estimates, with random numbers around the limit; parts of all counts at all positions.
    // Output: what a switch has in tables is what is decided here.
    #[test]
    fn tables_of_a_switch_say_the_same() {
        for (weight, estimate) in
            (0..=255).step_by(5).flat_map(|weight| (0..=1275).map(move |estimate| (weight, estimate)))
        {
            let chance = SlidingConfig::chance(weight, estimate);
            let limit = chance.unwrap_or(0);
            for random in [0, limit.saturating_sub(1), limit, limit.saturating_add(1), u16::MAX] {
                let takes = chance.is_some_and(|chance| random <= chance);
                assert_eq!(Rules::takes(weight, estimate, random), takes, "{weight} {estimate} {random}");
            }
        }
        for bits in 1..=8 {
            let config = SlidingConfig { position_bits: bits, ..SlidingConfig::with_slots(8) };
            for (oldest, position) in (0..=255_u8).flat_map(|oldest| (0..=255_u8).map(move |at| (oldest, at)))
            {
                let part = config.part(oldest, position >> (8 - bits));
                assert_eq!(u32::from(part), Rules::of(&config).part(oldest, position));
            }
        }
    }

    // Input:  a weight against several estimates, with all random numbers.
    // Output: the chance is w / (s + w); an empty slot is always taken; no weight takes nothing.
    #[test]
    fn the_chance_to_take_a_slot() {
        for (weight, estimate, chance) in
            [(1, 0, 1.0), (1, 1, 0.5), (1, 124, 1.0 / 125.0), (2, 2, 0.5), (255, 1020, 0.2), (0, 0, 0.0)]
        {
            let taken = (0..=u16::MAX).filter(|random| Rules::takes(weight, estimate, *random)).count();
            assert!((taken as f64 / 65536.0 - chance).abs() < 1e-4, "{weight} {estimate} {taken}");
        }
    }
}
