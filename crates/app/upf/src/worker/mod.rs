//! The packet thread: one thread owns a data plane and its ports, and shares nothing with any other.

mod handle;
mod outgoing;
mod packets;

pub(crate) use handle::SnapshotClient;
pub use handle::{Command, Report, Snapshot, WorkerHandle};
pub use outgoing::{PortRole, PortSet, PortSlot};
