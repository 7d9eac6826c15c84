//! Comparison of received with sent packets.

use std::collections::HashSet;
use std::fmt;

/// How a run of numbers 0, 1, 2 and so on came through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sequence {
    /// Numbers that were sent.
    pub sent: u64,
    /// Different numbers that arrived.
    pub received: u64,
    /// Numbers that arrived again.
    pub duplicated: u64,
    /// Numbers that arrived after a higher one (RFC 4737 clause 3).
    pub reordered: u64,
}

impl Sequence {
    /// Compares the numbers `0..sent` with those that arrived, in order of arrival.
    pub fn compare(sent: u64, arrived: impl IntoIterator<Item = u64>) -> Self {
        let mut result = Self { sent, ..Self::default() };
        let mut known = HashSet::new();
        let mut expected = 0;
        for number in arrived {
            if !known.insert(number) {
                result.duplicated += 1;
                continue;
            }
            result.received += 1;
            if number < expected {
                result.reordered += 1;
            } else {
                expected = number + 1;
            }
        }
        result
    }

    /// Numbers that never arrived.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    /// Each number arrived, once, in order.
    pub fn is_perfect(&self) -> bool {
        *self == Self { sent: self.sent, received: self.sent, ..Self::default() }
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} received, {} lost", self.received, self.sent, self.lost())?;
        write!(f, ", {} reordered, {} duplicated", self.reordered, self.duplicated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  five numbers sent; 1 and 2 arrive exchanged, 3 twice, 4 never.
    // Output: one lost, one reordered, one duplicated.
    #[test]
    fn each_kind_of_trouble_is_counted_apart() {
        let seen = Sequence::compare(5, [0, 2, 1, 3, 3]);
        assert_eq!(seen, Sequence { sent: 5, received: 4, duplicated: 1, reordered: 1 });
        assert_eq!(seen.lost(), 1);
        assert!(!seen.is_perfect());
    }

    // Input:  three numbers sent and received as they were; none sent and none received.
    // Output: both runs are perfect.
    #[test]
    fn a_run_that_came_through_is_perfect() {
        assert!(Sequence::compare(3, 0..3).is_perfect());
        assert!(Sequence::compare(0, []).is_perfect());
    }

    // Input:  a number that was never sent.
    // Output: not perfect, and nothing counts as lost twice.
    #[test]
    fn an_unknown_packet_is_not_perfect() {
        let seen = Sequence::compare(1, [0, 7]);
        assert!(!seen.is_perfect());
        assert_eq!(seen.lost(), 0);
    }
}
