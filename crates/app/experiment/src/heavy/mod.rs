//! Heavy hitters: the figures of chapter 4 of S. K. Singh's thesis, with its detector, ours and those of others on generated
//! traces, or on a user's.

mod census;
pub mod competitors;
pub mod contest;
pub mod design;
pub mod fig18;
pub mod fig30;
pub mod fig31;
pub mod fig32;
pub mod fig33;
pub mod fig35;
pub mod given;
pub mod table7;
pub mod trace;
pub mod truth;
mod tuning;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use causeway_types::Span;

use crate::ExperimentError;
use crate::cli::Common;
use crate::outcome::Goal;
use design::Method;
use given::Given;
use trace::Profile;

/// The size of an experiment.
#[derive(Clone, Debug)]
struct Size {
    /// The part of each trace's flows, and of each memory.
    scale: f64,
    /// The seeds of the traces.
    seeds: Vec<u64>,
    /// The seed of the traces with which detectors are tuned.
    tuning_seed: u64,
    /// Seconds after which scores are taken: short, medium, long.
    seconds: [u32; 3],
    /// A trace of a user's.
    given: Option<Profile>,
}

impl Size {
    /// Five seeds and a minute; or two seeds and a few seconds with a twentieth of the flows and of the memory. A trace of a user's has all of
    /// its flows, at most a minute long, and the seeds are those of the hashes.
    fn of(common: &Common) -> Result<Self, ExperimentError> {
        let size = Self::generated(common);
        let given = given(common, Span::from_secs(u64::from(size.seconds[2]) + 1))?;
        let Some(trace) = given.and_then(|given| given.given) else { return Ok(size) };
        let seconds = size.seconds.map(|seconds| seconds.min(trace.seconds()));
        Ok(Self { scale: 1.0, seconds, given, ..size })
    }

    /// The size without a trace.
    fn generated(common: &Common) -> Self {
        let seeds = if common.quick { 2 } else { 5 };
        Self {
            scale: if common.quick { 0.05 } else { 1.0 },
            seeds: (0..seeds).map(|place| common.seed.wrapping_add(place)).collect(),
            tuning_seed: common.seed.wrapping_add(1000),
            seconds: if common.quick { [1, 2, 4] } else { [5, 10, 60] },
            given: None,
        }
    }

    fn profile(&self, profile: Profile) -> Profile {
        match self.given {
            Some(given) => given,
            None if self.scale < 1.0 => profile.scaled(self.scale),
            None => profile,
        }
    }

    /// Those of these profiles that there are: a trace of a user's is alone.
    fn profiles(&self, all: &[Profile]) -> Vec<Profile> {
        self.given.map_or_else(|| all.to_vec(), |given| vec![given])
    }

    /// Goals, which are for the generated traces.
    fn goals(&self, goals: Vec<Goal>) -> Vec<Goal> {
        if self.given.is_some() { Vec::new() } else { goals }
    }

    /// The traces in words: these, or the user's.
    fn traces_in_words(&self, generated: &str) -> String {
        match self.given.and_then(|given| given.given) {
            Some(given) => given.to_string(),
            None => format!("{generated}, {}", self.scale_in_words()),
        }
    }

    /// The note below all tables.
    fn note(&self) -> String {
        match self.given.and_then(|given| given.given) {
            Some(given) => format!(
                "The trace is {}. Detectors are tuned on its first {} s, and the seeds are those of their hashes. All detectors of a row see the same packets.",
                given.name, self.seconds[1]
            ),
            None => GENERATED.into(),
        }
    }

    /// Octets of a memory.
    fn octets(&self, kibi_octets: usize) -> usize {
        ((kibi_octets * 1024) as f64 * self.scale) as usize
    }

    /// The seeds in words.
    fn seeds_in_words(&self) -> String {
        format!("{}, tuned with {}", self.trace_seeds_in_words(), self.tuning_seed)
    }

    /// The seeds of the traces in words.
    fn trace_seeds_in_words(&self) -> String {
        let [first, .., last] = self.seeds.as_slice() else { return String::new() };
        format!("{first} to {last}")
    }

    /// The size of the traces in words.
    fn scale_in_words(&self) -> &'static str {
        if self.scale < 1.0 { "a twentieth of the flows and of the memory" } else { "all flows" }
    }
}

/// The trace of a user's, which is read once for all experiments.
fn given(common: &Common, most: Span) -> Result<Option<Profile>, ExperimentError> {
    static READ: Mutex<Vec<(PathBuf, Span, Profile)>> = Mutex::new(Vec::new());
    let Some(file) = &common.trace else { return Ok(None) };
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, _, profile)) = read.iter().find(|(known, span, _)| known == file && *span == most) {
        return Ok(Some(*profile));
    }
    let profile = Profile::of(Given::read(file, most)?);
    read.push((file.clone(), most, profile));
    Ok(Some(profile))
}

/// The selected methods; `--only` selects by name.
fn methods(common: &Common) -> Result<Vec<Method>, ExperimentError> {
    common.rows_by_name(&Method::ALL, |method| method.name())
}

/// The note below all tables.
pub(crate) const GENERATED: &str = "The traces are generated, with as many packets and flows a second as the thesis says of its captures, \
which cannot be had here; so its figures and these are not of the same packets. All detectors of a row see the same packets.";
/// The note on competitors.
const COMPETITORS: &str = "Each detector is tuned for each memory by the same search, on a trace of another seed: the table of the search is \
below. Competitors but Memento count in disjoint seconds, which favours what does not; all are in the densest coding their papers allow.";
