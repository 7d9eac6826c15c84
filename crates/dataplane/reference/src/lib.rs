//! The reference data plane: the oracle that every faster one is compared with.
//!
//! One packet at a time, in the order of the specification, with ordered maps and copies where they make the
//! code obviously right. Deterministic: the same plans and packets at the same times give the same output.

#![forbid(unsafe_code)]

mod act;
mod apply;
mod arrival;
mod bucket;
mod buffer;
mod carried;
mod carry;
mod detect;
mod duplicate;
mod ecn;
mod egress;
mod end_marker;
mod enforcer;
mod engine;
mod enrich;
mod ethernet;
mod expiry;
mod filter;
mod gtpu;
mod icmp;
mod inactivity;
mod index;
mod indication;
mod late;
pub mod lease;
mod limits;
mod link_scope;
mod marks;
mod matching;
mod measure;
mod meter;
mod n6;
mod packet_rate;
mod paths;
mod qos;
mod ration;
mod release;
mod route;
mod session;
mod steer;
mod surroundings;
mod telling;
mod timers;
mod usage;
mod user;
mod waiting;

pub use engine::Reference;
pub use filter::matches as matches_filter;
pub use gtpu::drop_reason_of;
pub use limits::{Limits, WhenFull};
pub use n6::inside_n6_tunnel;
pub use paths::path_of;
