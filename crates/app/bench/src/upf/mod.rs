//! A whole UPF between a gNB and a data network: the daemon in a network namespace, cables of veth, real sockets.
//!
//! The daemon runs in this process, its packet thread on one core; the load generator and everything else are on
//! another. The generator waits for the packets that it has sent, so that none are lost while the rate is measured.

mod daemon;
mod ends;
mod field;
mod options;
mod trial;

use std::time::Duration;

use causeway_types::Teid;

pub(crate) use daemon::MANAGEMENT;
pub use daemon::{Cores, Running, Setting};
pub use ends::{Ends, Stream};
pub use field::{Field, GATEWAY, GNB, POOL, SERVER, UPF_N3, UPF_N4, attach, plans, to_gnb};
pub(crate) use field::{SMF_VETH, UPF_N4_VETH, ue};
pub use options::{Direction, Options, Ports, Ways};
pub(crate) use options::{MAX_SESSIONS, SIZES};
pub use trial::{Trial, warm_up};

use crate::kit::{Count, Progress, in_own_thread, last_core, other_core, pin};
use crate::namespaces::BenchNamespaces;
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::{BenchError, Common};

/// Chunks that the time of a row is cut into, which the ports take turns in.
const CHUNKS: u32 = 10;

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
    let cores = choose_cores(common)?;
    pin(cores.others)?;
    let mut report = empty(options, cores);
    let mut progress = Progress::new();
    for sessions in &options.sessions {
        // A thread that never sleeps lets no other have its core.
        let together = if options.busy_poll { 1 } else { options.ways.ports.len() };
        for ports in options.ways.ports.chunks(together) {
            let mut sides = Vec::new();
            for ports in ports {
                progress.stage(format!("upf: {ports}, {sessions} sessions"));
                let setting = Setting {
                    ports: *ports,
                    // The options are checked: it is below 2^16.
                    sessions: sessions.0 as u32,
                    busy_poll: options.busy_poll,
                    accelerate: false,
                };
                match Side::open(setting, cores, nets) {
                    Ok(side) => sides.push(side),
                    Err(BenchError::Daemon(error)) => report.skip(ports, error),
                    Err(error) => return Err(error),
                }
            }
            for size in &options.size {
                for direction in &options.ways.direction {
                    compare(&mut sides, *direction, *size, options, &mut progress, &mut report)?;
                }
            }
        }
    }
    report.note("rate: packets delivered with so many in flight; latency: one by one, evenly.");
    report.note("CPU: of the packet thread, including the kernel; a row has the packet thread's core alone.");
    Ok(report)
}

/// The packet thread has the core of the command line, or the last one; everything else another.
///
/// # Errors
/// [`BenchError::Io`] when there is no such core for this process.
pub fn choose_cores(common: &Common) -> Result<Cores, BenchError> {
    let packets = common.core.map_or_else(last_core, Ok)?;
    Ok(Cores { packets, others: other_core(packets)? })
}

fn empty(options: &Options, cores: Cores) -> Report {
    let Cores { packets, others } = cores;
    let sleeps = if options.busy_poll { "never sleeps" } else { "sleeps without packets" };
    let conditions = Conditions::here(IoCost::Gross)
        .with("UPF", format!("packet thread on core {packets}, {sleeps}; everything else on core {others}"))
        .with("network", format!("veth pairs between namespaces, whose far ends receive on core {others}; behind a TUN device the kernel forwards"))
        .with("sessions", "2 PDRs, 2 FARs, a QER with MBR, a URR with volume threshold")
        .with(
            "packets",
            format!(
                "UDP over IPv4, {} of one session in a row; sizes are those of the user's IP packet",
                options.run
            ),
        )
        .with(
            "rate",
            format!("{} packets in flight at most, {} ms, interleaved", options.window, options.time),
        )
        .with("latency", format!("{} packets a second for {} ms", options.rate, options.time));
    let columns = vec![
        Column::new("ports"),
        Column::new("sessions"),
        Column::new("direction"),
        Column::of("size", "B"),
        Column::of("p10", "ns"),
        Column::of("CPU", "ns"),
        Column::of("rate", "Mpps/core"),
        Column::of("wall", "Mpps"),
        Column::of("loss", "packets"),
        Column::of("p50", "us"),
        Column::of("p90", "us"),
        Column::of("p99", "us"),
        Column::of("p99.9", "us"),
        Column::of("lost", "packets"),
    ];
    Report::new("upf", "UPF: packets through the whole daemon, over veth", conditions, columns)
}

/// A UPF with its sessions and topology.
struct Side {
    setting: Setting,
    running: Running,
    ends: Ends,
    tunnels: Vec<Teid>,
    /// What the namespaces stand behind.
    _field: Field,
}

impl Side {
    fn open(setting: Setting, cores: Cores, nets: &BenchNamespaces) -> Result<Self, BenchError> {
        let field = Field::build(nets, cores.others)?;
        let running = Running::start(&field, setting, cores)?;
        let mut smf = field.associate()?;
        let sessions = attach(&mut smf, setting.sessions)?;
        let tunnels = sessions.iter().map(|session| session.uplink.teid).collect();
        Ok(Self { setting, running, ends: Ends::open(&field)?, tunnels, _field: field })
    }
}

/// All sides in turns.
fn compare(
    sides: &mut [Side],
    direction: Direction,
    size: u16,
    options: &Options,
    progress: &mut Progress,
    report: &mut Report,
) -> Result<(), BenchError> {
    progress.stage(format!("upf: {direction}, {size} octets"));
    let mut trials = Vec::new();
    for side in &mut *sides {
        // What was marked has no checksum any more, so it is not for the rate.
        let stream = || Stream::new(direction, size.into(), &side.tunnels, options.run);
        let (mut stream, marked) = (stream()?, stream()?);
        warm_up(&mut side.ends, &mut stream)?;
        trials.push((stream, marked, Trial::default()));
    }
    let span = Duration::from_millis(options.time) / CHUNKS;
    for chunk in 0..CHUNKS {
        for (side, (stream, marked, trial)) in sides.iter_mut().zip(&mut trials) {
            let packets = &side.running.packets;
            trial.pump(&mut side.ends, stream, packets, options.window, span)?;
            trial.pace(&mut side.ends, marked, options.rate.0, span)?;
        }
        progress.set_progress(chunk.into(), CHUNKS.into());
    }
    for (side, (_, _, trial)) in sides.iter().zip(&trials) {
        add_row(&side.setting, direction, size, trial, report);
    }
    Ok(())
}

fn add_row(setting: &Setting, direction: Direction, size: u16, trial: &Trial, report: &mut Report) {
    let cpu = trial.cpu.summary().filter(|_| !setting.busy_poll);
    let latency = trial.latency.percentiles([500, 900, 990, 999]);
    let micros = |index: usize| -> Cell {
        latency.and_then(|latency| latency.get(index).copied()).map(|micros| Cell::Number(micros, 1)).into()
    };
    report.row([
        setting.ports.to_string().into(),
        Count(setting.sessions.into()).into(),
        direction.to_string().into(),
        Cell::Count(size.into()),
        cpu.map(|cpu| Cell::nanos(cpu.p10)).into(),
        cpu.map(|cpu| Cell::nanos(cpu.median)).into(),
        cpu.map(|cpu| Cell::millions_per_second(cpu.median)).into(),
        trial.wall.summary().map(|wall| Cell::Number(1000.0 / wall.median, 3)).into(),
        Cell::Count(trial.lost),
        micros(0),
        micros(1),
        micros(2),
        micros(3),
        Cell::Count(trial.lost_marked),
    ]);
}
