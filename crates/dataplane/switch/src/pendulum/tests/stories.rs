//! Scenarios of table access.

use causeway_types::{Span, Time};

use crate::pendulum::{
    Batch, Command, Config, Full, Invalid, Mode, Partition, Reading, RoundRobin, Sample, Side, TableAccess,
    WriterTurn, everything,
};
use crate::{Count, SwitchPdr};

const ROOMY: Config = Config { mode: Mode::Pendulum { batch: 100 }, capacity: [50, 50], drain: Span::ZERO };

fn at(micros: u64) -> Time {
    Time::from_secs(1) + Span::from_micros(micros)
}

fn numbers(numbers: &[u32]) -> Vec<SwitchPdr> {
    numbers.iter().copied().map(SwitchPdr).collect()
}

fn change(add: &[u32], expire: &[u32]) -> Command<()> {
    Command { add: numbers(add), expire: numbers(expire), writes: () }
}

fn batch(access: &mut TableAccess<()>, now: u64) -> Batch<()> {
    match access.poll_write(at(now)) {
        Some(WriterTurn::Write(batch)) => batch,
        other => panic!("no batch but {other:?}"),
    }
}

/// Submits and writes immediately.
fn write(access: &mut TableAccess<()>, now: u64, add: &[u32], expire: &[u32]) {
    access.submit(at(now), change(add, expire)).unwrap();
    batch(access, now);
    access.written(at(now), true);
}

/// Starts a pass over everything.
fn start(access: &mut TableAccess<()>, now: u64, side: Side) -> Vec<u32> {
    let pass = access.poll_pass(at(now), side, everything);
    pass.map(|pass| pass.numbers.iter().map(|number| number.0).collect()).unwrap_or_default()
}

/// Ends a pass that read these counters, with what leaves removed. Returns the readings and the numbers that are free.
fn finish(
    access: &mut TableAccess<()>,
    now: u64,
    side: Side,
    read: &[(u32, u64)],
) -> (Vec<Reading>, Vec<SwitchPdr>) {
    let sample = |(number, octets): &(u32, u64)| Sample {
        number: SwitchPdr(*number),
        count: Count { octets: *octets, packets: 1 },
    };
    let samples: Vec<Sample> = read.iter().map(sample).collect();
    let (readings, leaving) = access.read(side, &samples);
    (readings, access.removed(at(now), side, &leaving))
}

// Input:  the example of the paper's figure 8: number 10 is being read when a handover replaces it by 20.
// Output: 20 is written into the other partition immediately, without a wait. The pass in flight does not retire 10;
//         the next one over its partition does, with the count since then; it is free once egress has done the same.
#[test]
fn the_example_of_figure_8() {
    let mut access = TableAccess::new(ROOMY);
    write(&mut access, 0, &[10], &[]);
    assert_eq!(start(&mut access, 10, Side::Ingress), [10]);
    assert_eq!(start(&mut access, 10, Side::Egress), [10]);

    access.submit(at(20), change(&[20], &[10])).unwrap();
    let written = batch(&mut access, 20);
    assert_eq!(written.insertions.iter().map(|one| one.partition).collect::<Vec<_>>(), [Partition(0); 2]);
    access.written(at(21), true);

    let (readings, free) = finish(&mut access, 30, Side::Ingress, &[(10, 700)]);
    assert_eq!((readings[0].usage.octets, readings[0].is_last, free), (700, false, vec![]));
    assert_eq!(start(&mut access, 40, Side::Ingress), [20]);
    finish(&mut access, 50, Side::Ingress, &[(20, 5)]);
    assert_eq!(start(&mut access, 60, Side::Ingress), [10]);
    let (readings, free) = finish(&mut access, 70, Side::Ingress, &[(10, 900)]);
    assert_eq!((readings[0].usage.octets, readings[0].is_last, free), (200, true, vec![]));

    finish(&mut access, 80, Side::Egress, &[(10, 600)]);
    start(&mut access, 90, Side::Egress);
    finish(&mut access, 100, Side::Egress, &[(20, 1)]);
    assert!(access.is_known(SwitchPdr(10)));
    start(&mut access, 110, Side::Egress);
    assert_eq!(finish(&mut access, 120, Side::Egress, &[(10, 890)]).1, numbers(&[10]));
    assert!(!access.is_known(SwitchPdr(10)));
}

// Input:  a number has expired, and passes over its partition read others, or end without it.
// Output: it is not retired; it comes first in each pass until it has been read.
#[test]
fn only_a_pass_that_read_the_number_retires_it() {
    let mut access = TableAccess::new(Config { mode: Mode::Pendulum { batch: 2 }, ..ROOMY });
    write(&mut access, 0, &[1, 2, 3], &[]);
    write(&mut access, 1, &[], &[3]);
    for now in [10, 20] {
        assert_eq!(start(&mut access, now, Side::Ingress), [3, 1]);
        let (readings, _) = finish(&mut access, now + 5, Side::Ingress, &[(1, 10)]);
        assert!(readings.iter().all(|reading| !reading.is_last));
    }
    assert_eq!(start(&mut access, 30, Side::Ingress), [3, 1]);
    let (readings, _) = finish(&mut access, 35, Side::Ingress, &[(3, 40), (1, 10)]);
    assert_eq!(readings.iter().filter(|reading| reading.is_last).count(), 1);
    assert_eq!(start(&mut access, 40, Side::Ingress), [1, 2]);
}

// Input:  a pass starts in the same tick in which a number expired, before it did.
// Output: it does not retire the number.
#[test]
fn events_of_one_tick_have_an_order() {
    let mut access = TableAccess::new(ROOMY);
    write(&mut access, 0, &[1], &[]);
    start(&mut access, 10, Side::Ingress);
    write(&mut access, 10, &[], &[1]);
    assert!(!finish(&mut access, 10, Side::Ingress, &[(1, 10)]).0[0].is_last);
    start(&mut access, 10, Side::Ingress);
    assert!(finish(&mut access, 10, Side::Ingress, &[(1, 20)]).0[0].is_last);
}

// Input:  packets may be in the switch's queues for 100 us; a number expires.
// Output: a pass within these 100 us does not retire it; one after them does.
#[test]
fn packets_in_queues_are_waited_for() {
    let mut access = TableAccess::new(Config { drain: Span::from_micros(100), ..ROOMY });
    write(&mut access, 0, &[1], &[]);
    write(&mut access, 10, &[], &[1]);
    for (now, is_last) in [(50, false), (109, false), (110, true)] {
        assert_eq!(start(&mut access, now, Side::Egress), [1]);
        assert_eq!(finish(&mut access, now, Side::Egress, &[(1, now)]).0[0].is_last, is_last, "{now}");
    }
}

/// Partitions of two entries: the one for writes is full on both sides, the other one is being read.
fn crowded() -> TableAccess<()> {
    let mut access = TableAccess::new(Config { capacity: [2, 2], ..ROOMY });
    write(&mut access, 0, &[1], &[]);
    Side::ALL.into_iter().for_each(|side| _ = start(&mut access, 1, side));
    write(&mut access, 2, &[2, 3], &[]);
    access
}

// Input:  the partition for writes is full while the other one is read; a rule is added, and a deletion after it.
// Output: the rule waits until both passes have ended, and is written where there is space; the deletion does not wait.
#[test]
fn a_full_partition_is_waited_for() {
    let mut access = crowded();
    access.submit(at(10), change(&[4], &[])).unwrap();
    assert_eq!(access.poll_write(at(10)), None);
    access.submit(at(11), change(&[], &[2])).unwrap();
    assert!(batch(&mut access, 11).insertions.is_empty());
    access.written(at(12), true);

    finish(&mut access, 20, Side::Ingress, &[(1, 0)]);
    assert_eq!(access.poll_write(at(20)), None, "egress has no room yet");
    assert_eq!(start(&mut access, 21, Side::Ingress), [2, 3]);
    finish(&mut access, 22, Side::Ingress, &[]);
    assert!(start(&mut access, 23, Side::Ingress).is_empty(), "with other roles it would have no room again");
    finish(&mut access, 30, Side::Egress, &[(1, 0)]);
    assert_eq!(batch(&mut access, 31).insertions.len(), 2);
    access.written(at(32), true);
    assert_eq!((access.statistics().waits, access.statistics().longest_wait), (1, Span::from_micros(21)));
}

// Input:  both partitions of a side are full; a rule is added.
// Output: it is refused with the table and the free entries, and its number can be used in another command.
#[test]
fn two_full_partitions_refuse() {
    let mut access = crowded();
    Side::ALL.into_iter().for_each(|side| _ = finish(&mut access, 5, side, &[]));
    write(&mut access, 6, &[4], &[]);
    access.submit(at(7), change(&[5], &[1])).unwrap();
    let full = Full { side: Side::Ingress, needed: 1, free: [0, 0] };
    assert!(matches!(access.poll_write(at(7)), Some(WriterTurn::Refuse { full: why, .. }) if why == full));
    assert!(access.submit(at(8), change(&[], &[1])).is_ok(), "its old number goes on, and can be deleted");
    assert!(access.submit(at(8), change(&[5], &[])).is_ok());
    let shown = full.to_string();
    assert_eq!(
        shown,
        "the Ingress accounting table is full: 1 entries are needed, its partitions have room for [0, 0]"
    );
}

// Input:  numbers that are in use, duplicate, being removed, or do not exist.
// Output: the command is refused and nothing changes.
#[test]
fn commands_that_make_no_sense_are_refused() {
    let mut access = TableAccess::new(ROOMY);
    write(&mut access, 0, &[1, 2], &[]);
    access.submit(at(1), change(&[3], &[2])).unwrap();
    for (add, expire, error) in [
        (&[1][..], &[][..], Invalid::InUse(SwitchPdr(1))),
        (&[3], &[], Invalid::InUse(SwitchPdr(3))),
        (&[4, 4], &[], Invalid::InUse(SwitchPdr(4))),
        (&[], &[2], Invalid::NotInUse(SwitchPdr(2))),
        (&[], &[9], Invalid::NotInUse(SwitchPdr(9))),
        (&[4], &[1, 1], Invalid::NotInUse(SwitchPdr(1))),
    ] {
        assert_eq!(access.submit(at(2), change(add, expire)), Err(error));
    }
    assert!(access.submit(at(3), change(&[4], &[1])).is_ok());
}

// Input:  the switch refuses a batch.
// Output: the new number is unknown and the old one continues; the same change can be submitted again.
#[test]
fn a_batch_that_failed_changed_nothing() {
    let mut access = TableAccess::new(ROOMY);
    write(&mut access, 0, &[1], &[]);
    access.submit(at(1), change(&[2], &[1])).unwrap();
    batch(&mut access, 1);
    access.written(at(2), false);
    assert!(!access.is_known(SwitchPdr(2)));
    assert_eq!(start(&mut access, 3, Side::Ingress), [1]);
    assert!(!finish(&mut access, 4, Side::Ingress, &[(1, 1)]).0[0].is_last);
    write(&mut access, 5, &[2], &[1]);
    assert!(access.is_known(SwitchPdr(2)));
}

// Input:  a counter holds less than at its last reading.
// Output: it was cleared in between: its value counts, and the loss is recorded.
#[test]
fn a_counter_that_was_cleared_is_noticed() {
    let mut access = TableAccess::new(ROOMY);
    write(&mut access, 0, &[1], &[]);
    for (octets, usage, lost) in [(100, 100, 0), (30, 30, 1), (45, 15, 1)] {
        start(&mut access, octets, Side::Ingress);
        let (readings, _) = finish(&mut access, octets, Side::Ingress, &[(1, octets)]);
        assert_eq!((readings[0].usage.octets, access.statistics().lost), (usage, lost));
    }
}

// Input:  baseline with beta 0.25: a pass over ingress of 30 us and one over egress of 20 us; a handover is submitted
//         in the first.
// Output: it waits for the first pass, and precedes the second; then the reader sleeps for 150 us.
#[test]
fn baseline_reads_a_fraction_of_the_time() {
    let mut access = TableAccess::new(Config { mode: Mode::Baseline { beta: 0.25 }, ..ROOMY });
    write(&mut access, 0, &[1, 2], &[]);
    assert_eq!(start(&mut access, 10, Side::Ingress), [1, 2]);
    access.submit(at(15), change(&[3], &[1])).unwrap();
    assert_eq!((access.poll_write(at(15)), start(&mut access, 15, Side::Egress)), (None, vec![]));
    finish(&mut access, 40, Side::Ingress, &[(1, 0), (2, 0)]);
    assert!(start(&mut access, 40, Side::Egress).is_empty());
    batch(&mut access, 41);
    assert!(start(&mut access, 42, Side::Egress).is_empty());
    access.written(at(50), true);
    assert_eq!(start(&mut access, 50, Side::Egress), [1, 2, 3]);
    finish(&mut access, 70, Side::Egress, &[]);
    assert_eq!(access.next_deadline(at(70)), Some(at(220)));
    assert_eq!(
        (start(&mut access, 219, Side::Ingress), start(&mut access, 220, Side::Egress)),
        (vec![], vec![])
    );
    assert_eq!(start(&mut access, 220, Side::Ingress), [1, 2, 3]);
}

// Input:  a single thread with reads of two entries, five entries, and a handover between two reads.
// Output: reads go round, alternating between both tables; the handover precedes the next read.
#[test]
fn a_single_thread_writes_first() {
    let mut access = TableAccess::new(Config { mode: Mode::SingleThread { chunk: 2 }, ..ROOMY });
    write(&mut access, 0, &[1, 2, 3, 4, 5], &[]);
    let mut robins = [RoundRobin::default(); 2];
    let mut read = |access: &mut TableAccess<()>, now: u64, side: Side| -> Vec<u32> {
        let robin = &mut robins[side as usize];
        let pass = access
            .poll_pass(at(now), side, |partition, members, budget| robin.pick(partition, members, budget));
        pass.map(|pass| pass.numbers.iter().map(|number| number.0).collect()).unwrap_or_default()
    };
    let mut seen = Vec::new();
    for now in 0..8 {
        let side = if now % 2 == 0 { Side::Ingress } else { Side::Egress };
        seen.push(read(&mut access, now, side));
        finish(&mut access, now, side, &[]);
    }
    assert_eq!(seen.iter().step_by(2).flatten().copied().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 1, 2]);
    access.submit(at(9), change(&[6], &[1])).unwrap();
    assert!(read(&mut access, 9, Side::Ingress).is_empty());
    batch(&mut access, 9);
    access.written(at(10), true);
    assert_eq!(read(&mut access, 10, Side::Ingress), [1, 3], "what expired comes first");
}
