//! Sessions that are kept by a chain of switches (AccelUPF sections 3.6 and 5.1): rate and latency of messages, and what a failure costs.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use causeway_chain::{Coordinator, Executed, Machine, Member, Message, Output, Replica};
use causeway_show::{Cell, Column, Progress, Table};
use causeway_types::Seid;

use super::messages::{DataPlane, Session, deletion, establishment, handover};
use super::software;
use super::switch::on_wire;
use crate::ExperimentError;
use crate::cli::Common;
use crate::events::{EventQueue, PICOS_PER_SECOND, Picos};
use crate::hardware::accel_switch as hardware;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;
use crate::samples::Latencies;

/// Octets of a message between switches, in UDP: epochs, version, sequence numbers and key; and those of the entry that an update of a
/// session has which is not deleted, as `session_entry_h` of the P4 program.
const MESSAGE: usize = 36;
const ENTRY: usize = 38;
/// Octets that the P4 program puts into the frame of a request, between EtherType and IP header (`chain_h` and `session_entry_h`).
const RECORD: usize = 48;

/// A pass, seconds.
const PASS: f64 = hardware::PASS.value * 1e-9;

/// A session is handed over, and later deleted, while this number of others is established.
const LAG: u32 = 32;
/// Sessions with failures, at least: a second of them.
const SESSIONS_WITH_FAILURES: u32 = 10_000;

/// Establishments a second while members fail, each with a handover, and a third of them with a deletion.
const RATE: f64 = 10_000.0;
/// Seconds between two failures, from a failure to the configuration without the member, and until the member returns: assumptions.
const FAILURES: f64 = 0.25;
const DETECTION: f64 = 0.01;
const ABSENCE: f64 = 0.05;
/// Seconds after which an SMF repeats a request (T1), and after which members audit.
const REPETITION: f64 = 0.1;
const AUDIT: f64 = 0.005;

/// The paper's latency of a message as its load generator sees it, without and with a second switch, seconds (section 5.1: 60 % more).
const PAPER: f64 = 35e-6;
const PAPER_MORE: f64 = 60.0;

/// A row.
#[derive(Clone, Copy, Debug)]
struct Design {
    name: &'static str,
    members: u16,
    is_failing: bool,
    /// As the P4 program does it: the head passes a message twice, and sends it with the record in front.
    is_program: bool,
}

impl Design {
    const fn of(name: &'static str, members: u16) -> Self {
        Self { name, members, is_failing: false, is_program: false }
    }
}

const DESIGNS: [Design; 6] = [
    Design::of("K = 0", 1),
    Design::of("K = 1", 2),
    Design::of("K = 2", 3),
    Design { is_program: true, ..Design::of("K = 1, the P4 program", 2) },
    Design { is_failing: true, ..Design::of("K = 1, members fail", 2) },
    Design { is_failing: true, ..Design::of("K = 2, members fail", 3) },
];

/// What was found.
#[derive(Clone, Debug)]
struct Measured {
    /// Messages a second while the port is full; without failures.
    rate: Option<f64>,
    /// From the last bit of a request to the last one of its answer.
    latency: Latencies,
    requests: u64,
    repeated: u64,
    failures: u64,
    /// The longest time between two answers, seconds.
    silence: f64,
    /// Sessions that were acknowledged and that a member lacks or has in an older state at the end; requests with two answers.
    lost: u64,
    two_answers: u64,
}

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when no row is selected, or the rows cannot be written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let selected = common.rows_by_name(&DESIGNS, |row| row.name)?;
    let sizes = Sizes::new(common.seed)?;
    let sessions = if common.quick { 1_000 } else { 20_000 };
    let measured = rows.measure(
        &selected,
        |design| {
            progress.stage(design.name.to_owned());
            Ok(measure(*design, sizes, sessions, common.seed))
        },
        |measured| table(&selected, measured),
    )?;
    let (mut goals, mut beside_paper) = (Vec::new(), Vec::new());
    let alone = selected.iter().zip(&measured).find(|(design, _)| design.members == 1);
    for (design, found) in selected.iter().zip(&measured) {
        let name = |what: &str| format!("{}: {what}", design.name);
        goals.push(Goal::at_most(&name("acknowledged sessions lost"), 0.0, found.lost as f64, ""));
        if design.is_failing {
            goals.push(Goal::at_most(&name("longest time without an answer"), 1.0, found.silence, "s"));
        } else if let Some((_, alone)) = alone.filter(|_| design.members > 1) {
            let before = alone.latency.percentile(50.0);
            let more = found.latency.percentile(50.0) - before;
            goals.push(Goal::at_most(
                &name("more latency than a switch alone"),
                30.0,
                100.0 * more / before,
                "%",
            ));
            beside_paper.push(format!("{}: {:.1} %", design.name, 100.0 * more / PAPER));
            // A record of the program is longer than its request, so that the link bounds it.
            if let Some((rate, before)) = found.rate.zip(alone.rate).filter(|_| !design.is_program) {
                goals.push(Goal::at_least(
                    &name("rate, of that of one switch"),
                    99.0,
                    100.0 * rate / before,
                    "%",
                ));
            }
        }
    }
    Ok(Outcome {
        name: "accel-chain",
        title: "Sessions that are kept by a chain of switches (AccelUPF, sections 3.6 and 5.1)".into(),
        conditions: vec![
            ("switches", format!("ports of {} Gbit/s, {} ns a pass, an own link to the next switch", hardware::PORT.value / 1e9, hardware::PASS.value)),
            (
                "messages",
                format!(
                    "establishment, handover and deletion of many sessions in turn: {:.0} octets a request on the wire; {} an update between switches, \
                     {} that of a deletion; the P4 program sends the request and {RECORD} octets",
                    sizes.mean(),
                    on_wire(MESSAGE + ENTRY),
                    on_wire(MESSAGE)
                ),
            ),
            (
                "failures",
                format!(
                    "{RATE} establishments/s, with handovers and deletions; every {FAILURES} s a member fails, is out of the chain {} ms later, and returns without state after {} ms; \
                     SMFs repeat after {} ms (assumptions)",
                    DETECTION * 1e3,
                    ABSENCE * 1e3,
                    REPETITION * 1e3
                ),
            ),
            ("software", format!("measured elsewhere, no model time: {}", software::CHAIN_SOURCE)),
            ("seed", common.seed.to_string()),
        ],
        table: table(&selected, &measured),
        goals,
        notes: vec![
            "The protocol is causeway-chain, whose behaviours are checked exhaustively for small chains; times are model time. The tail sends the \
             answers, so that each further switch adds a pass and a link. A switch alone has one pass, so that the goal of 30 % more is missed by any chain: \
             the first further switch alone is 100 % more."
                .into(),
            "The P4 program (docs/chain.md, Switches) has K = 1 alone. Its primary passes a message twice and sends the whole request behind the record, without an \
             acknowledgement: one more pass, and a link of the port's rate bounds a port that is full of requests."
                .into(),
            format!(
                "The paper measured {PAPER_MORE} % more latency with K = 1, of about {} us that its load generator sees. Model time added to that measurement, which is no result, \
                 would be {}.",
                PAPER * 1e6,
                beside_paper.join(", ")
            ),
        ],
        details: Vec::new(),
        charts: Vec::new(),
    })
}

fn table(rows: &[Design], measured: &[Measured]) -> Table {
    let mut table = Table::new(vec![
        Column::new("chain"),
        Column::of("full port", "1/s"),
        Column::of("latency, p50", "µs"),
        Column::of("latency, p99", "µs"),
        Column::new("requests"),
        Column::new("repeated"),
        Column::new("failures"),
        Column::of("longest silence", "ms"),
        Column::new("acknowledged and lost"),
        Column::new("two answers"),
    ]);
    for (design, found) in rows.iter().zip(measured) {
        let micros = |percent| Cell::Number(found.latency.percentile(percent) * 1e6, 2);
        table.row([
            design.name.into(),
            found.rate.map_or(Cell::Missing, |rate| Cell::Number(rate, 0)),
            micros(50.0),
            micros(99.0),
            Cell::Count(found.requests),
            Cell::Count(found.repeated),
            Cell::Count(found.failures),
            if design.is_failing { Cell::Number(found.silence * 1e3, 1) } else { Cell::Missing },
            Cell::Count(found.lost),
            Cell::Count(found.two_answers),
        ]);
    }
    let (silence, lost) = software::CHAIN;
    table.row([
        "two daemons, members killed, measured elsewhere".into(),
        Cell::Missing,
        Cell::Missing,
        Cell::Missing,
        Cell::Missing,
        Cell::Missing,
        Cell::Count(20),
        Cell::Number(silence * 1e3, 1),
        Cell::Count(lost),
        Cell::Missing,
    ]);
    table
}

/// Octets of a request and an answer on the wire, by the operation.
#[derive(Clone, Copy, Debug)]
struct Sizes([(usize, usize); 3]);

impl Sizes {
    /// Those of messages that `causeway-accel` has answered.
    fn new(seed: u64) -> Result<Self, ExperimentError> {
        let mut plane = DataPlane::new(1, seed)?;
        let session = Session { cp: 1, ue: Ipv4Addr::new(11, 0, 0, 1), teid: None };
        let mut sizes = [(0, 0); 3];
        for (size, message) in sizes.iter_mut().zip([establishment(&session), handover(1), deletion()]) {
            let seid = if plane.sessions() == 0 { Seid(0) } else { plane.seid() };
            let (request, answer) = plane.send(message, seid).map_err(ExperimentError::NotAnswered)?;
            *size = (on_wire(request), on_wire(answer));
        }
        Ok(Self(sizes))
    }

    fn of(&self, operation: Operation) -> (usize, usize) {
        let [establish, handover, delete] = self.0;
        match operation {
            Operation::Establish => establish,
            Operation::Handover => handover,
            Operation::Delete => delete,
        }
    }

    fn mean(&self) -> f64 {
        self.0.iter().map(|(request, _)| *request as f64).sum::<f64>() / 3.0
    }
}

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Establish,
    Handover,
    Delete,
}

/// The state of a session: by whom, and as the how manieth state of that member, it was made.
type State = (Member, u64);

/// Sessions as a member makes them.
#[derive(Debug)]
struct Sessions {
    member: Member,
    made: u64,
}

impl Machine for Sessions {
    type Key = u32;
    type Operation = Operation;
    type State = State;
    type Answer = State;

    fn execute(&mut self, _: &u32, _: Option<&State>, operation: &Operation) -> Executed<State, State> {
        self.made += 1;
        let state = (self.member, self.made);
        Executed { state: (*operation != Operation::Delete).then_some(state), answer: state }
    }
}

type Sent = Message<u32, State, State>;

/// What happens.
#[derive(Debug)]
enum Event {
    /// An SMF sends the next request of a session, or the open one again.
    Request {
        session: u32,
        sequence: u32,
    },
    /// A request has passed the member.
    Passed {
        to: Member,
        session: u32,
        sequence: u32,
    },
    /// A message between members has passed the receiver.
    Between {
        from: Member,
        to: Member,
        message: Sent,
    },
    /// The answer has left.
    Answered {
        session: u32,
        sequence: u32,
        answer: State,
    },
    Audit,
    Fails,
    /// The chain goes on without the node.
    Noticed {
        node: u16,
    },
    Returns {
        node: u16,
    },
}

/// An SMF's view of a session: its requests, of which the last one may be open.
#[derive(Debug, Default)]
struct Asked {
    requests: Vec<(Operation, Option<State>)>,
    /// When the open request had arrived for the first time, and which one that is.
    since: f64,
    since_of: Option<u32>,
}

const OPERATIONS: [Operation; 3] = [Operation::Establish, Operation::Handover, Operation::Delete];

/// The chain in model time.
struct World {
    sizes: Sizes,
    random: fastrand::Rng,
    coordinator: Coordinator,
    replicas: Vec<Option<Replica<Sessions>>>,
    incarnation: u32,
    smf: Vec<Asked>,
    events: EventQueue<Event>,
    now: f64,
    /// When the port of the SMF, the link from each member to each other one, and the port of the answers are free.
    input: f64,
    links: BTreeMap<(u16, u16), f64>,
    output: f64,
    /// Each session deletes itself after its handover; otherwise it stays.
    is_failing: bool,
    is_program: bool,
    end: f64,
    first_answer: f64,
    last_answer: f64,
    latencies: Vec<f64>,
    found: Measured,
}

fn measure(design: Design, sizes: Sizes, sessions: u32, seed: u64) -> Measured {
    let least = if design.is_failing { SESSIONS_WITH_FAILURES } else { 1 };
    let mut world = World::new(design, sizes, sessions.max(least), seed);
    if design.is_failing {
        world.under_failures();
        world.check();
        let latency = Latencies::of_seconds(world.latencies);
        return Measured { latency, ..world.found };
    }
    // One request at a time, then all of them at a full port.
    let mut idle = World::new(design, sizes, sessions.min(1_000), seed);
    for session in 0..sessions.min(1_000) {
        for sequence in 0..3 {
            idle.add(idle.now + 1e-3, Event::Request { session, sequence });
            idle.run();
        }
    }
    for turn in 0..sessions + 2 * LAG {
        for sequence in 0..3 {
            let session = turn.checked_sub(sequence * LAG).filter(|session| *session < sessions);
            session.into_iter().for_each(|session| world.add(0.0, Event::Request { session, sequence }));
        }
    }
    world.run();
    world.check();
    let rate = (world.found.requests - 1) as f64 / (world.last_answer - world.first_answer);
    Measured { rate: Some(rate), latency: Latencies::of_seconds(idle.latencies), ..world.found }
}

impl World {
    fn new(design: Design, sizes: Sizes, sessions: u32, seed: u64) -> Self {
        let members: Vec<Member> = (0..design.members).map(|node| Member::new(node, 1)).collect();
        let coordinator = Coordinator::new(members.clone());
        let start = |member: &Member| {
            let mut replica = Replica::new(*member, Sessions { member: *member, made: 0 });
            replica.configure(coordinator.configuration());
            Some(replica)
        };
        let found = Measured {
            rate: None,
            latency: Latencies::default(),
            requests: 0,
            repeated: 0,
            failures: 0,
            silence: 0.0,
            lost: 0,
            two_answers: 0,
        };
        Self {
            sizes,
            random: fastrand::Rng::with_seed(seed),
            replicas: members.iter().map(start).collect(),
            coordinator,
            incarnation: 1,
            smf: (0..sessions).map(|_| Asked::default()).collect(),
            events: EventQueue::with_seed(seed),
            now: 0.0,
            input: 0.0,
            links: BTreeMap::new(),
            output: 0.0,
            is_failing: design.is_failing,
            is_program: design.is_program,
            end: f64::MAX,
            first_answer: f64::MAX,
            last_answer: 0.0,
            latencies: Vec::new(),
            found,
        }
    }

    fn add(&mut self, at: f64, event: Event) {
        self.events.push((at * PICOS_PER_SECOND).round() as Picos, event);
    }

    /// Until nothing is left to happen.
    fn run(&mut self) {
        while let Some((at, event)) = self.events.pop() {
            self.now = at as f64 / PICOS_PER_SECOND;
            self.step(event);
        }
    }

    /// Requests at a rate while one member after the other fails and returns; then all is repaired.
    fn under_failures(&mut self) {
        let sessions = self.smf.len() as u32;
        self.end = f64::from(sessions) / RATE;
        for session in 0..sessions {
            let at = self.random.f64() * self.end;
            self.add(at, Event::Request { session, sequence: 0 });
        }
        let mut at = FAILURES;
        while at < self.end {
            self.add(at, Event::Fails);
            at += FAILURES;
        }
        self.add(AUDIT, Event::Audit);
        self.run();
    }

    /// What was acknowledged is at each member of the chain, in the state of the last answer.
    fn check(&mut self) {
        let of = |replica: &Replica<Sessions>| -> BTreeMap<u32, State> {
            replica.sessions().map(|(key, state)| (*key, *state)).collect()
        };
        let members: Vec<_> = self.replicas.iter().flatten().map(of).collect();
        for (session, asked) in (0..).zip(&self.smf) {
            let Some((operation, Some(answer))) = asked.requests.last() else {
                // Without an answer nothing was promised; the run ends only when each request has one.
                self.found.lost += u64::from(!asked.requests.is_empty());
                continue;
            };
            let expected = (*operation != Operation::Delete).then_some(answer);
            let has_it = members.iter().all(|sessions| sessions.get(&session) == expected);
            self.found.lost += u64::from(!has_it);
        }
    }

    fn transmit(free_at: &mut f64, now: f64, octets: usize) -> f64 {
        *free_at = free_at.max(now) + octets as f64 * 8.0 / hardware::PORT.value;
        *free_at
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Request { session, sequence } => self.request(session, sequence),
            Event::Passed { to, session, sequence } => {
                let operation = OPERATIONS[sequence as usize % OPERATIONS.len()];
                let Some(replica) = self.live(to) else { return };
                if let Ok(outputs) = replica.request(&session, sequence, &operation) {
                    self.carry_out(to, outputs);
                }
            }
            Event::Between { from, to, message } => {
                let Some(replica) = self.live(to) else { return };
                let outputs = replica.receive(from, &message);
                self.carry_out(to, outputs);
            }
            Event::Answered { session, sequence, answer } => self.answered(session, sequence, answer),
            Event::Audit => {
                for node in 0..self.replicas.len() {
                    let Some(replica) = &mut self.replicas[node] else { continue };
                    let (member, outputs) = (replica.member(), replica.audit());
                    self.carry_out(member, outputs);
                    self.configure(node);
                }
                // Until each request is answered and each member has returned.
                let is_open =
                    |asked: &Asked| asked.requests.last().is_some_and(|(_, answer)| answer.is_none());
                let is_whole = self.coordinator.configuration().members.len() == self.replicas.len();
                if self.now < self.end || !is_whole || self.smf.iter().any(is_open) {
                    self.add(self.now + AUDIT, Event::Audit);
                }
            }
            Event::Fails => self.fails(),
            Event::Noticed { node } => {
                self.coordinator.failed(node);
                (0..self.replicas.len()).for_each(|node| self.configure(node));
            }
            Event::Returns { node } => {
                self.incarnation += 1;
                let member = Member::new(node, self.incarnation);
                self.replicas[usize::from(node)] = Some(Replica::new(member, Sessions { member, made: 0 }));
                self.coordinator.join(member);
                (0..self.replicas.len()).for_each(|node| self.configure(node));
            }
        }
    }

    fn live(&mut self, member: Member) -> Option<&mut Replica<Sessions>> {
        self.replicas.get_mut(usize::from(member.node))?.as_mut().filter(|replica| replica.member() == member)
    }

    /// The SMF sends to the head, whom it does not know: routing does.
    fn request(&mut self, session: u32, sequence: u32) {
        let asked = &mut self.smf[session as usize];
        let operation = OPERATIONS[sequence as usize % OPERATIONS.len()];
        match asked.requests.get(sequence as usize) {
            Some((_, Some(_))) => return,
            Some(_) => self.found.repeated += 1,
            None => {
                asked.requests.push((operation, None));
                self.found.requests += 1;
            }
        }
        let arrived = Self::transmit(&mut self.input, self.now, self.sizes.of(operation).0);
        let asked = &mut self.smf[session as usize];
        if asked.since_of != Some(sequence) {
            (asked.since_of, asked.since) = (Some(sequence), arrived);
        }
        if self.is_failing {
            self.add(self.now + REPETITION, Event::Request { session, sequence });
        }
        if let Some(head) = self.coordinator.configuration().members.first().copied() {
            let passes = if self.is_program { 2.0 } else { 1.0 };
            self.add(arrived + passes * PASS, Event::Passed { to: head, session, sequence });
        }
    }

    fn answered(&mut self, session: u32, sequence: u32, answer: State) {
        let asked = &mut self.smf[session as usize];
        let (operation, known) = &mut asked.requests[sequence as usize];
        let operation = *operation;
        if known.is_some_and(|known| known != answer) {
            self.found.two_answers += 1;
        }
        if known.replace(answer).is_none() {
            self.latencies.push(self.now - asked.since);
            // Behind the end there are few requests.
            if self.last_answer < self.end {
                self.found.silence = self.found.silence.max(self.now - self.last_answer);
            }
            self.first_answer = self.first_answer.min(self.now);
            self.last_answer = self.now;
            // A third of the sessions is deleted again.
            let goes_on = operation == Operation::Establish
                || (operation == Operation::Handover && session.is_multiple_of(3));
            if self.is_failing && goes_on {
                let at = self.now + self.random.f64() * 0.5;
                self.add(at, Event::Request { session, sequence: sequence + 1 });
            }
        }
    }

    fn carry_out(&mut self, by: Member, outputs: Vec<Output<u32, State, State>>) {
        for output in outputs {
            match output {
                Output::Send { to, message } => {
                    let octets = match &message {
                        Message::Update(update) if self.is_program => {
                            let sequence = update.respond_to.unwrap_or(0);
                            self.sizes.of(OPERATIONS[sequence as usize % OPERATIONS.len()]).0 + RECORD
                        }
                        Message::Update(update) if update.state.is_some() => on_wire(MESSAGE + ENTRY),
                        Message::Update(_) | Message::Acknowledge { .. } | Message::Joining { .. } => {
                            on_wire(MESSAGE)
                        }
                    };
                    let link = self.links.entry((by.node, to.node)).or_default();
                    let arrived = Self::transmit(link, self.now, octets);
                    self.add(arrived + PASS, Event::Between { from: by, to, message });
                }
                Output::Ready { epoch } => {
                    self.coordinator.ready(epoch);
                    (0..self.replicas.len()).for_each(|node| self.configure(node));
                }
                Output::Answer { key, sequence, answer } => {
                    let operation = OPERATIONS[sequence as usize % OPERATIONS.len()];
                    let at = Self::transmit(&mut self.output, self.now, self.sizes.of(operation).1);
                    self.add(at, Event::Answered { session: key, sequence, answer });
                }
            }
        }
    }

    fn configure(&mut self, node: usize) {
        let configuration = self.coordinator.configuration().clone();
        let Some(replica) = &mut self.replicas[node] else { return };
        let member = replica.member();
        let outputs = replica.configure(&configuration);
        self.carry_out(member, outputs);
    }

    /// A random member of the chain fails, unless it is the last one or another one is away.
    fn fails(&mut self) {
        let members = &self.coordinator.configuration().members;
        if members.len() < self.replicas.len() {
            return;
        }
        let node = members[self.random.usize(..members.len())].node;
        self.replicas[usize::from(node)] = None;
        self.found.failures += 1;
        self.add(self.now + DETECTION, Event::Noticed { node });
        self.add(self.now + ABSENCE, Event::Returns { node });
    }
}
