//! AccelUPF (Bose et al., SOSR '22): session messages that the data plane answers itself.
//!
//! Messages and answers are those of `causeway-accel`; the switch around it is a model with named parts (`switch`).

pub mod chain;
pub mod fallback;
pub mod fig8;
pub mod fig9;
mod messages;
mod software;
mod switch;
pub mod table1;
