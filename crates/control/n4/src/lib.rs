//! N4 associations, transactions, sessions and reports as state machines without sockets or clocks.
//!
//! [`N4`] is the state machine. Its inputs are datagrams, results of plans, events of the data plane, and the time; its
//! actions are [`Output`]s, which the caller polls and executes in order. `causeway-rules` decodes, validates and plans
//! rules; the data plane applies the plans and is never called from here.
//!
//! [`N4`] coordinates four components, each with private state: `transaction` (requests in both directions, cached
//! responses, retransmission), `association` (setup, heartbeats, restarts, trust), `session` (tables, resources, plans,
//! purges) and `report` (queues, delivery). It passes each input to them and collects their outputs.
//!
//! Sessions are in parts, one unless [`N4::in_parts`] says otherwise. Several threads may each have a [`Part`] and handle
//! inputs about its sessions side by side; they only read the [`Node`], which has the associations. What concerns more than one
//! part is left to `N4`, which has all of them.
//!
//! - [`Config`]: the node, its timers and [`Limits`].
//! - [`Notice`]: what an operator should know, as a value.
//! - [`SessionView`] and [`AssociationView`]: read-only views for metrics and management.
//!
//! ```
//! use causeway_model::{Capabilities, LocalEndpoints};
//! use causeway_n4::{Config, N4, Output};
//! use causeway_pfcp::{self as pfcp, AssociationSetupRequest, Header, Message, RecoveryTimeStamp};
//! use causeway_types::{NodeId, NtpSeconds, Time};
//! use std::net::Ipv4Addr;
//!
//! let [upf, smf] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 21)];
//! let config = Config::new(NodeId::Ip(upf.into()), upf.into());
//! let mut n4 = N4::new(config, Capabilities::all(10, 16), LocalEndpoints::default(), NtpSeconds(1));
//!
//! let setup = AssociationSetupRequest::new(pfcp::NodeId::Ip(smf.into()), RecoveryTimeStamp(NtpSeconds(2)));
//! let mut datagram = Vec::new();
//! Message::from(setup).encode(None, 1, &mut datagram)?;
//! n4.datagram(Time::from_secs(1_700_000_000), (smf, 8805).into(), &datagram);
//!
//! let outputs = std::iter::from_fn(|| n4.poll_output());
//! let sent: Vec<_> = outputs.filter_map(|output| match output {
//!     Output::Send { bytes, .. } => Some(bytes),
//!     _ => None,
//! }).collect();
//! let (header, body, _) = Header::decode(sent.first().ok_or("no response")?)?;
//! assert!(matches!(Message::decode(&header, body)?, Message::AssociationSetupResponse(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod association;
mod config;
mod counters;
mod features;
mod labels;
mod left_out;
mod load;
mod memory;
mod n4;
mod node;
mod notice;
mod output;
mod part;
mod report;
mod seid;
mod session;
mod slab;
mod transaction;
mod user;
mod view;

pub use causeway_rules::PoolUsage;
pub use config::{
    Config, DataPlaneNumbers, Heartbeat, KnownSmf, Limits, OverloadControl, PFCP_PORT, PathFailure,
    RequestPort, Retransmission,
};
pub use counters::{Counters, Direction, MessageKey, MessageResult, Occupancy};
pub use labels::{cause_label, message_label};
pub use n4::{N4, RestoreError};
pub use node::Node;
pub use notice::{
    DiscardReason, DownReason, Level, LossReason, Notice, NoticeFields, RefusalReason, ReleaseReason,
    SetupFailure,
};
pub use output::{ApplyId, Output};
pub use part::Part;
pub use session::UsageSnapshot;
pub use user::UserIdentities;
pub use view::{AssociationView, SessionView};
