//! Ports above IP: UDP for N3 and a TUN device for N6, with and without kernel offload.
//!
//! One thread does all steps: a socket sends a chunk of packets to the port while the clock is stopped, the port forwards them
//! while it runs, and the received packets are counted. The figures include the port's system calls and the kernel's work in them,
//! up to the receiver's socket.

mod frames;
mod line;
mod place;

use super::options::Options;
use crate::BenchError;
use crate::kit::{Progress, Samples};
use crate::namespaces::BenchNamespaces;
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use frames::CHUNK;
pub(super) use frames::GTPU;
use line::{Line, Way};
use place::Place;

/// Chunks of each row that are not measured.
const WARM_UP: u64 = 4;

/// What was measured of one row.
#[derive(Default)]
struct Row {
    nanos: Samples,
    sent: u64,
    arrived: u64,
    calls: u64,
}

/// Measures all ways and sizes with both kinds of ports, interleaved.
pub(super) fn run(
    options: &Options,
    nets: &BenchNamespaces,
    progress: &mut Progress,
) -> Result<Report, BenchError> {
    let conditions = Conditions::here(IoCost::Gross)
        .with("ports", "UDP on the loopback for N3, a TUN device for N6, without a data plane")
        .with(
            "packets",
            format!("UDP over IPv4 of one UE, {CHUNK} at a time; sizes are those of the user's IP packet"),
        )
        .with(
            "measured",
            "CPU time to receive and send one packet, including the kernel up to the other socket",
        );
    let columns = vec![
        Column::new("path"),
        Column::of("size", "B"),
        Column::of("p10", "ns"),
        Column::of("median", "ns"),
        Column::of("p90", "ns"),
        Column::of("rate", "Mpps"),
        Column::new("per call"),
        Column::of("loss", "packets"),
        Column::new("offload"),
    ];
    let mut report = Report::new("ports-sockets", "Ports: UDP sockets and TUN", conditions, columns);
    let namespace = nets.namespace("ports")?;
    let mut places = namespace.enter(|| Ok([Place::open(0, true)?, Place::open(1, false)?]))?;
    for size in &options.size {
        progress.stage(format!("ports: sockets, {size} octets"));
        measure(usize::from(*size), options.chunks.0, &mut places, progress, &mut report)?;
    }
    Ok(report)
}

fn measure(
    size: usize,
    chunks: u64,
    places: &mut [Place; 2],
    progress: &mut Progress,
    report: &mut Report,
) -> Result<(), BenchError> {
    let mut lines = Vec::new();
    for way in Way::ALL {
        for place in 0..places.len() {
            lines.push((Line::new(way, size, place as u8)?, place, Row::default()));
        }
    }
    for chunk in 0..chunks + WARM_UP {
        for (line, index, row) in &mut lines {
            let Some(place) = places.get_mut(*index) else { continue };
            let step = line.step(place)?;
            if chunk >= WARM_UP {
                row.nanos.add(step.elapsed.as_secs_f64() * 1e9 / step.passed.max(1) as f64);
                row.sent += CHUNK as u64;
                row.arrived += step.arrived as u64;
                row.calls += step.calls;
            }
        }
        progress.set_progress(chunk, chunks);
    }
    for (line, index, row) in &lines {
        let Some(place) = places.get(*index) else { continue };
        let summary = row.nanos.summary();
        report.row([
            line.way().name().into(),
            Cell::Count(size as u64),
            summary.map(|summary| Cell::nanos(summary.p10)).into(),
            summary.map(|summary| Cell::nanos(summary.median)).into(),
            summary.map(|summary| Cell::nanos(summary.p90)).into(),
            summary.map(|summary| Cell::millions_per_second(summary.median)).into(),
            Cell::Number(2.0 * row.arrived as f64 / row.calls.max(1) as f64, 1),
            Cell::Count(row.sent.saturating_sub(row.arrived)),
            line.way().offload(place).into(),
        ]);
    }
    Ok(())
}
