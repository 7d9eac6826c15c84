//! Tables of vectors: a line for each window, with its features in whole units and its class.

use std::fmt::Write;
use std::path::Path;

use causeway_traffic::classes::{Feature, Vector};

use super::TrainingError;
use super::csv::{Csv, Record};
use super::data::Data;

/// The columns of a table of vectors.
pub(super) fn columns() -> Vec<&'static str> {
    Feature::ALL.iter().map(|feature| feature.name()).chain(["class"]).collect()
}

/// The vector of a line.
pub(super) fn vector(record: &Record<'_>) -> Result<Vector, TrainingError> {
    let mut values = [0; 6];
    for (value, feature) in values.iter_mut().zip(Feature::ALL) {
        *value = (record.number(feature.name())? * f64::from(feature.parts())).round() as u32;
    }
    Ok(Vector::new(values))
}

/// The class of a line.
pub(super) fn class<'a>(record: &'a Record<'a>) -> Result<&'a str, TrainingError> {
    let class = record.text("class")?;
    if class.is_empty() { Err(record.wrong("class", "a name is expected")) } else { Ok(class) }
}

/// Writes a table of vectors that gives the same data when read with a column for each group.
pub(super) fn write(data: &Data, file: &Path) -> Result<(), TrainingError> {
    let mut text = columns().join(",");
    data.groups.iter().for_each(|group| text = format!("{text},{group}"));
    text.push('\n');
    for row in &data.rows {
        for (value, feature) in row.sample.vector.values().into_iter().zip(Feature::ALL) {
            let _ = write!(text, "{},", f64::from(value) / f64::from(feature.parts()));
        }
        text += data.classes.get(usize::from(row.sample.class)).map_or("", String::as_str);
        for group in &row.groups {
            if group.contains([',', '"', '\n']) {
                return Err(TrainingError::form(file, format!("{group:?} cannot stand in a table")));
            }
            let _ = write!(text, ",{group}");
        }
        text.push('\n');
    }
    std::fs::write(file, text).map_err(|source| TrainingError::Write { file: file.into(), source })
}

/// Whether a file is a table of vectors.
pub(super) fn is_table(csv: &Csv<'_>) -> bool {
    csv.has(&columns())
}
