//! Seven PDR tables by direction and interface: RED + SPT, with CAD, and with simple PDRs by index.

mod direct;
mod pdrs;
mod templates;

use super::common_tables::{self, Before};
use super::{Population, Profile, Program, accounting};
use crate::error::PlanError;
use crate::pipeline::Pipeline;
use pdrs::Names;

pub(super) fn build(program: &Program, population: &Population) -> Result<Pipeline, PlanError> {
    let mut pipeline = Pipeline::default();
    let sizes = Sizes::of(population);
    common_tables::echo(&mut pipeline)?;
    let names = pdrs::add(&mut pipeline, program, &sizes)?;
    let pdr = Names::both(&names);
    let action = match program.profile {
        Profile::RedSpt => templates::headers(&mut pipeline, &pdr)?,
        _ => templates::add(&mut pipeline, &names)?,
    };
    let before = Before { pdr: &pdr, action: &action, meter: &pdr };
    common_tables::enforcement(&mut pipeline, sizes.all(), &before)?;
    accounting::add(&mut pipeline, program, sizes.all(), &pdr)?;
    common_tables::delivery(&mut pipeline, &before)?;
    Ok(pipeline)
}

/// Entries of the seven tables.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Simple UEs of N6, in each direction.
    n6_simple: u32,
    /// N9 UEs, uplink.
    n9_simple: u32,
    /// Complex PDRs of each of the three tables: half of the complex UEs send to N6, half to N9.
    complex: u32,
}

impl Sizes {
    const fn of(population: &Population) -> Self {
        Self {
            n6_simple: population.simple - population.n9,
            n9_simple: population.n9,
            complex: population.complex / 2,
        }
    }

    /// Downlink tunnels of N9: the same UEs as uplink.
    const fn dl_n9(&self) -> u32 {
        self.n9_simple + self.complex
    }

    /// All PDRs.
    const fn all(&self) -> u32 {
        self.n6_simple * 2 + self.n9_simple + self.dl_n9() + self.complex * 3
    }
}
