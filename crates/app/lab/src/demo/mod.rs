//! `causeway demo`: a whole 5G user plane on this host. Each step is verified by observation.

mod config;
mod console;
mod environment;
mod step;
mod steps;

use std::time::{Instant, SystemTime};

pub use console::Console;
pub use environment::Options;
pub use step::{Check, Observer, Step, StepReport, play};

use crate::LabError;
use crate::cleanup::Cleanup;
use crate::metrics::Metrics;
use crate::netns::{Privilege, acquire_privilege, remove_stale};
use crate::report::{CounterRow, Report, Sample};
use crate::timeline::Timeline;
use environment::DemoEnvironment;
use steps::STORY;

const PICTURE: &str = "
  10 UEs ── gnb1 ─┐ N3            N6
         ── gnb2 ─┴──── UPF ──────────── data network
                         │ N4
                        SMF
";

/// Runs the demo on this host. Returns whether every step passed; screen, report and captures have the details.
///
/// Call it before any thread is started: without root, the process restarts in a user namespace. It removes what it
/// created, also on SIGINT, SIGTERM and SIGHUP.
///
/// # Errors
/// [`LabError`] when it cannot start, or its report cannot be written.
pub fn run(options: &Options) -> Result<bool, LabError> {
    let privilege = acquire_privilege()?;
    std::fs::create_dir_all(&options.out)
        .map_err(LabError::io(format!("make the folder {}", options.out.display())))?;
    let console = Console::stdout();
    let cleanup = Cleanup::default();
    let (begin, end) = (console.clone(), console.clone());
    cleanup.on_signal(
        move || begin.mute("\nInterrupted. Cleaning up ..."),
        move || end.mute("Namespaces, devices and the daemon are removed."),
    )?;
    console.say(&format!("Causeway {}: a 5G user plane on this host{PICTURE}", env!("CARGO_PKG_VERSION")));
    let stale = remove_stale();
    if stale > 0 {
        console.say(&format!("Removed {stale} namespaces of a killed run.\n"));
    }
    let report = perform(options, privilege, &console, &cleanup)?;
    cleanup.yield_to_signal();
    report.write(&options.out)?;
    conclude(&report, options, &console);
    Ok(report.passed)
}

/// Plays all steps and clears the stage.
fn perform(
    options: &Options,
    privilege: Privilege,
    console: &Console,
    cleanup: &Cleanup,
) -> Result<Report, LabError> {
    let _guard = cleanup.guard();
    let (clock, started) = (Instant::now(), httpdate::fmt_http_date(SystemTime::now()));
    let timeline = Timeline::default();
    let mut stage = DemoEnvironment {
        options: options.clone(),
        cleanup: cleanup.clone(),
        timeline: timeline.clone(),
        network: None,
        before: Metrics::default(),
        after: Metrics::default(),
    };
    let steps = play(STORY, &mut stage, console, &timeline);
    let elapsed = clock.elapsed();
    if stage.after == Metrics::default() {
        // A step failed before the counters were read; what can still be had is better than nothing.
        stage.after = stage.network().and_then(|network| network.metrics()).unwrap_or_default();
    }
    let samples = stage.network.take().map(close).unwrap_or_default();
    let failed = steps.iter().find(|step| !step.passed);
    Ok(Report {
        version: env!("CARGO_PKG_VERSION").into(),
        started,
        elapsed,
        passed: failed.is_none(),
        reason: failed.map(|step| format!("step {} ({}): {}", step.number, step.title, step.summary)),
        machine: machine(privilege),
        not_reached: STORY.iter().skip(steps.len()).map(|step| step.title.into()).collect(),
        steps,
        messages: timeline.messages(),
        samples,
        counters: counters(&stage.before, &stage.after),
        files: FILES.iter().map(|(name, about)| ((*name).into(), (*about).into())).collect(),
    })
}

/// Stops the network part by part. The end of the captures completes their files.
fn close(mut network: environment::Network) -> Vec<Sample> {
    network.sampler.finish()
}

const FILES: &[(&str, &str)] = &[
    ("n3.pcap", "GTP-U between both gNBs and the UPF; only the first frames of bulk transfers"),
    ("n4.pcap", "PFCP between SMF and UPF, and the fetches of its metrics"),
    ("n6.pcap", "user traffic between UPF and data network; only the first frames of bulk transfers"),
    ("upf.yaml", "the configuration of the UPF"),
    ("causeway.log", "the log of the UPF"),
    ("report.json", "this report as JSON"),
];

fn machine(privilege: Privilege) -> Vec<(String, String)> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let privilege = match privilege {
        Privilege::Root => "root",
        Privilege::UserNamespace => "unprivileged user namespace",
    };
    vec![
        ("kernel".into(), read("/proc/sys/kernel/osrelease")),
        ("processors".into(), cpus.to_string()),
        ("privilege".into(), privilege.into()),
    ]
}

/// The series that are not zero at the end, or were not at the beginning.
fn counters(before: &Metrics, after: &Metrics) -> Vec<CounterRow> {
    let row = |(series, after): (&str, f64)| {
        let before = before.value(series);
        (before != 0.0 || after != 0.0).then(|| CounterRow { series: series.into(), before, after })
    };
    after.iter().filter_map(row).collect()
}

fn conclude(report: &Report, options: &Options, console: &Console) {
    let folder = options.out.display();
    match &report.reason {
        None => console.say(&format!(
            "\nAll {} steps passed in {:.1} s. The report is {folder}/report.html;\n\
             the packets are in n3.pcap, n4.pcap and n6.pcap in that folder.",
            report.steps.len(),
            report.elapsed.as_secs_f64()
        )),
        Some(reason) => console.say(&format!(
            "\nFailed at {reason}\nObservations: {folder}/report.html; the daemon's log: {folder}/causeway.log"
        )),
    }
}
