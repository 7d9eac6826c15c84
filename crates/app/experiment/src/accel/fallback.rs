//! Sessions that leave the switch for software, while their packets go on (AccelUPF section 3.5 and the figures in 5.1).

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use causeway_show::{Bar, Bars, Cell, Column, Progress, Table};
use causeway_types::Seid;

use super::messages::{DataPlane, Session, complex_modification, establishment};
use crate::ExperimentError;
use crate::cli::Common;
use crate::events::{EventQueue, PICOS_PER_SECOND, Picos};
use crate::hardware::accel_switch as hardware;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;
use crate::samples::Latencies;

/// A pass, and the port to the software each way, seconds.
const PASS: f64 = hardware::PASS.value * 1e-9;
const CPU_PORT: f64 = hardware::CPU_PORT.value * 1e-9;
/// Software on one thread: a packet, the entry of a session, and the rest of a PFCP message, seconds. The first and the last are of the
/// order of `bench pipeline` and `bench pfcp`.
const PACKET: f64 = 0.5e-6;
const ENTRY: f64 = 1e-6;
const MESSAGE: f64 = 6e-6;
/// Packets of a session that wait for its entry, at most.
const WAITING: usize = 1024;

/// The paper's figures: the first packet after a fallback, and a packet before, seconds (section 5.1).
const PAPER: f64 = 2.4e-3;
const PAPER_BEFORE: f64 = 100e-6;

/// How the software gets the state of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The message that makes the session the software's has it in front.
    Carried,
    /// The software asks the switch by a probe (AccelUPF section 3.5).
    Probed,
}

/// A design under a load.
#[derive(Clone, Copy, Debug)]
struct Design {
    name: &'static str,
    state: State,
    /// Packets of all sessions in a second.
    packets: f64,
    /// Fallbacks in a second, at random.
    fallbacks: f64,
    /// The goal is for this row.
    has_goal: bool,
}

const DESIGNS: [Design; 5] = [
    design("entry with the message, 0.2 Mpps", State::Carried, 0.2e6, 1e4, true),
    design("entry with the message, 1 Mpps", State::Carried, 1e6, 1e4, true),
    design("entry with the message, 1.6 Mpps", State::Carried, 1.6e6, 1e4, true),
    design("entry with the message, all sessions at once", State::Carried, 1e6, 1e7, false),
    design("probe, 1 Mpps", State::Probed, 1e6, 1e4, false),
];

const fn design(name: &'static str, state: State, packets: f64, fallbacks: f64, has_goal: bool) -> Design {
    Design { name, state, packets, fallbacks, has_goal }
}

/// What was found.
#[derive(Clone, Debug)]
struct Measured {
    /// Of the first packet of each session after its fallback, seconds.
    first: Latencies,
    /// Of packets that the switch forwards.
    before: Latencies,
    /// Of later packets that the software forwards.
    after: Latencies,
    /// Packets.
    packets: u64,
    /// Packets that waited for the entry of their session.
    waited: u64,
    /// Packets that were lost or came out twice, and packets that overtook one of their session.
    lost_or_doubled: u64,
    overtaken: u64,
    /// Sessions whose rules in the software are not those that the switch had.
    different: u64,
}

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when no row is selected, or the rows cannot be written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let selected = common.rows_by_name(&DESIGNS, |row| row.name)?;
    let sessions = if common.quick { 200 } else { 4_000 };
    let measured = rows.measure(
        &selected,
        |design| {
            progress.stage(design.name.to_owned());
            World::new(*design, sessions, common.seed)?.run()
        },
        |measured| table(&selected, measured),
    )?;
    let mut goals = Vec::new();
    for (design, measured) in selected.iter().zip(&measured) {
        if design.has_goal {
            let name = format!("{}: first packet after the fallback, p99", design.name);
            goals.push(Goal::at_most(&name, 0.2, measured.first.percentile(99.0) * 1e3, "ms"));
        }
        let wrong = measured.lost_or_doubled + measured.overtaken + measured.different;
        let name = format!("{}: packets lost, doubled or overtaken, sessions with other rules", design.name);
        goals.push(Goal::at_most(&name, 0.0, wrong as f64, ""));
    }
    Ok(Outcome {
        name: "accel-fallback",
        title: "Sessions that leave the switch for software (AccelUPF, sections 3.5 and 5.1)".into(),
        conditions: vec![
            ("sessions", format!("{sessions}, each of which falls back once, by a modification with a URR")),
            ("switch", format!("{} ns a pass; the message passes twice, and the second pass marks the session", hardware::PASS.value)),
            ("port to the software", format!("{} us each way (assumption)", CPU_PORT * 1e6)),
            (
                "software",
                format!(
                    "one thread, first come first served: {} us a packet, {} us an entry, {} us the rest of a message (assumptions)",
                    PACKET * 1e6,
                    ENTRY * 1e6,
                    MESSAGE * 1e6
                ),
            ),
            ("seed", common.seed.to_string()),
        ],
        table: table(&selected, &measured),
        goals,
        notes: vec![
            "All times are model time: from the arrival of a packet at the switch until it leaves it. The paper's times were measured and include its \
             load generator and its software."
                .into(),
            "Which messages fall back, and the rules that the software gets, are those of causeway-accel: for each session, the rules that the entry \
             has are compared with those that the switch had. \"All sessions at once\" shows what bounds it then: the messages."
                .into(),
        ],
        details: Vec::new(),
        charts: vec![("first", chart(&selected, &measured).into())],
    })
}

fn chart(rows: &[Design], measured: &[Measured]) -> Bars {
    let bar = |name: String, seconds: f64, is_of_others| Bar {
        name,
        values: vec![Some(seconds * 1e3)],
        is_of_others,
    };
    let model = rows.iter().zip(measured).map(|(design, found)| {
        bar(format!("{}: model, p99", design.name), found.first.percentile(99.0), false)
    });
    Bars {
        title: "First packet after the fallback".into(),
        x: String::new(),
        groups: vec!["first packet".into()],
        y: "ms".into(),
        bars: std::iter::once(bar("AccelUPF: paper, measured".into(), PAPER, true)).chain(model).collect(),
    }
}

fn table(rows: &[Design], measured: &[Measured]) -> Table {
    let mut table = Table::new(vec![
        Column::new("design"),
        Column::new("fallbacks"),
        Column::of("first, p50", "µs"),
        Column::of("first, p99", "µs"),
        Column::of("first, longest", "µs"),
        Column::of("before, p50", "µs"),
        Column::of("after, p50", "µs"),
        Column::new("packets"),
        Column::new("waited"),
        Column::new("lost or doubled"),
        Column::new("overtaken"),
    ]);
    let mut paper = vec![Cell::Missing; 11];
    paper[0] = "paper: AccelUPF".into();
    (paper[2], paper[5]) = (Cell::Number(PAPER * 1e6, 0), Cell::Number(PAPER_BEFORE * 1e6, 0));
    table.row(paper);
    for (design, found) in rows.iter().zip(measured) {
        let micros = |seconds: f64| Cell::Number(seconds * 1e6, 1);
        table.row([
            design.name.into(),
            Cell::Count(found.first.count() as u64),
            micros(found.first.percentile(50.0)),
            micros(found.first.percentile(99.0)),
            micros(found.first.longest()),
            micros(found.before.percentile(50.0)),
            micros(found.after.percentile(50.0)),
            Cell::Count(found.packets),
            Cell::Count(found.waited),
            Cell::Count(found.lost_or_doubled),
            Cell::Count(found.overtaken),
        ]);
    }
    table
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    /// A packet of a session arrives at the switch.
    Packet { session: usize, number: u32 },
    /// The message that the switch does not answer arrives there.
    Message { session: usize },
    /// It enters the pipeline again.
    SecondPass { session: usize },
    /// Something arrives at the software.
    AtSoftware(Work),
    /// The switch gets a probe of the software.
    Probe { session: usize },
    /// The software has done its work.
    Done,
    /// A packet leaves the switch.
    Leaves { session: usize, number: u32 },
}

/// What the software does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    Packet {
        session: usize,
        number: u32,
    },
    /// A message about a session, with its entry or without it.
    Message {
        session: usize,
        has_entry: bool,
    },
    /// The entry, in the response to a probe.
    Entry {
        session: usize,
    },
}

/// A session at both owners.
#[derive(Debug)]
struct Flow {
    seid: Seid,
    /// When each packet arrived.
    arrived: Vec<f64>,
    /// How often each packet has left.
    left: Vec<u8>,
    /// The number after that of the last packet that has left.
    next: u32,
    /// The first packet that the switch left to the software.
    first: Option<u32>,
    /// The switch forwards its packets.
    is_at_switch: bool,
    /// The software has its entry.
    is_at_software: bool,
    /// Packets and the message that wait for the entry.
    waiting: VecDeque<Work>,
    is_probed: bool,
}

struct World {
    design: Design,
    random: fastrand::Rng,
    plane: DataPlane,
    flows: Vec<Flow>,
    events: EventQueue<Event>,
    now: f64,
    /// Until then packets arrive.
    end: f64,
    /// The work of the software, the present one first.
    queue: VecDeque<Work>,
    found: BTreeMap<&'static str, u64>,
    first: Vec<f64>,
    before: Vec<f64>,
    after: Vec<f64>,
}

impl World {
    fn new(design: Design, sessions: u32, seed: u64) -> Result<Self, ExperimentError> {
        let mut plane = DataPlane::new(sessions, seed)?;
        let mut random = fastrand::Rng::with_seed(seed);
        let mut flows = Vec::new();
        for number in 0..sessions {
            let ue = Ipv4Addr::from(0x0b00_0000 + number);
            let session = Session { cp: u64::from(number) + 1, ue, teid: None };
            plane.send(establishment(&session), Seid(0)).map_err(ExperimentError::NotAnswered)?;
            flows.push(Flow {
                seid: plane.seid(),
                arrived: Vec::new(),
                left: Vec::new(),
                next: 0,
                first: None,
                is_at_switch: true,
                is_at_software: false,
                waiting: VecDeque::new(),
                is_probed: false,
            });
        }
        // Each session falls back after a while with packets; they go on until each has some more.
        let before = 20.0 * f64::from(sessions) / design.packets;
        let mut at = before;
        let mut order: Vec<usize> = (0..flows.len()).collect();
        random.shuffle(&mut order);
        let mut world = Self {
            design,
            random,
            plane,
            flows,
            events: EventQueue::with_seed(seed),
            now: 0.0,
            end: 0.0,
            queue: VecDeque::new(),
            found: BTreeMap::new(),
            first: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
        };
        for session in order {
            at += world.gap(design.fallbacks);
            world.add(at, Event::Message { session });
        }
        world.end = at + before;
        let each = design.packets / f64::from(sessions);
        for session in 0..world.flows.len() {
            let at = world.gap(each);
            world.add(at, Event::Packet { session, number: 0 });
        }
        Ok(world)
    }

    /// A random time between two events of this rate.
    fn gap(&mut self, rate: f64) -> f64 {
        -(1.0 - self.random.f64()).ln() / rate
    }

    fn add(&mut self, at: f64, event: Event) {
        self.events.push((at * PICOS_PER_SECOND).round() as Picos, event);
    }

    fn run(mut self) -> Result<Measured, ExperimentError> {
        while let Some((at, event)) = self.events.pop() {
            self.now = at as f64 / PICOS_PER_SECOND;
            self.step(event)?;
        }
        let left_once = |flow: &Flow| flow.left.iter().filter(|count| **count != 1).count() as u64;
        let value = |name| self.found.get(name).copied().unwrap_or_default();
        Ok(Measured {
            packets: self.flows.iter().map(|flow| flow.arrived.len() as u64).sum(),
            waited: value("waited"),
            lost_or_doubled: self.flows.iter().map(left_once).sum(),
            overtaken: value("overtaken"),
            different: value("different"),
            first: Latencies::of_seconds(self.first),
            before: Latencies::of_seconds(self.before),
            after: Latencies::of_seconds(self.after),
        })
    }

    fn count(&mut self, what: &'static str) {
        *self.found.entry(what).or_default() += 1;
    }

    fn step(&mut self, event: Event) -> Result<(), ExperimentError> {
        let delay = PASS;
        let now = self.now;
        match event {
            Event::Packet { session, number } => {
                let each = self.design.packets / self.flows.len() as f64;
                let next = now + self.gap(each);
                if next < self.end {
                    self.add(next, Event::Packet { session, number: number + 1 });
                }
                let flow = &mut self.flows[session];
                flow.arrived.push(now);
                flow.left.push(0);
                if flow.is_at_switch {
                    self.add(now + delay, Event::Leaves { session, number });
                } else {
                    flow.first.get_or_insert(number);
                    let work = Work::Packet { session, number };
                    self.add(now + delay + CPU_PORT, Event::AtSoftware(work));
                }
            }
            Event::Message { session } => self.add(now + delay, Event::SecondPass { session }),
            Event::SecondPass { session } => {
                // The mark and the entry in one pass: no packet finds a session that is at neither or at both.
                self.flows[session].is_at_switch = false;
                let has_entry = self.design.state == State::Carried;
                if has_entry {
                    self.leave_switch(session)?;
                }
                let work = Work::Message { session, has_entry };
                self.add(now + delay + CPU_PORT, Event::AtSoftware(work));
            }
            Event::Probe { session } => {
                self.leave_switch(session)?;
                self.add(now + delay + CPU_PORT, Event::AtSoftware(Work::Entry { session }));
            }
            Event::AtSoftware(work) => {
                self.queue.push_back(work);
                if self.queue.len() == 1 {
                    self.begin();
                }
            }
            Event::Done => {
                if let Some(work) = self.queue.pop_front() {
                    self.done(work);
                }
                self.begin();
            }
            Event::Leaves { session, number } => {
                let flow = &mut self.flows[session];
                flow.left[number as usize] += 1;
                let latency = now - flow.arrived[number as usize];
                let is_late = number < flow.next;
                flow.next = flow.next.max(number + 1);
                match flow.first {
                    Some(first) if first == number => self.first.push(latency),
                    Some(first) if first < number => self.after.push(latency),
                    _ => self.before.push(latency),
                }
                if is_late {
                    self.count("overtaken");
                }
            }
        }
        Ok(())
    }

    /// The switch gives the session away: the real tables say which message does that, and what the entry has.
    fn leave_switch(&mut self, session: usize) -> Result<(), ExperimentError> {
        let is_equal = self.plane.falls_back(complex_modification(), self.flows[session].seid)?;
        if !is_equal {
            self.count("different");
        }
        Ok(())
    }

    /// The software begins with the next work.
    fn begin(&mut self) {
        let time = match self.queue.front() {
            None => return,
            Some(Work::Packet { .. }) => PACKET,
            Some(Work::Message { has_entry: true, .. }) => ENTRY + MESSAGE,
            Some(Work::Message { has_entry: false, .. }) => MESSAGE,
            Some(Work::Entry { .. }) => ENTRY,
        };
        self.add(self.now + time, Event::Done);
    }

    fn done(&mut self, work: Work) {
        match work {
            Work::Packet { session, number } => {
                let flow = &mut self.flows[session];
                if flow.is_at_software {
                    let at = self.now + CPU_PORT + PASS;
                    self.add(at, Event::Leaves { session, number });
                } else if flow.waiting.len() < WAITING {
                    flow.waiting.push_back(work);
                    self.count("waited");
                    self.ask(session);
                }
            }
            Work::Message { session, has_entry: true } => self.flows[session].is_at_software = true,
            Work::Message { session, has_entry: false } => self.ask(session),
            Work::Entry { session } => {
                self.flows[session].is_at_software = true;
                // Before everything that arrived since: the queue of the software has later packets of the session.
                for work in std::mem::take(&mut self.flows[session].waiting).into_iter().rev() {
                    self.queue.push_front(work);
                }
            }
        }
    }

    /// The software probes, once.
    fn ask(&mut self, session: usize) {
        if !std::mem::replace(&mut self.flows[session].is_probed, true) {
            self.add(self.now + CPU_PORT + PASS, Event::Probe { session });
        }
    }
}
