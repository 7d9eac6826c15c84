//! Load control: the load of the UPF, for SMFs that select UPFs by it (TS 29.244 clause 6.2.3).

use causeway_pfcp::{CpFeatures, LoadControlInformation, Metric, SequenceNumber};

use crate::N4;
use crate::association::AssociationId;
use crate::seid::SeidSequence;

/// A smaller change of the metric is not sent (clause 6.2.3.3.2.2).
const MIN_CHANGE: u8 = 5;

/// The load as last sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Load {
    sequence: u32,
    percent: u8,
}

impl Load {
    /// No load yet. `sequence` grows from one start of the UPF to the next.
    pub(crate) const fn new(sequence: u32) -> Self {
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

impl N4 {
    /// The limit of sessions.
    pub(crate) fn most_sessions(&self) -> usize {
        let most = self.config.limits.sessions.min(self.capabilities.max_sessions as usize);
        most.min(SeidSequence::INDICES)
    }

    /// The Load Control Information for the SMF of an association in a message sent now: `None` if it does not support
    /// load control, or has the current value. `sessions` is the number of sessions.
    pub(crate) fn load_information(
        &mut self,
        id: AssociationId,
        sessions: usize,
    ) -> Option<LoadControlInformation<'static>> {
        if !self.config.load_control {
            return None;
        }
        let (most, memory) = (self.most_sessions(), self.memory_load());
        let association = self.associations.get_mut(id)?;
        if !association.cp_features.contains(CpFeatures::LOAD) {
            return None;
        }
        let percent = share(sessions, most).max(memory);
        self.load.update(percent);
        let Load { sequence, percent } = self.load;
        if association.sent_load.replace(sequence) == Some(sequence) {
            return None;
        }
        Some(LoadControlInformation::new(SequenceNumber(sequence), Metric(percent)))
    }
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
