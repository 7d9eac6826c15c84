//! Packets of a UE while clients of the management API look at another one, which floods.
//!
//! The topology is that of [`crate::upf`]. One UE sends far more packets than are observed; packets of another one are sent evenly,
//! whether earlier ones have arrived or not, and each is timed from the gNB to the server. The clients take turns with rounds without
//! any.

mod clients;
mod options;
mod packets;

use std::time::Duration;

pub use options::Options;

use crate::kit::{Progress, Samples, in_own_thread, pin};
use crate::namespaces::BenchNamespaces;
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::upf::{Cores, Field, Ports, Running, Setting, attach, choose_cores};
use crate::{BenchError, Common};
use clients::{Clients, Kind};
use packets::{Load, Outcome, Packets};

/// Measures all clients.
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
    let field = Field::build(nets, cores.others)?;
    let setting = Setting { ports: Ports::Udp, sessions: 2, busy_poll: false, accelerate: false };
    let _running = Running::start_observable(&field, setting, cores)?;
    let mut smf = field.associate()?;
    let sessions = attach(&mut smf, 2)?;
    let mut packets = Packets::open(&field, &sessions)?;
    let seid = sessions.first().map(|session| session.up_seid).unwrap_or_default();
    let load = |rate: u64| Load { flood: rate as f64, beside: options.rate.0 as f64 };
    // Neighbours are resolved and sessions active.
    packets.run(load(1000), Duration::from_millis(100))?;
    let mut outcomes: Vec<(Kind, Outcome, u64)> =
        Kind::ALL.iter().map(|kind| (*kind, Outcome::default(), 0)).collect();
    let mut progress = Progress::new();
    progress.stage("observers".to_owned());
    for round in 0..options.rounds {
        for (kind, outcome, octets) in &mut outcomes {
            let clients = Clients::begin(*kind, &field, seid, cores.others)?;
            outcome.add(packets.run(load(options.flood.0), Duration::from_millis(options.time))?);
            *octets += clients.end();
        }
        progress.set_progress(round as u64, options.rounds as u64);
    }
    let mut report = empty(options, cores);
    for (kind, outcome, octets) in &outcomes {
        report.row(row(*kind, outcome, *octets));
    }
    report
        .note("lost: packets of the UE beside that did not arrive; flood lost: of the UE that is observed.");
    Ok(report)
}

fn empty(options: &Options, Cores { packets, others }: Cores) -> Report {
    let conditions = Conditions::here(IoCost::Gross)
        .with(
            "UPF",
            format!("packet thread on core {packets}; everything else on core {others}; UDP and TUN"),
        )
        .with("network", "veth pairs between namespaces; behind a TUN device the kernel forwards")
        .with(
            "packets",
            format!("uplink: {} a second of one UE, {} of the one beside", options.flood, options.rate),
        )
        .with("rows", format!("{} rounds of {} ms, interleaved", options.rounds, options.time));
    let mut columns = vec![Column::new("clients"), Column::new("packets"), Column::new("lost")];
    columns.extend(["p50", "p99", "p99.9", "most"].map(|name| Column::of(name, "us")));
    columns.extend([Column::of("flood lost", "%"), Column::of("received", "kB")]);
    Report::new(
        "observers",
        "Observers: packets of a UE while clients look at another one",
        conditions,
        columns,
    )
}

fn row(kind: Kind, outcome: &Outcome, octets: u64) -> Vec<Cell> {
    let times: &Samples = &outcome.times;
    let percentiles = times.percentiles([500, 990, 999, 1000]);
    let micros = (0..4).map(|at| percentiles.and_then(|all| all.get(at).copied()));
    let flood_lost = outcome.flood_sent.saturating_sub(outcome.flood_arrived);
    let mut cells = vec![
        kind.name().into(),
        Cell::Count(outcome.sent),
        Cell::Count(outcome.sent.saturating_sub(times.len() as u64)),
    ];
    cells.extend(micros.map(|micros| micros.map(|micros| Cell::Number(micros, 0)).into()));
    cells.push(Cell::Number(100.0 * flood_lost as f64 / outcome.flood_sent.max(1) as f64, 2));
    cells.push(Cell::Count(octets / 1000));
    cells
}
