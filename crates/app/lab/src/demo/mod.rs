//! `causeway demo`: a whole 5G user plane at work on this machine, each step verified by what is observed.

mod console;
mod step;

pub use console::Console;
pub use step::{Check, Observer, Step, StepReport, play};
