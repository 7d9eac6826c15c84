//! What tables match, and what they refuse.

use proptest::prelude::*;

use super::*;
use crate::Count;
use crate::driver::{Rates, Rejected, Update, WriteError};
use crate::model::Colour;

fn state() -> State {
    State::new(program())
}

fn write(state: &mut State, updates: &[Update]) -> Result<(), Rejected> {
    state.write(at(0), updates)
}

fn route(value: u128, prefix: u8, port: u128) -> Entry {
    let key = EntryKey { table: ROUTE, fields: vec![FieldMatch::Lpm { value, prefix }], priority: 0 };
    Entry { key, action: HOP, parameters: vec![port] }
}

fn filter(fields: [FieldMatch; 2], priority: i32, port: u128) -> Entry {
    let fields = vec![FieldMatch::Exact(1), fields[0], fields[1]];
    Entry { key: EntryKey { table: FILTER, fields, priority }, action: HOP, parameters: vec![port] }
}

fn port(state: &mut State, table: u32, keys: &[u128]) -> Option<u128> {
    state.apply_table(table, keys, 1).map(|entry| entry.parameters[0])
}

// Input:  routes to 10/8, 10.1/16 and everything.
// Output: the longest that fits decides; after it has gone the next one does.
#[test]
fn the_longest_prefix_wins() {
    let mut state = state();
    let routes = [route(0x0a00_0000, 8, 1), route(0x0a01_0000, 16, 2), route(0, 0, 3)];
    write(&mut state, &routes.clone().map(Update::Insert)).unwrap();
    let found = [0x0a01_0203, 0x0a02_0203, 0x0b00_0000].map(|to| port(&mut state, ROUTE, &[to]));
    assert_eq!(found, [Some(2), Some(1), Some(3)]);
    write(&mut state, &[Update::Delete(routes[1].key.clone())]).unwrap();
    assert_eq!(port(&mut state, ROUTE, &[0x0a01_0203]), Some(1));
}

// Input:  filters that overlap, also two with the same bits and different priorities.
// Output: the highest priority decides; what no filter fits misses.
#[test]
fn the_highest_priority_wins() {
    let mut state = state();
    let web = FieldMatch::Ternary { value: 80, mask: 0xffff };
    let there = FieldMatch::Ternary { value: 7 << 100, mask: 0xff << 100 };
    let filters = [
        filter([there, FieldMatch::ANY], 10, 1),
        filter([there, web], 20, 2),
        filter([there, web], 5, 3),
        filter([FieldMatch::ANY, web], 15, 4),
    ];
    write(&mut state, &filters.clone().map(Update::Insert)).unwrap();
    let keys = [[1, 7 << 100, 80], [1, 7 << 100, 443], [1, 9, 80], [1, 9, 443], [0, 9, 80]];
    let found = keys.map(|keys| port(&mut state, FILTER, &keys));
    assert_eq!(found, [Some(2), Some(1), Some(4), None, None]);
    write(&mut state, &[Update::Delete(filters[1].key.clone())]).unwrap();
    assert_eq!(port(&mut state, FILTER, &keys[0]), Some(4));
}

// Input:  entries and meters that the program does not have, or that cannot be.
// Output: each is refused with what is wrong, by name, and nothing has changed.
#[test]
fn what_cannot_be_is_refused() {
    let mut state = state();
    write(&mut state, &[Update::Insert(session(1, 5))]).unwrap();
    let with = |change: fn(&mut Entry)| {
        let mut entry = session(2, 6);
        change(&mut entry);
        Update::Insert(entry)
    };
    let pdr = || "pdr".to_owned();
    let field = |name: &str, width| WriteError::Field { table: pdr(), name: name.to_owned(), width };
    let arity = |what, given| WriteError::Arity { table: pdr(), what, expected: 1, given };
    let rates = Rates { committed: 2, committed_burst: 1, peak: 1, peak_burst: 1 };
    for (update, error) in [
        (with(|entry| entry.key.table = 9), WriteError::UnknownTable(9)),
        (with(|entry| entry.action = HOP), WriteError::UnknownAction { table: pdr(), action: HOP }),
        (with(|entry| entry.parameters = vec![]), arity("parameters", 0)),
        (with(|entry| entry.parameters = vec![1 << 24]), field("rule", 24)),
        (with(|entry| entry.key.fields = vec![FieldMatch::Exact(1); 2]), arity("keys", 2)),
        (with(|entry| entry.key.fields = vec![FieldMatch::Exact(256)]), field("session", 8)),
        (with(|entry| entry.key.fields = vec![FieldMatch::ANY]), field("session", 8)),
        (with(|entry| entry.key.priority = 1), WriteError::Priority { table: pdr(), priority: 1 }),
        (Update::Insert(session(1, 9)), WriteError::Exists(pdr())),
        (Update::Modify(session(2, 9)), WriteError::Missing(pdr())),
        (Update::Delete(exact(PDR, 2)), WriteError::Missing(pdr())),
        (
            Update::SetMeter { meter: METER, index: 2, rates: None },
            WriteError::UnknownMeter { meter: METER, index: 2 },
        ),
        (Update::SetMeter { meter: METER, index: 0, rates: Some(rates) }, WriteError::MeterRates),
    ] {
        let refused = write(&mut state, &[Update::Modify(session(1, 7)), update]);
        assert_eq!(refused, Err(Rejected { update: 1, error }));
        assert_eq!(port(&mut state, PDR, &[1]), Some(5));
    }
    for fields in [
        [FieldMatch::Ternary { value: 1, mask: 2 }, FieldMatch::ANY],
        [FieldMatch::ANY, FieldMatch::Ternary { value: 0, mask: 1 << 16 }],
        [FieldMatch::ANY, FieldMatch::Lpm { value: 0, prefix: 0 }],
    ] {
        let refused = write(&mut state, &[Update::Insert(filter(fields, 1, 1))]);
        assert!(matches!(refused.unwrap_err().error, WriteError::Field { .. }));
    }
    let refused = write(&mut state, &[Update::Insert(filter([FieldMatch::ANY; 2], 0, 1))]);
    assert_eq!(refused.unwrap_err().to_string(), "update 0: table filter: priority 0 is not legal there");
    assert_eq!(state.entries(FILTER).unwrap().count(), 0);
}

// Input:  three routes fill the table; a batch deletes one, changes one, sets a meter, and inserts two.
// Output: the second insertion is refused, and all is as before: entries, counters and meters.
#[test]
fn a_batch_is_all_or_nothing() {
    let mut state = state();
    let routes = [route(0x0a00_0000, 8, 1), route(0x0b00_0000, 8, 2), route(0x0c00_0000, 8, 3)];
    write(&mut state, &routes.clone().map(Update::Insert)).unwrap();
    write(&mut state, &[Update::Insert(session(1, 5)), Update::Insert(counting(PRE[0], 5))]).unwrap();
    state.apply_table(PRE[0], &[5], 700);
    let closed = Rates { committed: 1, committed_burst: 0, peak: 1, peak_burst: 0 };
    let updates = [
        Update::Delete(exact(PRE[0], 5)),
        Update::Modify(session(1, 6)),
        Update::SetMeter { meter: METER, index: 1, rates: Some(closed) },
        Update::Delete(routes[0].key.clone()),
        Update::Insert(route(0x0d00_0000, 8, 4)),
        Update::Insert(route(0x0e00_0000, 8, 5)),
    ];
    let full = WriteError::Full { table: "route".to_owned(), size: 3 };
    assert_eq!(write(&mut state, &updates), Err(Rejected { update: 5, error: full }));
    assert_eq!(state.direct_count(&exact(PRE[0], 5)), Some(Count { octets: 700, packets: 1 }));
    assert_eq!(port(&mut state, PDR, &[1]), Some(5));
    assert_eq!(port(&mut state, ROUTE, &[0x0a00_0001]), Some(1));
    assert_eq!((port(&mut state, ROUTE, &[0x0d00_0001]), state.entries(ROUTE).unwrap().count()), (None, 3));
    assert_eq!(state.mark(at(0), METER, 1, 100), Colour::Green);
    write(&mut state, &updates[..5]).unwrap();
    assert_eq!(state.mark(at(0), METER, 1, 100), Colour::Red);
    assert_eq!(state.direct_count(&exact(PRE[0], 5)), None);
}

// Input:  a program whose entries are part of it.
// Output: they cannot be written.
#[test]
fn const_tables_cannot_be_written() {
    let mut program = program();
    program.tables[0].is_const = true;
    let refused = State::new(program).write(at(0), &[Update::Insert(session(1, 5))]);
    assert_eq!(refused.unwrap_err().error, WriteError::Const("pdr".to_owned()));
}

proptest! {
    // Input:  random filters and routes, some of which are refused, and packets.
    // Output: the entry that a walk over all of them finds best.
    #[test]
    fn lookups_are_those_of_a_walk(
        entries in proptest::collection::vec((0..2_u128, 0..8_u128, 0..8_u128, 0..8_u128, 0..8_u128, 1..20_i32), 0..9),
        packets in proptest::collection::vec((0..2_u128, 0..8_u128, 0..8_u128), 1..20),
        routes in proptest::collection::vec((any::<u32>(), 0..=32_u8), 0..3),
    ) {
        let mut state = state();
        let mut there: Vec<Entry> = Vec::new();
        for (place, (exact, address, address_mask, number, number_mask, priority)) in entries.into_iter().enumerate() {
            let ternary = |value: u128, mask: u128| FieldMatch::Ternary { value: value & mask, mask };
            let mut entry = filter([ternary(address, address_mask), ternary(number, number_mask)], priority, place as u128);
            entry.key.fields[0] = FieldMatch::Exact(exact);
            let known = there.iter().any(|other| other.key == entry.key);
            prop_assert_eq!(write(&mut state, &[Update::Insert(entry.clone())]).is_ok(), !known);
            there.extend((!known).then_some(entry));
        }
        for (exact, address, number) in packets {
            let fits = |entry: &&Entry| {
                let bits = [exact, address, number].into_iter().zip(&entry.key.fields);
                bits.into_iter().all(|(bits, field)| match *field {
                    FieldMatch::Exact(value) => bits == value,
                    FieldMatch::Ternary { value, mask } => bits & mask == value,
                    FieldMatch::Lpm { .. } => false,
                })
            };
            let best = there.iter().filter(fits).map(|entry| entry.key.priority).max();
            let found = state.apply_table(FILTER, &[exact, address, number], 1);
            prop_assert_eq!(found.map(|entry| entry.key.priority), best);
            prop_assert!(found.is_none_or(|found| fits(&found)));
        }
        let mut known: Vec<(u32, u8)> = Vec::new();
        for (value, prefix) in routes {
            let value = value & u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            if write(&mut state, &[Update::Insert(route(value.into(), prefix, 1))]).is_ok() {
                known.push((value, prefix));
            }
        }
        for to in known.clone().into_iter().map(|(value, _)| value).chain([0, 1 << 31]) {
            let fits = |(value, prefix): &(u32, u8)| (to ^ value).leading_zeros() >= u32::from(*prefix);
            let best = known.iter().copied().filter(fits).map(|(_, prefix)| prefix).max();
            let found = state.apply_table(ROUTE, &[to.into()], 1).map(|entry| entry.key.fields[0]);
            let found = found.map(|field| if let FieldMatch::Lpm { prefix, .. } = field { prefix } else { 99 });
            prop_assert_eq!(found, best);
        }
    }
}
