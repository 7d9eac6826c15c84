//! A client of the memory server on a real socket, and a bad network in front of the server.

use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use causeway_memory::{
    Client, ClientConfig, ExternalMemory, Operation, OperationError, Outcome, Place, QueuePair, Status,
    SubmitError,
};
use causeway_packet::roce::{Outer, Packet};
use causeway_types::Time;
use rustix::net::sockopt::{Ipv4PathMtuDiscovery, set_ip_mtu_discover};

/// Far beyond what a busy machine takes.
const LIMIT: Duration = Duration::from_secs(300);

pub(super) type Ended = Result<Outcome, OperationError>;

pub(super) struct Link {
    socket: UdpSocket,
    pub(super) client: Client,
    began: Instant,
}

impl Link {
    /// A client without a connection, at a free port of that address.
    pub(super) fn new(local: &str, server: SocketAddr) -> Self {
        let socket = UdpSocket::bind(local).unwrap();
        if local.starts_with("127.") {
            set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO).unwrap();
        }
        let config = ClientConfig {
            // A busy machine may leave a server without a processor for a second.
            retries: 100,
            connect_retries: 50,
            ..ClientConfig::new(socket.local_addr().unwrap(), server, fastrand::u64(..))
        };
        Self { socket, client: Client::new(config), began: Instant::now() }
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.began.elapsed().as_nanos() as u64)
    }

    /// Sends what is to be sent, and waits for a datagram or the next time-out.
    fn turn(&mut self) {
        let mut octets = Vec::new();
        while let Some(to) = self.client.poll_transmit(self.now(), &mut octets) {
            self.socket.send_to(&octets, to).unwrap();
            octets.clear();
        }
        let wait = self.client.next_timer().map_or(Duration::from_millis(5), |timer| timer.since(self.now()));
        self.socket.set_read_timeout(Some(wait.max(Duration::from_micros(100)))).unwrap();
        let mut received = [0; 65_535];
        if let Ok((length, from)) = self.socket.recv_from(&mut received) {
            self.client.receive(self.now(), from, &received[..length]);
        }
    }

    pub(super) fn connect(&mut self) -> Status {
        self.client.connect(self.now());
        let began = Instant::now();
        while self.client.status() == Status::Connecting {
            assert!(began.elapsed() < LIMIT, "no answer");
            self.turn();
        }
        self.client.status()
    }

    /// A place so many octets after the start of the server's memory.
    pub(super) fn place(&self, offset: u64) -> Place {
        self.client.description().expect("a connection").place(offset)
    }

    /// Has the operations executed; how each of them ended.
    pub(super) fn run(&mut self, operations: impl IntoIterator<Item = Operation>) -> Vec<Ended> {
        let began = Instant::now();
        let mut left: VecDeque<Operation> = operations.into_iter().collect();
        let (count, mut ended) = (left.len(), Vec::new());
        while ended.len() < count {
            assert!(began.elapsed() < LIMIT, "{} of {count} operations have ended", ended.len());
            while let Some(operation) = left.pop_front() {
                match self.client.submit(self.now(), QueuePair(0), operation.clone()) {
                    Ok(_) => {}
                    Err(SubmitError::QueueFull) => {
                        left.push_front(operation);
                        break;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            self.turn();
            let now = self.now();
            ended.extend(std::iter::from_fn(|| Some(self.client.poll(now)?.result)));
        }
        ended
    }
}

/// A network that loses, repeats and reorders. As a translator of addresses would have to, it computes the CRC of each packet anew.
pub(super) struct BadNetwork {
    /// Where clients send to.
    pub(super) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl BadNetwork {
    /// Of 1000 packets it loses so many.
    pub(super) fn new(server: SocketAddr, lost: u32, seed: u64) -> Self {
        let [front, back] = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
        for socket in [&front, &back] {
            socket.set_read_timeout(Some(Duration::from_micros(200))).unwrap();
        }
        let address = front.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut client, mut dropped) = (None, 0);
            let mut kept = [None, None];
            while !is_stopped.load(Ordering::Relaxed) {
                let mut received = [0; 65_535];
                if let Ok((length, from)) = front.recv_from(&mut received) {
                    client = Some(from);
                    dropped += pass(&received[..length], &back, server, lost, &mut kept[0], &mut random);
                }
                if let (Ok((length, _)), Some(client)) = (back.recv_from(&mut received), client) {
                    dropped += pass(&received[..length], &front, client, lost, &mut kept[1], &mut random);
                }
            }
            dropped
        });
        Self { address, stop, thread: Some(thread) }
    }

    /// Ends it; how many packets it has lost.
    pub(super) fn end(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Passes one packet on: 1 if it is lost. One in 20 comes twice, and one in 20 waits for the next.
fn pass(
    octets: &[u8],
    socket: &UdpSocket,
    to: SocketAddr,
    lost: u32,
    kept: &mut Option<Vec<u8>>,
    random: &mut fastrand::Rng,
) -> u64 {
    let mut anew = Vec::new();
    let outer = Outer::of_socket(socket.local_addr().unwrap(), to);
    Packet::parse(octets).unwrap().repr().write(&outer, &mut anew).unwrap();
    if random.u32(..1000) < lost {
        return 1;
    }
    if kept.is_none() && random.u32(..20) == 0 {
        *kept = Some(anew);
        return 0;
    }
    socket.send_to(&anew, to).unwrap();
    if let Some(earlier) = kept.take() {
        socket.send_to(&earlier, to).unwrap();
    }
    if random.u32(..20) == 0 {
        socket.send_to(&anew, to).unwrap();
    }
    0
}
