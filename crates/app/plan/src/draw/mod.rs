//! A report for people: as text, and as a picture.

mod number;
mod svg;
mod text;

pub use number::grouped;
pub use svg::svg;
pub use text::{map, why};
