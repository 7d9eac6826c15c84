//! RoCEv2: InfiniBand transport packets in UDP datagrams (InfiniBand Architecture Specification volume 1, release 1.3, called IBA
//! below; Annex A17).
//!
//! The packets of reliable connections (RC) that access memory are decoded: RDMA WRITE, RDMA READ, the atomic operations and their
//! responses, and the datagram (UD SEND Only) that carries management messages. Others are [`Transport::Other`].
//!
//! ```
//! use causeway_packet::roce::{Bth, Outer, Packet, Psn, Qpn, Repr, Reth, Rkey, Transport, UDP_PORT};
//!
//! let outer = Outer::of_socket("192.0.2.1:49152".parse()?, format!("192.0.2.2:{UDP_PORT}").parse()?);
//! let request = Reth { address: 0x1000, rkey: Rkey(7), length: 64 };
//! let repr = Repr { bth: Bth::new(Qpn::wrapping(0x11), Psn::wrapping(5)), transport: Transport::ReadRequest(request) };
//! let mut datagram = Vec::new();
//! repr.write(&outer, &mut datagram)?;
//!
//! let packet = Packet::parse(&datagram)?;
//! assert_eq!(packet.transport, Transport::ReadRequest(request));
//! assert!(packet.icrc_is_valid(&outer));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bth;
mod header;
mod icrc;
pub mod management;
mod number;
mod packet;

pub use bth::{Bth, DEFAULT_PKEY, Opcode};
pub use header::{Aeth, AtomicEth, Deth, NakCode, Reth, Syndrome};
pub use icrc::Outer;
pub use number::{Psn, Qpn, Rkey};
pub use packet::{Packet, Repr, Transport};

/// The UDP destination port of RoCEv2 (IBA Annex A17).
pub const UDP_PORT: u16 = 4791;
/// The queue pair of the general service interface (IBA chapter 16), to which management messages are sent.
pub const GENERAL_SERVICE: Qpn = Qpn::wrapping(1);
/// The Q_Key of the general service interface.
pub const GENERAL_SERVICE_QKEY: u32 = 0x8001_0000;
