//! The software fast path: hot lines before a slow room.
//!
//! What most packets need of their session stands in one line of 64 octets for each direction. Whatever a line
//! cannot decide goes to the slow room, which is the reference data plane itself: what the lines have counted is folded
//! back into it before it acts, and they are written anew afterwards. So both give the same result.

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
mod transmit_queue;
mod unknown_destinations;

pub use engine::FastPath;
pub use topology_index::Exit;
pub use transmit_queue::{QueuedPacket, ReceiveSource, TransmitQueue, meta_of};
