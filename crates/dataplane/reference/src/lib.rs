//! The reference data plane: the oracle that every faster data plane is compared with.
//!
//! It handles one packet at a time, in the order of the specification, with ordered maps and copies where they make
//! the code obviously right. It is deterministic: the same plans and packets at the same times give the same output.

#![forbid(unsafe_code)]

mod application_detection;
mod apply_far;
mod apply_ops;
mod apply_plan;
mod bucket;
mod buffer;
mod buffering;
mod buffering_duration;
mod carried_extensions;
mod downlink_notification;
mod drain;
mod duplicate;
mod ecn;
mod egress;
mod end_marker;
mod enforcer;
mod engine;
mod enrich;
mod ethernet;
mod filter;
mod gtpu;
mod icmp;
mod inactivity;
mod index;
mod indication;
mod lazy;
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
mod rate_limiter;
mod received;
mod route;
mod session;
mod steer;
mod timers;
mod topology_view;
mod usage;
mod user_plane;

pub use engine::Reference;
pub use filter::matches as matches_filter;
pub use gtpu::drop_reason_of;
pub use limits::{Limits, WhenFull};
pub use n6::inside_n6_tunnel;
pub use paths::path_of;
