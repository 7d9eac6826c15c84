//! The model with a small program.

mod accounting;
mod driver;
mod registers;
mod tables;

use causeway_types::{Span, Time};

use super::{Output, Pipeline, QueuedPacket, State};
use crate::driver::{
    Action, Counter, Entry, EntryKey, FieldMatch, Key, MatchKind, Meter, Parameter, Program, Table,
};

const PDR: u32 = 1;
const PRE: [u32; 2] = [10, 11];
const POST: [u32; 2] = [20, 21];
const ROUTE: u32 = 30;
const FILTER: u32 = 31;
const SET_RULE: u32 = 100;
const COUNT: u32 = 101;
const HOP: u32 = 102;
const BY_PORT: u32 = 200;
const METER: u32 = 300;
const CPU_PORT: u16 = 64;

/// Microseconds after a moment.
fn at(micros: u64) -> Time {
    Time::from_secs(1000) + Span::from_micros(micros)
}

fn key(name: &str, width: u8, kind: MatchKind) -> Key {
    Key { name: name.to_owned(), width, kind }
}

fn table(id: u32, name: &str, size: usize, keys: Vec<Key>, actions: &[u32]) -> Table {
    Table { id, name: name.to_owned(), size, keys, actions: actions.to_vec(), is_const: false }
}

/// A table of sessions, two partitions of accounting on each side, routes, filters, a counter by port and a meter.
fn program() -> Program {
    let rule = || vec![key("rule", 24, MatchKind::Exact)];
    let filter = vec![
        key("is_ipv4", 1, MatchKind::Exact),
        key("address", 128, MatchKind::Ternary),
        key("port", 16, MatchKind::Ternary),
    ];
    let action = |id, name: &str, parameters: &[(&str, u8)]| Action {
        id,
        name: name.to_owned(),
        parameters: parameters
            .iter()
            .map(|(name, width)| Parameter { name: (*name).to_owned(), width: *width })
            .collect(),
    };
    let direct = PRE.into_iter().chain(POST).map(|table| Counter {
        id: table + 1000,
        name: format!("usage_{table}"),
        size: 0,
        table: Some(table),
    });
    let by_port = Counter { id: BY_PORT, name: "by_port".to_owned(), size: 128, table: None };
    Program {
        tables: vec![
            table(PDR, "pdr", 1000, vec![key("session", 8, MatchKind::Exact)], &[SET_RULE]),
            table(PRE[0], "pre_a", 64, rule(), &[COUNT]),
            table(PRE[1], "pre_b", 64, rule(), &[COUNT]),
            table(POST[0], "post_a", 64, rule(), &[COUNT]),
            table(POST[1], "post_b", 64, rule(), &[COUNT]),
            table(ROUTE, "route", 3, vec![key("destination", 32, MatchKind::Lpm)], &[HOP]),
            table(FILTER, "filter", 9, filter, &[HOP]),
        ],
        actions: vec![
            action(SET_RULE, "set_rule", &[("rule", 24)]),
            action(COUNT, "count", &[]),
            action(HOP, "hop", &[("port", 9)]),
        ],
        counters: direct.chain([by_port]).collect(),
        meters: vec![Meter { id: METER, name: "meter".to_owned(), size: 2 }],
        registers: Vec::new(),
    }
}

fn exact(table: u32, value: u128) -> EntryKey {
    EntryKey { table, fields: vec![FieldMatch::Exact(value)], priority: 0 }
}

/// A session's rule.
fn session(number: u8, rule: u32) -> Entry {
    Entry { key: exact(PDR, number.into()), action: SET_RULE, parameters: vec![rule.into()] }
}

/// An entry that counts a rule.
fn counting(table: u32, rule: u32) -> Entry {
    Entry { key: exact(table, rule.into()), action: COUNT, parameters: vec![] }
}

/// A frame is the number of its session and any octets. It is counted on both sides, and leaves by port 1; unknown ones go to the
/// controller, and those of the controller leave by port 2.
struct Switch;

impl Pipeline for Switch {
    type Packet = (u32, Vec<u8>);

    fn ingress(
        &mut self,
        state: &mut State,
        _: Time,
        port: u16,
        frame: &[u8],
        out: &mut Output<Self::Packet>,
    ) {
        let octets = frame.len() as u64;
        state.count(BY_PORT, port.into(), octets);
        let session = frame.first().copied().unwrap_or_default();
        let matched = state.apply_table(PDR, &[session.into()], octets).map(|entry| entry.parameters[0]);
        let rule = matched.unwrap_or_default();
        PRE.into_iter().for_each(|table| _ = state.apply_table(table, &[rule], octets));
        let port = match (port, matched) {
            (CPU_PORT, _) => 2,
            (_, Some(_)) => 1,
            (_, None) => CPU_PORT,
        };
        out.push(QueuedPacket { port, queue: 0, octets, packet: (rule as u32, frame.to_vec()) });
    }

    fn egress(&mut self, state: &mut State, _: Time, _: u16, (rule, frame): Self::Packet) -> Option<Vec<u8>> {
        POST.into_iter().for_each(|table| _ = state.apply_table(table, &[rule.into()], frame.len() as u64));
        Some(frame)
    }
}
