//! PFCP requests through the control plane, in memory.
//!
//! Datagrams are created in chunks and responses are checked while the clock is stopped: the figures include no sockets. All requests
//! of a chunk pass one stage before the next, so that stages can be measured separately.

mod decoding;
pub(crate) mod environment;
mod options;
pub(crate) mod requests;
#[cfg(feature = "upf")]
mod simple;
#[cfg(feature = "upf")]
pub(crate) mod sockets;

use std::time::Duration;

use causeway_fastpath::index::ArenaError;
use causeway_pfcp::{Cause, Header, Message};
use causeway_types::{Seid, Teid};

use decoding::{Costs, DecodeOnly};
use environment::{Environment, Stages};
pub(crate) use environment::{capabilities, topology};
pub use options::{Operation, Options, Plane, RequestVariant};
use requests::Establishments;

use crate::kit::{Count, Progress, Samples, available_memory, resident_memory};
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::{BenchError, Common, separate_process};

/// Requests that are measured as one.
const CHUNK: u32 = 256;

/// Octets that a session takes at most, with what comes and goes beside it.
const SESSION: u64 = 8192;

/// What the columns do not say.
const NOTES: [&str; 3] = [
    "activate: the first gNB of a session; handover: another one, with an End Marker.",
    "decode and rules are measured separately, as for a request with a new message template; most have a known one.",
    "memory: of the state of sessions without packets, and of the last 5000 responses.",
];

/// One session after another is this far away: they are not met in the order in which they were set up.
const STRIDE: u64 = 7919;

/// Measures all combinations. More than one are measured in a process of their own each.
///
/// # Errors
/// [`BenchError`], for example when a number is out of range or a request is not accepted.
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    let options = if common.quick { options.clone().quick() } else { options.clone() };
    options.check()?;
    #[cfg(not(feature = "upf"))]
    if options.sockets || options.simple {
        return Err(BenchError::Needs("--sockets and --simple need a build with the feature `upf`".into()));
    }
    #[cfg(feature = "upf")]
    if options.sockets {
        return sockets::run(&options, common);
    }
    #[cfg(feature = "upf")]
    if options.simple {
        return Ok(vec![simple::run(&options, common, &mut Progress::new())?]);
    }
    let conditions = Conditions::here(IoCost::Net).with(
        "requests",
        "2 PDRs, 2 FARs, 1 QER, 1 URR, 1 SDF filter; variant: differences between two sessions",
    );
    let mut report = Report::new("pfcp", "PFCP: requests through the control plane", conditions, columns());
    let mut progress = Progress::new();
    for sessions in &options.sessions {
        let planes =
            options.plane.iter().flat_map(|plane| options.variant.iter().map(move |it| (plane, *it)));
        for (plane, variant) in planes {
            progress.stage(format!("pfcp: {sessions} sessions, {plane}, {variant}"));
            if available_memory().is_some_and(|octets| octets < sessions.0 * SESSION) {
                report.skip(format_args!("{plane} with {sessions} sessions"), "too little memory");
                continue;
            }
            if options.sessions.len() * options.plane.len() * options.variant.len() > 1 && !common.quick {
                let operations: Vec<_> = options.operation.iter().map(ToString::to_string).collect();
                let flags = [
                    ("--plane", plane.to_string()),
                    ("--variant", variant.to_string()),
                    ("--sessions", sessions.to_string()),
                    ("--operation", operations.join(",")),
                    ("--requests", options.requests.to_string()),
                ];
                separate_process::measure("pfcp", &flags, common, &mut report)?;
                continue;
            }
            // The options are checked: it is below 2^32.
            match BenchSetup::new(*plane, variant, sessions.0 as u32, &options, common.seed as u32) {
                Ok(bench) => bench.run(&mut progress, &mut report)?,
                Err(error) => report.skip(format_args!("{plane} with {sessions} sessions"), error),
            }
        }
    }
    for note in NOTES {
        report.note(note);
    }
    // One combination may be one of several, in a process of its own.
    #[cfg(feature = "upf")]
    if options.sessions.len() * options.plane.len() * options.variant.len() > 1 {
        let simple = simple::run(&options, common, &mut progress)?;
        return Ok(vec![report, simple]);
    }
    Ok(vec![report])
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("plane"),
        Column::new("variant"),
        Column::new("sessions"),
        Column::new("requests"),
        Column::of("decode", "ns"),
        Column::of("rules", "ns"),
        Column::of("request", "ns"),
        Column::of("apply", "ns"),
        Column::of("response", "ns"),
        Column::of("p10", "ns"),
        Column::of("median", "ns"),
        Column::of("p90", "ns"),
        Column::of("rate", "k/s"),
        Column::of("memory", "B/session"),
    ]
}

/// The chunks of one operation.
#[derive(Default)]
struct Measured {
    total: Samples,
    request: Samples,
    apply: Samples,
    response: Samples,
    decode: Samples,
    rules: Samples,
}

impl Measured {
    fn add(&mut self, stages: Stages, costs: Costs, requests: usize) {
        let each = |samples: &mut Samples, span: Duration| {
            samples.add(span.as_secs_f64() * 1e9 / requests.max(1) as f64);
        };
        each(&mut self.total, stages.total());
        each(&mut self.request, stages.request);
        each(&mut self.apply, stages.apply);
        each(&mut self.response, stages.response);
        self.decode.add(costs.decode);
        self.rules.add(costs.rules);
    }
}

struct BenchSetup {
    plane: Plane,
    establishments: Establishments,
    operations: Vec<Operation>,
    sessions: u32,
    measured: u32,
    world: Environment,
    alone: DecodeOnly,
    seids: Vec<Seid>,
    sequence: u32,
    resident: Option<u64>,
}

impl BenchSetup {
    /// # Errors
    /// [`ArenaError`] when the data plane finds no room.
    fn new(
        plane: Plane,
        variant: RequestVariant,
        sessions: u32,
        options: &Options,
        seed: u32,
    ) -> Result<Self, ArenaError> {
        let measured = u32::try_from(options.requests.0).unwrap_or(u32::MAX);
        let seids = Vec::with_capacity(sessions as usize);
        let resident = resident_memory();
        let world = Environment::new(sessions, plane)?;
        let establishments = Establishments { variant, n3: environment::UPF_N3, is_limited: true };
        let alone = DecodeOnly::new(&establishments.request(0, 0));
        let operations = options.operation.clone();
        let sequence = seed;
        Ok(Self {
            plane,
            establishments,
            operations,
            sessions,
            measured,
            world,
            alone,
            seids,
            sequence,
            resident,
        })
    }

    fn run(mut self, progress: &mut Progress, report: &mut Report) -> Result<(), BenchError> {
        let (established, spent) = self.establish(progress)?;
        let (sessions, plane, seconds) = (Count(self.sessions.into()), self.plane, spent.as_secs_f64());
        report.note(format!("{plane}: {sessions} sessions were set up after {seconds:.3} s of CPU time."));
        let grown = resident_memory().zip(self.resident).map(|(now, before)| now.saturating_sub(before));
        let memory = grown.map(|octets| octets / u64::from(self.sessions));
        self.report(Operation::Establish, &established, memory, report);
        for operation in [Operation::Activate, Operation::Handover, Operation::Delete] {
            // Each needs the ones before it, but for the end of a session.
            if self.operations.contains(&operation) || operation == Operation::Activate {
                let measured = self.spread_over_sessions(operation)?;
                self.report(operation, &measured, None, report);
            }
        }
        Ok(())
    }

    /// All sessions; the last ones are measured. Also how long all of them took.
    fn establish(&mut self, progress: &mut Progress) -> Result<(Measured, Duration), BenchError> {
        let (mut measured, mut spent) = (Measured::default(), Duration::ZERO);
        let from = self.sessions.saturating_sub(self.measured);
        for first in (0..self.sessions).step_by(CHUNK as usize) {
            progress.set_progress(first.into(), self.sessions.into());
            let numbers = first..self.sessions.min(first + CHUNK);
            let how = self.establishments;
            let requests: Vec<_> = numbers.map(|number| how.request(number, self.next_sequence())).collect();
            let stages = self.serve(Operation::Establish, &requests)?;
            spent += stages.total();
            for answer in &self.world.answers {
                self.seids.extend(up_seid(answer));
            }
            if first >= from && requests.len() == CHUNK as usize {
                measured.add(stages, self.alone.measure(&requests), requests.len());
            }
        }
        Ok((measured, spent))
    }

    /// Requests about sessions all over the table; half of them at most are deleted, so that it stays full.
    fn spread_over_sessions(&mut self, operation: Operation) -> Result<Measured, BenchError> {
        let mut measured = Measured::default();
        let share = if operation == Operation::Delete { 2 } else { 1 };
        for chunk in 0..(self.measured.min(self.sessions / share) / CHUNK).max(1) {
            let requests: Vec<_> = (0..CHUNK).map(|at| self.request(operation, chunk * CHUNK + at)).collect();
            let costs = self.alone.measure(&requests);
            measured.add(self.serve(operation, &requests)?, costs, requests.len());
        }
        Ok(measured)
    }

    fn request(&mut self, operation: Operation, turn: u32) -> Vec<u8> {
        let number = (u64::from(turn) * STRIDE % u64::from(self.sessions)) as u32;
        let seid = self.seids.get(number as usize).copied().unwrap_or(Seid(0));
        let sequence = self.next_sequence();
        match operation {
            Operation::Establish => self.establishments.request(number, sequence),
            Operation::Activate => requests::handover(seid, number, 0, sequence),
            Operation::Handover => requests::handover(seid, number, 1, sequence),
            Operation::Delete => requests::deletion(seid, sequence),
        }
    }

    /// Every request must be accepted, or the figures mean something else.
    fn serve(&mut self, operation: Operation, requests: &[Vec<u8>]) -> Result<Stages, BenchError> {
        let is_measured = self.operations.contains(&operation) && requests.len() == CHUNK as usize;
        let stages = if is_measured { self.world.serve(requests) } else { self.world.prepare(requests) };
        let accepted = self.world.answers.iter().filter(|answer| is_accepted(answer)).count();
        if accepted == requests.len() {
            return Ok(stages);
        }
        Err(BenchError::NotAccepted { what: operation.to_string(), accepted, of: requests.len() })
    }

    const fn next_sequence(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1) & 0x00ff_ffff;
        self.sequence
    }

    fn report(&self, operation: Operation, measured: &Measured, memory: Option<u64>, report: &mut Report) {
        if !self.operations.contains(&operation) {
            return;
        }
        let median = |samples: &Samples| samples.summary().map(|summary| Cell::nanos(summary.median)).into();
        let total = measured.total.summary();
        report.row([
            self.plane.to_string().into(),
            self.establishments.variant.to_string().into(),
            Count(self.sessions.into()).into(),
            operation.to_string().into(),
            median(&measured.decode),
            median(&measured.rules),
            median(&measured.request),
            median(&measured.apply),
            median(&measured.response),
            total.map(|total| Cell::nanos(total.p10)).into(),
            total.map(|total| Cell::nanos(total.median)).into(),
            total.map(|total| Cell::nanos(total.p90)).into(),
            total.map(|total| Cell::Number(1e6 / total.median, 1)).into(),
            memory.map(Cell::Count).into(),
        ]);
    }
}

/// The UPF's SEID in an establishment response.
pub(crate) fn up_seid(answer: &[u8]) -> Option<Seid> {
    let (header, body, _) = Header::decode(answer).ok()?;
    match Message::decode(&header, body).ok()? {
        Message::SessionEstablishmentResponse(response) => Some(response.up_f_seid?.seid),
        _ => None,
    }
}

/// The TEID of the uplink tunnel in an establishment response.
pub(crate) fn uplink_teid(answer: &[u8]) -> Option<Teid> {
    let (header, body, _) = Header::decode(answer).ok()?;
    match Message::decode(&header, body).ok()? {
        Message::SessionEstablishmentResponse(response) => {
            let created = response.created_pdrs.iter().find_map(|created| created.local_f_teid)?;
            Some(created.assigned()?.teid)
        }
        _ => None,
    }
}

pub(crate) fn is_accepted(answer: &[u8]) -> bool {
    let Ok((header, body, _)) = Header::decode(answer) else { return false };
    let cause = match Message::decode(&header, body) {
        Ok(Message::SessionEstablishmentResponse(response)) => response.cause,
        Ok(Message::SessionModificationResponse(response)) => response.cause,
        Ok(Message::SessionDeletionResponse(response)) => response.cause,
        _ => return false,
    };
    cause == Cause::RequestAccepted
}
