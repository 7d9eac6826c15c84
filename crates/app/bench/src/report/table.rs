//! Reports for people.

use std::fmt;

use super::{Cell, Report};

/// Title, conditions, an aligned table, notes.
pub(super) fn write(report: &Report, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{}\n", report.title)?;
    let conditions = report.conditions.lines();
    let width = conditions.iter().map(|(what, _)| what.chars().count()).max().unwrap_or(0);
    for (what, how) in &conditions {
        writeln!(f, "  {what:width$}  {how}")?;
    }
    writeln!(f)?;
    write_rows(report, f)?;
    for note in &report.notes {
        writeln!(f, "\n  {note}")?;
    }
    Ok(())
}

fn write_rows(report: &Report, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let heads: Vec<_> = report.columns.iter().map(|column| column.name.clone()).collect();
    let units: Vec<_> = report.columns.iter().map(|column| column.unit.clone()).collect();
    let rows: Vec<Vec<_>> =
        report.rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect();
    let lines = || [&heads, &units].into_iter().chain(&rows);
    let cell_width =
        |line: &Vec<String>, column: usize| line.get(column).map_or(0, |cell| cell.chars().count());
    let widths: Vec<_> = (0..heads.len())
        .map(|column| lines().map(|line| cell_width(line, column)).max().unwrap_or(0))
        .collect();
    let is_number: Vec<_> = (0..heads.len())
        .map(|column| report.rows.iter().filter_map(|row| row.get(column)).all(Cell::is_number))
        .collect();
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

#[cfg(test)]
mod tests {
    use crate::report::{Cell, Column, Conditions, IoCost, Report};

    // Input:  a report with a text and a number column, and a missing value.
    // Output: heads, units and rows stand under each other; numbers end, words begin in the same column.
    #[test]
    fn columns_are_aligned() {
        let columns = vec![Column::new("engine"), Column::of("cost", "ns")];
        let mut report = Report::new("x", "Title", Conditions::here(IoCost::Net), columns);
        report.row(["fast".into(), Cell::nanos(21.04)]);
        report.row(["reference".into(), Cell::nanos(1210.96)]);
        report.row(["none".into(), Cell::Missing]);
        report.skip("all of it", "no time");
        let text = report.to_string();
        let table = text.split("\n\n").nth(2).unwrap();
        let expected = "  engine       cost\n                 ns\n  fast         21.0\n  reference  1211.0\n  none            -";
        assert_eq!(table.trim_end(), expected);
        assert!(text.ends_with("\n  SKIPPED all of it: no time\n"));
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["rows"], serde_json::json!([["fast", 21.0], ["reference", 1211.0], ["none", null]]));
        assert_eq!(json["conditions"]["io"], "net");
    }
}
