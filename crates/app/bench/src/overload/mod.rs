//! A whole UPF beyond what it can forward: what still gets through as the load grows, and what a session loses while another one
//! floods its direction.
//!
//! The surroundings are those of [`crate::upf`]. The generator does not wait for what it has sent; whoever counts what arrives has a
//! core of its own, where there are three.

mod flow;
mod options;

use std::time::Duration;

use causeway_ports::Counter;
use causeway_types::Teid;

pub use options::Options;

use crate::kit::{Count, Progress, Samples, core_beside, pin};
use crate::nets::Nets;
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::upf::{Cores, Direction, Field, Running, Setting, attach, choose_cores};
use crate::{BenchError, Common};
use flow::{Ends, Offer, Outcome, Streams};

/// Losses up to this share are no losses while the saturation is looked for.
const NEGLIGIBLE: f64 = 0.001;

/// Measures all combinations.
///
/// # Errors
/// [`BenchError::Needs`] without the right to make network namespaces, or what cannot be opened there.
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    let options = if common.quick { options.clone().quick() } else { options.clone() };
    options.check()?;
    let nets = Nets::allowed()?;
    let measured = std::thread::scope(|scope| scope.spawn(|| measure(&options, common, &nets)).join());
    measured.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map(|report| vec![report])
}

fn measure(options: &Options, common: &Common, nets: &Nets) -> Result<Report, BenchError> {
    let places = places(common)?;
    pin(places.cores.others)?;
    let mut report = empty(options, places);
    let mut progress = Progress::new();
    let mut sides = Vec::new();
    for ports in &options.ports {
        let setting = Setting { ports: *ports, sessions: options.sessions.0 as u32, busy_poll: false };
        match Side::open(setting, places, options.joined, nets) {
            Ok(side) => sides.push(side),
            Err(BenchError::Daemon(error)) => report.skip(ports, error),
            Err(error) => return Err(error),
        }
    }
    for direction in &options.direction {
        compare(&mut sides, *direction, options, &mut progress, &mut report)?;
    }
    report.note("CPU: of the packet thread with what the kernel does in it, for each packet that arrived; busy: its share of the time.");
    report.note("not received: lost by the kernel before the UPF; not sent: lost at its ports; the rest of what was lost was dropped as beyond a fair share, or by the kernel behind the UPF.");
    Ok(report)
}

/// Who runs where.
#[derive(Clone, Copy)]
struct Places {
    cores: Cores,
    /// The core of whoever counts what arrives.
    far: usize,
}

fn places(common: &Common) -> Result<Places, BenchError> {
    let cores = choose_cores(common)?;
    Ok(Places { cores, far: core_beside(&[cores.packets, cores.others])?.unwrap_or(cores.others) })
}

fn empty(options: &Options, places: Places) -> Report {
    let Places { cores: Cores { packets, others }, far } = places;
    let load = match options.beside {
        Some(rate) => format!("of one session, beside {rate} packets a second of another"),
        None => format!("of {} sessions in turns", options.sessions),
    };
    let conditions = Conditions::here(IoCost::Gross)
        .with("UPF", format!("packet thread on core {packets}, sleeps while nothing comes"))
        .with("surroundings", format!("generator on core {others}, the far end on core {far}"))
        .with("network", "veth pairs between namespaces; behind a TUN device the kernel forwards")
        .with("packets", format!("UDP over IPv4 of {} octets, {load}", options.size))
        .with("rows", format!("medians of {} rounds of {} ms, interleaved", options.rounds, options.time));
    let columns = vec![
        Column::new("ports"),
        Column::new("direction"),
        Column::of("load", "%"),
        Column::of("offered", "kpps"),
        Column::of("delivered", "kpps"),
        Column::of("lost", "%"),
        Column::of("lost beside", "%"),
        Column::of("CPU", "ns"),
        Column::of("busy", "%"),
        Column::of("not received", "%"),
        Column::of("not sent", "%"),
    ];
    Report::new("overload", "Overload: what gets through beyond saturation", conditions, columns)
}

/// A UPF with its sessions and surroundings.
struct Side {
    setting: Setting,
    running: Running,
    ends: Ends,
    tunnels: Vec<Teid>,
    places: Places,
    /// What the namespaces stand behind.
    _field: Field,
}

/// One round of one load.
#[derive(Default)]
struct Round {
    offered: Samples,
    delivered: Samples,
    lost: Samples,
    lost_beside: Samples,
    cpu: Samples,
    busy: Samples,
    not_received: Samples,
    not_sent: Samples,
}

impl Side {
    fn open(setting: Setting, places: Places, joined: bool, nets: &Nets) -> Result<Self, BenchError> {
        let field = Field::build(nets, places.far)?;
        let running = Running::start(&field, setting, places.cores)?;
        let mut smf = field.associate()?;
        let sessions = attach(&mut smf, setting.sessions)?;
        let tunnels = sessions.iter().map(|session| session.uplink.teid).collect();
        Ok(Self { setting, running, ends: Ends::open(&field, joined)?, tunnels, places, _field: field })
    }

    fn offer(&mut self, streams: &mut Streams, offer: Offer) -> Result<Outcome, BenchError> {
        self.ends.run(streams, offer, (self.places.cores.others, self.places.far))
    }

    /// What crossed the ports so far under one of these counters.
    fn total(&self, counters: &[Counter]) -> u64 {
        let of_port = |port: &std::sync::Arc<causeway_ports::Counters>| -> u64 {
            counters.iter().map(|counter| port.value(*counter)).sum()
        };
        self.running.counters.iter().map(of_port).sum()
    }

    fn round(&mut self, streams: &mut Streams, offer: Offer, round: &mut Round) -> Result<(), BenchError> {
        let counts = |side: &Self| [LOST_IN, LOST_OUT].map(|counters| side.total(counters));
        let (cpu, before) = (self.running.packets.cpu_time()?, counts(self));
        let outcome = self.offer(streams, offer)?;
        let cpu = self.running.packets.cpu_time()?.saturating_sub(cpu);
        let now = counts(self);
        let seconds = outcome.wall.as_secs_f64();
        let (sent, arrived) = (outcome.sent.max(1) as f64, (outcome.arrived + outcome.overrun) as f64);
        let percent = |part: f64| 100.0 * part / sent;
        let kinds = [&mut round.not_received, &mut round.not_sent];
        for (samples, (now, before)) in kinds.into_iter().zip(now.iter().zip(before)) {
            samples.add(percent((now - before) as f64));
        }
        round.offered.add(sent / seconds / 1000.0);
        round.delivered.add(arrived / seconds / 1000.0);
        round.lost.add(percent((sent - arrived).max(0.0)));
        round.cpu.add(cpu.as_nanos() as f64 / arrived.max(1.0));
        round.busy.add(100.0 * cpu.as_secs_f64() / seconds);
        if outcome.sent_beside > 0 {
            let lost = outcome.sent_beside.saturating_sub(outcome.arrived_beside);
            round.lost_beside.add(100.0 * lost as f64 / outcome.sent_beside as f64);
        }
        Ok(())
    }

    /// The largest rate at which next to nothing is lost, as far as the generator goes.
    fn saturation(&mut self, streams: &mut Streams) -> Result<f64, BenchError> {
        const SPAN: Duration = Duration::from_millis(300);
        let (mut least, mut most) = (0.0, f64::MAX);
        let mut rate = 10e6;
        for _ in 0..12 {
            let outcome = self.offer(streams, Offer { rate, beside: 0.0, span: SPAN })?;
            let (sent, arrived) = (outcome.sent as f64, (outcome.arrived + outcome.overrun) as f64);
            let achieved = sent / outcome.wall.as_secs_f64();
            if arrived >= sent * (1.0 - NEGLIGIBLE) {
                least = f64::max(least, achieved);
            } else {
                most = f64::min(most, achieved);
            }
            if least > most * 0.95 {
                break;
            }
            rate = if most == f64::MAX { least * 2.0 } else { f64::midpoint(least, most) };
        }
        Ok(least.max(1000.0))
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
    sides: &mut [Side],
    direction: Direction,
    options: &Options,
    progress: &mut Progress,
    report: &mut Report,
) -> Result<(), BenchError> {
    progress.stage(format!("overload: {direction}"));
    let mut trials = Vec::new();
    for side in &mut *sides {
        let beside = options.beside.is_some();
        let mut streams = Streams::new(direction, options.size.into(), &side.tunnels, beside)?;
        // Neighbours are found and sessions awake.
        for rate in [100.0, 10_000.0] {
            let span = Duration::from_millis(options.time.min(200));
            side.offer(&mut streams, Offer { rate, beside: 0.0, span })?;
        }
        let saturation = match options.saturation {
            Some(rate) => rate.0 as f64,
            None => side.saturation(&mut streams)?,
        };
        let rounds: Vec<Round> = options.load.iter().map(|_| Round::default()).collect();
        trials.push((streams, saturation, rounds));
    }
    let span = Duration::from_millis(options.time);
    for number in 0..options.rounds {
        for (index, load) in options.load.iter().enumerate() {
            for (side, (streams, saturation, rounds)) in sides.iter_mut().zip(&mut trials) {
                let rate = *saturation * f64::from(*load) / 100.0;
                let beside = options.beside.map_or(0.0, |rate| rate.0 as f64);
                if let Some(round) = rounds.get_mut(index) {
                    side.round(streams, Offer { rate, beside, span }, round)?;
                }
            }
        }
        progress.at(number as u64, options.rounds as u64);
    }
    for (side, (_, _, rounds)) in sides.iter().zip(&trials) {
        for (load, round) in options.load.iter().zip(rounds) {
            add_row(&side.setting, direction, *load, round, report);
        }
    }
    Ok(())
}

fn add_row(setting: &Setting, direction: Direction, load: u32, round: &Round, report: &mut Report) {
    let median = |samples: &Samples, digits| -> Cell {
        samples.summary().map(|summary| Cell::Number(summary.median, digits)).into()
    };
    report.row([
        setting.ports.to_string().into(),
        direction.to_string().into(),
        Count(load.into()).into(),
        median(&round.offered, 1),
        median(&round.delivered, 1),
        median(&round.lost, 2),
        median(&round.lost_beside, 2),
        median(&round.cpu, 0),
        median(&round.busy, 0),
        median(&round.not_received, 2),
        median(&round.not_sent, 2),
    ]);
}
