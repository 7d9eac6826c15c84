//! Entries to messages and back.

use causeway_switch::driver::{Entry, EntryKey, FieldMatch, MatchKind, Program, Update};
use proptest::prelude::*;
use tonic::Code;

use super::Refusal;
use crate::info::{Info, Schema};
use crate::wire;

const PROFILES: [&str; 7] = [
    include_str!("../../../../../p4/p4info/baseline.bmv2.txtpb"),
    include_str!("../../../../../p4/p4info/red.bmv2.txtpb"),
    include_str!("../../../../../p4/p4info/red-spt.bmv2.txtpb"),
    include_str!("../../../../../p4/p4info/hip4.bmv2.txtpb"),
    include_str!("../../../../../p4/p4info/direct.bmv2.txtpb"),
    include_str!("../../../../../p4/p4info/hip4-outer-ipv6.bmv2.txtpb"),
    include_str!("../../../../../p4/p4info/thesis.bmv2.txtpb"),
];

fn schema(profile: usize) -> Schema {
    Info::of_text(PROFILES[profile]).unwrap().schema
}

fn ones(width: u8) -> u128 {
    if width == 128 { u128::MAX } else { (1 << width) - 1 }
}

/// Any entry of any table of a program, from a sequence of numbers.
fn entry(program: &Program, table: usize, action: usize, numbers: &[(u128, u128)], priority: i32) -> Entry {
    let tables: Vec<_> = program.tables.iter().filter(|table| !table.is_const).collect();
    let table = tables[table % tables.len()];
    let mut numbers = numbers.iter().copied().cycle();
    let mut number = |width: u8| {
        let (value, mask) = numbers.next().unwrap();
        (value & ones(width), mask & ones(width))
    };
    let fields = table.keys.iter().map(|key| {
        let (value, mask) = number(key.width);
        match key.kind {
            MatchKind::Exact => FieldMatch::Exact(value),
            MatchKind::Ternary => FieldMatch::Ternary { value: value & mask, mask },
            MatchKind::Lpm => {
                let prefix = (mask % (u128::from(key.width) + 1)) as u8;
                let mask = ones(key.width) & !ones(key.width - prefix);
                FieldMatch::Lpm { value: value & mask, prefix }
            }
        }
    });
    let fields = fields.collect();
    let priority = if table.has_priority() { priority } else { 0 };
    let key = EntryKey { table: table.id, fields, priority };
    let action = program.action(table.actions[action % table.actions.len()]).unwrap();
    let parameters = action.parameters.iter().map(|parameter| number(parameter.width).0).collect();
    Entry { key, action: action.id, parameters }
}

proptest! {
    // Input:  any legal entry of any table of any profile.
    // Output: it is unchanged after encoding and decoding.
    #[test]
    fn an_entry_is_the_same_behind_the_wire(
        profile in 0..PROFILES.len(), table: usize, action: usize, priority in 1_i32..,
        numbers in prop::collection::vec(any::<(u128, u128)>(), 20),
    ) {
        let schema = schema(profile);
        let entry = entry(&schema.program, table, action, &numbers, priority);
        prop_assert_eq!(schema.program.check_entry(&entry), Ok(()));
        let wire = schema.wire_entry(&entry);
        let octets = prost::Message::encode_to_vec(&wire);
        let wire: wire::TableEntry = prost::Message::decode(octets.as_slice()).unwrap();
        prop_assert_eq!(schema.entry_of(&wire), Ok(entry));
    }
}

/// A program with registers whose cells are of 20 bits, of 64, and a struct of two words.
fn registers() -> Schema {
    let spec = |id: u32, spec: &str| {
        format!("registers {{ preamble {{ id: {id} alias: \"r{id}\" }} type_spec {{ {spec} }} size: 4 }}")
    };
    let bits = |width: u32| format!("bitstring {{ bit {{ bitwidth: {width} }} }}");
    let member = |width| format!("members {{ name: \"m\" type_spec {{ {} }} }}", bits(width));
    let types = format!("type_info {{ structs {{ key: \"t\" value {{ {}{} }} }} }}", member(32), member(16));
    let text = [spec(1, &bits(20)), spec(2, &bits(64)), spec(3, "struct { name: \"t\" }"), types].concat();
    Info::of_text(&text).unwrap().schema
}

proptest! {
    // Input:  any value of any register.
    // Output: if its cells hold the value, it is unchanged after encoding and decoding; otherwise an update is refused.
    #[test]
    fn a_cell_is_the_same_behind_the_wire(place in 0_usize..3, first: u32, second: u32, shift in 0_u32..32) {
        let schema = registers();
        let register = &schema.program.registers[place];
        let value = [first >> shift, if register.second.is_some() { second >> shift } else { 0 }];
        let update = Update::SetRegister { register: register.id, index: 3, value };
        prop_assert_eq!(schema.check_update(&update).is_ok(), register.holds(value));
        if register.holds(value) {
            let octets = prost::Message::encode_to_vec(&schema.wire_data(register, value));
            let data: wire::Data = prost::Message::decode(octets.as_slice()).unwrap();
            prop_assert_eq!(schema.cell_of(register, &data), Ok(value));
        }
    }
}

// Input:  contents of cells that are missing, of another type, too wide, without octets, or of too few or many members.
// Output: an invalid argument, as the specification has it, with the register's name.
#[test]
fn contents_of_another_format_are_refused() {
    let schema = registers();
    let bits = |octets: &[u8]| Some(wire::DataKind::Bits(octets.to_vec()));
    let members = |members: &[Option<&[u8]>]| {
        let member = |bits: &Option<&[u8]>| wire::MemberData { bits: bits.map(<[u8]>::to_vec) };
        Some(wire::DataKind::Struct(wire::StructData { members: members.iter().map(member).collect() }))
    };
    let (one, wide): (&[u8], &[u8]) = (&[1], &[1, 0, 0]);
    for (id, kind) in [
        (1, None),
        (1, bits(&[])),
        (1, bits(&[0x10, 0, 0])),
        (1, members(&[Some(one)])),
        (2, bits(&[1, 0, 0, 0, 0, 0, 0, 0, 0])),
        (3, bits(&[1])),
        (3, members(&[])),
        (3, members(&[Some(one)])),
        (3, members(&[Some(one), Some(one), Some(one)])),
        (3, members(&[Some(one), None])),
        (3, members(&[Some(one), Some(wide)])),
    ] {
        let refusal = schema.cell_of(schema.register_of(id).unwrap(), &wire::Data { kind }).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidArgument);
        assert!(refusal.message.contains(&format!("register r{id}: ")), "{}", refusal.message);
    }
    assert_eq!(schema.register_of(4).unwrap_err().code, Code::InvalidArgument);
}

// Input:  registers whose cells are of 33 bits, of a struct of three numbers, of a struct that is not there, or signed.
// Output: the program is refused, with the register's name.
#[test]
fn registers_of_other_cells_are_refused() {
    let three = "members { name: \"m\" type_spec { bitstring { bit { bitwidth: 8 } } } }".repeat(3);
    let types = format!("type_info {{ structs {{ key: \"t\" value {{ {three} }} }} }}");
    for spec in [
        "bitstring { bit { bitwidth: 33 } }",
        "bitstring { int { bitwidth: 16 } }",
        "struct { name: \"t\" }",
        "struct { name: \"u\" }",
    ] {
        let text = format!(
            "registers {{ preamble {{ id: 5 alias: \"cells\" }} size: 1 type_spec {{ {spec} }} }} {types}"
        );
        let error = Info::of_text(&text).unwrap_err().to_string();
        assert!(error.contains("register cells"), "{error}");
    }
}

// Input:  the P4Info of each profile, decoded by this crate and by the reader from which the contract is generated.
// Output: the same tables, actions, counters and meters.
#[test]
fn both_readers_see_the_same_program() {
    for text in PROFILES {
        let known = causeway_p4::p4info::P4Info::parse(text).unwrap();
        let schema = Info::of_text(text).unwrap().schema;
        let program = &schema.program;
        assert_eq!(program.tables.len(), known.tables.len());
        for table in &known.tables {
            let ours = program.table(table.id).unwrap();
            assert_eq!(
                (&ours.name, ours.size as u64, ours.is_const),
                (&table.name, table.size, table.is_const)
            );
            assert_eq!(ours.actions, table.actions);
            let keys = ours.keys.iter().zip(schema.ids(table.id));
            let keys: Vec<_> = keys.map(|(key, id)| (*id, key.name.clone(), u32::from(key.width))).collect();
            let expected: Vec<_> =
                table.keys.iter().map(|key| (key.id, key.name.clone(), key.width)).collect();
            assert_eq!(keys, expected);
        }
        for action in &known.actions {
            let ours = program.action(action.id).unwrap();
            let params = ours.parameters.iter().zip(schema.ids(action.id));
            let params: Vec<_> =
                params.map(|(param, id)| (*id, param.name.clone(), u32::from(param.width))).collect();
            assert_eq!(params, action.params);
        }
        let mut ours: Vec<_> = program.counters.iter().map(|counter| (counter.id, counter.table)).collect();
        ours.sort_unstable();
        assert_eq!(
            ours,
            known.counters.iter().map(|counter| (counter.id, counter.table)).collect::<Vec<_>>()
        );
        let mut ours: Vec<_> = program.meters.iter().map(|meter| (meter.id, meter.size as u64)).collect();
        ours.sort_unstable();
        let mut theirs: Vec<_> = known.meters.iter().map(|meter| (meter.id, meter.size)).collect();
        theirs.sort_unstable();
        assert_eq!(ours, theirs);
    }
}

/// An entry of `tunnel_lpm`, and one of `source_guard`, to be modified.
fn lpm_and_ternary(schema: &Schema) -> (wire::TableEntry, wire::TableEntry) {
    let key = |table: &str, fields: Vec<FieldMatch>, priority| {
        let table = schema.program.table_named(table).unwrap().id;
        schema.wire_key(&EntryKey { table, fields, priority })
    };
    let lpm = key("tunnel_lpm", vec![FieldMatch::Lpm { value: 0x0a00_0000, prefix: 8 }], 0);
    let ternary = FieldMatch::Ternary { value: 0x0a, mask: 0xff };
    (lpm, key("source_guard", vec![ternary, FieldMatch::ANY, FieldMatch::ANY], 1))
}

// Input:  keys with a mask of zeros, prefixes of 0 and 33 bits, bits outside the mask, numbers that are too wide or
//         empty, a duplicate key, an unknown key, one with another match kind.
// Output: the status that the specification has for each.
#[test]
fn what_is_not_canonical_is_refused() {
    let schema = schema(3);
    let (lpm, ternary) = lpm_and_ternary(&schema);
    let spoilt = |entry: &wire::TableEntry, kind: wire::Match| {
        let mut entry = entry.clone();
        entry.matches[0].kind = Some(kind);
        schema.key_of(&entry).map_err(|Refusal { code, .. }| code)
    };
    let prefix = |value: &[u8], prefix_len| wire::Match::Lpm(wire::Lpm { value: value.to_vec(), prefix_len });
    let masked = |value: &[u8], mask: &[u8]| {
        wire::Match::Ternary(wire::Ternary { value: value.to_vec(), mask: mask.to_vec() })
    };
    assert!(spoilt(&lpm, prefix(&[0, 0, 10, 0, 0, 0], 8)).is_ok(), "zeros in front do no harm");
    for kind in [prefix(&[0], 0), prefix(&[10, 0, 0, 0], 33), prefix(&[10, 0, 0, 1], 8), prefix(&[0], -1)] {
        assert_eq!(spoilt(&lpm, kind), Err(Code::InvalidArgument));
    }
    for kind in [masked(&[0], &[0]), masked(&[3], &[2]), wire::Match::Range(wire::Other {}), prefix(&[1], 8)]
    {
        assert_eq!(spoilt(&ternary, kind), Err(Code::InvalidArgument));
    }
    for kind in [masked(&[], &[1]), masked(&[1], &[1, 0, 0, 0]), masked(&[0xff; 5000], &[0xff; 5000])] {
        assert_eq!(spoilt(&ternary, kind), Err(Code::OutOfRange));
    }
    let mut twice = ternary.clone();
    twice.matches.push(ternary.matches[0].clone());
    let mut unknown = ternary.clone();
    unknown.matches[0].field_id = 9;
    let mut nothing = ternary;
    nothing.matches[0].kind = None;
    for entry in [twice, unknown, nothing] {
        assert_eq!(schema.key_of(&entry).unwrap_err().code, Code::InvalidArgument);
    }
}
