//! Load and overload control information in responses to session requests (TS 29.244 clauses 6.2.3 and 6.2.4).

mod overload;

use causeway_pfcp::{CpFeatures, LoadControlInformation, Metric, OverloadControlInformation, SequenceNumber};
use causeway_types::Time;

use crate::{Config, OverloadControl};

use overload::Overload;

/// A smaller change of the metric is not sent (clause 6.2.3.3.2.2).
const MIN_CHANGE: u8 = 5;

/// Information that an SMF supports and has not been sent yet.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct LoadStatus {
    pub(crate) load: Option<LoadControlInformation<'static>>,
    pub(crate) overload: Option<OverloadControlInformation<'static>>,
}

impl LoadStatus {
    /// There is nothing to send.
    pub(crate) const fn is_empty(&self) -> bool {
        self.load.is_none() && self.overload.is_none()
    }
}

/// The sequence numbers of the information last sent to one SMF.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SentLoad {
    load: Option<u32>,
    /// While the overload is in force.
    overload: Option<u32>,
}

/// Load and overload of this UPF.
#[derive(Debug)]
pub(crate) struct LoadControl {
    sends_load: bool,
    settings: Option<OverloadControl>,
    load: Load,
    overload: Overload,
}

impl LoadControl {
    /// No load yet. `sequence` grows from one start of the UPF to the next.
    pub(crate) const fn new(config: &Config, sequence: u32) -> Self {
        Self {
            sends_load: config.load_control,
            settings: config.overload_control,
            load: Load::new(sequence),
            overload: Overload::new(sequence),
        }
    }

    /// Follows changed settings.
    pub(crate) const fn reconfigure(&mut self, config: &Config) {
        self.sends_load = config.load_control;
        self.settings = config.overload_control;
    }

    /// The information for an SMF with these features in a message sent now, which has been sent `sent`. `load` and
    /// `fullness` are the load and the highest use of a limit, in percent.
    pub(crate) fn status(
        &mut self,
        now: Time,
        features: CpFeatures,
        sent: &mut SentLoad,
        load: u8,
        fullness: impl FnOnce() -> u8,
    ) -> LoadStatus {
        LoadStatus {
            load: self.load_information(features, sent, load),
            overload: self.overload_information(now, features, sent, fullness),
        }
    }

    /// `None` if the SMF does not support load control, or has the current value.
    fn load_information(
        &mut self,
        features: CpFeatures,
        sent: &mut SentLoad,
        percent: u8,
    ) -> Option<LoadControlInformation<'static>> {
        if !self.sends_load || !features.contains(CpFeatures::LOAD) {
            return None;
        }
        self.load.update(percent);
        let Load { sequence, percent } = self.load;
        if sent.load.replace(sequence) == Some(sequence) {
            return None;
        }
        Some(LoadControlInformation::new(SequenceNumber(sequence), Metric(percent)))
    }

    /// `None` if the SMF does not support overload control, has the current value, or was never notified of an overload
    /// that is over.
    fn overload_information(
        &mut self,
        now: Time,
        features: CpFeatures,
        sent: &mut SentLoad,
        fullness: impl FnOnce() -> u8,
    ) -> Option<OverloadControlInformation<'static>> {
        let settings = self.settings.filter(|_| features.contains(CpFeatures::OVRL))?;
        self.overload.update(now, settings.reduction(fullness()), settings.validity);
        let current = self.overload.in_force();
        if std::mem::replace(&mut sent.overload, current) == current {
            return None;
        }
        Some(self.overload.information(settings.validity))
    }
}

/// The load as last sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Load {
    sequence: u32,
    percent: u8,
}

impl Load {
    /// No load yet. `sequence` grows from one start of the UPF to the next.
    const fn new(sequence: u32) -> Self {
        Self { sequence, percent: 0 }
    }

    /// Updates the load, if the change is large enough or reaches an end of the scale.
    fn update(&mut self, percent: u8) {
        let is_end = percent != self.percent && (percent == 0 || percent == 100);
        if is_end || percent.abs_diff(self.percent) >= MIN_CHANGE {
            self.percent = percent;
            self.sequence = self.sequence.wrapping_add(1);
        }
    }
}

/// `there` in percent of `most`.
pub(crate) fn share(there: usize, most: usize) -> u8 {
    let percent = there.saturating_mul(100) / most.max(1);
    u8::try_from(percent).unwrap_or(u8::MAX).min(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  loads of 3, 5, 9, 10, 99, 100, 97, 2 and 0 percent.
    // Output: sent when it changed by five, and at the ends of the scale.
    #[test]
    fn small_load_changes_are_not_sent() {
        let mut load = Load::new(7);
        let claimed = [3, 5, 9, 10, 99, 100, 97, 2, 0].map(|percent| {
            load.update(percent);
            (load.percent, load.sequence)
        });
        assert_eq!(
            claimed,
            [(0, 7), (5, 8), (5, 8), (10, 9), (99, 10), (100, 11), (100, 11), (2, 12), (0, 13)]
        );
    }
}
