//! The delay of reports, handovers and rule changes.
//!
//! The daemon runs in this process with N4 and N3 on the loopback and its data network in memory, so that it needs no
//! privileges. SMF, gNB and server are one thread, on another core than the packet thread.

mod changes;
mod environment;
mod in_memory;
mod options;
mod traffic;

use std::time::Duration;

pub use options::Options;

use crate::kit::{Count, Progress, Samples, available_memory, in_own_thread, pin};
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::upf::{Cores, choose_cores};
use crate::{BenchError, Common};
use changes::{ChangeLatency, TunnelChange};
use environment::{Environment, SIZE, SPREAD};
use in_memory::InMemory;
use traffic::{EventRates, Traffic};

/// Octets that a session takes at most, with what the SMF here keeps of it.
const SESSION: u64 = 20_000;

/// Measures every number of sessions.
///
/// # Errors
/// [`BenchError`], for example when a number is out of range or the daemon cannot be started.
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    let options = if common.quick { options.clone().quick() } else { options.clone() };
    options.check()?;
    in_own_thread(|| measure(&options, common)).map(|report| vec![report])
}

fn measure(options: &Options, common: &Common) -> Result<Report, BenchError> {
    let cores = choose_cores(common)?;
    pin(cores.others)?;
    let mut report = empty(options, cores);
    let mut progress = Progress::new();
    for sessions in &options.sessions {
        if available_memory().is_some_and(|octets| octets < sessions.0 * SESSION) {
            report.skip(format_args!("{sessions} sessions"), "too little memory");
            continue;
        }
        setting(*sessions, options, common, cores, &mut progress, &mut report)?;
    }
    report.note(
        "report: from sending the packet that crosses a volume threshold to the Session Report Request. handover, change: \
         from the Session Modification Request (another tunnel, SNDEM) to its response. rule visible: from the request of \
         a change until the first packet is sent that is treated by the new rule, exact to the time between two packets. in \
         memory: the packet thread alone, which is handed the plan and gives its result back; ports in memory.",
    );
    Ok(report)
}

fn setting(
    sessions: Count,
    options: &Options,
    common: &Common,
    cores: Cores,
    progress: &mut Progress,
    report: &mut Report,
) -> Result<(), BenchError> {
    let mut random = fastrand::Rng::with_seed(common.seed);
    progress.stage(format!("events: {sessions} sessions are set up"));
    // The options are checked: it is below 2^32.
    let mut world = Environment::open(sessions.0 as u32, !options.sleep, cores, &mut random, progress)?;
    let mut traffic = Traffic::new(world.sessions.len());
    traffic.begin(&mut world, progress)?;
    let span = Duration::from_millis(options.time);
    for handovers in [0, options.handovers.0] {
        progress.stage(format!("events: reports of {sessions} sessions, {handovers} handovers a second"));
        let pace = EventRates { packets: options.rate.0, handovers };
        let measured = traffic.run(&mut world, pace, span, &mut random, progress)?;
        let row = Row { sessions, packets: options.rate, handovers };
        row.add("report", &measured.reports, measured.missing.0, report);
        if handovers > 0 {
            row.add("handover", &measured.handovers, measured.missing.1, report);
        }
        let (lost, unexpected, again) = (measured.lost, measured.unexpected, measured.again);
        if lost + unexpected + again > 0 {
            report.note(format!(
                "{sessions} sessions, {handovers} handovers: {lost} packets lost, {unexpected} reports not expected, {again} sent \
                 again as they had no answer in time."
            ));
        }
    }
    progress.stage(format!("events: rule changes among {sessions} sessions"));
    watch("", sessions, &mut world, options, &mut random, progress, report)?;
    // Its packet thread may never sleep, and the next one has the same core.
    drop(world);
    progress.stage(format!("events: rule changes among {sessions} sessions in memory"));
    // It is below 2^32, as above.
    let mut thread = InMemory::open(sessions.0 as u32, !options.sleep, cores, progress)?;
    watch(", in memory", sessions, &mut thread, options, &mut random, progress, report)
}

/// Changes one by one.
fn watch(
    place: &str,
    sessions: Count,
    upf: &mut impl TunnelChange,
    options: &Options,
    random: &mut fastrand::Rng,
    progress: &mut Progress,
    report: &mut Report,
) -> Result<(), BenchError> {
    let changes = ChangeLatency::watch(upf, options.changes.0, random, progress)?;
    let row = Row { sessions, packets: Count(0), handovers: 0 };
    row.add(&format!("change{place}"), &changes.response, changes.missing, report);
    row.add(&format!("rule visible{place}"), &changes.visible, changes.missing, report);
    if changes.stale > 0 {
        let stale = changes.stale;
        report.note(format!(
            "{sessions} sessions{place}: {stale} packets after a response followed the old rule."
        ));
    }
    Ok(())
}

fn empty(options: &Options, cores: Cores) -> Report {
    let Cores { packets, others } = cores;
    let sleeps = if options.sleep { "sleeps without packets" } else { "never sleeps" };
    let conditions = Conditions::here(IoCost::Gross)
        .with("UPF", format!("packet thread on core {packets}, {sleeps}; control thread on core {others}"))
        .with(
            "load",
            format!("SMF, gNB and server in one thread on core {others}; N4 and N3 on the loopback"),
        )
        .with("sessions", "2 PDRs, 2 FARs, a QER with MBR, a URR with volume threshold")
        .with(
            "traffic",
            format!("{SIZE} octets, each of a random session; a report after 1 to {SPREAD} packets"),
        )
        .with("time", format!("{} ms for each span, {} changes one by one", options.time, options.changes));
    let columns = vec![
        Column::new("event"),
        Column::new("sessions"),
        Column::of("packets", "1/s"),
        Column::of("handovers", "1/s"),
        Column::new("measured"),
        Column::of("p50", "us"),
        Column::of("p90", "us"),
        Column::of("p99", "us"),
        Column::of("p99.9", "us"),
        Column::new("missing"),
    ];
    Report::new(
        "events",
        "Events: reports, handovers and rule changes of the whole daemon",
        conditions,
        columns,
    )
}

/// What went on while something was measured.
struct Row {
    sessions: Count,
    packets: Count,
    handovers: u64,
}

impl Row {
    fn add(&self, event: &str, samples: &Samples, missing: u64, report: &mut Report) {
        let percentiles = samples.percentiles([500, 900, 990, 999]);
        let micros = |index: usize| -> Cell {
            let micros = percentiles.and_then(|percentiles| percentiles.get(index).copied());
            micros.map(|micros| Cell::Number(micros, 1)).into()
        };
        report.row([
            event.into(),
            self.sessions.into(),
            self.packets.into(),
            Cell::Count(self.handovers),
            Cell::Count(samples.len() as u64),
            micros(0),
            micros(1),
            micros(2),
            micros(3),
            Cell::Count(missing),
        ]);
    }
}
