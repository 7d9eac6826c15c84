//! Two-rate three-colour meters (RFC 2698), colour-blind, of octets.

use causeway_types::Time;

use crate::driver::Rates;

/// Parts of an octet: the unit of tokens, so that a rate in octets per second adds whole numbers each nanosecond.
const PARTS: u128 = 1_000_000_000;

/// The colour of a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Colour {
    /// Within the committed rate.
    Green,
    /// Above it, within the peak rate.
    Yellow,
    /// Above the peak rate.
    Red,
}

/// A meter: both buckets start full.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrTcm {
    rates: Rates,
    committed: u128,
    peak: u128,
    filled: Time,
}

impl TrTcm {
    pub(super) const fn new(rates: Rates, now: Time) -> Self {
        let committed = rates.committed_burst as u128 * PARTS;
        Self { rates, committed, peak: rates.peak_burst as u128 * PARTS, filled: now }
    }

    pub(super) const fn rates(&self) -> Rates {
        self.rates
    }

    /// Marks a packet of this many octets, and takes its tokens.
    pub(super) fn mark(&mut self, now: Time, octets: u64) -> Colour {
        self.fill(now);
        let wanted = u128::from(octets) * PARTS;
        let Some(peak) = self.peak.checked_sub(wanted) else { return Colour::Red };
        self.peak = peak;
        match self.committed.checked_sub(wanted) {
            None => Colour::Yellow,
            Some(committed) => {
                self.committed = committed;
                Colour::Green
            }
        }
    }

    fn fill(&mut self, now: Time) {
        let passed = now.since(self.filled).as_nanos();
        let fill = |tokens: u128, rate: u64, burst: u64| {
            (tokens + passed * u128::from(rate)).min(u128::from(burst) * PARTS)
        };
        self.committed = fill(self.committed, self.rates.committed, self.rates.committed_burst);
        self.peak = fill(self.peak, self.rates.peak, self.rates.peak_burst);
        self.filled = self.filled.max(now);
    }
}

#[cfg(test)]
mod tests {
    use causeway_types::Span;

    use super::*;

    const RATES: Rates = Rates { committed: 1000, committed_burst: 1500, peak: 3000, peak_burst: 3000 };

    fn at(millis: u64) -> Time {
        Time::from_secs(9) + Span::from_millis(millis)
    }

    // Input:  simultaneous packets of 1000 octets: buckets of 1500 and 3000 octets, filled at 1000 and 3000 per second.
    // Output: one green, two yellow, red; after a third of a second one fits the peak rate, after one second the
    //         committed rate, too.
    #[test]
    fn packets_are_marked_by_both_buckets() {
        let mut meter = TrTcm::new(RATES, at(0));
        let marks: Vec<Colour> = (0..4).map(|_| meter.mark(at(0), 1000)).collect();
        assert_eq!(marks, [Colour::Green, Colour::Yellow, Colour::Yellow, Colour::Red]);
        assert_eq!(meter.mark(at(333), 1000), Colour::Red);
        assert_eq!(meter.mark(at(334), 1000), Colour::Yellow);
        assert_eq!(meter.mark(at(1000), 1000), Colour::Green);
    }

    // Input:  packets of 100 octets each millisecond for a hundred seconds, 100 kB/s.
    // Output: green at the committed rate, and green and yellow together at the peak rate, each with its burst.
    #[test]
    fn rates_are_exact_in_the_long_run() {
        let mut meter = TrTcm::new(RATES, at(0));
        let mut octets = [0_u64; 3];
        (0..100_000).for_each(|millis| octets[meter.mark(at(millis), 100) as usize] += 100);
        assert_eq!(octets[0], 1500 + 99_900);
        assert!((302_600..=303_000).contains(&(octets[0] + octets[1])), "{octets:?}");
    }

    // Input:  a clock that goes back, and a pause of a century.
    // Output: tokens are not added twice; the buckets are full and do not overflow.
    #[test]
    fn odd_clocks_do_no_harm() {
        let mut meter = TrTcm::new(RATES, at(5000));
        assert_eq!(meter.mark(at(5000), 3000), Colour::Yellow);
        assert_eq!(meter.mark(at(0), 1), Colour::Red);
        assert_eq!(meter.mark(Time::from_secs(3_200_000_000), 3001), Colour::Red);
        assert_eq!(meter.mark(Time::from_secs(3_200_000_000), 1500), Colour::Green);
    }
}
