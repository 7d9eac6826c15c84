//! A data plane full of sessions, for any benchmark.

mod choice;
mod control;
#[cfg(feature = "upf")]
mod external_memory;
mod population;
mod segments;
pub(crate) mod shape;
mod worker;

pub use choice::{Backend, Rules};
pub(crate) use choice::{check_pdrs, check_sessions, displayed};
pub(crate) use control::Control;
#[cfg(feature = "upf")]
pub(crate) use external_memory::xplane;
pub(crate) use population::{Founding, Populated, Population, hand_over};
pub(crate) use segments::Segments;
pub(crate) use shape::Shape;
