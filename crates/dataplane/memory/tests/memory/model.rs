//! The model: times that follow from its parameters, order, loss, restarts.

use causeway_memory::{
    Completion, Effect, ExternalMemory, Failure, Model, ModelParameters, Operation, OperationError, Outcome,
    Place, QueuePair, Region, Regions, Rights, SubmitError,
};
use causeway_packet::roce::Rkey;
use causeway_types::{Span, Time};

const RKEY: Rkey = Rkey(1);
const X_PLANE: ModelParameters = ModelParameters::X_PLANE;

fn model(parameters: ModelParameters, seed: u64) -> Model {
    let mut regions = Regions::new();
    regions.insert(RKEY, Region::new(0, 1 << 20, Rights::all()).unwrap());
    Model::new(parameters, regions, seed)
}

fn at(address: u64) -> Place {
    Place { rkey: RKEY, address }
}

/// Lets time pass until the next outcome.
fn next(now: &mut Time, model: &mut Model) -> Option<Completion> {
    loop {
        if let Some(completion) = model.poll(*now) {
            return Some(completion);
        }
        *now = model.next_timer()?;
    }
}

// Input:  a read, a write and a fetch-and-add, each alone.
// Output: the round trip, the time of both packets on the link of 100 Gbit/s, and that of the adapter. A read of 2048 octets: 98 octets
//         of the request with all around, 2048 + 86 of the response, 25 ns.
#[test]
fn times_follow_from_the_parameters() {
    let link = |octets: u64| octets * 8 * 10;
    let cases = [
        (Operation::read(at(0), 2048), link(98) + link(2048 + 86) + 25_000),
        (Operation::write(at(0), vec![0; 2048]), link(2048 + 98) + link(86) + 8333),
        (Operation::fetch_add(at(0), 1), link(110) + link(94) + 25_000),
    ];
    for (operation, picos) in cases {
        let (mut now, mut model) = (Time::default(), model(X_PLANE, 1));
        model.submit(now, QueuePair(0), operation).unwrap();
        assert!(next(&mut now, &mut model).unwrap().result.is_ok());
        assert_eq!(now.as_nanos(), (2_500_000u64 + picos).div_ceil(1000));
        let counters = model.counters();
        assert_eq!((counters.packets, counters.repeated), (1, 0));
    }
}

/// Operations a second on one port, with all its queue pairs in use.
fn rate(operation: &Operation) -> f64 {
    const COUNT: usize = 40_000;
    // Long packets wait for the link: with more of them the wait would be longer than the time-out.
    let queue = if operation.request.length() > 1000 { 16 } else { 64 };
    let parameters = ModelParameters { ports: 1, queue_pairs: 16, queue, ..X_PLANE };
    let (mut now, mut model) = (Time::default(), model(parameters, 1));
    let (mut submitted, mut done) = (0, 0);
    let mut measured = (Time::default(), 0);
    while done < COUNT {
        for number in 0..16 {
            while submitted < COUNT && model.submit(now, QueuePair(number), operation.clone()).is_ok() {
                submitted += 1;
            }
        }
        assert!(next(&mut now, &mut model).unwrap().result.is_ok());
        done += 1;
        // The beginning, without a full pipeline, does not count, nor does the end.
        if done == COUNT / 4 {
            measured.0 = now;
        } else if done == COUNT / 2 {
            measured.1 = now.since(measured.0).as_nanos();
        }
    }
    assert_eq!(model.work().duplicates, 0);
    (COUNT / 4) as f64 / (measured.1 as f64 / 1e9)
}

// Input:  one port, full of short reads, short writes, fetch-and-adds, long reads, long writes.
// Output: 40, 120 and 40 million a second by the adapter, within 1 %; 2048 octets by the link: 5.86 and 5.82 million a second.
#[test]
fn rates_are_those_of_the_adapter_or_the_link() {
    let cases = [
        (Operation::read(at(0), 8), 40e6),
        (Operation::write(at(0), vec![0; 1]), 120e6),
        (Operation::fetch_add(at(0), 1), 40e6),
        (Operation::read(at(0), 2048), 100e9 / 8.0 / (2048.0 + 86.0)),
        (Operation::write(at(0), vec![0; 2048]), 100e9 / 8.0 / (2048.0 + 98.0)),
    ];
    for (operation, expected) in cases {
        let rate = rate(&operation);
        assert!((rate / expected - 1.0).abs() < 0.01, "{operation:?}: {rate} instead of {expected}");
    }
}

// Input:  on one queue pair a write of 4096 octets, then a read of the same; on another a short read; all at once.
// Output: the read returns the write's octets and ends after it; that of the other queue pair, on another port, ends before both.
#[test]
fn a_queue_pair_keeps_the_order() {
    let (mut now, mut model) = (Time::default(), model(X_PLANE, 1));
    model.submit(now, QueuePair(0), Operation::write(at(0), vec![7; 4096])).unwrap();
    model.submit(now, QueuePair(0), Operation::read(at(4095), 1)).unwrap();
    model.submit(now, QueuePair(1), Operation::read(at(8192), 1)).unwrap();
    let ended: Vec<_> = std::iter::from_fn(|| next(&mut now, &mut model)).collect();
    let order: Vec<_> = ended.iter().map(|completion| completion.queue_pair.0).collect();
    assert_eq!(order, [1, 0, 0]);
    assert_eq!(ended[2].result, Ok(Outcome::Read(vec![7])));
}

// Input:  20,000 additions to one word over 64 queue pairs, where one in 50 packets is lost; the same again with equal and another seed.
// Output: the sum is exact, and no value comes twice; equal seeds give equal times.
#[test]
fn additions_are_exact_with_loss() {
    let run = |seed| {
        let parameters = ModelParameters { loss: 0.02, retries: 255, ..X_PLANE };
        let (mut now, mut model) = (Time::default(), model(parameters, seed));
        let mut values = Vec::new();
        for number in 0..20_000u32 {
            while let Err(error) =
                model.submit(now, QueuePair((number % 64) as u16), Operation::fetch_add(at(0), 1))
            {
                assert_eq!(error, SubmitError::QueueFull);
                now = model.next_timer().unwrap();
                while let Some(completion) = model.poll(now) {
                    values.push(completion.result.unwrap());
                }
            }
        }
        values.extend(std::iter::from_fn(|| Some(next(&mut now, &mut model)?.result.unwrap())));
        let mut originals: Vec<_> = values
            .iter()
            .map(|outcome| match outcome {
                Outcome::Added(original) => *original,
                other => panic!("{other:?}"),
            })
            .collect();
        originals.sort_unstable();
        assert_eq!(originals, (0..20_000).collect::<Vec<_>>());
        let word = model.regions().get(RKEY).unwrap().octets().first_chunk().copied().unwrap();
        assert_eq!(u64::from_le_bytes(word), 20_000);
        assert!(model.counters().lost > 500 && model.work().duplicates > 0);
        (now, values)
    };
    let first = run(1);
    assert!(first == run(1) && first != run(2));
}

// Input:  a write that is done; a restart; an addition on the same queue pair, then a read on a connection that is set up anew.
// Output: the addition fails with "restarted" after eight time-outs; the queue pair accepts nothing until it is connected; the memory is
//         zero.
#[test]
fn a_restart_is_reported() {
    let (mut now, mut model) = (Time::default(), model(X_PLANE, 1));
    model.submit(now, QueuePair(3), Operation::write(at(0), vec![7; 8])).unwrap();
    assert_eq!(next(&mut now, &mut model).unwrap().result, Ok(Outcome::Written));
    model.restart(now);
    let sent = now;
    model.submit(now, QueuePair(3), Operation::fetch_add(at(0), 1)).unwrap();
    let failed = OperationError { failure: Failure::Restarted, effect: Effect::Unknown };
    assert_eq!(next(&mut now, &mut model).unwrap().result, Err(failed));
    assert_eq!(now.since(sent), X_PLANE.timeout * 8);
    let refused = model.submit(now, QueuePair(3), Operation::read(at(0), 8));
    assert_eq!(refused, Err(SubmitError::Failed(Failure::Restarted)));
    model.connect(now, QueuePair(3)).unwrap();
    model.submit(now, QueuePair(3), Operation::read(at(0), 8)).unwrap();
    assert_eq!(next(&mut now, &mut model).unwrap().result, Ok(Outcome::Read(vec![0; 8])));
    assert_eq!(model.connect(now, QueuePair(64)), Err(SubmitError::UnknownQueuePair(64)));
}

// Input:  a queue pair that does not exist; more operations than its queue holds; none of the outcomes is polled.
// Output: named errors; free entries again when outcomes are polled.
#[test]
fn queues_are_bounded() {
    let (mut now, mut model) = (Time::default(), model(ModelParameters { queue: 4, ..X_PLANE }, 1));
    let read = || Operation::read(at(0), 8);
    assert_eq!(model.submit(now, QueuePair(64), read()), Err(SubmitError::UnknownQueuePair(64)));
    for _ in 0..4 {
        model.submit(now, QueuePair(0), read()).unwrap();
    }
    now = now + Span::from_millis(1);
    assert_eq!(model.submit(now, QueuePair(0), read()), Err(SubmitError::QueueFull));
    assert!(model.poll(now).is_some());
    model.submit(now, QueuePair(0), read()).unwrap();
}
