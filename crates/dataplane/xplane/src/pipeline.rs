//! The way of a packet through the tables in external memory (X-PLANE section 5.4).
//!
//! 1. The packet is written behind the entries of its flow's bucket, and read back with them. If no packet of its UE is in flight, header
//!    and state of the UE are read before.
//! 2. A flow with an entry: the packet leaves by its rule.
//! 3. A flow without one: its rule is looked up in the UE table, block by block, and an entry is written. The packet waits in a ring in
//!    external memory; packets of the flow that come meanwhile wait behind it, and leave behind it. The blocks are read without the
//!    packet, and the ring is read together with the last block, so that a walk of n blocks takes n + 1 round trips in all.
//! 4. When the last packet in flight of a UE has left, the state is written.
//!
//! Several lookup keys of a session may have one state, which is in the record of one of them: a rate that two tunnels share has its tokens
//! there. It is read after the header that names it, so that the first packet takes a round trip more; packets that come meanwhile wait
//! behind it. It has a local state table of its own, since its packets in flight are those of several keys.
//!
//! The memory ends each operation, so that no packet waits for ever: the age limit of the local state table is not needed here.
//!
//! All operations of a UE go over one queue pair, which the hash of its key chooses. No packet of a flow passes another, whatever the
//! delays; packets whose order matters to nobody may.
//!
//! What cannot be decided here leaves with [`Verdict::SlowPath`], and has changed nothing. From then on all packets of the UE do so until
//! its state is written anew ([`Pipeline::is_empty`] first): so that they keep their order there, too.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU8;

use causeway_dataplane::DropReason;
use causeway_memory::{
    Completion, ExternalMemory, Failure, Operation, OperationId, Outcome, Place, QueuePair, SubmitError,
};
use causeway_types::{Direction, Span, Time};
use foldhash::fast::FixedState;

use crate::action::{ACTION, Action, Send};
use crate::flows::{ENTRIES, FlowEntry, Found, Generations, aged_table, find};
use crate::idle::IdleRings;
use crate::key::{Fields, FlowKey, UeKey};
use crate::layout::{Layout, MAX_PACKET, StatePlace, TAG, UE_WAYS};
use crate::local_state::{Arrived, LocalStateConfig, LocalStateTable, Ticket, Write, WriteTicket};
use crate::paging::{Left, Position, Ring, RingConfig, RingRead};
use crate::state::{Account, STATE_OCTETS, UeState};
use crate::ue_table::{
    BLOCK, HEAD, HEADER, MAX_ACTIONS, PDRS_OF_A_BLOCK, RuleRef, Target, UeHeader, UeRecord, encode_rules,
    match_block,
};

/// The attributes of a pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PipelineConfig {
    /// The local state table.
    pub local_state: LocalStateConfig,
    /// Where generations begin. Data planes that use a memory one after the other begin at numbers far from each other, for example at
    /// random: none applies what the one before has left there.
    pub first_generation: u64,
    /// Flow entries that were not used for so long give way to other flows, and are swept by a server that does so; uses are written after a quarter of
    /// it.
    pub flow_age: Span,
}

impl Default for PipelineConfig {
    /// A local state table of 26,000 entries, generations from 1, flows of 30 s.
    fn default() -> Self {
        Self { local_state: LocalStateConfig::default(), first_generation: 1, flow_age: Span::from_secs(30) }
    }
}

/// A packet that arrives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The caller's number, which comes back with the packet.
    pub token: u64,
    /// When it came, for accounts and meters.
    pub at: Time,
    /// The lookup key of its UE.
    pub ue: UeKey,
    /// What rules look at.
    pub fields: Fields,
    /// Its octets as they came, with a GTP-U header.
    pub frame: Vec<u8>,
    /// Where the user packet starts.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// Its type of service.
    pub tos: u8,
    /// Hops of the outer header.
    pub hops: Option<NonZeroU8>,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is sent, and was counted.
    Send(Send),
    /// It is dropped.
    Drop(DropReason),
    /// It is for the slow path, and was not counted.
    SlowPath(Why),
    /// The memory lost it.
    Lost,
}

/// Why a packet is for the slow path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Why {
    /// No record has the lookup key, or the record is of another generation.
    NoRecord,
    /// The rule, or that none matches.
    Rule,
    /// The account or a meter of the rule: the slow path must be asked.
    Account,
    /// Both places of the local state table are taken.
    LocalStateCollision,
    /// Both places of the flow table are taken.
    FlowCollision,
    /// Too many walks are under way.
    NoRing,
    /// An earlier packet of the UE is for the slow path.
    Behind,
}

/// A packet that leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departure {
    /// The number of its arrival.
    pub token: u64,
    /// Its octets as they came; empty if they are lost.
    pub frame: Vec<u8>,
    /// The user packet in them.
    pub user: std::ops::Range<usize>,
    /// Its type of service.
    pub tos: u8,
    /// Hops of the outer header.
    pub hops: Option<NonZeroU8>,
    /// When it arrived.
    pub arrived: Time,
    /// What becomes of it.
    pub verdict: Verdict,
}

/// What a pipeline did, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PipelineCounters {
    /// Packets whose flow had an entry.
    pub hits: u64,
    /// Walks of the UE table.
    pub walks: u64,
    /// Packets that waited for the walk of an earlier one.
    pub joined: u64,
    /// Entries that were written into the flow table.
    pub inserted: u64,
    /// Entries of flows that were not used for long, whose place one of those took.
    pub aged: u64,
    /// Uses that were written into entries.
    pub uses_written: u64,
    /// Packets that the slow path got, by [`Why`].
    pub slow: [u64; 7],
    /// Packets that the memory lost.
    pub lost: u64,
}

/// The UE of a local state.
#[derive(Clone, PartialEq, Eq, Debug)]
enum LocalUe {
    /// There is no record.
    Absent,
    Present {
        way: usize,
        header: UeHeader,
        state: UeState,
        is_closed: bool,
    },
}

/// A packet in flight; its octets are in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Flight {
    token: u64,
    ue: UeKey,
    flow: FlowKey,
    fields: Fields,
    ticket: Ticket,
    /// Of the state of several lookup keys.
    shared: Option<Ticket>,
    length: usize,
    start: usize,
    end: usize,
    tos: u8,
    hops: Option<NonZeroU8>,
    arrived: Time,
}

impl Flight {
    const fn departure(self, frame: Vec<u8>, verdict: Verdict) -> Departure {
        let Self { token, start, end, tos, hops, arrived, .. } = self;
        Departure { token, frame, user: start..end, tos, hops, arrived, verdict }
    }
}

/// A lookup in the UE table.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Walk {
    ring: usize,
    fields: Fields,
    direction: Direction,
    generation: u64,
    way: usize,
    pdrs: usize,
    actions: Vec<Action>,
    /// What was found; `None`: it is under way.
    found: Option<Option<(RuleRef, Action)>>,
    /// Where the entry goes.
    bucket: u64,
    /// `None`: nowhere, since the flow that has the place uses it again.
    place: Option<usize>,
    /// Another flow has the place, which was not used for long.
    takes_aged: bool,
}

/// Where a memory server that sweeps tables finds their description, and where the tables are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Directory {
    /// The place of the description.
    pub place: Place,
    /// Octets from the start of the server's region to the first of the tables.
    pub offset: u64,
}

/// What an operation is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// Header and state of a UE.
    Load { ue: UeKey, ticket: Ticket },
    /// The state of several lookup keys.
    LoadShared { place: StatePlace, ticket: Ticket },
    /// A packet with the entries of its flow.
    LookUp { flight: u64 },
    /// A block of PDRs.
    Block { ue: UeKey, flow: FlowKey, number: usize },
    /// A packet of a ring.
    Ring { ring: usize, read: RingRead },
    /// A packet that enters a paging ring.
    Page { ring: usize, position: Position },
    /// A packet of a paging ring.
    PageRead { ring: usize, read: RingRead },
    /// The state of a UE.
    State { ticket: WriteTicket },
    /// The state of several lookup keys.
    SharedState { ticket: WriteTicket },
    /// The use of a flow's entry.
    Use { bucket: u64, place: usize },
    /// A write whose failure leaves nothing to do.
    Plain,
    /// The control plane's.
    Control,
}

type Of = (UeKey, FlowKey);

/// The pipeline over a memory. Tables whose keys are numbers of its own need no seed.
#[derive(Debug)]
pub struct Pipeline<M> {
    memory: M,
    pub(crate) layout: Layout,
    config: PipelineConfig,
    generations: Generations,
    local: LocalStateTable<UeKey, LocalUe>,
    /// States of several lookup keys.
    shared: LocalStateTable<StatePlace, UeState>,
    /// Packets that wait for such a state, in order, with what was read for them.
    held: HashMap<StatePlace, VecDeque<(u64, Vec<u8>)>>,
    flights: HashMap<u64, Flight, FixedState>,
    next_flight: u64,
    walks: HashMap<Of, Walk>,
    /// Entries whose use is being written, by bucket and place: so many writes.
    uses: HashMap<(u64, usize), u32>,
    rings: Vec<Ring<(u64, u64, Vec<u8>)>>,
    free_rings: Vec<usize>,
    /// The flow of each ring, and its packets by position.
    ring_flows: Vec<Option<Of>>,
    ring_flights: HashMap<(usize, u64), u64, FixedState>,
    /// Packets of idle UEs.
    pub(crate) idle: IdleRings,
    purposes: HashMap<OperationId, Purpose, FixedState>,
    /// Operations that wait while their queue pair is full.
    backlog: Vec<VecDeque<(Operation, Purpose)>>,
    departures: VecDeque<Departure>,
    replies: VecDeque<Option<Vec<u8>>>,
    failure: Option<Failure>,
    counters: PipelineCounters,
}

impl<M: ExternalMemory> Pipeline<M> {
    /// A pipeline over tables at `base`, which hold no record.
    pub fn new(memory: M, sizes: crate::Sizes, base: Place, config: PipelineConfig) -> Self {
        let rings = sizes.rings as usize;
        let ring = || Ring::new(RingConfig { capacity: sizes.ring.max(1), ..RingConfig::DEFAULT });
        Self {
            backlog: (0..memory.queue_pairs().max(1)).map(|_| VecDeque::new()).collect(),
            memory,
            layout: Layout::new(sizes, base),
            generations: Generations::new(
                usize::try_from(sizes.ue_buckets).unwrap_or(usize::MAX),
                config.first_generation,
            ),
            local: LocalStateTable::new(config.local_state),
            shared: LocalStateTable::new(config.local_state),
            held: HashMap::new(),
            config,
            flights: HashMap::default(),
            next_flight: 1,
            walks: HashMap::new(),
            uses: HashMap::new(),
            rings: std::iter::repeat_with(ring).take(rings).collect(),
            free_rings: (0..rings).rev().collect(),
            ring_flows: vec![None; rings],
            ring_flights: HashMap::default(),
            idle: IdleRings::new(sizes.paging_rings, sizes.paging_ring),
            purposes: HashMap::default(),
            departures: VecDeque::new(),
            replies: VecDeque::new(),
            failure: None,
            counters: PipelineCounters::default(),
        }
    }

    /// The memory, to connect it anew.
    pub const fn memory_mut(&mut self) -> &mut M {
        &mut self.memory
    }

    /// What it did.
    pub const fn counters(&self) -> &PipelineCounters {
        &self.counters
    }

    /// Packets in flight.
    pub fn in_flight(&self) -> usize {
        self.flights.len()
    }

    /// No packet is in flight, and all states are in memory.
    pub fn is_empty(&self) -> bool {
        self.purposes.is_empty() && self.backlog.iter().all(VecDeque::is_empty) && self.flights.is_empty()
    }

    /// The same, but packets may be on their way into paging rings and out of them.
    pub fn is_settled(&self) -> bool {
        let is_paging =
            |purpose: &Purpose| matches!(purpose, Purpose::Page { .. } | Purpose::PageRead { .. });
        self.flights.is_empty()
            && self.purposes.values().all(is_paging)
            && self.backlog.iter().flatten().all(|(_, purpose)| is_paging(purpose))
    }

    /// Why operations fail, since the last [`Self::reset`].
    pub const fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// The generation of a UE: of the records and entries that hold.
    pub fn generation(&self, ue: &UeKey) -> u64 {
        self.generations.of(ue)
    }

    /// The rules of a UE change. No packet that leaves later does so by rules of before, and no flow entry of before is a hit. If another
    /// UE has a record in the same bucket, its header is to be written with this generation, too.
    pub fn raise_generation(&mut self, ue: &UeKey) -> u64 {
        self.generations.raise(ue)
    }

    /// A packet arrives. `now` is the time of the memory.
    pub fn arrive(&mut self, now: Time, arrival: Arrival) {
        let Arrival { token, at, ue, fields, frame, start, end, tos, hops } = arrival;
        let refused = |frame, why| Departure {
            token,
            frame,
            user: start..end,
            tos,
            hops,
            arrived: at,
            verdict: Verdict::SlowPath(why),
        };
        if frame.len() > MAX_PACKET {
            return self.depart(refused(frame, Why::Rule));
        }
        let Ok(Arrived { ticket, is_first }) = self.local.arrive(now, &ue) else {
            return self.depart(refused(frame, Why::LocalStateCollision));
        };
        if is_first {
            let (place, length) = self.layout.ue_heads(self.layout.sizes().ue_bucket(&ue));
            self.submit(now, &ue, Operation::read(place, length), Purpose::Load { ue, ticket });
        }
        let flow = fields.key();
        let number = self.next_flight;
        self.next_flight += 1;
        let bucket = self.flow_bucket(&ue, &flow);
        let length = frame.len();
        let packet = tagged(number, frame);
        self.flights.insert(
            number,
            Flight {
                token,
                ue,
                flow,
                fields,
                ticket,
                shared: None,
                length,
                start,
                end,
                tos,
                hops,
                arrived: at,
            },
        );
        self.submit(now, &ue, Operation::write(self.layout.flow_packet(bucket), packet), Purpose::Plain);
        let entries = self.layout.flow_entries(bucket);
        let read = Operation::read(entries, (ENTRIES + TAG + length) as u32);
        self.submit(now, &ue, read, Purpose::LookUp { flight: number });
    }

    /// Does what the memory has completed.
    pub fn advance(&mut self, now: Time) {
        while let Some(completion) = self.memory.poll(now) {
            let pair = usize::from(completion.queue_pair.0);
            self.complete(now, completion);
            self.submit_from(now, pair);
        }
    }

    /// When to call [`Self::advance`] next.
    pub fn next_timer(&self) -> Option<Time> {
        self.memory.next_timer()
    }

    /// The next packet that has left.
    pub fn poll(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }

    /// The control plane writes a record into one of the two places of the UE's bucket: three operations, the header last, since it
    /// refers to the rest. No packet of the UE is in flight.
    pub fn write_record(&mut self, now: Time, way: usize, record: &UeRecord) {
        let ue = record.header.key;
        let bucket = self.layout.sizes().ue_bucket(&ue);
        let (rules, header) = (self.layout.ue_rules(bucket, way), self.layout.ue_header(bucket, way));
        self.control_write(now, &ue, rules, encode_rules(&record.actions, &record.pdrs));
        self.write_ue_state(now, &ue, way, &record.state);
        self.control_write(now, &ue, header, record.header.encode());
    }

    /// The control plane writes a header anew: one operation. No packet of the UE is in flight.
    pub fn write_header(&mut self, now: Time, way: usize, header: &UeHeader) {
        let place = self.layout.ue_header(self.layout.sizes().ue_bucket(&header.key), way);
        self.control_write(now, &header.key, place, header.encode());
    }

    /// The control plane takes a record out: one operation.
    pub fn erase_record(&mut self, now: Time, ue: &UeKey, way: usize) {
        let header = self.layout.ue_header(self.layout.sizes().ue_bucket(ue), way);
        self.control_write(now, ue, header, vec![0; HEADER]);
    }

    /// The control plane writes a state: one operation. No packet of the UE is in flight.
    pub fn write_ue_state(&mut self, now: Time, ue: &UeKey, way: usize, state: &UeState) {
        let place = self.layout.ue_state(self.layout.sizes().ue_bucket(ue), way);
        self.control_write(now, ue, place, state.encode());
    }

    /// The control plane reads a state: one operation, whose reply [`UeState::decode`] reads. No packet of the UE is in flight.
    pub fn read_ue_state(&mut self, now: Time, ue: &UeKey, way: usize) {
        let place = self.layout.ue_state(self.layout.sizes().ue_bucket(ue), way);
        self.submit(now, ue, Operation::read(place, STATE_OCTETS as u32), Purpose::Control);
    }

    fn control_write(&mut self, now: Time, ue: &UeKey, place: Place, data: Vec<u8>) {
        self.submit(now, ue, Operation::write(place, data), Purpose::Control);
    }

    /// The bucket of the UE table that a lookup key is in; it has two places.
    pub fn ue_bucket(&self, ue: &UeKey) -> u64 {
        self.layout.sizes().ue_bucket(ue)
    }

    /// The next reply of the control plane's operations, those of one UE in order: the octets of a read, none of a write. `None` inside:
    /// it failed.
    pub fn poll_reply(&mut self) -> Option<Option<Vec<u8>>> {
        self.replies.pop_front()
    }

    /// After a failure, when nothing is under way: forgets all local state. Returns the states that were newer than the memory's.
    pub fn reset(&mut self) -> Vec<(StatePlace, UeState)> {
        self.failure = None;
        let mut states = self.shared.restart();
        for (ue, local) in self.local.restart() {
            if let LocalUe::Present { way, header: UeHeader { shared_state: None, .. }, state, .. } = local {
                states.push((StatePlace::new(self.layout.sizes().ue_bucket(&ue), way), state));
            }
        }
        states
    }

    fn queue_pair(&self, ue: &UeKey) -> usize {
        ue.queue_pair(self.backlog.len() as u64) as usize
    }

    fn flow_bucket(&self, ue: &UeKey, flow: &FlowKey) -> u64 {
        self.layout.sizes().flow_bucket(ue, flow, self.backlog.len() as u64)
    }

    fn submit(&mut self, now: Time, ue: &UeKey, operation: Operation, purpose: Purpose) {
        self.submit_to(now, self.queue_pair(ue), operation, purpose);
    }

    pub(crate) fn submit_to(&mut self, now: Time, pair: usize, operation: Operation, purpose: Purpose) {
        if let Some(queue) = self.backlog.get_mut(pair) {
            queue.push_back((operation, purpose));
        }
        self.submit_from(now, pair);
    }

    pub(crate) fn pairs(&self) -> usize {
        self.backlog.len()
    }

    /// Submits what waits for a queue pair, in order, until it is full.
    fn submit_from(&mut self, now: Time, pair: usize) {
        let queue_pair = QueuePair(pair as u16);
        loop {
            let Some(queue) = self.backlog.get_mut(pair) else { return };
            let has_place = |next: &(Operation, Purpose)| self.memory.has_place(queue_pair, &next.0);
            if !queue.front().is_some_and(has_place) {
                return;
            }
            let Some((operation, purpose)) = queue.pop_front() else { return };
            match self.memory.submit(now, queue_pair, operation) {
                Ok(id) => drop(self.purposes.insert(id, purpose)),
                Err(error) => {
                    let failure = match error {
                        SubmitError::Failed(failure) => failure,
                        _ => Failure::Flushed,
                    };
                    self.fail(now, purpose, failure);
                }
            }
        }
    }

    fn complete(&mut self, now: Time, completion: Completion) {
        let Some(purpose) = self.purposes.remove(&completion.id) else { return };
        let outcome = match completion.result {
            Ok(outcome) => outcome,
            Err(error) => return self.fail(now, purpose, error.failure),
        };
        let octets = match outcome {
            Outcome::Read(octets) => octets,
            Outcome::Written | Outcome::Added(_) => Vec::new(),
        };
        match purpose {
            Purpose::Load { ue, ticket } => {
                let local = self.local_ue(&ue, &octets);
                self.local.load(ticket, local);
            }
            Purpose::LoadShared { place, ticket } => {
                self.loaded_shared(now, place, ticket, UeState::decode(&octets));
            }
            Purpose::LookUp { flight } => self.looked_up(now, flight, octets),
            Purpose::Block { ue, flow, number } => self.walked(now, (ue, flow), number, &octets),
            Purpose::Ring { ring, read } => self.ring_read(now, ring, read, Some(octets)),
            Purpose::Page { ring, position } => self.idle.written(ring, position),
            Purpose::PageRead { ring, read } => self.idle_read(now, ring, read, &octets),
            Purpose::State { ticket } => {
                let next = self.local.written(ticket);
                self.write_state(now, next);
            }
            Purpose::SharedState { ticket } => {
                let next = self.shared.written(ticket);
                self.write_shared(now, next);
            }
            Purpose::Use { bucket, place } => self.use_written(bucket, place),
            Purpose::Plain => {}
            Purpose::Control => self.replies.push_back(Some(octets)),
        }
    }

    fn fail(&mut self, now: Time, purpose: Purpose, failure: Failure) {
        // The first one says why; those behind it are flushed.
        self.failure.get_or_insert(failure);
        match purpose {
            // The packets that wait for it find nothing, and are lost.
            Purpose::Load { .. } | Purpose::Plain => {}
            Purpose::Use { bucket, place } => self.use_written(bucket, place),
            // The packet is in the ring until `recover_paged`.
            Purpose::Page { .. } | Purpose::PageRead { .. } => {}
            Purpose::LoadShared { place, ticket } => self.loaded_shared(now, place, ticket, None),
            Purpose::LookUp { flight } => self.lose(now, flight),
            Purpose::Block { ue, flow, .. } => self.decide(now, (ue, flow), None),
            Purpose::Ring { ring, read } => self.ring_read(now, ring, read, None),
            // The owner connects anew, and takes the value from the entry: see `reset`.
            Purpose::State { .. } | Purpose::SharedState { .. } => {}
            Purpose::Control => self.replies.push_back(None),
        }
    }

    /// The record of a UE among those of its bucket. One of another generation is none.
    fn local_ue(&self, ue: &UeKey, heads: &[u8]) -> LocalUe {
        let generation = self.generations.of(ue);
        for (way, head) in heads.chunks_exact(HEAD).take(UE_WAYS).enumerate() {
            let is_that = |header: &UeHeader| header.key == *ue && header.generation == generation;
            let header = UeHeader::decode(head).filter(is_that);
            let state = head.get(HEADER..).and_then(UeState::decode);
            if let (Some(header), Some(state)) = (header, state) {
                return LocalUe::Present { way, header, state, is_closed: false };
            }
        }
        LocalUe::Absent
    }

    /// The packet and the entries of its flow are there.
    fn looked_up(&mut self, now: Time, number: u64, octets: Vec<u8>) {
        let Some(flight) = self.flights.get(&number).copied() else { return };
        let of = (flight.ue, flight.flow);
        // A read that was repeated found a later packet of the bucket at its place.
        if octets.get(ENTRIES..ENTRIES + TAG) != Some(&number.to_be_bytes()) {
            return self.lose(now, number);
        }
        let Some(octets) = self.octets_if_state_is_there(now, number, octets) else { return };
        if self.walks.contains_key(&of) {
            self.counters.joined += 1;
            return self.wait(now, number, without_front(octets, ENTRIES));
        }
        let (way, header) = match self.local.state(flight.ticket) {
            None => return self.lose(now, number),
            Some(LocalUe::Absent) => return self.leave_slowly(now, number, frame_of(octets), Why::NoRecord),
            Some(LocalUe::Present { way, header, .. }) => (*way, *header),
        };
        if header.generation != self.generations.of(&flight.ue) || !header.is_of_ue(&flight.fields) {
            return self.leave_slowly(now, number, frame_of(octets), Why::NoRecord);
        }
        let bucket = self.flow_bucket(&flight.ue, &flight.flow);
        let is_aged = |place, used| {
            now.since(used) >= self.config.flow_age && !self.uses.contains_key(&(bucket, place))
        };
        let entries = octets.get(..ENTRIES).unwrap_or_default();
        match find(entries, &flight.ue, &flight.flow, &self.generations, is_aged) {
            Found::Hit(entry, place) => {
                self.counters.hits += 1;
                if now.since(entry.used).as_nanos() > self.config.flow_age.as_nanos() / 4 {
                    self.write_use(now, bucket, place, entry);
                }
                self.enforce(now, number, frame_of(octets), entry.rule);
            }
            Found::Collision => self.leave_slowly(now, number, frame_of(octets), Why::FlowCollision),
            Found::Miss { place, is_aged } => match self.free_rings.pop() {
                None => self.leave_slowly(now, number, frame_of(octets), Why::NoRing),
                Some(ring) => {
                    self.counters.walks += 1;
                    if let Some(flow) = self.ring_flows.get_mut(ring) {
                        *flow = Some(of);
                    }
                    let walk = Walk {
                        ring,
                        fields: flight.fields,
                        direction: header.direction,
                        generation: header.generation,
                        way,
                        pdrs: header.pdrs.into(),
                        actions: Vec::new(),
                        found: None,
                        bucket,
                        place: Some(place),
                        takes_aged: is_aged,
                    };
                    self.walks.insert(of, walk);
                    self.wait(now, number, without_front(octets, ENTRIES));
                    self.read_block(now, of, 0);
                }
            },
        }
    }

    /// Writes that an entry is used. A flow that has its place in view, since it was not used for long, gets none.
    fn write_use(&mut self, now: Time, bucket: u64, place: usize, entry: FlowEntry) {
        let takes_it =
            |walk: &&mut Walk| walk.takes_aged && walk.bucket == bucket && walk.place == Some(place);
        self.walks.values_mut().filter(takes_it).for_each(|walk| walk.place = None);
        self.counters.uses_written += 1;
        *self.uses.entry((bucket, place)).or_default() += 1;
        let entry = FlowEntry { used: now, ..entry };
        let write = Operation::write(self.layout.flow_entry(bucket, place), entry.encode());
        self.submit(now, &entry.ue, write, Purpose::Use { bucket, place });
    }

    fn use_written(&mut self, bucket: u64, place: usize) {
        if let Entry::Occupied(mut writes) = self.uses.entry((bucket, place)) {
            *writes.get_mut() -= 1;
            if *writes.get() == 0 {
                writes.remove();
            }
        }
    }

    /// Tells the memory server of the flow table, and of the time `now`, by which it sweeps entries that were not used for the age limit: one write, to be
    /// repeated several times in that limit.
    pub fn describe_flows(&mut self, now: Time, directory: &Directory) {
        let sizes = self.layout.sizes();
        let (first, buckets) = (directory.offset.wrapping_add(sizes.entries(0)), sizes.flow_buckets);
        let table = aged_table(first, buckets, self.config.first_generation, self.config.flow_age, now);
        self.submit_to(now, 0, Operation::write(directory.place, table.encode()), Purpose::Plain);
    }

    /// The age limit of flow entries.
    pub const fn flow_age(&self) -> Span {
        self.config.flow_age
    }

    /// What was read for a packet. `None`: the state of its session is that of several lookup keys, and is not there yet; the packet waits for it, and later
    /// packets of its UE behind it.
    fn octets_if_state_is_there(&mut self, now: Time, number: u64, octets: Vec<u8>) -> Option<Vec<u8>> {
        let flight = self.flights.get_mut(&number)?;
        let Some(LocalUe::Present { header: UeHeader { shared_state: Some(place), .. }, .. }) =
            self.local.state(flight.ticket)
        else {
            return Some(octets);
        };
        let (place, ue) = (*place, flight.ue);
        let ticket = match flight.shared {
            Some(ticket) => ticket,
            // The packet is for the slow path if it finds no state.
            None => match self.shared.arrive(now, &place) {
                Err(_) => return Some(octets),
                Ok(Arrived { ticket, is_first }) => {
                    flight.shared = Some(ticket);
                    if is_first {
                        let read = Operation::read(self.layout.state(place), STATE_OCTETS as u32);
                        self.submit(now, &ue, read, Purpose::LoadShared { place, ticket });
                    }
                    ticket
                }
            },
        };
        if self.shared.state(ticket).is_some() {
            return Some(octets);
        }
        self.held.entry(place).or_default().push_back((number, octets));
        None
    }

    /// A state of several lookup keys is there, or lost. The packets that wait for it go on, in order.
    fn loaded_shared(&mut self, now: Time, place: StatePlace, ticket: Ticket, state: Option<UeState>) {
        if let Some(state) = state {
            self.shared.load(ticket, state);
            // A read of an entry that has ended: that of the next one comes.
            if self.shared.state_of(&place).is_none() {
                return;
            }
        }
        let is_there = self.shared.state_of(&place).is_some();
        for (number, octets) in self.held.remove(&place).unwrap_or_default() {
            if is_there { self.looked_up(now, number, octets) } else { self.lose(now, number) }
        }
    }

    /// A packet, behind its number, waits in the ring of its flow.
    fn wait(&mut self, now: Time, number: u64, packet: Vec<u8>) {
        let Some(flight) = self.flights.get(&number).copied() else { return };
        let Some(ring) = self.walks.get(&(flight.ue, flight.flow)).map(|walk| walk.ring) else { return };
        match self.rings.get_mut(ring).map(Ring::enter) {
            Some(Ok(position)) => {
                self.ring_flights.insert((ring, position), number);
                let place = self.layout.ring_packet(ring, position);
                self.submit(now, &flight.ue, Operation::write(place, packet), Purpose::Plain);
                self.read_ring(now, ring);
            }
            _ => {
                let verdict = Verdict::Drop(DropReason::BufferFull);
                self.finish(now, number, without_front(packet, TAG), verdict);
            }
        }
    }

    fn read_ring(&mut self, now: Time, ring: usize) {
        while let Some(read) = self.rings.get_mut(ring).and_then(Ring::next_read) {
            let number = self.ring_flights.get(&(ring, read.position)).copied().unwrap_or(0);
            let Some(flight) = self.flights.get(&number).copied() else { continue };
            let place = self.layout.ring_packet(ring, read.position);
            let operation = Operation::read(place, (TAG + flight.length) as u32);
            self.submit(now, &flight.ue, operation, Purpose::Ring { ring, read });
        }
    }

    /// Reads a block of PDRs; with the last one, the packets that wait.
    fn read_block(&mut self, now: Time, of: Of, number: usize) {
        let Some(walk) = self.walks.get(&of) else { return };
        let (ring, is_last) = (walk.ring, (number + 1) * PDRS_OF_A_BLOCK >= walk.pdrs);
        let (place, length) = self.layout.ue_block(self.layout.sizes().ue_bucket(&of.0), walk.way, number);
        let purpose = Purpose::Block { ue: of.0, flow: of.1, number };
        self.submit(now, &of.0, Operation::read(place, length), purpose);
        if is_last {
            self.release(now, ring);
        }
    }

    fn release(&mut self, now: Time, ring: usize) {
        if let Some(ring) = self.rings.get_mut(ring) {
            ring.notify(ring.acknowledged() + 1, true);
        }
        self.read_ring(now, ring);
    }

    /// A block of PDRs is there.
    fn walked(&mut self, now: Time, of: Of, number: usize, octets: &[u8]) {
        let Some(walk) = self.walks.get_mut(&of) else { return };
        let block = if number == 0 {
            let (actions, block) = octets.split_at_checked(MAX_ACTIONS * ACTION).unwrap_or_default();
            let action = |octets| Action::decode(octets).unwrap_or(Action::SlowPath);
            walk.actions = actions.chunks_exact(ACTION).map(action).collect();
            block
        } else {
            octets
        };
        let left = walk.pdrs.saturating_sub(number * PDRS_OF_A_BLOCK);
        let target = if block.len() < BLOCK {
            Some(Target::SlowPath)
        } else {
            match_block(block, left, &walk.fields, walk.direction)
        };
        match target {
            None if left > PDRS_OF_A_BLOCK => self.read_block(now, of, number + 1),
            None | Some(Target::SlowPath) => self.decide(now, of, None),
            Some(Target::Rule(rule)) => {
                let action = walk.actions.get(usize::from(rule.action)).copied();
                self.decide(now, of, action.map(|action| (rule, action)));
            }
        }
    }

    /// A walk has ended: its entry is written, and the packets that wait leave.
    fn decide(&mut self, now: Time, of: Of, rule: Option<(RuleRef, Action)>) {
        let Some(walk) = self.walks.get_mut(&of) else { return };
        walk.found = Some(rule);
        let (ring, bucket, takes_aged) = (walk.ring, walk.bucket, walk.takes_aged);
        let place = walk.place.filter(|_| walk.generation == self.generations.of(&of.0));
        let entry = FlowEntry { ue: of.0, flow: of.1, generation: walk.generation, used: now, rule };
        if let Some(place) = place {
            self.counters.inserted += 1;
            self.counters.aged += u64::from(takes_aged);
            let write = Operation::write(self.layout.flow_entry(bucket, place), entry.encode());
            self.submit(now, &of.0, write, Purpose::Plain);
        }
        self.release(now, ring);
        self.end_walk(ring);
    }

    /// A packet of a ring is there, or lost.
    fn ring_read(&mut self, now: Time, ring: usize, read: RingRead, octets: Option<Vec<u8>>) {
        let number = self.ring_flights.get(&(ring, read.position)).copied().unwrap_or(0);
        let packet = octets.filter(|octets| octets.get(..TAG) == Some(&number.to_be_bytes()));
        let packet = packet.map(|octets| (read.position, number, without_front(octets, TAG)));
        let left = self.rings.get_mut(ring).map(|ring| ring.read(read, packet)).unwrap_or_default();
        for left in left {
            match left {
                Left::Lost(position) => {
                    if let Some(number) = self.ring_flights.remove(&(ring, position)) {
                        self.lose(now, number);
                    }
                }
                Left::Packet((position, number, frame)) => {
                    self.ring_flights.remove(&(ring, position));
                    let of = self.ring_flows.get(ring).copied().flatten();
                    let found = of.and_then(|of| self.walks.get(&of)).and_then(|walk| walk.found);
                    match found {
                        Some(rule) => self.leave_ring(now, number, frame, rule),
                        // The block failed, which was asked for before.
                        None => self.leave_slowly(now, number, frame, Why::Rule),
                    }
                }
            }
        }
        self.read_ring(now, ring);
        self.end_walk(ring);
    }

    /// A packet leaves a ring by the rule that its walk found, if that holds still.
    fn leave_ring(&mut self, now: Time, number: u64, frame: Vec<u8>, rule: Option<(RuleRef, Action)>) {
        let Some(flight) = self.flights.get(&number) else { return };
        let of = (flight.ue, flight.flow);
        let walked = self.walks.get(&of).map(|walk| walk.generation);
        if walked == Some(self.generations.of(&flight.ue)) {
            self.enforce(now, number, frame, rule);
        } else {
            self.leave_slowly(now, number, frame, Why::NoRecord);
        }
    }

    /// Ends a walk whose rule is known when no packet waits for it.
    fn end_walk(&mut self, ring: usize) {
        let of = self.ring_flows.get(ring).copied().flatten();
        let Some(of) = of.filter(|of| self.walks.get(of).is_some_and(|walk| walk.found.is_some())) else {
            return;
        };
        if let Some(it) = self.rings.get_mut(ring).filter(|ring| ring.is_empty()) {
            it.notify(it.acknowledged() + 1, false);
            self.walks.remove(&of);
            if let Some(flow) = self.ring_flows.get_mut(ring) {
                *flow = None;
            }
            self.free_rings.push(ring);
        }
    }

    /// A packet whose rule is known.
    fn enforce(&mut self, now: Time, number: u64, frame: Vec<u8>, rule: Option<(RuleRef, Action)>) {
        let Some(flight) = self.flights.get(&number).copied() else { return };
        let Some((rule, action)) = rule else { return self.leave_slowly(now, number, frame, Why::Rule) };
        let octets = (flight.end - flight.start) as u32;
        let charge = |state: &mut UeState| charge(state, &rule, &action, octets, flight.arrived);
        let verdict = match self.local.state(flight.ticket) {
            None => None,
            Some(LocalUe::Absent) => Some(Verdict::SlowPath(Why::NoRecord)),
            Some(LocalUe::Present { is_closed: true, .. }) => Some(Verdict::SlowPath(Why::Behind)),
            Some(LocalUe::Present { header: UeHeader { shared_state: Some(_), .. }, .. }) => {
                match flight.shared {
                    Some(ticket) => self.shared.update(ticket, charge),
                    None => Some(Verdict::SlowPath(Why::LocalStateCollision)),
                }
            }
            Some(LocalUe::Present { .. }) => self.local.update(flight.ticket, |local| match local {
                LocalUe::Present { state, .. } => charge(state),
                LocalUe::Absent => Verdict::SlowPath(Why::NoRecord),
            }),
        };
        match verdict {
            None => self.lose(now, number),
            Some(Verdict::SlowPath(why)) => self.leave_slowly(now, number, frame, why),
            Some(verdict) => self.finish(now, number, frame, verdict),
        }
    }

    /// A packet is for the slow path, and so are those of its UE behind it.
    fn leave_slowly(&mut self, now: Time, number: u64, frame: Vec<u8>, why: Why) {
        if let Some(flight) = self.flights.get(&number).copied() {
            self.local.update(flight.ticket, |local| {
                if let LocalUe::Present { is_closed, .. } = local {
                    *is_closed = true;
                }
            });
        }
        self.finish(now, number, frame, Verdict::SlowPath(why));
    }

    fn finish(&mut self, now: Time, number: u64, frame: Vec<u8>, verdict: Verdict) {
        let Some(flight) = self.flights.remove(&number) else { return };
        let write = self.local.leave(now, flight.ticket);
        self.write_state(now, write);
        if let Some(ticket) = flight.shared {
            let write = self.shared.leave(now, ticket);
            self.write_shared(now, write);
        }
        self.depart(flight.departure(frame, verdict));
    }

    fn lose(&mut self, now: Time, number: u64) {
        let Some(flight) = self.flights.remove(&number) else { return };
        let write = self.local.lose(now, flight.ticket);
        self.write_state(now, write);
        if let Some(ticket) = flight.shared {
            let write = self.shared.lose(now, ticket);
            self.write_shared(now, write);
        }
        self.depart(flight.departure(Vec::new(), Verdict::Lost));
    }

    fn depart(&mut self, departure: Departure) {
        match departure.verdict {
            Verdict::SlowPath(why) => {
                self.counters.slow.get_mut(why as usize).into_iter().for_each(|count| *count += 1);
            }
            Verdict::Lost => self.counters.lost += 1,
            Verdict::Send(_) | Verdict::Drop(_) => {}
        }
        self.departures.push_back(departure);
    }

    /// Writes the state of a UE, which no packet in flight uses.
    fn write_state(&mut self, now: Time, write: Option<Write<UeKey, LocalUe>>) {
        let mut next = write;
        while let Some(Write { ticket, key, state }) = next.take() {
            match state {
                // Its state is elsewhere.
                LocalUe::Present { header: UeHeader { shared_state: Some(_), .. }, .. } | LocalUe::Absent => {
                    next = self.local.written(ticket);
                }
                LocalUe::Present { way, state, .. } => {
                    let place = self.layout.ue_state(self.layout.sizes().ue_bucket(&key), way);
                    let operation = Operation::write(place, state.encode());
                    self.submit(now, &key, operation, Purpose::State { ticket });
                }
            }
        }
    }

    /// Writes a state of several lookup keys, which no packet in flight uses.
    fn write_shared(&mut self, now: Time, write: Option<Write<StatePlace, UeState>>) {
        if let Some(Write { ticket, key, state }) = write {
            let operation = Operation::write(self.layout.state(key), state.encode());
            let pair = (key.0 % self.pairs() as u64) as usize;
            self.submit_to(now, pair, operation, Purpose::SharedState { ticket });
        }
    }
}

/// A packet behind its number, as it is in memory.
fn tagged(number: u64, mut frame: Vec<u8>) -> Vec<u8> {
    frame.extend_from_slice(&number.to_be_bytes());
    frame.rotate_right(TAG);
    frame
}

/// A packet behind the entries of its bucket and its number.
fn frame_of(octets: Vec<u8>) -> Vec<u8> {
    without_front(octets, ENTRIES + TAG)
}

/// The same octets without so many at the front, in the same memory.
fn without_front(mut octets: Vec<u8>, count: usize) -> Vec<u8> {
    octets.drain(..count.min(octets.len()));
    octets
}

/// Counts a packet, and takes its tokens.
fn charge(state: &mut UeState, rule: &RuleRef, action: &Action, octets: u32, now: Time) -> Verdict {
    let slow = Verdict::SlowPath(Why::Account);
    let Some(account) = state.accounts.get_mut(usize::from(rule.account)) else { return slow };
    let drop_for = |account: &mut Account, reason| {
        if rule.reports_drops {
            return slow;
        }
        account.drop_packet(octets, now, rule.counts_drops);
        Verdict::Drop(reason)
    };
    let send = match action {
        Action::SlowPath => return Verdict::SlowPath(Why::Rule),
        Action::Send(send) if octets > send.max_payload => return Verdict::SlowPath(Why::Rule),
        Action::Drop(_) | Action::Send(_) if !account.may_count(octets, now) => return slow,
        Action::Drop(reason) => return drop_for(account, *reason),
        Action::Send(send) if send.is_gated => return drop_for(account, DropReason::GateClosed),
        Action::Send(send) => send,
    };
    let of_rule = |number: usize| rule.meters & 1 << number != 0;
    let mut is_open = true;
    for (_, (rate, meter)) in state.meters.iter_mut().enumerate().filter(|(number, _)| of_rule(*number)) {
        is_open &= meter.fill(*rate, now);
    }
    if !is_open {
        return drop_for(account, DropReason::MbrExceeded);
    }
    for (_, (_, meter)) in state.meters.iter_mut().enumerate().filter(|(number, _)| of_rule(*number)) {
        meter.charge(octets);
    }
    account.pass(octets, now);
    Verdict::Send(*send)
}
