//! The model as a driver, in model time.

use std::collections::{BTreeMap, HashMap, VecDeque};

use causeway_types::Time;
use foldhash::fast::RandomState;

use super::operation::{Operation, counters};
use super::passes::{Bounds, Digest, Output, Pass, PassCounters, Refused};
use super::queue::Port;
use super::register::Side;
use super::state::State;
use super::timing::Timing;
use crate::Count;
use crate::driver::{
    DriverError, EntryKey, Link, Outcome, Program, Rejected, Reply, Request, Resource, SwitchDriver, Ticket,
    Update, WriteError,
};

/// The packet path of the program, on both sides of the queues.
pub trait Pipeline {
    /// A packet between the two sides, with its metadata.
    type Packet;

    /// A frame was received on a port, or passes once more. Its output, including copies, goes to `out`.
    fn ingress(
        &mut self,
        state: &mut State,
        now: Time,
        port: u16,
        frame: &[u8],
        out: &mut Output<Self::Packet>,
    );

    /// A packet is dequeued. Returns the frame to be transmitted.
    fn egress(&mut self, state: &mut State, now: Time, port: u16, packet: Self::Packet) -> Option<Vec<u8>>;

    /// The copy that the program has made of the packet that it has just processed at egress, to be queued in its turn: a mirror of the
    /// egress side.
    fn take_copy(&mut self) -> Option<QueuedPacket<Self::Packet>> {
        None
    }

    /// Accounts for all traffic before `now`, since `touched` is about to be read or written. A no-op where each packet
    /// is received individually; for traffic that is computed on demand.
    fn settle(&mut self, _state: &mut State, _now: Time, _touched: Access<'_>) {}
}

/// An imminent access.
#[derive(Clone, Copy, Debug)]
pub enum Access<'a> {
    /// The counter of an entry is read.
    Entry(&'a EntryKey),
    /// A counter by index is read.
    Counter {
        /// P4Runtime id.
        counter: u32,
        /// The index.
        index: u32,
    },
    /// All of these updates are made, unless one is invalid.
    Batch(&'a [Update]),
}

/// A packet on its way to a queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueuedPacket<T> {
    /// The egress port.
    pub port: u16,
    /// The queue of that port, below [`super::QUEUES`].
    pub queue: u8,
    /// The octets that it takes of the queue's capacity and of the port's rate.
    pub octets: u64,
    /// The packet.
    pub packet: T,
}

/// The configuration of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The cost of requests.
    pub timing: Timing,
    /// The port whose frames are sent to the controller.
    pub cpu_port: u16,
    /// Octets per second of each other port; `None`: unlimited.
    pub port_rate: Option<u64>,
    /// Capacity of a queue in octets.
    pub queue_room: u64,
}

/// What a packet in a queue has been through.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    recirculations: u8,
    /// Of how many copies in a row that egress has made it is the last.
    copies: u8,
}

/// A switch in memory.
#[derive(Debug)]
pub struct Model<P: Pipeline> {
    config: Config,
    state: State,
    pipeline: P,
    /// Packets in queues, with what they have been through.
    ports: BTreeMap<u16, Port<(Way, P::Packet)>>,
    operations: Vec<Operation>,
    /// Until when each resource is in use.
    in_use: HashMap<Resource, Time, RandomState>,
    outcomes: VecDeque<(Ticket, Outcome)>,
    tickets: u64,
    to_controller: VecDeque<Vec<u8>>,
    sent: VecDeque<(Time, u16, Vec<u8>)>,
    overflowed: u64,
    links: VecDeque<Link>,
    bounds: Bounds,
    passes: PassCounters,
    refused: Option<Refused>,
    digests: VecDeque<Digest>,
}

impl<P: Pipeline> Model<P> {
    /// An empty switch with this program.
    pub fn new(program: Program, pipeline: P, config: Config) -> Self {
        Self {
            config,
            state: State::new(program),
            pipeline,
            ports: BTreeMap::new(),
            operations: Vec::new(),
            in_use: HashMap::default(),
            outcomes: VecDeque::new(),
            tickets: 0,
            to_controller: VecDeque::new(),
            sent: VecDeque::new(),
            overflowed: 0,
            links: VecDeque::new(),
            bounds: Bounds::default(),
            passes: PassCounters::default(),
            refused: None,
            digests: VecDeque::new(),
        }
    }

    /// The same, with a program that asks for second passes, mirrored copies or digests within these bounds.
    #[must_use]
    pub fn with_bounds(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// Receives a frame on a port. Time must not go back from call to call.
    pub fn receive(&mut self, now: Time, port: u16, frame: &[u8]) {
        self.advance(now);
        self.ingress(now, port, frame, Pass::default());
        self.advance(now);
    }

    /// Passes a frame through ingress, as often as the program resubmits it.
    fn ingress(&mut self, now: Time, port: u16, frame: &[u8], mut pass: Pass) {
        loop {
            let mut out = Output::new(pass, self.bounds);
            self.state.begin_pass(Side::Ingress);
            self.pipeline.ingress(&mut self.state, now, port, frame, &mut out);
            let bad_access = self.state.bad_access().map(Refused::Register);
            let most = self.bounds.resubmissions;
            let too_often = out.resubmission.is_some() && pass.resubmissions >= most;
            let refused = bad_access.or(out.refused).or(too_often.then_some(Refused::Resubmissions { most }));
            if let Some(refused) = refused {
                return self.refuse(refused);
            }
            self.passes.mirrored += out.mirrors.len() as u64;
            self.passes.truncated += out.truncated;
            for digest in out.digests {
                self.passes.digests += 1;
                if self.digests.len() < self.bounds.digests_waiting {
                    self.digests.push_back(digest);
                } else {
                    self.passes.digests_lost += 1;
                }
            }
            let way = Way { recirculations: pass.recirculations, copies: 0 };
            out.mirrors.into_iter().for_each(|copy| self.enqueue(now, way, copy));
            let Some(data) = out.resubmission else {
                out.packets.into_iter().for_each(|packet| self.enqueue(now, way, packet));
                return;
            };
            self.passes.resubmitted += 1;
            pass = Pass { resubmissions: pass.resubmissions + 1, data, ..pass };
        }
    }

    fn enqueue(&mut self, now: Time, way: Way, packet: QueuedPacket<P::Packet>) {
        let QueuedPacket { port, queue, octets, packet } = packet;
        let rate = self.config.port_rate.filter(|_| port != self.config.cpu_port);
        let queues = self.ports.entry(port).or_insert_with(|| Port::new(rate, self.config.queue_room));
        self.overflowed += u64::from(!queues.enqueue(now, queue, octets, (way, packet)));
    }

    /// Drops a packet whose program asks for more than it may.
    fn refuse(&mut self, refused: Refused) {
        self.passes.refused += 1;
        self.refused.get_or_insert(refused);
    }

    /// The next frame that was transmitted on a port other than the CPU port, with its time and port.
    pub fn poll_sent(&mut self) -> Option<(Time, u16, Vec<u8>)> {
        self.sent.pop_front()
    }

    /// Packets that their full queue has dropped.
    pub const fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// What packets have asked for besides leaving.
    pub const fn passes(&self) -> PassCounters {
        self.passes
    }

    /// The first thing that the program asked for and may not; its packets were dropped. `None`: it keeps within what a
    /// switch can do and what it says it needs.
    pub const fn refused(&self) -> Option<&Refused> {
        self.refused.as_ref()
    }

    /// The next digest, oldest first.
    pub fn poll_digest(&mut self) -> Option<Digest> {
        self.digests.pop_front()
    }

    /// The tables, counters, meters and registers.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// The packet path.
    pub const fn pipeline_mut(&mut self) -> &mut P {
        &mut self.pipeline
    }

    /// Loses all state, packets included, answers none of the requests in flight, and is available again immediately.
    pub fn restart(&mut self, now: Time) {
        self.advance(now);
        self.state.clear();
        self.ports.values_mut().for_each(Port::clear);
        let lost = self.operations.drain(..).map(|operation| (operation.ticket, Err(DriverError::Uncertain)));
        self.outcomes.extend(lost);
        self.in_use.clear();
        self.digests.clear();
        self.links.extend([Link::Down, Link::Up { emptied: true }]);
    }

    /// Advances time: packets are dequeued, counters are read, batches take effect.
    pub fn advance(&mut self, now: Time) {
        loop {
            let leaving = self.ports.iter().filter_map(|(port, queues)| Some((queues.next()?, *port))).min();
            let places = self.operations.iter().enumerate();
            let acting = places.map(|(place, operation)| (self.next_step(operation), place)).min();
            match (leaving, acting) {
                (Some((at, port)), acting) if at <= now && acting.is_none_or(|(step, _)| at <= step) => {
                    self.dequeue(at, port);
                }
                (_, Some((at, place))) if at <= now => self.step(at, place),
                _ => return,
            }
        }
    }

    fn dequeue(&mut self, now: Time, port: u16) {
        let queued = self.ports.get_mut(&port).and_then(Port::dequeue);
        let Some((way, packet)) = queued else { return };
        self.state.begin_pass(Side::Egress);
        let frame = self.pipeline.egress(&mut self.state, now, port, packet);
        let copy = self.pipeline.take_copy();
        if let Some(error) = self.state.bad_access() {
            return self.refuse(error.into());
        }
        if let Some(copy) = copy {
            let most = self.bounds.egress_copies;
            if way.copies >= most {
                return self.refuse(Refused::EgressCopies { most });
            }
            self.passes.copied += 1;
            self.enqueue(now, Way { copies: way.copies + 1, ..way }, copy);
        }
        let Some(frame) = frame else { return };
        if port == self.config.cpu_port {
            self.to_controller.push_back(frame);
        } else if let Some(again) = self.bounds.recirculation.filter(|again| again.port == port) {
            if way.recirculations >= again.most {
                return self.refuse(Refused::Recirculations { most: again.most });
            }
            self.passes.recirculated += 1;
            let pass = Pass { recirculations: way.recirculations + 1, ..Pass::default() };
            self.ingress(now, port, &frame, pass);
        } else {
            self.sent.push_back((now, port, frame));
        }
    }

    /// When the next counter of an operation is read, or when the operation ends.
    fn next_step(&self, operation: &Operation) -> Time {
        if operation.counts.len() < counters(&operation.request) {
            operation.start + self.config.timing.until_read(operation.counts.len() + 1)
        } else {
            operation.end
        }
    }

    fn step(&mut self, now: Time, place: usize) {
        let Some(operation) = self.operations.get_mut(place) else { return };
        let next = operation.counts.len();
        let (state, pipeline) = (&mut self.state, &mut self.pipeline);
        let count = match &operation.request {
            Request::ReadDirect(keys) => keys.get(next).map(|key| {
                pipeline.settle(state, now, Access::Entry(key));
                state.direct_count(key)
            }),
            Request::ReadIndexed { counter, indices } => indices.get(next).map(|index| {
                pipeline.settle(state, now, Access::Counter { counter: *counter, index: *index });
                state.indexed_count(*counter, *index)
            }),
            Request::Write(_)
            | Request::ReadRegister { .. }
            | Request::ReadEntries { .. }
            | Request::PacketOut(_) => None,
        };
        match count {
            Some(count) => operation.counts.push(count),
            None => {
                let operation = self.operations.swap_remove(place);
                let outcome = self.outcome(now, operation.request, operation.counts);
                self.outcomes.push_back((operation.ticket, outcome));
            }
        }
    }

    fn outcome(&mut self, now: Time, request: Request, counts: Vec<Option<Count>>) -> Outcome {
        match request {
            Request::Write(updates) => {
                self.pipeline.settle(&mut self.state, now, Access::Batch(&updates));
                self.state.write(now, &updates)?;
                Ok(Reply::Done)
            }
            Request::ReadDirect(_) => Ok(Reply::Counts(counts)),
            Request::ReadIndexed { counter, indices } => {
                let missing = counts.iter().zip(&indices).position(|(count, _)| count.is_none());
                match missing.and_then(|update| Some((update, *indices.get(update)?))) {
                    None => Ok(Reply::Counts(counts)),
                    Some((update, index)) => {
                        let error = WriteError::UnknownCounter { counter, index };
                        Err(Rejected { update, error }.into())
                    }
                }
            }
            Request::ReadRegister { register, indices } => {
                let cells = indices.iter().enumerate().map(|(update, index)| {
                    let unknown = WriteError::UnknownRegister { register, index: *index };
                    self.state.register(register, *index).ok_or(Rejected { update, error: unknown })
                });
                Ok(Reply::Registers(cells.collect::<Result<_, _>>()?))
            }
            Request::ReadEntries { table } => {
                let unknown = Rejected { update: 0, error: WriteError::UnknownTable(table) };
                let entries = self.state.entries(table).ok_or(unknown)?;
                Ok(Reply::Entries(entries.cloned().collect()))
            }
            Request::PacketOut(_) => Ok(Reply::Done),
        }
    }
}

impl<P: Pipeline> SwitchDriver for Model<P> {
    fn submit(&mut self, now: Time, request: Request) -> Ticket {
        self.advance(now);
        let ticket = Ticket(self.tickets);
        self.tickets += 1;
        if let Request::PacketOut(frame) = &request {
            self.receive(now, self.config.cpu_port, frame);
        }
        let resources = request.resources();
        let busy = resources.iter().filter_map(|resource| self.in_use.get(resource));
        let start = busy.fold(now, |start, until| start.max(*until));
        let entries = match &request {
            Request::ReadEntries { table } => self.state.entries(*table).map_or(0, Iterator::count),
            _ => 0,
        };
        let end = start + self.config.timing.of(&request, entries);
        self.in_use.extend(resources.into_iter().map(|resource| (resource, end)));
        self.operations.push(Operation { ticket, request, start, end, counts: Vec::new() });
        ticket
    }

    fn poll(&mut self, now: Time) -> Option<(Ticket, Outcome)> {
        self.advance(now);
        self.outcomes.pop_front()
    }

    fn next_event(&self) -> Option<Time> {
        let ends = self.operations.iter().map(|operation| operation.end);
        ends.chain(self.ports.values().filter_map(Port::next)).min()
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        self.advance(now);
        self.to_controller.pop_front()
    }

    fn poll_link(&mut self, _now: Time) -> Option<Link> {
        self.links.pop_front()
    }
}
