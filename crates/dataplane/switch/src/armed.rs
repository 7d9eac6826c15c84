//! Armed rules: entries whose packets still go to the software behind the switch, in order, until the switch may forward
//! them without overtaking any.
//!
//! A rule that moves from the software to the switch is inserted together with an entry of the table `armed_rules`, by its
//! number. While the entry is there, two registers say what happens to a packet of the rule:
//!
//! 1. The first packet goes to the software, and its time is stored.
//! 2. A packet that arrives less than the entry's gap after the one before goes to the software, and its time is stored.
//! 3. The first packet after a gap of that length is forwarded, and so are all later ones: the rule has *flipped*. If the
//!    gap is at least as long as the longest stay in the software, every earlier packet has left by then.
//!
//! Each arming has a number, and its cell is that of the number's last bits. One register has which arming last had a packet in
//! the cell, so that nothing remains of an earlier one, and no controller has to write the register. The
//! other has the time of the last packet for the software; after the flip it stays, so the gap only grows. Two armed rules
//! of one cell wait for each other: one of them is still armed after [`RULES`] further armings.
//!
//! Times are of 32 bits, in units of 256 ns ([`UNIT`]): bits 39 to 8 of a time stamp of Tofino. They wrap after 18 minutes.
//! A rule that flipped and has had no change of its entry for nine minutes goes to the software once more: that
//! overtakes nothing.

use causeway_p4::names::register;
use causeway_types::{Span, Time};

use crate::driver::Program;
use crate::model::State;
use crate::model::register::{
    Change, Comparison, Condition, Modification, Operand, RegisterAction, RegisterError, Relation, Returned,
    Word,
};

/// Rules that can be armed at a time, and cells of the registers.
pub const RULES: usize = 4096;

/// The unit of times in the registers.
const UNIT: Span = Span::from_nanos(256);

/// An arming of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arming {
    pub(crate) generation: u32,
    /// The gap after which it flips.
    pub(crate) gap: Span,
}

impl Arming {
    /// The gap as a parameter: never shorter, although both times are rounded down; at most half of what times count. Zero
    /// asks for no gap.
    pub(crate) fn units(self) -> u128 {
        let rounding = u128::from(self.gap != Span::ZERO);
        let units = self.gap.as_nanos().div_ceil(UNIT.as_nanos()) + rounding;
        units.min(u128::from(u32::MAX / 2))
    }
}

/// What packets of armed rules do with the registers.
#[derive(Clone, Debug)]
pub(crate) struct Observation {
    /// Stores the arming: 1 if the cell had it.
    note: RegisterAction,
    /// Stores the time, if the last one is not a gap ago: 1 if it is.
    observe: RegisterAction,
    /// Stores the time: another arming had the cell.
    begin: RegisterAction,
}

impl Observation {
    /// The actions on the registers of a program; `None`: it has no armed rules.
    ///
    /// # Errors
    /// The registers are not those of armed rules.
    pub(crate) fn of(program: &Program) -> Result<Option<Self>, RegisterError> {
        let named = |name| program.register_named(name);
        let (Some(generations), Some(times)) =
            (named(register::ARMED_GENERATIONS), named(register::ARMED_TIMES))
        else {
            return Ok(None);
        };
        let compare = |relation| [Comparison { word: Word::First, relation, with: Operand::Input(0) }];
        let store = |when, input| {
            [Modification { word: Word::First, when, change: Change::Set(Operand::Input(input)) }]
        };
        let holds = Returned::Whether(Condition::If(Word::First));
        let (always, unless) = (Condition::Always, Condition::Unless(Word::First));
        let note = RegisterAction::new(generations, &compare(Relation::Equal), &store(always, 0), holds)?;
        let observe = RegisterAction::new(times, &compare(Relation::NotAfter), &store(unless, 1), holds)?;
        let begin = RegisterAction::new(times, &[], &store(always, 1), Returned::Before(Word::First))?;
        RegisterAction::check_actions(&program.registers, &[note.clone(), observe.clone(), begin.clone()])?;
        Ok(Some(Self { note, observe, begin }))
    }

    /// Whether a packet of an armed rule passes. The gap is in units.
    pub(crate) fn passes(&self, state: &mut State, now: Time, generation: u32, gap: u32) -> bool {
        let cell = generation % RULES as u32;
        let time = (u128::from(now.as_nanos()) / UNIT.as_nanos()) as u32;
        let times = [time.wrapping_sub(gap), time];
        match state.access(&self.note, cell, [generation, 0]) {
            Ok(0) => {
                let _before = state.access(&self.begin, cell, times);
                false
            }
            Ok(_) => state.access(&self.observe, cell, times) == Ok(1),
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::register::Side;

    struct World {
        state: State,
        observation: Observation,
    }

    impl World {
        fn new() -> Self {
            let program = Program::from(&causeway_p4::profiles::HIP4_HYBRID);
            let observation = Observation::of(&program).unwrap().unwrap();
            Self { state: State::new(program), observation }
        }

        /// A packet of an armed rule, whose gap is 100 us.
        fn passes(&mut self, now: Time, generation: u32) -> bool {
            self.state.begin_pass(Side::Ingress);
            let gap = Arming { generation, gap: Span::from_micros(100) }.units() as u32;
            self.observation.passes(&mut self.state, now, generation, gap)
        }
    }

    // Input:  an armed rule with a gap of 100 us, packets at 0, 99, 150, 251 and 252 us; then the same rule armed again.
    // Output: the first three go to the software; the fourth comes a gap after the third and flips the rule; the new
    //         arming begins anew.
    #[test]
    fn a_rule_flips_after_a_gap() {
        let mut world = World::new();
        let mut passes = |micros: u64, generation| world.passes(Time::from_nanos(1000 * micros), generation);
        assert_eq!([0, 99, 150, 251, 252].map(|at| passes(at, 1)), [false, false, false, true, true]);
        assert_eq!([252, 300, 401].map(|at| passes(at, 2)), [false, false, true]);
    }

    // Input:  an armed rule that asks for no gap, two packets at one moment.
    // Output: the second is forwarded.
    #[test]
    fn without_a_gap_the_second_packet_passes() {
        let mut world = World::new();
        let units = Arming { generation: 3, gap: Span::ZERO }.units() as u32;
        let mut passes = || {
            world.state.begin_pass(Side::Ingress);
            world.observation.passes(&mut world.state, Time::from_secs(5), 3, units)
        };
        assert_eq!([passes(), passes(), passes()], [false, true, true]);
    }

    // Input:  two armed rules, the numbers of whose armings are as far apart as there are cells; two that were armed one after the other.
    // Output: neither of the first flips while both have packets: each takes the cell from the other. The others do not meet.
    #[test]
    fn rules_of_one_cell_wait_for_each_other() {
        let mut world = World::new();
        let far = RULES as u32 + 7;
        for round in 0..4_u64 {
            assert!(!world.passes(Time::from_secs(2 * round), 7));
            assert!(!world.passes(Time::from_secs(2 * round + 1), far));
        }
        assert!(world.passes(Time::from_secs(20), far));
        for (round, expected) in [false, true, true].into_iter().enumerate() {
            let at = Time::from_secs(30 + 2 * round as u64);
            assert_eq!([1, 2].map(|arming| world.passes(at, arming)), [expected; 2]);
        }
    }

    // Input:  a rule with two packets 99 us apart, at each of 1,000 moments around the wrap of times after 18 minutes; and one
    //         with two packets further apart than a gap there.
    // Output: the gap is never seen as passed early, and is seen at most two units late.
    #[test]
    fn times_wrap() {
        let mut world = World::new();
        let wrap = UNIT.as_nanos() as u64 * (1 << 32);
        for step in 0..1000_u64 {
            let at = Time::from_nanos(wrap - 200_000 + 333 * step);
            let generation = 1 + 2 * step as u32;
            assert!(!world.passes(at, generation));
            assert!(!world.passes(at + Span::from_nanos(99_999), generation), "{step}");
            assert!(!world.passes(at, generation + 1));
            assert!(world.passes(at + Span::from_nanos(100_512), generation + 1), "{step}");
        }
    }

    // Input:  gaps of nothing, of 256 ns, of a nanosecond more, and of an hour.
    // Output: none; one unit more than they have, rounded up; and the longest that times of 32 bits can tell.
    #[test]
    fn a_gap_is_rounded_up() {
        let units = |nanos| Arming { generation: 1, gap: Span::from_nanos(nanos) }.units();
        assert_eq!([0, 256, 257, 3_600_000_000_000].map(units), [0, 2, 3, 0x7fff_ffff]);
    }
}
