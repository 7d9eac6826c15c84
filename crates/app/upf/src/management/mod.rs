//! The management HTTP server: metrics, health, and what there is, as JSON. It has a thread of its own, and asks the control thread
//! for little at a time.

mod connections;
mod metrics;
mod server;
mod views;
mod writer;

pub(crate) use metrics::{MemoryStatus, MessageCount, N4Status, PortCounters};
pub(crate) use server::{Management, ManagementRequest, start};
pub(crate) use views::{AssociationView, RuleCounts, SessionPart, SessionView};
