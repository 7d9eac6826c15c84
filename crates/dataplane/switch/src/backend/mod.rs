//! The data plane on a switch: sessions' rules in its tables, their usage from its counters, and software for the rest.
//!
//! [`Switch`] drives any [`SwitchDriver`](crate::driver::SwitchDriver). A session's change is an [`Operation`]:
//! [`Switch::submit`] starts it, [`Switch::poll`] returns its progress, and [`Switch::run`] makes progress in between;
//! none of them blocks or reads a clock. [`Dataplane`](causeway_dataplane::Dataplane) is implemented on top of that,
//! and waits. [`InProcess`] is one over the model, with packets.
//!
//! The steps of a change:
//!
//! 1. The software behind the switch, the slow path or another [`Software`](causeway_slowpath::lease::Software), tries it
//!    out: it has every rule, buffers, handles signalling, keeps time and reports. If it refuses the change, the change is
//!    refused.
//! 2. The rules are compiled to table entries ([`Config`] has the topology). Rules that the program cannot express
//!    exactly are refused, with the reason; so are rules that exceed a table, with its name. No entry matches more than
//!    its PDI.
//! 3. Rules that change get new numbers, in the ranges of their templates; the templates are written first.
//! 4. All entries are written as one batch, so a packet sees the rules before or after.
//! 5. If the change reports or removes usage, it waits until the counters concerned were read, those of old numbers for
//!    the last time.
//! 6. The software applies it: its reports are final and exact then, and buffered packets are transmitted.
//!
//! The components, each with state of its own:
//!
//! - `allocator`: rule numbers and their ranges, templates, classes of filters, meters, lookup keys, space of tables.
//! - `writer`: the updates of each operation until the switch has confirmed them, and the writes that precede them.
//! - `reader`: passes over counters, who waits for which counter, usage pulling, drops.
//! - `application_classes`: the sessions whose traffic the switch measures, and the rows of the model.
//! - `heavy_flows`: the heavy hitters that the switch has reported, with their rates.
//! - `recovery`: restarts of the switch and takeovers: compares all tables with the desired state.
//! - `operation` and `sessions`: changes in progress, and the state of sessions and rule numbers.
//! - `requests`: the driver, with requests in flight and retries; `packet_io`: frames of the CPU port.
//!
//! `switch` composes them: it passes what one component returns to the next.

mod allocator;
mod application_classes;
mod compile_session;
mod config;
mod cpu_port;
mod direct;
mod drop_reason;
mod drops;
mod filter;
mod firewall;
mod heavy_flows;
mod in_process;
mod layout;
mod local_model;
mod notice;
mod operation;
mod packet_io;
mod pattern;
mod pdr_treatment;
mod placement;
mod plans;
mod ports;
mod reader;
mod recovery;
mod requests;
mod rule_entries;
mod segments;
mod session_state;
mod session_treatments;
mod sessions;
mod start;
mod switch;
mod table_placement;
mod template;
mod underlay;
mod writer;

#[cfg(test)]
mod tests;

pub use config::{Config, Hop, Route, SourceGuardPool};
pub use drops::Drops;
pub use firewall::{FirewallError, check_firewall};
pub use in_process::{InProcess, InProcessError, WithPorts};
pub use layout::UnknownLayout;
pub use local_model::{LocalSwitch, UNDERLAY};
pub use notice::Notice;
pub use operation::{Operation, Progress};
pub use placement::Places;
pub use plans::PlansInFlight;
pub use ports::Ports;
pub use segments::{Segment, SegmentError, SegmentOf};
pub use start::StartError;
pub use switch::{Counted, Statistics, Switch};
pub use template::{RuleAction, Template};
