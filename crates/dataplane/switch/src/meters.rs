//! Which meter an index means: a program has its meters as one, or in two halves, the first with the even numbers.

use crate::driver::Program;

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
}
