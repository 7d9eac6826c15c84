//! Output of a report: as text, and as a chart.

mod svg;
mod text;

pub use causeway_show::with_thousands_separators;
pub use svg::svg;
pub use text::{map, why};
