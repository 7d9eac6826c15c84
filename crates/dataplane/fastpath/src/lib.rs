//! The software fast path: a flow table in front of the slow path.
//!
//! A flow entry of 64 octets holds, for one direction of a session, the state that most packets need. Packets that a
//! flow entry cannot handle go to the slow path, which is the reference data plane. Before the slow path acts, the
//! counts of the session's flow entries return to it; afterwards, it grants the flow entries anew. So both paths have
//! the same results.

#![deny(unsafe_code)]

mod batch;
mod classify;
mod contract;
mod enforce;
mod engine;
mod lookup;
mod parse;
mod program;
mod rewrite;
mod session;
mod table;
mod topology_index;
mod transmit;

pub use classify::filters;
pub use engine::FastPath;
pub use table::index;
