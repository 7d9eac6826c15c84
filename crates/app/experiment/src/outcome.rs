//! What an experiment found out, for people and machines.

use std::fmt;
use std::path::Path;

use causeway_show::{Chart, Table};
use serde::Serialize;

use crate::ExperimentError;

/// What one experiment found out.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// As on the command line.
    pub name: &'static str,
    /// What it is about.
    pub title: String,
    /// Under which conditions: what, and how it is.
    pub conditions: Vec<(&'static str, String)>,
    /// What was found, with the paper's figures.
    pub table: Table,
    /// Figures that are to be reached.
    pub goals: Vec<Goal>,
    /// What a reader must know to read the table right.
    pub notes: Vec<String>,
    /// Pictures, each with the end of its file's name.
    #[serde(skip)]
    pub charts: Vec<(&'static str, Chart)>,
}

/// A figure that is to be reached.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Goal {
    /// Which, and how far.
    pub goal: String,
    /// What was found.
    pub found: String,
    /// It is reached.
    pub is_reached: bool,
}

impl Goal {
    /// At most so much is wanted.
    pub fn at_most(goal: &str, limit: f64, found: f64, unit: &str) -> Self {
        let goal = format!("{goal}: at most {limit} {unit}");
        Self { goal, found: format!("{} {unit}", short(found)), is_reached: found <= limit }
    }

    /// At least so much is wanted.
    pub fn at_least(goal: &str, limit: f64, found: f64, unit: &str) -> Self {
        let goal = format!("{goal}: at least {limit} {unit}");
        Self { goal, found: format!("{} {unit}", short(found)), is_reached: found >= limit }
    }
}

/// Three digits that mean something.
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
        self.notes.iter().try_for_each(|note| writeln!(f, "\n  {note}"))
    }
}

impl Outcome {
    /// Writes `NAME.json` and a picture for each chart. The folder is made.
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
