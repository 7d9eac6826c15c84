//! Emulated SMF, gNB, UE and data network, in separate network namespaces.
//!
//! [`netns`] creates the hosts, [`smf`] implements N4, [`ran`] implements N3 and the UEs, [`traffic`] is the user
//! traffic of a PDU session, and [`demo`] runs the steps of `causeway demo`. This crate creates every network that it
//! uses, and does not change the host's interfaces.
//!
//! ```no_run
//! use causeway_lab::cleanup::Cleanup;
//! use causeway_lab::netns::{Namespace, acquire_privilege};
//!
//! // Before any thread is started: without root the process restarts in a user namespace.
//! acquire_privilege()?;
//! let cleanup = Cleanup::default();
//! let _guard = cleanup.guard();
//! let gnb = Namespace::create("gnb1", &cleanup)?;
//! gnb.enter(|| {
//!     // Sockets that are opened here belong to the gNB.
//!     Ok(())
//! })?;
//! # Ok::<(), causeway_lab::LabError>(())
//! ```

#![forbid(unsafe_code)]

pub mod capture;
pub mod cleanup;
pub mod demo;
mod error;
pub mod metrics;
pub mod netns;
mod patience;
pub mod process;
pub mod ran;
pub mod report;
pub mod smf;
pub mod timeline;
pub mod topology;
pub mod traffic;

pub use error::LabError;
pub use patience::QUIET;
