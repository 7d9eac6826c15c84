//! Queries, and their results as text.

use super::arguments::Arguments;
use crate::architecture::Architecture;
use crate::draw::with_thousands_separators;
use crate::error::PlanError;
use crate::pipeline::Pipeline;
use crate::place::{Placement, TooLarge, place};
use crate::profiles::{Population, Program, Ratio};
use crate::report::Report;
use crate::search::{self, Fit};

/// The most tables that a result names.
const MAX_NAMED_TABLES: usize = 8;
/// The most UEs of a query, several times the capacity of any pipeline.
const MAX_UES: u32 = 1_000_000;

/// A result.
pub(super) struct Answer {
    /// The query.
    pub(super) title: String,
    /// The verdict.
    pub(super) verdict: String,
    /// The UEs.
    pub(super) population: Population,
    /// The placement of the tables.
    pub(super) report: Report,
}

pub(super) fn answer(arguments: &Arguments, program: &Program) -> Result<Answer, PlanError> {
    let arch = arguments.target.architecture();
    let whose = if program.own { "own " } else { "" };
    let title = format!("{whose}{} on {} at {}", program.profile, arch.name, arguments.ratio);
    if !arguments.sizes.is_empty() {
        return sizes(arguments, program, title);
    }
    match arguments.ues {
        Some(ues) => ask_ues(arguments, program, title, ues),
        None => ask_largest(arguments, program, title),
    }
}

fn ask_largest(arguments: &Arguments, program: &Program, title: String) -> Result<Answer, PlanError> {
    let arch = arguments.target.architecture();
    let Some(Fit { population, pipeline, placement }) =
        search::largest(arch, program, arguments.ratio, arguments.n9)?
    else {
        let population = Population::at(arguments.ratio, arguments.n9 + Population::STEP, arguments.n9);
        let pipeline = program.pipeline(&population)?;
        let placement = placed(arch, &pipeline)?;
        return Ok(said(
            arch,
            title,
            "not even one step of UEs fits".to_owned(),
            population,
            &pipeline,
            &placement,
        ));
    };
    let verdict = format!("largest: {}", said_of(&population));
    Ok(said(arch, title, verdict, population, &pipeline, &placement))
}

fn ask_ues(arguments: &Arguments, program: &Program, title: String, ues: u32) -> Result<Answer, PlanError> {
    let arch = arguments.target.architecture();
    let population = divide(arguments.ratio, ues, arguments.n9)?;
    if let Some(Fit { pipeline, placement, .. }) = search::fits(arch, program, population, arguments.ratio)? {
        let verdict = format!("fit: {}", said_of(&population));
        return Ok(said(arch, title, verdict, population, &pipeline, &placement));
    }
    let pipeline = program.pipeline(&population)?;
    let placement = placed(arch, &pipeline)?;
    let verdict = format!("do not fit: {}; {}", said_of(&population), missing(arch, &pipeline, &placement));
    Ok(said(arch, title, verdict, population, &pipeline, &placement))
}

fn sizes(arguments: &Arguments, program: &Program, title: String) -> Result<Answer, PlanError> {
    let arch = arguments.target.architecture();
    let population = match arguments.ues {
        Some(ues) => divide(arguments.ratio, ues, arguments.n9)?,
        None => search::largest(arch, program, arguments.ratio, arguments.n9)?
            .map_or(Population::at(arguments.ratio, arguments.n9 + Population::STEP, arguments.n9), |f| {
                f.population
            }),
    };
    let mut pipeline = program.pipeline(&population)?;
    for size in &arguments.sizes {
        pipeline.resize(&size.table, size.entries)?;
    }
    let placement = placed(arch, &pipeline)?;
    let verdict = match placement.fits(arch) {
        true => format!("these sizes fit, with the other tables of {}", said_of(&population)),
        false => format!("these sizes do not fit: {}", missing(arch, &pipeline, &placement)),
    };
    Ok(said(arch, title, verdict, population, &pipeline, &placement))
}

fn placed(arch: &Architecture, pipeline: &Pipeline) -> Result<Placement, PlanError> {
    place(arch, pipeline).map_err(|TooLarge { table, shortage }| PlanError::Illegal {
        table: pipeline.tables()[table].name.clone(),
        why: format!(
            "it cannot be spread over stages, and needs {} {}, where an empty stage has {}",
            shortage.needed, shortage.resource, shortage.available
        ),
    })
}

/// The UEs of each kind.
fn divide(ratio: Ratio, ues: u32, n9: u32) -> Result<Population, PlanError> {
    let (complex, simple) = (u64::from(ratio.complex), u64::from(ratio.simple));
    let share = (u64::from(ues) * simple).div_ceil(complex + simple);
    let simple = u32::try_from(share).unwrap_or(u32::MAX);
    if simple <= n9 || ues > MAX_UES {
        let allowed = format!(
            "more than {} at {ratio}, and not above {}",
            with_thousands_separators(n9),
            with_thousands_separators(MAX_UES)
        );
        return Err(PlanError::Argument { what: "--ues", given: ues.to_string(), allowed });
    }
    Ok(Population { simple, complex: ues - simple, n9 })
}

/// The tables that do not fit.
fn missing(arch: &Architecture, pipeline: &Pipeline, placement: &Placement) -> String {
    let mut tables: Vec<(usize, u32)> = Vec::new();
    for part in placement.parts.iter().filter(|part| part.stage >= arch.stages) {
        match tables.iter_mut().find(|(table, _)| *table == part.table) {
            Some((_, entries)) => *entries += part.entries,
            None => tables.push((part.table, part.entries)),
        }
    }
    let name = |(table, entries): &(usize, u32)| {
        let table = &pipeline.tables()[*table];
        format!(
            "{} ({} of {} entries)",
            table.name,
            with_thousands_separators(*entries),
            with_thousands_separators(table.entries)
        )
    };
    let mut names: Vec<_> = tables.iter().take(MAX_NAMED_TABLES).map(name).collect();
    if tables.len() > MAX_NAMED_TABLES {
        names.push(format!("and {} more", tables.len() - MAX_NAMED_TABLES));
    }
    let (needed, there) = (placement.stages.len(), arch.stages);
    format!("{needed} stages are needed and {there} there; without a place: {}", names.join(", "))
}

fn said_of(population: &Population) -> String {
    let Population { simple, complex, n9 } = *population;
    let [all, simple, complex, n9] = [population.ues(), simple, complex, n9].map(with_thousands_separators);
    format!("{all} UEs, {simple} simple ({n9} of them N9) and {complex} complex")
}

fn said(
    arch: &Architecture,
    title: String,
    verdict: String,
    population: Population,
    pipeline: &Pipeline,
    placement: &Placement,
) -> Answer {
    Answer { title, verdict, population, report: Report::new(arch, pipeline, placement) }
}
