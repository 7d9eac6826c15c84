//! Rate limits, in exact integer arithmetic.

use causeway_types::{Bitrate, Span, Time};

/// How much traffic may come at once after a pause, as time at the full rate. Eight milliseconds keep the
/// excess over one second below 1 %.
const BURST: Span = Span::from_millis(8);

/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;

/// A token bucket for one direction of one QER.
///
/// A packet may pass while the bucket is not empty, and takes its size even if that leaves a debt; so the
/// long-term rate is exact at any packet size and any rate from 1 kbit/s to 2^40 kbit/s. A rate of zero lets
/// nothing pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Meter {
    rate: Bitrate,
    /// In bits times 10^9, so that filling by `rate * nanoseconds` never rounds.
    tokens: i128,
    updated: Time,
}

impl Meter {
    /// A full bucket.
    pub(crate) fn new(rate: Bitrate, now: Time) -> Self {
        Self { rate, tokens: capacity(rate), updated: now }
    }

    /// Changes the rate. What is in the bucket stays, up to the new capacity.
    pub(crate) fn set_rate(&mut self, rate: Bitrate, now: Time) {
        self.fill(now);
        self.rate = rate;
        self.tokens = self.tokens.min(capacity(rate));
    }

    /// A packet may pass now.
    pub(crate) fn is_open(&mut self, now: Time) -> bool {
        self.fill(now);
        self.tokens > 0
    }

    /// Takes the size of a packet that passes.
    pub(crate) fn take(&mut self, octets: usize) {
        self.tokens -= octets as i128 * 8 * SECOND;
    }

    fn fill(&mut self, now: Time) {
        let elapsed = now.since(self.updated).as_nanos() as i128;
        self.updated = self.updated.max(now);
        let filled = self.tokens.saturating_add(i128::from(self.rate.bps()).saturating_mul(elapsed));
        self.tokens = filled.min(capacity(self.rate));
    }
}

fn capacity(rate: Bitrate) -> i128 {
    i128::from(rate.bps()) * BURST.as_nanos() as i128
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offers packets of one size at twice the rate for a second; returns the bits that passed.
    fn passed_in_a_second(kbps: u64, octets: usize) -> u64 {
        let start = Time::from_secs(1);
        let mut meter = Meter::new(Bitrate::from_kbps(kbps).unwrap(), start);
        let bits = octets as u64 * 8;
        let gap = (bits * 1_000_000_000 / (kbps * 2000)).max(1);
        let mut passed = 0;
        let mut at = 0;
        while at < 1_000_000_000 {
            if meter.is_open(start + Span::from_nanos(at)) {
                meter.take(octets);
                passed += bits;
            }
            at += gap;
        }
        passed
    }

    // Input: 64 to 9000 octet packets offered at twice the MBR, rates below and above 1 Gbit/s.
    // Output: within 1 % of the MBR over one second, or one packet where a packet is more than that.
    #[test]
    fn the_rate_holds_at_any_packet_size() {
        for (kbps, octets) in [
            (1_000, 64),
            (20_000, 1400),
            (500_000, 1400),
            (1_000_000, 1400),
            (1_500_000, 9000),
            (4_300_000, 1400),
        ] {
            let asked = kbps * 1000;
            let slack = (asked / 100 + 1).max(octets as u64 * 8);
            let passed = passed_in_a_second(kbps, octets);
            assert!(passed.abs_diff(asked) <= slack, "{kbps} kbit/s, {octets} octets: {passed} bits passed");
        }
    }

    // Input: an MBR of zero.
    // Output: nothing passes, however long it waits.
    #[test]
    fn a_rate_of_zero_is_a_wall() {
        let mut meter = Meter::new(Bitrate::default(), Time::default());
        assert!(!meter.is_open(Time::from_secs(1_000_000)));
    }

    // Input: the largest rate that PFCP carries, after a pause of a century.
    // Output: no overflow, and the bucket is no fuller than its capacity.
    #[test]
    fn the_largest_rate_does_not_overflow() {
        let mut meter = Meter::new(Bitrate::MAX, Time::default());
        assert!(meter.is_open(Time::from_nanos(u64::MAX)));
        assert_eq!(meter.tokens, capacity(Bitrate::MAX));
    }

    // Input: the rate is lowered while the bucket is full.
    // Output: what is left is no more than the new capacity.
    #[test]
    fn a_lower_rate_shrinks_the_burst() {
        let mut meter = Meter::new(Bitrate::from_kbps(1_000_000).unwrap(), Time::default());
        let slow = Bitrate::from_kbps(1).unwrap();
        meter.set_rate(slow, Time::default());
        assert_eq!(meter.tokens, capacity(slow));
    }
}
