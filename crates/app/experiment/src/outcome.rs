//! Results of an experiment, as text and as data.

use std::fmt;
use std::path::Path;

use causeway_show::{Figure, Table};
use serde::Serialize;

use crate::ExperimentError;

/// The result of one experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// As on the command line.
    pub name: &'static str,
    /// Its subject.
    pub title: String,
    /// The conditions, each with its description.
    pub conditions: Vec<(&'static str, String)>,
    /// The results, with the paper's figures.
    pub table: Table,
    /// The goals.
    pub goals: Vec<Goal>,
    /// Notes for the interpretation of the table.
    pub notes: Vec<String>,
    /// More tables, each with its subject.
    pub details: Vec<(String, Table)>,
    /// Charts, each with the suffix of its file name.
    #[serde(skip)]
    pub charts: Vec<(&'static str, Figure)>,
}

/// A target figure.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Goal {
    /// The figure and its limit.
    pub goal: String,
    /// The result.
    pub found: String,
    /// Whether it is reached.
    pub is_reached: bool,
}

impl Goal {
    /// A goal with an upper limit.
    pub fn at_most(goal: &str, limit: f64, found: f64, unit: &str) -> Self {
        let goal = format!("{goal}: at most {}", with_unit(&limit.to_string(), unit));
        Self { goal, found: with_unit(&short(found), unit), is_reached: found <= limit }
    }

    /// A goal with a lower limit.
    pub fn at_least(goal: &str, limit: f64, found: f64, unit: &str) -> Self {
        let goal = format!("{goal}: at least {}", with_unit(&limit.to_string(), unit));
        Self { goal, found: with_unit(&short(found), unit), is_reached: found >= limit }
    }
}

/// A number with its unit, if it has one.
fn with_unit(number: &str, unit: &str) -> String {
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

/// Three significant digits.
fn short(value: f64) -> String {
    let digits = if value.abs() >= 100.0 {
        0
    } else if value.abs() >= 1.0 {
        2
    } else {
        3
    };
    format!("{value:.digits$}")
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.title)?;
        let width = self.conditions.iter().map(|(what, _)| what.len()).max().unwrap_or(0);
        for (what, how) in &self.conditions {
            writeln!(f, "  {what:width$}  {how}")?;
        }
        write!(f, "\n{}", self.table)?;
        for Goal { goal, found, is_reached } in &self.goals {
            writeln!(
                f,
                "\n  {}: {goal}; found {found}",
                if *is_reached { "reached" } else { "NOT reached" }
            )?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "\n  {note}"))?;
        self.details.iter().try_for_each(|(subject, table)| writeln!(f, "\n  {subject}\n\n{table}"))
    }
}

impl Outcome {
    /// Writes `NAME.json` and a file for each chart, and creates the folder.
    ///
    /// # Errors
    /// [`ExperimentError::Io`].
    pub fn write(&self, folder: &Path) -> Result<(), ExperimentError> {
        std::fs::create_dir_all(folder).map_err(ExperimentError::io(format!("make {}", folder.display())))?;
        let mut json = serde_json::to_string_pretty(self)?;
        json.push('\n');
        save(&folder.join(format!("{}.json", self.name)), &json)?;
        for (end, chart) in &self.charts {
            save(&folder.join(format!("{}-{end}.svg", self.name)), &chart.svg())?;
        }
        Ok(())
    }
}

/// Writes a file.
///
/// # Errors
/// [`ExperimentError::Io`].
pub(crate) fn save(path: &Path, text: &str) -> Result<(), ExperimentError> {
    std::fs::write(path, text).map_err(ExperimentError::io(format!("write {}", path.display())))
}
