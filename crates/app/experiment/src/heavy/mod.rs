//! Heavy hitters: the figures of chapter 4 of S. K. Singh's thesis, with its detector, ours and those of others on generated
//! traces.

pub mod competitors;
pub mod contest;
pub mod design;
pub mod fig18;
pub mod fig30;
pub mod fig31;
pub mod fig32;
pub mod fig33;
mod spread;
pub mod trace;
pub mod truth;
mod tuning;

use crate::cli::Common;
use design::Method;
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
}

impl Size {
    /// Five seeds and a minute; or two seeds and a few seconds with a twentieth of the flows and of the memory.
    fn of(common: &Common) -> Self {
        let seeds = if common.quick { 2 } else { 5 };
        Self {
            scale: if common.quick { 0.05 } else { 1.0 },
            seeds: (0..seeds).map(|place| common.seed.wrapping_add(place)).collect(),
            tuning_seed: common.seed.wrapping_add(1000),
            seconds: if common.quick { [1, 2, 4] } else { [5, 10, 60] },
        }
    }

    fn profile(&self, profile: Profile) -> Profile {
        if self.scale < 1.0 { profile.scaled(self.scale) } else { profile }
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

/// The selected methods; `--only` selects by name.
fn methods(common: &Common) -> Result<Vec<Method>, crate::ExperimentError> {
    common.rows_by_name(&Method::ALL, |method| method.name())
}

/// The note below all tables.
pub(crate) const GENERATED: &str = "The traces are generated, with as many packets and flows a second as the thesis says of its captures, \
which cannot be had here; so its figures and these are not of the same packets. All detectors of a row see the same packets.";
/// The note on competitors.
const COMPETITORS: &str = "Each detector is tuned for each memory by the same search, on a trace of another seed: the table of the search is \
below. Competitors count in disjoint seconds, in the densest coding their papers allow.";
