//! User traffic between a UE and its data network: ping, bulk TCP, and UDP packets that carry numbers.
//!
//! Both ends are ordinary sockets of the kernel; all packets between them pass the tunnel.

pub mod bulk;
pub mod ping;
mod sequence;
pub mod sequenced;

pub use sequence::Sequence;
