//! Open5GS's UPF beside our daemon: the same SMF, gNB and data network, the same packets, one run.

mod forwarding;
mod requests;
mod side;

use causeway_bench::BenchError;
use causeway_bench::kit::pin;
use causeway_bench::namespaces::BenchNamespaces;
use causeway_bench::report::{Conditions, IoCost, Report};
use causeway_bench::upf::{Cores, choose_cores};
use thiserror::Error;

use crate::Options;
use side::{Program, UpfSide};

/// Why the peer could not be measured.
#[derive(Debug, Error)]
pub(crate) enum PeerError {
    /// Our own side, or the network.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A namespace, a program or the SMF.
    #[error(transparent)]
    Lab(#[from] causeway_lab::LabError),
    /// The peer did not come up.
    #[error("open5gs-upfd does not answer ({error}); it said: {said}")]
    NotResponding {
        /// What was waited for.
        error: causeway_lab::LabError,
        /// Its last words.
        said: String,
    },
}

/// Measures PFCP requests and forwarding with both, or says what is missing.
pub(crate) fn run(options: &Options) -> Result<Vec<Report>, PeerError> {
    let Some(program) = Program::find(options.open5gs_upfd.as_deref()) else {
        return Ok(skipped("needs open5gs-upfd (CAUSEWAY_OPEN5GS_UPFD, or in PATH)"));
    };
    let nets = match BenchNamespaces::acquire() {
        Err(BenchError::Needs(what)) => return Ok(skipped(&what)),
        nets => nets?,
    };
    // In a thread of its own, which takes its core with it when it ends.
    let measured = std::thread::scope(|scope| scope.spawn(|| measure(options, &program, &nets)).join());
    measured.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn measure(options: &Options, program: &Program, nets: &BenchNamespaces) -> Result<Vec<Report>, PeerError> {
    let cores = choose_cores(&options.common).map_err(PeerError::from)?;
    pin(cores.others)?;
    Ok(vec![requests::run(options, program, cores, nets)?, forwarding::run(options, program, cores, nets)?])
}

fn skipped(why: &str) -> Vec<Report> {
    let conditions = Conditions::here(IoCost::Gross);
    let mut report = Report::new("peers-open5gs", "Open5GS's UPF and our daemon", conditions, Vec::new());
    report.skip("open5gs", why);
    vec![report]
}

/// What holds for both tables.
fn conditions(program: &Program, cores: Cores) -> Conditions {
    let Cores { packets, others } = cores;
    Conditions::here(IoCost::Gross)
        .with("Open5GS", program.version.clone())
        .with("UPFs", format!("each in its namespaces, all its threads on core {packets}; they take turns"))
        .with("load", format!("SMF, gNB and server in one thread on core {others}"))
        .with("sessions", "2 PDRs, 2 FARs, a QER with MBR, a URR with volume threshold")
}

/// Both UPFs, with room for so many sessions.
fn both(
    program: &Program,
    sessions: u32,
    cores: Cores,
    nets: &BenchNamespaces,
) -> Result<[UpfSide; 2], PeerError> {
    Ok([UpfSide::open5gs(program, sessions, cores, nets)?, UpfSide::causeway(false, sessions, cores, nets)?])
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use causeway_bench::report::Cell;

    use super::*;

    // Input:  a program that does not exist.
    // Output: a report that says what is missing.
    #[test]
    fn what_is_missing_is_named() {
        let mut options = Options::parse_from(["causeway-peers", "--quick"]);
        options.open5gs_upfd = Some("/nowhere/open5gs-upfd".into());
        let report = run(&options).unwrap()[0].to_string();
        assert!(report.contains("SKIPPED open5gs: needs open5gs-upfd (CAUSEWAY_OPEN5GS_UPFD"), "{report}");
    }

    // Input:  the UPF of the environment, 100 sessions, two windows, a few packets.
    // Output: both UPFs accept every request and forward both ways; each row has its time.
    #[test]
    fn both_upfs_run() {
        let options = Options::parse_from(["causeway-peers", "--quick"]);
        let reports = run(&options).unwrap();
        let skipped =
            reports.iter().flat_map(|report| &report.notes).find(|note| note.starts_with("SKIPPED"));
        if let Some(why) = skipped {
            use std::io::Write;
            let needs = why.trim_start_matches("SKIPPED open5gs: ");
            let _ = writeln!(std::io::stderr(), "SKIPPED peers::both_upfs_run: {needs}");
            return;
        }
        let [requests, forwarding] = &reports[..] else { panic!("{} reports", reports.len()) };
        assert_eq!((requests.table.rows.len(), forwarding.table.rows.len()), (2 * 3 * 3, 2 * 2));
        let is_above_zero = |cell: &Cell| matches!(cell, Cell::Number(value, _) if *value > 0.0);
        assert!(requests.table.rows.iter().all(|row| is_above_zero(&row[4])), "{requests}");
        assert!(forwarding.table.rows.iter().all(|row| is_above_zero(&row[3])), "{forwarding}");
    }
}
