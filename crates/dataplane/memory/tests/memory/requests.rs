//! Reads, writes and fetch-and-adds between one requester and one responder.

use causeway_memory::{Effect, Failure, Operation, OperationError, Outcome, Place, SubmitError};
use causeway_packet::roce::{Packet, Syndrome, Transport};
use causeway_types::Span;

use crate::pair::{BASE, Pair, RKEY, syndrome, what};

fn place(offset: u64) -> Place {
    Place { rkey: RKEY, address: BASE + offset }
}

fn error(failure: Failure, effect: Effect) -> Result<Outcome, OperationError> {
    Err(OperationError { failure, effect })
}

// Input:  a write of 600 octets in packets of 256, a read of the same, a fetch-and-add before the end of the sequence numbers.
// Output: First, Middle, Last; one request and First, Middle, Last; one and one. The sequence numbers wrap from 0xffffff to 0, and the
//         read takes three of them.
#[test]
fn messages_have_as_many_packets_as_they_need() {
    let mut pair = Pair::new();
    let data: Vec<u8> = (0..600).map(|at| at as u8).collect();
    pair.requester.submit(Operation::write(place(0), data.clone())).unwrap();
    pair.requester.submit(Operation::read(place(0), 600)).unwrap();
    pair.requester.submit(Operation::fetch_add(place(1024), 7)).unwrap();
    let requests = pair.requests();
    let sent: Vec<_> = requests.iter().map(|octets| what(octets)).collect();
    assert_eq!(sent, [(0x06, 0xff_fffe), (0x07, 0xff_ffff), (0x08, 0), (0x0c, 1), (0x14, 4)]);
    let mut received = Vec::new();
    for request in &requests {
        for response in pair.request(request) {
            received.push(what(&response));
            pair.respond(&response);
        }
    }
    assert_eq!(received, [(0x11, 0), (0x0d, 1), (0x0e, 2), (0x0f, 3), (0x12, 4)]);
    assert_eq!(
        pair.results(),
        [Ok(Outcome::Written), Ok(Outcome::Read(data.clone())), Ok(Outcome::Added(0))]
    );
    assert_eq!(pair.memory()[..600], data);
    assert_eq!(pair.memory()[1024..1032], [7, 0, 0, 0, 0, 0, 0, 0]);
}

// Input:  five writes, the second of which is lost.
// Output: one NAK with the sequence number of the second, which acknowledges the first; the requester sends from there again at once.
#[test]
fn a_gap_is_reported_once_and_filled() {
    let mut pair = Pair::new();
    for octet in 0..5 {
        pair.requester.submit(Operation::write(place(octet), vec![octet as u8 + 1])).unwrap();
    }
    let mut requests = pair.requests();
    requests.remove(1);
    let responses: Vec<_> = requests.iter().flat_map(|request| pair.request(request)).collect();
    let seen: Vec<_> = responses.iter().map(|octets| (what(octets).1, syndrome(octets).value())).collect();
    assert_eq!(seen, [(0xff_fffe, 0x1f), (0xff_ffff, 0x60)]);
    pair.respond(&responses[1]);
    assert_eq!(pair.results(), [Ok(Outcome::Written)]);
    pair.carry();
    assert_eq!(pair.results().len(), 4);
    assert_eq!(pair.memory()[..5], [1, 2, 3, 4, 5]);
    assert_eq!((pair.responder.counters().writes, pair.requester.counters().timeouts), (5, 0));
}

// Input:  a fetch-and-add and a write whose responses are all lost, twice.
// Output: each is executed once; the repeated fetch-and-add gets the value before its first execution.
#[test]
fn a_lost_response_executes_nothing_twice() {
    let mut pair = Pair::new();
    pair.requester.submit(Operation::fetch_add(place(8), 5)).unwrap();
    pair.requester.submit(Operation::write(place(0), vec![9])).unwrap();
    for _ in 0..2 {
        for request in pair.requests() {
            assert_eq!(pair.request(&request).len(), 1);
        }
        pair.time_out();
    }
    pair.carry();
    assert_eq!(pair.results(), [Ok(Outcome::Added(0)), Ok(Outcome::Written)]);
    let counters = pair.responder.counters();
    assert_eq!((counters.atomics, counters.writes, counters.duplicates), (1, 1, 4));
    assert_eq!(pair.memory()[8], 5);
}

// Input:  a fetch-and-add whose response is lost, while that of the write after it comes.
// Output: the acknowledgement implies that the response is lost: the request is repeated at once, without a time-out.
#[test]
fn a_later_acknowledgement_implies_a_lost_response() {
    let mut pair = Pair::new();
    pair.requester.submit(Operation::fetch_add(place(8), 5)).unwrap();
    pair.requester.submit(Operation::write(place(0), vec![9])).unwrap();
    let requests = pair.requests();
    assert_eq!(pair.request(&requests[0]).len(), 1);
    let acknowledgement = pair.request(&requests[1]).pop_front().unwrap();
    pair.respond(&acknowledgement);
    assert_eq!(pair.results(), []);
    pair.carry();
    assert_eq!(pair.results(), [Ok(Outcome::Added(0)), Ok(Outcome::Written)]);
    assert_eq!((pair.requester.counters().lost_responses, pair.requester.counters().timeouts), (1, 0));
}

// Input:  a read of four packets, of which the third is lost.
// Output: what has come is kept; the request that is repeated names the rest.
#[test]
fn the_rest_of_a_read_is_requested() {
    let mut pair = Pair::new();
    pair.requester.submit(Operation::read(place(16), 1000)).unwrap();
    let request = pair.requests().pop_front().unwrap();
    let mut responses = pair.request(&request);
    responses.remove(2);
    for response in &responses {
        pair.respond(response);
    }
    let again = pair.requests().pop_front().unwrap();
    let Transport::ReadRequest(reth) = Packet::parse(&again).unwrap().transport else { panic!() };
    assert_eq!((reth.address, reth.length), (BASE + 16 + 512, 488));
    let rest: Vec<_> = pair.request(&again).iter().map(|octets| what(octets)).collect();
    assert_eq!(rest, [(0x0d, 0), (0x0f, 1)]);
    // The answers to that are lost, too.
    pair.time_out();
    pair.carry();
    assert_eq!(pair.results(), [Ok(Outcome::Read(vec![0; 1000]))]);
    assert_eq!((pair.responder.counters().reads, pair.responder.counters().octets_read), (1, 1000));
}

// Input:  three reads where two may be outstanding; a write behind them with the fence; nine writes where eight packets may be sent.
// Output: the third read waits for the first response, the write for all three; eight of the writes are sent.
#[test]
fn depth_fence_and_window_hold_back() {
    let mut pair = Pair::new();
    for _ in 0..3 {
        pair.requester.submit(Operation::read(place(0), 1)).unwrap();
    }
    pair.requester.submit(Operation::write(place(0), vec![1]).fenced()).unwrap();
    let first = pair.requests();
    assert_eq!(first.len(), 2);
    for response in pair.request(&first[0]) {
        pair.respond(&response);
    }
    let second = pair.requests();
    assert_eq!(second.iter().map(|octets| what(octets).0).collect::<Vec<_>>(), [0x0c]);
    for request in first.iter().skip(1).chain(&second) {
        assert!(pair.requests().is_empty());
        for response in pair.request(request) {
            pair.respond(&response);
        }
    }
    assert_eq!(pair.requests().iter().map(|octets| what(octets).0).collect::<Vec<_>>(), [0x0a]);

    let mut pair = Pair::new();
    for octet in 0..9 {
        pair.requester.submit(Operation::write(place(octet), vec![1])).unwrap();
    }
    assert_eq!(pair.requests().len(), 8);
}

// Input:  a responder that never responds; nine writes, of which eight are sent.
// Output: the packets are sent four times, the time-outs are equal; then the requester fails. Ended by a flush, what was sent may have
//         been done, and the ninth was not.
#[test]
fn retries_are_counted() {
    let mut pair = Pair::new();
    for octet in 0..9 {
        pair.requester.submit(Operation::write(place(octet), vec![1])).unwrap();
    }
    for retry in 0..4 {
        assert_eq!(pair.requests().len(), 8, "retry {retry}");
        assert_eq!(pair.requester.next_timer(), Some(pair.now + Span::from_millis(1)));
        pair.time_out();
    }
    assert!(pair.requests().is_empty());
    assert_eq!(pair.requester.failure(), Some(Failure::RetryExceeded));
    assert_eq!(pair.requester.next_timer(), None);
    pair.requester.flush(Failure::RetryExceeded);
    let mut expected = vec![error(Failure::RetryExceeded, Effect::Unknown); 8];
    expected.push(error(Failure::RetryExceeded, Effect::None));
    assert_eq!(pair.results(), expected);
    let refused = pair.requester.submit(Operation::read(place(0), 1));
    assert_eq!(refused, Err(SubmitError::Failed(Failure::RetryExceeded)));
}

// Input:  operations of no octets and of too many; an eleventh where ten are kept.
// Output: they are not accepted; polled outcomes free entries.
#[test]
fn a_queue_is_bounded() {
    let mut pair = Pair::new();
    assert_eq!(pair.requester.submit(Operation::read(place(0), 0)), Err(SubmitError::Empty));
    let long = pair.requester.submit(Operation::write(place(0), vec![0; 8193]));
    assert_eq!(long, Err(SubmitError::TooLong { length: 8193, limit: 8192 }));
    for _ in 0..10 {
        pair.requester.submit(Operation::write(place(0), vec![1])).unwrap();
    }
    pair.carry();
    let eleventh = Operation::write(place(0), vec![1]);
    assert_eq!(pair.requester.submit(eleventh.clone()), Err(SubmitError::QueueFull));
    assert_eq!(pair.results().len(), 10);
    pair.requester.submit(eleventh).unwrap();
}

// Input:  packets that no correct peer sends: a response to nothing, an acknowledgement of what was not sent, a request at the requester,
//         read responses that are too short, too long, or end too early; a response at the responder; another partition.
// Output: nothing changes, and they are counted; the operation still succeeds.
#[test]
fn what_does_not_belong_is_dropped() {
    let mut pair = Pair::new();
    pair.requester.submit(Operation::read(place(0), 300)).unwrap();
    let request = pair.requests().pop_front().unwrap();
    let response = pair.request(&request);
    let packet = Packet::parse(&response[0]).unwrap();
    let Transport::ReadResponseFirst(aeth, octets) = packet.transport else { panic!() };
    let with = |psn: u32, transport| {
        let mut repr = packet.repr();
        repr.bth.psn = packet.bth.psn.plus(psn);
        repr.transport = transport;
        crate::pair::octets_of(&repr)
    };
    let wrong = [
        with(3, Transport::Acknowledge(aeth)),
        with(u32::MAX, Transport::Acknowledge(aeth)),
        with(0, Packet::parse(&request).unwrap().transport),
        with(0, Transport::ReadResponseFirst(aeth, &octets[1..])),
        with(0, Transport::ReadResponseOnly(aeth, octets)),
        with(0, Transport::AtomicAcknowledge(aeth, 1)),
    ];
    for octets in &wrong {
        pair.respond(octets);
    }
    assert_eq!(pair.requester.counters().stray, wrong.len() as u64);
    assert!(pair.request(&response[0]).is_empty());
    let mut partition = Packet::parse(&request).unwrap().repr();
    partition.bth.pkey = 0x8001;
    assert_eq!(pair.made(&partition), None);
    assert_eq!(pair.responder.counters().dropped, 2);
    for octets in &response {
        pair.respond(octets);
    }
    assert_eq!(pair.results(), [Ok(Outcome::Read(vec![0; 300]))]);
    assert!(matches!(aeth.syndrome, Syndrome::Ack(_)));
}
