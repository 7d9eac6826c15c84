//! The slow path: a data plane that handles every packet and rule, and the rare packets of faster ones.
//!
//! [`SlowPath`] handles one packet at a time, in the order of the specification, with ordered maps and copies where they
//! make the code obviously right. It is deterministic: the same plans and packets at the same times give the same output.
//! [`Limits`] bounds its memory. [`lease`] lets a faster data plane handle the packets of a session and settle later.
//!
//! ```
//! use causeway_dataplane::{
//!     Dataplane, Disposition, Egress, GtpuEndpoint, Ingress, Network, PacketEngine, Topology,
//! };
//! use causeway_model::{Far, Forwarding, HeaderRemoval, Pdi, Pdr, Plan, RuleSet};
//! use causeway_packet::gtpu::prefix;
//! use causeway_packet::{IpProtocol, Ipv4Repr};
//! use causeway_slowpath::{Limits, SlowPath};
//! use causeway_types::{FTeid, FarId, Interface, NetworkInstance, PdrId, Seid, Teid, Time};
//! use std::net::Ipv4Addr;
//!
//! let [n3, gnb, ue, server] =
//!     [[192, 0, 2, 1], [192, 0, 2, 11], [10, 45, 0, 2], [198, 51, 100, 9]].map(Ipv4Addr::from);
//! let topology = Topology {
//!     gtpu: vec![GtpuEndpoint::new(n3.into())],
//!     networks: vec![Network::new(NetworkInstance::new("internet"), vec!["10.45.0.0/16".parse()?])],
//!     ..Topology::default()
//! };
//! let (mut upf, now) = (SlowPath::new(topology, Limits::default()), Time::from_secs(1));
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
//! // A packet of the UE.
//! let mut user = Vec::new();
//! Ipv4Repr::new(ue, server, IpProtocol::UDP).write(&[], &[0, 1, 0, 2, 0, 8, 0, 0], &mut user)?;
//! let packet = [&prefix::without_extensions(teid, user.len())?[..], &user].concat();
//! let ingress = Ingress::Gtpu { local: n3.into(), peer: (gnb, 2152).into(), tos: 0, hops: None };
//! let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
//! assert_eq!(upf.process(now, &ingress, &packet, &mut sent), Disposition::Forwarded);
//! assert!(matches!(&sent[..], [(Egress::Ip { .. }, packet)] if packet.len() == user.len()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod application_class;
mod application_detection;
mod apply_far;
mod apply_ops;
mod apply_plan;
mod bucket;
mod buffer;
mod buffering;
mod buffering_duration;
mod carried_extensions;
mod correlated;
mod downlink_notification;
mod drain;
mod drops;
mod duplicate;
mod ecn;
mod egress;
mod end_marker;
mod enforcer;
mod engine;
mod enrich;
mod ethernet;
mod explain;
mod filter;
mod gtpu;
mod heavy_hitters;
mod icmp;
mod inactivity;
mod index;
mod indication;
mod lazy;
pub mod lease;
mod limits;
mod link_scope;
mod marks;
mod matching;
mod measure;
mod meter;
mod n6;
mod packet_rate;
mod paths;
mod qos;
mod rate_limiter;
mod received;
mod route;
mod router_advertisement;
mod session;
mod session_state;
mod steer;
mod timers;
mod topology_view;
mod usage;
mod user_plane;

pub use application_class::ue_address;
pub use engine::SlowPath;
pub use filter::matches as matches_filter;
pub use gtpu::drop_reason_of;
pub use heavy_hitters::{HeavyFlows, five_tuple};
pub use limits::{Limits, WhenFull};
pub use n6::inside_n6_tunnel;
pub use paths::path_of;
pub use timers::{ExpiringSessions, SESSIONS_AT_A_TIME};
