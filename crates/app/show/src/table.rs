//! Rows under headings, as aligned text, as HTML and as JSON.

use std::fmt;

use maud::{Markup, Render, html};
use serde::Serialize;

use crate::Cell;

/// A column of a [`Table`].
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

/// Rows under heads.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Table {
    /// What the rows hold.
    pub columns: Vec<Column>,
    /// As many cells each as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Without rows.
    pub const fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row: a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<_> = cells.into_iter().collect();
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// The column has numbers only.
    fn is_number(&self, column: usize) -> bool {
        self.rows.iter().filter_map(|row| row.get(column)).all(Cell::is_number)
    }
}

/// Aligned: heads, units if there are any, rows. Numbers end in the same column, words begin there.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads: Vec<_> = self.columns.iter().map(|column| column.name.clone()).collect();
        let units: Vec<_> = self.columns.iter().map(|column| column.unit.clone()).collect();
        let rows: Vec<Vec<_>> =
            self.rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect();
        let lines = || [&heads, &units].into_iter().chain(&rows);
        let cell_width =
            |line: &Vec<String>, column: usize| line.get(column).map_or(0, |cell| cell.chars().count());
        let widths: Vec<_> = (0..heads.len())
            .map(|column| lines().map(|line| cell_width(line, column)).max().unwrap_or(0))
            .collect();
        let is_number: Vec<_> = (0..heads.len()).map(|column| self.is_number(column)).collect();
        for line in lines().filter(|line| line.iter().any(|cell| !cell.is_empty())) {
            let mut text = String::from(" ");
            for ((cell, width), number) in line.iter().zip(&widths).zip(&is_number) {
                text.push(' ');
                text += &if *number { format!("{cell:>width$} ") } else { format!("{cell:width$} ") };
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

/// As a table of a page.
impl Render for Table {
    fn render(&self) -> Markup {
        let class = |column: usize| if self.is_number(column) { "number" } else { "words" };
        html! {
            table {
                tr {
                    @for (at, column) in self.columns.iter().enumerate() {
                        th class=(class(at)) {
                            (column.name)
                            @if !column.unit.is_empty() { br; (column.unit) }
                        }
                    }
                }
                @for row in &self.rows {
                    tr { @for (at, cell) in row.iter().enumerate() { td class=(class(at)) { (cell.to_string()) } } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a text and a number column with a unit, and a missing value.
    // Output: heads, units and rows stand under each other; numbers end, words begin in the same column; the page has them too.
    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(vec![Column::new("engine"), Column::of("cost", "ns")]);
        table.row(["fast".into(), Cell::nanos(21.04)]);
        table.row(["reference".into(), Cell::nanos(1210.96)]);
        table.row(["none".into(), Cell::Missing]);
        let expected = "  engine       cost\n                 ns\n  fast         21.0\n  reference  1211.0\n  none            -\n";
        assert_eq!(table.to_string(), expected);
        assert!(table.render().into_string().contains("<td class=\"number\">1211.0</td>"));
    }
}
