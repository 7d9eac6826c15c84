//! Which meter an index means: a program has its meters as one, or in two halves, the first with the even numbers.

use crate::driver::Program;

/// Tables of rules that have a meter: one, or those of the even and of the odd meters.
pub(crate) const METERED: [&str; 3] = ["metered_rules", "metered_rules_even", "metered_rules_odd"];

/// Meters by index; index 0 is for rules without one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Meters {
    /// Even and odd ones; the same twice where they are one.
    ids: [u32; 2],
    pub(crate) name: &'static str,
    /// How many there are.
    pub(crate) count: u32,
}

impl Meters {
    /// Those of rules that have entries of their own, or of all.
    pub(crate) fn of_rules(program: &Program) -> Option<Self> {
        Self::named(program, ["rule_meters", "rule_meters_even", "rule_meters_odd"])
    }

    /// Those of simple rules of sessions, where they are others.
    pub(crate) fn of_sessions(program: &Program) -> Option<Self> {
        Self::named(program, ["session_meters", "session_meters_even", "session_meters_odd"])
    }

    fn named(program: &Program, [name, even, odd]: [&'static str; 3]) -> Option<Self> {
        let meters = |name: &str| {
            let meters = program.meters.iter().find(|meter| meter.name == name)?;
            Some((meters.id, u32::try_from(meters.size).unwrap_or(u32::MAX)))
        };
        if let Some((id, count)) = meters(name) {
            return Some(Self { ids: [id; 2], name, count });
        }
        let ((even, size), (odd, other)) = (meters(even)?, meters(odd)?);
        Some(Self { ids: [even, odd], name, count: size.min(other).saturating_mul(2) })
    }

    /// The table in which a program that keeps meters apart from rules has the rows of rules with that meter, and the index that they say.
    pub(crate) fn row(&self, index: u32) -> (&'static str, u32) {
        let [even, odd] = self.ids;
        let [one, first, second] = METERED;
        let (meter, index) = self.cell(index);
        match (even == odd, meter == even) {
            (true, _) => (one, index),
            (false, true) => (first, index),
            (false, false) => (second, index),
        }
    }

    /// The meter and the index in it.
    pub(crate) fn cell(&self, index: u32) -> (u32, u32) {
        let [even, odd] = self.ids;
        match (even == odd, index.is_multiple_of(2)) {
            (true, _) => (even, index),
            (false, true) => (even, index / 2),
            (false, false) => (odd, index / 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use causeway_p4::profiles;

    use super::*;
    use crate::driver::Meter;

    // Input:  the meters of simple rules of `direct`, in two halves, and those of its other rules, which are one.
    // Output: each index has a meter of its own in both, as far as they go.
    #[test]
    fn each_index_has_a_meter_of_its_own() {
        let program = Program::from(&profiles::DIRECT);
        let (sessions, rules) = (Meters::of_sessions(&program).unwrap(), Meters::of_rules(&program).unwrap());
        for (meters, count, ids) in [(sessions, 31_744, 2), (rules, 1024, 1)] {
            assert_eq!(meters.count, count, "{}", meters.name);
            let found: HashSet<(u32, u32)> = (0..count).map(|index| meters.cell(index)).collect();
            assert_eq!(found.len(), count as usize);
            for (id, index) in &found {
                let meter = program.meters.iter().find(|meter| meter.id == *id).unwrap();
                assert!((*index as usize) < meter.size, "{}", meter.name);
            }
            assert_eq!(found.iter().map(|(id, _)| id).collect::<HashSet<_>>().len(), ids);
        }
        assert_eq!(Meters::of_sessions(&Program::from(&profiles::HIP4)), None);
    }

    // Input:  `hip4` as it is, with meters as one, and with two halves in their stead.
    // Output: a rule with a meter has its row in the table that asks it, with the index there.
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
        let rows = [1, 2, 5].map(|index| (halves.row(index), halves.cell(index).0));
        let wanted =
            [(("metered_rules_odd", 0), 8), (("metered_rules_even", 1), 7), (("metered_rules_odd", 2), 8)];
        assert_eq!(rows, wanted);
    }
}
