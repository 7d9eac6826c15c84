//! The common behaviour of all drivers.

use causeway_switch::Count;
use causeway_switch::driver::{
    DriverError, Entry, EntryKey, FieldMatch, Outcome, Rates, Reply, Request, Update, WriteError,
};

use crate::driver::subjects::{CPU, Subject, each};

const ANY: FieldMatch = FieldMatch::ANY;

/// Cases in which no frame is received or transmitted on a port other than the CPU port.
pub(crate) const WITHOUT_PORTS: [fn(&mut dyn Subject); 6] =
    [batches, modifications, full_table, misfits, every_kind, arp_from_the_controller];

fn exact(value: u128) -> FieldMatch {
    FieldMatch::Exact(value)
}

/// A rule that is counted before QoS enforcement.
fn counted(switch: &dyn Subject, rule: u128) -> Entry {
    switch.entry("pre_qos_a", &[exact(rule)], 0, "count_pre_a", &[])
}

/// A UE's downlink rule.
fn downlink(switch: &dyn Subject, address: u128, rule: u128) -> Entry {
    switch.entry("dl_from_n6_simple", &[exact(address)], 0, "set_rule_and_tunnel", &[rule, 0x1_0000])
}

fn refused(outcome: Outcome) -> (usize, WriteError) {
    match outcome {
        Err(DriverError::Rejected(rejected)) => (rejected.update, rejected.error),
        other => panic!("{other:?}"),
    }
}

// Input:  a batch of insertions of which the third exists already; then without it.
// Output: nothing is written and the third is named; all is written.
#[test]
fn a_batch_is_all_or_nothing() {
    each(batches);
}

fn batches(switch: &mut dyn Subject) {
    let entries: Vec<Entry> = (1..=3).map(|rule| counted(switch, rule)).collect();
    assert_eq!(switch.insert(&entries[2..]), Ok(Reply::Done));
    assert_eq!(refused(switch.insert(&entries)), (2, WriteError::Exists("pre_qos_a".to_owned())));
    assert_eq!(switch.entries("pre_qos_a"), entries[2..]);
    assert_eq!(switch.insert(&entries[..2]), Ok(Reply::Done));
    assert_eq!(switch.entries("pre_qos_a").len(), 3);
}

// Input:  an entry gets another action parameter; a missing one is modified, and deleted; it is deleted twice.
// Output: the new parameter; each of the others is refused, with the table's name.
#[test]
fn entries_are_modified_and_deleted() {
    each(modifications);
}

fn modifications(switch: &mut dyn Subject) {
    let (first, second) = (downlink(switch, 7, 1), downlink(switch, 7, 2));
    let missing = WriteError::Missing("dl_from_n6_simple".to_owned());
    assert_eq!(
        refused(switch.ask(Request::Write(vec![Update::Modify(first.clone())]))),
        (0, missing.clone())
    );
    assert_eq!(switch.insert(&[first]), Ok(Reply::Done));
    assert_eq!(switch.ask(Request::Write(vec![Update::Modify(second.clone())])), Ok(Reply::Done));
    assert_eq!(switch.entries("dl_from_n6_simple"), std::slice::from_ref(&second));
    let delete = || Request::Write(vec![Update::Delete(second.key.clone())]);
    assert_eq!(switch.ask(delete()), Ok(Reply::Done));
    assert_eq!(refused(switch.ask(delete())), (0, missing));
    assert_eq!(switch.entries("dl_from_n6_simple"), []);
}

// Input:  one entry more than a table of 64 holds, in a batch with others.
// Output: the table is full, with its name and size, and holds nothing of the batch.
#[test]
fn a_full_table_is_named() {
    each(full_table);
}

fn full_table(switch: &mut dyn Subject) {
    let guard = |source: u128| {
        let source = FieldMatch::Ternary { value: source, mask: 0xffff_ffff };
        switch.entry("source_guard", &[ANY, source, ANY], 1, "pass", &[])
    };
    let (fit, rest): (Vec<Entry>, Vec<Entry>) = ((0..60).map(guard).collect(), (60..70).map(guard).collect());
    assert_eq!(switch.insert(&fit), Ok(Reply::Done));
    let (update, error) = refused(switch.insert(&rest));
    assert_eq!(update, 4);
    assert!(switch.means_full(&error, "source_guard", 64), "{error:?}");
    assert_eq!(switch.entries("source_guard").len(), 60);
}

// Input:  entries that do not fit the program, and counters and meters that it does not have.
// Output: each is refused with the reason.
#[test]
fn what_does_not_fit_the_program_is_refused() {
    each(misfits);
}

fn misfits(switch: &mut dyn Subject) {
    let right = downlink(switch, 7, 1);
    let table = || "dl_from_n6_simple".to_owned();
    let spoilt = |spoil: &dyn Fn(&mut Entry)| {
        let mut entry = right.clone();
        spoil(&mut entry);
        entry
    };
    let width = |name: &str, width| WriteError::Field { table: table(), name: name.to_owned(), width };
    let cases: [(Entry, WriteError); 6] = [
        (spoilt(&|entry| entry.key.table = 5), WriteError::UnknownTable(5)),
        (spoilt(&|entry| entry.action = 9), WriteError::UnknownAction { table: table(), action: 9 }),
        (spoilt(&|entry| entry.parameters[0] = 1 << 24), width("rule", 24)),
        (spoilt(&|entry| entry.key.fields = vec![exact(1 << 32)]), width("ue_address", 32)),
        (spoilt(&|entry| entry.key.priority = 1), WriteError::Priority { table: table(), priority: 1 }),
        (
            spoilt(&|entry| _ = entry.parameters.pop()),
            WriteError::Arity { table: table(), what: "parameters", expected: 2, given: 1 },
        ),
    ];
    for (entry, error) in cases {
        assert_eq!(refused(switch.insert(&[right.clone(), entry])), (1, error));
    }
    let command = switch.entry("cpu_commands", &[exact(1)], 0, "process", &[]);
    assert_eq!(refused(switch.insert(&[command])), (0, WriteError::Const("cpu_commands".to_owned())));
    let program = switch.program();
    let drops = program.counters.iter().find(|counter| counter.name == "drops").unwrap().id;
    let beyond = Request::ReadIndexed { counter: drops, indices: vec![0, 32] };
    let unknown = WriteError::UnknownCounter { counter: drops, index: 32 };
    assert_eq!(refused(switch.ask(beyond)), (1, unknown));
    let meter = program.meters[0].id;
    let index = u32::try_from(program.meters[0].size).unwrap();
    let beyond = Request::Write(vec![Update::SetMeter { meter, index, rates: None }]);
    assert_eq!(refused(switch.ask(beyond)), (0, WriteError::UnknownMeter { meter, index }));
    let unknown = Request::ReadEntries { table: 5 };
    assert_eq!(refused(switch.ask(unknown)), (0, WriteError::UnknownTable(5)));
    assert_eq!(switch.entries("dl_from_n6_simple"), []);
}

// Input:  an entry of each match kind, some of which match any value.
// Output: they are read as they were written.
#[test]
fn entries_are_read_as_written() {
    each(every_kind);
}

fn every_kind(switch: &mut dyn Subject) {
    let ternary = |value, mask| FieldMatch::Ternary { value, mask };
    let prefix = |value, prefix| FieldMatch::Lpm { value, prefix };
    let hop = [3, 0x0200_0000_0001, 0x0200_0000_0002];
    let written = [
        switch.entry("source_guard", &[ternary(0x01_0000, 0xff_0000), ternary(0, 0), ANY], 7, "pass", &[]),
        switch.entry("source_guard", &[ANY, ANY, ANY], i32::MAX, "pass", &[]),
        switch.entry("network_lpm", &[prefix(0, 0)], 0, "hop", &hop),
        switch.entry("network_lpm", &[prefix(0x0a00_0000, 8)], 0, "hop", &hop),
        switch.entry("network_lpm_ipv6", &[prefix(u128::MAX, 128)], 0, "hop", &hop),
        switch.entry("network_exact", &[exact(0)], 0, "hop", &hop),
        switch.entry("dl_template", &[ternary(0x40, 0xff_ffc0)], 1, "buffer", &[1]),
    ];
    assert_eq!(switch.insert(&written), Ok(Reply::Done));
    let tables = ["source_guard", "network_lpm", "network_lpm_ipv6", "network_exact", "dl_template"];
    let read: Vec<Entry> = tables.iter().flat_map(|table| switch.entries(table)).collect();
    assert_eq!(read.len(), written.len());
    assert!(written.iter().all(|entry| read.contains(entry)), "{read:?}");
}

/// A UDP packet of 100 octets to a UE, in Ethernet.
fn to_ue(address: [u8; 4]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x08, 0x00];
    let mut ip = vec![0x45, 0, 0, 100, 0, 0, 0, 0, 64, 17, 0, 0, 8, 8, 8, 8];
    ip.extend(address);
    let sum: u32 = ip.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip.resize(100, 0);
    frame.extend(ip);
    frame
}

/// Rules for UEs from 10.45.0.1 on: they are counted, and transmitted in tunnels on port 3.
fn with_ues(switch: &mut dyn Subject, ues: u32) {
    let tunnel = 0xc000_0209;
    let hop = [3, 0x0200_0000_0001, 0x0200_0000_0002, 0xc000_0201];
    let template = FieldMatch::Ternary { value: 0, mask: 0 };
    let common = [
        switch.entry("tunnel_exact", &[exact(tunnel)], 0, "tunnel_hop", &hop),
        switch.entry("dl_template", &[template], 1, "encapsulate", &[tunnel, 9, 0, 0, 0]),
    ];
    assert_eq!(switch.insert(&common), Ok(Reply::Done));
    let rules: Vec<Entry> = (1..=u128::from(ues))
        .flat_map(|rule| [downlink(switch, 0x0a2d_0000 + rule, rule), counted(switch, rule)])
        .collect();
    for batch in rules.chunks(1000) {
        assert_eq!(switch.insert(batch), Ok(Reply::Done));
    }
}

// Input:  packets for two of three UEs, the counters of existing rules and of a missing one, in any order; a
//         modification between.
// Output: octets and packets of each, none for the missing one; the counter goes on. Packets of unknown UEs are counted
//         as drops.
#[test]
fn packets_are_counted() {
    each(|switch| {
        with_ues(switch, 3);
        let key = |switch: &dyn Subject, rule| counted(switch, rule).key;
        let keys = [3, 99, 1, 2].map(|rule| key(switch, rule));
        for (ue, packets) in [(1, 2), (3, 1)] {
            (0..packets).for_each(|_| switch.receive(2, &to_ue([10, 45, 0, ue])));
        }
        switch.receive(2, &to_ue([10, 46, 0, 1]));
        let count = |packets| Some(Count { octets: 114 * packets, packets });
        assert_eq!(switch.counts(&keys), [count(1), None, count(2), count(0)]);
        let again = counted(switch, 1);
        assert_eq!(switch.ask(Request::Write(vec![Update::Modify(again)])), Ok(Reply::Done));
        switch.receive(2, &to_ue([10, 45, 0, 1]));
        assert_eq!(switch.counts(&keys[2..3]), [count(3)]);
        let drops = switch.program().counters.iter().find(|counter| counter.name == "drops").unwrap().id;
        let unknown_ue = Request::ReadIndexed { counter: drops, indices: vec![6, 7] };
        let Ok(Reply::Counts(counts)) = switch.ask(unknown_ue) else { panic!("no counts") };
        let packets: Vec<u64> = counts.into_iter().map(|count| count.unwrap().packets).collect();
        assert_eq!(packets, [0, 1]);
    });
}

// Input:  2,500 UEs, written in batches of 1,000; a packet for one in a hundred; all counters, and as many that do not
//         exist.
// Output: each counter in its place: more than one call and one message hold.
#[test]
fn many_counters_are_read() {
    each(|switch| {
        with_ues(switch, 2500);
        for ue in (0..2500_u16).step_by(100) {
            let [high, low] = (ue + 1).to_be_bytes();
            switch.receive(2, &to_ue([10, 45, high, low]));
        }
        let keys: Vec<EntryKey> = (0..5000).map(|rule| counted(switch, rule + 1).key).collect();
        for (place, count) in switch.counts(&keys).into_iter().enumerate() {
            let packets = count.map(|count| count.packets);
            let expected = (place < 2500).then_some(u64::from(place % 100 == 0));
            assert_eq!(packets, expected, "{place}");
        }
        assert_eq!(switch.entries("pre_qos_a").len(), 2500);
    });
}

// Input:  a meter of two packets on a rule, four packets; then the meter without rates.
// Output: two packets are transmitted, then all.
#[test]
fn meters_are_set() {
    each(|switch| {
        with_ues(switch, 1);
        let metered = switch.entry("metered_rules", &[exact(1)], 0, "ask", &[5]);
        let meter = switch.program().meters[0].id;
        let rates = Rates { committed: 1, committed_burst: 228, peak: 1, peak_burst: 228 };
        let set = |rates| Update::SetMeter { meter, index: 5, rates };
        let batch = vec![Update::Insert(metered), set(Some(rates))];
        assert_eq!(switch.ask(Request::Write(batch)), Ok(Reply::Done));
        (0..4).for_each(|_| switch.receive(2, &to_ue([10, 45, 0, 1])));
        let drops = switch.program().counters.iter().find(|counter| counter.name == "drops").unwrap().id;
        let exceeded = || Request::ReadIndexed { counter: drops, indices: vec![11] };
        let red = |octets, packets| Ok(Reply::Counts(vec![Some(Count { octets, packets })]));
        assert_eq!(switch.ask(exceeded()), red(228, 2));
        assert_eq!(switch.ask(Request::Write(vec![set(None)])), Ok(Reply::Done));
        (0..4).for_each(|_| switch.receive(2, &to_ue([10, 45, 0, 1])));
        assert_eq!(switch.ask(exceeded()), red(228, 2));
        let wrong = Rates { peak: 0, ..rates };
        let wrong = Request::Write(vec![set(Some(wrong))]);
        assert_eq!(refused(switch.ask(wrong)), (0, WriteError::MeterRates));
    });
}

// Input:  cells of registers of one word, of 64 bits and of a struct, set in one batch; then all cells are read, which are
//         more than one call asks for.
// Output: each has its words, and all others are zero.
#[test]
fn registers_are_set_and_read() {
    each(|switch| {
        let program = switch.program();
        let set = |name: &str, index, value| {
            let register = program.register_named(name).unwrap().id;
            Update::SetRegister { register, index, value }
        };
        let batch = vec![
            set("seen", 2499, [0xffff, 0]),
            set("seen", 7, [0, 0]),
            set("times", 3, [1, 0x8000_0000]),
            set("pairs", 0, [u32::MAX, 0xf_ffff]),
        ];
        assert_eq!(switch.ask(Request::Write(batch)), Ok(Reply::Done));
        let mut cells = |name: &str, size| {
            let register = program.register_named(name).unwrap().id;
            let indices = (0..size).collect();
            let Ok(Reply::Registers(cells)) = switch.ask(Request::ReadRegister { register, indices }) else {
                panic!("{name}")
            };
            let set = (0..).zip(cells).filter(|(_, cell)| *cell != [0, 0]);
            set.collect::<Vec<(u32, [u32; 2])>>()
        };
        assert_eq!(cells("seen", 2500), [(2499, [0xffff, 0])]);
        assert_eq!(cells("times", 8), [(3, [1, 0x8000_0000])]);
        assert_eq!(cells("pairs", 8), [(0, [u32::MAX, 0xf_ffff])]);
    });
}

// Input:  indices beyond a register, a register that is not there, values too wide for either word; each in a batch behind
//         a good update.
// Output: each is refused by name, and nothing of its batch is done.
#[test]
fn cells_that_do_not_exist_are_refused() {
    each(|switch| {
        let program = switch.program();
        let id = |name: &str| program.register_named(name).unwrap().id;
        let set = |register, index, value| Update::SetRegister { register, index, value };
        let unknown = |register, index| WriteError::UnknownRegister { register, index };
        let unfit =
            |register: &str, value| WriteError::RegisterValue { register: register.to_owned(), value };
        for (bad, error) in [
            (set(id("seen"), 2500, [1, 0]), unknown(id("seen"), 2500)),
            (set(7, 0, [1, 0]), unknown(7, 0)),
            (set(id("seen"), 0, [0x1_0000, 0]), unfit("seen", [0x1_0000, 0])),
            (set(id("seen"), 0, [1, 1]), unfit("seen", [1, 1])),
            (set(id("pairs"), 0, [1, 0x10_0000]), unfit("pairs", [1, 0x10_0000])),
        ] {
            let batch = Request::Write(vec![set(id("times"), 1, [5, 5]), bad]);
            assert_eq!(refused(switch.ask(batch)), (1, error));
        }
        let read = |register, indices: &[u32]| Request::ReadRegister { register, indices: indices.to_vec() };
        assert_eq!(refused(switch.ask(read(id("pairs"), &[0, 7, 8]))), (2, unknown(id("pairs"), 8)));
        assert_eq!(refused(switch.ask(read(7, &[0]))), (0, unknown(7, 0)));
        assert_eq!(switch.ask(read(id("times"), &[1])), Ok(Reply::Registers(vec![[0, 0]])));
    });
}

// Input:  an ARP frame from the controller.
// Output: it is returned, with the header that has the reason and the CPU port.
#[test]
fn an_arp_frame_comes_back() {
    each(arp_from_the_controller);
}

fn arp_from_the_controller(switch: &mut dyn Subject) {
    let mut arp = vec![0xff; 6];
    arp.extend([2, 0, 0, 0, 0, 8, 0x08, 0x06]);
    arp.resize(60, 1);
    assert_eq!(switch.ask(Request::PacketOut(arp.clone())), Ok(Reply::Done));
    let packet = switch.packet();
    let [high, low] = CPU.to_be_bytes();
    assert_eq!(packet[..12], arp[..12]);
    assert_eq!(packet[12..24], [0x88, 0xb5, 6, 0, high, low, 0, 0, 0, 0, 0x08, 0x06]);
    assert_eq!(packet[24..], arp[14..]);
}
