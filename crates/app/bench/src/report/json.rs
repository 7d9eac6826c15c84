//! Reports as JSON.

use std::fs;
use std::path::Path;

use super::Report;
use crate::BenchError;

/// Writes the reports as a JSON list. Folders on the way are made.
///
/// # Errors
/// [`BenchError::Io`] when the file cannot be written.
pub fn write_json(reports: &[Report], path: &Path) -> Result<(), BenchError> {
    let mut text = serde_json::to_string_pretty(reports)?;
    text.push('\n');
    let writing = || BenchError::io(format!("write {}", path.display()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(writing())?;
    }
    fs::write(path, text).map_err(writing())
}
