//! A whole UPF beyond saturation: the delivered rate as the load grows, and the loss of a session while another one floods its
//! direction.
//!
//! The topology is that of [`crate::upf`]. The generator does not wait for the packets that it has sent. Its threads and the receiver
//! have separate cores, as far as cores are available. Neighbours use a part of the packet thread's core, so that a generator hardly
//! faster than the UPF can still offer a load far beyond saturation.

mod flow;
mod neighbours;
mod options;

use std::time::Duration;

use causeway_ports::Counter;
use causeway_types::Teid;

pub use options::Options;

use crate::kit::{Count, Progress, Samples, cores_beside, in_own_thread, pin};
use crate::namespaces::BenchNamespaces;
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::upf::{Cores, Direction, Field, Running, Setting, attach, choose_cores};
use crate::{BenchError, Common};
use flow::{CoreAssignment, OfferedLoad, Outcome, Streams, TrafficSockets};
use neighbours::Neighbours;

/// The measures of a round, in the order of the columns: name, unit, decimals.
const MEASURES: [(&str, &str, u8); 8] = [
    ("offered", "kpps", 1),
    ("delivered", "kpps", 1),
    ("lost", "%", 2),
    ("lost beside", "%", 2),
    ("CPU", "ns", 0),
    ("busy", "%", 0),
    ("not received", "%", 2),
    ("not sent", "%", 2),
];

/// The index of the delivered rate in [`MEASURES`].
const DELIVERED: usize = 1;

/// The rounds of one load: samples of each measure.
type Rounds = [Samples; MEASURES.len()];

/// Measures all combinations.
///
/// # Errors
/// [`BenchError::Needs`] without the right to make network namespaces, or the error of opening a port or socket there.
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    let options = if common.quick { options.clone().quick() } else { options.clone() };
    options.check()?;
    let nets = BenchNamespaces::acquire()?;
    in_own_thread(|| measure(&options, common, &nets)).map(|report| vec![report])
}

fn measure(options: &Options, common: &Common, nets: &BenchNamespaces) -> Result<Report, BenchError> {
    let plan = Plan::new(options, common)?;
    pin(plan.cores.others)?;
    let mut report = empty(options, &plan);
    let mut progress = Progress::new();
    let mut sides = Vec::new();
    for ports in &options.ways.ports {
        let setting = Setting {
            ports: *ports,
            sessions: options.sessions.0 as u32,
            busy_poll: false,
            accelerate: false,
        };
        match UpfSide::open(setting, &plan, options.joined, nets) {
            Ok(side) => sides.push(side),
            Err(BenchError::Daemon(error)) => report.skip(ports, error),
            Err(error) => return Err(error),
        }
    }
    let _neighbours = Neighbours::on(plan.cores.packets, options.neighbours)?;
    for direction in &options.ways.direction {
        compare(&mut sides, *direction, options, &mut progress, &mut report)?;
    }
    report.note("delivered: while the generator sends; lost: never arrived. of best: the delivered rate, of the most at any load of these rows.");
    report.note("CPU: of the packet thread, including the kernel, for each packet that arrived; busy: its share of the time.");
    report.note("not received: lost by the kernel before the UPF; not sent: lost at its ports; other packets were dropped beyond a fair share, or by the kernel behind the UPF.");
    Ok(report)
}

/// The cores of the parties.
#[derive(Clone)]
struct Plan {
    cores: Cores,
    /// One core for each thread of the generator.
    senders: Vec<usize>,
    /// The core of the receiver.
    far: usize,
}

impl Plan {
    /// The packet thread has a core alone; the far end has one if there are three; the generator has the others.
    fn new(options: &Options, common: &Common) -> Result<Self, BenchError> {
        let cores = choose_cores(common)?;
        let mut free = cores_beside(&[cores.packets, cores.others])?;
        let far = free.pop().unwrap_or(cores.others);
        free.insert(0, cores.others);
        let senders = free.iter().copied().cycle().take(options.senders).collect();
        Ok(Self { cores, senders, far })
    }
}

fn empty(options: &Options, plan: &Plan) -> Report {
    let Plan { cores: Cores { packets, .. }, senders, far } = plan;
    let load = match options.beside {
        Some(rate) => format!("of one session, beside {rate} packets a second of another"),
        None => format!("of {} sessions in turns", options.sessions),
    };
    let neighbours = match options.neighbours {
        0 => String::new(),
        count => format!(", which it shares with {count} threads that compute without pause"),
    };
    let conditions = Conditions::here(IoCost::Gross)
        .with("UPF", format!("packet thread on core {packets}{neighbours}; it sleeps without packets"))
        .with("topology", format!("generator on cores {senders:?}, the far end on core {far}"))
        .with("network", "veth pairs between namespaces; behind a TUN device the kernel forwards")
        .with("packets", format!("UDP over IPv4 of {} octets, {load}", options.size))
        .with("rows", format!("medians of {} rounds of {} ms, interleaved", options.rounds, options.time));
    let mut columns = vec![Column::new("ports"), Column::new("direction"), Column::of("load", "%")];
    columns.extend(MEASURES.map(|(name, unit, _)| Column::of(name, unit)));
    columns.push(Column::of("of best", "%"));
    Report::new("overload", "Overload: the delivered rate beyond saturation", conditions, columns)
}

/// A UPF with its sessions and topology.
struct UpfSide {
    setting: Setting,
    running: Running,
    ends: TrafficSockets,
    tunnels: Vec<Teid>,
    plan: Plan,
    /// The owner of the namespaces.
    _field: Field,
}

impl UpfSide {
    fn open(setting: Setting, plan: &Plan, joined: bool, nets: &BenchNamespaces) -> Result<Self, BenchError> {
        let field = Field::build(nets, plan.far)?;
        let running = Running::start(&field, setting, plan.cores)?;
        let mut smf = field.associate()?;
        let sessions = attach(&mut smf, setting.sessions)?;
        let tunnels = sessions.iter().map(|session| session.uplink.teid).collect();
        let ends = TrafficSockets::open(&field, plan.senders.len(), joined)?;
        Ok(Self { setting, running, ends, tunnels, plan: plan.clone(), _field: field })
    }

    fn offer(&mut self, streams: &mut Streams, offer: OfferedLoad) -> Result<Outcome, BenchError> {
        self.ends.run(streams, offer, CoreAssignment { senders: &self.plan.senders, far: self.plan.far })
    }

    /// The sum of the ports for one of these counters.
    fn total(&self, counters: &[Counter]) -> u64 {
        let of_port = |port: &std::sync::Arc<causeway_ports::Counters>| -> u64 {
            counters.iter().map(|counter| port.value(*counter)).sum()
        };
        self.running.counters.iter().map(of_port).sum()
    }

    fn round(
        &mut self,
        streams: &mut Streams,
        offer: OfferedLoad,
        rounds: &mut Rounds,
    ) -> Result<(), BenchError> {
        let counts = |side: &Self| [LOST_IN, LOST_OUT].map(|counters| side.total(counters));
        let (cpu, before) = (self.running.packets.cpu_time()?, counts(self));
        let outcome = self.offer(streams, offer)?;
        let cpu = self.running.packets.cpu_time()?.saturating_sub(cpu);
        let now = counts(self);
        let seconds = outcome.wall.as_secs_f64();
        let (sent, arrived) = (outcome.sent.max(1) as f64, outcome.passed());
        let percent = |part: f64| 100.0 * part / sent;
        let lost_beside = outcome.sent_beside.saturating_sub(outcome.arrived_beside);
        let [lost_in, lost_out] = [0, 1].map(|at: usize| percent((now[at] - before[at]) as f64));
        let measured: [Option<f64>; MEASURES.len()] = [
            Some(sent / seconds / 1000.0),
            Some(outcome.rate() / 1000.0),
            Some(percent((sent - arrived).max(0.0))),
            (outcome.sent_beside > 0).then(|| 100.0 * lost_beside as f64 / outcome.sent_beside as f64),
            Some(cpu.as_nanos() as f64 / arrived.max(1.0)),
            Some(100.0 * cpu.as_secs_f64() / seconds),
            Some(lost_in),
            Some(lost_out),
        ];
        for (samples, value) in rounds.iter_mut().zip(measured) {
            value.into_iter().for_each(|value| samples.add(value));
        }
        Ok(())
    }

    /// The rate that is delivered while slightly more is offered: the median of a few spans, as other work of the host may disturb
    /// a single one.
    fn saturation(&mut self, streams: &mut Streams) -> Result<f64, BenchError> {
        const SPAN: Duration = Duration::from_millis(300);
        // All that the generator sends, then somewhat more than got through of it.
        let mut rate = 10e6;
        for _ in 0..2 {
            let mut passed = Samples::default();
            for _ in 0..5 {
                passed.add(self.offer(streams, OfferedLoad { rate, beside: 0.0, span: SPAN })?.rate());
            }
            rate = 1.15 * median(&passed).unwrap_or(0.0).max(1000.0);
        }
        Ok(rate / 1.15)
    }
}

/// Lost before the data plane.
const LOST_IN: &[Counter] =
    &[Counter::RxOverrun, Counter::RxTruncated, Counter::RxMalformed, Counter::RxError];
/// Lost behind the data plane.
const LOST_OUT: &[Counter] = &[
    Counter::TxWouldBlock,
    Counter::TxNoBuffer,
    Counter::TxNoRoute,
    Counter::NeighbourUnresolved,
    Counter::TxError,
    Counter::TxLinkDown,
];

/// All sides in turns.
fn compare(
    sides: &mut [UpfSide],
    direction: Direction,
    options: &Options,
    progress: &mut Progress,
    report: &mut Report,
) -> Result<(), BenchError> {
    progress.stage(format!("overload: {direction}"));
    let mut trials = Vec::new();
    for side in &mut *sides {
        let beside = options.beside.is_some();
        let (size, threads) = (options.size.into(), side.plan.senders.len());
        let mut streams = Streams::new(direction, size, &side.tunnels, beside, threads)?;
        // Neighbours are resolved and sessions active.
        for rate in [100.0, 10_000.0] {
            let span = Duration::from_millis(options.time.min(200));
            side.offer(&mut streams, OfferedLoad { rate, beside: 0.0, span })?;
        }
        let saturation = match options.saturation {
            Some(rate) => rate.0 as f64,
            None => side.saturation(&mut streams)?,
        };
        let rounds: Vec<Rounds> = options.load.iter().map(|_| Rounds::default()).collect();
        trials.push((streams, saturation, rounds));
    }
    let span = Duration::from_millis(options.time);
    for number in 0..options.rounds {
        for (index, load) in options.load.iter().enumerate() {
            for (side, (streams, saturation, rounds)) in sides.iter_mut().zip(&mut trials) {
                let rate = *saturation * f64::from(*load) / 100.0;
                let beside = options.beside.map_or(0.0, |rate| rate.0 as f64);
                if let Some(round) = rounds.get_mut(index) {
                    side.round(streams, OfferedLoad { rate, beside, span }, round)?;
                }
            }
        }
        progress.set_progress(number as u64, options.rounds as u64);
    }
    for (side, (_, _, rounds)) in sides.iter().zip(&trials) {
        let delivered = |rounds: &Rounds| rounds.get(DELIVERED).and_then(median).unwrap_or(0.0);
        let best = rounds.iter().map(delivered).fold(0.0, f64::max);
        for (load, rounds) in options.load.iter().zip(rounds) {
            let way = [
                side.setting.ports.to_string().into(),
                direction.to_string().into(),
                Count((*load).into()).into(),
            ];
            let measured = rounds.iter().zip(MEASURES);
            let measured = measured.map(|(samples, (_, _, digits))| {
                median(samples).map(|median| Cell::Number(median, digits.into())).into()
            });
            let of_best = Cell::Number(100.0 * delivered(rounds) / best.max(1e-9), 0);
            report.row(way.into_iter().chain(measured).chain([of_best]));
        }
    }
    Ok(())
}

fn median(samples: &Samples) -> Option<f64> {
    samples.summary().map(|summary| summary.median)
}
