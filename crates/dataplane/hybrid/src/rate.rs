//! How much there was in a sliding second: of octets, packets or changes.

use causeway_types::{Span, Time};

/// Parts of the window.
const PARTS: u64 = 8;

/// The window over which rates are measured.
pub const WINDOW: Span = Span::from_secs(1);

/// What there was in the last second, in parts of an eighth: the sum of the last seven full parts, the present one, and the share
/// of the oldest part that the window still covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rate {
    parts: [u32; PARTS as usize + 1],
    /// The number of the present part.
    epoch: u64,
}

const fn part_nanos() -> u64 {
    WINDOW.as_nanos() as u64 / PARTS
}

impl Rate {
    /// So much is counted now.
    pub(crate) fn add(&mut self, now: Time, amount: u64) {
        self.advance(now);
        if let Some(part) = self.parts.get_mut(place(self.epoch)) {
            *part = part.saturating_add(u32::try_from(amount).unwrap_or(u32::MAX));
        }
    }

    /// What there was in the window that ends now.
    pub(crate) fn sum(&self, now: Time) -> u64 {
        let mut seen = *self;
        seen.advance(now);
        let oldest = place(seen.epoch + 1);
        let gone = now.as_nanos() % part_nanos();
        let mut sum = 0;
        for (at, part) in seen.parts.iter().enumerate() {
            let part = u64::from(*part);
            sum += if at == oldest { part - mul_div(part, gone) } else { part };
        }
        sum
    }

    fn advance(&mut self, now: Time) {
        let epoch = now.as_nanos() / part_nanos();
        let passed = epoch.saturating_sub(self.epoch).min(PARTS + 1);
        for step in 0..passed {
            if let Some(part) = self.parts.get_mut(place(epoch - step)) {
                *part = 0;
            }
        }
        self.epoch = self.epoch.max(epoch);
    }
}

const fn place(epoch: u64) -> usize {
    (epoch % (PARTS + 1)) as usize
}

/// The share of `part` that left the window `gone` nanoseconds into a part.
fn mul_div(part: u64, gone: u64) -> u64 {
    (u128::from(part) * u128::from(gone) / u128::from(part_nanos())) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  1,000 octets each 10 ms for three seconds, then silence.
    // Output: 100,000 octets a second within a part's share all the while, half of it after half a second, then nothing.
    #[test]
    fn a_steady_rate_is_measured_at_any_moment() {
        let mut rate = Rate::default();
        let at = |millis: u64| Time::from_nanos(1_000_000 * millis);
        for step in 0..300 {
            rate.add(at(10_000 + 10 * step), 1000);
            if step > 112 {
                let octets = rate.sum(at(10_000 + 10 * step));
                assert!((98_000..=102_000).contains(&octets), "{octets} after {step}");
            }
        }
        assert!((48_000..=52_000).contains(&rate.sum(at(13_500))), "{}", rate.sum(at(13_500)));
        assert_eq!(rate.sum(at(14_200)), 0);
    }
}
