//! Identifiers, addresses, volumes and time that every crate shares.
//!
//! Values are legal by construction: a QFI above 63 or a TEID of zero cannot be represented. No type here does I/O, reads
//! a clock or depends on another crate of Causeway. Numbers are in host byte order.
//!
//! - Identifiers: [`Seid`], [`Teid`], [`PdrId`], [`FarId`], [`QerId`], [`UrrId`], [`BarId`], [`Qfi`].
//! - Addresses: [`FSeid`], [`FTeid`], [`DualIp`], [`NodeId`], [`NetworkInstance`], [`IpNet`], [`MacAddr`].
//! - Quantities: [`Volume`] in octets and packets, [`Bitrate`] in kbit/s.
//! - Distribution over threads: [`spread()`].
//! - Transfer between members of a chain: [`Transfer`].
//! - Time: [`Time`] is the monotonic clock, [`WallTime`] the wall clock, [`WallClock`] converts between both.
//!
//! ```
//! use causeway_types::{Bitrate, Direction, Qfi, Span, Teid, Time, Volume};
//!
//! assert_eq!(Teid::new(0), None, "no session has TEID 0");
//! assert_eq!(Qfi::new(64), None, "a QFI has six bits");
//! assert_eq!(Bitrate::from_kbps(10_000).map(Bitrate::bps), Some(10_000_000));
//!
//! let mut volume = Volume::ZERO;
//! volume.count(Direction::Uplink, 1400);
//! assert_eq!((volume.total(), volume.total_packets()), (1400, 1));
//!
//! let begin = Time::from_secs(1_700_000_000);
//! assert_eq!((begin + Span::from_millis(20)).since(begin), Span::from_millis(20));
//! ```

#![forbid(unsafe_code)]

mod addr;
mod id;
mod id_cipher;
mod mac;
mod network;
mod ppi;
mod qfi;
mod slice;
mod spread;
mod teid_scheme;
mod time;
mod transfer;
mod trigger;
mod volume;

pub use addr::{DualIp, FSeid, FTeid, FTeidV4, NodeId};
pub use id::{BarId, FarId, PdrId, Precedence, QerId, Seid, Teid, UrrId};
pub use id_cipher::IdCipher;
pub use ipnet::{IpNet, Ipv4Net, Ipv4Subnets, Ipv6Net, Ipv6Subnets};
pub use mac::MacAddr;
pub use network::{Interface, NetworkInstance};
pub use ppi::Ppi;
pub use qfi::{Qfi, QfiSet};
pub use slice::SNssai;
pub use spread::{SPREAD_FACTOR, spread};
pub use teid_scheme::TeidScheme;
pub use time::{NtpSeconds, Span, Time, WallClock, WallTime};
pub use transfer::{Transfer, put_list};
pub use trigger::{ReportingTriggers, UsageInformation, UsageReportTrigger};
pub use volume::{Bitrate, Direction, Volume};
