//! The register of clauses: what the specifications ask of a UPF, and what shows that it is done.
//!
//! `specs/` holds an entry for each clause, `docs/conformance/` what is rendered of it and of the cases.

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
