//! What a benchmark found out: rows under conditions, as a table for people and as JSON for machines.

mod cell;
mod conditions;
mod json;
mod table;

use std::fmt;

use serde::Serialize;

pub use cell::Cell;
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
    /// What the rows hold.
    pub columns: Vec<Column>,
    /// As many cells each as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// What a reader must know to read the rows right: inaccuracies, and what was left out and why.
    pub notes: Vec<String>,
}

/// A column of a [`Report`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Column {
    /// Its head.
    pub name: String,
    /// The unit of its numbers; empty for text and plain counts.
    pub unit: String,
}

impl Column {
    /// Of text or plain counts.
    pub fn new(name: &str) -> Self {
        Self::of(name, "")
    }

    /// Of numbers in this unit.
    pub fn of(name: &str, unit: &str) -> Self {
        Self { name: name.into(), unit: unit.into() }
    }
}

impl Report {
    /// Without rows.
    pub fn new(name: &str, title: &str, conditions: Conditions, columns: Vec<Column>) -> Self {
        let (name, title) = (name.into(), title.into());
        Self { name, title, conditions, columns, rows: Vec::new(), notes: Vec::new() }
    }

    /// Adds a row: a cell for each column.
    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        debug_assert_eq!(N, self.columns.len(), "{}", self.title);
        self.rows.push(cells.into());
    }

    /// Adds a note.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
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
