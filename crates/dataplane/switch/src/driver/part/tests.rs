//! Parts of one switch, over its model.

use causeway_dataplane::Topology;
use causeway_p4::names::{action, table};
use causeway_p4::profiles;
use causeway_slowpath::Limits;
use causeway_types::Time;
use proptest::prelude::*;

use super::*;
use crate::backend::LocalSwitch;
use crate::driver::{EntryKey, FieldMatch, MatchKind, Update, WriteError};
use crate::model::upf::Upf;
use crate::model::{Model, Timing};

const NOW: Time = Time::from_secs(1_700_000_000);

fn program() -> Program {
    Program::from(&profiles::HIP4_HYBRID_VXLAN)
}

/// An empty switch.
fn model() -> Model<Upf> {
    LocalSwitch::in_front_of_software(&Topology::default(), Limits::default(), Timing::INSTANT).unwrap().model
}

/// All parts of a switch.
fn divided(model: Model<Upf>, of: usize) -> Vec<SwitchPart<Model<Upf>>> {
    let whole = WholeSwitch::polled(model, &program(), of);
    (0..of).map(|number| whole.part(number)).collect()
}

fn parts(of: usize) -> Vec<SwitchPart<Model<Upf>>> {
    divided(model(), of)
}

fn carried_out(part: &mut SwitchPart<Model<Upf>>, request: Request) -> Outcome {
    let ticket = part.submit(NOW, request);
    let (ended, outcome) = part.poll(NOW).unwrap();
    assert_eq!(ended, ticket);
    outcome
}

fn write(part: &mut SwitchPart<Model<Upf>>, updates: &[Update]) -> Outcome {
    carried_out(part, Request::Write(updates.to_vec()))
}

fn rows(part: &mut SwitchPart<Model<Upf>>, name: &str) -> Vec<Entry> {
    let table = program().table_named(name).unwrap().id;
    let Ok(Reply::Entries(rows)) = carried_out(part, Request::ReadEntries { table }) else {
        panic!("{name} cannot be read")
    };
    rows
}

/// The rows that the switch has.
fn on_switch(part: &SwitchPart<Model<Upf>>, name: &str) -> Vec<Entry> {
    let table = program().table_named(name).unwrap().id;
    part.with_driver(|model| model.state().entries(table).unwrap().cloned().collect())
}

fn entry(table: &str, fields: Vec<FieldMatch>, action: &str, parameters: Vec<u128>) -> Entry {
    let program = program();
    let key = EntryKey { table: program.table_named(table).unwrap().id, fields, priority: 0 };
    Entry { key, action: program.action_named(action).unwrap().id, parameters }
}

/// A route to this port, outside of segments.
fn route(port: u128) -> Entry {
    let fields = vec![FieldMatch::Exact(0), FieldMatch::Lpm { value: 0xcb00_7100, prefix: 24 }];
    entry(table::NETWORK_LPM, fields, action::HOP, vec![port, 1, 2, 0])
}

/// The packets of this TEID have that rule.
fn lookup(teid: u128, rule: u128) -> Entry {
    let fields = vec![FieldMatch::Exact(teid), FieldMatch::Exact(9)];
    entry(table::UL_TO_N6_SIMPLE, fields, action::SET_RULE, vec![rule])
}

fn armed(rule: u128, generation: u128) -> Entry {
    entry(table::ARMED_RULES, vec![FieldMatch::Exact(rule)], action::ARM, vec![generation, 7])
}

// Input:  three parts, each with a rule 5 of its own that is armed for the first time.
// Output: the rules have three numbers on the switch, and three cells; each part reads its own, as it wrote it.
#[test]
fn equal_numbers_of_parts_are_different_rules() {
    let mut parts = parts(3);
    for (number, part) in parts.iter_mut().enumerate() {
        let updates = [lookup(number as u128, 5), armed(5, 1)].map(Update::Insert);
        assert_eq!(write(part, &updates), Ok(Reply::Done));
        assert_eq!((part.number_bits(), rows(part, table::ARMED_RULES)), (22, vec![armed(5, 1)]));
        assert_eq!(rows(part, table::UL_TO_N6_SIMPLE), vec![lookup(number as u128, 5)]);
    }
    let mut generations: Vec<u128> =
        on_switch(&parts[0], table::ARMED_RULES).iter().map(|row| row.parameters[0]).collect();
    generations.sort_unstable();
    assert_eq!(generations, [4, 5, 6]);
    for part in &mut parts {
        assert_eq!(write(part, &[Update::Delete(armed(5, 1).key)]), Ok(Reply::Done));
        assert_eq!(
            write(part, &[Update::Delete(armed(5, 1).key)]).unwrap_err().to_string(),
            "update 0: table armed_rules has no such entry"
        );
    }
    assert_eq!(on_switch(&parts[0], table::ARMED_RULES), []);
}

// Input:  two parts that write the same route, read it, and delete it, one after the other; a part deletes it once more.
// Output: the switch has one route from the first insertion to the last deletion. Neither sees that of the other alone. The last deletion
//         is refused.
#[test]
fn a_route_is_one_row_for_all_parts() {
    let mut parts = parts(2);
    assert_eq!(write(&mut parts[1], &[Update::Insert(route(1))]), Ok(Reply::Done));
    assert_eq!(rows(&mut parts[0], table::NETWORK_LPM), []);
    assert_eq!(write(&mut parts[0], &[Update::Insert(route(1))]), Ok(Reply::Done));
    for part in &mut parts {
        assert_eq!(rows(part, table::NETWORK_LPM), [route(1)]);
    }
    assert_eq!(write(&mut parts[1], &[Update::Delete(route(1).key)]), Ok(Reply::Done));
    assert_eq!(
        (rows(&mut parts[1], table::NETWORK_LPM), on_switch(&parts[1], table::NETWORK_LPM)),
        (vec![], vec![route(1)])
    );
    let both = [Update::Delete(route(1).key), Update::Insert(lookup(1, 5))];
    assert_eq!(write(&mut parts[0], &both), Ok(Reply::Done));
    assert_eq!(on_switch(&parts[0], table::NETWORK_LPM), []);
    assert!(write(&mut parts[0], &[Update::Delete(route(1).key)]).is_err());
}

// Input:  a route that both parts have; a batch of part 0 that removes it, and has a rule that is there already behind it.
// Output: the batch is refused with the place in the batch of the part, and nothing is done: part 0 has the route still.
#[test]
fn what_is_refused_changes_nothing() {
    let mut parts = parts(2);
    for part in &mut parts {
        assert_eq!(write(part, &[Update::Insert(route(1))]), Ok(Reply::Done));
    }
    assert_eq!(write(&mut parts[0], &[Update::Insert(lookup(1, 5))]), Ok(Reply::Done));
    let batch = [Update::Delete(route(1).key), Update::Insert(lookup(1, 5))];
    let Err(DriverError::Rejected(rejected)) = write(&mut parts[0], &batch) else { panic!("it is done") };
    assert_eq!((rejected.update, rejected.error), (1, WriteError::Exists("ul_to_n6_simple".into())));
    assert_eq!(rows(&mut parts[0], table::NETWORK_LPM), [route(1)]);
    assert_eq!(write(&mut parts[1], &[Update::Delete(route(1).key)]), Ok(Reply::Done));
    assert_eq!(on_switch(&parts[0], table::NETWORK_LPM), [route(1)]);
}

// Input:  a switch with a route and rules of an earlier process that had four parts; two parts.
// Output: part 0 reads the route, and the rules of the parts that there are no more, and can delete both; part 1 reads its own alone.
#[test]
fn what_no_part_has_is_for_the_first() {
    let mut before = parts(4);
    for (number, part) in before.iter_mut().enumerate() {
        assert_eq!(write(part, &[Update::Insert(lookup(number as u128, 5))]), Ok(Reply::Done));
    }
    assert_eq!(write(&mut before[0], &[Update::Insert(route(1))]), Ok(Reply::Done));
    let model = before[0].with_driver(|switch| std::mem::replace(switch, model()));
    let mut parts = divided(model, 2);
    assert_eq!(rows(&mut parts[1], table::NETWORK_LPM), []);
    assert_eq!(rows(&mut parts[0], table::NETWORK_LPM), [route(1)]);
    for (part, rules) in parts.iter_mut().zip([2, 2]) {
        let found = rows(part, table::UL_TO_N6_SIMPLE);
        assert_eq!(found.len(), rules, "{found:?}");
        let deletions: Vec<Update> = found.into_iter().map(|row| Update::Delete(row.key)).collect();
        assert_eq!(write(part, &deletions), Ok(Reply::Done));
    }
    assert_eq!(write(&mut parts[0], &[Update::Delete(route(1).key)]), Ok(Reply::Done));
    assert_eq!(on_switch(&parts[0], table::UL_TO_N6_SIMPLE), []);
    assert_eq!(on_switch(&parts[0], table::NETWORK_LPM), []);
}

// Input:  a switch that restarts empty under two parts with a route.
// Output: both hear of it, read nothing, and write the route again; the switch has it once.
#[test]
fn all_parts_hear_of_a_restart() {
    let mut parts = parts(2);
    for part in &mut parts {
        assert_eq!(write(part, &[Update::Insert(route(1))]), Ok(Reply::Done));
    }
    parts[1].with_driver(|model| model.restart(NOW));
    for part in &mut parts {
        let links: Vec<Link> = std::iter::from_fn(|| part.poll_link(NOW)).collect();
        assert_eq!(links, [Link::Down, Link::Up { emptied: true }]);
        assert_eq!(rows(part, table::NETWORK_LPM), []);
    }
    for part in &mut parts {
        assert_eq!(write(part, &[Update::Insert(route(1))]), Ok(Reply::Done));
        assert_eq!(rows(part, table::NETWORK_LPM), [route(1)]);
    }
}

// Input:  two parts of a switch whose driver has lost two frames.
// Output: the first part counts them, which has the frames of the switch.
#[test]
fn the_first_part_counts_lost_frames() {
    struct Losing(Model<Upf>);
    impl SwitchDriver for Losing {
        fn submit(&mut self, now: Time, request: Request) -> Ticket {
            self.0.submit(now, request)
        }
        fn poll(&mut self, now: Time) -> Option<(Ticket, Outcome)> {
            self.0.poll(now)
        }
        fn next_event(&self) -> Option<Time> {
            self.0.next_event()
        }
        fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
            self.0.poll_packet(now)
        }
        fn lost_packets(&self) -> u64 {
            2
        }
    }
    let whole = WholeSwitch::polled(Losing(model()), &program(), 2);
    assert_eq!([0, 1].map(|number| whole.part(number).lost_packets()), [2, 0]);
}

// Input:  parts of a driver that tells of arrivals, without and with such a call.
// Output: a part does not ask the driver before; then it gets what has arrived, also what another part has fetched for it.
#[test]
fn a_part_asks_when_it_is_told() {
    let arrivals = Arc::new(Arrivals::new(2));
    let whole = WholeSwitch::new(model(), &program(), &arrivals);
    let mut parts = [whole.part(0), whole.part(1)];
    for part in &mut parts {
        assert_eq!(part.poll(NOW), None);
    }
    let ticket = parts[1].submit(NOW, Request::Write(vec![Update::Insert(lookup(1, 5))]));
    assert_eq!((parts[1].poll(NOW), parts[1].next_event()), (None, None));
    arrivals.tell();
    assert_eq!(parts[0].poll(NOW), None);
    assert_eq!(parts[1].next_event(), Some(Time::default()));
    assert_eq!(parts[1].poll(NOW), Some((ticket, Ok(Reply::Done))));
}

proptest! {
    // Input:  any entry of any table of rules that fits a part's program, whose numbers fit the part.
    // Output: it fits the program of the switch, and the part, and no other, reads it as it wrote it.
    #[test]
    fn a_part_reads_what_it_has_written(
        of in 1_usize..=64, number: usize, place: usize, action: usize, values in prop::collection::vec(any::<(u128, u128)>(), 20),
    ) {
        let numbers = Numbers::new(&program());
        let all: Vec<Part> = (0..of).map(|number| Part::new(number, of)).collect();
        let part = all[number % of];
        let own = numbers.program_of(part);
        let tables: Vec<_> = own.tables.iter().filter(|table| !table.is_const && numbers.has_rules(table.id)).collect();
        let table = tables[place % tables.len()];
        let rule = |value: u128| value & ((1 << part.number_bits()) - 1);
        let ones = |width: u8| if width == 128 { u128::MAX } else { (1 << width) - 1 };
        let mut values = values.into_iter().cycle();
        let fields = table.keys.iter().map(|key| {
            let (value, mask) = values.next().unwrap();
            let (value, mask) = match key.name.as_str() {
                "rule" => (rule(value), ones(24) & !((1 << (mask % 16)) - 1)),
                _ => (value & ones(key.width), mask & ones(key.width)),
            };
            match key.kind {
                MatchKind::Exact => FieldMatch::Exact(value),
                MatchKind::Ternary => FieldMatch::Ternary { value: value & mask, mask },
                MatchKind::Lpm => panic!("{key:?}"),
            }
        });
        let key = EntryKey { table: table.id, fields: fields.collect(), priority: i32::from(table.has_priority()) };
        let action = own.action(table.actions[action % table.actions.len()]).unwrap();
        let parameters = action.parameters.iter().map(|it| match it.name.as_str() {
            "rule" => rule(values.next().unwrap().0),
            // As many as there are, if all parts have as many.
            "meter_index" | "generation" => values.next().unwrap().0 & (ones(it.width) >> 6),
            _ => values.next().unwrap().0 & ones(it.width),
        });
        let entry = Entry { key, action: action.id, parameters: parameters.collect() };
        let has_rule = table.keys.iter().any(|key| key.name == "rule") || action.parameters.iter().any(|it| it.name == "rule");
        let Update::Insert(sent) = numbers.update_on_switch(part, Update::Insert(entry.clone())) else { panic!() };
        prop_assert_eq!(program().check_entry(&sent), Ok(()));
        prop_assert_eq!(numbers.key_on_switch(part, entry.key.clone()), sent.key.clone());
        for other in all {
            let wanted = if has_rule { other == part } else { other.number() == 0 };
            prop_assert_eq!(numbers.entry_of_part(other, sent.clone()), wanted.then(|| entry.clone()), "{:?}", other);
        }
    }
}
