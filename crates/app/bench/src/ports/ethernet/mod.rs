//! GTP-U through each kind of N3 port and back, over veth.
//!
//! One thread is both ends: it sends a burst as a gNB, then receives and returns the packets of the port under test, so that its CPU
//! time includes the kernel's work for both. The cost to send the burst to an interface that drops it is measured in the same run, in
//! turns with the others, and subtracted. Another core drops the returned packets at the gNB's interface.

mod kinds;
mod side;

use super::options::Options;
use super::sockets::GTPU;
use crate::BenchError;
use crate::kit::{Progress, Summary, other_core};
use crate::namespaces::BenchNamespaces;
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use kinds::KINDS;
use side::{FRAMES, Side};

/// Bursts of each side for each size that do not count.
const WARM_UP: u64 = 20;

/// Measures all sizes with all kinds of ports, interleaved.
pub(super) fn run(
    options: &Options,
    core: usize,
    nets: &BenchNamespaces,
    progress: &mut Progress,
) -> Result<Report, BenchError> {
    let far_core = other_core(core)?;
    let conditions = Conditions::here(IoCost::Gross)
        .with("ports", "N3 ports on one end of a veth pair, both directions, no data plane")
        .with("packets", format!("G-PDUs, {FRAMES} at a time; sizes are those of the user's IP packet"))
        .with("far end", format!("returned packets are dropped on core {far_core}"))
        .with("measured", "CPU time to receive and send one packet; the sender's part is subtracted");
    let columns = vec![
        Column::new("port"),
        Column::of("size", "B"),
        Column::of("p10", "ns"),
        Column::of("median", "ns"),
        Column::of("p90", "ns"),
        Column::of("rate", "Mpps"),
        Column::of("loss", "packets"),
        Column::new("how"),
    ];
    let mut report = Report::new("ports-ethernet", "Ports: N3 over veth", conditions, columns);
    let mut idle = Side::open(None, far_core, nets)?;
    let mut sides = Vec::new();
    for kind in KINDS {
        match Side::open(Some(kind), far_core, nets) {
            Ok(side) => sides.push((kind.0, side)),
            Err(error) => report.skip(kind.0, error),
        }
    }
    for size in &options.size {
        progress.stage(format!("ports: veth, {size} octets"));
        let octets = GTPU + usize::from(*size);
        for burst in 0..options.chunks.0 + WARM_UP {
            let counted = burst >= WARM_UP;
            idle.step(octets, counted)?;
            sides.iter_mut().try_for_each(|(_, side)| side.step(octets, counted))?;
            progress.set_progress(burst, options.chunks.0);
        }
        let (baseline, _) = idle.take();
        for (name, side) in &mut sides {
            add_row(name, *size, side, baseline, &mut report);
        }
    }
    Ok(report)
}

fn add_row(name: &str, size: u16, side: &mut Side, baseline: Option<Summary>, report: &mut Report) {
    let (gross, lost) = side.take();
    let net = gross.zip(baseline).map(|(gross, baseline)| gross.minus_overhead(baseline));
    report.row([
        name.into(),
        Cell::Count(size.into()),
        net.map(|net| Cell::nanos(net.p10)).into(),
        net.map(|net| Cell::nanos(net.median)).into(),
        net.map(|net| Cell::nanos(net.p90)).into(),
        net.map(|net| Cell::millions_per_second(net.median)).into(),
        Cell::Count(lost),
        side.how().into(),
    ]);
}
