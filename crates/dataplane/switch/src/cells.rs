//! Where profile `direct` counts: each rule by its number, in banks of counters by index.

use crate::driver::Program;

/// Bits of a number that say of which session it is, or of which rule with an entry of its own.
const SESSION: u32 = 0x3_ffff;

/// Counters of a bank, of a small bank, and of one for rules with entries of their own.
const BANK: u32 = 1 << 15;
const SMALL: u32 = 1 << 13;

/// What is counted, in the order of the highest bits of a number.
const WAYS: [&str; 3] = ["ul", "dl", "rules"];

/// The banks of both sides.
#[derive(Clone, Debug)]
pub(crate) struct Cells([[Way; 3]; 2]);

/// The banks for the uplink or the downlink of sessions, or for other rules.
#[derive(Clone, Debug, Default)]
struct Way {
    whole: Vec<Bank>,
    small: Vec<Bank>,
}

#[derive(Clone, Copy, Debug)]
struct Bank {
    id: u32,
    size: usize,
    /// How many banks of its side come before it.
    place: u16,
}

impl Cells {
    /// Those of a program; `None` if its counters are not by index.
    pub(crate) fn of(program: &Program) -> Option<Self> {
        let bank = |name: String| {
            let counter = program.counters.iter().find(|counter| counter.name == name)?;
            counter.table.is_none().then_some(Bank { id: counter.id, size: counter.size, place: 0 })
        };
        let way = |side: &str, way: &str| Way {
            whole: (0..).map_while(|number| bank(format!("{side}_{way}_{number}"))).collect(),
            small: (0..).map_while(|number| bank(format!("{side}_{way}_small_{number}"))).collect(),
        };
        let mut sides = ["pre_qos", "post_qos"].map(|side| WAYS.map(|name| way(side, name)));
        for ways in &mut sides {
            let banks = ways.iter_mut().flat_map(|way| way.whole.iter_mut().chain(&mut way.small));
            (0..).zip(banks).for_each(|(place, bank)| bank.place = place);
        }
        let is_there = sides.iter().flatten().any(|way| !way.whole.is_empty());
        is_there.then_some(Self(sides))
    }

    /// The counter and the index of a number before (0) or after (1) QoS enforcement.
    pub(crate) fn cell(&self, side: usize, number: u32) -> Option<(u32, u32)> {
        let (bank, index) = self.bank(side, number)?;
        Some((bank.id, index))
    }

    /// The bank of a number before (0) or after (1) QoS enforcement, as one of all banks.
    pub(crate) fn place(&self, side: usize, number: u32) -> Option<u16> {
        Some(self.bank(side, number)?.0.place)
    }

    fn bank(&self, side: usize, number: u32) -> Option<(&Bank, u32)> {
        let ways = self.0.get(side)?;
        if number >> 23 != 0 {
            let bank = ways[2].whole.get((number >> 15 & 1) as usize)?;
            return bank.with(number % BANK);
        }
        let way = &ways[(number >> 22 & 1) as usize];
        let session = number & SESSION;
        if let Some(bank) = way.whole.get((session / BANK) as usize) {
            return bank.with(session % BANK);
        }
        let small = (session / SMALL) as usize - way.whole.len() * (BANK / SMALL) as usize;
        way.small.get(small)?.with(session % SMALL)
    }

    /// How many rules with entries of their own are counted.
    pub(crate) fn rules(&self) -> u32 {
        let sizes = self.0[1][2].whole.iter().map(|bank| bank.size);
        u32::try_from(sizes.sum::<usize>()).unwrap_or(u32::MAX)
    }
}

impl Bank {
    fn with(&self, index: u32) -> Option<(&Self, u32)> {
        ((index as usize) < self.size).then_some((self, index))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use causeway_p4::profiles;

    use super::*;

    // Input:  the program of `direct`, and all numbers of sessions in both directions and of other rules.
    // Output: each of a session that has an entry has a counter of its own, as has each other rule that there is room for.
    #[test]
    fn each_number_has_a_cell_of_its_own() {
        let cells = Cells::of(&Program::from(&profiles::DIRECT)).unwrap();
        for side in 0..2 {
            let ways = [0, 0x40_0000].map(|way| (0..0x2_0000).map(move |number| way | number));
            let rules = (0..cells.rules()).map(|rule| 0x80_0000 | rule);
            let numbers: Vec<u32> = ways.into_iter().flatten().chain(rules).collect();
            let found: HashSet<(u32, u32)> =
                numbers.iter().map(|number| cells.cell(side, *number).unwrap()).collect();
            assert_eq!(found.len(), numbers.len());
            // Each bank has a place, and each place is a bank's.
            let banks: HashSet<(u32, u16)> = numbers
                .iter()
                .map(|number| (cells.cell(side, *number).unwrap().0, cells.place(side, *number).unwrap()))
                .collect();
            let (ids, places): (HashSet<u32>, HashSet<u16>) = banks.iter().copied().unzip();
            assert!(ids.len() > 2 && [ids.len(), places.len()] == [banks.len(); 2]);
        }
        assert_eq!(cells.rules(), 8192);
        for none in [0x2_0000, 0x42_0000, 0x80_2000] {
            assert_eq!(cells.cell(0, none), None);
        }
        assert!(Cells::of(&Program::from(&profiles::HIP4)).is_none());
    }
}
