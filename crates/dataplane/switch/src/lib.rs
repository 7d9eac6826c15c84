//! A P4 switch as a data plane: the mechanisms of its controller.
//!
//! They follow HiP4-UPF (USENIX ATC 2024), and name the differences. Each is a state machine without clocks, threads or
//! I/O: it takes events, with their time, and returns actions.
//!
//! - [`accel`]: what PFCP messages do with the registers of sessions that the switch establishes itself.
//! - [`backend`]: the data plane that combines them. [`backend::Switch`] drives any [`driver::SwitchDriver`];
//!   [`backend::InProcess`] is a UPF on a model of a switch.
//! - [`classes`]: what packets do with the registers of application classes, equal to the classifier of software.
//! - [`driver`]: the contract of switch drivers, and a driver that injects faults.
//! - [`heavy_hitters`]: what packets do with the registers of heavy hitters, equal to the detector of software.
//! - [`model`]: a switch in memory, accurate per table, with the request times of a real driver.
//! - [`pendulum`]: concurrent reads and writes of the accounting tables, and the reuse of rule numbers.
//! - [`pulling`]: the order in which counters are read, and the reports that follow.
//! - [`ranges`]: the number of each rule on the switch, chosen so that few ternary entries give all rules of a kind
//!   their action.
//!
//! ```
//! use causeway_dataplane::{Dataplane, GtpuEndpoint, Network, Topology};
//! use causeway_model::{Plan, RuleSet};
//! use causeway_p4::profiles;
//! use causeway_slowpath::Limits;
//! use causeway_switch::backend::InProcess;
//! use causeway_switch::driver::Program;
//! use causeway_types::{NetworkInstance, Seid, Time};
//!
//! let n3 = "192.0.2.1".parse::<std::net::Ipv4Addr>()?;
//! let topology = Topology {
//!     gtpu: vec![GtpuEndpoint::new(n3.into())],
//!     networks: vec![Network::new(NetworkInstance::new("internet"), vec!["10.45.0.0/16".parse()?])],
//!     ..Topology::default()
//! };
//! let mut upf = InProcess::new(&Program::from(&profiles::HIP4), topology, Limits::default())?;
//! upf.apply(Time::from_secs(1), &Plan::install(Seid(7), RuleSet::default()))?;
//! assert_eq!(upf.counters().sessions, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod accel;
mod armed;
pub mod backend;
pub mod classes;
mod count;
pub mod driver;
pub mod heavy_hitters;
mod id;
mod indexed_counters;
mod meters;
pub mod model;
pub mod pendulum;
pub mod pulling;
pub mod ranges;
mod software_ports;
mod tables;

pub use armed::RULES as ARMED_RULES;
pub use count::Count;
pub use id::SwitchPdr;
pub use software_ports::{FIRST_SESSION, SoftwareLink};
