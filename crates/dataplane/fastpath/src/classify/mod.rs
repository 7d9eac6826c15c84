//! The third stage: classify. It finds the rule that a packet matches.

pub mod filters;
pub(crate) mod prediction;
