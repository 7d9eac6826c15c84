//! Meter numbers: a program has one meter array, two halves of which the first has the even numbers, or banks.

use causeway_p4::names::{meter, table};

use crate::driver::Program;
use crate::indexed_counters::IndexedCounters;
use crate::tables::variants;

/// Tables of rules that have a meter: one, or one for the even and one for the odd meters.
pub(crate) const METERED: [&str; 3] =
    [table::METERED_RULES, variants::METERED_RULES_EVEN, variants::METERED_RULES_ODD];

/// One rule in this many has its own meter where rules and sessions share a meter array.
const RULES_PER_METER: u32 = 8;

/// Banks of sessions' meters, and the first number of each (`p4/blocks/metering.p4`).
const BANKS: [(&str, u32); 4] = [
    (meter::SESSION_METERS_0, 0),
    (meter::SESSION_METERS_1, 0x2000),
    (meter::SESSION_METERS_2, 0x4000),
    (meter::SESSION_METERS_LARGE, 0x8000),
];
/// The number of the first cell of `rule_meters`, for sessions.
const SESSION_METERS_BASE: u32 = 0x6000;

/// Meters by number; number 0 is for rules without one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Meters {
    shape: Shape,
    pub(crate) name: &'static str,
    /// The number of meters.
    pub(crate) count: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// The even and the odd meters; twice the same id where there is one array.
    Halves([u32; 2]),
    /// Banks that a program lacks have size zero.
    Banks([Bank; 5]),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Bank {
    id: u32,
    /// The number of the first meter, and its index in the bank.
    number: u32,
    index: u32,
    size: u32,
}

impl Meters {
    /// The meters of rules with entries of their own, or of all rules.
    pub(crate) fn of_rules(program: &Program) -> Option<Self> {
        if let Some((id, size)) = named(program, meter::RULE_METERS) {
            let rules =
                IndexedCounters::of(program).map_or(u32::MAX, |cells| cells.rules() / RULES_PER_METER);
            return Some(Self {
                shape: Shape::Halves([id; 2]),
                name: meter::RULE_METERS,
                count: size.min(rules),
            });
        }
        let ((even, size), (odd, other)) =
            (named(program, variants::RULE_METERS_EVEN)?, named(program, variants::RULE_METERS_ODD)?);
        let count = size.min(other).saturating_mul(2);
        Some(Self { shape: Shape::Halves([even, odd]), name: meter::RULE_METERS, count })
    }

    /// The meters of simple session rules, where they are separate: numbers beyond the banks follow those of the rules.
    pub(crate) fn of_sessions(program: &Program) -> Option<Self> {
        let bank = |(name, number)| {
            let found = named(program, name);
            found.map_or(Bank::default(), |(id, size)| Bank { id, number, index: 0, size })
        };
        let [first, second, third, large] = BANKS.map(bank);
        if first.size == 0 {
            return None;
        }
        let rules = Self::of_rules(program)?.count;
        let behind = named(program, meter::RULE_METERS).map_or(Bank::default(), |(id, size)| Bank {
            id,
            number: SESSION_METERS_BASE + rules,
            index: rules,
            size: size.saturating_sub(rules),
        });
        let banks = [first, second, third, large, behind];
        let count = banks.iter().map(|bank| bank.size).sum();
        Some(Self { shape: Shape::Banks(banks), name: "session_meters", count })
    }

    /// For a program that keeps meters apart from rules: the table that holds the entry of a rule with that meter, and
    /// the index in that entry.
    pub(crate) fn row(&self, number: u32) -> (&'static str, u32) {
        let [one, first, second] = METERED;
        match self.shape {
            Shape::Halves([even, odd]) if even != odd => {
                (if number.is_multiple_of(2) { first } else { second }, number / 2)
            }
            _ => (one, number),
        }
    }

    /// The number of the meter at an ordinal position.
    pub(crate) fn number(&self, place: u32) -> u32 {
        let Shape::Banks(banks) = self.shape else { return place };
        let mut remaining = place;
        for bank in banks {
            if remaining < bank.size {
                return bank.number + remaining;
            }
            remaining -= bank.size;
        }
        0
    }

    /// The meter of a number, and the index in it.
    pub(crate) fn cell(&self, number: u32) -> Option<(u32, u32)> {
        match self.shape {
            Shape::Halves([even, odd]) if even == odd => Some((even, number)),
            Shape::Halves([even, odd]) => {
                Some((if number.is_multiple_of(2) { even } else { odd }, number / 2))
            }
            Shape::Banks(banks) => banks.iter().find_map(|bank| {
                let place = number.checked_sub(bank.number).filter(|place| *place < bank.size)?;
                Some((bank.id, bank.index + place))
            }),
        }
    }
}

/// The id and the size of a meter array.
fn named(program: &Program, name: &str) -> Option<(u32, u32)> {
    let meters = program.meters.iter().find(|meter| meter.name == name)?;
    Some((meters.id, u32::try_from(meters.size).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use causeway_p4::profiles;

    use super::*;
    use crate::driver::Meter;

    // Input:  the meters of simple rules of `direct`, in banks, and the single array of its other rules.
    // Output: each number has its own meter in both, within their sizes.
    #[test]
    fn each_number_has_a_meter_of_its_own() {
        let program = Program::from(&profiles::DIRECT);
        let (sessions, rules) = (Meters::of_sessions(&program).unwrap(), Meters::of_rules(&program).unwrap());
        for (meters, count, ids) in [(sessions, 31_744, 4), (rules, 1024, 1)] {
            assert_eq!(meters.count, count, "{}", meters.name);
            let found: HashSet<(u32, u32)> =
                (0..count).map(|place| meters.cell(meters.number(place)).unwrap()).collect();
            assert_eq!(found.len(), count as usize);
            for (id, index) in &found {
                let meter = program.meters.iter().find(|meter| meter.id == *id).unwrap();
                assert!((*index as usize) < meter.size, "{}", meter.name);
            }
            assert_eq!(found.iter().map(|(id, _)| id).collect::<HashSet<_>>().len(), ids);
        }
        assert_eq!(Meters::of_sessions(&Program::from(&profiles::HIP4)), None);
    }

    // Input:  `hip4` as it is, with one meter array, and with two halves instead.
    // Output: a rule with a meter has its entry in the table that executes that meter, with the index there.
    #[test]
    fn rules_with_a_meter_stand_where_it_is_asked() {
        let mut program = Program::from(&profiles::HIP4);
        let one = Meters::of_rules(&program).unwrap();
        assert_eq!([1, 2, 5].map(|index| one.row(index)), [1, 2, 5].map(|index| ("metered_rules", index)));
        program.meters = [("rule_meters_even", 7), ("rule_meters_odd", 8)]
            .map(|(name, id)| Meter { id, name: name.to_owned(), size: 4 })
            .into();
        let halves = Meters::of_rules(&program).unwrap();
        assert_eq!(halves.count, 8);
        let rows = [1, 2, 5].map(|index| (halves.row(index), halves.cell(index).unwrap().0));
        let wanted =
            [(("metered_rules_odd", 0), 8), (("metered_rules_even", 1), 7), (("metered_rules_odd", 2), 8)];
        assert_eq!(rows, wanted);
    }

    // Input:  a program with 47,360 meters of sessions, 4,352 of which follow the 1,024 meters of rules.
    // Output: all have 16-bit numbers and their own meters; no session uses a meter of the rules.
    #[test]
    fn what_banks_do_not_hold_is_behind_the_meters_of_rules() {
        let mut program = Program::from(&profiles::DIRECT);
        for meter in &mut program.meters {
            meter.size = match meter.name.as_str() {
                "rule_meters" => 1024 + 4352,
                "session_meters_large" => 18_432,
                _ => meter.size,
            };
        }
        let (sessions, rules) = (Meters::of_sessions(&program).unwrap(), Meters::of_rules(&program).unwrap());
        assert_eq!((sessions.count, rules.count), (47_360, 1024));
        let numbers: HashSet<u32> = (0..sessions.count).map(|place| sessions.number(place)).collect();
        assert!(numbers.len() == 47_360 && numbers.iter().all(|number| *number <= 0xffff));
        let cells = numbers.iter().map(|number| sessions.cell(*number).unwrap());
        let all: HashSet<_> = cells.chain((0..1024).map(|number| rules.cell(number).unwrap())).collect();
        assert_eq!(all.len(), 47_360 + 1024);
        assert_eq!((sessions.cell(0x63ff), sessions.cell(0x6400 + 4352)), (None, None));
        assert_eq!(sessions.number(43_008), 0x6400);
    }
}
