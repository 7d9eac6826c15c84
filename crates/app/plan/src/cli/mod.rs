//! The command line of the planner.

mod arguments;
mod query;

use std::io::Write;
use std::path::Path;

use causeway_show::Progress;
use serde::Serialize;

use crate::compiler_comparison::Accuracy;
use crate::draw::{map, svg, why};
use crate::error::PlanError;
use crate::profiles::{Population, Program};
use crate::report::Report;
pub use arguments::Arguments;
use arguments::Command;
use query::Answer;

/// Runs the command line, with output to `out` and files. Returns whether the requested program fits.
///
/// # Errors
/// [`PlanError`] when an argument is invalid, or the output cannot be written.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<bool, PlanError> {
    match arguments.command {
        Some(Command::Accuracy) => accuracy(arguments, out),
        None => plan(arguments, out),
    }
}

fn accuracy(arguments: &Arguments, out: &mut dyn Write) -> Result<bool, PlanError> {
    let mut progress = Progress::new();
    let accuracy = Accuracy::measure(|what| progress.stage(format!("planning {what}")))?;
    drop(progress);
    writeln!(out, "{accuracy}").map_err(PlanError::io("write to standard output"))?;
    if let Some(path) = &arguments.json {
        save(path, &serde_json::to_string_pretty(&accuracy)?)?;
    }
    Ok(true)
}

/// The content of the JSON file.
#[derive(Serialize)]
struct Document<'a> {
    program: &'a Program,
    population: Population,
    #[serde(flatten)]
    report: &'a Report,
}

fn plan(arguments: &Arguments, out: &mut dyn Write) -> Result<bool, PlanError> {
    let program = arguments.program();
    let Answer { title, verdict, population, report } = query::answer(arguments, &program)?;
    let mut text = format!("{title}\n{verdict}\n\n{}", map(&report));
    if arguments.why {
        text.push('\n');
        text.push_str(&why(&report));
    }
    out.write_all(text.as_bytes()).map_err(PlanError::io("write to standard output"))?;
    if let Some(path) = &arguments.svg {
        save(path, &svg(&report, &title))?;
    }
    if let Some(path) = &arguments.json {
        save(
            path,
            &serde_json::to_string_pretty(&Document { program: &program, population, report: &report })?,
        )?;
    }
    Ok(report.fits)
}

fn save(path: &Path, text: &str) -> Result<(), PlanError> {
    std::fs::write(path, text).map_err(PlanError::io(format!("write {}", path.display())))
}
