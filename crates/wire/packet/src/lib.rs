//! Checked views and builders of Ethernet, IP, UDP, TCP, ICMP and GTP-U packets.
//!
//! A view, for example [`Ipv4`], borrows the octets it was parsed from; `parse` validates every length, so
//! accessors cannot fail. A `Repr`, for example [`Ipv4Repr`], contains legal values only and appends itself to a
//! vector, or yields an array of fixed size for the octets before a payload. No I/O, no allocation while parsing,
//! no panic on any input.
//!
//! Ports and data planes exchange packets in a [`Batch`]: up to [`BATCH`] [`Frame`]s, each in a [`Buffer`] of this crate
//! or of an I/O library.

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
mod protocol;
mod reader;
pub mod rewrite;
mod rewrite_ends;
mod tcp;
mod tcp_rewrite;
mod udp;
mod user;

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
pub use protocol::IpProtocol;
pub use rewrite_ends::{Ends, set_ends};
pub use tcp::{Tcp, TcpFlags, TcpRepr};
pub use tcp_rewrite::TcpPacket;
pub use udp::{Udp, UdpChecksum, UdpRepr};
pub use user::{Flow, Fragment, Ports, UserPacket};
