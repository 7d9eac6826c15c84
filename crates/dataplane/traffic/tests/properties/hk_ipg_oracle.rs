//! The settled definition for one flow in floating point, without limits of widths.

use causeway_traffic::HkIpgConfig;
use causeway_types::Time;

/// One flow that is alone in its slot.
#[derive(Clone, Debug)]
pub(crate) struct HkIpgOracle {
    config: HkIpgConfig,
    last: Option<f64>,
    /// The average of the gaps, in microseconds.
    pub(crate) average: f64,
    /// Tau; the flow is reported when it reaches the threshold.
    pub(crate) tau: f64,
}

impl HkIpgOracle {
    /// No packets yet.
    pub(crate) fn new(config: &HkIpgConfig) -> Self {
        let average = config.window.as_micros() as f64 / f64::from(config.threshold);
        Self { config: config.clone(), last: None, average, tau: 0.0 }
    }

    /// Counts a packet; true when the flow is reported. Times must not run back.
    pub(crate) fn observe(&mut self, now: Time) -> bool {
        let now = now.as_nanos() as f64 / 1000.0;
        let limit = self.config.window.as_micros() as f64 / f64::from(self.config.threshold);
        let Some(last) = self.last.replace(now) else { return false };
        let weight = f64::from(self.config.gap_weight) / 65536.0;
        self.average += (now - last - self.average) * weight;
        let timeslot = self.config.timeslot.as_micros() as f64;
        if (now / timeslot).floor() <= (last / timeslot).floor() || self.average > limit {
            return false;
        }
        let threshold = f64::from(self.config.tau_threshold);
        self.tau += threshold * timeslot / (f64::from(self.config.threshold) * self.average);
        let is_report = self.tau >= threshold;
        if is_report {
            self.tau = 0.0;
        }
        is_report
    }
}
