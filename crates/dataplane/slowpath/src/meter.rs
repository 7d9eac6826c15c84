//! The bit rates of one QER in one direction: a meter of two rates and three colours.

use causeway_types::{Bitrate, Span, Time};

use crate::bucket::Bucket;

/// The colour of a packet under the rates of its QER (RFC 2698).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Colour {
    /// Within the guaranteed rate.
    Green,
    /// Within the maximum rate.
    Yellow,
    /// Above it.
    Red,
}

/// The trTCM of RFC 2698 clause 3, colour-blind: MBR is the peak rate, GBR the committed one. A packet may overdraw a
/// bucket, so a bucket may be smaller than the largest packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Meter {
    peak: Option<Bucket>,
    committed: Option<Bucket>,
}

impl Meter {
    /// A meter with full buckets. Without peak rate nothing is red; without committed rate nothing is green.
    pub(crate) fn new(peak: Option<Bitrate>, committed: Option<Bitrate>, burst: Span, now: Time) -> Self {
        let bucket = |rate: Bitrate| Bucket::new(rate, burst, now);
        Self { peak: peak.map(bucket), committed: committed.map(bucket) }
    }

    /// Changes the rates; the tokens stay.
    pub(crate) fn set(&mut self, peak: Option<Bitrate>, committed: Option<Bitrate>, burst: Span, now: Time) {
        set(&mut self.peak, peak, burst, now);
        set(&mut self.committed, committed, burst, now);
    }

    /// The bucket of the peak rate.
    pub(crate) const fn peak(&self) -> Option<&Bucket> {
        self.peak.as_ref()
    }

    /// The bucket of the peak rate, mutable.
    pub(crate) const fn peak_mut(&mut self) -> Option<&mut Bucket> {
        self.peak.as_mut()
    }

    /// The bucket of the committed rate.
    pub(crate) const fn committed(&self) -> Option<&Bucket> {
        self.committed.as_ref()
    }

    /// The bucket of the committed rate, mutable.
    pub(crate) const fn committed_mut(&mut self) -> Option<&mut Bucket> {
        self.committed.as_mut()
    }

    /// The colour of a packet at this time. Charges nothing.
    pub(crate) fn colour(&mut self, now: Time) -> Colour {
        if self.peak.as_mut().is_some_and(|bucket| !bucket.is_open(now)) {
            return Colour::Red;
        }
        let green = self.committed.as_mut().is_some_and(|bucket| bucket.is_open(now));
        if green { Colour::Green } else { Colour::Yellow }
    }

    /// Charges a packet of this colour that passes.
    pub(crate) fn take(&mut self, colour: Colour, octets: usize) {
        if let Some(peak) = &mut self.peak {
            peak.take(octets);
        }
        if let Some(committed) = self.committed.as_mut().filter(|_| colour == Colour::Green) {
            committed.take(octets);
        }
    }
}

fn set(bucket: &mut Option<Bucket>, rate: Option<Bitrate>, burst: Span, now: Time) {
    match (bucket.as_mut(), rate) {
        (Some(bucket), Some(rate)) => bucket.set(rate, burst, now),
        (_, rate) => *bucket = rate.map(|rate| Bucket::new(rate, burst, now)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(kbps: u64) -> Option<Bitrate> {
        Bitrate::from_kbps(kbps)
    }

    /// The octets of each colour when packets of 1000 octets arrive at `offered` kbit/s for ten seconds.
    fn colours(meter: &mut Meter, offered: u64) -> [u64; 3] {
        let mut seen = [0; 3];
        let gap = 8_000_000_000 / offered;
        for nanos in (0..10_000_000_000).step_by(gap as usize) {
            let now = Time::from_secs(1) + Span::from_nanos(nanos);
            let colour = meter.colour(now);
            seen[colour as usize] += 1000;
            if colour != Colour::Red {
                meter.take(colour, 1000);
            }
        }
        seen
    }

    // Input:  GBR 1 Mbit/s and MBR 3 Mbit/s, offered 0.5, 2 and 6 Mbit/s for ten seconds.
    // Output: all green; half green and half yellow; a sixth green, a third yellow, the rest red; within 1 %.
    #[test]
    fn two_rates_make_three_colours() {
        for (offered, expected) in [
            (500, [625_000, 0, 0]),
            (2000, [1_250_000, 1_250_000, 0]),
            (6000, [1_250_000, 2_500_000, 3_750_000]),
        ] {
            let mut meter = Meter::new(rate(3000), rate(1000), Span::from_millis(8), Time::from_secs(1));
            let seen = colours(&mut meter, offered);
            for (seen, expected) in seen.into_iter().zip(expected) {
                assert!(
                    u64::abs_diff(seen, expected) <= expected / 100 + 2000,
                    "{offered}: {seen} {expected}"
                );
            }
        }
    }

    // Input:  neither rate.
    // Output: everything is yellow: nothing is guaranteed, nothing exceeds.
    #[test]
    fn without_rates_nothing_is_red_or_green() {
        let mut meter = Meter::new(None, None, Span::from_millis(8), Time::default());
        assert_eq!(colours(&mut meter, 10_000)[1], 12_500_000);
    }
}
