//! Worlds of migration: SMFs whose requests are lost, repeated and reordered, user packets in both directions, the switch, and N4 with a slow
//! path at its CPU port; beside them N4 with a slow path that has each message and packet when its owner has it.
//!
//! A world is drawn from its seed, which a failure prints: `CAUSEWAY_SEED=n` begins there, `CAUSEWAY_WORLDS=n` runs so many,
//! and `CAUSEWAY_TRACE=1` prints what happens.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

use causeway_accel::{Class, Config};
use causeway_switch::accel::{
    Direction, Entry, Fallback, Op, Passage, SESSIONS, Second, Sessions, Tables, Verdict,
};
use causeway_switch::driver::{Program, Update};
use causeway_switch::model::State;
use causeway_types::{NodeId, Seid, Span, Time};
use fastrand::Rng;

use super::random::{Live, N3, OWN, OWN_NUMBER, UPF, capabilities, endpoints, far_id, smf};
use super::software::{Fate, Numbered, Software, numbers_of, ues_named};
use causeway_accel::switch::parse;

mod control;
mod messages;

use control::{Claim, Waiting, index_named};
use messages::{ESTABLISHMENTS, Kind, Rows};

const WORLDS: u64 = 300;
const NOW: Time = Time::from_secs(1_700_000_000);
/// Both ends of the arrays are in use.
const LAST: u32 = SESSIONS as u32 - 1;
const POOLS: [(&str, u32); 2] = [("10.45.0.0/29", 0), ("10.46.0.0/29", LAST - 7)];
const UES: [Ipv4Addr; 6] = [
    Ipv4Addr::new(10, 45, 0, 0),
    Ipv4Addr::new(10, 45, 0, 1),
    Ipv4Addr::new(10, 45, 0, 2),
    Ipv4Addr::new(10, 46, 0, 5),
    Ipv4Addr::new(10, 46, 0, 6),
    Ipv4Addr::new(10, 46, 0, 7),
];
/// A request is sent so often, at most.
const TRIES: u8 = 4;

/// The generation in a state.
const fn generation(state: u32) -> u16 {
    (state >> 16) as u16 & 0x7fff
}

/// The UPF's SEID of a session.
fn seid_of(entry: &Entry) -> u64 {
    u64::from(entry.state >> 16) << 48 | 0xacce << 32 | u64::from(entry.index)
}

/// The switch, for one world after the other.
struct Machine {
    model: Sessions,
    state: State,
}

impl Machine {
    fn new() -> Self {
        let program = Program::default().with_sessions();
        let model = Sessions::new(&program, Tables::new([UPF, UPF, N3])).unwrap();
        Self { model, state: State::new(program) }
    }

    fn set(&mut self, register: u32, index: u32, value: [u32; 2]) {
        let update = Update::SetRegister { register, index, value };
        self.state.write(NOW, &[update]).unwrap();
    }

    /// As new, of these indexes.
    fn reset(&mut self, tables: Tables, indexes: impl Iterator<Item = u32> + Clone) {
        let registers: Vec<_> = self.state.program().registers.iter().map(|register| register.id).collect();
        for register in registers {
            for index in indexes.clone() {
                self.set(register, index, [0; 2]);
            }
        }
        self.model.tables = tables;
    }
}

/// How long things take, at most, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Pace {
    network: u64,
    cpu: u64,
    table: u64,
    think: u64,
    /// Until a request is sent again.
    repeat: u64,
    /// Of a hundred requests and answers so many are lost.
    loss: u8,
}

/// A message on its way.
#[derive(Clone, Debug)]
struct Message {
    /// `None`: a claim.
    request: Option<usize>,
    from: SocketAddrV4,
    octets: Vec<u8>,
}

/// A request of an SMF.
#[derive(Debug)]
struct Request {
    slot: usize,
    /// Restarts of its SMF before.
    restarts: u32,
    kind: Kind,
    octets: Vec<u8>,
    tries: u8,
    answer: Option<Vec<u8>>,
    /// The switch has answered it, when so much had changed there.
    by_switch: Option<u32>,
}

/// A session of an SMF, one after the other.
#[derive(Debug)]
struct Slot {
    smf: u8,
    live: Option<Live>,
    request: Option<usize>,
    /// Requests that it will send.
    left: u32,
}

/// An SMF.
#[derive(Debug)]
struct Smf {
    /// Restarts, and ends of its association.
    restarts: u32,
    is_up: bool,
    sequence: u32,
    number: u16,
}

#[derive(Debug)]
enum Event {
    /// The SMF has something to say.
    Start(usize),
    /// It sends the next request without the answer to this one.
    NextWithoutAnswer(usize, usize),
    /// A request arrives at the switch.
    Request(usize),
    Repeat(usize),
    Answer(usize, Vec<u8>),
    Restart(u8),
    EndAssociation(u8),
    /// A message passes a second time.
    Second(Second, Message, Option<u32>),
    /// By the CPU port.
    AtSoftware(Message, Option<Entry>),
    Setup(u8),
    Release(u8),
    PacketAtSoftware(Numbered, Option<Seid>),
    Packet,
    /// Of this UE, while a message about it is between its passes.
    PacketBetween(Ipv4Addr),
    /// A packet of the software leaves.
    Left(u32),
    /// The control plane and the switch.
    Rows(Rows),
    SmfNumber(u8),
    SmfRemoved(u8),
    ReadFirst(u32, u32),
    ReadRest(Entry, u32),
    ClaimAtSwitch(SocketAddrV4, Vec<u8>),
    ClaimAnswered(u32, Vec<u8>),
    ClaimTimer(u32, u32),
    Write(u32, [u32; 2]),
}

/// What happened.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    by_switch: u64,
    adopted: u64,
    claimed: u64,
    void: u64,
    released: u64,
    waited: u64,
    /// Requests that the switch has answered while they waited.
    checked_again: u64,
    restarts: u64,
    ended_associations: u64,
    left: [u64; 2],
    buffered: u64,
    dropped: u64,
    /// Packets to and of sessions that a restart of their SMF has ended, before the switch knows it.
    stale: u64,
    /// Copies of requests that are late: new to the switch and to the software.
    late: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Sent,
    Buffered,
    Left,
    Dropped,
}

struct World<'a> {
    random: Rng,
    pace: Pace,
    machine: &'a mut Machine,
    /// The control plane's tables: those of the switch, and what is still to be written.
    tables: Tables,
    fallback: Fallback,
    software: Box<Software>,
    now: u64,
    events: BTreeMap<(u64, u64), Event>,
    pushed: u64,
    ues: [Ipv4Addr; 6],
    smfs: [Smf; 2],
    slots: Vec<Slot>,
    requests: Vec<Request>,
    next_cp: u64,
    /// Sessions that the switch has begun.
    begun_sessions: BTreeMap<u64, Live>,
    /// Sessions on their way to the software.
    moving: BTreeSet<u64>,
    /// Messages of an index between their passes, by their kind.
    between: BTreeMap<u32, Vec<Kind>>,
    /// By index: what the switch has noted, and sessions that it has begun.
    changes: BTreeMap<u32, u32>,
    begun: BTreeMap<u32, u32>,
    /// Rows that wait until no message is between its passes.
    rows: VecDeque<Rows>,
    waiting: VecDeque<Waiting>,
    claims: BTreeMap<u32, Claim>,
    writing: BTreeSet<u32>,
    voids: Vec<u32>,
    /// When what was written, sent, passes again, has left last.
    written_at: u64,
    cpu_at: u64,
    second_at: u64,
    left_at: u64,
    packets: Vec<(Ipv4Addr, Direction, Way)>,
    /// The last packet that has left, by UE and direction.
    last: BTreeMap<(Ipv4Addr, Direction), u32>,
    /// TEIDs that the gNB knows.
    teids: BTreeMap<Ipv4Addr, u32>,
    is_over: bool,
    /// Each event is printed.
    is_traced: bool,
    counts: Counts,
}

impl<'a> World<'a> {
    fn new(seed: u64, machine: &'a mut Machine) -> Self {
        let mut random = Rng::with_seed(seed);
        let mut up_to = |most: &[u64]| most[random.usize(..most.len())];
        let repeat = up_to(&[300, 3_000, 30_000, 300_000]);
        let pace = Pace {
            network: up_to(&[10, 100, 1_000, 10_000]).min(2 * repeat),
            cpu: up_to(&[10, 200, 4_000, 80_000]),
            table: up_to(&[10, 500, 5_000, 50_000]),
            think: up_to(&[10, 1_000, 100_000, 10_000_000, 80_000_000]),
            repeat,
            loss: up_to(&[0, 3, 10, 30]) as u8,
        };
        let mut tables = Tables::new([UPF, UPF, N3]);
        for (net, first) in POOLS {
            tables.add_pool(net.parse().unwrap(), first);
        }
        tables.add_peers("192.0.2.8/29".parse().unwrap());
        let config = Config::new(&NodeId::Ip(UPF.into()), UPF.into(), &endpoints(), &capabilities()).unwrap();
        let mut fallback = Fallback::new(config.with_class(Class::PUBLISHED)).unwrap();
        let smfs = [0, 1].map(|number| {
            tables.set_smf(smf(number), smf(number), u16::from(number) + 1);
            fallback.set_smf(smf(number), smf(number), u16::from(number) + 1);
            let sequence = random.u32(..1 << 24);
            Smf { restarts: 0, is_up: true, sequence, number: u16::from(number) + 1 }
        });
        tables.set_smf(OWN, OWN, OWN_NUMBER);
        fallback.set_own(OWN, OWN_NUMBER);
        let nothing = Entry::decode(&[0; Entry::LEN]);
        let (_, claim) = fallback.claim(&tables, &nothing).unwrap();
        tables.admit(claim[1], claim[3], &parse(&claim[16..]).fields, Op::Establish).unwrap();
        let mut of_switch = tables.clone();
        let rows = messages::rows(&mut random, &mut tables, &mut of_switch);
        for row in &rows {
            if let Rows::Message(_, octets, policy) = row {
                fallback.admitted(*policy, &parse(&octets[16..]).fields);
            }
        }
        let indexes = UES.into_iter().map(|ue| tables.place(ue.into()).unwrap());
        machine.reset(of_switch, indexes);
        let mut world = Self {
            random,
            pace,
            machine,
            tables,
            fallback,
            software: Box::new(Software::new(NOW, &endpoints(), &capabilities())),
            now: 0,
            events: BTreeMap::new(),
            pushed: 0,
            ues: UES,
            smfs,
            slots: Vec::new(),
            requests: Vec::new(),
            next_cp: 1,
            begun_sessions: BTreeMap::new(),
            moving: BTreeSet::new(),
            between: BTreeMap::new(),
            changes: BTreeMap::new(),
            begun: BTreeMap::new(),
            rows: VecDeque::new(),
            waiting: VecDeque::new(),
            claims: BTreeMap::new(),
            writing: BTreeSet::new(),
            voids: Vec::new(),
            written_at: 0,
            cpu_at: 0,
            second_at: 0,
            left_at: 0,
            packets: Vec::new(),
            last: BTreeMap::new(),
            teids: BTreeMap::new(),
            is_over: false,
            is_traced: std::env::var_os("CAUSEWAY_TRACE").is_some(),
            counts: Counts::default(),
        };
        world.begin(rows);
        world
    }

    fn begin(&mut self, rows: Vec<Rows>) {
        // Rows are there from the beginning, or come in the course of the world, in their order: policies have the numbers of their order.
        let span = 4 * self.pace.think + 8 * self.pace.repeat;
        let mut at: Vec<u64> = rows.iter().map(|_| self.random.u64(..span)).collect();
        if self.random.bool() {
            at.fill(self.random.u64(..span / 4));
        }
        at.sort_unstable();
        let early = [0, rows.len(), self.random.usize(..rows.len())][self.random.usize(..3)];
        for (place, (row, at)) in rows.into_iter().zip(at).enumerate() {
            match place < early {
                true => row.write(&mut self.machine.model.tables),
                false => self.push(at, Event::Rows(row)),
            }
        }
        for slot in 0..4 {
            let left = self.random.u32(4..13);
            self.slots.push(Slot { smf: slot % 2, live: None, request: None, left });
            let at = self.later(self.pace.think);
            self.push(at, Event::Start(usize::from(slot)));
        }
        let (at, smf) = (self.later(8 * self.pace.think), self.random.u8(..2));
        match self.random.u8(..8) {
            0 | 1 => self.push(at, Event::Restart(smf)),
            2 => self.push(at, Event::EndAssociation(smf)),
            _ => {}
        }
        self.push(1, Event::Packet);
    }

    fn push(&mut self, at: u64, event: Event) {
        self.pushed += 1;
        self.events.insert((at, self.pushed), event);
    }

    /// A time from now, of any order up to this one.
    fn later(&mut self, most: u64) -> u64 {
        let bits = self.random.u32(..=most.max(1).ilog2());
        self.now + 1 + self.random.u64(..1 << bits)
    }

    fn is_lost(&mut self) -> bool {
        self.random.u8(..100) < self.pace.loss
    }

    fn run(&mut self) {
        self.drain();
        self.is_over = true;
        // What the switch has still comes to the software.
        loop {
            let indexes = self.indexes();
            let is_live = |index: &u32| {
                let state = self.machine.state.register(self.machine.model.states(), *index).unwrap()[0];
                state >> 31 == 1
            };
            let live: Vec<_> = indexes.into_iter().filter(is_live).collect();
            if live.is_empty() {
                break;
            }
            live.into_iter().for_each(|index| self.claim(index));
            self.drain();
        }
        assert!(self.waiting.is_empty() && self.moving.is_empty() && self.writing.is_empty());
        self.software.assert_equal();
        for ue in self.ues {
            for direction in [Direction::Uplink, Direction::Downlink] {
                self.packet_of(ue, direction);
            }
        }
        self.drain();
        assert!(self.packets.iter().all(|(.., way)| *way != Way::Sent));
    }

    fn drain(&mut self) {
        while let Some(((at, _), event)) = self.events.pop_first() {
            self.now = at;
            // Timers of N4 are longer.
            let now = NOW + Span::from_nanos(1000 * at);
            if now.since(self.software.now) > Span::from_millis(1) {
                self.software.advance(now);
            }
            if self.is_traced {
                eprintln!("{at} {event:02x?}");
            }
            self.happens(event);
            for packet in std::mem::take(&mut self.software.flushed) {
                let number = u32::from_be_bytes(*packet.last_chunk().unwrap());
                assert_eq!(self.packets[number as usize].2, Way::Buffered);
                self.leaves(number);
            }
            self.assert_owners();
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Start(slot) => self.start(slot),
            Event::NextWithoutAnswer(slot, id) => {
                if self.slots[slot].request == Some(id) {
                    self.next_without_answer(slot, id);
                }
            }
            Event::Request(id) => self.at_switch(id),
            Event::Repeat(id) => self.repeat(id),
            Event::Answer(id, answer) => self.answered(id, answer),
            Event::Restart(number) => self.restart(number),
            Event::EndAssociation(number) => self.end_association(number),
            Event::Second(second, message, index) => self.second(second, message, index),
            Event::AtSoftware(message, entry) => self.at_software(message, entry),
            Event::Setup(number) => self.setup(number),
            Event::Release(number) => self.released(number),
            Event::PacketAtSoftware(packet, session) => {
                let fate = self.software.fate(&packet, session);
                self.decided(&packet, fate, true);
            }
            Event::Packet => {
                // More of those that have a session.
                let known: Vec<_> =
                    self.ues.into_iter().filter(|ue| self.software.session_of(*ue).is_some()).collect();
                let ues = if known.is_empty() || self.random.u8(..4) == 0 { &self.ues[..] } else { &known };
                let ue = ues[self.random.usize(..ues.len())];
                let direction = if self.random.bool() { Direction::Uplink } else { Direction::Downlink };
                self.packet_of(ue, direction);
                if self.packets.len() < 300 && self.slots.iter().any(|slot| slot.left > 0) {
                    let at = self.later(self.pace.think.max(self.pace.repeat) / 4);
                    self.push(at, Event::Packet);
                }
            }
            Event::PacketBetween(ue) => {
                let direction = if self.random.bool() { Direction::Uplink } else { Direction::Downlink };
                self.packet_of(ue, direction);
            }
            Event::Left(number) => self.has_left(number),
            Event::Rows(rows) => {
                self.rows.push_back(rows);
                self.write_rows();
            }
            Event::SmfNumber(number) => self.renumbered(number),
            Event::SmfRemoved(number) => self.removed(number),
            Event::ReadFirst(index, attempt) => self.read_first(index, attempt),
            Event::ReadRest(first, attempt) => self.read_rest(&first, attempt),
            Event::ClaimAtSwitch(from, octets) => self.claim_at_switch(from, octets),
            Event::ClaimAnswered(index, answer) => self.claim_answered(index, &answer),
            Event::ClaimTimer(index, attempt) => self.claim_timer(index, attempt),
            Event::Write(index, value) => self.written(index, value),
        }
    }

    /// Each session that is there has one owner: the switch, the software, or the frame between them.
    fn assert_owners(&self) {
        for seid in self.software.alive.values() {
            let (index, live) = (*seid as u32, (*seid >> 48) as u32);
            let state = self.machine.state.register(self.machine.model.states(), index).map(|cell| cell[0]);
            let at_switch =
                self.begun_sessions.contains_key(seid) && state.is_some_and(|state| state >> 16 == live);
            let owners = [at_switch, self.moving.contains(seid), self.software.owns(*seid)];
            let count = owners.iter().filter(|owns| **owns).count();
            assert_eq!(count, 1, "{seid:#x}: at the switch, on its way, at the software: {owners:?}");
        }
    }
}

/// SMFs.
impl World<'_> {
    fn start(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        let number = slot.smf;
        let smf = &mut self.smfs[usize::from(number)];
        if !smf.is_up || slot.left == 0 || slot.request.is_some() {
            return;
        }
        slot.left -= 1;
        smf.sequence = (smf.sequence + 1) & 0x00ff_ffff;
        let sequence = smf.sequence;
        self.next_cp += 1;
        let (kind, octets) = match &slot.live {
            Some(live) => messages::change(&mut self.random, live, &self.ues, sequence, self.next_cp),
            None => {
                let (form, far) = (self.random.u8(..ESTABLISHMENTS), self.random.u32(1..0x1_0000));
                let ue = self.ues[self.random.usize(..self.ues.len())];
                let octets = messages::establishment(form, number, self.next_cp, ue, far, sequence);
                (Kind::Establishment, octets)
            }
        };
        let restarts = smf.restarts;
        let id = self.requests.len();
        slot.request = Some(id);
        let (answer, by_switch) = (None, None);
        self.requests.push(Request { slot: at, restarts, kind, octets, tries: 0, answer, by_switch });
        self.send(id);
        if matches!(kind, Kind::Modification | Kind::Other) && self.random.u8(..6) == 0 {
            let at_time = self.later(2 * self.pace.network);
            self.push(at_time, Event::NextWithoutAnswer(at, id));
        }
    }

    fn next_without_answer(&mut self, at: usize, id: usize) {
        self.slots[at].request = None;
        let Request { kind, octets, .. } = &self.requests[id];
        let fields = parse(&octets[16..]).fields;
        let adds_downlink = *kind == Kind::Modification && fields.form("form_pdr") != 0;
        if let Some(live) = self.slots[at].live.as_mut().filter(|_| adds_downlink) {
            // The SMF may go on as if the downlink were there.
            (live.has_downlink, live.fars[1]) = (self.random.u8(..4) > 0, far_id(&fields));
        }
        self.start(at);
    }

    fn send(&mut self, id: usize) {
        self.requests[id].tries += 1;
        let copies = if self.random.u8(..20) == 0 { 2 } else { 1 };
        for _ in 0..copies {
            if !self.is_lost() {
                let at = self.later(self.pace.network);
                self.push(at, Event::Request(id));
            }
        }
        self.push(self.now + self.pace.repeat, Event::Repeat(id));
    }

    fn repeat(&mut self, id: usize) {
        let request = &self.requests[id];
        let slot = request.slot;
        if self.slots[slot].request != Some(id) {
        } else if request.tries < TRIES {
            self.send(id);
        } else {
            // The SMF gives up, and knows nothing of the session.
            (self.slots[slot].request, self.slots[slot].live) = (None, None);
            self.next(slot);
        }
    }

    fn next(&mut self, slot: usize) {
        let at = self.later(self.pace.think);
        self.push(at, Event::Start(slot));
    }

    /// Its SMF has not restarted since it sent the message.
    fn is_since_restart(&self, message: &Message) -> bool {
        message.request.is_none_or(|id| {
            let request = &self.requests[id];
            request.restarts == self.smfs[usize::from(self.slots[request.slot].smf)].restarts
        })
    }

    /// An answer goes to the SMF.
    fn answer(&mut self, message: &Message, answer: Vec<u8>) {
        if !self.is_lost() {
            let at = self.later(self.pace.network);
            self.push(at, Event::Answer(message.request.unwrap(), answer));
        }
    }

    fn answered(&mut self, id: usize, answer: Vec<u8>) {
        let request = &mut self.requests[id];
        let (at, kind, octets) = (request.slot, request.kind, request.octets.clone());
        let number = self.slots[at].smf;
        if request.restarts != self.smfs[usize::from(number)].restarts {
            return;
        }
        let before = request.answer.get_or_insert_with(|| answer.clone());
        assert_eq!(*before, answer, "a repeated request gets the same octets");
        if self.slots[at].request != Some(id) {
            return;
        }
        self.slots[at].request = None;
        let is_accepted = answer.windows(5).any(|ie| ie == [0, 19, 0, 1, 1]);
        let fields = parse(&octets[16..]).fields;
        let cp = (fields.get("cp_high") as u64) << 32 | fields.get("cp_low") as u64;
        if kind == Kind::Establishment {
            let live = is_accepted.then(|| live_of(number, &octets, &answer));
            if let Some(live) = &live {
                self.teids.insert(live.ue, live.teid);
            }
            self.slots[at].live = live;
        } else if let (true, 52, Some(live)) = (is_accepted, octets[1], &mut self.slots[at].live) {
            live.cp = if fields.form("form_cp") != 0 { cp } else { live.cp };
            if fields.form("form_pdr") != 0 && kind == Kind::Modification {
                (live.has_downlink, live.fars[1]) = (true, far_id(&fields));
            }
        } else if is_accepted || answer.windows(5).any(|ie| ie == [0, 19, 0, 1, 65]) {
            // The session has ended, or is not there.
            self.slots[at].live = None;
        }
        self.next(at);
    }

    /// The SMF restarts.
    fn restart(&mut self, number: u8) {
        self.leaves_all(number);
        self.counts.restarts += 1;
        self.by_cpu_port(Event::Setup(number));
    }

    /// The SMF ends its association.
    fn end_association(&mut self, number: u8) {
        self.leaves_all(number);
        self.counts.ended_associations += 1;
        self.by_cpu_port(Event::Release(number));
    }

    /// What the SMF has sent reaches nobody any more.
    fn leaves_all(&mut self, number: u8) {
        let smf = &mut self.smfs[usize::from(number)];
        (smf.restarts, smf.is_up) = (smf.restarts + 1, false);
        smf.sequence = smf.sequence.wrapping_add(0x10_0000) & 0x00ff_ffff;
        for slot in self.slots.iter_mut().filter(|slot| slot.smf == number) {
            (slot.request, slot.live) = (None, None);
        }
    }

    /// Its setup comes to N4, which ends its sessions. The answer waits until the switch knows it.
    fn setup(&mut self, number: u8) {
        self.software.restart(number);
        self.forget_waiting();
        let of_smf = &mut self.smfs[usize::from(number)];
        of_smf.number += 2;
        self.fallback.set_smf(smf(number), smf(number), of_smf.number);
        self.tables.set_smf(smf(number), smf(number), of_smf.number);
        let at = self.later(self.pace.table);
        self.push(at, Event::SmfNumber(number));
    }

    /// The end of its association comes to N4, which ends its sessions. The answer waits until the switch does not know the SMF any more.
    fn released(&mut self, number: u8) {
        self.software.end_association(number);
        self.forget_waiting();
        // That of its next association.
        self.smfs[usize::from(number)].number += 2;
        self.fallback.remove_smf(smf(number));
        self.tables.remove_smf(smf(number));
        let at = self.later(self.pace.table);
        self.push(at, Event::SmfRemoved(number));
    }

    fn removed(&mut self, number: u8) {
        self.machine.model.tables.remove_smf(smf(number));
        self.sweep(self.smfs[usize::from(number)].number - 2);
        let at = self.later(8 * self.pace.think);
        self.push(at, Event::Restart(number));
    }

    fn forget_waiting(&mut self) {
        self.waiting = std::mem::take(&mut self.waiting)
            .into_iter()
            .filter(|waiting| self.is_since_restart(waiting.message()))
            .collect();
    }

    fn renumbered(&mut self, number: u8) {
        let of_smf = &mut self.smfs[usize::from(number)];
        of_smf.is_up = true;
        let now = of_smf.number;
        self.machine.model.tables.set_smf(smf(number), smf(number), now);
        for slot in 0..self.slots.len() {
            if self.slots[slot].smf == number {
                self.next(slot);
            }
        }
        self.sweep(now - 2);
    }
}

/// The session that an answer is about.
fn live_of(number: u8, octets: &[u8], answer: &[u8]) -> Live {
    let fields = parse(&octets[16..]).fields;
    let (seid, teids) = numbers_of(answer);
    Live {
        smf: number,
        seid: seid.unwrap(),
        of_crate: (0, 0),
        cp: (fields.get("cp_high") as u64) << 32 | fields.get("cp_low") as u64,
        ue: Ipv4Addr::from(fields.get("ue") as u32),
        teid: teids[0],
        has_qer: fields.form("form_qer") != 0,
        has_downlink: false,
        fars: [far_id(&fields), 0],
        origin: octets.to_vec(),
        last: octets.to_vec(),
    }
}

/// The switch.
impl World<'_> {
    fn index_of(&self, octets: &[u8]) -> Option<u32> {
        let of_ue = || self.tables.place(ues_named(octets).first().copied()?.into());
        if octets[1] == 50 { of_ue() } else { index_named(octets) }
    }

    fn at_switch(&mut self, id: usize) {
        let request = &self.requests[id];
        let from = SocketAddrV4::new(smf(self.slots[request.slot].smf), 8805);
        let message = Message { request: Some(id), from, octets: request.octets.clone() };
        if !self.is_since_restart(&message) {
            return;
        }
        let index = self.index_of(&message.octets);
        // Not while an establishment of the index is between its passes (docs/accel.md).
        let others = index.and_then(|index| self.between.get(&index));
        if others.is_some_and(|others| others.contains(&Kind::Establishment)) {
            return self.push(self.second_at.max(self.now) + 1, Event::Request(id));
        }
        // What neither switch nor software knows any more (docs/accel.md).
        if self.is_unknown(request) {
            self.counts.late += 1;
            return;
        }
        match self.machine.model.message(&mut self.machine.state, from, &message.octets).unwrap() {
            Verdict::Answered(answer) => self.answers(id, index.unwrap(), &message, answer),
            Verdict::Second(second) => self.passes_again(second, message, index),
            verdict => panic!("{verdict:?}"),
        }
    }

    /// The switch has answered the request, and so much has changed since that it does not know it any more.
    fn is_unknown(&self, request: &Request) -> bool {
        let changes = if request.kind == Kind::Establishment { &self.begun } else { &self.changes };
        let now = self.index_of(&request.octets).and_then(|index| changes.get(&index).copied());
        request.by_switch.is_some_and(|then| Some(then) != now)
    }

    /// The switch answers.
    fn answers(&mut self, id: usize, index: u32, message: &Message, answer: Vec<u8>) {
        self.software.answered_by_switch(message.from, &message.octets, &answer);
        let request = &mut self.requests[id];
        if request.by_switch.is_none() {
            self.counts.by_switch += 1;
            let changes = self.changes.entry(index).or_default();
            *changes += 1;
            request.by_switch = Some(*changes);
            if request.kind == Kind::Establishment {
                let begun = self.begun.entry(index).or_default();
                *begun += 1;
                request.by_switch = Some(*begun);
                let number = self.slots[request.slot].smf;
                let live = live_of(number, &message.octets, &answer);
                self.begun_sessions.insert(live.seid, live);
            }
        }
        self.answer(message, answer);
    }

    fn passes_again(&mut self, second: Second, message: Message, index: Option<u32>) {
        if let Some(index) = index {
            *self.changes.entry(index).or_default() += u32::from(second.is_noted());
            let kind = message.request.map_or(Kind::Other, |id| self.requests[id].kind);
            self.between.entry(index).or_default().push(kind);
            if let Some(ue) = self.tables.address(index).filter(|_| self.random.u8(..8) == 0) {
                self.push(self.now, Event::PacketBetween(ue));
            }
        }
        if let Some(id) = message.request.filter(|_| self.random.u8(..8) == 0) {
            // A copy of it comes before its second pass.
            self.push(self.now, Event::Request(id));
        }
        let at = match self.random.u8(..8) {
            0 => self.later(self.pace.network),
            _ => self.now + self.random.u64(1..4),
        };
        self.second_at = at.max(self.second_at);
        self.push(self.second_at, Event::Second(second, message, index));
    }

    /// Not between both passes of a change (docs/accel.md).
    fn write_rows(&mut self) {
        while self.between.is_empty()
            && let Some(rows) = self.rows.pop_front()
        {
            rows.write(&mut self.machine.model.tables);
        }
    }

    fn second(&mut self, second: Second, message: Message, index: Option<u32>) {
        if let Some(index) = index {
            let others = self.between.get_mut(&index).unwrap();
            others.remove(0);
            if others.is_empty() {
                self.between.remove(&index);
                self.write_rows();
            }
        }
        let entry = self.machine.model.second(&mut self.machine.state, second).unwrap();
        if let Some(entry) = &entry {
            let seid = seid_of(entry);
            let is_alive = self.software.alive.values().any(|alive| *alive == seid);
            if is_alive {
                self.moving.insert(seid);
            }
            if !is_alive {
                *self.changes.entry(entry.index).or_default() += 1;
            }
        }
        self.by_cpu_port(Event::AtSoftware(message, entry));
    }

    /// What leaves by the CPU port arrives in this order.
    fn by_cpu_port(&mut self, event: Event) {
        self.cpu_at = self.later(self.pace.cpu).max(self.cpu_at);
        self.push(self.cpu_at, event);
    }
}

/// User packets.
impl World<'_> {
    fn packet_of(&mut self, ue: Ipv4Addr, direction: Direction) {
        let index = self.tables.place(ue.into()).unwrap();
        let (number, qfi) = (self.packets.len() as u32, self.random.u8(8..11));
        self.packets.push((ue, direction, Way::Sent));
        let teid = self.teids.get(&ue).copied().unwrap_or(1);
        let packet = Numbered { ue, direction, teid, qfi, number };
        let read = self.machine.model.read(&self.machine.state, index).unwrap();
        let smfs = self.smfs.iter().map(|smf| smf.number).chain([OWN_NUMBER]);
        let is_stale = read.is_live() && smfs.clone().all(|number| number != read.state as u16);
        let session = self.software.session_of(ue);
        let (model, state) = (&self.machine.model, &mut self.machine.state);
        let passage = match direction {
            Direction::Uplink => model.uplink(state, teid, qfi, ue).unwrap(),
            Direction::Downlink => model.downlink(state, ue).unwrap(),
        };
        let fate = match passage {
            Passage::ToSoftware => {
                return self.by_cpu_port(Event::PacketAtSoftware(packet, session));
            }
            Passage::Decapsulated(_) => Fate::Left(None),
            Passage::Encapsulated(teid, peer, qfi, _) => Fate::Left(Some((teid, peer, qfi))),
            Passage::Dropped => Fate::Dropped,
        };
        if is_stale {
            self.counts.stale += 1;
        } else {
            assert_eq!(fate, self.software.fate_in_whole(&packet), "{packet:?}: {read:?}");
        }
        self.decided(&packet, fate, false);
    }

    fn decided(&mut self, packet: &Numbered, fate: Fate, by_software: bool) {
        match fate {
            Fate::Left(_) if by_software => self.leaves(packet.number),
            Fate::Left(_) => self.has_left(packet.number),
            Fate::Buffered => {
                self.counts.buffered += 1;
                self.packets[packet.number as usize].2 = Way::Buffered;
            }
            Fate::Dropped => {
                self.counts.dropped += 1;
                self.packets[packet.number as usize].2 = Way::Dropped;
            }
        }
    }

    /// A packet of the software is on its way through the switch.
    fn leaves(&mut self, number: u32) {
        self.packets[number as usize].2 = Way::Sent;
        self.left_at = self.later(self.pace.cpu).max(self.left_at);
        self.push(self.left_at, Event::Left(number));
    }

    fn has_left(&mut self, number: u32) {
        let (ue, direction, way) = &mut self.packets[number as usize];
        assert_eq!(*way, Way::Sent, "packet {number} leaves twice");
        *way = Way::Left;
        self.counts.left[usize::from(*direction == Direction::Downlink)] += 1;
        let last = self.last.insert((*ue, *direction), number);
        assert!(last.is_none_or(|last| last < number), "packet {number} is overtaken by {last:?}");
    }
}

/// Says which world fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("CAUSEWAY_SEED={}", self.0);
        }
    }
}

// Input:  300 worlds (CAUSEWAY_WORLDS: another number) of two SMFs that share six UE addresses: requests that are lost, repeated, late, of the
//         class, nearly so and more complex ones, two for one UE, before the answer to the one before, restarts, ends of associations; user
//         packets in both directions; policies that are admitted meanwhile; what is between switch, control plane and N4 takes from a microsecond
//         up to its time of the world (`Pace`): the CPU port at most 66 ms, a write or read at most 33 ms, a second pass 8 ms.
// Output: at each moment each session is the switch's, the software's or in the frame between them; each request has the answer of N4 that has
//         everything, the same octets if it is repeated; each packet leaves as that slow path forwards it, once and in order, or is buffered or
//         dropped as there; at the end both have the same sessions with the same rules.
#[test]
fn each_world_is_as_one_upf() {
    let asked = |name| std::env::var(name).ok().map(|value: String| value.parse::<u64>().unwrap());
    let (first, worlds) = (asked("CAUSEWAY_SEED").unwrap_or(0), asked("CAUSEWAY_WORLDS").unwrap_or(WORLDS));
    let mut machine = Machine::new();
    let mut all = Counts::default();
    for seed in first..first + worlds {
        let _seed = Seed(seed);
        let mut world = World::new(seed, &mut machine);
        world.run();
        all.add(&world.counts);
    }
    eprintln!("{all:?}");
    if worlds >= WORLDS {
        let all = [
            all.by_switch,
            all.adopted,
            all.claimed,
            all.void,
            all.released,
            all.waited,
            all.checked_again,
            all.restarts,
            all.ended_associations,
            all.left[0],
            all.left[1],
            all.buffered,
        ];
        assert!(all.iter().all(|count| *count > 0), "{all:?}");
    }
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.by_switch += other.by_switch;
        self.adopted += other.adopted;
        self.claimed += other.claimed;
        self.void += other.void;
        self.released += other.released;
        self.waited += other.waited;
        self.checked_again += other.checked_again;
        self.restarts += other.restarts;
        self.ended_associations += other.ended_associations;
        self.left[0] += other.left[0];
        self.left[1] += other.left[1];
        self.buffered += other.buffered;
        self.dropped += other.dropped;
        self.stale += other.stale;
        self.late += other.late;
    }
}
