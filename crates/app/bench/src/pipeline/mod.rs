//! Packets through a data plane, in memory: the cost of the pipeline itself.
//!
//! Sessions are requested as an SMF does, and set up by the control plane's code. Packets are created in chunks while the clock is
//! stopped, so the figures include neither reception nor transmission.

mod measure;
mod options;
mod stepwise;
mod traffic;

use std::sync::Arc;
use std::time::Duration;

use causeway_model::Applications;
pub(crate) use measure::BenchSetup;
use measure::Trial;
pub use options::{Classes, Direction, FirewallRules, HeavyHitters, Options, Size, Vxlan};
pub use stepwise::{StepwiseOptions, StepwisePipeline};
pub(crate) use traffic::Mix;

use crate::kit::{Count, Progress};
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::world::{Backend, Founding, Populated, Population, Rules, Segments, Shape};
use crate::{BenchError, Common};

/// Measures all combinations.
///
/// # Errors
/// [`BenchError`], for example when a number is out of range or packets are not forwarded.
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    let options = if common.quick { options.clone().quick() } else { options.clone() };
    options.check()?;
    let (applications, application) = options.applications()?;
    let conditions = Conditions::here(IoCost::Net)
        .with("packets", "UDP over IPv4, each of a random session; sizes are those of the user's IP packet")
        .with("time", format!("{} ms of CPU time for each row, interleaved", options.time));
    let mut report =
        Report::new("pipeline", "Pipeline: packets through a data plane in memory", conditions, columns());
    let mut progress = Progress::new();
    for sessions in &options.sessions {
        for pdrs in &options.pdrs {
            for rules in &options.rules {
                let (applications, application) = (Arc::clone(&applications), application.clone());
                let setting =
                    Setting { sessions: *sessions, pdrs: *pdrs, rules: *rules, applications, application };
                setting.run(&options, common, &mut progress, &mut report)?;
            }
        }
    }
    report.note(
        "More: p10 above that of the first combination of heavy hitters, classes, firewall and VXLAN, with the same data plane and packets.",
    );
    report.note("Net of reading the packets and the clock, which is measured in the same run.");
    Ok(vec![report])
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("backend"),
        Column::new("sessions"),
        Column::new("PDRs"),
        Column::new("rules"),
        Column::new("direction"),
        Column::of("size", "B"),
        Column::of("changes", "1/s"),
        Column::new("heavy hitters"),
        Column::new("classes"),
        Column::new("firewall"),
        Column::new("VXLAN"),
        Column::of("p10", "ns"),
        Column::of("median", "ns"),
        Column::of("p90", "ns"),
        Column::of("more", "ns"),
        Column::of("rate", "Mpps"),
        Column::of("loss", "packets"),
        Column::of("slow path", "%"),
        Column::of("change", "ns"),
    ]
}

/// What data planes must be filled anew for.
struct Setting {
    sessions: Count,
    pdrs: u16,
    rules: Rules,
    /// What PDRs may name, where there is a model of classes, and the application of the PDR by which sessions ask.
    applications: Arc<Applications>,
    application: Option<String>,
}

/// What data planes of one setting differ in.
#[derive(Clone, Copy)]
struct Variant {
    backend: Backend,
    heavy: HeavyHitters,
    classes: Classes,
    firewall: FirewallRules,
    vxlan: Vxlan,
}

impl Variant {
    /// All combinations.
    fn all(options: &Options) -> Vec<Self> {
        let mut all = Vec::new();
        for backend in &options.backend {
            for heavy in &options.heavy_hitters {
                for classes in &options.classes {
                    for firewall in &options.firewall {
                        all.extend(options.vxlan.iter().map(|vxlan| Self {
                            backend: *backend,
                            heavy: *heavy,
                            classes: *classes,
                            firewall: *firewall,
                            vxlan: *vxlan,
                        }));
                    }
                }
            }
        }
        all
    }
}

impl Setting {
    fn run(
        &self,
        options: &Options,
        common: &Common,
        progress: &mut Progress,
        report: &mut Report,
    ) -> Result<(), BenchError> {
        let mut bench = BenchSetup::new(common.seed);
        let mut sides = Vec::new();
        for variant in Variant::all(options) {
            progress.stage(format!("pipeline: {} sessions in {}", self.sessions, variant.backend));
            if let Some(mut population) = self.populate(variant, &bench, progress, report)? {
                population.worker.look_for_heavy_hitters(bench.now(), variant.heavy.settings().as_ref());
                population.worker.set_firewall(bench.now(), variant.firewall.firewall());
                sides.push((variant, population, self.trials(options)));
            }
        }
        for (_, population, trials) in &mut sides {
            for trial in trials {
                bench.warm_up(population, trial.mix)?;
            }
        }
        for (variant, population, _) in &mut sides {
            population.worker.segments = match variant.vxlan {
                Vxlan::Off => None,
                Vxlan::N6 | Vxlan::Both => Some(Segments::new(variant.vxlan == Vxlan::Both)?),
            };
        }
        progress.stage(format!("pipeline: {} sessions, {} rules", self.sessions, self.rules));
        let enough = Duration::from_millis(options.time);
        let pending = |trial: &Trial| match options.packets {
            Some(packets) => trial.sent < packets.0,
            None => trial.used < enough,
        };
        while sides.iter().any(|(_, _, trials)| trials.iter().any(pending)) {
            for (_, population, trials) in &mut sides {
                for trial in trials.iter_mut().filter(|trial| pending(trial)) {
                    bench.step(population, trial)?;
                }
            }
            progress.set_progress(0, 0);
        }
        for (variant, _, trials) in &sides {
            let first = sides.iter().find(|(other, ..)| other.backend == variant.backend);
            let first = first.map_or(&[][..], |(.., trials)| trials);
            self.report(*variant, (trials, first), &bench, report);
        }
        Ok(())
    }

    fn populate(
        &self,
        Variant { backend, classes, .. }: Variant,
        bench: &BenchSetup,
        progress: &mut Progress,
        report: &mut Report,
    ) -> Result<Option<Box<Population>>, BenchError> {
        let shape = Shape::new(self.pdrs, self.rules);
        let applications = Arc::clone(&self.applications);
        let shape = match classes {
            Classes::Off => shape,
            Classes::Unasked => shape.with_applications(applications, None),
            Classes::Asked => shape.with_applications(applications, self.application.clone()),
        };
        // The options are checked: it is below 2^24.
        let sessions = self.sessions.0 as u32;
        match (Founding { backend, sessions, shape: &shape, now: bench.now() }).populate(progress)? {
            Populated::Done(population) => Ok(Some(population)),
            Populated::TooLarge(why) => {
                report.skip(format_args!("{backend} with {} sessions", self.sessions), why);
                Ok(None)
            }
        }
    }

    fn trials(&self, options: &Options) -> Vec<Trial> {
        let mut trials = Vec::new();
        for way in &options.direction {
            for size in &options.size {
                for changes in &options.changes {
                    let mix = Mix { way: *way, size: *size, pdrs: self.pdrs };
                    trials.push(Trial::new(mix, changes.0));
                }
            }
        }
        trials
    }

    fn report(
        &self,
        variant: Variant,
        (trials, first): (&[Trial], &[Trial]),
        bench: &BenchSetup,
        report: &mut Report,
    ) {
        let baseline = bench.baseline.summary();
        let net_of = |trial: &Trial| {
            trial.packets.summary().zip(baseline).map(|(gross, baseline)| gross.minus_overhead(baseline))
        };
        for (trial, first) in trials.iter().zip(first) {
            let net = net_of(trial);
            let more = net.zip(net_of(first)).filter(|_| !std::ptr::eq(trial, first));
            report.row([
                variant.backend.to_string().into(),
                self.sessions.into(),
                Cell::Count(self.pdrs.into()),
                self.rules.to_string().into(),
                trial.mix.way.to_string().into(),
                trial.mix.size.to_string().into(),
                Cell::Count(trial.changes),
                variant.heavy.to_string().into(),
                variant.classes.to_string().into(),
                variant.firewall.to_string().into(),
                variant.vxlan.to_string().into(),
                net.map(|net| Cell::nanos(net.p10)).into(),
                net.map(|net| Cell::nanos(net.median)).into(),
                net.map(|net| Cell::nanos(net.p90)).into(),
                more.map(|(net, first)| Cell::nanos(net.p10 - first.p10)).into(),
                net.map(|net| Cell::millions_per_second(net.median)).into(),
                Cell::Count(trial.lost),
                Cell::Number(trial.slow as f64 * 100.0 / trial.sent.max(1) as f64, 1),
                trial.changed.summary().map(|changed| Cell::nanos(changed.median)).into(),
            ]);
        }
    }
}
