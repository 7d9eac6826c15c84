//! Fault injection between two memory ports.

use causeway_packet::{BATCH, Batch, Frame, Meta};
use causeway_ports::memory::{MemoryPort, pair};
use causeway_ports::{FaultCounts, FaultInjector, Faults, Port};

const NONE: Faults =
    Faults { drop: 0., duplicate: 0., reorder: 0., corrupt: 0., truncate: 0., delay: 0., max_delay: 0 };

fn line(inward: Faults, outward: Faults, seed: u64) -> (FaultInjector<MemoryPort>, MemoryPort) {
    let (a, b) = pair("n6", "network").unwrap();
    (FaultInjector::new(a, inward, outward, seed), b)
}

/// Sends numbered frames in batches of ten, waits for the delayed ones, and returns what arrived.
fn sent_through(faults: Faults, seed: u64, frames: u8) -> (Vec<Vec<u8>>, FaultCounts) {
    let (mut port, mut network) = line(NONE, faults, seed);
    let numbers: Vec<_> = (0..frames).map(|n| [n; 4]).collect();
    for batch in numbers.chunks(10) {
        let frames: Vec<_> = batch.iter().map(|data| Frame { meta: Meta::Ip, data }).collect();
        assert_eq!(port.send(&frames).unwrap(), frames.len());
    }
    while port.has_pending() {
        port.receive(&mut Batch::new()).unwrap();
    }
    let mut seen = Vec::new();
    while let Some((_, data)) = network.pop() {
        seen.push(data);
    }
    (seen, port.counts().1)
}

fn numbered(frames: u8) -> Vec<Vec<u8>> {
    (0..frames).map(|n| vec![n; 4]).collect()
}

// Input:  no fault.
// Output: the port is transparent in both directions.
#[test]
fn without_faults_nothing_changes() {
    assert_eq!(sent_through(NONE, 1, 40), (numbered(40), FaultCounts::default()));
    let (mut port, mut network) = line(NONE, NONE, 1);
    network.push(Meta::Ip, b"in");
    let mut batch = Batch::new();
    assert_eq!(port.receive(&mut batch).unwrap(), 1);
    assert_eq!(batch.frame(0).map(|frame| frame.data), Some(b"in".as_slice()));
    assert!(!port.has_pending());
}

// Input:  each fault alone, certain to happen.
// Output: it happens to each frame, and is counted.
#[test]
fn each_fault_does_what_it_says() {
    let (seen, counts) = sent_through(Faults { drop: 1., ..NONE }, 1, 20);
    assert_eq!((seen.len(), counts.dropped), (0, 20));
    let (seen, counts) = sent_through(Faults { duplicate: 1., ..NONE }, 1, 20);
    assert_eq!((seen.len(), counts.duplicated), (40, 20));
    assert!(seen.chunks(2).all(|pair| pair[0] == pair[1]));
    let (seen, counts) = sent_through(Faults { corrupt: 1., ..NONE }, 1, 20);
    let flipped = |(got, sent): (&Vec<u8>, &Vec<u8>)| -> u32 {
        got.iter().zip(sent).map(|(a, b)| (a ^ b).count_ones()).sum()
    };
    assert!(seen.iter().zip(&numbered(20)).all(|pair| flipped(pair) == 1));
    assert_eq!(counts.corrupted, 20);
    let (seen, counts) = sent_through(Faults { truncate: 1., ..NONE }, 1, 20);
    assert!(seen.len() == 20 && seen.iter().all(|data| data.len() < 4));
    assert_eq!(counts.truncated, 20);
}

// Input:  frames reordered, or held back, with a probability of one half.
// Output: all arrive, once, in another order.
#[test]
fn reordered_and_delayed_frames_all_arrive() {
    for faults in [Faults { reorder: 0.5, ..NONE }, Faults { delay: 0.5, max_delay: 3, ..NONE }] {
        let (mut seen, counts) = sent_through(faults, 7, 100);
        assert!(counts.reordered + counts.delayed > 20);
        assert_ne!(seen, numbered(100));
        seen.sort();
        assert_eq!(seen, numbered(100));
    }
}

// Input:  all faults together, twice with one seed and once with another.
// Output: the same twice, and different the third time.
#[test]
fn a_seed_repeats_its_faults() {
    let all = Faults {
        drop: 0.2,
        duplicate: 0.2,
        reorder: 0.2,
        corrupt: 0.2,
        truncate: 0.2,
        delay: 0.2,
        max_delay: 4,
    };
    assert_eq!(sent_through(all, 5, 200), sent_through(all, 5, 200));
    assert_ne!(sent_through(all, 5, 200).0, sent_through(all, 6, 200).0);
}

// Input:  a received batch with each frame duplicated: more than a batch holds.
// Output: the rest arrives with the next call; nothing is lost.
#[test]
fn an_overfull_batch_continues_in_the_next() {
    let (mut port, mut network) = line(Faults { duplicate: 1., ..NONE }, NONE, 1);
    (0..60).for_each(|n| assert!(network.push(Meta::Ip, &[n])));
    let mut batch = Batch::new();
    assert_eq!(port.receive(&mut batch).unwrap(), BATCH);
    assert!(port.has_pending());
    assert_eq!(port.receive(&mut batch).unwrap(), 120 - BATCH);
    assert!(!port.has_pending());
}
