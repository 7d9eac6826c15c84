//! Tables of comma-separated values, with the place of each error.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::TrainingError;

/// A table with a head. Fields have no quotes.
#[derive(Clone, Debug)]
pub(crate) struct Csv<'a> {
    file: PathBuf,
    head: Vec<&'a str>,
    /// Lines with their numbers.
    lines: Vec<(usize, Vec<&'a str>)>,
}

/// A line of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    csv: &'a Csv<'a>,
    pub(crate) line: usize,
    fields: &'a [&'a str],
}

impl<'a> Csv<'a> {
    /// Splits a text. Every line must have as many fields as the head; empty lines are left out.
    pub(crate) fn parse(file: &Path, text: &'a str) -> Result<Self, TrainingError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().enumerate().map(|(place, line)| (place + 1, line));
        let mut filled = lines.by_ref().filter(|(_, line)| !line.trim().is_empty());
        let (_, first) = filled.next().ok_or_else(|| TrainingError::form(file, "the table is empty"))?;
        let split = |line: &'a str| -> Vec<&'a str> { line.split(',').map(str::trim).collect() };
        let head = split(first);
        let mut records = Vec::new();
        for (number, line) in filled {
            if line.contains('"') {
                return Err(TrainingError::line(file, number, "fields in quotes are not read"));
            }
            let fields = split(line);
            if fields.len() != head.len() {
                let problem = format!("{} fields, but {} columns", fields.len(), head.len());
                return Err(TrainingError::line(file, number, problem));
            }
            records.push((number, fields));
        }
        Ok(Self { file: file.into(), head, lines: records })
    }

    /// Whether all of these columns are there.
    pub(crate) fn has(&self, columns: &[&str]) -> bool {
        columns.iter().all(|column| self.head.contains(column))
    }

    /// The names of the columns.
    pub(crate) fn head(&self) -> &[&'a str] {
        &self.head
    }

    pub(crate) fn records(&'a self) -> impl Iterator<Item = Record<'a>> {
        self.lines.iter().map(|(line, fields)| Record { csv: self, line: *line, fields })
    }
}

impl Record<'_> {
    /// The text in a column.
    pub(crate) fn text(&self, column: &str) -> Result<&str, TrainingError> {
        let place = self.csv.head.iter().position(|known| *known == column);
        let field = place.and_then(|place| self.fields.get(place)).copied();
        field.ok_or_else(|| self.wrong(column, "there is no such column"))
    }

    /// The value in a column.
    pub(crate) fn value<T: FromStr>(&self, column: &str) -> Result<T, TrainingError>
    where
        T::Err: Display,
    {
        let text = self.text(column)?;
        text.parse().map_err(|error| self.wrong(column, format!("{text:?}: {error}")))
    }

    /// A number of at least zero.
    pub(crate) fn number(&self, column: &str) -> Result<f64, TrainingError> {
        let number: f64 = self.value(column)?;
        if number.is_finite() && number >= 0.0 {
            Ok(number)
        } else {
            Err(self.wrong(column, format!("{number}: a number of zero or more is expected")))
        }
    }

    /// An error in a column.
    pub(crate) fn wrong(&self, column: &str, problem: impl Into<String>) -> TrainingError {
        TrainingError::Cell {
            file: self.csv.file.clone(),
            line: self.line,
            column: column.into(),
            problem: problem.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a table with a byte order mark and an empty line; one with a short line, with quotes, with a wrong number, and none.
    // Output: its values; errors with line and column.
    #[test]
    fn errors_name_their_place() {
        let file = Path::new("t.csv");
        let table = Csv::parse(file, "\u{feff}a,b\n1, x\n\n-1,y\n").unwrap();
        assert!(table.has(&["a", "b"]) && !table.has(&["c"]));
        let records: Vec<_> = table.records().collect();
        assert_eq!((records[0].number("a").unwrap(), records[0].text("b").unwrap()), (1.0, "x"));
        let says = |error: TrainingError| error.to_string();
        assert!(says(records[1].number("a").unwrap_err()).starts_with("t.csv: line 4, column a: -1"));
        assert!(says(records[1].number("b").unwrap_err()).starts_with("t.csv: line 4, column b: \"y\""));
        assert!(says(records[1].number("c").unwrap_err()).contains("no such column"));
        assert_eq!(says(Csv::parse(file, "a,b\n1\n").unwrap_err()), "t.csv: line 2: 1 fields, but 2 columns");
        assert!(says(Csv::parse(file, "a,b\n1,\"2\"\n").unwrap_err()).contains("quotes"));
        assert!(says(Csv::parse(file, "\n").unwrap_err()).contains("empty"));
    }
}
