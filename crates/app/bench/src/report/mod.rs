//! The result of a benchmark: rows with their conditions, as a text table and as JSON.

mod conditions;
mod json;
mod table;

use std::fmt;

use causeway_show::Table;
use serde::Serialize;

pub use causeway_show::{Cell, Column};
pub use conditions::{Conditions, IoCost};
pub use json::write_json;

/// The result of one benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The benchmark, as the command line names it.
    pub name: String,
    /// What the rows are about.
    pub title: String,
    /// Under which conditions, those that are the same for all rows.
    pub conditions: Conditions,
    /// The rows.
    #[serde(flatten)]
    pub table: Table,
    /// What a reader must know to read the rows right: inaccuracies, and what was left out and why.
    pub notes: Vec<String>,
}

impl Report {
    /// Without rows.
    pub fn new(name: &str, title: &str, conditions: Conditions, columns: Vec<Column>) -> Self {
        let (name, title) = (name.into(), title.into());
        Self { name, title, conditions, table: Table::new(columns), notes: Vec::new() }
    }

    /// Adds a row: a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.table.row(cells);
    }

    /// Adds a note, unless it is there already.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds a note on something that was left out.
    pub fn skip(&mut self, what: impl fmt::Display, why: impl fmt::Display) {
        self.note(format!("SKIPPED {what}: {why}"));
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        table::write(self, f)
    }
}
