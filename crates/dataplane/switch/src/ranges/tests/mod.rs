//! Ranges as a whole, written into tables that check every single write.

mod churn;
mod cover;
mod stories;

use std::collections::BTreeMap;

use super::{Entry, Minimum, Ranges, Template, Write};
use crate::SwitchPdr;

/// A template by its number; the tables take turns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Plain(u8);

/// Template tables of the tests.
const TABLES: usize = 3;

impl Template for Plain {
    fn table(&self) -> usize {
        usize::from(self.0) % TABLES
    }
}

/// Ranges, and tables that behave as those of a switch: an existing entry cannot be inserted, a missing one cannot be
/// modified or deleted, and no table exceeds its size.
struct Bench {
    bits: u8,
    ranges: Ranges<Plain>,
    limits: Vec<usize>,
    /// A place for each block there could be an entry for: see [`Bench::index`].
    tables: Vec<Vec<Option<Plain>>>,
    /// How many entries each table has.
    filled: Vec<usize>,
    live: BTreeMap<u32, Plain>,
    /// Writes since the bootstrap.
    writes: usize,
}

impl Bench {
    fn new(bits: u8, limit: usize, minima: &[(u8, u32)]) -> Self {
        let minima: Vec<_> = minima
            .iter()
            .map(|(number, rules)| Minimum { template: Plain(*number), rules: *rules })
            .collect();
        let limits = vec![limit; TABLES];
        let (ranges, writes) = Ranges::bootstrap(bits, &limits, &minima).unwrap();
        let (tables, filled) = (vec![vec![None; 2 << bits]; TABLES], vec![0; TABLES]);
        let mut bench = Self { bits, ranges, limits, tables, filled, live: BTreeMap::new(), writes: 0 };
        bench.apply(&writes);
        bench.writes = 0;
        bench
    }

    fn allocate(&mut self, template: u8) -> Option<u32> {
        let template = Plain(template);
        let allocation = self.ranges.allocate(&template).ok()?;
        self.apply(&allocation.writes);
        let number = allocation.number.0;
        assert!(number > 0 && number >> self.bits == 0, "{number} is no number of {} bits", self.bits);
        assert_eq!(self.live.insert(number, template), None, "{number} is given twice");
        self.check(number);
        Some(number)
    }

    fn release(&mut self, number: u32) {
        self.live.remove(&number);
        let writes = self.ranges.release(SwitchPdr(number)).unwrap();
        self.apply(&writes);
    }

    /// Writes one by one. After each, all numbers in use that it could concern have the action of their template.
    fn apply(&mut self, writes: &[Write<Plain>]) {
        for write in writes {
            let Entry { block, template } = *write.entry();
            let index = self.place(block.base(), block.bits());
            let after = if matches!(write, Write::Delete(_)) { None } else { Some(template) };
            let before = std::mem::replace(&mut self.tables[template.table()][index], after);
            let filled = &mut self.filled[template.table()];
            *filled = *filled + usize::from(after.is_some()) - usize::from(before.is_some());
            match write {
                Write::Insert(_) => assert_eq!(before, None, "{write:?}"),
                Write::Modify(_) => assert!(before.is_some_and(|before| before != template), "{write:?}"),
                Write::Delete(_) => assert_eq!(before, Some(template), "{write:?}"),
            }
            assert!(*filled <= self.limits[template.table()], "table of {template:?} overflows");
            self.live.range(block.base()..=block.last()).for_each(|(number, _)| _ = self.matched(*number));
            self.writes += 1;
        }
        let touched = writes.iter().map(|write| write.entry().block);
        for block in touched {
            let live = self.live.range(block.base()..=block.last());
            live.for_each(|(number, _)| assert_eq!(self.matched(*number), 1, "entries of {number}"));
        }
    }

    /// How many entries match the number, in all tables; that of the highest priority must be its template's, and there is none of another.
    fn matched(&self, number: u32) -> usize {
        let expected = self.live[&number];
        let mut found = 0;
        for bits in 0..=self.bits {
            let index = self.place(number, bits);
            for template in self.tables.iter().filter_map(|table| table[index]) {
                assert_eq!(template, expected, "entry of {bits} bits for {number}");
                found += 1;
            }
        }
        assert!(found > 0, "{number} of {expected:?} misses");
        found
    }

    /// Where the entry of the block around a number is: blocks of all numbers at 1, their halves at 2 and 3, and so on.
    fn place(&self, number: u32, bits: u8) -> usize {
        (1 << (self.bits - bits)) + (number >> bits) as usize
    }

    fn check(&self, number: u32) {
        assert_eq!(self.matched(number), 1);
        assert_eq!(self.ranges.template_of(SwitchPdr(number)), self.live.get(&number));
    }

    /// Entries are disjoint and are those of the tables; every number in use matches exactly one, its own.
    fn check_all(&self) {
        let entries: Vec<Entry<Plain>> = self.ranges.entries().collect();
        let disjoint = entries.windows(2).all(|pair| pair[0].block.last() < pair[1].block.base());
        assert!(disjoint, "{entries:?}");
        assert_eq!(entries.len(), self.filled.iter().sum::<usize>());
        for Entry { block, template } in entries {
            let index = self.place(block.base(), block.bits());
            assert_eq!(self.tables[template.table()][index], Some(template));
        }
        self.live.keys().for_each(|number| self.check(*number));
        assert_eq!(self.ranges.in_use().0 as usize, self.live.len());
    }

    fn release_all(&mut self) {
        let numbers: Vec<u32> = self.live.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.release(number));
    }
}
