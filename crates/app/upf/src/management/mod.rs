//! The management HTTP server: metrics, health, and the state of the UPF as JSON. It has a thread of its own, and asks
//! the control thread for little at a time.

mod access;
mod api;
mod capture;
mod chain;
mod connections;
mod console;
mod description;
mod details;
mod events;
mod explain;
mod filter;
mod heavy_hitters;
mod listener;
mod metrics;
mod operate;
mod page;
mod placement;
mod query;
mod refusal;
mod server;
mod session_watch;
mod switch;
mod system;
mod trace;
pub mod views;

pub use access::InvalidToken;
pub(crate) use access::{Access, CallerChecks, ListenerKind, Token};
pub(crate) use details::SessionRules;
pub(crate) use events::EventSender;
pub(crate) use filter::SessionFilter;
pub(crate) use listener::{Listener, Socket};
pub(crate) use metrics::{
    EstablishmentStatus, HistogramStatus, MemoryStatus, MessageCount, N4Status, NetworkStatus, PathStatus,
    PoolStatus,
};
pub(crate) use server::{Management, ManagementRequest, SessionPart, start};
