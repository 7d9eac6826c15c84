//! Packet ports: TUN, TAP, UDP, VXLAN, TPACKET, AF_XDP, memory and pcap behind one trait, with a tracer and a fault injector
//! for any of them.
//!
//! A [`Port`] carries GTP-U datagrams (N3, N9), or IP packets or Ethernet frames (N6). It never blocks, allocates
//! nothing per packet, and counts every packet that it cannot carry under one named [`Counter`]. A condition that only
//! a person can resolve is a [`PortError`], which states the remedy.
//!
//! - [`udp`], [`tun`], [`tap`], [`xdp`], [`tpacket`]: ports of the kernel. [`memory`] and [`pcap`]: ports for tests.
//! - [`vxlan`]: segments over any port that moves datagrams.
//! - [`TracedPort`], [`FaultInjector`], [`ReconnectingPort`] and [`AdvertisedPort`] wrap any port.
//! - [`wait`] waits for several ports and a [`Waker`].
//! - [`netlink`] reads and writes routes, neighbours, links and addresses.
//!
//! `causeway bench ports` measures the cost of receiving and sending; `examples/unix_port.rs` of the repository is a
//! small port.
//!
//! ```
//! use causeway_packet::{Batch, Frame, Meta};
//! use causeway_ports::{Port, memory};
//!
//! let (mut near, mut far) = memory::pair("near", "far")?;
//! assert_eq!(near.send(&[Frame { meta: Meta::Ip, data: &[0x45; 40] }])?, 1);
//!
//! let mut batch = Batch::new();
//! assert_eq!(far.receive(&mut batch)?, 1);
//! assert_eq!(batch.data(0), Some(&[0x45; 40][..]));
//! # Ok::<(), causeway_ports::PortError>(())
//! ```

#![deny(unsafe_code)]

mod advertised;
pub mod announce;
pub mod capture;
mod counters;
mod error;
mod ethernet;
mod fault_injector;
pub mod memory;
pub mod netlink;
mod outer;
pub mod pcap;
mod poll;
mod port;
mod qos_flows;
mod reconnect;
mod share;
mod sys;
pub mod tap;
pub mod tpacket;
mod traced;
pub mod tun;
pub mod udp;
pub mod vxlan;
pub mod xdp;

pub use advertised::AdvertisedPort;
pub use counters::{Counter, CounterUnit, Counters};
pub use error::PortError;
pub use fault_injector::{FaultCounts, FaultInjector, Faults};
pub use poll::{MAX_OTHERS, MAX_PORTS, Ready, Waker, wait, wait_with};
pub use port::Port;
pub use qos_flows::{QosFlowOctets, QosFlowPort};
pub use reconnect::{PortEvent, ReconnectingPort};
pub use share::PortSharing;
pub use traced::TracedPort;
