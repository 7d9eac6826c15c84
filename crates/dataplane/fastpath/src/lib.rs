//! The software fast path: a flow table in front of the slow path.
//!
//! A flow entry of 64 octets holds, for one direction of a session, the state that most packets need. Packets that a
//! flow entry cannot handle go to the slow path. Before the slow path acts, the
//! counts of the session's flow entries return to it; afterwards, it grants the flow entries anew. So both paths have
//! the same results.
//!
//! [`FastPath`] is the data plane. [`filters`] compares packets with sets of SDF filters, and [`index`] finds flow
//! entries; both are public for benchmarks and tests. `docs/life-of-a-packet.md` of the repository names the stages
//! with their files.
//!
//! ```
//! use causeway_dataplane::{Dataplane, Exit, GtpuEndpoint, Network, PacketEngine, QueuedPacket, ReceiveSource};
//! use causeway_dataplane::{Topology, TransmitQueue};
//! use causeway_fastpath::FastPath;
//! use causeway_model::{Far, Forwarding, Pdi, Pdr, Plan, RuleSet, UeAddress, UeSide};
//! use causeway_packet::{Batch, Frame, IpProtocol, Ipv4Repr, Meta};
//! use causeway_slowpath::Limits;
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
//! let (mut upf, now) = (FastPath::new(topology, Limits::default())?, Time::from_secs(1));
//!
//! // A session: the downlink of the UE goes into a tunnel of the gNB.
//! let ue_address = Some(UeAddress { v4: Some(ue), v6: None, side: UeSide::Destination });
//! let pdi = Pdi { ue: ue_address, ..Pdi::new(Interface::Core) };
//! let tunnel = FTeid { teid: Teid::new(0x2002).ok_or("zero")?, addr: gnb.into() };
//! let mut rules = RuleSet::default();
//! rules.pdrs.insert(PdrId(1), Pdr::new(PdrId(1), pdi, FarId(1)));
//! rules.fars.insert(FarId(1), Far::forward(FarId(1), Forwarding::into_tunnel(Interface::Access, tunnel)));
//! upf.apply(now, &Plan::install(Seid(7), rules))?;
//!
//! // A batch of one packet of data network 0: it leaves from its buffer, for the GTP-U address.
//! let mut user = Vec::new();
//! Ipv4Repr::new(server, ue, IpProtocol::UDP).write(&[], &[0, 1, 0, 2, 0, 8, 0, 0], &mut user)?;
//! let (mut batch, mut queue) = (Batch::new(), TransmitQueue::default());
//! batch.push(Frame { meta: Meta::Ip, data: &user });
//! upf.process_batch(now, ReceiveSource::Network(0), &mut batch, &mut queue);
//! assert_eq!(upf.counters().forwarded, 1);
//! assert!(matches!(queue.packets(), [QueuedPacket::Frame(0, Exit::Tunnel { .. })]));
//! assert_eq!(batch.data(0).map(<[u8]>::len), Some(8 + user.len()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)]

mod application_class;
mod batch;
mod classify;
mod contract;
mod enforce;
mod engine;
mod firewall;
mod heavy_hitters;
mod lookup;
mod parse;
mod program;
mod rewrite;
mod session;
mod slice_limits;
mod table;
mod topology_index;
mod transmit;

pub use classify::filters;
pub use engine::FastPath;
pub use session::cold::ColdNotice;
pub use table::index;
