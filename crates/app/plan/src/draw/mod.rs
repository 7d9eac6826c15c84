//! A report for people: as text, and as a picture.

mod svg;
mod text;

pub use causeway_show::with_thousands_separators;
pub use svg::svg;
pub use text::{map, why};
