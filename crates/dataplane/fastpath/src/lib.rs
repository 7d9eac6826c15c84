//! The software fast path: hot lines before a slow room.
//!
//! What most packets need of their session stands in one line of 64 octets for each direction. Whatever a line
//! cannot decide goes to the slow room, which is the reference data plane itself: what the lines have counted is folded
//! back into it before it acts, and they are written anew afterwards. So both give the same result.

#![deny(unsafe_code)]

mod act;
mod batch;
mod choose;
mod contract;
mod course;
mod deed;
mod engine;
pub mod filters;
mod forward;
mod glance;
mod guess;
mod heads;
pub mod index;
mod key;
mod lead;
mod lease;
mod leaving;
mod line;
mod numbers;
mod own;
mod packet;
mod plain;
mod program;
mod refusal;
mod reread;
mod rest;
mod resting;
mod six;
mod surroundings;
mod table;
mod tunnelled;
mod unknown_destinations;
mod work;

pub use engine::FastPath;
pub use leaving::{Departure, Entrance, Leaving, meta_of};
pub use surroundings::Exit;
