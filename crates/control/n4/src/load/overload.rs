//! Overload control: the reduction requested of SMFs while N4 is nearly full (TS 29.244 clause 6.2.4).

use causeway_pfcp::{CodedTimer, Metric, OciFlags, OverloadControlInformation, SequenceNumber, Timer};
use causeway_types::{Span, Time};

use crate::OverloadControl;

/// A smaller change of the metric is not sent (clause 6.2.4.3.2.3).
const MIN_CHANGE: u8 = 5;

/// The overload as last sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Overload {
    sequence: u32,
    percent: u8,
    since: Time,
}

impl Overload {
    /// No overload yet. `sequence` grows from one start of the UPF to the next.
    pub(super) const fn new(sequence: u32) -> Self {
        Self { sequence, percent: 0, since: Time::from_secs(0) }
    }

    /// The number of the overload while there is one.
    pub(super) fn in_force(&self) -> Option<u32> {
        (self.percent > 0).then_some(self.sequence)
    }

    /// The IE.
    pub(super) fn information(&self, validity: Span) -> OverloadControlInformation<'static> {
        let validity = Timer(CodedTimer::at_least(validity));
        let (sequence, metric) = (SequenceNumber(self.sequence), Metric(self.percent));
        // The overload is that of the node, whichever of its addresses the session uses.
        let flags = Some(OciFlags::AOCI);
        OverloadControlInformation { flags, ..OverloadControlInformation::new(sequence, metric, validity) }
    }

    /// Updates the reduction, if the change is large enough, reaches an end of the scale, or the last value is about to
    /// expire: the same number would not prolong it (clause 6.2.4.3.2.1, NOTE 1).
    pub(super) fn update(&mut self, now: Time, percent: u8, validity: Span) {
        let renewal = self.since + validity / 4 * 3;
        let is_ending = self.percent > 0 && now >= renewal;
        let is_end = percent != self.percent && (percent == 0 || percent == 100);
        if is_ending || is_end || percent.abs_diff(self.percent) >= MIN_CHANGE {
            *self = Self { sequence: self.sequence.wrapping_add(1), percent, since: now };
        }
    }
}

impl OverloadControl {
    /// The requested reduction in percent at this load: none up to the mark, 100 when full.
    pub(super) fn reduction(self, full: u8) -> u8 {
        let above = u32::from(full.saturating_sub(self.mark));
        let room = u32::from(100_u8.saturating_sub(self.mark)).max(1);
        u8::try_from(above * 100 / room).unwrap_or(100).min(100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALIDITY: Span = Span::from_secs(60);

    // Input:  reductions of 3, 5, 9, 10, 99, 100, 97, 2 and 0 percent, a second apart.
    // Output: sent when it changed by five, and at the ends of the scale.
    #[test]
    fn small_load_changes_are_not_sent() {
        let mut overload = Overload::new(7);
        let mut now = Time::from_secs(1000);
        let claimed = [3, 5, 9, 10, 99, 100, 97, 2, 0].map(|percent| {
            now = now + Span::from_secs(1);
            overload.update(now, percent, VALIDITY);
            (overload.percent, overload.sequence)
        });
        assert_eq!(
            claimed,
            [(0, 7), (5, 8), (5, 8), (10, 9), (99, 10), (100, 11), (100, 11), (2, 12), (0, 13)]
        );
    }

    // Input:  an overload of 50 percent that lasts, then ends; valid for 60 s.
    // Output: a new number after 45 s, and another 45 s later; none after the end.
    #[test]
    fn a_lasting_overload_is_sent_again_before_it_expires() {
        let mut overload = Overload::new(0);
        let mut at = |secs: u64, percent| {
            overload.update(Time::from_secs(1000 + secs), percent, VALIDITY);
            overload.sequence
        };
        assert_eq!([at(0, 50), at(44, 50), at(45, 50), at(89, 50), at(90, 50)], [1, 1, 2, 2, 3]);
        assert_eq!([at(91, 0), at(1000, 0)], [4, 4]);
    }

    // Input:  loads, with a mark of 80 percent, and with one that cannot be exceeded.
    // Output: nothing up to the mark, then evenly up to 100 percent.
    #[test]
    fn the_reduction_grows_from_the_mark_to_full() {
        let settings = OverloadControl { mark: 80, validity: VALIDITY };
        assert_eq!([0, 80, 81, 90, 99, 100].map(|full| settings.reduction(full)), [0, 0, 5, 50, 95, 100]);
        assert_eq!(OverloadControl { mark: 200, ..settings }.reduction(100), 0);
    }
}
