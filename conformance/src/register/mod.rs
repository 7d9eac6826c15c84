//! The register of clauses: the requirements of the specifications on a UPF, and their cases and tests.
//!
//! `specs/` holds an entry for each clause, `docs/conformance/` the pages that are rendered from it and from the cases.

mod check;
mod clause;
mod entry;
mod features;
mod render;

pub use check::problems;
pub use clause::{Clause, ClauseRef, cited};
pub use entry::{Chapter, Entry, Status, load_chapters};
pub use features::{Feature, load_features};
pub use render::{cases_page, clauses_page, name_of};
