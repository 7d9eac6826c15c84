//! Armed rules: entries whose packets still go to the software behind the switch, in order, until the switch may forward
//! them without overtaking any.
//!
//! A rule that moves from the software to the switch is inserted together with an entry of the table [`TABLE`], by its
//! number. While the entry is there, a register says what happens to a packet of the rule:
//!
//! 1. The first packet goes to the software, and its time is stored.
//! 2. A packet that arrives less than the entry's gap after the one before goes to the software, and its time is stored.
//! 3. The first packet after a gap of that length is forwarded, and so are all later ones: the rule has *flipped*. If the
//!    gap is at least as long as the longest stay in the software, every earlier packet has left by then.
//!
//! The P4 programs of `p4/` have no registers yet, so this table is in the model alone. It has the form that a register
//! takes later: one access per packet, of an array of [`RULES`] cells by the last bits of the rule's number, with one
//! comparison of times. Two armed rules of one cell wait for each other. A new arming has another generation, so that
//! nothing remains of an earlier one; a controller that can write registers sets the cell to zero instead.

use causeway_p4::names::key;
use causeway_types::{Span, Time};

use crate::driver::{Action, Key, MatchKind, Parameter, Program, Table};

/// The table of armed rules.
pub(crate) const TABLE: &str = "armed_rules";

/// Its action.
pub(crate) const ACTION: &str = "arm";

/// The parameters of the action: which arming it is, and the gap in microseconds.
pub(crate) const GENERATION: &str = "generation";
pub(crate) const GAP: &str = "gap";

/// Rules that can be armed at a time, and cells of the register.
pub const RULES: usize = 4096;

/// Ids that no compiled program uses: compilers number from the hash of a name, with zero in these bits of ours.
const TABLE_ID: u32 = 0x02ff_fff0;
const ACTION_ID: u32 = 0x01ff_fff0;

impl Program {
    /// The program, with a table of armed rules.
    #[must_use]
    pub fn with_armed_rules(mut self) -> Self {
        let rule = Key { name: key::RULE.to_owned(), width: 24, kind: MatchKind::Exact };
        let parameter = |name: &str| Parameter { name: name.to_owned(), width: 32 };
        let parameters = vec![parameter(GENERATION), parameter(GAP)];
        self.actions.push(Action { id: ACTION_ID, name: ACTION.to_owned(), parameters });
        let (name, keys, actions) = (TABLE.to_owned(), vec![rule], vec![ACTION_ID]);
        self.tables.push(Table { id: TABLE_ID, name, size: RULES, keys, actions, is_const: false });
        self
    }
}

/// An arming of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arming {
    pub(crate) generation: u32,
    /// The gap after which it flips.
    pub(crate) gap: Span,
}

impl Arming {
    /// The gap as a parameter, in microseconds, rounded up.
    pub(crate) fn micros(self) -> u128 {
        self.gap.as_nanos().div_ceil(1000).min(u128::from(u32::MAX))
    }
}

/// The register.
#[derive(Clone, Debug)]
pub(crate) struct Register(Vec<Cell>);

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// Zero: it was never used.
    generation: u32,
    last: Time,
    has_flipped: bool,
}

impl Default for Register {
    fn default() -> Self {
        Self(vec![Cell::default(); RULES])
    }
}

impl Register {
    /// Whether a packet of an armed rule passes.
    pub(crate) fn passes(&mut self, now: Time, rule: u32, generation: u32, gap_micros: u32) -> bool {
        let Some(cell) = self.0.get_mut(rule as usize % RULES) else { return false };
        if cell.generation != generation {
            *cell = Cell { generation, last: now, has_flipped: false };
            return false;
        }
        let gap = Span::from_micros(gap_micros.into());
        cell.has_flipped |= now.since(cell.last) >= gap;
        cell.last = now;
        cell.has_flipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  an armed rule with a gap of 100 us, packets at 0, 99, 150, 250 and 251 us; then the same rule armed again.
    // Output: the first three go to the software; the fourth comes 100 us after the third and flips the rule; the new
    //         arming begins anew.
    #[test]
    fn a_rule_flips_after_a_gap() {
        let mut register = Register::default();
        let mut passes =
            |micros: u64, generation| register.passes(Time::from_nanos(1000 * micros), 7, generation, 100);
        assert_eq!([0, 99, 150, 250, 251].map(|at| passes(at, 1)), [false, false, false, true, true]);
        assert_eq!([251, 300, 400].map(|at| passes(at, 2)), [false, false, true]);
    }

    // Input:  two armed rules of one cell.
    // Output: neither flips while both have packets: each takes the cell from the other.
    #[test]
    fn rules_of_one_cell_wait_for_each_other() {
        let mut register = Register::default();
        let far = RULES as u32 + 7;
        for round in 0..4_u64 {
            assert!(!register.passes(Time::from_secs(2 * round), 7, 1, 100));
            assert!(!register.passes(Time::from_secs(2 * round + 1), far, 2, 100));
        }
        assert!(register.passes(Time::from_secs(20), far, 2, 100));
    }
}
