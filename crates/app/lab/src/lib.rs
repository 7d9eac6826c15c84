//! Emulated SMF, gNB, UE and data network, in network namespaces of their own.
//!
//! [`netns`] makes the machines, [`smf`] speaks N4, [`ran`] speaks N3 and holds the UEs, [`traffic`] is what the
//! two ends of a PDU session say to each other, and [`demo`] plays the story that `causeway demo` shows. Every
//! network here is created by this crate; nothing touches the machine's own interfaces.

#![forbid(unsafe_code)]

pub mod capture;
pub mod cleanup;
pub mod demo;
mod error;
pub mod metrics;
pub mod netns;
pub mod process;
pub mod ran;
pub mod report;
pub mod smf;
pub mod timeline;
pub mod topology;
pub mod traffic;

pub use error::LabError;
