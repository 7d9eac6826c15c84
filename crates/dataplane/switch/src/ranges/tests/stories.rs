//! Scenarios of ranges.

use super::{Bench, Plain};
use crate::SwitchPdr;
use crate::ranges::{AllocateError, Block, Entry, NotInUse, Write};

/// The blocks of a template.
fn blocks(bench: &Bench, template: u8) -> Vec<(u32, u32)> {
    let own = bench.ranges.entries().filter(|entry| entry.template == Plain(template));
    own.map(|entry| (entry.block.base(), entry.block.last())).collect()
}

// Input:  one template has all numbers; then a second one comes, and a third.
// Output: the first keeps the half with its rules; the others halve what it leaves. Each split shrinks an entry and adds one.
#[test]
fn a_new_template_gets_the_empty_half() {
    let mut bench = Bench::new(4, 8, &[]);
    assert_eq!(bench.allocate(0), Some(8), "the largest block of nobody");
    assert_eq!(blocks(&bench, 0), [(8, 15)]);
    bench.allocate(1).unwrap();
    assert_eq!(blocks(&bench, 1), [(4, 7)]);
    bench.allocate(2).unwrap();
    bench.allocate(3).unwrap();
    assert_eq!((blocks(&bench, 2), blocks(&bench, 3)), (vec![(2, 3)], vec![(1, 1)]));
    bench.allocate(4).unwrap();
    assert_eq!((blocks(&bench, 0), blocks(&bench, 4)), (vec![(8, 11)], vec![(12, 15)]));
    bench.check_all();
}

/// A space of 16 numbers: template 0 has one number in the upper half, template 1 all in the lower.
fn half_full() -> Bench {
    let mut bench = Bench::new(4, 8, &[]);
    assert_eq!(bench.allocate(0), Some(8));
    (1..8).for_each(|_| _ = bench.allocate(1).unwrap());
    bench
}

// Input:  all numbers are in use; then the lower half of a range ends, and another template comes.
// Output: it gets the lower half, for the numbers in use decide, not how many they are.
#[test]
fn numbers_decide_which_half_is_empty() {
    let mut bench = half_full();
    (1..8).for_each(|_| _ = bench.allocate(0).unwrap());
    (8..12).for_each(|number| bench.release(number));
    bench.allocate(2).unwrap();
    assert_eq!((blocks(&bench, 0), blocks(&bench, 2)), (vec![(12, 15)], vec![(8, 11)]));
    bench.check_all();
}

// Input:  a range of which the first and the last number are in use; another template comes.
// Output: it gets a quarter; the first template keeps the rest in two entries, until they are whole again.
#[test]
fn a_range_with_rules_in_both_halves_is_divided_further() {
    let mut bench = half_full();
    (1..8).for_each(|_| _ = bench.allocate(0).unwrap());
    (9..15).for_each(|number| bench.release(number));
    let other = bench.allocate(2).unwrap();
    assert_eq!((blocks(&bench, 0), blocks(&bench, 2)), (vec![(8, 11), (14, 15)], vec![(12, 13)]));
    bench.check_all();
    bench.release(other);
    (0..7).for_each(|_| _ = bench.allocate(0));
    assert_eq!(blocks(&bench, 0), [(8, 15)]);
    bench.check_all();
}

// Input:  a space of eight numbers is filled by two templates, two rules of one end, and three of the other come.
// Output: two find room and the third is refused. The paper's released allocator panics here.
#[test]
fn fill_free_two_allocate_three() {
    let mut bench = Bench::new(3, 9, &[]);
    let mut first: Vec<u32> = (0..4).map(|_| bench.allocate(0).unwrap()).collect();
    let others: Vec<u32> = (0..3).map(|_| bench.allocate(1).unwrap()).collect();
    assert_eq!(bench.allocate(0), None);
    assert_eq!(bench.ranges.allocate(&Plain(1)).unwrap_err(), AllocateError::Numbers { live: 7, space: 7 });
    bench.release(first.swap_remove(0));
    bench.release(first.swap_remove(1));
    assert!(bench.allocate(1).is_some() && bench.allocate(1).is_some());
    assert_eq!(bench.allocate(1), None);
    bench.check_all();
    assert_eq!(others.len(), 3);
}

// Input:  a minimum of five has a range of eight; others need all the numbers that they can get.
// Output: they get three of the eight and no more; the five are found at once, and after all is given back the range is whole.
#[test]
fn what_a_minimum_does_not_need_is_lent() {
    let mut bench = Bench::new(4, 9, &[(0, 5)]);
    let others = std::iter::from_fn(|| bench.allocate(1)).count();
    assert_eq!(others, 10);
    assert_eq!((0..5).filter_map(|_| bench.allocate(0)).count(), 5);
    assert_eq!(bench.allocate(0), None);
    bench.check_all();
    bench.release_all();
    assert_eq!((blocks(&bench, 0), blocks(&bench, 1)), (vec![(8, 15)], vec![]));
}

// Input:  a template outgrows its range, and the numbers beside it are nobody's.
// Output: its entry grows, it does not get a second one. When all its rules end, the range is as at first.
#[test]
fn a_range_grows_into_its_empty_neighbour() {
    let mut bench = Bench::new(6, 4, &[(0, 8)]);
    let before = bench.tables.clone();
    (0..16).for_each(|_| _ = bench.allocate(0).unwrap());
    assert_eq!(blocks(&bench, 0), [(48, 63)]);
    bench.check_all();
    bench.release_all();
    assert_eq!(bench.tables, before);
}

// Input:  a table with room for two ranges, and rules of three templates.
// Output: the third is refused with the table, and nothing has changed; once one of the others has ended it finds room.
#[test]
fn a_full_table_is_named() {
    let mut bench = Bench::new(8, 3, &[]);
    let first = bench.allocate(0).unwrap();
    bench.allocate(3).unwrap();
    let before = bench.tables.clone();
    let refused = bench.ranges.allocate(&Plain(6)).unwrap_err();
    assert_eq!(refused, AllocateError::Table { table: 0, limit: 3 });
    assert_eq!(refused.to_string(), "template table 0 is full, 3 entries");
    bench.check_all();
    assert_eq!(bench.tables, before);
    bench.release(first);
    assert!(bench.allocate(6).is_some());
    assert!(bench.allocate(1).is_some(), "another table has room");
}

// Input:  a range with rules in use is divided.
// Output: the part that stays is written before the whole goes, and the newcomer last.
#[test]
fn a_split_writes_in_the_order_that_misses_nothing() {
    let writes = half_full().ranges.allocate(&Plain(2)).unwrap().writes;
    let entry = |base, bits, template| Entry { block: Block::around(base, bits), template: Plain(template) };
    let expected =
        [Write::Insert(entry(8, 2, 0)), Write::Delete(entry(8, 3, 0)), Write::Insert(entry(12, 2, 2))];
    assert_eq!(writes, expected);
}

// Input:  numbers that are not in use are given back: zero, one of nobody, one beyond the space, one twice.
// Output: each is refused, and nothing changes.
#[test]
fn an_unused_number_cannot_be_released() {
    let mut bench = Bench::new(4, 8, &[]);
    let number = bench.allocate(0).unwrap();
    bench.release(number);
    for number in [0, 1, number, 16, u32::MAX] {
        assert_eq!(bench.ranges.release(SwitchPdr(number)), Err(NotInUse(SwitchPdr(number))));
        assert_eq!(bench.ranges.template_of(SwitchPdr(number)), None);
    }
    assert_eq!(bench.ranges.in_use(), (0, 15));
}

// Input:  rules of three templates, and a switch that came back empty, with entries of somebody else, or with a wrong action.
// Output: the writes make the tables as they must be; with nothing wrong there are none.
#[test]
fn tables_are_reconciled() {
    let mut bench = Bench::new(5, 8, &[(0, 3)]);
    (0..9).for_each(|number| _ = bench.allocate(number % 3).unwrap());
    let wanted: Vec<Entry<Plain>> = bench.ranges.entries().collect();
    assert_eq!(bench.ranges.reconcile(&wanted), []);
    let mut wrong = wanted.clone();
    wrong[0].template = Plain(wrong[0].template.0 + 3);
    wrong.remove(1);
    wrong.push(Entry { block: Block::around(0, 5), template: Plain(4) });
    for present in [vec![], wrong] {
        let writes = bench.ranges.reconcile(&present);
        let key = |entry: &Entry<Plain>| (entry.block, entry.template.0 % 3);
        let mut tables: std::collections::BTreeMap<_, _> =
            present.iter().map(|entry| (key(entry), entry.template)).collect();
        for write in &writes {
            let (key, template) = (key(write.entry()), write.entry().template);
            let before = match write {
                Write::Delete(_) => tables.remove(&key),
                Write::Insert(_) | Write::Modify(_) => tables.insert(key, template),
            };
            assert_eq!(before.is_none(), matches!(write, Write::Insert(_)));
        }
        let expected = wanted.iter().map(|entry| (key(entry), entry.template)).collect();
        assert_eq!(tables, expected);
    }
}

// Input:  templates that were not configured, some rules of each, of which some end.
// Output: what was seen of them can be the minima of a later configuration; a template without rules is forgotten.
#[test]
fn templates_are_learnt() {
    let mut bench = Bench::new(8, 9, &[(0, 4)]);
    let numbers: Vec<u32> = (0..20).map(|_| bench.allocate(1).unwrap()).collect();
    numbers.iter().skip(5).for_each(|number| bench.release(*number));
    let passing = bench.allocate(2).unwrap();
    bench.release(passing);
    let mut observed: Vec<(u8, u32)> =
        bench.ranges.observed().map(|minimum| (minimum.template.0, minimum.rules)).collect();
    observed.sort_unstable();
    assert_eq!(observed, [(0, 0), (1, 20)]);
}

// Input:  an entry's key in 24 bits, of 2^8 numbers and of one.
// Output: value, mask, and a higher priority for the smaller block.
#[test]
fn an_entry_is_a_ternary_key() {
    let entry = Entry { block: Block::around(0x1234, 8), template: Plain(0) };
    assert_eq!((entry.value(), entry.mask(24), entry.priority()), (0x1200, 0xff_ff00, 25));
    let single = Entry { block: Block::around(0x1234, 0), template: Plain(0) };
    assert_eq!((single.value(), single.mask(24), single.priority()), (0x1234, 0xff_ffff, 33));
}
