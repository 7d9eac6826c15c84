//! The entries under `specs/`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::clause::Clause;
use crate::CaseError;
use crate::case::read_yaml;

/// A file of entries: one chapter of a specification.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chapter {
    /// Where it was read from.
    #[serde(skip)]
    pub path: PathBuf,
    /// The specification, for example `TS 29.244`.
    pub spec: String,
    /// What the chapter is about.
    pub chapter: String,
    /// Its clauses, in their order.
    pub clauses: Vec<Entry>,
}

/// What is to be said of one clause.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its number.
    pub clause: Clause,
    /// What it is about, in a few words.
    pub title: String,
    /// How far it is done.
    pub status: Status,
    /// Cases that show it beside those that cite it, by theme and name: `qos/reflective-qos`.
    #[serde(default)]
    pub cases: Vec<String>,
    /// Files of tests that show it, from the root of the repository.
    #[serde(default)]
    pub tests: Vec<String>,
    /// Why it is done in another way, or not.
    #[serde(default)]
    pub why: Option<String>,
}

/// How far a clause is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// As it is written.
    Done,
    /// In another way, for a reason.
    Deviating,
    /// Not yet. What asks for it is refused.
    Todo,
    /// For other nodes, or part of a feature that is not offered.
    #[serde(rename = "not")]
    NotApplicable,
}

impl Status {
    /// For people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Deviating => "deviating",
            Self::Todo => "to do",
            Self::NotApplicable => "not offered",
        }
    }
}

/// Reads every chapter, in the order of the file names.
///
/// # Errors
/// [`CaseError`] that names the first file that is wrong.
pub fn load_chapters(folder: &Path) -> Result<Vec<Chapter>, CaseError> {
    let file_error = |source| CaseError::File { path: folder.to_owned(), source };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(file_error)? {
        let path = entry.map_err(file_error)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("ts-") && name.ends_with(".yaml") {
            paths.push(path);
        }
    }
    paths.sort();
    let load = |path: PathBuf| Ok(Chapter { path: path.clone(), ..read_yaml(&path)? });
    paths.into_iter().map(load).collect()
}
