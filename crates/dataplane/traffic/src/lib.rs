//! Finds heavy hitters in a packet stream: flows of at least so many packets or octets in a second. Gives rule pairs an
//! application class, such as cloud gaming, by the shape of their packets.
//!
//! A detector sees each packet once, as a [`Key`], a size and a time, and says when a flow becomes heavy. Its memory is
//! allocated when it is made and does not grow. Nothing here reads a clock, does I/O, allocates for a packet or panics;
//! random decisions come from a seeded generator, so that the same packets give the same result.
//!
//! - [`sliding`]: counts in sub-windows of a sliding window, in ways of small slots. [`Sliding`] is its general form;
//!   [`SwitchSliding`] is the form for the register arrays of a P4 switch.
//! - [`hk_ipg`]: HeavyKeeper with inter-packet gaps, from chapter 4 of S. K. Singh's thesis on 5G data planes.
//!   [`HkIpg`] is one integer definition of it; [`PublishedHkIpg`] is Algorithm 1 as it is printed.
//! - [`heavy`]: the list of the flows that are heavy now, as a data plane needs it.
//! - [`classes`]: features of a rule pair in windows, decision trees and their tables, and verdicts over windows.
//!
//! ```
//! use causeway_traffic::{FlowKeys, Outcome, Sliding, SlidingConfig};
//! use causeway_types::{Span, Time};
//!
//! // 1 Mbit/s in packets of 1000 octets.
//! let config = SlidingConfig { threshold: 125, ..SlidingConfig::with_slots(4096) };
//! let mut detector = Sliding::new(&config)?;
//! let flow = FlowKeys::with_seed(7).rule_pair(1, 1);
//! let mut reports = 0;
//! for packet in 0..300 {
//!     let now = Time::default() + Span::from_millis(5) * packet;
//!     reports += u32::from(matches!(detector.observe(flow, 1000, now), Outcome::Report { .. }));
//! }
//! // 200 packets a second: one report, since the flow stays heavy.
//! assert_eq!(reports, 1);
//! # Ok::<(), causeway_traffic::ConfigError>(())
//! ```

#![forbid(unsafe_code)]

pub mod classes;
mod config;
mod event_budget;
pub mod heavy;
pub mod hk_ipg;
mod key;
mod outcome;
mod random;
pub mod sliding;
mod unit;

pub use config::ConfigError;
pub use event_budget::EventBudget;
pub use hk_ipg::{HkIpg, HkIpgConfig, PublishedHkIpg};
pub use key::{FiveTuple, FlowKeys, Key};
pub use outcome::{Outcome, Statistics};
pub use random::Random;
pub use sliding::{Placement, Sliding, SlidingConfig, SwitchSliding, SwitchSlot};
pub use unit::{Unit, UnitSampler};
