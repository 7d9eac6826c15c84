//! The packet threads. Each owns a data plane with its sessions and ports. Threads share only the directory of session
//! owners, and the rings over which they hand packets to each other.

mod commands;
mod context;
mod directory;
mod egress_ports;
mod fairness;
mod handle;
mod handoff_ring;
mod in_turn;
mod messages;
mod n4;
mod notifier;
mod packet_loop;
mod peers;
mod placement;
mod plan_queue;
mod ports;
mod prefix_lengths;
mod schedule;
mod session_keys;
mod sync;
mod thread;
mod transmit;
mod watch;

pub use handle::{WorkerHandle, WorkerSetup};
pub(crate) use in_turn::InTurn;
pub use messages::{ClassesOf, PlacedRules, Report, RestoredUsage, Snapshot, SnapshotClient, Turns};
pub use n4::{N4Exchange, N4Result, N4Work};
pub use placement::Placement;
pub use plan_queue::PlanQueue;
pub(crate) use ports::PortCounters;
pub use ports::{PortRole, PortSet, PortSlot};
pub use schedule::Schedule;
pub(crate) use schedule::cores;
pub use session_keys::NewPaths;
pub(crate) use thread::{WorkerMessage, WorkerReports};
pub(crate) use watch::{
    Missed, MissedPackets, Observation, Observations, PacketImage, ProcessedPacket, SentPacket, WATCHES,
    Watch, WatchKeys,
};

#[cfg(test)]
mod tests;
