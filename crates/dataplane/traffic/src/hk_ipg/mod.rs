//! HeavyKeeper with inter-packet gaps (HK-IPG), from chapter 4 of S. K. Singh's thesis.
//!
//! A slot has a flow, the time of its last packet, a moving average of its gaps (the weighted IPG), and tau. At the first packet of
//! each timeslot tau grows by what the average says of the rate, and the flow is heavy when tau reaches its threshold. Packets
//! of other flows raise the average; a flow whose average is above that of the threshold's rate loses its slot.
//!
//! Text, algorithm, simulator and P4 program of the thesis differ. [`HkIpg`] settles them in one integer definition:
//!
//! | question | here | Algorithm 1 ([`PublishedHkIpg`]) |
//! |---|---|---|
//! | a flow is replaced when its average is above the limit | before the packet's own addition | the same |
//! | gap of two packets with equal time stamps | 0 | a whole timeslot |
//! | gaps longer than a timeslot | as they are, up to the width of the time stamp | modulo the timeslot |
//! | tau of an average above the limit | nothing | as for any other |
//! | report | when tau reaches the threshold, after adding; then tau is 0 | the same |
//! | timeslots without a packet | nothing | the same |
//! | average | 24.8 bits of microseconds, rounded to the nearest | exact |

use causeway_types::{Span, Time};

use crate::config::{ConfigError, in_range};
use crate::{Key, Outcome, Statistics};

mod published;

pub use published::PublishedHkIpg;

/// The configuration of [`HkIpg`] and [`PublishedHkIpg`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HkIpgConfig {
    /// Slots, 1 to 2^26.
    pub slots: usize,
    /// Packets in a window, from which on a flow is heavy; 1 to 2^20.
    pub threshold: u32,
    /// The window, 100 ms to 60 s.
    pub window: Span,
    /// The timeslot, 1 ms to 1 s. The thesis has 20 ms.
    pub timeslot: Span,
    /// Tau from which on a flow is reported; 1 to 65,535. The thesis has 200 to 1850, where rounding is noticeable.
    pub tau_threshold: u16,
    /// The weight of a new gap in the average, in 65536ths: 1 - alpha. 1 to 65,535; 655 is an alpha of 0.99.
    pub gap_weight: u16,
    /// What a packet of another flow adds to the average (k), in 256ths of a microsecond.
    pub collision: u32,
    /// The width of time stamps.
    pub stamps: Stamps,
}

/// Time stamps of slots. Longer gaps are taken modulo their range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stamps {
    /// 16 bits in units of 64 us: up to 4.19 s.
    Coarse,
    /// 24 bits in units of 1 us: up to 16.8 s.
    Fine,
}

impl Stamps {
    /// The bits of a time stamp.
    pub const fn bits(self) -> usize {
        match self {
            Self::Coarse => 16,
            Self::Fine => 24,
        }
    }

    const fn shift(self) -> u32 {
        match self {
            Self::Coarse => 6,
            Self::Fine => 0,
        }
    }

    /// A time in microseconds, as a slot keeps it.
    const fn of(self, micros: u64) -> u32 {
        ((micros >> self.shift()) & ((1 << self.bits()) - 1)) as u32
    }

    /// Microseconds between both, modulo the range.
    const fn gap(self, from: u32, to: u32) -> u32 {
        (to.wrapping_sub(from) & ((1 << self.bits()) - 1)) << self.shift()
    }
}

impl HkIpgConfig {
    /// The thesis' values at 1 Mbit/s in packets of 1000 octets: alpha 0.99, a timeslot of 20 ms, k of 0.1 % of the limit; fine time
    /// stamps, and a tau threshold for which rounding does not matter.
    pub const fn with_slots(slots: usize) -> Self {
        Self {
            slots,
            threshold: 125,
            window: Span::from_secs(1),
            timeslot: Span::from_millis(20),
            tau_threshold: 50_000,
            gap_weight: 655,
            collision: 8 << 8,
            stamps: Stamps::Fine,
        }
    }

    /// Bits of a slot of [`HkIpg`]: 32 of the flow, 24 + 8 of the average, the time stamp, and 16 of tau.
    pub const fn slot_bits(&self) -> usize {
        32 + 32 + self.stamps.bits() + 16
    }

    /// The mean gap at the threshold (`IPG_init` and `IPG_th`), in 256ths of a microsecond.
    const fn limit(&self) -> u64 {
        (self.window.as_micros() as u64 * 256) / self.threshold as u64
    }

    fn check(&self) -> Result<(), ConfigError> {
        in_range("slots", self.slots as u64, 1, 1 << 26)?;
        in_range("threshold", self.threshold.into(), 1, 1 << 20)?;
        in_range("milliseconds of the window", self.window.as_millis() as u64, 100, 60_000)?;
        in_range("microseconds of the timeslot", self.timeslot.as_micros() as u64, 1000, 1_000_000)?;
        in_range("threshold of tau", self.tau_threshold.into(), 1, 65_535)?;
        in_range("weight of a gap", self.gap_weight.into(), 1, 65_535)?;
        in_range("mean gap at the threshold, in 256ths of 1 us", self.limit(), 256, 1 << 32)
    }
}

/// HK-IPG in integers, as this module's table settles it.
#[derive(Clone, Debug)]
pub struct HkIpg {
    slots: Box<[Slot]>,
    config: HkIpgConfig,
    limit: u32,
    timeslot: u64,
    latest: u64,
    statistics: Statistics,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    owner: u32,
    stamp: u32,
    /// The average of the gaps, in 256ths of a microsecond; zero only in an empty slot.
    average: u32,
    tau: u16,
}

const EMPTY: Slot = Slot { owner: 0, stamp: 0, average: 0, tau: 0 };

impl HkIpg {
    /// An empty detector.
    ///
    /// # Errors
    /// [`ConfigError`] when a number is out of range.
    pub fn new(config: &HkIpgConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            slots: vec![EMPTY; config.slots].into(),
            limit: u32::try_from(config.limit()).unwrap_or(u32::MAX),
            timeslot: config.timeslot.as_micros() as u64,
            config: config.clone(),
            latest: 0,
            statistics: Statistics::default(),
        })
    }

    /// Counts a packet. A packet earlier than one before it counts as at that one's time; if it is earlier by more than a window,
    /// the detector starts anew.
    pub fn observe(&mut self, key: Key, now: Time) -> Outcome {
        let now = self.advance(now);
        let (owner, stamp) = ((key.0 >> 32) as u32, self.config.stamps.of(now));
        let place = key.place(0, self.slots.len());
        let Some(slot) = self.slots.get_mut(place) else { return Outcome::Untracked };
        if slot.average != 0 && slot.owner != owner {
            if slot.average <= self.limit {
                slot.average = slot.average.saturating_add(self.config.collision);
                return Outcome::Untracked;
            }
            self.statistics.replacements += 1;
            *slot = EMPTY;
        }
        if slot.average == 0 {
            *slot = Slot { owner, stamp, average: self.limit, tau: 0 };
            return Outcome::Light;
        }
        let gap = self.config.stamps.gap(slot.stamp, stamp);
        slot.average = averaged(slot.average, gap, self.config.gap_weight);
        slot.stamp = stamp;
        let before = now.saturating_sub(u64::from(gap));
        if now / self.timeslot == before / self.timeslot || slot.average > self.limit {
            return Outcome::Light;
        }
        let tau = u32::from(slot.tau) + tau(&self.config, slot.average);
        if tau < u32::from(self.config.tau_threshold) {
            slot.tau = tau as u16;
            return Outcome::Light;
        }
        slot.tau = 0;
        self.statistics.reports += 1;
        Outcome::Report { measured: tau }
    }

    /// What the detector has counted.
    pub const fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Bits of all slots.
    pub const fn memory_bits(&self) -> usize {
        self.slots.len() * self.config.slot_bits()
    }

    /// Moves to the time of a packet, in microseconds.
    fn advance(&mut self, now: Time) -> u64 {
        let micros = now.as_nanos() / 1000;
        if micros < self.latest {
            if self.latest - micros <= self.config.window.as_micros() as u64 {
                self.statistics.earlier_packets += 1;
                return self.latest;
            }
            self.slots.fill(EMPTY);
            self.statistics.restarts += 1;
        }
        self.latest = micros;
        micros
    }
}

/// The average after a gap in microseconds, rounded to the nearest; at least 1, since 0 is an empty slot.
fn averaged(average: u32, gap: u32, weight: u16) -> u32 {
    let (old, new) = (i128::from(average), i128::from(gap) << 8);
    let moved = old + (((new - old) * i128::from(weight) + (1 << 15)) >> 16);
    u32::try_from(moved.max(1)).unwrap_or(u32::MAX)
}

/// What a timeslot with this average adds to tau (equation 4.9), rounded to the nearest; at most 65,535.
fn tau(config: &HkIpgConfig, average: u32) -> u32 {
    let part = u64::from(config.tau_threshold) * config.timeslot.as_micros() as u64 * 256;
    let whole = u64::from(config.threshold) * u64::from(average.max(1));
    ((part + whole / 2) / whole).min(65_535) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowKeys;

    fn key(flow: u64) -> Key {
        FlowKeys::with_seed(3).rule_pair(flow, 0)
    }

    fn at(micros: u64) -> Time {
        Time::from_secs(50) + Span::from_micros(micros)
    }

    fn reports(config: &HkIpgConfig, times: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut detector = HkIpg::new(config).unwrap();
        times.filter(|micros| detector.observe(key(1), at(*micros)).is_report()).collect()
    }

    // Input:  single flows of 0.3 to 0.99 Mbit/s in packets of 1000 octets, and of bursts of five each 60 ms, for 20 s.
    // Output: none is reported: the settled definition reports nothing below the threshold.
    #[test]
    fn slow_flows_are_not_heavy() {
        for stamps in [Stamps::Coarse, Stamps::Fine] {
            let config = HkIpgConfig { stamps, ..HkIpgConfig::with_slots(16) };
            for rate in [37, 62, 100, 123] {
                assert_eq!(reports(&config, (0..20 * rate).map(|packet| packet * 1_000_000 / rate)), [0; 0]);
            }
            let bursts =
                (0..333_u64).flat_map(|burst| (0..5).map(move |packet| burst * 60_000 + packet * 10));
            assert_eq!(reports(&config, bursts), [0; 0]);
        }
    }

    // Input:  single paced flows of 1.1, 2 and 10 Mbit/s for 20 s.
    // Output: reports again and again, the first within 1.2 s, 0.9 s and 0.7 s, sooner at a higher rate.
    #[test]
    fn fast_flows_are_reported() {
        for stamps in [Stamps::Coarse, Stamps::Fine] {
            let config = HkIpgConfig { stamps, ..HkIpgConfig::with_slots(16) };
            for (rate, first) in [(138, 1.2), (250, 0.9), (1250, 0.7)] {
                let reported = reports(&config, (0..20 * rate).map(|packet| packet * 1_000_000 / rate));
                assert!(reported[0] as f64 <= first * 1e6, "{rate}: {reported:?}");
                assert!(reported.len() >= 20, "{rate}: {reported:?}");
            }
        }
    }

    // Input:  2 Mbit/s in bursts of 25 packets each 100 ms.
    // Output: a report only after more than two seconds, since a burst is one timeslot: the method's limit.
    #[test]
    fn bursts_further_apart_than_a_timeslot_are_late() {
        let bursts = (0..200_u64).flat_map(|burst| (0..25).map(move |packet| burst * 100_000 + packet * 10));
        let reported = reports(&HkIpgConfig::with_slots(16), bursts);
        assert!((2_000_000..4_000_000).contains(&reported[0]), "{reported:?}");
    }

    // Input:  a heavy flow alone in the table, then packets of other flows only.
    // Output: it keeps its slot for as many of them as its average is below the limit, by k each; then it is replaced once.
    #[test]
    fn packets_of_others_raise_the_average() {
        let config = HkIpgConfig::with_slots(1);
        let mut detector = HkIpg::new(&config).unwrap();
        (0..2000).for_each(|packet| {
            detector.observe(key(1), at(packet * 4000));
        });
        let lost =
            (0..).take_while(|_| detector.observe(key(2), at(8_000_000)) == Outcome::Untracked).count();
        assert!((490..=520).contains(&lost), "4000 us in steps of 8 us: {lost}");
        assert_eq!(detector.statistics().replacements, 1);
        assert_eq!(detector.observe(key(1), at(8_000_000)), Outcome::Untracked);
    }

    // Input:  packets with equal time stamps; packets earlier than the ones before by a second, and by a minute.
    // Output: gaps of zero; the first are counted; the second empty the table.
    #[test]
    fn time_stands_and_runs_back() {
        let mut detector = HkIpg::new(&HkIpgConfig::with_slots(4)).unwrap();
        (0..100).for_each(|_| assert_eq!(detector.observe(key(1), at(60_000_000)), Outcome::Light));
        (0..100).for_each(|_| {
            detector.observe(key(1), at(59_000_000));
        });
        assert_eq!(detector.statistics().earlier_packets, 100);
        detector.observe(key(1), at(0));
        assert_eq!(detector.statistics().restarts, 1);
        assert_eq!(detector.statistics().reports, 0);
    }

    // Input:  averages and gaps at their limits.
    // Output: no overflow; the average never becomes that of an empty slot.
    #[test]
    fn averages_at_their_limits() {
        assert_eq!(averaged(1, 0, 65_535), 1);
        assert_eq!(averaged(u32::MAX, u32::MAX, 65_535), u32::MAX);
        assert_eq!(averaged(2048, 8, 655), 2048);
        let config = HkIpgConfig::with_slots(1);
        assert_eq!(tau(&config, 1), 65_535);
        assert_eq!(tau(&config, 8000 << 8), 1000);
    }

    // Input:  numbers out of range.
    // Output: named errors.
    #[test]
    fn configurations_are_checked() {
        let good = HkIpgConfig::with_slots(16);
        for (name, config) in [
            ("slots", HkIpgConfig { slots: 0, ..good.clone() }),
            ("threshold is", HkIpgConfig { threshold: 0, ..good.clone() }),
            ("threshold of tau", HkIpgConfig { tau_threshold: 0, ..good.clone() }),
            ("weight", HkIpgConfig { gap_weight: 0, ..good.clone() }),
            ("microseconds", HkIpgConfig { timeslot: Span::ZERO, ..good.clone() }),
        ] {
            let error = HkIpg::new(&config).unwrap_err();
            assert!(error.to_string().starts_with(name), "{error}");
            assert_eq!(PublishedHkIpg::new(&config).unwrap_err(), error);
        }
    }
}
