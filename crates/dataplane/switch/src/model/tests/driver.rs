//! The model's driver in model time, and the driver that fails.

use super::*;
use crate::Count;
use crate::driver::{
    DriverError, FaultInjector, FaultRates, Outcome, Reply, Request, SwitchDriver, Ticket, Update, WriteError,
};
use crate::model::{Config, Model, Timing};

const TIMING: Timing = Timing {
    read_call: Span::from_micros(100),
    read_entry: Span::from_micros(10),
    write_call: Span::from_micros(20),
    write_entry: Span::from_micros(5),
    modify_entry: Span::from_micros(2),
};

fn model() -> Model<Switch> {
    let config = Config { timing: TIMING, cpu_port: CPU_PORT, port_rate: None, queue_room: 10_000 };
    Model::new(program(), Switch, config)
}

/// Sessions 1 to 3 with the rules 11 to 13, counted before QoS enforcement.
fn with_sessions() -> Model<Switch> {
    let mut model = model();
    let entries = (1..=3).flat_map(|number| {
        [session(number, 10 + u32::from(number)), counting(PRE[0], 10 + u32::from(number))]
    });
    model.submit(at(0), Request::Write(entries.map(Update::Insert).collect()));
    assert_eq!(outcomes(&mut model, at(50)), [(Ticket(0), Ok(Reply::Done))]);
    model
}

fn outcomes(driver: &mut impl SwitchDriver, now: Time) -> Vec<(Ticket, Outcome)> {
    std::iter::from_fn(|| driver.poll(now)).collect()
}

fn counts(octets: &[u64]) -> Outcome {
    let count = |octets: &u64| Some(Count { octets: *octets, packets: octets / 100 });
    Ok(Reply::Counts(octets.iter().map(count).collect()))
}

// Input:  a batch of six entries, at 20 us and 5 us for each.
// Output: a packet just before 50 us sees none of it, one just after it all; the outcome comes with it.
#[test]
fn a_batch_takes_effect_at_once() {
    let mut model = model();
    let updates = (1..=3).flat_map(|number| [session(number, 7), session(number + 10, 8)]);
    let ticket = model.submit(at(0), Request::Write(updates.map(Update::Insert).collect()));
    assert_eq!((model.next_event(), model.poll(at(49))), (Some(at(50)), None));
    model.receive(at(49), 5, &[3]);
    assert_eq!(model.poll_packet(at(49)), Some(vec![3]), "it is not known");
    model.receive(at(50), 5, &[3, 1]);
    assert_eq!(model.poll_sent(), Some((at(50), 1, vec![3, 1])));
    assert_eq!(model.poll(at(50)), Some((ticket, Ok(Reply::Done))));
}

// Input:  the counters of three rules are read, at 110, 120 and 130 us after the start, and a packet comes at 115 us for each.
// Output: the first reading is older than its packet, the others are not.
#[test]
fn counters_are_read_one_after_the_other() {
    let mut model = with_sessions();
    let ticket =
        model.submit(at(100), Request::ReadDirect((11..=13).map(|rule| exact(PRE[0], rule)).collect()));
    (1..=3).for_each(|number| model.receive(at(215), 5, &[number; 100]));
    assert_eq!(outcomes(&mut model, at(229)), []);
    assert_eq!(outcomes(&mut model, at(230)), [(ticket, counts(&[0, 100, 100]))]);
}

// Input:  while a table is read, one entry of it and one of another table are written, and a third table in one batch with the first.
// Output: the other table's entry is written at once; what concerns the table waits until it has been read, in the order of submission.
#[test]
fn a_table_is_read_or_written() {
    let mut model = with_sessions();
    let read = model.submit(at(100), Request::ReadDirect(vec![exact(PRE[0], 11)]));
    let insert = |entries: Vec<Entry>| Request::Write(entries.into_iter().map(Update::Insert).collect());
    let same = model.submit(at(110), insert(vec![counting(PRE[0], 20)]));
    let both = model.submit(at(111), insert(vec![counting(PRE[0], 21), counting(PRE[1], 21)]));
    let other = model.submit(at(112), insert(vec![counting(POST[0], 20)]));
    let mut ended = Vec::new();
    for now in 100..400 {
        ended.extend(outcomes(&mut model, at(now)).into_iter().map(|(ticket, _)| (now, ticket)));
    }
    assert_eq!(ended, [(137, other), (210, read), (235, same), (265, both)]);
}

// Input:  a counter by index that is there and one that is not, entries of tables, a deleted rule's counter.
// Output: counts and entries; what is not there is refused by name, or is none.
#[test]
fn everything_can_be_read() {
    let mut model = with_sessions();
    (0..3).for_each(|_| model.receive(at(60), 5, &[2; 100]));
    let requests = [
        Request::ReadIndexed { counter: BY_PORT, indices: vec![5, 6] },
        Request::ReadIndexed { counter: BY_PORT, indices: vec![5, 128] },
        Request::ReadDirect(vec![exact(PRE[0], 12), exact(PRE[0], 99)]),
        Request::ReadEntries { table: PRE[0] },
        Request::ReadEntries { table: 5 },
    ];
    let mut told = Vec::new();
    for (place, request) in requests.into_iter().enumerate() {
        model.submit(at(1000 * place as u64 + 1000), request);
        told.extend(
            outcomes(&mut model, at(1000 * place as u64 + 1999)).into_iter().map(|(_, outcome)| outcome),
        );
    }
    let refused = |outcome: &Outcome| match outcome {
        Err(DriverError::Rejected(rejected)) => Some((rejected.update, rejected.error.clone())),
        _ => None,
    };
    assert_eq!(told[0], counts(&[300, 0]));
    assert_eq!(refused(&told[1]), Some((1, WriteError::UnknownCounter { counter: BY_PORT, index: 128 })));
    assert_eq!(told[2], Ok(Reply::Counts(vec![Some(Count { octets: 300, packets: 3 }), None])));
    assert!(matches!(&told[3], Ok(Reply::Entries(entries)) if entries.len() == 3));
    assert_eq!(refused(&told[4]), Some((0, WriteError::UnknownTable(5))));
}

// Input:  a port of 1 MB/s with room for 250 octets; four packets of 100 octets at once.
// Output: they leave 100 us apart, the one without room is counted; egress is counted when a packet leaves.
#[test]
fn packets_wait_in_queues() {
    let config =
        Config { timing: Timing::INSTANT, cpu_port: CPU_PORT, port_rate: Some(1_000_000), queue_room: 250 };
    let mut model = Model::new(program(), Switch, config);
    let entries = [session(1, 7), counting(PRE[0], 7), counting(POST[1], 7)];
    model.submit(at(0), Request::Write(entries.map(Update::Insert).to_vec()));
    (0..4).for_each(|_| model.receive(at(10), 5, &[1; 100]));
    assert_eq!(model.overflowed(), 1);
    model.advance(at(109));
    let count = |model: &Model<Switch>, table| model.state().direct_count(&exact(table, 7)).unwrap().packets;
    assert_eq!((count(&model, PRE[0]), count(&model, POST[1])), (4, 1));
    model.advance(at(210));
    let remaining: Vec<Time> = std::iter::from_fn(|| model.poll_sent()).map(|(at, ..)| at).collect();
    assert_eq!((remaining, count(&model, POST[1])), (vec![at(10), at(110), at(210)], 3));
}

// Input:  the controller sends a frame, and the switch is restarted while a batch is under way.
// Output: the frame leaves by its port; what becomes of the batch is uncertain, and the switch is empty.
#[test]
fn a_restart_empties_the_switch() {
    let mut model = with_sessions();
    model.submit(at(60), Request::PacketOut(vec![1, 2]));
    assert_eq!(model.poll_sent(), Some((at(60), 2, vec![1, 2])));
    assert_eq!(outcomes(&mut model, at(60)).len(), 1);
    let ticket = model.submit(at(70), Request::Write(vec![Update::Insert(session(9, 9))]));
    model.restart(at(80));
    assert_eq!(outcomes(&mut model, at(200)), [(ticket, Err(DriverError::Uncertain))]);
    model.receive(at(200), 5, &[1]);
    assert_eq!((model.poll_packet(at(200)), model.state().entries(PDR).unwrap().count()), (Some(vec![1]), 0));
}

// Input:  each fault with certainty, for a batch of two entries.
// Output: what is said to be undone is; what is uncertain may be done in full or in half; a late answer comes late.
#[test]
fn faults_do_what_they_say() {
    let batch = || Request::Write([session(1, 7), session(2, 8)].map(Update::Insert).to_vec());
    let sure = 1000;
    for (chances, expected, entries) in [
        (FaultRates::default(), Ok(Reply::Done), 2),
        (FaultRates { unavailable: sure, ..FaultRates::default() }, Err(DriverError::Unavailable), 0),
        (FaultRates { unanswered: sure, ..FaultRates::default() }, Err(DriverError::Uncertain), 2),
        (FaultRates { half: sure, ..FaultRates::default() }, Err(DriverError::Uncertain), 1),
        (FaultRates { late: sure, ..FaultRates::default() }, Ok(Reply::Done), 2),
    ] {
        let mut driver = FaultInjector::new(model(), chances, Span::from_millis(500), 1);
        let ticket = driver.submit(at(0), batch());
        let ended = (0..1000).find_map(|millis| {
            let outcome = driver.poll(at(millis * 1000))?;
            Some((millis, outcome))
        });
        let (millis, outcome) = ended.unwrap();
        assert_eq!(outcome, (ticket, expected));
        assert_eq!(millis > 1, chances.late > 0, "{millis} ms");
        assert_eq!(driver.inner().state().entries(PDR).unwrap().count(), entries);
        driver.set_chances(FaultRates::default());
        driver.submit(at(2_000_000), Request::PacketOut(vec![1]));
        assert_eq!(driver.next_event(), Some(at(2_000_000)));
        assert_eq!(driver.inner().poll_sent().map(|(_, port, _)| port), Some(2));
        assert_eq!(outcomes(&mut driver, at(2_000_000)).len(), 1);
    }
}
