//! The packet threads: each owns a data plane with its sessions and its ports, and shares nothing with any other but the table that
//! says whose a packet is, and the ways by which they hand packets to each other.

mod bell;
mod directory;
mod engine;
mod exits;
mod fairness;
mod handle;
mod handoff;
mod lengths;
mod messages;
mod outgoing;
mod packets;
mod placement;
mod ports;
mod record;
mod remote;
mod room;
mod schedule;
mod team;
mod thread;

pub(crate) use directory::MAX_WORKERS;
pub use engine::Engine;
pub use handle::{Seat, WorkerHandle};
pub use messages::{Report, Snapshot, SnapshotClient};
pub use ports::{PortRole, PortSet, PortSlot};
pub(crate) use remote::remote;
pub use remote::{Remote, RemoteError};
pub use schedule::Schedule;
pub(crate) use schedule::cores;
