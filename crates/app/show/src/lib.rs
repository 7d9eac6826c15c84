//! Output of commands: [`Table`]s as text and JSON, [`Chart`]s as SVG, a [`page()`] around both, and [`Progress`] while they run.

#![forbid(unsafe_code)]

mod cell;
mod chart;
mod count;
mod number;
mod page;
mod progress;
mod table;

pub use cell::Cell;
pub use chart::{Chart, Curve};
pub use count::{Count, count};
pub use number::with_thousands_separators;
pub use page::page;
pub use progress::Progress;
pub use table::{Column, Table};
