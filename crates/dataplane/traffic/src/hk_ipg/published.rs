//! Algorithm 1 of the thesis, as it is printed.

use causeway_types::Time;

use super::HkIpgConfig;
use crate::config::ConfigError;
use crate::{Key, Outcome, Statistics};

/// Algorithm 1 to the letter, for comparisons.
///
/// Time stamps are microseconds modulo the timeslot, so a packet whose time stamp is not greater than the last one's ends a timeslot:
/// longer gaps are taken modulo the timeslot, and equal times are a whole one. The average is exact. Equation 4.9 gives tau for every
/// average, rounded down, and tau is reset at a report (section 4.3.2.1).
#[derive(Clone, Debug)]
pub struct PublishedHkIpg {
    slots: Box<[Option<Slot>]>,
    config: HkIpgConfig,
    statistics: Statistics,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    flow: u32,
    average: f64,
    stamp: u64,
    tau: u32,
}

impl PublishedHkIpg {
    /// Bits of a slot in the thesis (section 4.5.1.1): flow 32, average 16, time stamp 16, tau 8.
    pub const SLOT_BITS: usize = 72;

    /// An empty detector. [`HkIpgConfig::stamps`] has no meaning here.
    ///
    /// # Errors
    /// [`ConfigError`] when a number is out of range.
    pub fn new(config: &HkIpgConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            slots: vec![None; config.slots].into(),
            config: config.clone(),
            statistics: Statistics::default(),
        })
    }

    /// Counts a packet.
    pub fn observe(&mut self, key: Key, now: Time) -> Outcome {
        let timeslot = self.config.timeslot.as_micros() as u64;
        let limit = self.config.limit() as f64 / 256.0;
        let (flow, now) = ((key.0 >> 32) as u32, (now.as_nanos() / 1000) % timeslot);
        let place = key.place(0, self.slots.len());
        let Some(entry) = self.slots.get_mut(place) else { return Outcome::Untracked };
        let new = Slot { flow, average: limit, stamp: now, tau: 0 };
        let Some(slot) = entry else {
            *entry = Some(new);
            return Outcome::Light;
        };
        if slot.flow != flow {
            if slot.average <= limit {
                slot.average += f64::from(self.config.collision) / 256.0;
                return Outcome::Untracked;
            }
            self.statistics.replacements += 1;
            *slot = new;
            return Outcome::Light;
        }
        let alpha = 1.0 - f64::from(self.config.gap_weight) / 65536.0;
        let ends = now <= slot.stamp;
        let gap = if ends { now + timeslot - slot.stamp } else { now - slot.stamp };
        slot.average = alpha * slot.average + (1.0 - alpha) * gap as f64;
        slot.stamp = now;
        if !ends {
            return Outcome::Light;
        }
        let whole = f64::from(self.config.threshold) * slot.average.max(1.0);
        let part = f64::from(self.config.tau_threshold) * timeslot as f64;
        slot.tau = slot.tau.saturating_add((part / whole) as u32);
        if slot.tau < self.config.tau_threshold.into() {
            return Outcome::Light;
        }
        let measured = std::mem::take(&mut slot.tau);
        self.statistics.reports += 1;
        Outcome::Report { measured }
    }

    /// What the detector has counted.
    pub const fn statistics(&self) -> Statistics {
        self.statistics
    }
}

#[cfg(test)]
mod tests {
    use causeway_types::Span;

    use super::*;
    use crate::FlowKeys;

    fn reports(times: impl Iterator<Item = u64>) -> usize {
        let config = HkIpgConfig { tau_threshold: 1850, ..HkIpgConfig::with_slots(16) };
        let mut detector = PublishedHkIpg::new(&config).unwrap();
        let key = FlowKeys::with_seed(3).rule_pair(1, 0);
        let at = |micros| Time::from_secs(50) + Span::from_micros(micros);
        times.filter(|micros| detector.observe(key, at(*micros)).is_report()).count()
    }

    // Input:  single flows below the threshold of 1 Mbit/s for 20 s: paced with 0.3 and 0.5 Mbit/s, and five packets each 60 ms.
    // Output: Algorithm 1 reports them, as systematic faults of its modulo and of its tau above the limit.
    #[test]
    fn slow_flows_are_reported() {
        let paced = |gap: u64| (0..20_000_000 / gap).map(move |packet| packet * gap);
        assert_eq!(reports(paced(26_667)), 5);
        assert_eq!(reports(paced(16_000)), 10);
        let bursts = (0..333_u64).flat_map(|burst| (0..5).map(move |packet| burst * 60_000 + packet * 10));
        assert!(reports(bursts) > 5);
    }

    // Input:  a paced flow of 2 Mbit/s for 20 s.
    // Output: about two reports a second.
    #[test]
    fn fast_flows_are_reported() {
        assert!((30..=50).contains(&reports((0..5000).map(|packet| packet * 4000))));
    }
}
