//! Reports as text tables.

use std::fmt;

use super::Report;

/// Title, conditions, an aligned table, notes.
pub(super) fn write(report: &Report, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{}\n", report.title)?;
    let conditions = report.conditions.lines();
    let width = conditions.iter().map(|(what, _)| what.chars().count()).max().unwrap_or(0);
    for (what, how) in &conditions {
        writeln!(f, "  {what:width$}  {how}")?;
    }
    writeln!(f)?;
    write!(f, "{}", report.table)?;
    for note in &report.notes {
        writeln!(f, "\n  {note}")?;
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
