//! The tables of the workload: those of the `hip4` and `direct` profiles for IPv4 UEs without filters, as large as
//! needed.

use causeway_switch::SwitchPdr;
use causeway_switch::driver::{
    Action, Counter, Entry, EntryKey, FieldMatch, Key, MatchKind, Parameter, Program, Table,
};
use causeway_switch::pendulum::{Partition, Side};

/// Bits of a rule's number.
pub(super) const BITS: u8 = 24;
/// PDRs from UEs to the data network.
pub(super) const UPLINK: u32 = 1;
/// PDRs from the data network to UEs.
pub(super) const DOWNLINK: u32 = 2;
/// Templates, uplink and downlink, by rule number.
pub(super) const TEMPLATES: [u32; 2] = [3, 4];
/// Accounting by side and partition.
const ACCOUNTING: [[u32; 2]; 2] = [[10, 11], [12, 13]];
/// Accounting by side, by index: the first bank of uplink rules.
const INDEXED: [u32; 2] = [1000, 2000];
/// The size of a bank that holds all counters.
const ONE: u32 = u32::MAX;
/// The offset from the banks of uplink rules to those of downlink rules.
const WAY: u32 = 500;
/// The first number of downlink rules.
pub(super) const DOWNLINK_NUMBERS: u32 = 1 << (BITS - 1);

const SET_RULE: u32 = 100;
const SET_RULE_AND_TUNNEL: u32 = 101;
const COUNT: u32 = 102;
const FORWARD: u32 = 103;

/// QFI of all packets.
const QFI: u128 = 1;

/// The program for this many UEs. A partition has this capacity in rules.
pub(super) fn program(ues: u32, capacity: usize, bank: Option<u32>) -> Program {
    let sessions = ues as usize;
    let mut tables = vec![
        table(UPLINK, "ul_to_n6_simple", sessions, &[("teid", 24), ("qfi", 6)], MatchKind::Exact, SET_RULE),
        table(
            DOWNLINK,
            "dl_from_n6_simple",
            sessions,
            &[("ue_address", 32)],
            MatchKind::Exact,
            SET_RULE_AND_TUNNEL,
        ),
        table(TEMPLATES[0], "ul_to_n6_template", 2048, &[("rule", BITS)], MatchKind::Ternary, FORWARD),
        table(TEMPLATES[1], "dl_template", 4096, &[("rule", BITS)], MatchKind::Ternary, FORWARD),
    ];
    let names = [["pre_qos_a", "pre_qos_b"], ["post_qos_a", "post_qos_b"]];
    let mut counters = Vec::new();
    if let Some(bank) = bank {
        let size = bank.min(2 * ues.max(1));
        let by_index =
            |id: u32| Counter { id, name: format!("usage_{id}"), size: size as usize, table: None };
        let banks = ues.div_ceil(size);
        let ways = if bank == ONE { [0..1, 0..0] } else { [0..banks, WAY..WAY + banks] };
        for first in INDEXED {
            counters.extend(ways.iter().cloned().flatten().map(|place| by_index(first + place)));
        }
    } else {
        for (id, name) in ACCOUNTING.into_iter().flatten().zip(names.into_iter().flatten()) {
            tables.push(table(id, name, capacity, &[("rule", BITS)], MatchKind::Exact, COUNT));
            counters.push(Counter { id: id + 1000, name: format!("{name}_usage"), size: 0, table: Some(id) });
        }
    }
    let rule = [("rule", BITS), ("meter_index", 16)];
    let actions = vec![
        action(SET_RULE, "set_rule", &rule),
        action(SET_RULE_AND_TUNNEL, "set_rule_and_tunnel", &[&rule[..], &[("teid", 32)]].concat()),
        action(COUNT, "count", &[]),
        action(FORWARD, "forward", &[("tunnel", 32), ("qfi", 6)]),
    ];
    Program { tables, actions, counters, ..Program::default() }
}

fn table(id: u32, name: &str, size: usize, keys: &[(&str, u8)], kind: MatchKind, action: u32) -> Table {
    let key = |(name, width): &(&str, u8)| Key { name: (*name).into(), width: *width, kind };
    let keys = keys.iter().map(key).collect();
    Table { id, name: name.into(), size, keys, actions: vec![action], is_const: false }
}

fn action(id: u32, name: &str, parameters: &[(&str, u8)]) -> Action {
    let parameter = |(name, width): &(&str, u8)| Parameter { name: (*name).into(), width: *width };
    Action { id, name: name.into(), parameters: parameters.iter().map(parameter).collect() }
}

/// The counter and the index of a rule's number, in banks of this size for each direction, or all in one.
pub(super) fn cell(side: Side, bank: u32, number: u32) -> (u32, u32) {
    let (is_downlink, place) = (number >= DOWNLINK_NUMBERS, number % DOWNLINK_NUMBERS);
    let first = INDEXED[side as usize];
    if bank == ONE {
        return (first, 2 * place + u32::from(is_downlink));
    }
    let way = if is_downlink { WAY } else { 0 };
    (first + way + place / bank, place % bank)
}

/// The bank of a number on a side, where uplink and downlink banks alternate.
pub(super) fn bank_of(bank: u32, number: u32) -> u16 {
    if bank == ONE {
        return 0;
    }
    let (is_downlink, place) = (number >= DOWNLINK_NUMBERS, number % DOWNLINK_NUMBERS);
    u16::try_from(2 * (place / bank) + u32::from(is_downlink)).unwrap_or(u16::MAX)
}

/// The rule number of a counter.
pub(super) const fn number_of(bank: u32, counter: u32, index: u32) -> u32 {
    if bank == ONE {
        return index / 2 + if index % 2 == 1 { DOWNLINK_NUMBERS } else { 0 };
    }
    let place = counter % INDEXED[0];
    let way = if place < WAY { 0 } else { DOWNLINK_NUMBERS };
    way + place % WAY * bank + index
}

/// The keys of a UE's uplink packets.
pub(super) fn uplink_keys(ue: u32) -> [u128; 2] {
    [u128::from(ue) + 1, QFI]
}

/// The keys of a UE's downlink packets.
pub(super) fn downlink_keys(ue: u32) -> [u128; 1] {
    [u128::from(ue) + 0x0a00_0000]
}

/// The UE of a PDR entry with this key, if it is one.
pub(super) fn ue_of(key: &EntryKey) -> Option<u32> {
    let first = match key.fields.first()? {
        FieldMatch::Exact(value) => *value,
        FieldMatch::Ternary { .. } | FieldMatch::Lpm { .. } => return None,
    };
    let base = match key.table {
        UPLINK => uplink_keys(0)[0],
        DOWNLINK => downlink_keys(0)[0],
        _ => return None,
    };
    u32::try_from(first.checked_sub(base)?).ok()
}

/// The entry of a UE's uplink PDR.
pub(super) fn uplink(ue: u32, rule: SwitchPdr) -> Entry {
    let fields = uplink_keys(ue).map(FieldMatch::Exact).to_vec();
    let key = EntryKey { table: UPLINK, fields, priority: 0 };
    Entry { key, action: SET_RULE, parameters: vec![rule.0.into(), 0] }
}

/// The entry of a UE's downlink PDR, with the TEID at the gNB.
pub(super) fn downlink(ue: u32, rule: SwitchPdr, teid: u32) -> Entry {
    let fields = downlink_keys(ue).map(FieldMatch::Exact).to_vec();
    let key = EntryKey { table: DOWNLINK, fields, priority: 0 };
    Entry { key, action: SET_RULE_AND_TUNNEL, parameters: vec![rule.0.into(), 0, teid.into()] }
}

/// An accounting table.
pub(super) fn accounting(side: Side, partition: Partition) -> u32 {
    let [a, b] = ACCOUNTING[side as usize];
    if partition.0 == 0 { a } else { b }
}

/// The key of a rule in an accounting table.
pub(super) fn counter(table: u32, rule: SwitchPdr) -> EntryKey {
    EntryKey { table, fields: vec![FieldMatch::Exact(rule.0.into())], priority: 0 }
}

/// The entry of a rule in an accounting table.
pub(super) fn counting(table: u32, rule: SwitchPdr) -> Entry {
    Entry { key: counter(table, rule), action: COUNT, parameters: Vec::new() }
}

/// An entry of a template table: rules of a block use this tunnel.
pub(super) fn template(table: u32, value: u32, mask: u32, priority: i32, tunnel: u32) -> Entry {
    let field = FieldMatch::Ternary { value: value.into(), mask: mask.into() };
    let key = EntryKey { table, fields: vec![field], priority };
    Entry { key, action: FORWARD, parameters: vec![tunnel.into(), QFI] }
}
