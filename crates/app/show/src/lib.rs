//! Output of commands.
//!
//! - [`Table`]: rows of [`Cell`]s under [`Column`]s, as aligned text, HTML and JSON.
//! - [`Figure`]: [`Curve`]s of a [`Chart`] or grouped [`Bars`], as SVG.
//! - [`svg`]: pictures of other kinds.
//! - [`page()`]: an HTML page around both, in one file.
//! - [`Progress`]: a line on the terminal while a command runs.
//!
//! ```
//! use causeway_show::{Cell, Column, Table};
//!
//! let mut table = Table::new(vec![Column::new("direction"), Column::of("rate", "Mpps")]);
//! table.row([Cell::from("uplink"), Cell::millions_per_second(12.4)]);
//! let text = table.to_string();
//! assert!(text.contains("Mpps") && text.contains("80.65"));
//! ```

#![forbid(unsafe_code)]

mod bars;
mod cell;
mod chart;
mod figure;
mod frame;
mod number;
mod page;
mod palette;
mod progress;
pub mod svg;
mod table;

pub use bars::{Bar, Bars};
pub use cell::Cell;
pub use chart::{Chart, Curve};
pub use figure::Figure;
pub use number::{Count, InvalidCount, count, with_thousands_separators};
pub use page::page;
pub use progress::Progress;
pub use table::{Column, Table};
