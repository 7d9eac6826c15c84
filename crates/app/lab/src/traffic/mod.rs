//! User traffic between a UE and its data network: ping, bulk TCP, and UDP packets that carry numbers.
//!
//! Both ends are ordinary sockets of the kernel; whatever passes between them has gone through the tunnel.

pub mod bulk;
pub mod numbered;
pub mod ping;
mod sequence;

pub use sequence::Sequence;
