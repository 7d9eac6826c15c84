//! Packets through whole UPFs over veth.

use std::time::Duration;

use causeway_bench::kit::{Count, Progress, count};
use causeway_bench::namespaces::BenchNamespaces;
use causeway_bench::report::{Cell, Column, Report};
use causeway_bench::upf::{Cores, Direction, Ends, Stream, Trial, attach, warm_up};
use causeway_types::Teid;

use super::side::{Program, UpfSide};
use super::{PeerError, both, conditions};
use crate::Options;

/// Chunks that the time of a row is cut into.
const CHUNKS: u32 = 10;
/// Packets in flight at most: the capacity of the default buffer of a socket.
const WINDOW: usize = 64;
/// Packets of one session in a row.
const RUN: usize = 32;
/// Packets in a second while latency is measured.
const RATE: u64 = 5000;
/// Sessions whose packets take turns.
const SESSIONS: Count = count(100);

/// All sizes and both directions.
pub(super) fn run(
    options: &Options,
    program: &Program,
    cores: Cores,
    nets: &BenchNamespaces,
) -> Result<Report, PeerError> {
    let quick = options.common.quick;
    let sizes: &[u16] = if quick { &[64] } else { &[64, 512, 1400] };
    let sessions = if quick { count(3) } else { SESSIONS };
    let time = Duration::from_millis(if quick { 40 } else { options.time });
    let mut report = Report::new(
        "peers-open5gs-forwarding",
        "Open5GS's UPF and our daemon: packets over veth",
        conditions(program, cores)
            .with("ports", "UDP sockets on N3, a TUN device on N6, behind which the kernel forwards")
            .with(
                "packets",
                format!(
                    "UDP over IPv4 of {sessions} sessions, {RUN} of one in a row, {WINDOW} in flight at most"
                ),
            )
            .with("latency", format!("{RATE} packets a second, one by one")),
        vec![
            Column::new("direction"),
            Column::of("size", "B"),
            Column::new("UPF"),
            Column::of("CPU", "ns"),
            Column::of("rate", "kpps/core"),
            Column::of("wall", "kpps"),
            Column::of("loss", "packets"),
            Column::of("p50", "us"),
            Column::of("p99", "us"),
            Column::of("ratio", "CPU"),
        ],
    );
    let mut progress = Progress::new();
    progress.stage("peers: forwarding");
    // The constants are below 2^16.
    let mut sides = both(program, sessions.0 as u32, cores, nets)?;
    let mut lanes = Vec::new();
    for side in &mut sides {
        let attached = attach(&mut side.smf, sessions.0 as u32)?;
        let tunnels = attached.iter().map(|session| session.uplink.teid).collect();
        lanes.push(UpfEndpoints { ends: Ends::open(&side.field)?, tunnels });
    }
    for direction in [Direction::Uplink, Direction::Downlink] {
        for size in sizes {
            progress.stage(format!("peers: forwarding, {direction}, {size} octets"));
            let trials = compare(&sides, &mut lanes, direction, *size, time)?;
            add_rows(direction, *size, &sides, &trials, &mut report);
        }
    }
    Ok(report)
}

/// The ends of one UPF, and its tunnels.
struct UpfEndpoints {
    ends: Ends,
    tunnels: Vec<Teid>,
}

fn compare(
    sides: &[UpfSide; 2],
    lanes: &mut [UpfEndpoints],
    direction: Direction,
    size: u16,
    time: Duration,
) -> Result<Vec<Trial>, PeerError> {
    let mut trials = Vec::new();
    for lane in &mut *lanes {
        let stream = || Stream::new(direction, size.into(), &lane.tunnels, RUN);
        let (mut stream, marked) = (stream()?, stream()?);
        warm_up(&mut lane.ends, &mut stream)?;
        trials.push((stream, marked, Trial::default()));
    }
    for _ in 0..CHUNKS {
        for ((side, lane), (stream, marked, trial)) in sides.iter().zip(&mut *lanes).zip(&mut trials) {
            trial.pump(&mut lane.ends, stream, &side.threads, WINDOW, time / CHUNKS)?;
            trial.pace(&mut lane.ends, marked, RATE, time / CHUNKS)?;
        }
    }
    Ok(trials.into_iter().map(|(_, _, trial)| trial).collect())
}

fn add_rows(direction: Direction, size: u16, sides: &[UpfSide; 2], trials: &[Trial], report: &mut Report) {
    let median = |trial: &Trial| Some(trial.cpu.summary()?.median);
    let medians: Vec<_> = trials.iter().map(median).collect();
    let ratio = match medians[..] {
        [Some(theirs), Some(ours)] => Some(Cell::Number(theirs / ours, 1)),
        _ => None,
    };
    let thousands = |nanos: f64| Cell::Number(1e6 / nanos, 1);
    for (index, (side, trial)) in sides.iter().zip(trials).enumerate() {
        let latency = trial.latency.percentiles([500, 990]);
        report.row([
            direction.to_string().into(),
            Cell::Count(size.into()),
            side.name.into(),
            median(trial).map(Cell::nanos).into(),
            median(trial).map(thousands).into(),
            trial.wall.summary().map(|wall| thousands(wall.median)).into(),
            Cell::Count(trial.lost + trial.lost_marked),
            latency.map(|[p50, _]| Cell::Number(p50, 1)).into(),
            latency.map(|[_, p99]| Cell::Number(p99, 1)).into(),
            ratio.clone().filter(|_| index == 0).into(),
        ]);
    }
}
