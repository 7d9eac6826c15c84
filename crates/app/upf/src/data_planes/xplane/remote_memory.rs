//! A memory server behind a UDP socket.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use causeway_memory::{
    AgedTable, Client, ClientConfig, Completion, DIRECTORY, Description, ExternalMemory, Operation,
    OperationId, Place, QueuePair, Request, Status, SubmitError,
};
use causeway_packet::roce::management::Mtu;
use causeway_types::{Span, Time};
use causeway_xplane::{Awaited, Directory};
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};
use tracing::{info, warn};

/// Connections, each with a queue pair: so many times 16 READs are outstanding.
const CONNECTIONS: usize = 4;
/// Datagrams that wait for the packet thread; more are dropped, and the client asks again.
const QUEUE: usize = 4096;
/// The largest datagram: one packet of RoCEv2.
const LARGEST: usize = 9216;
/// The receiving thread looks so often whether it is to end.
const STOP: Duration = Duration::from_millis(100);
/// A wait for datagrams ends after this time at the latest.
const WAIT: Duration = Duration::from_millis(5);
/// A request for a connection is sent again after so long, three times. When the server goes away, it is asked as often whether it has
/// restarted, and packets wait for that.
const ASK: Span = Span::from_millis(50);
/// An attempt to connect ends after this time, and goes on with the next one.
const CONNECT: Duration = Duration::from_millis(20);

/// The part of a memory server's region that one data plane has. Places are relative to it, whatever run of the server has it.
#[derive(Debug)]
pub(super) struct RemoteMemory {
    server: SocketAddr,
    part: Part,
    clients: Vec<Client>,
    socket: UdpSocket,
    received: Receiver<Vec<u8>>,
    waker: Arc<OnceLock<Waker>>,
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// All clients are connected to one run of the server.
    description: Option<Description>,
    /// Clients are being connected.
    is_connecting: bool,
    /// What the operator was told last, since the server is away.
    reported: String,
    out: Vec<u8>,
    completed: VecDeque<Completion>,
}

/// Octets of the region: from `offset` on so many. Behind all parts is the directory of tables that the server sweeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// That of the packet thread.
    pub(super) number: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl RemoteMemory {
    /// A memory that is not connected yet.
    ///
    /// # Errors
    /// There is no socket, or no route to the server.
    pub(super) fn new(server: SocketAddr, part: Part) -> io::Result<Self> {
        let any: SocketAddr = match server {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        // The checksum of a packet covers the addresses of both ends: the system chooses the own one. A connected socket would number its
        // packets, which the checksum covers, too.
        let probe = UdpSocket::bind(any)?;
        probe.connect(server)?;
        let socket = UdpSocket::bind((probe.local_addr()?.ip(), 0))?;
        // RoCEv2 has no fragments, and the identification of packets is zero then.
        match server {
            SocketAddr::V4(_) => set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO)?,
            SocketAddr::V6(_) => set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::DO)?,
        }
        let local = socket.local_addr()?;
        let client = |_| {
            let seed = RandomState::new().build_hasher().finish();
            let config = ClientConfig {
                mtu: Mtu::M1024,
                connect_timeout: ASK,
                connect_retries: 3,
                ..ClientConfig::new(local, server, seed)
            };
            Client::new(config)
        };
        let (sender, received) = sync_channel(QUEUE);
        let (waker, is_stopped) = (Arc::new(OnceLock::new()), Arc::new(AtomicBool::new(false)));
        let receiver = socket.try_clone()?;
        receiver.set_read_timeout(Some(STOP))?;
        let (wakes, stop) = (Arc::clone(&waker), Arc::clone(&is_stopped));
        let thread = thread::Builder::new()
            .name("memory".into())
            .spawn(move || receive(&receiver, server, &sender, &wakes, &stop))?;
        Ok(Self {
            server,
            part,
            clients: (0..CONNECTIONS).map(client).collect(),
            socket,
            received,
            waker,
            is_stopped,
            thread: Some(thread),
            description: None,
            is_connecting: false,
            reported: String::new(),
            out: Vec::new(),
            completed: VecDeque::new(),
        })
    }

    fn transmit(&mut self, now: Time) {
        for client in &mut self.clients {
            while client.poll_transmit(now, &mut self.out).is_some() {
                // What cannot be sent is as good as lost: it is sent again.
                let _ = self.socket.send_to(&self.out, self.server);
                self.out.clear();
            }
        }
    }

    fn take(&mut self, now: Time, datagram: &[u8]) {
        // The queue pair that a packet is for is in octets 5 to 7; management is for all.
        let of =
            datagram.get(5..8).map(|octets| octets.iter().fold(0, |sum, octet| sum << 8 | u32::from(*octet)));
        for client in &mut self.clients {
            if of == Some(1) || of == Some(client.queue_pair_number().value()) {
                client.receive(now, self.server, datagram);
            }
        }
    }

    /// Datagrams that have come. Returns whether there were any.
    fn take_all(&mut self, now: Time) -> bool {
        let mut any = false;
        while let Ok(datagram) = self.received.try_recv() {
            self.take(now, &datagram);
            any = true;
        }
        any
    }

    /// Waits for a datagram until the next timer, or not long. Returns the time then.
    fn wait_for(&mut self, now: Time, longest: Duration) -> Time {
        let begin = Instant::now();
        self.transmit(now);
        let timer = self.next_timer().map_or(longest, |at| {
            Duration::from_nanos(u64::try_from(at.since(now).as_nanos()).unwrap_or(u64::MAX)).min(longest)
        });
        let received = self.received.recv_timeout(timer);
        let passed = Span::from_nanos(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let then = now + passed;
        match received {
            Ok(datagram) => {
                self.take(then, &datagram);
                self.take_all(then);
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        self.transmit(then);
        then
    }

    /// All clients are connected: to one run of the server, with enough memory?
    fn accept(&mut self) -> bool {
        let first = self.clients.first().and_then(Client::description).copied();
        let is_same = |client: &Client| client.description() == first.as_ref();
        let Some(description) = first.filter(|_| self.clients.iter().all(is_same)) else {
            return false;
        };
        let needed = self.part.offset + self.part.length + DIRECTORY;
        if description.length < needed {
            self.report(format!(
                "it has {} octets, the tables need {needed}: start it with --size {}MiB",
                description.length,
                needed.div_ceil(1 << 20)
            ));
            return false;
        }
        info!("memory server {} connected: {} octets", self.server, description.length);
        self.description = Some(description);
        self.reported.clear();
        true
    }

    /// Tells the operator, each thing once.
    fn report(&mut self, what: String) {
        if self.reported != what {
            warn!("upf.xplane.server {}: {what}. The slow path forwards until that is over", self.server);
            self.reported = what;
        }
    }

    fn at(&self, place: Place) -> Option<Place> {
        let description = self.description.as_ref()?;
        Some(description.place(self.part.offset.wrapping_add(place.address)))
    }
}

/// The receiving thread.
fn receive(
    socket: &UdpSocket,
    server: SocketAddr,
    sender: &SyncSender<Vec<u8>>,
    waker: &OnceLock<Waker>,
    is_stopped: &AtomicBool,
) {
    let mut octets = vec![0; LARGEST];
    while !is_stopped.load(Ordering::Relaxed) {
        let length = match socket.recv_from(&mut octets) {
            Ok((length, from)) if from == server => length,
            Ok(_) => continue,
            Err(error) => {
                // A server that is not there refuses; what else there is must not make a busy loop.
                if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
                    thread::sleep(WAIT);
                }
                continue;
            }
        };
        match sender.try_send(octets.get(..length).unwrap_or_default().to_vec()) {
            Ok(()) => waker.get().into_iter().for_each(Waker::wake_by_ref),
            Err(TrySendError::Full(_)) => {}
            Err(TrySendError::Disconnected(_)) => return,
        }
    }
}

impl ExternalMemory for RemoteMemory {
    fn queue_pairs(&self) -> u16 {
        self.clients.len() as u16
    }

    fn submit(
        &mut self,
        now: Time,
        queue_pair: QueuePair,
        operation: Operation,
    ) -> Result<OperationId, SubmitError> {
        let request = match operation.request {
            Request::Read { from, length } => {
                Request::Read { from: self.at(from).ok_or(SubmitError::NotConnected)?, length }
            }
            Request::Write { to, data } => {
                Request::Write { to: self.at(to).ok_or(SubmitError::NotConnected)?, data }
            }
            Request::FetchAdd { at, add } => {
                Request::FetchAdd { at: self.at(at).ok_or(SubmitError::NotConnected)?, add }
            }
        };
        let (pairs, pair) = (self.clients.len() as u64, u64::from(queue_pair.0));
        let client = self.clients.get_mut(usize::from(queue_pair.0));
        let client = client.ok_or(SubmitError::UnknownQueuePair(queue_pair.0))?;
        let OperationId(id) = client.submit(now, QueuePair(0), Operation { request, ..operation })?;
        Ok(OperationId(id * pairs + pair))
    }

    fn has_place(&self, queue_pair: QueuePair, operation: &Operation) -> bool {
        let client = self.clients.get(usize::from(queue_pair.0));
        client.is_none_or(|client| client.has_place(QueuePair(0), operation))
    }

    fn poll(&mut self, now: Time) -> Option<Completion> {
        if self.completed.is_empty() {
            self.take_all(now);
            self.transmit(now);
            let pairs = self.clients.len() as u64;
            for (pair, client) in (0_u16..).zip(&mut self.clients) {
                while let Some(Completion { id: OperationId(id), result, .. }) = client.poll(now) {
                    let id = OperationId(id * pairs + u64::from(pair));
                    self.completed.push_back(Completion { id, queue_pair: QueuePair(pair), result });
                }
            }
        }
        self.completed.pop_front()
    }

    fn next_timer(&self) -> Option<Time> {
        self.clients.iter().filter_map(Client::next_timer).min()
    }
}

impl Awaited for RemoteMemory {
    fn wait(&mut self, now: Time) -> Option<Time> {
        Some(self.wait_for(now, WAIT))
    }

    fn reconnect(&mut self, now: Time) -> bool {
        if !self.is_connecting {
            if self.description.take().is_some() {
                self.report("it is away or has restarted".into());
            }
            for client in &mut self.clients {
                client.disconnect();
                client.connect(now);
            }
            self.is_connecting = true;
        }
        let (mut at, end) = (now, now + Span::from_nanos(CONNECT.as_nanos() as u64));
        while self.clients.iter().any(|client| client.status() == Status::Connecting) {
            if at >= end {
                return false;
            }
            at = self.wait_for(at, CONNECT);
        }
        self.is_connecting = false;
        if let Some(Status::NotConnected(error)) =
            self.clients.iter().map(Client::status).find(|status| *status != Status::Connected)
        {
            self.report(error.to_string());
            return false;
        }
        self.accept()
    }

    fn directory(&self) -> Option<Directory> {
        let Description { length, rkey, .. } = self.description?;
        let Part { number, offset, .. } = self.part;
        // As all places, relative to the part.
        let address = AgedTable::place(length, number)?.wrapping_sub(offset);
        Some(Directory { place: Place { rkey, address }, offset })
    }

    fn set_waker(&mut self, waker: Waker) {
        // It is called once.
        drop(self.waker.set(waker));
    }
}

impl Drop for RemoteMemory {
    fn drop(&mut self) {
        let now = Time::default();
        self.clients.iter_mut().for_each(Client::disconnect);
        self.transmit(now);
        self.is_stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has nothing to return.
            let _ = thread.join();
        }
    }
}
