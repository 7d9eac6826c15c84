//! The contract between the control plane and every data plane.
//!
//! A backend implements [`Dataplane`]. A backend that processes packets in the caller's thread also implements
//! [`PacketEngine`], which tests and the oracle use. The control plane depends only on this crate.

#![forbid(unsafe_code)]

mod blocked_addresses;
mod contract;
mod counters;
mod drop_reason;
mod error;
mod event;
mod packet;
mod policy;
mod routing;
mod topology;
mod transmit_queue;

pub use blocked_addresses::{BlockedAddresses, HostReachability, is_unroutable};
pub use causeway_model::{Capabilities, Op, PacketRateReport, Plan, Usage};
pub use contract::{Applied, Dataplane, PacketEngine};
pub use counters::{Counters, TrafficCounter};
pub use drop_reason::DropReason;
pub use error::ApplyError;
pub use event::{DataStatus, DownlinkData, Event};
pub use packet::{Disposition, Egress, Ingress, Transmit, hops_of_relayed};
pub use policy::ForwardingPolicy;
pub use routing::{EchoConfig, Routing};
pub use topology::{EthernetNetwork, GtpuEndpoint, N6Endpoint, Network, SliceLimit, Topology};
pub use transmit_queue::{Exit, QueuedPacket, ReceiveSource, TransmitQueue};
