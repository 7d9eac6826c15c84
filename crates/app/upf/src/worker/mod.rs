//! The packet thread: one thread owns a data plane and its ports, and shares nothing with any other.

mod engine;
mod exits;
mod handle;
mod outgoing;
mod packets;
mod ports;
mod schedule;

pub use engine::Engine;
pub(crate) use handle::SnapshotClient;
pub use handle::{Command, Report, Snapshot, WorkerHandle};
pub use ports::{PortRole, PortSet, PortSlot};
pub use schedule::Schedule;
pub(crate) use schedule::cores;
