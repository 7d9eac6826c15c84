//! `causeway demo`: a whole 5G user plane at work on this machine, each step verified by what is observed.

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

/// Plays the demo on this machine. Returns whether every step passed; screen, report and captures tell the rest.
///
/// To be called before any thread is started: without root, the process starts anew in a user namespace. It
/// cleans up behind itself, also on SIGINT, SIGTERM and SIGHUP.
///
/// # Errors
/// [`LabError`] when it cannot begin, or its report cannot be written.
pub fn run(options: &Options) -> Result<bool, LabError> {
    let privilege = acquire_privilege()?;
    std::fs::create_dir_all(&options.out)
        .map_err(LabError::io(format!("make the folder {}", options.out.display())))?;
    let console = Console::stdout();
    let cleanup = Cleanup::default();
    let (begin, end) = (console.clone(), console.clone());
    cleanup.on_signal(
        move || begin.mute("\nInterrupted. Cleaning up ..."),
        move || end.mute("Namespaces, devices and the daemon are gone."),
    )?;
    console.say(&format!("Causeway {}: a 5G user plane on this machine{PICTURE}", env!("CARGO_PKG_VERSION")));
    let stale = remove_stale();
    if stale > 0 {
        console.say(&format!("Removed {stale} namespaces that a killed run had left.\n"));
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

/// Ends the network part by part; with the captures the files are complete.
fn close(mut network: environment::Network) -> Vec<Sample> {
    network.sampler.finish()
}

const FILES: &[(&str, &str)] = &[
    ("n3.pcap", "GTP-U between both gNBs and the UPF; of bulk transfers only the beginning"),
    ("n4.pcap", "PFCP between SMF and UPF, and the fetches of its metrics"),
    ("n6.pcap", "user traffic between UPF and data network; of bulk transfers only the beginning"),
    ("upf.yaml", "the configuration of the UPF"),
    ("causeway.log", "what the UPF logged"),
    ("report.json", "this report for machines"),
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
        ("rights".into(), privilege.into()),
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
            "\nAll {} steps passed in {:.1} s. The page of it is {folder}/report.html;\n\
             the packets are in n3.pcap, n4.pcap and n6.pcap beside it.",
            report.steps.len(),
            report.elapsed.as_secs_f64()
        )),
        Some(reason) => console.say(&format!(
            "\nFailed at {reason}\nWhat was observed: {folder}/report.html; the daemon's log: {folder}/causeway.log"
        )),
    }
}
