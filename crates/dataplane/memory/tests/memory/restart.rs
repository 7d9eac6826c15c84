//! Connections between clients and a server: set-up, restarts, and what belongs to whom.

use std::net::SocketAddr;

use causeway_memory::{
    Client, ClientConfig, ConnectError, Description, Effect, ExternalMemory, Failure, Incarnation, Operation,
    OperationError, Outcome, QueuePair, Region, Regions, Rights, Server, ServerConfig, Status, SubmitError,
};
use causeway_packet::roce::Rkey;
use causeway_types::{Span, Time};

const RKEY: Rkey = Rkey(5);

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn server(incarnation: u64) -> Server {
    let mut regions = Regions::new();
    regions.insert(RKEY, Region::new(0, 4096, Rights::all()).unwrap());
    let description = Description {
        incarnation: Incarnation(incarnation),
        rkey: RKEY,
        rights: Rights::all(),
        base: 0,
        length: 4096,
        max_length: 4096,
    };
    let config = ServerConfig {
        queue_pairs: 2,
        idle: Span::from_secs(10),
        seed: incarnation,
        ..ServerConfig::new(address("192.0.2.1:4791"), description)
    };
    Server::new(config, regions)
}

fn client(host: u8) -> Client {
    let local = address(&format!("192.0.2.{host}:49152"));
    Client::new(ClientConfig::new(local, address("192.0.2.1:4791"), host.into()))
}

fn local(host: u8) -> SocketAddr {
    address(&format!("192.0.2.{host}:49152"))
}

/// Carries all datagrams between a client and the server; keeps those of the client.
fn carry(now: Time, host: u8, client: &mut Client, server: &mut Server) -> Vec<Vec<u8>> {
    let mut sent = Vec::new();
    let mut octets = Vec::new();
    while client.poll_transmit(now, &mut octets).is_some() {
        server.receive(now, local(host), &octets);
        sent.push(std::mem::take(&mut octets));
        while server.poll_transmit(&mut octets).is_some() {
            client.receive(now, address("192.0.2.1:4791"), &octets);
            octets.clear();
        }
    }
    sent
}

fn results(now: Time, client: &mut Client) -> Vec<Result<Outcome, OperationError>> {
    std::iter::from_fn(|| Some(client.poll(now)?.result)).collect()
}

/// Lets time pass for a client while nobody answers, until it has no timer or its state is this one.
fn alone(mut now: Time, client: &mut Client, until: Status) -> Time {
    let mut octets = Vec::new();
    loop {
        while client.poll_transmit(now, &mut octets).is_some() {}
        match client.next_timer().filter(|_| client.status() != until) {
            Some(next) => now = now.max(next),
            None => return now,
        }
    }
}

// Input:  a client with a write that is done; the server restarts; then a fetch-and-add and, behind a fence, a write.
// Output: both fail with "restarted"; the addition may have been done, the write not. After a new connection the memory is empty.
#[test]
fn a_restart_is_reported() {
    let (mut now, mut client, mut first) = (Time::default(), client(2), server(1));
    client.connect(now);
    carry(now, 2, &mut client, &mut first);
    let word = client.description().unwrap().place(8);
    client.submit(now, QueuePair(0), Operation::write(word, vec![1])).unwrap();
    carry(now, 2, &mut client, &mut first);
    assert_eq!(results(now, &mut client), [Ok(Outcome::Written)]);

    let mut second = server(2);
    client.submit(now, QueuePair(0), Operation::fetch_add(word, 1)).unwrap();
    client.submit(now, QueuePair(0), Operation::write(word, vec![1]).fenced()).unwrap();
    carry(now, 2, &mut client, &mut second);
    while let Some(next) = client.next_timer() {
        now = next;
        carry(now, 2, &mut client, &mut second);
    }
    assert_eq!(client.status(), Status::Failed(Failure::Restarted));
    let refused = client.submit(now, QueuePair(0), Operation::read(word, 1));
    assert_eq!(refused, Err(SubmitError::Failed(Failure::Restarted)));
    let failed = |effect| Err(OperationError { failure: Failure::Restarted, effect });
    assert_eq!(results(now, &mut client), [failed(Effect::Unknown), failed(Effect::None)]);
    assert_eq!(second.counters().unknown_queue_pair, 8);

    client.connect(now);
    carry(now, 2, &mut client, &mut second);
    client.submit(now, QueuePair(0), Operation::read(word, 8)).unwrap();
    carry(now, 2, &mut client, &mut second);
    assert_eq!(results(now, &mut client), [Ok(Outcome::Read(vec![0; 8]))]);
    assert_eq!(second.queue_pairs(), 1);
}

// Input:  a server that does not answer any more; a server that does not answer at all; one that answers again, without a restart.
// Output: "transport retry counter exceeded"; "unreachable"; again the first, and the memory is as before.
#[test]
fn silence_is_no_restart() {
    let (now, mut client, mut server) = (Time::default(), client(2), server(1));
    client.connect(now);
    let later = alone(now, &mut client, Status::Idle);
    assert_eq!(client.status(), Status::NotConnected(ConnectError::Unreachable));
    assert_eq!(later, Time::default() + Span::from_millis(800));
    client.connect(later);
    carry(later, 2, &mut client, &mut server);
    let word = client.description().unwrap().place(8);
    client.submit(later, QueuePair(0), Operation::write(word, vec![1])).unwrap();
    carry(later, 2, &mut client, &mut server);
    assert_eq!(results(later, &mut client).len(), 1);
    for answers_again in [true, false] {
        client.submit(later, QueuePair(0), Operation::write(word, vec![2])).unwrap();
        let mut last = alone(later, &mut client, Status::Asking);
        assert_eq!((client.status(), results(last, &mut client)), (Status::Asking, vec![]));
        if answers_again {
            last = client.next_timer().unwrap();
            carry(last, 2, &mut client, &mut server);
        } else {
            last = alone(last, &mut client, Status::Idle);
        }
        let failure = Failure::RetryExceeded;
        assert_eq!(client.status(), Status::Failed(failure));
        assert_eq!(results(last, &mut client), [Err(OperationError { failure, effect: Effect::Unknown })]);
        client.connect(last);
        carry(last, 2, &mut client, &mut server);
        assert_eq!(client.status(), Status::Connected);
        assert_eq!(server.regions().get(RKEY).unwrap().octets()[8], 1);
    }
}

// Input:  two clients and a third where there are two queue pairs; later the first is silent for ten seconds.
// Output: the third is rejected with reason 1; then it gets the queue pair of the first, whose next operation is not executed.
#[test]
fn queue_pairs_are_bounded() {
    let (mut now, mut server) = (Time::default(), server(1));
    let (mut first, mut second, mut third) = (client(2), client(3), client(4));
    for (host, client) in [(2, &mut first), (3, &mut second), (4, &mut third)] {
        client.connect(now);
        carry(now, host, client, &mut server);
    }
    assert_eq!(third.status(), Status::NotConnected(ConnectError::Rejected(1)));
    assert_eq!(server.counters().rejected, 1);
    now = Time::from_secs(10);
    let place = second.description().unwrap().place(0);
    second.submit(now, QueuePair(0), Operation::read(place, 1)).unwrap();
    carry(now, 3, &mut second, &mut server);
    third.connect(now);
    carry(now, 4, &mut third, &mut server);
    assert_eq!((third.status(), server.queue_pairs()), (Status::Connected, 2));
    first.submit(now, QueuePair(0), Operation::write(place, vec![1])).unwrap();
    carry(now, 2, &mut first, &mut server);
    assert_eq!(results(now, &mut first), []);
    assert_eq!(server.counters().unknown_queue_pair, 1);
    third.disconnect();
    carry(now, 4, &mut third, &mut server);
    assert_eq!((third.status(), server.queue_pairs()), (Status::Idle, 1));
}

// Input:  a request for a connection that comes again; that of an earlier connection, which comes late; datagrams with a changed octet; an
//         operation from another address; octets that are no packet.
// Output: one queue pair; the late request changes nothing; nothing is executed, and each is counted.
#[test]
fn what_does_not_belong_is_dropped() {
    let (now, mut client, mut server) = (Time::default(), client(2), server(1));
    client.connect(now);
    let old = carry(now, 2, &mut client, &mut server).remove(0);
    client.disconnect();
    client.connect(now);
    let request = carry(now, 2, &mut client, &mut server).remove(1);
    let mut octets = Vec::new();
    server.receive(now, local(2), &request);
    assert!(server.poll_transmit(&mut octets).is_some());
    octets.clear();
    server.receive(now, local(2), &old);
    assert_eq!(server.poll_transmit(&mut octets), None);
    assert_eq!((server.queue_pairs(), server.counters().connections), (1, 2));

    let place = client.description().unwrap().place(0);
    client.submit(now, QueuePair(0), Operation::write(place, vec![7])).unwrap();
    let mut write = Vec::new();
    client.poll_transmit(now, &mut write).unwrap();
    let mut changed = write.clone();
    changed[28] ^= 1;
    server.receive(now, local(2), &changed);
    server.receive(now, local(2), &write[..15]);
    // Another client writes the same packet with the CRC of its own address.
    let packet = causeway_packet::roce::Packet::parse(&write).unwrap();
    let mut other = Vec::new();
    let outer = causeway_packet::roce::Outer::of_socket(local(3), address("192.0.2.1:4791"));
    packet.repr().write(&outer, &mut other).unwrap();
    server.receive(now, local(3), &other);
    let counters = server.counters();
    assert_eq!((counters.icrc_errors, counters.malformed, counters.unknown_queue_pair), (1, 1, 1));
    assert_eq!(server.poll_transmit(&mut octets), None);
    assert_eq!(server.regions().get(RKEY).unwrap().octets()[0], 0);
    server.receive(now, local(2), &write);
    assert_eq!(server.counters().work.writes, 1);

    let mut elsewhere = Vec::new();
    let outer = causeway_packet::roce::Outer::of_socket(address("192.0.2.9:4791"), local(2));
    packet.repr().write(&outer, &mut elsewhere).unwrap();
    client.receive(now, address("192.0.2.9:4791"), &elsewhere);
    client.receive(now, address("192.0.2.1:4791"), &[1, 2, 3]);
    assert_eq!(client.dropped(), 2);
}
