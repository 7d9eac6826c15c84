//! X-PLANE (Liu et al., MobiCom '23): a data plane whose tables, counters and meters are in external memory.
//!
//! - [`local_state`] is the local state table: state in memory that packets in flight use, exact to the octet.
//! - [`ue_table`] has the rules of each lookup key, in blocks of five PDRs.
//! - [`flows`] is the fast flow table, which the data plane writes, and the generations by which no rule of before is applied.
//! - [`paging`] has rings of packets, of idle UEs and of flows whose rule is looked up: they leave in order, with several reads in flight.
//! - [`Pipeline`] is the way of a packet through these, over any [`ExternalMemory`](causeway_memory::ExternalMemory).
//! - [`XPlane`] is a data plane behind the contract of all: the pipeline, and the slow path for what it does not cover.
//!
//! # What the pipeline decides
//!
//! G-PDUs and IP packets that are whole and sound, of sessions that the slow path offers to faster data planes
//! ([`causeway_slowpath::lease`]); up to 40 PDRs of 28 octets, four actions, six accounts and four rates of a lookup key. All other packets,
//! and those whose account needs the slow path (a threshold, a quota, the first packet of a measurement), are for the slow path, which
//! gets the state of the session from memory before, and grants anew afterwards.
//!
//! Packets for an idle UE are for the slow path, too: it decides whether a packet is buffered, by the limits of BAR, session and UPF, notifies
//! the SMF, and keeps the place of the packet in the order. Its octets are in the paging ring of the session ([`Pipeline::page`]) until a
//! plan releases them.
//!
//! # Differences from the paper
//!
//! - State is that of a lookup key (a UE in one direction), not of a flow: a quota or a rate is of all its flows.
//! - The first packet of a flow waits in a ring, and later ones wait behind it: none passes another. In the paper those that come within
//!   the difference of both latencies are passed.
//! - Blocks of PDRs are read without the packet, which is read once, together with the last block.
//! - The later packets of a busy period do not read the state, whose value they would discard.
//!
//! Nothing here does I/O or reads a clock. It allocates for each packet: it shows the mechanism, not a rate.
//!
//! ```
//! use causeway_dataplane::{Dataplane, Disposition, Egress, GtpuEndpoint, Ingress, Network, PacketEngine, Topology};
//! use causeway_memory::ModelParameters;
//! use causeway_model::{Far, Forwarding, HeaderRemoval, Pdi, Pdr, Plan, RuleSet};
//! use causeway_packet::gtpu::prefix;
//! use causeway_packet::{IpProtocol, Ipv4Repr};
//! use causeway_slowpath::Limits;
//! use causeway_types::{FTeid, FarId, Interface, NetworkInstance, PdrId, Seid, Teid, Time};
//! use causeway_xplane::{ModelPlane, Sizes};
//! use std::net::Ipv4Addr;
//!
//! let [n3, gnb, ue, server] =
//!     [[192, 0, 2, 1], [192, 0, 2, 11], [10, 45, 0, 2], [198, 51, 100, 9]].map(Ipv4Addr::from);
//! let topology = Topology {
//!     gtpu: vec![GtpuEndpoint::new(n3.into())],
//!     networks: vec![Network::new(NetworkInstance::new("internet"), vec!["10.45.0.0/16".parse()?])],
//!     ..Topology::default()
//! };
//! let (parameters, sizes) = (ModelParameters::X_PLANE, Sizes::default());
//! let plane = ModelPlane::over_model(topology, Limits::default(), parameters, sizes, 1);
//! let (mut upf, now) = (plane.ok_or("too large")?, Time::from_secs(1));
//!
//! // A session: the uplink of TEID 0x1001 goes to the data network.
//! let teid = Teid::new(0x1001).ok_or("zero")?;
//! let tunnel = Some(FTeid { teid, addr: n3.into() });
//! let pdr = Pdr::new(PdrId(1), Pdi { tunnel, ..Pdi::new(Interface::Access) }, FarId(1));
//! let mut rules = RuleSet::default();
//! rules.pdrs.insert(PdrId(1), Pdr { removal: Some(HeaderRemoval::GTPU_IPV4), ..pdr });
//! rules.fars.insert(FarId(1), Far::forward(FarId(1), Forwarding::to(Interface::Core)));
//! upf.apply(now, &Plan::install(Seid(7), rules))?;
//!
//! // Two packets of a flow of the UE: the first is looked up in the UE table, the second hits the flow table.
//! let mut user = Vec::new();
//! Ipv4Repr::new(ue, server, IpProtocol::UDP).write(&[], &[0, 1, 0, 2, 0, 8, 0, 0], &mut user)?;
//! let packet = [&prefix::without_extensions(teid, user.len())?[..], &user].concat();
//! let ingress = Ingress::Gtpu { local: n3.into(), peer: (gnb, 2152).into(), tos: 0, hops: None };
//! for _ in 0..2 {
//!     let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
//!     assert_eq!(upf.process(now, &ingress, &packet, &mut sent), Disposition::Forwarded);
//! }
//! let counters = upf.pipeline().counters();
//! assert_eq!((counters.walks, counters.hits), (1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod action;
mod arrival;
pub mod flows;
mod idle;
mod key;
mod layout;
pub mod local_state;
mod octets;
pub mod paging;
mod pipeline;
mod plane;
mod sessions;
pub mod state;
pub mod ue_table;

pub use action::{Action, Send};
pub use idle::Paged;
pub use key::{Fields, FlowKey, UeKey};
pub use layout::{MODEL_RKEY, Sizes, StatePlace};
pub use pipeline::{Arrival, Departure, Directory, Pipeline, PipelineConfig, PipelineCounters, Verdict, Why};
pub use plane::{Awaited, LocalPlane, ModelPlane, XPlane};
