//! A model of external memory: requesters and responders over modelled links and adapters, in model time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use causeway_packet::roce::management::Mtu;
use causeway_packet::roce::{Outer, Packet, Psn, Qpn, Transport, UDP_PORT};
use causeway_types::{Span, Time};

use crate::{
    Completion, ExternalMemory, Failure, Operation, OperationId, QueuePair, Regions, Requester,
    RequesterConfig, RequesterCounters, Responder, ResponderConfig, ResponderCounters, SubmitError,
};

/// Octets on an Ethernet link around an IPv4 datagram: preamble and start 8, header 14, FCS 4, gap 12 (IEEE 802.3), IPv4 20, UDP 8.
const AROUND: u64 = 8 + 14 + 4 + 12 + 20 + 8;
/// Octets of the smallest Ethernet frame with what is around it.
const SMALLEST: u64 = 84;
const PICOS_PER_NANO: u64 = 1000;
const PICOS_PER_SECOND: u64 = 1_000_000_000_000;
/// The responders of one queue pair after another have other numbers.
const FIRST_QPN: u32 = 0x10;

/// Each parameter of the model.
///
/// X is Liu et al., X-PLANE (MobiCom '23), R the code that its authors released, IBA the InfiniBand Architecture Specification. Values
/// are those of [`ModelParameters::X_PLANE`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ModelParameters {
    /// Ports of memory servers, each with a link and an adapter of its own. A queue pair uses the port of its number modulo these. 8: X 7.1,
    /// two servers of four adapters.
    pub ports: u16,
    /// Rate of a link, bits per second and direction. 100 Gbit/s: X 7.1.
    pub link_rate: u64,
    /// From the first octet of a request to that of its response, but for the time on the links and in queues. 2.5 us: X 7.3, of about
    /// 3 us of the fast path 83 % are the access to memory.
    pub round_trip: Span,
    /// READs that an adapter executes in a second. 40 million: X 7.3, "near 40 Mpps".
    pub reads: u64,
    /// WRITE packets that an adapter executes in a second. 120 million: X 7.3.
    pub writes: u64,
    /// Atomic operations that an adapter executes in a second. 40 million: an assumption, as many as READs; X has no figure.
    pub atomics: u64,
    /// Queue pairs. 64: R, 32 for each of two servers.
    pub queue_pairs: u16,
    /// READs and atomic operations outstanding on a queue pair. 16: R, as the adapters of X 7.1 do.
    pub initiator_depth: u8,
    /// Packets outstanding on a queue pair. 128: an assumption; R does not limit WRITEs.
    pub window: u32,
    /// Payload of a packet. 4096: an assumption, so that an entry of 2 KB (X 6) comes in one packet.
    pub mtu: Mtu,
    /// The longest operation, octets. 4096: two entries (X 6).
    pub max_length: u32,
    /// Operations in the queue of a queue pair. 1024: an assumption.
    pub queue: usize,
    /// Part of the packets that a link loses. 0: X has no figure, and expects a lossless network.
    pub loss: f64,
    /// Local ACK timeout. 65.536 us: IBA clause 9.7.6, 4.096 us times 2^4; an assumption, 26 round trips.
    pub timeout: Span,
    /// Retry count. 7: IBA clause 9.7.6, the largest.
    pub retries: u8,
}

impl ModelParameters {
    /// The testbed of X-PLANE.
    pub const X_PLANE: Self = Self {
        ports: 8,
        link_rate: 100_000_000_000,
        round_trip: Span::from_nanos(2500),
        reads: 40_000_000,
        writes: 120_000_000,
        atomics: 40_000_000,
        queue_pairs: 64,
        initiator_depth: 16,
        window: 128,
        mtu: Mtu::M4096,
        max_length: 4096,
        queue: 1024,
        loss: 0.0,
        timeout: Span::from_nanos(65_536),
        retries: 7,
    };
}

/// The use of the links and adapters, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ModelCounters {
    /// Octets on the links to the servers, with everything that an Ethernet frame takes.
    pub octets_out: u64,
    /// Octets on the links from the servers.
    pub octets_in: u64,
    /// Packets that the links lost.
    pub lost: u64,
    /// Restarts of the servers.
    pub restarts: u64,
    /// The requesters' work.
    pub packets: u64,
    /// Request packets that were sent again.
    pub repeated: u64,
}

/// Model time in picoseconds: a short packet takes 6.72 ns.
type Picos = u64;

/// When the parts of a port are free.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Port {
    link_out: Picos,
    link_in: Picos,
    reads: Picos,
    writes: Picos,
    atomics: Picos,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Pair {
    requester: Requester,
    /// `None` after a restart.
    responder: Option<Responder>,
    /// The number of the connection: packets of an earlier one are not executed.
    connection: u32,
    /// When the adapter has executed the last request.
    executed: Picos,
    has_timer: bool,
    /// Completions that were not polled.
    unpolled: usize,
    counters: RequesterCounters,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    AtServer { connection: u32, octets: Vec<u8> },
    AtClient { connection: u32, octets: Vec<u8> },
    Timer,
}

/// External memory in model time.
///
/// Requests and responses are the packets of [`Requester`] and [`Responder`]: order within a queue pair, repetition after loss and the
/// execution of each operation once are the protocol's own. The links of a port send one packet after the other; its adapter executes
/// READs, WRITE packets and atomic operations at their rates, each kind for itself, and those of a queue pair in order. Equal seeds and
/// equal inputs give equal results.
#[derive(Clone, Debug)]
pub struct Model {
    parameters: ModelParameters,
    /// The memory, as it was given; a restart sets it to zero.
    regions: Regions,
    pairs: Vec<Pair>,
    ports: Vec<Port>,
    events: BinaryHeap<Reverse<(Picos, u64, u16, Event)>>,
    sequence: u64,
    done: VecDeque<Completion>,
    random: fastrand::Rng,
    counters: ModelCounters,
}

impl Model {
    /// Memory with these regions, all queue pairs connected.
    pub fn new(parameters: ModelParameters, regions: Regions, seed: u64) -> Self {
        let mut model = Self {
            pairs: Vec::new(),
            ports: vec![Port::default(); usize::from(parameters.ports.max(1))],
            parameters,
            regions,
            events: BinaryHeap::new(),
            sequence: 0,
            done: VecDeque::new(),
            random: fastrand::Rng::with_seed(seed),
            counters: ModelCounters::default(),
        };
        for number in 0..parameters.queue_pairs {
            // Numbers of operations of one queue pair do not reach those of the next.
            let first_id = OperationId(u64::from(number) << 48);
            let pair = model.pair(QueuePair(number), first_id, 0);
            model.pairs.push(pair);
        }
        model
    }

    /// The parameters.
    pub const fn parameters(&self) -> &ModelParameters {
        &self.parameters
    }

    /// The memory.
    pub const fn regions(&self) -> &Regions {
        &self.regions
    }

    /// The use of links and adapters so far.
    pub fn counters(&self) -> ModelCounters {
        let mut counters = self.counters;
        for pair in &self.pairs {
            counters.packets += pair.counters.packets + pair.requester.counters().packets;
            counters.repeated += pair.counters.repeated + pair.requester.counters().repeated;
        }
        counters
    }

    /// What the responders of the present connections did.
    pub fn work(&self) -> ResponderCounters {
        let mut work = ResponderCounters::default();
        for responder in self.pairs.iter().filter_map(|pair| pair.responder.as_ref()) {
            work.add(responder.counters());
        }
        work
    }

    /// All servers restart: the memory is zero, and no queue pair is known there. Operations fail after their retries, with
    /// [`Failure::Restarted`].
    pub fn restart(&mut self, now: Time) {
        self.advance(now);
        self.counters.restarts += 1;
        self.regions.clear();
        self.pairs.iter_mut().for_each(|pair| pair.responder = None);
    }

    /// Connects a queue pair that has failed. The time of the set-up is not part of the model.
    ///
    /// # Errors
    /// There is no such queue pair.
    pub fn connect(&mut self, now: Time, queue_pair: QueuePair) -> Result<(), SubmitError> {
        self.advance(now);
        let index = usize::from(queue_pair.0);
        let pair = self.pairs.get(index).ok_or(SubmitError::UnknownQueuePair(queue_pair.0))?;
        let mut next = self.pair(queue_pair, pair.requester.next_id(), pair.connection.wrapping_add(1));
        next.unpolled = pair.unpolled;
        next.has_timer = pair.has_timer;
        next.counters = pair.counters;
        next.counters.packets += pair.requester.counters().packets;
        next.counters.repeated += pair.requester.counters().repeated;
        if let Some(pair) = self.pairs.get_mut(index) {
            *pair = next;
        }
        Ok(())
    }

    fn pair(&self, queue_pair: QueuePair, first_id: OperationId, connection: u32) -> Pair {
        let parameters = &self.parameters;
        let (peer, first_psn) = (Qpn::wrapping(FIRST_QPN + u32::from(queue_pair.0)), Psn::wrapping(0));
        let requester = RequesterConfig {
            peer,
            first_psn,
            mtu: parameters.mtu,
            window: parameters.window,
            initiator_depth: parameters.initiator_depth,
            queue: parameters.queue,
            max_length: parameters.max_length,
            timeout: parameters.timeout,
            retries: parameters.retries,
        };
        let responder = ResponderConfig {
            peer,
            first_psn,
            mtu: parameters.mtu,
            resources: parameters.initiator_depth,
            max_read: parameters.max_length,
        };
        Pair {
            requester: Requester::new(requester, queue_pair, first_id),
            responder: Some(Responder::new(responder)),
            connection,
            executed: 0,
            has_timer: false,
            unpolled: 0,
            counters: RequesterCounters::default(),
        }
    }

    /// Does all that is due until this time.
    fn advance(&mut self, now: Time) {
        let until = picos(now);
        while let Some(Reverse((time, ..))) = self.events.peek()
            && *time <= until
            && let Some(Reverse((time, _, number, event))) = self.events.pop()
        {
            self.event(time, number, event);
        }
    }

    fn event(&mut self, time: Picos, number: u16, event: Event) {
        let now = Time::from_nanos(time / PICOS_PER_NANO);
        let Some(pair) = self.pairs.get_mut(usize::from(number)) else { return };
        match event {
            Event::AtServer { connection, octets } => {
                let responder = pair.responder.as_mut().filter(|_| connection == pair.connection);
                if let (Some(responder), Ok(packet)) = (responder, Packet::parse(&octets)) {
                    responder.receive(&mut self.regions, &packet.repr());
                }
                self.respond(time, number);
            }
            Event::AtClient { connection, octets } => {
                if let Ok(packet) = Packet::parse(&octets)
                    && connection == pair.connection
                {
                    pair.requester.receive(now, &packet);
                }
                self.request(time, number);
            }
            Event::Timer => {
                pair.has_timer = false;
                pair.requester.tick(now);
                if pair.requester.failure() == Some(Failure::RetryExceeded) {
                    let has_restarted = pair.responder.is_none();
                    let failure = if has_restarted { Failure::Restarted } else { Failure::RetryExceeded };
                    pair.requester.flush(failure);
                }
                self.request(time, number);
            }
        }
    }

    /// Sends what the requester has to send, and takes its completions.
    fn request(&mut self, time: Picos, number: u16) {
        // A time is rounded up to what the requester counts in, so that its time-outs are not early.
        let now = Time::from_nanos(time.div_ceil(PICOS_PER_NANO));
        let ports = self.ports.len();
        let one_way = self.parameters.round_trip.as_nanos() as Picos * PICOS_PER_NANO / 2;
        let (Some(pair), Some(port)) =
            (self.pairs.get_mut(usize::from(number)), self.ports.get_mut(usize::from(number) % ports))
        else {
            return;
        };
        while let Some(packet) = pair.requester.poll_transmit(now) {
            let mut octets = Vec::new();
            if packet.write(&OUTER, &mut octets).is_err() {
                continue;
            }
            let length = on_link(octets.len());
            self.counters.octets_out += length;
            port.link_out = port.link_out.max(time) + duration(length * 8, self.parameters.link_rate);
            if is_lost(&mut self.random, self.parameters.loss) {
                self.counters.lost += 1;
                continue;
            }
            let arrival = port.link_out + one_way;
            let (unit, rate) = match packet.transport {
                Transport::ReadRequest(_) => (&mut port.reads, self.parameters.reads),
                Transport::FetchAdd(_) => (&mut port.atomics, self.parameters.atomics),
                _ => (&mut port.writes, self.parameters.writes),
            };
            *unit = (*unit).max(arrival) + duration(1, rate);
            pair.executed = pair.executed.max(*unit);
            self.sequence += 1;
            let event = Event::AtServer { connection: pair.connection, octets };
            self.events.push(Reverse((pair.executed, self.sequence, number, event)));
        }
        if let Some(deadline) = pair.requester.next_timer()
            && !std::mem::replace(&mut pair.has_timer, true)
        {
            self.sequence += 1;
            self.events.push(Reverse((picos(deadline), self.sequence, number, Event::Timer)));
        }
        while let Some(completion) = pair.requester.poll() {
            pair.unpolled += 1;
            self.done.push_back(completion);
        }
    }

    fn respond(&mut self, time: Picos, number: u16) {
        let ports = self.ports.len();
        let one_way = self.parameters.round_trip.as_nanos() as Picos * PICOS_PER_NANO / 2;
        let (Some(pair), Some(port)) =
            (self.pairs.get_mut(usize::from(number)), self.ports.get_mut(usize::from(number) % ports))
        else {
            return;
        };
        let Some(responder) = &mut pair.responder else { return };
        while let Some(packet) = responder.poll_transmit(&self.regions) {
            let mut octets = Vec::new();
            if packet.write(&OUTER, &mut octets).is_err() {
                continue;
            }
            let length = on_link(octets.len());
            self.counters.octets_in += length;
            port.link_in = port.link_in.max(time) + duration(length * 8, self.parameters.link_rate);
            if is_lost(&mut self.random, self.parameters.loss) {
                self.counters.lost += 1;
                continue;
            }
            self.sequence += 1;
            let event = Event::AtClient { connection: pair.connection, octets };
            self.events.push(Reverse((port.link_in + one_way, self.sequence, number, event)));
        }
    }
}

impl ExternalMemory for Model {
    fn queue_pairs(&self) -> u16 {
        self.parameters.queue_pairs
    }

    fn submit(
        &mut self,
        now: Time,
        queue_pair: QueuePair,
        operation: Operation,
    ) -> Result<OperationId, SubmitError> {
        self.advance(now);
        let pair = self.pairs.get_mut(usize::from(queue_pair.0));
        let pair = pair.ok_or(SubmitError::UnknownQueuePair(queue_pair.0))?;
        if pair.requester.outstanding() + pair.unpolled >= self.parameters.queue {
            return Err(SubmitError::QueueFull);
        }
        let id = pair.requester.submit(operation)?;
        self.request(picos(now), queue_pair.0);
        Ok(id)
    }

    fn has_place(&self, queue_pair: QueuePair, operation: &Operation) -> bool {
        let has_place = |pair: &Pair| {
            pair.requester.outstanding() + pair.unpolled < self.parameters.queue
                && pair.requester.has_place(operation)
        };
        self.pairs.get(usize::from(queue_pair.0)).is_none_or(has_place)
    }

    fn poll(&mut self, now: Time) -> Option<Completion> {
        self.advance(now);
        let completion = self.done.pop_front()?;
        if let Some(pair) = self.pairs.get_mut(usize::from(completion.queue_pair.0)) {
            pair.unpolled = pair.unpolled.saturating_sub(1);
        }
        Some(completion)
    }

    fn next_timer(&self) -> Option<Time> {
        let Reverse((time, ..)) = self.events.peek()?;
        Some(Time::from_nanos(time.div_ceil(PICOS_PER_NANO)))
    }
}

/// The outer headers of all packets: the CRC takes its place and its time, but nothing damages packets here.
const OUTER: Outer = Outer::of_socket(
    SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, UDP_PORT)),
    SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, UDP_PORT)),
);

const fn picos(time: Time) -> Picos {
    time.as_nanos().saturating_mul(PICOS_PER_NANO)
}

/// Octets that a packet takes on a link.
fn on_link(packet: usize) -> u64 {
    (packet as u64 + AROUND).max(SMALLEST)
}

/// The time for so many units at a rate per second; a rate of zero counts as one.
fn duration(units: u64, rate: u64) -> Picos {
    let picos = u128::from(units) * u128::from(PICOS_PER_SECOND) / u128::from(rate.max(1));
    u64::try_from(picos).unwrap_or(u64::MAX)
}

fn is_lost(random: &mut fastrand::Rng, loss: f64) -> bool {
    loss > 0.0 && random.f64() < loss
}
