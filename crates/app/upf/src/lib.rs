//! The UPF daemon: configuration, runtime, metrics.
//!
//! [`config`] reads `upf.yaml`. [`open`] opens the configured sockets and devices. [`Daemon`] runs the UPF in at least
//! three threads:
//!
//! - The control thread runs N4 with its sockets and timers.
//! - Each packet thread ([`worker`]) owns a data plane and its ports.
//! - The management thread serves HTTP.
//!
//! With [`chain`] the daemon is one of two, and runs while it is the primary.
//!
//! The threads communicate over channels; the control thread reads the counters of the ports directly. [`service`]
//! adds the signals of a process.
//!
//! ```no_run
//! use causeway_upf::Daemon;
//! use causeway_upf::config::{Config, Overrides};
//!
//! let config = Config::load(Some("upf.yaml".as_ref()), &Overrides::default())?;
//! let daemon = Daemon::start(&config)?;
//! println!("N4 on {:?}", daemon.pfcp_addresses());
//! daemon.stop();
//! println!("{}", daemon.wait()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod chain;
pub mod clock;
pub mod config;
mod control;
mod daemon;
mod data_plane_settings;
mod data_planes;
pub mod doctor;
mod error;
mod host_addresses;
mod host_networks;
pub mod logging;
pub mod management;
mod memory;
pub mod open;
mod owner;
mod sd_notify;
pub mod service;
mod wall;
mod watchdog;
pub mod worker;
mod worker_setup;

pub use daemon::Daemon;
pub use data_planes::BoxedDataPlane;
pub use error::{ReloadError, RunError, StartError, Transport};
pub use host_networks::PoolConflict;
pub use memory::CgroupMemory;
pub use owner::{OwnerRequest, OwnerRequests, Totals};
