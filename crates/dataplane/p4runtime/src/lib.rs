//! P4Runtime over gRPC: a driver for switches, and a server for the model of a switch.
//!
//! - [`client`]: a switch behind P4Runtime as a [`SwitchDriver`](causeway_switch::driver::SwitchDriver).
//! - [`RemoteSwitch`]: such a switch as a data plane.
//! - [`server`]: the model of `causeway-switch`, for any P4Runtime controller.
//!
//! Both use the same schema of a program, from its P4Info, and the same encoding rules for entries.
//!
//! ```
//! use causeway_p4runtime::server::{ModelSwitch, Options, PROFILES};
//!
//! // A model of a switch; `ModelSwitch::serve` accepts controllers.
//! let switch = ModelSwitch::new(Options::default());
//! let (_, p4info) = PROFILES.iter().find(|(name, _)| *name == "hip4").ok_or("no such profile")?;
//! switch.run(p4info)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod bytes;
pub mod client;
mod convert;
mod dataplane;
mod info;
pub mod server;
mod wire;

use causeway_switch::driver::Program;

pub use dataplane::{OpenError, RemoteSwitch};
pub use info::{Inconsistency, InfoError, UnsupportedFeature};

/// The program of a P4Info in text form.
///
/// # Errors
/// It is not a P4Info, or its program has a feature that Causeway's programs do not have.
pub fn program(p4info: &str) -> Result<Program, InfoError> {
    Ok(info::Info::of_text(p4info)?.schema.program)
}
