//! The hybrid UPF in simulated time: which share of a generated trace a switch in front of software forwards, by how its
//! rules are placed.

pub mod share;
mod simulation;
pub mod thesis;

use crate::cli::Common;
use crate::heavy::trace::Profile;

/// The size of an experiment.
#[derive(Clone, Debug)]
struct Size {
    scale: f64,
    seeds: Vec<u64>,
    seconds: u32,
}

impl Size {
    /// Three seeds and twenty seconds; or two seeds and six seconds with a twentieth of the flows.
    fn of(common: &Common) -> Self {
        let seeds = if common.quick { 2 } else { 3 };
        Self {
            scale: if common.quick { 0.05 } else { 1.0 },
            seeds: (0..seeds).map(|place| common.seed.wrapping_add(place)).collect(),
            seconds: if common.quick { 6 } else { 20 },
        }
    }

    fn profile(&self) -> Profile {
        if self.scale < 1.0 { Profile::BACKBONE.scaled(self.scale) } else { Profile::BACKBONE }
    }

    fn in_words(&self) -> String {
        let flows = if self.scale < 1.0 { "a twentieth of the flows" } else { "all flows" };
        format!("backbone (like CAIDA16), half of the flows bursty, {flows}, {} s", self.seconds)
    }

    fn seeds_in_words(&self) -> String {
        self.seeds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}
