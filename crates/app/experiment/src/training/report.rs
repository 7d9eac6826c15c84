//! What a training says: inputs, balance, scores and the tree.

use std::collections::BTreeSet;
use std::fmt;

use causeway_show::{Cell, Column, Table, with_thousands_separators};
use causeway_traffic::classes::{Feature, Model, Node, TableLimits, Tables};
use serde::Serialize;

use super::data::{Data, Inputs};
use super::score::Confusion;

/// A report, as text and as data.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    /// What was read and how, each with its description.
    pub(super) conditions: Vec<(&'static str, String)>,
    /// Scores by validation and class, each beside "never".
    pub(super) scores: Table,
    /// What to know of the scores.
    pub(super) notes: Vec<String>,
    /// The tree, a line for each node.
    pub(super) tree: Vec<String>,
    /// The model as a file.
    #[serde(skip)]
    pub(super) model: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.conditions.iter().map(|(what, _)| what.len()).max().unwrap_or(0);
        for (what, how) in &self.conditions {
            writeln!(f, "  {what:width$}  {how}")?;
        }
        writeln!(f, "\n{}", self.scores)?;
        self.notes.iter().try_for_each(|note| writeln!(f, "  {note}\n"))?;
        self.tree.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// What was read, in words.
pub(super) fn inputs(data: &Data) -> String {
    let Inputs { files: [tables, vectors, captures], flows, packets, windows, is_of_ues, small } =
        data.inputs;
    let count = with_thousands_separators;
    let mut parts = Vec::new();
    if tables > 0 {
        parts.push(format!(
            "{tables} flow tables of {} lines: {} pairs of both directions, {} lines without the other, {} pairs without a gap",
            count(flows.lines),
            count(flows.pairs),
            count(flows.single),
            count(flows.without_gap)
        ));
    }
    if vectors > 0 {
        parts.push(format!("{vectors} tables of vectors"));
    }
    if captures > 0 {
        parts.push(format!(
            "{captures} captures of {} IP packets: {} {}, {} windows",
            count(packets),
            count(windows[0]),
            if is_of_ues { "UEs" } else { "flows" },
            count(windows[1])
        ));
    }
    parts.push(format!("{} samples; {} have too few packets", count(data.rows.len() as u64), count(small)));
    parts.join("; ")
}

/// The samples of each class, in words.
pub(super) fn balance(data: &Data) -> String {
    let all = data.rows.len().max(1) as f64;
    let part = |(class, count): (&String, u64)| {
        format!("{class} {} ({:.1} %)", with_thousands_separators(count), count as f64 * 100.0 / all)
    };
    data.classes.iter().zip(data.balance()).map(part).collect::<Vec<_>>().join(", ")
}

/// Classes that a validation cannot learn, in words: they are in one value of the group only.
pub(super) fn notes(data: &Data) -> Vec<String> {
    let mut notes = Vec::new();
    for (place, group) in data.groups.iter().enumerate() {
        for (number, class) in data.classes.iter().enumerate().skip(1) {
            let of = data.rows.iter().filter(|row| usize::from(row.sample.class) == number);
            let values: BTreeSet<&String> = of.filter_map(|row| row.groups.get(place)).collect();
            if let [one] = values.iter().collect::<Vec<_>>()[..] {
                notes.push(format!(
                    "Class {class} is in one {group} only, {one}: without it nothing of the class can be learnt, and its score says nothing."
                ));
            }
        }
    }
    if data.groups.is_empty() {
        notes.push("Nothing was left out: scores on the training data are no measure. Give several files, or --group.".into());
    }
    notes
}

/// An empty table of scores.
pub(crate) fn score_table() -> Table {
    let names = ["left out", "classification", "class", "samples of it", "samples"];
    let mut columns: Vec<Column> = names.map(Column::new).into();
    columns.extend(["precision", "recall", "F1", "accuracy", "balanced accuracy"].map(Column::new));
    Table::new(columns)
}

/// Adds the scores of each class but the first.
pub(crate) fn add_scores(
    table: &mut Table,
    left_out: &str,
    classification: &str,
    classes: &[String],
    confusion: &Confusion,
) {
    for (class, name) in classes.iter().enumerate().skip(1) {
        let number = |value: f64| Cell::Number(value, 3);
        let counts = [Cell::Count(confusion.samples(class)), Cell::Count(confusion.all())];
        let scores = [
            confusion.precision(class),
            confusion.recall(class),
            confusion.f1(class),
            confusion.accuracy(),
            confusion.balanced_accuracy(),
        ];
        let names = [left_out, classification, name].map(Cell::from);
        table.row(names.into_iter().chain(counts).chain(scores.map(number)));
    }
}

/// The tree, a line for each node, with thresholds in whole units.
pub(crate) fn tree_lines(model: &Model) -> Vec<String> {
    let mut lines = Vec::new();
    // Nodes to write, with their depth and the condition that leads to them.
    let mut rest = vec![(0_usize, 0_usize, String::new())];
    while let Some((place, depth, condition)) = rest.pop() {
        let Some(node) = model.tree().nodes().get(place) else { continue };
        let indent = "  ".repeat(depth.saturating_sub(1));
        match *node {
            Node::Leaf { class } => {
                let class = model.classes().get(usize::from(class)).map_or("", String::as_str);
                let line = if condition.is_empty() { class.into() } else { format!("{condition}: {class}") };
                lines.push(format!("{indent}{line}"));
            }
            Node::Split { feature, threshold, below, above } => {
                if !condition.is_empty() {
                    lines.push(format!("{indent}{condition}"));
                }
                let value = f64::from(threshold) / f64::from(feature.parts());
                let text = |sign| format!("{} {sign} {value} {}", in_words(feature), feature.unit());
                rest.push((above.into(), depth + 1, text(">")));
                rest.push((below.into(), depth + 1, text("<=")));
            }
        }
    }
    lines
}

/// A feature in words.
pub(crate) fn in_words(feature: Feature) -> String {
    let name = feature.name().replace('_', " ");
    if feature.unit() == "packets" { name.replace(" packets", "") } else { name }
}

/// The size of the tables, in words.
pub(super) fn tables(tables: &Tables) -> String {
    let (ranges, ternary) = tables.range_rows();
    format!(
        "{ranges} ranges ({ternary} ternary rows without range matches), {} cells, of which {} in the exact table; {} code bits of {}",
        tables.cells(),
        tables.exact_rows(),
        tables.code_bits(),
        TableLimits::default().code_bits
    )
}
