//! The data plane over real sockets: the memory server of `causeway-memory` on a UDP socket of the loopback interface, in a thread of its own,
//! and the client of `causeway-memory` on another.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use causeway_dataplane::{Dataplane, Disposition, DropReason};
use causeway_memory::{
    Client, ClientConfig, Completion, Description, ExternalMemory, Incarnation, Operation, OperationId,
    QueuePair, Regions, Rights, Rkey, Server, ServerConfig, ServerCounters, Status, SubmitError,
};
use causeway_packet::roce::management::Mtu;
use causeway_slowpath::Limits;
use causeway_types::{Span, Time};
use causeway_xplane::{Awaited, PipelineConfig, Sizes, XPlane};

use crate::plane::{establish, now, packet, send, topology, uplink};

const SIZES: Sizes =
    Sizes { ue_buckets: 64, flow_buckets: 64, rings: 4, ring: 16, paging_rings: 4, paging_ring: 8 };
const LONGEST: u32 = 4096;
const RKEY: Rkey = Rkey(7);

/// A memory server in a thread.
struct Service {
    address: SocketAddr,
    is_stopped: Arc<AtomicBool>,
    thread: JoinHandle<ServerCounters>,
}

impl Service {
    fn start() -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), Incarnation(1))
    }

    fn start_at(address: SocketAddr, incarnation: Incarnation) -> Self {
        let socket = UdpSocket::bind(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let address = socket.local_addr().unwrap();
        let mut regions = Regions::new();
        regions.insert(RKEY, SIZES.region().unwrap());
        let (length, rights) = (SIZES.octets(), Rights::all());
        let description =
            Description { incarnation, rkey: RKEY, rights, base: 0, length, max_length: LONGEST };
        let config = ServerConfig {
            local: address,
            description,
            resources: 16,
            queue_pairs: 4,
            idle: Span::from_secs(60),
            seed: 1,
        };
        let mut server = Server::new(config, regions);
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_stopped);
        let thread = std::thread::spawn(move || {
            let (begin, mut octets, mut out) = (Instant::now(), vec![0; 9000], Vec::new());
            while !stop.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut octets) else { continue };
                server.receive(time(begin), from, &octets[..length]);
                while let Some(to) = server.poll_transmit(&mut out) {
                    socket.send_to(&out, to).unwrap();
                    out.clear();
                }
            }
            server.counters()
        });
        Self { address, is_stopped, thread }
    }

    fn stop(self) -> ServerCounters {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn time(begin: Instant) -> Time {
    Time::from_nanos(begin.elapsed().as_nanos() as u64)
}

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
    let service = Service::start();
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
    let service = Service::start();
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
    let service = Service::start_at(address, Incarnation(2));
    for number in 5_000..5_003 {
        assert_eq!(send(&mut plane, now(number), &packet), Disposition::Forwarded);
    }
    assert_eq!(plane.pipeline().counters().walks, 2);
    let counters = plane.counters();
    assert_eq!((counters.received(), counters.forwarded, counters.total_drops()), (11, 10, 1));
    service.stop();
}
