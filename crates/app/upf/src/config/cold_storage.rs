//! Where idle sessions keep their state.

use std::path::PathBuf;

use causeway_types::Span;
use serde::Serialize;

use super::model::Upf;
use super::problem::Problem;
use super::section::Section;
use super::serialize::span;
use super::{quantities, values};

/// A folder for the state of idle sessions.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ColdStorage {
    /// The folder; `None`: all state is in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// How long a session is without packets before its state moves there.
    #[serde(serialize_with = "span")]
    pub idle_after: Span,
}

impl Default for ColdStorage {
    fn default() -> Self {
        Self { folder: None, idle_after: Span::from_secs(600) }
    }
}

impl ColdStorage {
    pub(super) fn read(cold: &mut Section<'_>) -> Self {
        let default = Self::default();
        Self {
            folder: cold.value("folder", values::text).map(PathBuf::from),
            idle_after: cold.value("idle_after", quantities::positive_span).unwrap_or(default.idle_after),
        }
    }
}

/// A folder with a data plane that keeps all its state in memory.
pub(super) fn check(upf: &Upf) -> Option<(String, Problem)> {
    let dataplane = upf.dataplane.word();
    let has = upf.cold_storage.folder.is_some() && !upf.dataplane.has_cold_storage();
    has.then(|| ("upf.cold_storage.folder".into(), Problem::NoColdStorage { dataplane }))
}
