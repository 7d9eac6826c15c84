//! Search for the capacity in UEs.

use crate::architecture::Architecture;
use crate::error::PlanError;
use crate::pack::layouts;
use crate::pipeline::Pipeline;
use crate::place::{Placement, place_within};
use crate::profiles::{Population, Program, Ratio};

/// The most steps of simple UEs (four millions), more than any pipeline holds.
const MOST_STEPS: u32 = 4096;

/// A population that fits, and its placement.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The UEs.
    pub population: Population,
    /// The tables.
    pub pipeline: Pipeline,
    /// The placement.
    pub placement: Placement,
}

/// Finds the largest population at a ratio, in the steps of the paper; `None` if not even one step fits.
///
/// Tables that are spread over stages may leave gaps that a slightly larger population does not, so the search goes
/// downwards: all populations below the result fit too, in the same places.
///
/// # Errors
/// [`PlanError`] when the program has no such tables.
pub fn largest(
    arch: &Architecture,
    program: &Program,
    ratio: Ratio,
    n9: u32,
) -> Result<Option<Fit>, PlanError> {
    let lowest = n9 / Population::STEP + 1;
    for step in (lowest..=highest(arch, program, ratio, n9)?).rev() {
        let population = Population::at(ratio, step * Population::STEP, n9);
        if let Some(fit) = attempt(arch, program, population)? {
            return Ok(Some(fit));
        }
    }
    Ok(None)
}

/// Places the tables for a population, or for the next larger population at the same ratio that fits; `None` if there
/// is none.
///
/// # Errors
/// As [`largest`].
pub fn fits(
    arch: &Architecture,
    program: &Program,
    population: Population,
    ratio: Ratio,
) -> Result<Option<Fit>, PlanError> {
    if let Some(fit) = attempt(arch, program, population)? {
        return Ok(Some(fit));
    }
    let next = population.simple / Population::STEP + 1;
    for step in next..=highest(arch, program, ratio, population.n9)? {
        let larger = Population::at(ratio, step * Population::STEP, population.n9);
        if larger.complex >= population.complex
            && let Some(fit) = attempt(arch, program, larger)?
        {
            return Ok(Some(fit));
        }
    }
    Ok(None)
}

fn attempt(arch: &Architecture, program: &Program, population: Population) -> Result<Option<Fit>, PlanError> {
    let pipeline = program.pipeline(&population)?;
    let placed = place_within(arch, &pipeline);
    Ok(placed.map(|placement| Fit { population, pipeline, placement }))
}

/// The last step whose tables, in any packing, do not need more blocks than the whole pipeline has.
fn highest(arch: &Architecture, program: &Program, ratio: Ratio, n9: u32) -> Result<u32, PlanError> {
    let (mut low, mut high) = (n9 / Population::STEP, MOST_STEPS);
    while low + 1 < high {
        let middle = low.midpoint(high);
        let pipeline = program.pipeline(&Population::at(ratio, middle * Population::STEP, n9))?;
        if is_conceivable(arch, &pipeline) { low = middle } else { high = middle }
    }
    Ok(low)
}

/// Whether the blocks of all stages together suffice.
fn is_conceivable(arch: &Architecture, pipeline: &Pipeline) -> bool {
    let stages = arch.stages as u64;
    let (mut srams, mut tcams, mut maps) = (0, 0, 0);
    for table in pipeline.tables() {
        let demands =
            layouts(arch, table).into_iter().map(|layout| layout.demand(arch, table, table.entries));
        if let Some(least) = demands.min_by_key(|demand| demand.srams()) {
            srams += u64::from(least.srams());
            tcams += u64::from(least.tcams);
            maps += u64::from(least.map_rams());
        }
    }
    srams <= stages * u64::from(arch.srams())
        && tcams <= stages * u64::from(arch.tcams)
        && maps <= stages * u64::from(arch.map_rams())
}
