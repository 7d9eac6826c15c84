//! eUPF's XDP program beside our pipeline: the same sessions, the same packets, one run.

mod code;
mod elf;
mod peer;
mod records;

use std::path::{Path, PathBuf};
use std::time::Duration;

use causeway_bench::kit::{Count, Progress, Samples, Summary, available_memory};
use causeway_bench::pipeline::{Size, StepwiseOptions, StepwisePipeline};
use causeway_bench::report::{Cell, Column, Conditions, IoCost, Report};
use causeway_bench::{Backend, BenchError, Rules, pipeline};
use thiserror::Error;

use crate::Options;
use peer::{Peer, REPEAT, Way};

/// Why the peer could not be measured.
#[derive(Debug, Error)]
pub(crate) enum PeerError {
    /// Our own side.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A file.
    #[error("read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    /// The folder of the BPF file system that the object's maps need.
    #[error("{path}: {source} (a bpffs must be mounted, and root is needed)")]
    Pins { path: PathBuf, source: std::io::Error },
    /// The drivers could not be written as an object.
    #[error("driver object: {0}")]
    Object(#[from] object::write::Error),
    /// An object could not be loaded.
    #[error(transparent)]
    Load(#[from] aya::EbpfError),
    /// A map could not be used.
    #[error(transparent)]
    Map(#[from] aya::maps::MapError),
    /// A program could not be loaded or run.
    #[error(transparent)]
    Program(#[from] aya::programs::ProgramError),
    /// The object is of another version than was expected.
    #[error("the object has no map `{0}`")]
    NoMap(&'static str),
    /// The object is of another version than was expected.
    #[error("the object has no program `{0}`")]
    NoProgram(&'static str),
    /// The program did not take the way that is measured.
    #[error("packets of the {0:?} are not forwarded, so nothing was measured")]
    NotForwarded(Way),
}

/// Octets that a session takes at most, in eUPF's maps and in our tables together.
const SESSION: u64 = 9000;

/// Measures both sides for every number of sessions.
pub(crate) fn run(options: &Options) -> Result<Report, PeerError> {
    let mut report = empty(options);
    let Some(object) = &options.eupf_object else {
        report.skip("eupf", "needs its XDP object (CAUSEWAY_EUPF_OBJECT)");
        return Ok(report);
    };
    let mut progress = Progress::new();
    let sessions = if options.common.quick { &[Count(1000)][..] } else { &options.sessions };
    for sessions in sessions {
        if available_memory().is_some_and(|octets| octets < sessions.0.saturating_mul(SESSION)) {
            report.skip(format_args!("{sessions} sessions"), "too little memory");
            continue;
        }
        compare(object, *sessions, options, &mut progress, &mut report)?;
    }
    report.note(
        "BPF_PROG_TEST_RUN runs eUPF's program. A program of Causeway restores the packet, writes a random session into it \
         and tail-calls eUPF's program. The baseline is the same program before one that only moves the start of the packet; \
         it is subtracted, so one move is not counted against eUPF. Forwarding is off on its loopback, so its route lookup \
         ends immediately.",
    );
    Ok(report)
}

fn empty(options: &Options) -> Report {
    let route = std::fs::read_to_string("/proc/sys/net/ipv4/conf/lo/forwarding").unwrap_or_default();
    let conditions = Conditions::here(IoCost::Net)
        .with("eUPF", options.eupf_version.clone())
        .with("forwarding on lo", route.trim())
        .with("sessions", "a PDR with an SDF filter and a FAR for each direction, a QER, a URR")
        .with("packets", "UDP over IPv4, 64 octets of user packet, each of a random session")
        .with("loss", "none");
    let columns = vec![
        Column::new("sessions"),
        Column::new("direction"),
        Column::new("program"),
        Column::of("p10", "ns"),
        Column::of("median", "ns"),
        Column::of("p90", "ns"),
        Column::of("rate", "Mpps"),
        Column::of("ratio", "medians"),
    ];
    Report::new("peers-eupf", "eUPF's XDP program and our pipeline, one core", conditions, columns)
}

/// What one way of the peer took so far, in nanoseconds per packet.
struct PeerTiming {
    way: Way,
    gross: Samples,
    base: Samples,
    used: Duration,
}

fn compare(
    object: &Path,
    sessions: Count,
    options: &Options,
    progress: &mut Progress,
    report: &mut Report,
) -> Result<(), PeerError> {
    let number = sessions.0 as u32;
    progress.stage(format!("peers: {sessions} sessions in eUPF"));
    let peer = Peer::load(object, number, progress)?;
    progress.stage(format!("peers: {sessions} sessions in Causeway"));
    let lane = StepwiseOptions {
        backend: Backend::Fastpath,
        sessions,
        pdrs: 1,
        rules: Rules::Full,
        size: Size::Small,
        seed: options.common.seed,
    };
    let mut ours = StepwisePipeline::new(
        &lane,
        &[pipeline::Direction::Uplink, pipeline::Direction::Downlink],
        progress,
    )?;
    let lap =
        |way| PeerTiming { way, gross: Samples::default(), base: Samples::default(), used: Duration::ZERO };
    let mut laps = [Way::Uplink, Way::Downlink].map(lap);
    check(&peer, number)?;
    let enough = Duration::from_millis(if options.common.quick { 5 } else { options.time });
    progress.stage(format!("peers: {sessions} sessions"));
    while laps.iter().any(|lap| lap.used < enough) {
        for (index, lap) in laps.iter_mut().enumerate().filter(|(_, lap)| lap.used < enough) {
            let gross = peer.run(lap.way)?;
            lap.used += gross;
            lap.gross.add(per_packet(gross));
            lap.base.add(per_packet(peer.run_base(lap.way)?));
            while ours.used(index) < lap.used {
                ours.step(index)?;
            }
        }
        progress.set_progress(0, 0);
    }
    for (index, lap) in laps.iter().enumerate() {
        add_rows(sessions, lap, ours.summary(index), report);
    }
    Ok(())
}

/// URRs count what is forwarded: both ways they must.
fn check(peer: &Peer, sessions: u32) -> Result<(), PeerError> {
    for way in [Way::Uplink, Way::Downlink] {
        let before = peer.urr_packet_count(sessions)?;
        peer.run(way)?;
        let after = peer.urr_packet_count(sessions)?;
        let grew = match way {
            Way::Uplink => after.0 > before.0,
            Way::Downlink => after.1 > before.1,
        };
        if !grew {
            return Err(PeerError::NotForwarded(way));
        }
    }
    Ok(())
}

fn per_packet(elapsed: Duration) -> f64 {
    elapsed.as_secs_f64() * 1e9 / f64::from(REPEAT)
}

fn add_rows(sessions: Count, lap: &PeerTiming, ours: Option<Summary>, report: &mut Report) {
    let theirs = lap.gross.summary().zip(lap.base.summary()).map(|(gross, base)| gross.minus_overhead(base));
    let ratio = theirs.zip(ours).map(|(theirs, ours)| Cell::Number(theirs.median / ours.median, 1));
    let mut row = |program: &str, summary: Option<Summary>, ratio: Option<Cell>| {
        report.row([
            sessions.into(),
            format!("{:?}", lap.way).to_lowercase().into(),
            program.into(),
            summary.map(|summary| Cell::nanos(summary.p10)).into(),
            summary.map(|summary| Cell::nanos(summary.median)).into(),
            summary.map(|summary| Cell::nanos(summary.p90)).into(),
            summary.map(|summary| Cell::millions_per_second(summary.median)).into(),
            ratio.into(),
        ]);
    };
    row("eUPF", theirs, ratio);
    row("Causeway", ours, None);
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    // Input:  no object, and a file that is none.
    // Output: a report that says what is missing; an error.
    #[test]
    fn what_is_missing_is_named() {
        let mut options = Options::parse_from(["causeway-peers", "--quick"]);
        options.eupf_object = None;
        let report = run(&options).unwrap().to_string();
        assert!(report.contains("SKIPPED eupf: needs its XDP object (CAUSEWAY_EUPF_OBJECT)"), "{report}");
        options.eupf_object = Some("/dev/null".into());
        assert!(run(&options).is_err());
    }

    // Input:  the object of the environment, 1000 sessions, some milliseconds.
    // Output: both directions of both programs, each with a time.
    #[test]
    fn both_sides_run() {
        let options = Options::parse_from(["causeway-peers", "--quick"]);
        let report = run(&options).unwrap();
        if options.eupf_object.is_none() {
            use std::io::Write;
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED peers::both_sides_run: needs CAUSEWAY_EUPF_OBJECT (not set)"
            );
            return;
        }
        assert_eq!(report.table.rows.len(), 4);
        assert!(report.table.rows.iter().all(|row| matches!(row[4], Cell::Number(nanos, _) if nanos > 0.0)));
    }
}
