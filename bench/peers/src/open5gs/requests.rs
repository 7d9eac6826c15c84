//! PFCP requests over sockets: how many a second, and what one costs the UPF.

use std::time::{Duration, Instant};

use causeway_bench::kit::{Count, Progress, Samples, count};
use causeway_bench::namespaces::BenchNamespaces;
use causeway_bench::report::{Cell, Column, Report};
use causeway_bench::upf::{Cores, plans, to_gnb};
use causeway_lab::LabError;
use causeway_lab::smf::{Session, SessionPlan};

use super::side::{Program, UpfSide};
use super::{PeerError, both, conditions};
use crate::Options;

/// Requests that are measured as one.
const CHUNK: usize = 250;

/// What is asked for, in this order.
const OPERATIONS: [&str; 3] = ["establish", "modify", "delete"];

/// Open5GS, and our daemon with a control thread and with a packet thread that answer.
const SIDES: usize = 3;

/// What was measured of one UPF.
#[derive(Default)]
struct Measured {
    /// Microseconds of wall time for each request.
    wall: [Samples; 3],
    /// Microseconds of CPU time of the UPF for each request.
    cpu: [Samples; 3],
    repeated: u64,
}

/// All numbers of sessions and windows.
pub(super) fn run(
    options: &Options,
    program: &Program,
    cores: Cores,
    nets: &BenchNamespaces,
) -> Result<Report, PeerError> {
    let quick = options.common.quick;
    let sessions = if quick { &[count(100)][..] } else { &options.open5gs_sessions };
    let mut report = Report::new(
        "peers-open5gs-pfcp",
        "Open5GS's UPF and our daemon: PFCP requests over sockets",
        conditions(program, cores).with("modify", "the downlink FAR: from buffering to a tunnel of a gNB"),
        vec![
            Column::new("sessions"),
            Column::new("window"),
            Column::new("requests"),
            Column::new("UPF"),
            Column::of("wall", "us"),
            Column::of("CPU", "us"),
            Column::of("rate", "1/s"),
            Column::new("repeated"),
            Column::of("ratio", "wall"),
        ],
    );
    let mut progress = Progress::new();
    for sessions in sessions {
        for window in &options.window {
            progress.stage(format!("peers: PFCP, {sessions} sessions, {window} in flight"));
            // The options are checked: it is below 2^16.
            let number = sessions.0 as u32;
            let [theirs, ours] = both(program, number, cores, nets)?;
            let mut sides = [theirs, ours, UpfSide::causeway(true, number, cores, nets)?];
            let measured = compare(&mut sides, number, *window, &mut progress)?;
            add_rows(*sessions, *window, &sides, &measured, &mut report);
        }
    }
    Ok(report)
}

/// Chunk by chunk in turns: all sessions are established, then modified, then deleted.
fn compare(
    sides: &mut [UpfSide; SIDES],
    count: u32,
    window: usize,
    progress: &mut Progress,
) -> Result<[Measured; SIDES], PeerError> {
    let plans = plans(count);
    // What was repeated while the UPF was starting is no fault of its.
    let before = |side: &UpfSide| Measured { repeated: side.smf.retransmitted(), ..Measured::default() };
    let mut measured = sides.each_ref().map(before);
    let mut sessions: [Vec<Session>; SIDES] = Default::default();
    for (operation, _) in OPERATIONS.iter().enumerate() {
        for first in (0..plans.len()).step_by(CHUNK) {
            let last = plans.len().min(first + CHUNK);
            for ((side, measured), sessions) in sides.iter_mut().zip(&mut measured).zip(&mut sessions) {
                let before = side.threads.cpu_time()?;
                let start = Instant::now();
                side.ask(operation, plans.get(first..last).unwrap_or_default(), sessions, first, window)?;
                let (wall, cpu) = (start.elapsed(), side.threads.cpu_time()?.saturating_sub(before));
                let each = |span: Duration| span.as_secs_f64() * 1e6 / (last - first) as f64;
                if let (Some(walls), Some(cpus)) =
                    (measured.wall.get_mut(operation), measured.cpu.get_mut(operation))
                {
                    walls.add(each(wall));
                    cpus.add(each(cpu));
                }
            }
            progress.set_progress(first as u64, plans.len() as u64);
        }
    }
    for (side, measured) in sides.iter().zip(&mut measured) {
        measured.repeated = side.smf.retransmitted() - measured.repeated;
    }
    Ok(measured)
}

impl UpfSide {
    /// One chunk of requests, all accepted.
    fn ask(
        &mut self,
        operation: usize,
        plans: &[SessionPlan],
        sessions: &mut Vec<Session>,
        first: usize,
        window: usize,
    ) -> Result<(), LabError> {
        if operation == 0 {
            sessions.extend(self.smf.establish(plans, window)?);
            return Ok(());
        }
        let chunk = sessions.get(first..first + plans.len()).unwrap_or_default();
        match operation {
            1 => self.smf.set_downlink(chunk, window, |number| to_gnb(first + number)),
            _ => self.smf.delete(chunk, window),
        }
    }
}

fn add_rows(
    sessions: Count,
    window: usize,
    sides: &[UpfSide; SIDES],
    measured: &[Measured; SIDES],
    report: &mut Report,
) {
    for (operation, name) in OPERATIONS.iter().enumerate() {
        let median = |samples: &[Samples; 3]| Some(samples.get(operation)?.summary()?.median);
        let theirs = measured.first().and_then(|theirs| median(&theirs.wall));
        for (index, (side, measured)) in sides.iter().zip(measured).enumerate() {
            let wall = median(&measured.wall);
            let ratio = theirs.zip(wall).map(|(theirs, ours)| Cell::Number(theirs / ours, 1));
            report.row([
                sessions.into(),
                Cell::Count(window as u64),
                (*name).into(),
                side.name.into(),
                wall.map(|wall| Cell::Number(wall, 1)).into(),
                median(&measured.cpu).map(|cpu| Cell::Number(cpu, 1)).into(),
                wall.map(|wall| Cell::Count((1e6 / wall) as u64)).into(),
                Cell::Count(measured.repeated),
                ratio.filter(|_| index > 0).into(),
            ]);
        }
    }
}
