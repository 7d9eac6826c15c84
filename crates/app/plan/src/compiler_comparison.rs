//! The accuracy of the planner, compared with compilers.

use std::fmt;

use serde::Serialize;

use crate::architecture::Architecture;
use crate::draw::with_thousands_separators;
use crate::error::PlanError;
use crate::outcomes::{Outcome, SWEEPS, Sweep, UeOutcome, all, ue_outcomes};
use crate::profiles::{Population, Profile, Program};
use crate::search::largest;

/// Comparison of the planner with compilers.
#[derive(Clone, Debug, Serialize)]
pub struct Accuracy {
    /// Largest populations.
    pub capacities: Vec<Comparison>,
    /// Single outcomes of the paper's baseline.
    pub sweeps: Vec<SweepComparison>,
}

/// One capacity.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The program.
    pub name: &'static str,
    /// The source of the compiler's figure.
    pub source: &'static str,
    /// Complex UEs to simple ones; `-` where there are no such.
    pub ratio: String,
    /// The largest population that the compiler is known to fit.
    pub compiled: u32,
    /// The next larger population of the compiler's search: the true limit is below it. `None` if there is none.
    pub below: Option<u32>,
    /// The planner's capacity.
    pub planned: u32,
    /// Deviation of the capacity, as a fraction above (or below, if negative) the nearest number that the compiler's
    /// result leaves possible.
    pub deviation: f64,
}

/// One sweep.
#[derive(Clone, Debug, Serialize)]
pub struct SweepComparison {
    /// Complex UEs to simple ones.
    pub ratio: String,
    /// Outcomes.
    pub outcomes: u32,
    /// Those that the planner predicts correctly.
    pub right: u32,
}

impl Accuracy {
    /// Plans all programs with known results. `at` is called with the name of each.
    ///
    /// # Errors
    /// [`PlanError`] when a program cannot be built.
    pub fn measure(mut at: impl FnMut(&str)) -> Result<Self, PlanError> {
        let mut capacities = Vec::new();
        for outcome in all() {
            at(&format!("{} at {}", outcome.name, outcome.ratio));
            capacities.push(compare(&outcome)?);
        }
        for outcome in ue_outcomes() {
            at(outcome.name);
            capacities.push(compare_ues(&outcome)?);
        }
        let sweeps = SWEEPS.iter().map(sides).collect::<Result<_, _>>()?;
        Ok(Self { capacities, sweeps })
    }

    /// The number of correct predictions of sweeps, and of all.
    pub fn correct(&self) -> (u32, u32) {
        let right = self.sweeps.iter().map(|sides| sides.right).sum();
        (right, self.sweeps.iter().map(|sides| sides.outcomes).sum())
    }
}

/// The capacity in UEs by the planner.
fn planned(program: &Program, ratio: crate::profiles::Ratio) -> Result<Population, PlanError> {
    let none = Population { simple: 0, complex: 0, n9: 0 };
    let fit = largest(&Architecture::TOFINO1, program, ratio, Population::N9)?;
    Ok(fit.map_or(none, |fit| fit.population))
}

fn compare(outcome: &Outcome) -> Result<Comparison, PlanError> {
    let at = |steps: u32| Population::at(outcome.ratio, steps * Population::STEP, Population::N9).ues();
    let compiled = at(outcome.steps);
    let planned = planned(&outcome.program, outcome.ratio)?.ues();
    let most = outcome.search.map_or(u32::MAX, |search| at(outcome.steps + search - 1));
    let nearest = planned.clamp(compiled, most);
    let deviation = (f64::from(planned) / f64::from(nearest) - 1.0) * 100.0;
    Ok(Comparison {
        name: outcome.name,
        source: outcome.source,
        ratio: outcome.ratio.to_string(),
        compiled,
        below: outcome.search.map(|search| at(outcome.steps + search)),
        planned,
        deviation,
    })
}

/// The same for tables of UEs and gNBs.
fn compare_ues(outcome: &UeOutcome) -> Result<Comparison, PlanError> {
    let planned = outcome.table.largest(&Architecture::TOFINO1)?;
    let nearest = planned.clamp(outcome.fits, outcome.below.map_or(u32::MAX, |below| below - 1));
    Ok(Comparison {
        name: outcome.name,
        source: UE_SOURCE,
        ratio: "-".to_owned(),
        compiled: outcome.fits,
        below: outcome.below,
        planned,
        deviation: (f64::from(planned) / f64::from(nearest) - 1.0) * 100.0,
    })
}

/// Where compiled tables of UEs and gNBs are.
const UE_SOURCE: &str = "docs/capacity.csv, p4c 9.13.4";

fn sides(sweep: &Sweep) -> Result<SweepComparison, PlanError> {
    let limit = planned(&Program::of(Profile::Baseline), sweep.ratio)?.simple / Population::STEP;
    let outcomes = sweep.fit + sweep.failed;
    let right = (0..outcomes).filter(|number| (*number < sweep.fit) == (sweep.first + number <= limit));
    Ok(SweepComparison { ratio: sweep.ratio.to_string(), outcomes, right: right.count() as u32 })
}

/// The meaning of the columns.
const LEGEND: &str = "\
compiled  UEs of the largest population that the compiler fitted; \"+\": no larger one was compiled, so there may be one that fits
planned   UEs of the largest population that the planner fits
off       planned compared with the compiler's limit, which is compiled or more, and below the next population that did not fit:
          0 % within these, else the distance to the nearer one, as a part of it

Outcomes of the paper's compilations of its baseline (it fits, or it does not) that the planner predicts:";

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:27} {:6} {:>9} {:>9} {:>8}  source of the compiler's figure",
            "program", "ratio", "compiled", "planned", "off"
        )?;
        for row in &self.capacities {
            // The capacity may be higher where no larger population is known not to fit.
            let more = if row.below.is_none() { "+" } else { "" };
            let (compiled, planned) = (
                format!("{}{more}", with_thousands_separators(row.compiled)),
                with_thousands_separators(row.planned),
            );
            writeln!(
                f,
                "{:27} {:6} {compiled:>9} {planned:>9} {:>+6.1} %  {}",
                row.name, row.ratio, row.deviation, row.source
            )?;
        }
        writeln!(f, "\n{LEGEND}")?;
        for row in &self.sweeps {
            writeln!(f, "  {:6} {} of {}", row.ratio, row.right, row.outcomes)?;
        }
        let (right, outcomes) = self.correct();
        write!(f, "  all    {right} of {outcomes}, {:.1} %", f64::from(right) * 100.0 / f64::from(outcomes))
    }
}
