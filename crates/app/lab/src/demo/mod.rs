//! `causeway demo`: a whole 5G user plane on this host. Each step is verified by observation.

mod config;
mod console;
mod environment;
mod keep;
mod path;
mod step;
mod steps;

use std::time::SystemTime;

pub use console::Console;
pub use environment::{LossyLink, Options};
pub use path::{LossCount, PacketPath, PlaceCount};
pub use step::{Check, Observer, Stage, Step, StepReport, play};

use crate::LabError;
use crate::cleanup::Cleanup;
use crate::metrics::Metrics;
use crate::netns::{Privilege, acquire_privilege, remove_stale};
use crate::report::{CounterRow, Report};
use crate::timeline::Timeline;
use environment::DemoEnvironment;
use steps::{END, STORY, own_steps};

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
///
/// With [`Options::keep`] it waits for a signal before the sessions are released.
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

/// Plays all steps, then stops and removes everything.
fn perform(
    options: &Options,
    privilege: Privilege,
    console: &Console,
    cleanup: &Cleanup,
) -> Result<Report, LabError> {
    let _guard = cleanup.guard();
    let started = httpdate::fmt_http_date(SystemTime::now());
    let timeline = Timeline::default();
    let mut stage = DemoEnvironment {
        options: options.clone(),
        cleanup: cleanup.clone(),
        timeline: timeline.clone(),
        network: None,
        before: Metrics::default(),
        after: Metrics::default(),
        followed: None,
        paths: Vec::new(),
    };
    let mut steps = Vec::new();
    play(STORY, &mut stage, console, &timeline, &mut steps);
    if steps.iter().all(|step| step.passed) {
        play(own_steps(options), &mut stage, console, &timeline, &mut steps);
    }
    if options.keep && stage.network.is_some() {
        report(&mut stage, steps.clone(), &started, privilege).write(&options.out)?;
        keep::wait(&mut stage, privilege, console)?;
    }
    if steps.iter().all(|step| step.passed) {
        play(END, &mut stage, console, &timeline, &mut steps);
    }
    Ok(report(&mut stage, steps, &started, privilege))
}

/// What there is to report now.
fn report(
    stage: &mut DemoEnvironment,
    steps: Vec<StepReport>,
    started: &str,
    privilege: Privilege,
) -> Report {
    let elapsed = stage.timeline.now();
    if stage.after == Metrics::default() {
        // A step failed before the counters were read; what can still be had is better than nothing.
        stage.after = stage.network().and_then(|network| network.metrics()).unwrap_or_default();
    }
    let samples = stage.network.as_ref().map(|network| network.sampler.samples()).unwrap_or_default();
    let failed = steps.iter().find(|step| !step.passed);
    let own = own_steps(&stage.options);
    Report {
        version: env!("CARGO_PKG_VERSION").into(),
        started: started.into(),
        elapsed,
        passed: failed.is_none(),
        reason: failed.map(|step| format!("step {} ({}): {}", step.number, step.title, step.summary)),
        machine: machine(privilege),
        not_reached: STORY
            .iter()
            .chain(own)
            .chain(END)
            .skip(steps.len())
            .map(|step| step.title.into())
            .collect(),
        steps,
        messages: stage.timeline.messages(),
        samples,
        counters: counters(&stage.before, &stage.after),
        files: FILES.iter().map(|(name, about)| ((*name).into(), (*about).into())).collect(),
    }
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
