//! The data plane over real sockets: a memory server on one of the loopback interface, and the client of `causeway-memory` on another.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use causeway_dataplane::{Dataplane, Disposition, DropReason};
use causeway_memory::{
    AgedTable, Client, ClientConfig, Completion, DIRECTORY, ExternalMemory, Operation, OperationId,
    QueuePair, Rkey, Status, SubmitError,
};
use causeway_packet::roce::management::Mtu;
use causeway_slowpath::Limits;
use causeway_types::{Span, Time};
use causeway_xplane::{Awaited, Directory, PipelineConfig, Sizes, XPlane};

use crate::plane::{establish, now, packet, send, topology, uplink};
use crate::service::Service;

const SIZES: Sizes =
    Sizes { ue_buckets: 64, flow_buckets: 64, rings: 4, ring: 16, paging_rings: 4, paging_ring: 8 };

fn time(begin: Instant) -> Time {
    Time::from_nanos(begin.elapsed().as_nanos() as u64)
}

/// That of each run of the server.
const RKEY: Rkey = Rkey(7);

/// External memory behind a socket.
struct Remote {
    client: Client,
    socket: UdpSocket,
    begin: Instant,
    octets: Vec<u8>,
}

impl Remote {
    fn connect(server: SocketAddr) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let config =
            ClientConfig { mtu: Mtu::M4096, ..ClientConfig::new(socket.local_addr().unwrap(), server, 2) };
        let mut remote =
            Self { client: Client::new(config), socket, begin: Instant::now(), octets: vec![0; 9000] };
        assert!(remote.reconnect(Time::default()));
        remote
    }

    fn transmit(&mut self, now: Time) {
        let mut out = Vec::new();
        while let Some(to) = self.client.poll_transmit(now, &mut out) {
            self.socket.send_to(&out, to).unwrap();
            out.clear();
        }
    }
}

impl ExternalMemory for Remote {
    fn queue_pairs(&self) -> u16 {
        self.client.queue_pairs()
    }

    fn submit(
        &mut self,
        now: Time,
        pair: QueuePair,
        operation: Operation,
    ) -> Result<OperationId, SubmitError> {
        let id = self.client.submit(now, pair, operation);
        self.transmit(now);
        id
    }

    fn has_place(&self, pair: QueuePair, operation: &Operation) -> bool {
        self.client.has_place(pair, operation)
    }

    fn poll(&mut self, now: Time) -> Option<Completion> {
        self.client.poll(now)
    }

    fn next_timer(&self) -> Option<Time> {
        self.client.next_timer()
    }
}

impl Awaited for Remote {
    fn wait(&mut self, now: Time) -> Option<Time> {
        self.transmit(now);
        if let Ok((length, from)) = self.socket.recv_from(&mut self.octets) {
            self.client.receive(now, from, &self.octets[..length]);
        }
        self.transmit(now);
        Some(now.max(time(self.begin)))
    }

    /// If the server has more memory than the tables.
    fn directory(&self) -> Option<Directory> {
        let description = self.client.description()?;
        let has_more = description.length >= SIZES.octets() + DIRECTORY;
        let place = description.place(AgedTable::place(description.length, 0)?);
        has_more.then_some(Directory { place, offset: 0 })
    }

    fn reconnect(&mut self, now: Time) -> bool {
        self.client.connect(now);
        let mut at = now;
        while self.client.status() == Status::Connecting {
            at = self.wait(at).unwrap_or(at);
        }
        self.client.status() == Status::Connected
    }
}

// Input:  a session with a URR over a memory server behind UDP sockets; 20 packets of two flows.
// Output: all are forwarded, two flows are looked up in the UE table, the usage has every octet, and the server has executed what the
//         data plane says: writes and reads over the wire.
#[test]
fn the_tables_are_behind_a_wire() {
    let service = Service::start("127.0.0.1:0".parse().unwrap(), 1, RKEY, SIZES.octets() as usize);
    let memory = Remote::connect(service.address);
    let base = memory.client.description().unwrap().place(0);
    let mut plane =
        XPlane::new(topology(), Limits::default(), memory, SIZES, base, PipelineConfig::default());
    establish(&mut plane);
    for number in 0..20 {
        assert_eq!(send(&mut plane, now(number), &packet(number as u16 % 2, 1000)), Disposition::Forwarded);
    }
    let counters = *plane.pipeline().counters();
    assert_eq!((counters.walks, counters.hits, counters.lost), (2, 18, 0));
    assert_eq!(uplink(&mut plane), (20, 20 * 1020));
    let work = service.stop().work;
    assert!(work.reads >= 20 && work.writes >= 20 && work.octets_written >= 20 * 1020, "{work:?}");
}

// Input:  the memory server goes away between two packets, and comes back empty two seconds later.
// Output: the packet that was in flight is dropped under its name; without the memory the slow path forwards; with it, the tables are written
//         anew, and packets pass by them again. Each packet is in one counter, and the octets that were not lost with the memory are reported.
#[test]
fn without_its_memory_the_slow_path_forwards() {
    let service = Service::start("127.0.0.1:0".parse().unwrap(), 1, RKEY, SIZES.octets() as usize);
    let address = service.address;
    let memory = Remote::connect(address);
    let base = memory.client.description().unwrap().place(0);
    let mut plane =
        XPlane::new(topology(), Limits::default(), memory, SIZES, base, PipelineConfig::default());
    establish(&mut plane);
    let packet = packet(1, 1000);
    (0..3).for_each(|number| assert_eq!(send(&mut plane, now(number), &packet), Disposition::Forwarded));
    service.stop();
    assert_eq!(send(&mut plane, now(3), &packet), Disposition::Dropped(DropReason::ExternalMemory));
    assert_eq!((plane.losses().failures, plane.losses().states), (1, 1));
    for number in 4..8 {
        assert_eq!(send(&mut plane, now(number), &packet), Disposition::Forwarded);
    }
    assert_eq!(plane.pipeline().counters().hits, 2);
    let service = Service::start(address, 2, RKEY, SIZES.octets() as usize);
    for number in 5_000..5_003 {
        assert_eq!(send(&mut plane, now(number), &packet), Disposition::Forwarded);
    }
    assert_eq!(plane.pipeline().counters().walks, 2);
    let counters = plane.counters();
    assert_eq!((counters.received(), counters.forwarded, counters.total_drops()), (11, 10, 1));
    service.stop();
}

// Input:  two flows over a memory server behind UDP sockets, which sweeps flows that were not used for a second; one of them goes on, the other does not.
// Output: the server takes the entry of the other one out. The one in use keeps its entry, and is not looked up again; the other one is, once.
#[test]
fn the_server_sweeps_what_is_not_used() {
    let size = SIZES.octets() + DIRECTORY;
    let service = Service::start("127.0.0.1:0".parse().unwrap(), 1, RKEY, size as usize);
    let memory = Remote::connect(service.address);
    let base = memory.client.description().unwrap().place(0);
    let config = PipelineConfig { flow_age: Span::from_secs(1), ..PipelineConfig::default() };
    let mut plane = XPlane::new(topology(), Limits::default(), memory, SIZES, base, config);
    establish(&mut plane);
    let (used, unused) = (packet(1, 100), packet(2, 100));
    let (begin, mut millis) = (Instant::now(), 0);
    assert_eq!(send(&mut plane, now(millis), &used), Disposition::Forwarded);
    assert_eq!(send(&mut plane, now(millis), &used), Disposition::Forwarded);
    assert_eq!(send(&mut plane, now(millis), &unused), Disposition::Forwarded);
    while service.swept() == 0 {
        assert!(begin.elapsed() < Duration::from_secs(120), "nothing is swept");
        millis += 50;
        assert_eq!(send(&mut plane, now(millis), &used), Disposition::Forwarded);
    }
    let walks = plane.pipeline().counters().walks;
    assert_eq!(send(&mut plane, now(millis), &used), Disposition::Forwarded);
    assert_eq!(plane.pipeline().counters().walks, walks);
    assert_eq!(send(&mut plane, now(millis), &unused), Disposition::Forwarded);
    assert_eq!((walks, plane.pipeline().counters().walks), (2, 3));
    assert_eq!(service.stop().swept, 1);
}
