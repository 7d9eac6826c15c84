//! The software fast path: a flow table in front of the slow path.
//!
//! A flow entry of 64 octets holds, for one direction of a session, the state that most packets need. Packets that a
//! flow entry cannot handle go to the slow path, which is the reference data plane. Before the slow path acts, the
//! counts of the session's flow entries return to it; afterwards, it grants the flow entries anew. So both paths have
//! the same results.

#![deny(unsafe_code)]

mod action;
mod address_filter;
mod batch;
mod batch_state;
mod compiled_action;
mod contract;
mod dormancy;
mod dormant;
mod early_drop;
mod engine;
pub mod filters;
mod flow_entry;
mod flow_table;
mod forward;
mod g_pdu;
mod general_action;
mod general_path;
mod handover;
mod headers;
mod icmp_limit;
pub mod index;
mod index_allocator;
mod ipv6;
mod key;
mod lease;
mod lookup;
mod packet;
mod parse_unusual;
mod prediction;
mod program;
mod topology_index;
mod unknown_destinations;

pub use engine::FastPath;
