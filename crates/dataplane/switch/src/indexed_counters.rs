//! The counters of profile `direct`: one for each rule number, in banks of counters by index.

use crate::driver::Program;

/// Bits of a number that identify the session, or the rule with an entry of its own.
const SESSION: u32 = 0x3_ffff;
const RULE: u32 = 0x7f_ffff;

/// Downlink numbers follow the uplink numbers, and start at a multiple of this.
const UNIT: usize = 1024;

/// The banks of both sides.
#[derive(Clone, Debug)]
pub(crate) struct IndexedCounters([Side; 2]);

/// The banks before or after QoS enforcement: those of sessions, and those of other rules. The numbers of each kind are
/// divided into its banks in order.
#[derive(Clone, Debug)]
struct Side {
    sessions: Vec<Bank>,
    rules: Vec<Bank>,
    /// The first downlink index.
    downlink: u32,
}

#[derive(Clone, Copy, Debug)]
struct Bank {
    id: u32,
    size: usize,
    /// The number of banks of the same side before it.
    place: u16,
}

impl IndexedCounters {
    /// The banks of a program; `None` if its counters are not by index.
    pub(crate) fn of(program: &Program) -> Option<Self> {
        let bank = |name: String, place: usize| {
            let counter = program.counters.iter().find(|counter| counter.name == name)?;
            let place = u16::try_from(place).ok()?;
            counter.table.is_none().then_some(Bank { id: counter.id, size: counter.size, place })
        };
        let side = |side: &str| {
            let sessions: Vec<Bank> =
                (0..).map_while(|number| bank(format!("{side}_{number}"), number)).collect();
            let rules = (0..)
                .map_while(|number| bank(format!("{side}_rules_{number}"), sessions.len() + number))
                .collect();
            let counters: usize = sessions.iter().map(|bank| bank.size).sum();
            let downlink = (counters / 2).next_multiple_of(UNIT);
            Side { sessions, rules, downlink: u32::try_from(downlink).unwrap_or(u32::MAX) }
        };
        let sides = ["pre_qos", "post_qos"].map(side);
        sides.iter().all(|side| !side.sessions.is_empty()).then_some(Self(sides))
    }

    /// The counter and the index of a number before (0) or after (1) QoS enforcement.
    pub(crate) fn cell(&self, side: usize, number: u32) -> Option<(u32, u32)> {
        let (bank, index) = self.0.get(side)?.bank(number)?;
        Some((bank.id, index))
    }

    /// The bank of a number before (0) or after (1) QoS enforcement, as an index into all banks.
    pub(crate) fn place(&self, side: usize, number: u32) -> Option<u16> {
        Some(self.0.get(side)?.bank(number)?.0.place)
    }

    /// The number of counted rules that have entries of their own.
    pub(crate) fn rules(&self) -> u32 {
        let sizes = self.0[1].rules.iter().map(|bank| bank.size);
        u32::try_from(sizes.sum::<usize>()).unwrap_or(u32::MAX)
    }
}

impl Side {
    fn bank(&self, number: u32) -> Option<(&Bank, u32)> {
        let session = number & SESSION;
        let (banks, place) = match number >> 22 {
            0 if session < self.downlink => (&self.sessions, session),
            0 => return None,
            1 => (&self.sessions, self.downlink + session),
            _ => (&self.rules, number & RULE),
        };
        let mut index = place as usize;
        for bank in banks {
            if index < bank.size {
                return Some((bank, u32::try_from(index).ok()?));
            }
            index -= bank.size;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use causeway_p4::profiles;

    use super::*;

    /// Counted sessions of the program when it is compiled without explicit sizes.
    const SESSIONS: u32 = 126_976;

    // Input:  the program of `direct`, and all numbers of sessions in both directions and of other rules.
    // Output: each counted session has its own counter, and so has each other rule within the capacity.
    #[test]
    fn each_number_has_a_cell_of_its_own() {
        let cells = IndexedCounters::of(&Program::from(&profiles::DIRECT)).unwrap();
        for side in 0..2 {
            let ways = [0, 0x40_0000].map(|way| (0..SESSIONS).map(move |number| way | number));
            let rules = (0..cells.rules()).map(|rule| 0x80_0000 | rule);
            let numbers: Vec<u32> = ways.into_iter().flatten().chain(rules).collect();
            let found: HashSet<(u32, u32)> =
                numbers.iter().map(|number| cells.cell(side, *number).unwrap()).collect();
            assert_eq!(found.len(), numbers.len());
            // Each bank has an index, and each index is that of a bank.
            let banks: HashSet<(u32, u16)> = numbers
                .iter()
                .map(|number| (cells.cell(side, *number).unwrap().0, cells.place(side, *number).unwrap()))
                .collect();
            let (ids, places): (HashSet<u32>, HashSet<u16>) = banks.iter().copied().unzip();
            assert!(ids.len() > 2 && [ids.len(), places.len()] == [banks.len(); 2]);
        }
        assert_eq!(cells.rules(), 8192);
        for none in [SESSIONS, 0x3_ffff, 0x40_0000 | SESSIONS, 0x80_2000] {
            assert_eq!(cells.cell(0, none), None);
        }
        assert!(IndexedCounters::of(&Program::from(&profiles::HIP4)).is_none());
    }

    // Input:  numbers at both ends of banks, and the banks of the program for 195,318 UEs at 1:50.
    // Output: the bank boundaries are those of the program (`p4/contract/banks.p4`), the downlink starts within a bank.
    #[test]
    fn banks_are_cut_where_the_program_cuts_them() {
        let mut program = Program::from(&profiles::DIRECT);
        let named = |name: &str, size: usize, place: usize| {
            let mut counter =
                program.counters.iter().find(|counter| counter.name == "pre_qos_0").unwrap().clone();
            (counter.id, counter.size, counter.name) = (place as u32, size, name.to_owned());
            counter
        };
        let sizes = [59_392, 59_392, 59_392, 59_392, 71_680, 69_632];
        let mut counters: Vec<_> = sizes
            .iter()
            .enumerate()
            .map(|(place, size)| named(&format!("pre_qos_{place}"), *size, place))
            .collect();
        counters.extend([named("pre_qos_rules_0", 8192, 6), named("pre_qos_rules_1", 3564, 7)]);
        counters.extend([named("post_qos_0", 378_880, 8), named("post_qos_rules_0", 11_756, 9)]);
        program.counters = counters;
        let cells = IndexedCounters::of(&program).unwrap();
        for (number, cell) in [
            (0, (0, 0)),
            (59_391, (0, 59_391)),
            (59_392, (1, 0)),
            (189_439, (3, 11_263)),
            (0x40_0000, (3, 11_264)),
            (0x40_0000 | 189_439, (5, 69_631)),
            (0x80_1fff, (6, 8191)),
            (0x80_2000, (7, 0)),
        ] {
            assert_eq!(cells.cell(0, number), Some(cell), "{number:#x}");
        }
        assert_eq!(cells.cell(1, 0x40_0000), Some((8, 189_440)));
        assert_eq!((cells.cell(0, 189_440), cells.cell(0, 0x40_0000 | 189_440)), (None, None));
    }
}
