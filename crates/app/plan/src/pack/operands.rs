//! The division of action operands: immediate bits beside the match, or blocks of action data.

/// The most immediate bits of an entry.
const IMMEDIATE_BITS: u32 = 32;

/// A division of the operands of a table's actions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Split {
    /// Immediate bits of each entry.
    pub(super) immediate: u32,
    /// Octets of each entry in blocks of action data: 0 or a power of two.
    pub(super) octets: u32,
}

/// The possible divisions, the fewest immediate bits first; none is worse than another in both figures.
pub(super) fn splits(actions: &[Vec<u32>]) -> Vec<Split> {
    let mut splits: Vec<Split> = Vec::new();
    for budget in (0..=IMMEDIATE_BITS).step_by(8) {
        let immediate = actions.iter().map(|operands| fill(operands, budget)).max().unwrap_or(0);
        let rest = actions.iter().map(|operands| operands.iter().sum::<u32>() - fill(operands, budget)).max();
        let octets = match rest.unwrap_or(0).div_ceil(8) {
            0 => 0,
            octets => octets.next_power_of_two(),
        };
        if splits.last().is_none_or(|last| last.octets > octets) {
            splits.push(Split { immediate, octets });
        }
    }
    splits
}

/// The most bits, up to `budget`, that a subset of the operands makes up. Operands are not split.
fn fill(operands: &[u32], budget: u32) -> u32 {
    let mut reachable = vec![false; budget as usize + 1];
    reachable[0] = true;
    for &operand in operands.iter().filter(|operand| **operand <= budget) {
        for sum in (operand as usize..reachable.len()).rev() {
            reachable[sum] |= reachable[sum - operand as usize];
        }
    }
    reachable.iter().rposition(|reached| *reached).unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use super::{Split, splits};

    // Input:  an id, a tunnel and a meter of 32, 32 and 16 bits.
    // Output: all in 16 octets; the meter beside the match and 8 octets; no division that is wider and no smaller.
    #[test]
    fn operands_go_where_they_need_least() {
        let expected = [Split { immediate: 0, octets: 16 }, Split { immediate: 16, octets: 8 }];
        assert_eq!(splits(&[vec![32, 32, 16]]), expected);
    }

    #[test]
    fn an_operand_is_not_cut() {
        assert_eq!(splits(&[vec![48]]), [Split { immediate: 0, octets: 8 }]);
    }

    #[test]
    fn the_widest_action_decides() {
        let expected = [
            Split { immediate: 0, octets: 4 },
            Split { immediate: 16, octets: 2 },
            Split { immediate: 32, octets: 0 },
        ];
        assert_eq!(splits(&[vec![16, 16], vec![8]]), expected);
    }

    #[test]
    fn no_operands_need_nothing() {
        assert_eq!(splits(&[Vec::new()]), [Split { immediate: 0, octets: 0 }]);
        assert_eq!(splits(&[]), [Split { immediate: 0, octets: 0 }]);
    }
}
