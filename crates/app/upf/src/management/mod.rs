//! The management HTTP server: metrics, health, and what there is, as JSON.

mod metrics;
mod server;
mod views;
mod writer;

pub(crate) use metrics::{MessageCount, N4Status, PortCounters};
pub(crate) use server::{Ask, Management, serve};
pub(crate) use views::{AssociationView, RuleCounts, SessionPage, SessionView};
