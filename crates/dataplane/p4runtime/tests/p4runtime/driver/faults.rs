//! Behaviour of a driver whose switch fails.

use std::time::Duration;

use causeway_p4runtime::client::{ConnectError, Options, P4Runtime};
use causeway_p4runtime::server::{self, ModelSwitch};
use causeway_switch::driver::{
    DriverError, Entry, EntryKey, FieldMatch, Link, Reply, Request, Update, WriteError,
};
use causeway_switch::model::Timing;
use causeway_types::Span;

use crate::driver::world::{Driver, Served};

/// Entries of the accounting table, by rule.
fn rules(driver: &Driver, rules: std::ops::Range<u128>) -> Vec<Update> {
    let program = driver.driver.program();
    let table = program.table_named("pre_qos_a").unwrap();
    let entry = |rule| Entry {
        key: EntryKey { table: table.id, fields: vec![FieldMatch::Exact(rule)], priority: 0 },
        action: table.actions[0],
        parameters: Vec::new(),
    };
    rules.map(|rule| Update::Insert(entry(rule))).collect()
}

fn served() -> Served {
    Served::new(server::Options::default(), true)
}

// Input:  a switch that runs the program already, with entries; the connection breaks and is restored.
// Output: it is up with its state; down; up again with the same. In between requests are unavailable, and nothing is
//         done.
#[test]
fn a_connection_that_breaks_is_made_again() {
    let served = served();
    let mut driver = Driver::connect(served.address, |_| ());
    assert_eq!(driver.link(), Link::Up { emptied: false });
    let batch = rules(&driver, 0..3);
    assert_eq!(driver.ask(Request::Write(batch)), Ok(Reply::Done));
    let (switch, address) = served.stop();
    assert_eq!(driver.link(), Link::Down);
    let batch = rules(&driver, 3..5);
    assert_eq!(driver.ask(Request::Write(batch)), Err(DriverError::Unavailable));
    let _served = Served::serve(switch, address);
    assert_eq!(driver.link(), Link::Up { emptied: false });
    assert_eq!(driver.count("pre_qos_a"), 3);
}

// Input:  a switch with entries restarts empty, without its program.
// Output: the driver reports that it was down and is empty, has loaded the program, and writes its owner's entries
//         again.
#[test]
fn a_switch_that_restarts_empty_is_reconciled() {
    let served = served();
    let mut driver = Driver::connect(served.address, |_| ());
    assert_eq!(driver.link(), Link::Up { emptied: false });
    let wanted = rules(&driver, 0..10);
    assert_eq!(driver.ask(Request::Write(wanted.clone())), Ok(Reply::Done));
    let (_, address) = served.stop();
    assert_eq!(driver.link(), Link::Down);
    let restarted = Served::serve(ModelSwitch::new(server::Options::default()), address);
    assert_eq!(driver.link(), Link::Up { emptied: true });
    assert_eq!((driver.count("pre_qos_a"), restarted.switch.entries()), (0, 0));
    assert_eq!(driver.ask(Request::Write(wanted)), Ok(Reply::Done));
    assert_eq!(driver.count("pre_qos_a"), 10);
}

// Input:  a second controller with a higher election id takes the switch over, and disconnects.
// Output: the first reports this; its writes and packets are refused, it may read; it does not take the switch back by
//         itself.
#[test]
fn another_controller_takes_over() {
    let served = served();
    let mut first = Driver::connect(served.address, |_| ());
    assert_eq!(first.link(), Link::Up { emptied: false });
    let batch = rules(&first, 0..3);
    assert_eq!(first.ask(Request::Write(batch)), Ok(Reply::Done));
    let mut second = Driver::connect(served.address, |options| options.election_id = 1 << 70);
    assert_eq!(second.link(), Link::Up { emptied: false });
    assert_eq!(first.link(), Link::Superseded);
    let batch = rules(&first, 3..4);
    assert_eq!(first.ask(Request::Write(batch)), Err(DriverError::Superseded));
    assert_eq!(first.ask(Request::PacketOut(vec![0; 60])), Err(DriverError::Superseded));
    assert_eq!(first.count("pre_qos_a"), 3);
    let batch = rules(&second, 4..5);
    assert_eq!(second.ask(Request::Write(batch)), Ok(Reply::Done));
    drop(second);
    let batch = rules(&first, 3..4);
    assert_eq!(first.ask(Request::Write(batch)), Err(DriverError::Superseded));
    assert_eq!(first.count("pre_qos_a"), 4);
}

// Input:  a controller with the election id of another one, which then disconnects.
// Output: it is refused as long as the other is connected, and up afterwards.
#[test]
fn an_election_id_is_one_controllers() {
    let served = served();
    let mut first = Driver::connect(served.address, |_| ());
    assert_eq!(first.link(), Link::Up { emptied: false });
    let mut second = Driver::connect(served.address, |_| ());
    let batch = rules(&second, 0..1);
    assert_eq!(second.ask(Request::Write(batch)), Err(DriverError::Unavailable));
    drop(first);
    assert_eq!(second.link(), Link::Up { emptied: false });
}

// Input:  a switch that takes longer for a batch than the deadline.
// Output: the outcome is uncertain; its state can be read, and is the whole batch in the end.
#[test]
fn a_late_answer_is_uncertain() {
    let timing = Timing { write_call: Span::from_millis(400), ..Timing::INSTANT };
    let served = Served::new(server::Options { timing, ..server::Options::default() }, true);
    let mut driver = Driver::connect(served.address, |options| options.deadline = Duration::from_millis(200));
    while driver.link() != (Link::Up { emptied: false }) {}
    let batch = rules(&driver, 0..5);
    assert_eq!(driver.ask(Request::Write(batch)), Err(DriverError::Uncertain));
    let table = driver.driver.program().table_named("pre_qos_a").unwrap().id;
    // The read waits for the table, and may be late too.
    let read = loop {
        match driver.ask(Request::ReadEntries { table }) {
            Err(DriverError::Unavailable) => {}
            read => break read,
        }
    };
    assert!(matches!(read, Ok(Reply::Entries(entries)) if entries.len() == 5));
}

// Input:  a server whose batches are not atomic refuses one update of a batch that inserts and deletes.
// Output: its state is uncertain until it is read: the insertion is present, the deleted entry is not.
#[test]
fn a_batch_that_cannot_be_taken_back_is_uncertain() {
    let options = server::Options { has_atomic_batches: false, ..server::Options::default() };
    let served = Served::new(options, true);
    let mut driver = Driver::connect(served.address, |_| ());
    assert_eq!(driver.link(), Link::Up { emptied: false });
    let entries = rules(&driver, 0..3);
    assert_eq!(driver.ask(Request::Write(entries[..2].to_vec())), Ok(Reply::Done));
    let Update::Insert(first) = &entries[0] else { unreachable!("all are insertions") };
    let batch = vec![entries[2].clone(), Update::Delete(first.key.clone()), entries[1].clone()];
    assert_eq!(driver.ask(Request::Write(batch)), Err(DriverError::Uncertain));
    assert_eq!(driver.count("pre_qos_a"), 2);
}

// Input:  a server without the configured device, and an address without a server; then the owner drops the driver.
// Output: requests are unavailable; the driver ends immediately, whatever it waits for.
#[test]
fn a_switch_that_is_not_there_is_unavailable() {
    let served = served();
    let other_device = Driver::connect(served.address, |options| options.device_id = 7);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let no_server = Driver::connect(silent.local_addr().unwrap(), |_| ());
    for mut driver in [other_device, no_server] {
        let batch = rules(&driver, 0..1);
        assert_eq!(driver.ask(Request::Write(batch)), Err(DriverError::Unavailable));
    }
}

// Input:  a P4Info file that does not exist, an invalid one, an invalid address.
// Output: errors that name the file or the address.
#[test]
fn what_cannot_be_used_is_named() {
    let said = |options: Options| match P4Runtime::connect(options, None) {
        Err(error @ (ConnectError::Info(_) | ConnectError::Address { .. })) => error.to_string(),
        _ => panic!("it is used"),
    };
    let missing = said(Options::new("127.0.0.1:9559", "no-such-file.txtpb"));
    assert!(missing.starts_with("no-such-file.txtpb: "), "{missing}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p4info.txtpb");
    std::fs::write(&file, "tables { sice: 3 }").unwrap();
    let wrong = said(Options::new("127.0.0.1:9559", &file));
    assert!(wrong.contains("p4info.txtpb: P4Info.tables has no field sice"), "{wrong}");
    std::fs::write(&file, "").unwrap();
    let address = said(Options::new("not an address", &file));
    assert!(address.contains("\"not an address\" is not a host and port"), "{address}");
}

// Input:  requests without a table of the program, while the switch is unreachable.
// Output: they are refused with that reason.
#[test]
fn what_no_switch_can_do_is_refused_at_once() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut driver = Driver::connect(silent.local_addr().unwrap(), |_| ());
    match driver.ask(Request::ReadEntries { table: 1 }) {
        Err(DriverError::Rejected(rejected)) => assert_eq!(rejected.error, WriteError::UnknownTable(1)),
        other => panic!("{other:?}"),
    }
}
