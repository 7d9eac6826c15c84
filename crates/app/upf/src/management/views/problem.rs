//! Refusals.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A refusal (RFC 9457, `application/problem+json`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProblemView {
    /// The HTTP status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong, and what to do.
    pub detail: String,
}
