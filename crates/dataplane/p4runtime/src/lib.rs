//! P4Runtime over gRPC: a driver of switches, and the model of a switch as a server.
//!
//! - [`client`]: a switch behind P4Runtime as a [`SwitchDriver`](causeway_switch::driver::SwitchDriver).
//! - [`server`]: the model of `causeway-switch`, for any controller that speaks P4Runtime.
//!
//! Both have the same picture of a program, from its P4Info, and the same rules for what an entry may be on the wire.

#![forbid(unsafe_code)]

mod bytes;
pub mod client;
mod convert;
mod info;
pub mod server;
mod wire;

use causeway_switch::driver::Program;

pub use info::InfoError;

/// The program of a P4Info in text form.
///
/// # Errors
/// It is no P4Info, or of a program that has what Causeway's programs do not have.
pub fn program(p4info: &str) -> Result<Program, InfoError> {
    Ok(info::Info::of_text(p4info)?.schema.program)
}
