//! The hybrid UPF: a switch in front of a software data plane, behind the one contract.
//!
//! Every session is known to the software. The rules of few sessions carry most packets; these rules move to the switch
//! (Singh, chapter 3). The unit is a [`Rule`], one direction of a session. The switch forwards the packets of its rules,
//! and sends every other packet as it came to the software, so that the software does whatever only software can do.
//!
//! - [`Hybrid`] is the data plane. Its software is any [`Software`](causeway_slowpath::lease::Software).
//! - A [`Placement`] decides which rules move: [`ByRate`], or a detector on the switch as in the thesis, [`AsDetected`].
//! - A [`SharedSwitch`] joins several [`Hybrid`]s, each with the sessions of a packet thread, to one switch: they share its entries
//!   and its rule changes.
//! - [`Moves`] carries the decisions out, within a budget of rule changes and the switch's capacity. It is a state machine
//!   without I/O, which simulations use as well.
//!
//! # What a move keeps
//!
//! - **Order.** A rule that moves to the switch is armed: the switch sends its packets to the software until there was none
//!   for the longest stay in the software ([`Config::longest_stay`]), then forwards. In the other direction nothing is
//!   needed: the way through the software is the longer one. Without [`Config::strict`] a rule that finds no such gap may
//!   flip after a shorter one; that is counted.
//! - **Usage.** Both sides count, each packet once; the counters of a rule are read for the last time when it leaves the
//!   switch. Reports have the sum.
//! - **Rates.** The buckets of a rate start full on the side that a rule moves to: a move gives at most one burst more.
//!
//! ```
//! use causeway_dataplane::{Dataplane, GtpuEndpoint, Network, Topology};
//! use causeway_fastpath::FastPath;
//! use causeway_hybrid::{ByRate, Config, Hybrid, Thresholds};
//! use causeway_model::{Plan, RuleSet};
//! use causeway_slowpath::Limits;
//! use causeway_types::{NetworkInstance, Seid, Time};
//!
//! let n3 = "192.0.2.1".parse::<std::net::Ipv4Addr>()?;
//! let topology = Topology {
//!     gtpu: vec![GtpuEndpoint::new(n3.into())],
//!     networks: vec![Network::new(NetworkInstance::new("internet"), vec!["10.45.0.0/16".parse()?])],
//!     ..Topology::default()
//! };
//! let limits = Limits::default();
//! let software = Box::new(FastPath::new(topology.clone(), limits)?);
//! // Rules of a megabit a second and more move to the switch.
//! let placement = Box::new(ByRate::new(Thresholds::at(1_000_000)));
//! let mut upf = Hybrid::new(&topology, limits, software, placement, Config::default())?;
//! upf.apply(Time::from_secs(1), &Plan::install(Seid(7), RuleSet::default()))?;
//! assert_eq!(upf.counters().sessions, 1);
//! assert_eq!(upf.moves().on_switch().count(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod config;
mod engine;
mod front;
mod load;
mod moves;
mod placement;
mod quota;
mod rate;
mod rule;
mod shared;

pub use config::Config;
pub use engine::{Hybrid, HybridError};
pub use front::{Front, InProcessPorts, OwnPorts, Passed};
pub use moves::{Command, Moves, Place};
pub use placement::{AsDetected, ByRate, Detector, Placement, Thresholds, Wish};
pub use rate::WINDOW;
pub use rule::Rule;
pub use shared::SharedSwitch;
