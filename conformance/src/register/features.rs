//! The cases of each bit of UP Function Features.

use std::path::Path;

use serde::Deserialize;

use crate::CaseError;
use crate::case::read_yaml;

/// A bit of UP Function Features (TS 29.244 clause 8.2.25).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// Its name.
    pub bit: String,
    /// The cases that show that it works, by theme and name.
    pub cases: Vec<String>,
}

/// Reads them all.
///
/// # Errors
/// [`CaseError`] when the file cannot be read.
pub fn load_features(path: &Path) -> Result<Vec<Feature>, CaseError> {
    read_yaml(path)
}
