//! Sessions: their leases in the flow table, and the dormant ones, which are nowhere else.

mod behind_switch;
pub(crate) mod cold;
pub(crate) mod dormancy;
pub(crate) mod dormant;
mod handover;
pub(crate) mod lease;
mod usage_snapshot;
