//! Rows of blocks for counters and meters.
//!
//! Their ALUs are beside the rows: those of counters beside the even ones, those of meters beside the odd ones. The
//! blocks of a counter or meter begin in the row of its ALU and continue downwards, over a limited number of rows, and
//! only one of them can pass from one row to the next. A meter's colours follow in map RAMs, on Tofino 1 also beyond
//! those rows.

use crate::architecture::Architecture;

/// A counter or meter, by the map RAMs that it needs.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum TwoPort {
    /// A counter's blocks.
    Counter(u32),
    /// A meter's blocks, and the map RAMs of its colours.
    Meter(u32, u32),
}

impl TwoPort {
    const fn size(self) -> u32 {
        match self {
            Self::Counter(blocks) => blocks,
            Self::Meter(blocks, colors) => blocks + colors,
        }
    }

    /// The blocks that are limited to the rows within reach of its ALU.
    const fn bound(self, arch: &Architecture) -> u32 {
        match self {
            Self::Meter(blocks, _) if !arch.split_core => blocks,
            _ => self.size(),
        }
    }

    const fn begins_in(self, row: u32) -> bool {
        match self {
            Self::Counter(_) => row.is_multiple_of(2),
            Self::Meter(..) => !row.is_multiple_of(2),
        }
    }
}

/// The rest that continues from one row to the next.
#[derive(Clone, Copy)]
struct Rest {
    /// Blocks that are not placed.
    size: u32,
    /// Those of them that must not be below the lowest row.
    bound: u32,
    /// The lowest row within reach.
    lowest: u32,
}

impl Rest {
    const fn less(self, placed: u32) -> Self {
        let (size, bound) = (self.size.saturating_sub(placed), self.bound.saturating_sub(placed));
        Self { size, bound, lowest: self.lowest }
    }
}

/// Whether all fit into the rows of one stage.
pub(super) fn arrange(arch: &Architecture, mut all: Vec<TwoPort>) -> bool {
    all.sort_unstable_by_key(|group| std::cmp::Reverse(group.size()));
    descend(arch, arch.sram_rows, None, &mut all)
}

/// The most blocks of a counter or meter like the given one that fit into the rows beside the others.
pub(super) fn largest(arch: &Architecture, others: &[TwoPort], group: TwoPort) -> u32 {
    let like = |blocks: u32| match group {
        TwoPort::Counter(_) => TwoPort::Counter(blocks),
        TwoPort::Meter(_, colors) => TwoPort::Meter(blocks, colors),
    };
    let fits = |blocks: &u32| arrange(arch, others.iter().copied().chain([like(*blocks)]).collect());
    (1..=arch.map_rams()).rev().find(fits).unwrap_or(0)
}

/// Fills the rows below `above`, first with the rest that continues from there.
fn descend(arch: &Architecture, above: u32, rest: Option<Rest>, left: &mut Vec<TwoPort>) -> bool {
    if left.is_empty() && rest.is_none() {
        return true;
    }
    let blocks = left.iter().map(|group| group.size()).sum::<u32>() + rest.map_or(0, |rest| rest.size);
    if blocks > above * arch.map_columns {
        return false;
    }
    let Some(row) = above.checked_sub(1) else { return false };
    match rest {
        Some(rest) if row < rest.lowest && rest.bound > 0 => false,
        Some(rest) if rest.size > arch.map_columns => {
            descend(arch, row, Some(rest.less(arch.map_columns)), left)
        }
        Some(rest) => begin(arch, row, arch.map_columns - rest.size, left),
        None => begin(arch, row, arch.map_columns, left),
    }
}

/// Begins one more in the rest of a row, or none.
fn begin(arch: &Architecture, row: u32, free: u32, left: &mut Vec<TwoPort>) -> bool {
    let mut tried = None;
    for index in 0..left.len() {
        if free == 0 || !left[index].begins_in(row) || tried == Some(left[index]) {
            continue;
        }
        let group = left.remove(index);
        tried = Some(group);
        let rest =
            Rest { size: group.size(), bound: group.bound(arch), lowest: lowest(arch, row) }.less(free);
        if descend(arch, row, (rest.size > 0).then_some(rest), left) {
            left.insert(index, group);
            return true;
        }
        left.insert(index, group);
    }
    descend(arch, row, None, left)
}

/// The lowest row within reach of a counter or meter that begins in `row`.
const fn lowest(arch: &Architecture, row: u32) -> u32 {
    let lowest = (row + 1).saturating_sub(arch.span_rows);
    let half = arch.sram_rows / 2;
    if arch.split_core && row >= half && lowest < half { half } else { lowest }
}

#[cfg(test)]
mod tests {
    use super::TwoPort::{Counter, Meter};
    use super::{arrange, largest};
    use crate::architecture::Architecture;

    const ONE: Architecture = Architecture::TOFINO1;
    const TWO: Architecture = Architecture::TOFINO2;

    // Input:  one counter of 36 and of 37 blocks.
    // Output: six rows of six hold the first; 65,536 counters (33 blocks) do, 73,728 (37) do not.
    #[test]
    fn a_counter_reaches_over_six_rows() {
        assert!(arrange(&ONE, vec![Counter(36)]));
        assert!(!arrange(&ONE, vec![Counter(37)]));
        assert_eq!(largest(&ONE, &[], Counter(99)), 36);
    }

    // Input:  four counters as large as possible.
    // Output: three fill two rows each, the last has one: 3 x 22,528 + 10,240 with a spare block each.
    #[test]
    fn the_best_layout_of_four_counters() {
        let three = vec![Counter(12); 3];
        assert_eq!(largest(&ONE, &three, Counter(12)), 6);
        assert!(!arrange(&ONE, vec![Counter(12); 4]));
    }

    // Input:  a counter that ends in an odd row.
    // Output: the next one begins in the row below, as only even rows have ALUs of counters.
    #[test]
    fn the_rest_of_an_odd_row_is_lost_to_counters() {
        assert!(arrange(&ONE, vec![Counter(20), Counter(18)]));
        assert!(!arrange(&ONE, vec![Counter(20), Counter(19)]));
        assert!(arrange(&ONE, vec![Counter(14), Counter(28)]));
    }

    // Input:  a meter with its colours beside counters.
    // Output: it begins in the top row, which counters cannot use.
    #[test]
    fn a_meter_uses_the_top_row() {
        assert!(arrange(&ONE, vec![Meter(5, 1), Counter(36), Counter(6)]));
        assert!(arrange(&ONE, vec![Meter(36, 0), Counter(6)]));
        assert!(!arrange(&ONE, vec![Meter(36, 0), Counter(7)]));
        assert!(!arrange(&ONE, vec![Meter(37, 0)]));
    }

    // Input:  as many meters as one ALU reaches, with the colours of 35 blocks.
    // Output: the colours are below; a counter gets the rest of the bottom row only if an ALU is beside it.
    #[test]
    fn colours_lie_below_the_meter() {
        assert!(arrange(&ONE, vec![Meter(36, 9)]));
        assert!(!arrange(&ONE, vec![Meter(36, 9), Counter(4)]));
        assert!(arrange(&ONE, vec![Meter(36, 9), Counter(3)]));
    }

    // Input:  counters of a Tofino 2.
    // Output: none crosses the middle: 18 blocks each.
    #[test]
    fn a_split_core_has_two_halves() {
        assert!(arrange(&TWO, vec![Counter(18), Counter(18)]));
        assert!(!arrange(&TWO, vec![Counter(19)]));
        assert_eq!(largest(&TWO, &[], Meter(99, 5)), 19);
    }
}
