//! The contract between the control plane and every data plane.
//!
//! A data plane implements [`Dataplane`], by which the control plane drives it, and [`PacketEngine`], by which a packet
//! thread passes it the batches of its ports. Production, tests and benchmarks use the same two traits; the control
//! plane depends only on this crate.
//!
//! - A plan is all or nothing. It is applied at once, or is in flight until [`Dataplane::poll_applied`] returns its
//!   result.
//! - Packets come in batches, and leave from the buffers that they came in, or by name: [`TransmitQueue`].
//! - Each packet ends in exactly one counter: [`Counters`], with one [`DropReason`] for each cause of a drop.
//! - What the SMF has to know is an [`Event`].
//! - Time is an argument of the calls; [`Dataplane::next_deadline`] says when the next one is due.
//! - [`Topology`] says where packets come from and go to: local GTP-U addresses and data networks.
//!
//! `examples/teid_relay.rs` of the repository is a small data plane.
//!
//! ```
//! use causeway_dataplane::{Counters, DropReason, GtpuEndpoint, Network, Topology};
//! use causeway_types::NetworkInstance;
//!
//! let n3 = "192.0.2.1".parse::<std::net::Ipv4Addr>()?;
//! let topology = Topology {
//!     gtpu: vec![GtpuEndpoint::new(n3.into())],
//!     networks: vec![Network::new(NetworkInstance::new("internet"), vec!["10.45.0.0/16".parse()?])],
//!     ..Topology::default()
//! };
//! assert_eq!(topology.networks.len(), 1);
//!
//! let mut counters = Counters::default();
//! counters.gtpu_received.count(92);
//! counters.count_drop(DropReason::UnknownTeid);
//! assert_eq!(counters.total_drops(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod blocked_addresses;
mod class_change;
mod cold_storage;
mod contract;
mod counters;
mod drop_reason;
mod error;
mod event;
mod explanation;
mod firewall;
mod heavy_hitter;
mod memory_losses;
mod packet;
mod rule_placement;
mod session_state;
mod settings;
mod switch_state;
mod topology;
mod transmit_queue;
mod usage_snapshot;
mod wait_counts;

pub use blocked_addresses::{BlockedAddresses, HostReachability, is_unroutable};
pub use causeway_model::{Capabilities, Op, PacketRateReport, Plan, Usage};
pub use causeway_traffic::FiveTuple;
pub use causeway_traffic::heavy::{FlowKind, HeavyHitterCounts, HeavyHitterSettings, ListedFlow, Threshold};
pub use class_change::{ClassChange, SessionClasses};
pub use cold_storage::{ColdStorageState, LoadTimes};
pub use contract::{Applied, Dataplane, GtpuPath, PacketEngine, PathState, PlanId, PollApplied};
pub use counters::{Counters, NamedCounter, TrafficCounter};
pub use drop_reason::DropReason;
pub use error::{ApplyError, BackendError};
pub use event::{DataStatus, DownlinkData, Event};
pub use explanation::{
    Explanation, FirewallExplanation, MatchedRules, PdrMismatch, QerVerdict, RateVerdict, SessionKey,
    SessionTrial, UrrVerdict,
};
pub use firewall::{
    Chain, Firewall, FirewallAction, FirewallKey, FirewallRule, FirewallRuleError, FirewallVerdict,
    MAX_FIREWALL_RULES, RemoteVerdict,
};
pub use heavy_hitter::{HeavyFlow, HeavyHitter, HeavyHitterList};
pub use memory_losses::MemoryLosses;
pub use packet::{Disposition, Egress, Ingress, Transmit, hops_of_relayed};
pub use rule_placement::{MoveCounts, PlacedRule, RulePlace, RulePlacement, SideLoad};
pub use session_state::{BufferState, SessionDrops, SessionState, UrrState, UsageTotals};
pub use settings::{Settings, UeAddresses};
pub use switch_state::{AccountingPartition, AccountingSide, SwitchState, SwitchTable};
pub use topology::{
    EchoConfig, EthernetNetwork, ForwardingPolicy, GtpuEndpoint, N6Endpoint, Network, Routing, SliceLimit,
    Topology,
};
pub use transmit_queue::{Exit, QueuedPacket, ReceiveSource, TransmitQueue};
pub use usage_snapshot::RestoredUrr;
pub use wait_counts::WaitCounts;
