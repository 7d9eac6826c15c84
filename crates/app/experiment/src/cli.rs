//! The command line of all experiments.

use std::io::Write;
use std::path::PathBuf;

use causeway_show::{Count, Progress};
use causeway_types::Span;
use clap::{Args, ValueEnum};

use crate::ExperimentError;
use crate::accel;
use crate::gaming::{fig40, fig41, fig42, table8};
use crate::heavy::{fig18, fig30, fig31, fig32, fig33, fig35, table7};
use crate::hip4::{fig6, fig10, fig11, fig12, table4};
use crate::hybrid::{share, thesis};
use crate::outcome::Outcome;
use crate::page::{Subject, write_page};
use crate::row_writer::Rows;
use crate::ue_table;
use crate::variant::Variant;
use crate::xplane;

/// The experiment, and its size.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// The experiment; without one, they are listed
    #[arg(value_enum)]
    experiment: Option<Experiment>,
    /// The size.
    #[command(flatten)]
    pub common: Common,
    /// Folder for the JSON files, the charts and the page
    #[arg(short, long, value_name = "FOLDER", default_value = "experiment-out")]
    pub out: PathBuf,
}

/// The experiments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Experiment {
    /// Latency of handovers and reports by the fraction of time that the baseline reads
    Hip4Fig6,
    /// Capacity in UEs, by the planner
    Hip4Fig10,
    /// Latency of volume reports, with and without selective pulling, and with counters by index
    Hip4Fig11,
    /// Latency of handovers while usage is read: single thread, baseline, HiP4-UPF and Causeway
    Hip4Fig12,
    /// Registrations, deregistrations and handovers a second
    Hip4Table4,
    /// All experiments of HiP4-UPF, on one page
    Hip4,
    /// Capacity of the UE table of a stateless UPF, in the shapes of S. K. Singh's thesis, by the planner
    UeTable,
    /// Heavy hitters of disjoint seconds, by where the seconds begin
    HhFig18,
    /// Heavy hitters that are missed because windows are disjoint
    HhFig30,
    /// Precision and recall of all detectors of heavy hitters, by memory and time
    HhFig31,
    /// Precision and recall on other traces, and with other definitions of a flow
    HhFig32,
    /// Octets between switch and controller, and the delay of reports
    HhFig33,
    /// Completion of delay-critical flows, with heavy hitters in the same queue and in a lower one
    HhFig35,
    /// Resources of the detector on a switch
    HhTable7,
    /// All experiments on heavy hitters, on one page
    Hh,
    /// Rate and latency of the memory path of X-PLANE, over the model of external memory
    XplaneMemory,
    /// PFCP messages answered by the data plane: rates and latencies beside those of AccelUPF, in a model of a switch
    AccelTable1,
    /// Sessions that find no place in the tables of AccelUPF, and of Causeway
    AccelFig8,
    /// PFCP messages among packets of IoT devices, with and without loss
    AccelFig9,
    /// Sessions that leave the switch for software: latency of the first packet, order, loss
    AccelFallback,
    /// Sessions that are kept by a chain of switches: rate, latency, and what a failure costs
    AccelChain,
    /// All experiments of AccelUPF, on one page
    Accel,
    /// Throughput and latency of X-PLANE's design and of ours
    XplaneTable1,
    /// Resources of X-PLANE's switch and memory servers
    XplaneTable2,
    /// Throughput of X-PLANE by slow path ratio, searched PDRs and packet size
    XplaneFig12,
    /// Distribution of the latency of X-PLANE
    XplaneFig13,
    /// Flow entries that X-PLANE writes a second
    XplaneFig15,
    /// Cost of the local state table of X-PLANE, and its collisions
    XplaneFig16,
    /// Time until the packets that X-PLANE has buffered for a UE have left
    XplaneFig17,
    /// Rates of limited UEs, with their tokens in external memory
    XplaneFig18,
    /// All experiments of X-PLANE, on one page
    Xplane,
    /// Cloud gaming: integers and tables against floating point and trees
    GamingFig40,
    /// Cloud gaming: our tree beside the released one on the same windows, and the time of decisions
    GamingFig41,
    /// Cloud gaming: sessions, games and networks that were not seen
    GamingFig42,
    /// Cloud gaming: resources of the decision on a switch
    GamingTable8,
    /// All experiments on cloud gaming, on one page
    Gaming,
    /// Hybrid UPF: the share of the packets on the switch, by how rules are placed
    HybridShare,
    /// Hybrid UPF: the thresholds of the thesis
    HybridThesis,
    /// All experiments on the hybrid UPF, on one page
    Hybrid,
}

/// The size of experiments.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// UEs with a session [default: as in the paper, 84k in figure 6 and 150k elsewhere]
    #[arg(long, value_name = "N")]
    pub ues: Option<Count>,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1234)]
    pub seed: u64,
    /// Seconds of handovers in figures 6 and 12; the paper has 200
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub runs: u32,
    /// Seconds of reports in figure 11, in model time
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub seconds: u32,
    /// Only rows whose name contains this, such as `Causeway`; the slowest rows are the paper's
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Folder with cloud-gaming/ and captures/, for cloud gaming; without it, rows of real flows are missing
    #[arg(long, value_name = "FOLDER", env = "CAUSEWAY_DATA")]
    pub data: Option<PathBuf>,
    /// Packets for the experiments on heavy hitters instead of generated ones: a pcap, a pcapng, or a CSV with time, source,
    /// destination, `source_port`, `destination_port`, protocol and octets
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// 1,000 UEs, or a twentieth of the flows, and a short time, to check that it works; the figures mean little
    #[arg(long)]
    pub quick: bool,
}

impl Common {
    /// The command that repeats the experiment.
    fn command(&self, experiment: Experiment) -> String {
        let ues = self.ues.map(|ues| format!(" --ues {}", ues.0)).unwrap_or_default();
        let only = self.only.as_ref().map(|only| format!(" --only '{only}'")).unwrap_or_default();
        let quick = if self.quick { " --quick" } else { "" };
        let Self { seed, runs, seconds, .. } = self;
        let name = experiment.name();
        if experiment.subject() == Subject::Gaming {
            let data = self.data.as_ref().map(|data| format!(" --data '{}'", data.display()));
            return format!("causeway experiment {name} --seed {seed}{}{quick}", data.unwrap_or_default());
        }
        if experiment.subject() != Subject::Hip4 {
            let trace = self.trace.as_ref().map(|file| format!(" --trace '{}'", file.display()));
            let trace = trace.unwrap_or_default();
            return format!("causeway experiment {name} --seed {seed}{trace}{only}{quick}");
        }
        format!(
            "causeway experiment {name}{ues} --seed {seed} --runs {runs} --seconds {seconds}{only}{quick}"
        )
    }

    /// The number of UEs; `paper` is the default.
    pub(crate) fn ues(&self, paper: u32) -> u32 {
        let given = self.ues.map(|ues| u32::try_from(ues.0).unwrap_or(MAX_UES));
        given.unwrap_or(if self.quick { 1000 } else { paper })
    }

    /// Seconds of handovers.
    pub(crate) const fn runs(&self) -> u32 {
        if self.quick { 1 } else { self.runs }
    }

    /// Model time in which reports are measured.
    pub(crate) const fn seconds(&self) -> Span {
        Span::from_secs(if self.quick { 10 } else { self.seconds as u64 })
    }

    /// Model time in which rates are measured: the paper's second.
    pub(crate) const fn second(&self) -> Span {
        Span::from_millis(if self.quick { 20 } else { 1000 })
    }

    /// Model time before a measurement.
    pub(crate) const fn before(&self, usual: Span) -> Span {
        if self.quick { Span::from_secs(1) } else { usual }
    }

    /// The selected rows of an experiment.
    ///
    /// # Errors
    /// [`ExperimentError::NoSuchRow`] when no row name matches.
    pub(crate) fn rows<R: Clone>(
        &self,
        all: &[R],
        variant: impl Fn(&R) -> Variant,
    ) -> Result<Vec<R>, ExperimentError> {
        self.rows_by_name(all, |row| variant(row).name)
    }

    /// The selected rows, whose names are these.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub(crate) fn rows_by_name<R: Clone>(
        &self,
        all: &[R],
        name: impl Fn(&R) -> &'static str,
    ) -> Result<Vec<R>, ExperimentError> {
        let Some(only) = &self.only else { return Ok(all.to_vec()) };
        let wanted = |row: &&R| name(row).to_lowercase().contains(&only.to_lowercase());
        let rows: Vec<R> = all.iter().filter(wanted).cloned().collect();
        if rows.is_empty() {
            let names = all.iter().map(name).collect();
            return Err(ExperimentError::NoSuchRow { only: only.clone(), names });
        }
        Ok(rows)
    }

    fn check(&self) -> Result<(), ExperimentError> {
        let wrong = |what, given: String, allowed| Err(ExperimentError::OutOfRange { what, given, allowed });
        match self.ues {
            Some(ues) if !(100..=u64::from(MAX_UES)).contains(&ues.0) => {
                wrong("--ues", ues.to_string(), "from 100 to 2M")
            }
            _ if self.runs == 0 => wrong("--runs", "0".into(), "1 or more"),
            _ if self.seconds == 0 => wrong("--seconds", "0".into(), "1 or more"),
            _ => Ok(()),
        }
    }
}

/// The most UEs: numbers of rules have 24 bits.
const MAX_UES: u32 = 2_000_000;

/// Runs the command line: tables to `out`, files to the folder.
///
/// # Errors
/// [`ExperimentError`] when an argument is invalid, the workload does not fit, or a result cannot be written.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), ExperimentError> {
    let writing = || ExperimentError::io("write to standard output");
    let Some(experiment) = arguments.experiment else {
        return write!(out, "{}", list()).map_err(writing());
    };
    arguments.common.check()?;
    if let Some(file) = arguments.common.trace.as_ref().filter(|_| !experiment.has_trace()) {
        let (what, given) = ("--trace", file.display().to_string());
        let allowed = "for hh and hh-fig18 to hh-fig33 alone";
        return Err(ExperimentError::OutOfRange { what, given, allowed });
    }
    let mut progress = Progress::new();
    let mut outcomes = Vec::new();
    let has_trace = arguments.common.trace.is_some();
    for experiment in experiment.parts().into_iter().filter(|part| !has_trace || part.has_trace()) {
        let rows = Rows::new(&arguments.out, &experiment.name())?;
        let outcome = experiment.run(&arguments.common, &rows, &mut progress)?;
        outcome.write(&arguments.out)?;
        rows.finish()?;
        progress.clear();
        writeln!(out, "{outcome}").map_err(writing())?;
        outcomes.push(outcome);
    }
    let page = arguments.out.join(format!("{}.html", experiment.name()));
    let command = arguments.common.command(experiment);
    write_page(experiment.subject(), &outcomes, &command, arguments.common.quick, &page)?;
    writeln!(out, "written: {}", page.display()).map_err(writing())
}

impl Experiment {
    fn parts(self) -> Vec<Self> {
        match self {
            Self::Hip4 => {
                vec![Self::Hip4Fig6, Self::Hip4Fig10, Self::Hip4Table4, Self::Hip4Fig11, Self::Hip4Fig12]
            }
            Self::Xplane => vec![
                Self::XplaneTable1,
                Self::XplaneTable2,
                Self::XplaneFig12,
                Self::XplaneFig13,
                Self::XplaneFig15,
                Self::XplaneFig16,
                Self::XplaneFig17,
                Self::XplaneFig18,
            ],
            Self::Hh => {
                vec![
                    Self::HhFig18,
                    Self::HhFig30,
                    Self::HhFig31,
                    Self::HhFig32,
                    Self::HhFig33,
                    Self::HhFig35,
                    Self::HhTable7,
                ]
            }
            Self::Accel => vec![
                Self::AccelTable1,
                Self::AccelFig8,
                Self::AccelFig9,
                Self::AccelFallback,
                Self::AccelChain,
            ],
            Self::Gaming => vec![Self::GamingFig40, Self::GamingFig41, Self::GamingFig42, Self::GamingTable8],
            Self::Hybrid => vec![Self::HybridShare, Self::HybridThesis],
            one => vec![one],
        }
    }

    /// It passes a trace through detectors, which may be a user's.
    fn has_trace(self) -> bool {
        self.subject() == Subject::HeavyHitters && !matches!(self, Self::HhFig35 | Self::HhTable7)
    }

    const fn subject(self) -> Subject {
        match self {
            Self::Hip4
            | Self::Hip4Fig6
            | Self::Hip4Fig10
            | Self::Hip4Fig11
            | Self::Hip4Fig12
            | Self::Hip4Table4 => Subject::Hip4,
            Self::Hh
            | Self::HhFig18
            | Self::HhFig30
            | Self::HhFig31
            | Self::HhFig32
            | Self::HhFig33
            | Self::HhFig35
            | Self::HhTable7 => Subject::HeavyHitters,
            Self::AccelTable1
            | Self::AccelFig8
            | Self::AccelFig9
            | Self::AccelFallback
            | Self::AccelChain
            | Self::Accel => Subject::Accel,
            Self::XplaneMemory
            | Self::XplaneTable1
            | Self::XplaneTable2
            | Self::XplaneFig12
            | Self::XplaneFig13
            | Self::XplaneFig15
            | Self::XplaneFig16
            | Self::XplaneFig17
            | Self::XplaneFig18
            | Self::Xplane => Subject::Xplane,
            Self::Gaming | Self::GamingFig40 | Self::GamingFig41 | Self::GamingFig42 | Self::GamingTable8 => {
                Subject::Gaming
            }
            Self::HybridShare | Self::HybridThesis | Self::Hybrid => Subject::Hybrid,
            Self::UeTable => Subject::UeTable,
        }
    }

    /// The name on the command line.
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn run(self, common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
        match self {
            Self::Hip4Fig6 => fig6::run(common, rows, progress),
            Self::Hip4Fig10 => fig10::run(progress),
            Self::Hip4Fig11 => fig11::run(common, rows, progress),
            Self::Hip4Table4 => table4::run(common, rows, progress),
            Self::Hip4Fig12 | Self::Hip4 => fig12::run(common, rows, progress),
            Self::HhFig18 => fig18::run(common, rows, progress),
            Self::HhFig30 => fig30::run(common, rows, progress),
            Self::HhFig31 | Self::Hh => fig31::run(common, rows, progress),
            Self::HhFig32 => fig32::run(common, rows, progress),
            Self::HhFig33 => fig33::run(common, rows, progress),
            Self::HhFig35 => fig35::run(common, rows, progress),
            Self::HhTable7 => Ok(table7::run()),
            Self::XplaneMemory => xplane::memory::run(common, rows, progress),
            Self::AccelTable1 => accel::table1::run(common, rows, progress),
            Self::AccelFig8 => accel::fig8::run(common, rows, progress),
            Self::AccelFig9 => accel::fig9::run(common, rows, progress),
            Self::AccelFallback => accel::fallback::run(common, rows, progress),
            Self::AccelChain | Self::Accel => accel::chain::run(common, rows, progress),
            Self::XplaneTable1 => xplane::figures::table1(common, rows, progress),
            Self::XplaneTable2 => Ok(xplane::table2::run(common, progress)),
            Self::XplaneFig12 => xplane::figures::fig12(common, rows, progress),
            Self::XplaneFig13 => xplane::figures::fig13(common, rows, progress),
            Self::XplaneFig15 => xplane::figures::fig15(common, rows, progress),
            Self::XplaneFig16 => xplane::figures::fig16(common, rows, progress),
            Self::XplaneFig17 => xplane::figures::fig17(common, rows, progress),
            Self::XplaneFig18 | Self::Xplane => xplane::figures::fig18(common, rows, progress),
            Self::GamingFig40 => fig40::run(common, rows, progress),
            Self::GamingFig41 => fig41::run(common, rows, progress),
            Self::GamingFig42 | Self::Gaming => fig42::run(common, rows, progress),
            Self::GamingTable8 => table8::run(common, rows, progress),
            Self::HybridShare | Self::Hybrid => share::run(common, rows, progress),
            Self::HybridThesis => thesis::run(common, rows, progress),
            Self::UeTable => ue_table::run(progress),
        }
    }
}

/// The experiments with their descriptions.
fn list() -> String {
    let values = Experiment::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let line = |value: clap::builder::PossibleValue| {
        let about = value.get_help().map(ToString::to_string).unwrap_or_default();
        format!("{:12} {about}\n", value.get_name())
    };
    values.map(line).collect()
}
