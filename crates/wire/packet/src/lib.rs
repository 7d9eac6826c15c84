//! Checked views and builders of Ethernet, IP, UDP, TCP, ICMP, GTP-U, VXLAN and RoCEv2 packets.
//!
//! - A view, for example [`Ipv4`] or [`gtpu::Packet`], borrows the octets it was parsed from. `parse` validates every
//!   length, so accessors cannot fail.
//! - A `Repr`, for example [`Ipv4Repr`], contains legal values only. It appends itself to a vector, or yields an array
//!   of fixed size for the octets before a payload.
//! - [`UserPacket`] is a view of what filters and accounting read of a user packet of either IP version.
//! - Ports and data planes exchange packets in a [`Batch`]: up to [`BATCH`] [`Frame`]s, each in a [`Buffer`] of this
//!   crate or of an I/O library.
//!
//! No I/O, no allocation while parsing, no panic on any input.
//!
//! ```
//! use causeway_packet::gtpu::{self, prefix};
//! use causeway_packet::{Batch, Frame, IpProtocol, Ipv4Repr, Meta, UserPacket};
//! use causeway_types::{Qfi, Teid};
//!
//! let (ue, server) = ("10.45.0.2".parse()?, "198.51.100.9".parse()?);
//! let mut packet = Vec::new();
//! Ipv4Repr::new(ue, server, IpProtocol::UDP).write(&[], &[0; 8], &mut packet)?;
//!
//! // In a tunnel, with a PDU Session Container.
//! let (teid, qfi) = (Teid::new(0x1001).ok_or("zero")?, Qfi::new(9).ok_or("too large")?);
//! let message = [&prefix::uplink(teid, qfi, packet.len())?[..], &packet].concat();
//! let parsed = gtpu::Packet::parse(&message)?;
//! assert_eq!(parsed.header.teid, Some(teid));
//!
//! let mut batch = Batch::new();
//! batch.push(Frame { meta: Meta::Ip, data: &packet });
//! let user = UserPacket::parse(batch.data(0).ok_or("no frame")?)?;
//! assert_eq!((user.flow.src, user.flow.dst), (ue.into(), server.into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod application;
mod arp;
mod batch;
mod buffer;
pub mod checksum;
mod error;
mod ethernet;
mod fragment;
mod frame;
pub mod gtpu;
pub mod http;
pub mod icmp;
mod ip;
mod ipv4;
mod ipv6;
mod ipv6_chain;
mod link_end;
mod protocol;
mod reader;
pub mod rewrite;
mod rewrite_ends;
pub mod roce;
mod tcp;
mod tcp_rewrite;
mod udp;
mod user;
pub mod vxlan;

pub use arp::Arp;
pub use batch::{BATCH, Batch, FrameMut};
pub use buffer::{Buffer, HEADROOM, STRIDE};
pub use causeway_types::MacAddr;
pub use error::{BuildError, Layer, ParseError};
pub use ethernet::{EtherType, Ethernet, MAX_VLAN_TAGS, VlanTag};
pub use fragment::{FragmentError, fragment_v4};
pub use frame::{Frame, Meta};
pub use ip::{Ip, IpRepr};
pub use ipv4::{Ipv4, Ipv4Repr};
pub use ipv6::{FlowLabel, Ipv6, Ipv6Repr};
pub use ipv6_chain::{FragmentHeader, Ipv6Chain, MAX_IPV6_EXTENSIONS};
pub use link_end::LinkEnd;
pub use protocol::IpProtocol;
pub use rewrite_ends::{Ends, set_ends};
pub use tcp::{Tcp, TcpFlags, TcpRepr};
pub use tcp_rewrite::TcpPacket;
pub use udp::{Udp, UdpChecksum, UdpRepr};
pub use user::{Flow, Fragment, Ports, UserPacket};
