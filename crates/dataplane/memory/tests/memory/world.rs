//! A server and clients over a network that loses, repeats and reorders packets, in simulated time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::net::SocketAddr;

use causeway_memory::{
    Client, ClientConfig, Completion, Description, Effect, ExternalMemory, Failure, Incarnation, Operation,
    OperationId, Outcome, QueuePair, Region, Regions, Rights, Server, ServerConfig, Status, SubmitError,
};
use causeway_packet::roce::Rkey;
use causeway_packet::roce::management::Mtu;
use causeway_types::{Span, Time};

/// Octets of each client's own part of the region: a counter, then memory.
const PART: u64 = 4096;
const BASE: u64 = 0x7000_0000;
const RKEY: Rkey = Rkey(0x1234_5678);
/// Fetch-and-adds of one client: each adds another power of two.
const BITS: u32 = 60;

/// What the network does, and what else happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather {
    /// Of 1000 packets.
    pub(crate) lost: u32,
    /// Of 1000 packets.
    pub(crate) repeated: u32,
    /// Added to the delay of 5 us, at most.
    pub(crate) jitter: Span,
    /// Of 1000 packets: as late as half a second.
    pub(crate) very_late: u32,
    /// Restarts of the server.
    pub(crate) restarts: u32,
    /// Of 1000 operations: with a wrong remote key.
    pub(crate) wrong: u32,
}

/// What came of all worlds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) worlds: u64,
    pub(crate) operations: u64,
    pub(crate) done: u64,
    pub(crate) failed: BTreeMap<String, u64>,
    pub(crate) packets: u64,
    pub(crate) repeated: u64,
    pub(crate) restarts: u64,
}

struct Datagram {
    from: SocketAddr,
    to: SocketAddr,
    octets: Vec<u8>,
}

enum Kind {
    Write { at: usize, length: usize, token: u8 },
    Read { at: usize, length: usize },
    Add { bit: u32 },
    Wrong,
}

struct Open {
    id: OperationId,
    kind: Kind,
    fence: bool,
}

/// A client, and what its part of the memory can be.
struct User {
    address: SocketAddr,
    client: Client,
    /// Operations that are still to be submitted.
    left: u32,
    open: VecDeque<Open>,
    /// What each octet can be after all operations that have ended.
    possible: Vec<Vec<u8>>,
    /// Bits of the counter that were certainly added, and that may have been.
    added: u64,
    maybe_added: u64,
    next_bit: u32,
    token: u8,
    incarnation: Option<Incarnation>,
    packets: (u64, u64),
}

pub(crate) struct World {
    random: fastrand::Rng,
    weather: Weather,
    now: Time,
    server_address: SocketAddr,
    server: Server,
    incarnation: u64,
    users: Vec<User>,
    network: BinaryHeap<(Reverse<Time>, Reverse<u64>, usize)>,
    datagrams: Vec<Datagram>,
    restarts: Vec<Time>,
    sequence: u64,
    pub(crate) tally: Tally,
}

fn server(address: SocketAddr, users: usize, incarnation: u64, seed: u64) -> Server {
    let length = PART * users as u64;
    let mut regions = Regions::new();
    regions.insert(RKEY, Region::new(BASE, length as usize, Rights::all()).unwrap());
    let description = Description {
        incarnation: Incarnation(incarnation),
        rkey: RKEY,
        rights: Rights::all(),
        base: BASE,
        length,
        max_length: 2048,
    };
    let config = ServerConfig {
        resources: 4,
        queue_pairs: users,
        idle: Span::from_secs(1),
        seed,
        ..ServerConfig::new(address, description)
    };
    Server::new(config, regions)
}

impl World {
    pub(crate) fn new(seed: u64, weather: Weather) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let is_ipv6 = random.bool();
        let address = |host: u16, port: u16| -> SocketAddr {
            let text =
                if is_ipv6 { format!("[2001:db8::{host}]:{port}") } else { format!("192.0.2.{host}:{port}") };
            text.parse().unwrap()
        };
        let server_address = address(1, 4791);
        let count = random.usize(1..=3);
        let users: Vec<User> = (0..count)
            .map(|number| {
                let local = address(2 + number as u16, 49_152);
                let client = Client::new(ClientConfig {
                    mtu: Mtu::M256,
                    window: random.u32(1..20),
                    initiator_depth: random.u8(1..8),
                    queue: 16,
                    timeout: Span::from_millis(2),
                    connect_timeout: Span::from_millis(5),
                    ..ClientConfig::new(local, server_address, random.u64(..))
                });
                User {
                    address: local,
                    client,
                    left: random.u32(10..60),
                    open: VecDeque::new(),
                    possible: vec![vec![0]; PART as usize],
                    added: 0,
                    maybe_added: 0,
                    next_bit: 0,
                    token: 0,
                    incarnation: None,
                    packets: (0, 0),
                }
            })
            .collect();
        let restarts = (0..weather.restarts).map(|_| Time::from_nanos(random.u64(0..60_000_000))).collect();
        let tally = Tally { worlds: 1, ..Tally::default() };
        let server = server(server_address, count, 1, random.u64(..));
        Self {
            server,
            random,
            weather,
            now: Time::default(),
            server_address,
            incarnation: 1,
            users,
            network: BinaryHeap::new(),
            datagrams: Vec::new(),
            restarts,
            sequence: 0,
            tally,
        }
    }

    /// Runs until each operation has ended, and checks what is in the memory then.
    pub(crate) fn run(&mut self) {
        loop {
            for user in 0..self.users.len() {
                self.use_memory(user);
            }
            let waiting = self.users.iter().any(|user| user.left > 0 || !user.open.is_empty());
            if !waiting {
                break;
            }
            let timers = self.users.iter().filter_map(|user| user.client.next_timer());
            let arrival = self.network.peek().map(|(Reverse(time), ..)| *time);
            let next = timers.chain(arrival).chain(self.restarts.iter().copied()).min();
            // A client whose connection is refused tries again a little later.
            self.now = self.now.max(next.unwrap_or(self.now + Span::from_millis(1)));
            assert!(self.now < Time::from_secs(600), "operations do not end");
            self.restart_server();
            self.deliver();
        }
        self.check_memory();
        for user in &self.users {
            self.tally.packets += user.packets.0 + user.client.counters().packets;
            self.tally.repeated += user.packets.1 + user.client.counters().repeated;
        }
    }

    fn restart_server(&mut self) {
        let (now, before) = (self.now, self.restarts.len());
        self.restarts.retain(|time| *time > now);
        if self.restarts.len() < before {
            self.incarnation += 1;
            self.tally.restarts += 1;
            self.server =
                server(self.server_address, self.users.len(), self.incarnation, self.random.u64(..));
        }
    }

    fn deliver(&mut self) {
        while let Some((Reverse(time), _, index)) = self.network.peek().copied() {
            if time > self.now {
                return;
            }
            self.network.pop();
            let Datagram { from, to, octets } = &self.datagrams[index];
            let (from, to, octets) = (*from, *to, octets.clone());
            if to == self.server_address {
                self.server.receive(self.now, from, &octets);
                let mut out = Vec::new();
                // A busy server does not always send at once.
                while self.random.u32(..8) > 0
                    && let Some(to) = self.server.poll_transmit(&mut out)
                {
                    self.send(self.server_address, to, std::mem::take(&mut out));
                }
            } else if let Some(user) = self.users.iter_mut().find(|user| user.address == to) {
                user.client.receive(self.now, from, &octets);
            }
        }
        let mut out = Vec::new();
        while let Some(to) = self.server.poll_transmit(&mut out) {
            self.send(self.server_address, to, std::mem::take(&mut out));
        }
    }

    fn send(&mut self, from: SocketAddr, to: SocketAddr, octets: Vec<u8>) {
        if self.random.u32(..1000) < self.weather.lost {
            return;
        }
        let copies = if self.random.u32(..1000) < self.weather.repeated { 2 } else { 1 };
        self.datagrams.push(Datagram { from, to, octets });
        for _ in 0..copies {
            let jitter = self.random.u64(..=self.weather.jitter.as_nanos() as u64);
            let late = self.random.u32(..1000) < self.weather.very_late;
            let late = if late { self.random.u64(..500_000_000) } else { 0 };
            self.sequence += 1;
            let time = self.now + Span::from_nanos(5000 + jitter + late);
            self.network.push((Reverse(time), Reverse(self.sequence), self.datagrams.len() - 1));
        }
    }

    fn use_memory(&mut self, user: usize) {
        self.connect(user);
        while self.random.u32(..4) > 0 && self.submit(user) {}
        while let Some(completion) = self.users[user].client.poll(self.now) {
            self.completed(user, completion);
        }
        let mut out = Vec::new();
        while let Some(to) = self.users[user].client.poll_transmit(self.now, &mut out) {
            self.send(self.users[user].address, to, std::mem::take(&mut out));
        }
        // What the time-out of this call has ended.
        while let Some(completion) = self.users[user].client.poll(self.now) {
            self.completed(user, completion);
        }
    }

    fn connect(&mut self, number: usize) {
        let user = &mut self.users[number];
        match user.client.status() {
            Status::Idle | Status::Failed(_) | Status::NotConnected(_) if user.open.is_empty() => {
                let counters = user.client.counters();
                if user.client.status() != Status::Idle && user.incarnation.is_some() {
                    user.packets = (user.packets.0 + counters.packets, user.packets.1 + counters.repeated);
                }
                user.client.connect(self.now);
            }
            Status::Connected => {
                let found = user.client.description().unwrap().incarnation;
                if user.incarnation.replace(found).is_some_and(|before| before != found) {
                    // The server has restarted since: its memory is empty, and old packets do not change it.
                    user.possible.iter_mut().for_each(|octet| *octet = vec![0]);
                    (user.added, user.maybe_added) = (0, 0);
                }
            }
            _ => {}
        }
    }

    /// Submits a random operation, if it can be.
    fn submit(&mut self, number: usize) -> bool {
        let user = &mut self.users[number];
        if user.left == 0 || user.client.status() != Status::Connected {
            return false;
        }
        let start = number as u64 * PART;
        let description = *user.client.description().unwrap();
        let at = self.random.usize(8..PART as usize - 1);
        let length = self.random.usize(1..=(PART as usize - at).min(900));
        let fence = self.random.u8(..3) == 0;
        let place = description.place(start + at as u64);
        let (kind, operation) = if self.random.u32(..1000) < self.weather.wrong {
            let place = causeway_memory::Place { rkey: Rkey(1), ..place };
            (Kind::Wrong, Operation::write(place, vec![0xff; length]))
        } else {
            match self.random.u8(..3) {
                0 => {
                    let token = user.token % 250 + 1;
                    (Kind::Write { at, length, token }, Operation::write(place, vec![token; length]))
                }
                1 if user.next_bit < BITS => {
                    let bit = user.next_bit;
                    (Kind::Add { bit }, Operation::fetch_add(description.place(start), 1 << bit))
                }
                _ => (Kind::Read { at, length }, Operation::read(place, length as u32)),
            }
        };
        let operation = if fence { operation.fenced() } else { operation };
        let id = match user.client.submit(self.now, QueuePair(0), operation) {
            Ok(id) => id,
            Err(SubmitError::QueueFull | SubmitError::Failed(_)) => return false,
            Err(error) => panic!("{error}"),
        };
        match kind {
            Kind::Write { .. } => user.token += 1,
            Kind::Add { .. } => user.next_bit += 1,
            _ => {}
        }
        user.left -= 1;
        user.open.push_back(Open { id, kind, fence });
        self.tally.operations += 1;
        true
    }

    /// Each operation ends once, in order, and as the order of its queue pair implies.
    fn completed(&mut self, number: usize, completion: Completion) {
        let user = &mut self.users[number];
        let open = user.open.pop_front().expect("an operation that is open");
        assert_eq!(completion.id, open.id, "operations end once and in order");
        match completion.result {
            Ok(outcome) => {
                self.tally.done += 1;
                user.done(&open.kind, outcome);
            }
            Err(error) => {
                let name = format!("{:?}, effect {:?}", error.failure, error.effect);
                *self.tally.failed.entry(name).or_default() += 1;
                if matches!(open.kind, Kind::Read { .. }) {
                    assert_eq!(error.effect, Effect::None);
                }
                if error.failure == Failure::RemoteAccess {
                    assert!(matches!(open.kind, Kind::Wrong), "refused without a reason");
                }
                if error.failure == Failure::Restarted {
                    assert!(self.incarnation > 1, "a restart that was none");
                }
                assert!(
                    error.failure != Failure::RemoteInvalidRequest
                        && error.failure != Failure::RemoteOperation
                );
                user.failed(&open.kind, error.effect);
            }
        }
    }

    /// After the last packet: counters are exact, and each octet is one that it can be.
    fn check_memory(&mut self) {
        while let Some((Reverse(time), ..)) = self.network.peek().copied() {
            self.now = self.now.max(time);
            self.deliver();
        }
        for (number, user) in self.users.iter().enumerate() {
            if user.incarnation != Some(Incarnation(self.incarnation)) {
                continue;
            }
            let region = self.server.regions().get(RKEY).unwrap();
            let part = &region.octets()[number * PART as usize..][..PART as usize];
            let counter = u64::from_le_bytes(*part.first_chunk().unwrap());
            user.check_counter(counter);
            for (at, octet) in part.iter().enumerate().skip(8) {
                assert!(user.possible[at].contains(octet), "octet {at}: {octet} of {:?}", user.possible[at]);
            }
        }
    }
}

impl User {
    fn check_counter(&self, counter: u64) {
        assert_eq!(counter & self.added, self.added, "an addition is lost");
        assert_eq!(
            counter & !(self.added | self.maybe_added),
            0,
            "an addition is done twice, or without a right"
        );
    }

    fn done(&mut self, kind: &Kind, outcome: Outcome) {
        match (kind, outcome) {
            (Kind::Write { at, length, token }, Outcome::Written) => {
                self.possible[*at..at + length].iter_mut().for_each(|octet| *octet = vec![*token]);
            }
            (Kind::Add { bit }, Outcome::Added(original)) => {
                self.check_counter(original);
                self.added |= 1 << bit;
            }
            (Kind::Read { at, length }, Outcome::Read(octets)) => {
                assert_eq!(octets.len(), *length);
                for (at, octet) in (*at..).zip(&octets) {
                    let mut seen = self.possible[at].contains(octet);
                    // A read that was repeated sees later writes, up to the first fence.
                    for later in self.open.iter().take_while(|open| !open.fence) {
                        if let Kind::Write { at: start, length, token } = later.kind {
                            seen |= (start..start + length).contains(&at) && token == *octet;
                        }
                    }
                    assert!(seen, "octet {at} is {octet}, not one of {:?}", self.possible[at]);
                }
            }
            (_, outcome) => panic!("{outcome:?} for another operation"),
        }
    }

    fn failed(&mut self, kind: &Kind, effect: Effect) {
        match (kind, effect) {
            (Kind::Write { at, length, token }, Effect::Unknown) => {
                self.possible[*at..at + length].iter_mut().for_each(|octet| octet.push(*token));
            }
            (Kind::Add { bit }, Effect::Unknown) => self.maybe_added |= 1 << bit,
            _ => {}
        }
    }
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.worlds += other.worlds;
        self.operations += other.operations;
        self.done += other.done;
        self.packets += other.packets;
        self.repeated += other.repeated;
        self.restarts += other.restarts;
        for (name, count) in &other.failed {
            *self.failed.entry(name.clone()).or_default() += count;
        }
    }
}
